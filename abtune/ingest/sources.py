"""Files from elsewhere: which file is which seed of which configuration.

Files are named one by one, as ``NAME=PATH``, or by a pattern such as
``{config}_outputs/{shape}_t=5000/*.txt``. A seed has to be a fresh draw, so a file that comes twice, by name
or by content, is refused.
"""

from __future__ import annotations

import glob
import hashlib
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from abtune.errors import DatasetError, InputError
from abtune.files import followed
from abtune.ingest.texts import read_text

# What a pattern may read from paths.
_FIELDS = ("config", "shape", "seed")
# Words in names of configurations that the others are compared with.
_BASELINES = re.compile(
    "baseline|mainline|master|before|old|reference|orig(inal)?|stock|upstream|trunk|un(patched|optimi[sz]ed)|"
    r"head[~^]"
)
# Such words that features are called by, too: base-ptr-removed, main_loop_unrolled, control-flow-opt.
_SHORT_BASELINES = re.compile("base|main|ref|control")
# A word of letters, perhaps with a number, as in main2; the hash of a commit is none.
_LETTERS = re.compile(r"(?<![^\W_])[^\W\d_]+[~^]?(?=\d*(?![^\W_]))")
_WORDS = re.compile(r"(\{\w*\}|\*|\?)", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file or folder with the results of one run."""

    path: Path
    config: str = ""  # the configuration that made it; empty if the file itself tells
    shape: str = ""  # the label of its only shape; empty if the file itself tells
    seed: int = 0  # as its path says, or its number among the sources of its configuration and shape
    seed_in_path: bool = False


def recorded_path(path: Path) -> str:
    """Return a path as a dataset keeps it: relative to the working folder, with all its folders."""
    try:
        return Path(os.path.relpath(path)).as_posix()
    except (ValueError, OSError):  # on another drive of Windows, or the working folder was removed
        return path.as_posix()


def find_files(patterns: Iterable[str], specs: Iterable[str]) -> tuple[Source, ...]:
    """Return files that tell their configurations, then those of ``NAME=PATH``; paths may be patterns."""
    sources: list[Source] = []
    counts: Counter[str] = Counter()
    for config, pattern in (*(("", pattern) for pattern in patterns), *map(_named, specs)):
        for path in _matches(pattern):
            sources.append(Source(config=config, seed=counts[config], path=path))
            counts[config] += 1
    if not sources:
        raise InputError("nothing to import; give files, --run NAME=PATH for each, or --pattern")
    check_once(source.path for source in sources)
    return tuple(sources)


def _named(spec: str) -> tuple[str, str]:
    config, _, path = spec.partition("=")
    if not (config.strip() and path):
        raise InputError(f"{spec!r} is not NAME=PATH: a configuration and a file, such as new=run1.log")
    return config.strip(), path


def check_once(paths: Iterable[Path]) -> None:
    """Check that no two paths lead to one file."""
    seen: set[Path] = set()
    for path in paths:
        target = _target(path)
        if target in seen:
            raise InputError(f"{path} is given twice; each run counts once")
        seen.add(target)


def _target(path: Path) -> Path:
    """Return where a path leads, links followed; one that cannot be followed is refused."""
    try:
        return followed(path)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise InputError(f"cannot read {path}: {reason}") from None


def _matches(pattern: str) -> list[Path]:
    # A file may have brackets in its own name.
    if not glob.has_magic(pattern) or _target(Path(pattern)).exists():
        return [Path(pattern)]
    matches = sorted(glob.glob(pattern), key=natural)  # noqa: PTH207 - the pattern may be absolute
    if not matches:
        raise InputError(f"no file or folder matches {pattern!r}")
    return [Path(match) for match in matches]


def natural(name: str) -> list[tuple[int, str]]:
    """Return what sorts names by the numbers in them: run-2 comes before run-10."""
    pieces = re.split(r"(\d+)", name, flags=re.ASCII)
    return [(int(text), "") if text.isascii() and text.isdigit() else (-1, text) for text in pieces]


def label_told(source: Source, shape: str) -> str:
    """Return the label of the only shape, from ``--shape`` or the path; empty if neither names it."""
    if shape and source.shape:
        raise InputError("--shape and {shape} of --pattern both name the shape; keep one of them")
    return shape or source.shape


def read_once(sources: Iterable[Source]) -> Iterator[tuple[Source, str]]:
    """Yield the sources, each with its text; a text that comes twice is refused."""
    seen: dict[bytes, Path] = {}
    for source in sources:
        text = read_text(source.path)
        check_new(text, source.path, seen)
        yield source, text


def check_new(text: str, path: Path, seen: dict[bytes, Path]) -> None:
    """Note what a run holds; refuse it if ``seen`` has it from another path."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    first = seen.setdefault(digest, path)
    if first is not path:
        raise DatasetError(f"{path}: holds the same as {first}; a copy is not another seed")


def find_matching(pattern: str) -> tuple[Source, ...]:
    """Return the sources whose paths match a pattern; the baseline comes first."""
    words = _WORDS.split(pattern)
    fields = [word[1:-1] for word in words[1::2] if word.startswith("{")]
    if not fields or not set(fields) <= set(_FIELDS) or len(set(fields)) < len(fields):
        known = "{config}, {shape} and {seed}, each at most once"
        wrong = ", ".join(f"{{{field}}}" for field in fields if field not in _FIELDS)
        what = f"has no use for {wrong}" if wrong else "needs a field where paths differ"
        raise InputError(f"--pattern {pattern!r} {what}; fields are {known}")
    wildcards = (
        word if word == "?" else "*" if _WORDS.fullmatch(word) else glob.escape(word) for word in words
    )
    paths = sorted(glob.glob("".join(wildcards)), key=natural)  # noqa: PTH207 - the pattern may be absolute
    sources = tuple(_numbered(paths, words))
    if not sources:
        raise InputError(f"no file or folder matches --pattern {pattern!r}")
    check_once(source.path for source in sources)
    baseline = baseline_first(source.config for source in sources)[0]
    return tuple(sorted(sources, key=lambda source: source.config != baseline))


def baseline_first(configs: Iterable[str]) -> list[str]:
    """Return each configuration once, first the one whose name says that it is the baseline."""
    lengths = _words_of_baselines(configs)
    baseline = min(lengths, key=lengths.__getitem__)
    return sorted(lengths, key=lambda name: name != baseline)


def about_baseline(configs: Sequence[str], shapes: Sequence[str] = ()) -> Iterator[str]:
    """Yield that the baseline is a guess, if no name of several says which it is, or that of a shape does."""
    if len(configs) > 1 and math.isinf(min(_words_of_baselines(configs).values())):
        yield "no name says which is the baseline, so it is the first; analyze --baseline takes another"
        known = [_BASELINES] + [_SHORT_BASELINES] * (len(shapes) > 1)  # TVM calls the function of a task main
        if named := [shape for shape in shapes if any(word.fullmatch(shape.casefold()) for word in known)]:
            yield f"shape {named[0]} is called like a configuration; if it is one, transpose the table"


def _words_of_baselines(configs: Iterable[str]) -> dict[str, float]:
    """Return the number of own words of each name that begins or ends as a baseline does, else infinity."""
    names = {name: _LETTERS.findall(name.casefold()) for name in configs}
    known = {word for words in names.values() for word in words if _BASELINES.fullmatch(word)}
    short = {word for words in names.values() for word in words if _SHORT_BASELINES.fullmatch(word)}
    shared = set.intersection(*map(set, names.values())) - known - short
    lengths: dict[str, float] = {}
    for name, words in names.items():
        own = [word for word in words if word not in shared]
        ends = {*own[:1], *own[-1:]}
        is_baseline = ends & known or (len(own) < 3 and ends & short)
        lengths[name] = len(own) if is_baseline else math.inf
    return lengths


def _as_expression(word: str, more: str) -> str:
    """Return the regular expression of a word; with ``more`` as ``?`` it matches as little as possible."""
    seed = rf"(?P<seed>\d{{1,18}}{more})"  # 18 digits fit into an int64
    known = {"?": "[^/]", "*": f"[^/]*{more}", "{seed}": seed}
    named = f"(?P<{word[1:-1]}>[^/]+{more})" if _WORDS.fullmatch(word) else re.escape(word)
    return known.get(word, named)


def _numbered(paths: list[str], words: list[str]) -> Iterator[Source]:
    """Yield the sources; without a seed in their paths, the files of one configuration and shape count up."""
    most, least = (
        re.compile("".join(_as_expression(word, more) for word in words), re.ASCII | re.DOTALL)
        for more in ("", "?")
    )
    counts: Counter[tuple[str, str]] = Counter()
    for path in paths:
        match, other = most.fullmatch(path), least.fullmatch(path)
        if match is None or other is None:  # a seed that is no number
            continue
        fields = match.groupdict()
        # A path that fits in several ways differs between the greedy match and the lazy one.
        if fields != other.groupdict():
            both = " and ".join(", ".join(map(" ".join, way.groupdict().items())) for way in (match, other))
            raise InputError(f"{path} matches --pattern in two ways, {both}; write more of the path out")
        config, shape = fields.get("config", ""), fields.get("shape", "")
        yield Source(
            config=config,
            shape=shape,
            seed=int(fields["seed"]) if "seed" in fields else counts[config, shape],
            seed_in_path="seed" in fields,
            path=Path(path),
        )
        counts[config, shape] += 1
