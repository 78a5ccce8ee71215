"""The cells of files of timings; a name may hold both a configuration and a shape: ``sort/old/512``."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from abtune.errors import DatasetError, InputError
from abtune.ingest.importers import Option
from abtune.ingest.sources import Source
from abtune.ingest.timings.conditions import machine_named
from abtune.text import listed, some_of


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCell:
    """The timings of one cell in one file."""

    where: str  # its line or field in the file
    rounds: tuple[tuple[float, ...], ...]  # seconds, by round; none of a run that failed
    # Of a shape or a configuration, of a shape if ``config`` is known; None where a file tells which.
    name: str | None = None
    shape: str | None = None
    config: str | None = None
    seed: int | None = None  # None if the file does not tell
    labels: tuple[str, ...] = ()  # the names of the rounds in the file; empty if they have none
    note: str = ""  # what is missing, for the user
    exit_codes: tuple[int | None, ...] = ()  # of the process of each timing (hyperfine)
    failures: tuple[str, ...] = ()  # what stands in a table in place of each time that is NaN
    settings: Mapping[str, object] = field(default_factory=dict)  # what both sides should have alike
    others: Mapping[str, str] = field(default_factory=dict)  # what else a file says of all these times
    # numbers that columns of throughputs have beside these times, or some of many
    throughputs: Mapping[str, Collection[float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileContent:
    """What a file holds."""

    cells: tuple[FileCell, ...]
    each_a_process: bool | None = False  # whether a process made each timing; None if only the user knows
    notes: tuple[str, ...] = ()  # what was left out, one line each
    unused: tuple[str, ...] = ()  # columns of a table that say nothing yet
    work: str = ""  # what to say of throughputs whose operations are unknown; empty if there are none
    kind: str = ""  # of throughputs; empty if the file has times
    no_repeats: str = ""  # why the times of one shape and configuration are no repeats; empty if they may be
    time_is_named: bool = False  # whether the user said which column has the times


def repeated(where: str, name: str, times: Sequence[float]) -> FileCell:
    """Return the cell of a benchmark by the times of its repetitions, NaN of those that failed."""
    known = tuple(time for time in times if not math.isnan(time))
    some_failed = 0 < len(known) < len(times)
    note = f"some repetitions of {name} failed; its other times are counted" if some_failed else ""
    return FileCell(where=where, name=name, rounds=(known,) if known else (), note=note)


def named_cells(cells: Iterable[FileCell], text: str) -> Iterator[FileCell]:
    """Yield the cells of a file with this text, under names that a dataset can hold and tell apart."""
    first: dict[str, str] = {}
    settings = machine_named(text)
    for cell in cells:
        if not isinstance(cell.name, str) or not cell.name or "\0" in cell.name:  # netCDF ends a text there
            raise DatasetError(f"{cell.where}: has no name that a dataset can hold")
        if (earlier := first.setdefault(cell.name, cell.where)) != cell.where:
            again = f"{cell.where}: {cell.name!r} is already in {earlier}"
            raise DatasetError(f"{again}; give each a name or a file of its own")
        yield replace(cell, settings={**settings, **cell.settings})
    if not first:
        raise DatasetError("has no timings")


CONFIGS = Option(
    name="configs",
    metavar="NAME,...",
    help="Words in the names of benchmarks that are configurations, the baseline first: old,new for "
    "sort/old/512 and sort/new/512. The rest of a name is the shape.",
)
PAIR = "pair"
SEED_IS = Option(
    name="seed-is",
    choices=("file", PAIR),
    default="file",
    help="What counts as a seed: a file, or a pair, which is a file with both configurations.",
)
# Stands for the word while the name around it is tidied. No name has it, because netCDF ends a text there.
_CUT = "\0"
_SEPARATORS = r"[\s/_:,.;-]*"
# What begins and ends a word of a name; and a part of a word in camel case, or before a number.
_SEPARATE = (r"(?<![^\W_])", r"(?![^\W_])")
_WITHIN = (rf"(?:{_SEPARATE[0]}|(?=[A-Z]))", rf"(?:{_SEPARATE[1]}|(?=[A-Z])|(?<=[a-z])(?=[0-9]))")


def read_configs(text: str) -> tuple[str, ...]:
    """Return the configurations of ``--configs``."""
    names = tuple(name.strip() for name in text.split(",")) if text else ()
    if text and (len(set(names)) < len(names) or len(names) < 2 or not all(names)):
        raise InputError(f"--configs {text!r} is not two names or more, such as old,new")
    return names


def split_names(readings: Mapping[Source, FileContent], configs: Sequence[str]) -> dict[Source, FileContent]:
    """Return the readings with the shape and the configuration that each name has; others are left out."""
    if not configs:
        return dict(readings)
    split = {source: _split(source, reading, configs) for source, reading in readings.items()}
    known = {cell.config for reading in split.values() for cell in reading.cells}
    if lacking := [config for config in configs if config not in known]:
        cells = (cell for reading in readings.values() for cell in reading.cells)
        names = some_of(list(dict.fromkeys(cell.name for cell in cells if cell.name)))
        raise InputError(f"--configs: no name has the word {lacking[0]}; there are: {names or 'no names'}")
    return split


def _split(source: Source, reading: FileContent, configs: Sequence[str]) -> FileContent:
    cells, left_out = list[FileCell](), list[str]()
    separate, within = (_one_of(configs, *ends) for ends in (_SEPARATE, _WITHIN))
    for cell in reading.cells:
        if cell.name is None:
            raise InputError("--configs is for files that name each benchmark; a table has --columns")
        word = separate if separate.search(cell.name) else within
        words = [*word.finditer(cell.name)]
        if len(words) > 1:
            has = f"{cell.name!r} has {listed(match['config'] for match in words)}"
            raise DatasetError(f"{source.path}: {cell.where}: {has}; rename it, so that one is left")
        if words:
            shape = _tidied(word.sub(_CUT, cell.name))
            cells.append(replace(cell, name=shape, config=words[0]["config"]))
        else:
            left_out.append(cell.name)
    notes = [f"left out, because no name of --configs is in them: {some_of(left_out)}"] if left_out else []
    return replace(reading, cells=tuple(cells), notes=(*reading.notes, *notes))


def _one_of(configs: Sequence[str], begins: str, ends: str) -> re.Pattern[str]:
    """Return what finds a configuration between these ends, with the name of its parameter before it."""
    longest_first = sorted(configs, key=len, reverse=True)  # of v2 and v2-fast
    words = (
        f"{begins * name[0].isalnum()}{re.escape(name)}{ends * name[-1].isalnum()}" for name in longest_first
    )
    return re.compile(rf"(?:{_SEPARATE[0]}\w+(?: ?= ?|: ))?(?P<config>{'|'.join(words)})")


def _tidied(name: str) -> str:
    """Return a name without the cut, one of the separators around it, and brackets that are empty now."""
    name = re.sub(rf"{_CUT}(?=[^\W_])", "", name)  # within a word
    name = re.sub(rf"(?<=[^\s/_:,.;(\[<{_CUT}-]){_SEPARATORS}{_CUT}", "", name)
    name = re.sub(rf"{_SEPARATORS}{_CUT}{_SEPARATORS}", "", name)
    return re.sub(r"\(\)|\[\]|<>", "", name) or "all"
