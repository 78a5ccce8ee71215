"""The cells that files of timings hold, before each has a seed and a configuration."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from abtune.errors import DatasetError
from abtune.ingest.timings.conditions import machine_named


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a file holds."""

    cells: tuple[FileCell, ...]
    each_a_process: bool | None = False  # whether a process made each timing; None if only the user knows
    notes: tuple[str, ...] = ()  # what was left out, one line each
    unused: tuple[str, ...] = ()  # columns of a table that say nothing yet
    work: str = ""  # what to say of throughputs whose operations are unknown; empty if there are none
    kind: str = ""  # of throughputs; empty if the file has times


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
