"""Files from elsewhere: which file is which seed of which configuration.

Files are named one by one, as ``NAME=PATH``, or by a pattern over their paths (``path_patterns``). The files
of one configuration are its seeds, in the order in which they are given. A seed has to be a fresh draw, so a
file that comes twice, by name or by content, is refused.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from abtune.errors import DatasetError, InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file or folder with the results of one run.

    Attributes
    ----------
    config : str
        The configuration that made it; empty if the file itself tells.
    shape : str
        The label of its only shape; empty if the file itself tells.
    seed : int
        Its number: as its path says, or among the sources of its configuration and shape.
    seed_in_path : bool
        Whether its path says the number.
    path : Path
        Where it is.
    """

    config: str
    shape: str
    seed: int
    seed_in_path: bool
    path: Path

    @property
    def recorded(self) -> str:
        """Its path as a dataset keeps it: relative to the working folder, with all its folders."""
        return recorded_path(self.path)


def recorded_path(path: Path) -> str:
    """Return a path as a dataset keeps it: relative to the working folder, with all its folders."""
    try:
        return Path(os.path.relpath(path)).as_posix()
    except ValueError:  # on another drive of Windows
        return path.as_posix()


def find_sources(specs: Iterable[str]) -> tuple[Source, ...]:
    """Return the sources that entries ``NAME=PATH`` name; a path may hold ``*``, ``?`` and ``[...]``."""
    named: list[tuple[str, str]] = []
    for spec in specs:
        config, sign, pattern = spec.partition("=")
        if not (sign and config.strip() and pattern):
            raise InputError(f"{spec!r} is not NAME=PATH: a configuration and a file, such as new=run1.log")
        named.append((config.strip(), pattern))
    return _number(
        named, "nothing to import; give --run NAME=PATH for each seed of a configuration, or --pattern"
    )


def find_files(patterns: Iterable[str], specs: Iterable[str]) -> tuple[Source, ...]:
    """Return files that tell their configurations themselves, then those that entries ``NAME=PATH`` name."""
    alone = [("", pattern) for pattern in patterns]
    others = [(source.config, str(source.path)) for source in (find_sources(specs) if specs else ())]
    return _number(alone + others, "nothing to import; give files, --run NAME=PATH for each, or --pattern")


def _number(named: Sequence[tuple[str, str]], nothing: str) -> tuple[Source, ...]:
    """Give the sources of each configuration their numbers; a file that comes twice is refused."""
    sources: list[Source] = []
    counts: Counter[str] = Counter()
    for config, pattern in named:
        for path in _matches(pattern):
            sources.append(
                Source(config=config, shape="", seed=counts[config], seed_in_path=False, path=path)
            )
            counts[config] += 1
    if not sources:
        raise InputError(nothing)
    check_once(source.path for source in sources)
    return tuple(sources)


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
        path.exists()  # a name may be too long
        return path.resolve()
    except (OSError, ValueError, RuntimeError) as error:  # a circle of links is a RuntimeError
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise InputError(f"cannot read {path}: {reason}") from None


def _matches(pattern: str) -> list[Path]:
    if not glob.has_magic(pattern) or _target(Path(pattern)).exists():
        return [Path(pattern)]
    matches = sorted(glob.glob(pattern), key=natural)  # noqa: PTH207 - the pattern may be absolute
    if not matches:
        raise InputError(f"no file or folder matches {pattern!r}")
    return [Path(match) for match in matches]


def natural(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts run-2 before run-10."""
    pieces = re.split(r"(\d+)", name, flags=re.ASCII)
    return [(int(text), "") if text.isascii() and text.isdigit() else (-1, text) for text in pieces]


class Contents:
    """Notices when the content of one run comes again as another."""

    def __init__(self) -> None:
        self._seen: dict[bytes, Path] = {}

    def add(self, path: Path, text: str) -> None:
        """Note a content."""
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        first = self._seen.setdefault(digest, path)
        if first is not path:
            raise DatasetError(f"{path}: holds the same as {first}; a copy is not another seed")
