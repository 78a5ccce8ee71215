"""Files from elsewhere: which one is which seed of what, and their text.

Every importer but that of published tables takes its files as ``NAME=PATH``: the files of one configuration
are its seeds, in the order in which they are given. A seed has to be a fresh draw, so a file that comes
twice, by name or by content, is refused.
"""

from __future__ import annotations

import glob
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from abtune.errors import DatasetError, InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file or folder with the results of one run.

    Attributes
    ----------
    config : str
        The configuration that it was made with; empty if the file itself tells.
    seed : int
        Its number among the sources of its configuration.
    path : Path
        Where it is.
    """

    config: str
    seed: int
    path: Path


def find_sources(specs: Iterable[str]) -> tuple[Source, ...]:
    """Resolve ``NAME=PATH`` to sources; a path may hold ``*``, ``?`` and ``[...]``.

    Raises
    ------
    InputError
        If an entry is not of this form, matches nothing, or names what another entry names.
    """
    named: list[tuple[str, str]] = []
    for spec in specs:
        config, sign, pattern = spec.partition("=")
        if not (sign and config.strip() and pattern):
            raise InputError(f"{spec!r} is not NAME=PATH: a configuration and a file, such as new=run1.log")
        named.append((config.strip(), pattern))
    return _number(named, "nothing to import; give --run NAME=PATH, once or more for each configuration")


def find_files(patterns: Iterable[str], specs: Iterable[str]) -> tuple[Source, ...]:
    """Resolve files that tell their configurations themselves, then ``NAME=PATH`` for others.

    Raises
    ------
    InputError
        As for :func:`find_sources`.
    """
    alone = [("", pattern) for pattern in patterns]
    others = [(source.config, str(source.path)) for source in (find_sources(specs) if specs else ())]
    return _number(alone + others, "nothing to import; give files, or --run NAME=PATH for each of them")


def _number(named: Sequence[tuple[str, str]], nothing: str) -> tuple[Source, ...]:
    """Give the sources of each configuration their numbers; a file that comes twice is refused."""
    found: list[Source] = []
    counts: Counter[str] = Counter()
    places: dict[Path, str] = {}
    for config, pattern in named:
        for path in _matches(pattern):
            place = _place(path)
            if place in places:
                raise InputError(f"{path} is given twice; each run counts once")
            places[place] = config
            found.append(Source(config=config, seed=counts[config], path=path))
            counts[config] += 1
    if not found:
        raise InputError(nothing)
    return tuple(found)


def _place(path: Path) -> Path:
    """Return where a path leads, links followed; one that cannot be followed is refused."""
    try:
        path.exists()  # a name may be too long
        return path.resolve()
    except (OSError, ValueError, RuntimeError) as error:  # a circle of links is a RuntimeError
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise InputError(f"cannot read {path}: {reason}") from None


def _matches(pattern: str) -> list[Path]:
    if not glob.has_magic(pattern) or _place(Path(pattern)).exists():
        return [Path(pattern)]
    matches = sorted(glob.glob(pattern), key=_natural)  # noqa: PTH207 - the pattern may be absolute
    if not matches:
        raise InputError(f"no file or folder matches {pattern!r}")
    return [Path(match) for match in matches]


def _natural(name: str) -> list[tuple[int, str]]:
    """Sort key by which run-2 comes before run-10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


class Contents:
    """Notices when the content of one run comes again as another."""

    def __init__(self) -> None:
        self._seen: dict[bytes, Path] = {}

    def add(self, path: Path, text: str) -> None:
        """Note a content.

        Raises
        ------
        DatasetError
            If it was there before.
        """
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        first = self._seen.setdefault(digest, path)
        if first is not path:
            raise DatasetError(f"{path}: holds the same as {first}; a copy is not another seed")


_NETCDF = (b"\x89HDF", b"CDF")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def read_text(path: Path) -> str:
    """Read a text, whole, without the colours of a terminal.

    Raises
    ------
    DatasetError
        If it cannot be read, is empty, or is not UTF-8.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        if error.object.startswith(_NETCDF):
            raise DatasetError(f"{path}: is netCDF, not a text; if it is a dataset: abtune analyze") from None
        raise DatasetError(f"{path}: not a text in UTF-8; convert it, or give the right file") from None
    except OSError as error:
        raise DatasetError(f"cannot read {path}: {error.strerror or error}") from None
    if not text.strip():
        raise DatasetError(f"{path}: is empty")
    if "\0" in text:
        raise DatasetError(f"{path}: not a text in UTF-8; convert it, or give the right file")
    return _COLOUR.sub("", text)


def parse_json(text: str, place: str) -> Any:
    """Parse JSON, with a message that tells a file cut short from one that is something else.

    Raises
    ------
    DatasetError
        If it is not JSON.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if error.pos >= len(text.rstrip()) - 1 or error.msg.startswith("Unterminated"):
            raise DatasetError(f"{place}: the JSON is cut short; write or copy the file again") from None
        if error.msg == "Extra data":
            raise DatasetError(f"{place}: more than one JSON document; give each a file of its own") from None
        where = f" at line {error.lineno}" if "\n" in text.strip() else f" at character {error.colno}"
        raise DatasetError(f"{place}: not JSON{where}: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{place}: not JSON: {error}") from None


# What the text of each kind looks like, and which importer reads it; the first that fits holds. No pattern
# may repeat within a repetition: a file of a single long line would take hours.
_KINDS: Sequence[tuple[str, str, str]] = (
    ("databases", "part of a MetaSchedule database", r'\A\s*\[\d+, *\[\[\[\["|\A\s*\["-?\d+", *"'),
    ("logs", "a tuning log", r"Trial #\d+:|^[ \t]*ID \| +Name \|"),
    ("published", "a published table", r"^[ \t]*\|[ \t]*shape[ \t]*\|"),
    ("timings", "a dump of timings", r'\b(Profile|Benchmark)Result\(|"benchmarks":|"results":'),
)
_TIMES = re.compile(r"\b(time|latency|duration)(_(s|ms|us|ns))?\b", re.IGNORECASE)


def wrong_kind(text: str, importer: str) -> str:
    """Return a hint at the importer that reads such a text; empty if that is this one or none."""
    for kind, meaning, pattern in _KINDS:
        if re.search(pattern, text, flags=re.MULTILINE | re.IGNORECASE):
            return "" if kind == importer else f"; this is {meaning}: abtune import {kind}"
    heading = text.split("\n", 1)[0]
    table = "|" not in heading and any(mark in heading for mark in ",;\t") and _TIMES.search(heading)
    return "; this is a table of timings: abtune import timings" if table and importer != "timings" else ""
