"""Timings as CSV in long format: one timing a line, and columns that say of what."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from abtune.errors import DatasetError, InputError
from abtune.ingest.headings import plain, time_unit
from abtune.ingest.reading import wrong_kind
from abtune.ingest.timing_parts import PER_SECOND, Part, Reading, to_seconds

FIELDS = ("shape", "config", "seed", "round", "repeat", "time", "unit")

# The name of a column of times: time_us, time (us), time [us], time.
_TIME = re.compile(r"(time|latency|duration)(_(s|ms|us|ns)|\s*[(\[]\s*(s|ms|us|ns)\s*[)\]])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """Which column holds what, and the unit of the times; the unit is empty where a column has it."""

    names: tuple[str, ...]
    columns: Mapping[str, int]
    unit: str


def read_csv(text: str, path: Path, names: Mapping[str, str], unit: str) -> Reading:
    """Read a table with a heading; separated by commas, semicolons or tabs, as the heading is.

    Parameters
    ----------
    text : str
        The file.
    path : Path
        Where it is, for messages.
    names : mapping of str to str
        The name of a column for an entry of :data:`FIELDS`, where it is another.
    unit : str
        Of the times, if their column does not say.

    Raises
    ------
    DatasetError, InputError
        With line and column, at the first thing that is wrong.
    """
    delimiter = _delimiter(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    layout: _Layout | None = None
    table = _Table()
    try:
        for cells in reader:
            row = [cell.strip() for cell in cells]
            if not any(row) or (layout is None and row[0].startswith("#")):
                continue
            if layout is None:
                layout = _read_heading(row, path, names, unit)
            else:
                _read_row(row, layout, table, path, reader.line_num)
    except csv.Error as error:
        raise DatasetError(f"{path}: line {reader.line_num}: {error}") from None
    if layout is None or not table.cells:
        raise DatasetError(f"{path}: has a heading and no timings")
    unused = [
        name or f"number {at + 1}, which has no name"
        for at, name in enumerate(layout.names)
        if at not in layout.columns.values()
    ]
    return Reading(
        parts=table.parts(),
        each_a_process=False,
        notes=(f"{path}: columns left out: {', '.join(unused)}",) if unused else (),
    )


def _delimiter(text: str) -> str:
    """Return what separates the columns: the mark that the heading has most of outside quotes."""
    lines = (line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#"))
    heading = re.sub(r'"[^"]*"', "", next(lines, ""))
    return max(",;\t", key=heading.count)


_Key: TypeAlias = tuple[str | None, str | None, int | None]


@dataclass(slots=True)
class _Table:
    """The timings so far: by cell, by round, in the order of their lines."""

    cells: dict[_Key, dict[str, list[float]]] = field(default_factory=dict)
    first_lines: dict[_Key, int] = field(default_factory=dict)
    numbered: dict[tuple[_Key, str, str], int] = field(default_factory=dict)
    unit: str = ""

    def parts(self) -> tuple[Part, ...]:
        return tuple(
            Part(
                place=f"line {self.first_lines[key]}",
                name=None,
                shape=key[0],
                config=key[1],
                seed=key[2],
                rounds=tuple(tuple(timings) for timings in rounds.values()),
                labels=tuple(filter(None, rounds)),
            )
            for key, rounds in self.cells.items()
        )


def _read_heading(row: Sequence[str], path: Path, names: Mapping[str, str], unit: str) -> _Layout:
    known = {name.casefold(): at for at, name in enumerate(row)}
    if len(known) < len(row):
        raise DatasetError(f"{path}: two columns have the same name: {_listed(row)}")
    columns = {name: known[name] for name in FIELDS if name in known}
    for name, wanted in names.items():
        if wanted.casefold() not in known:
            raise InputError(f"{path}: has no column {wanted!r}; there are {_listed(row)}")
        columns[name] = known[wanted.casefold()]
    if "time" not in names:
        times = [at for at, name in enumerate(row) if _TIME.fullmatch(plain(name))]
        if len(times) != 1:
            raise DatasetError(
                f"{path}: has {len(times) or 'no'} column{'s' * (len(times) > 1)} of times among "
                f"{_listed(row)}; a line holds one timing, in a column time_s, time_ms, time_us or "
                "time_ns, or in that of --columns time=NAME"
                f"{wrong_kind(','.join(row), 'timings')}"
            )
        columns["time"] = times[0]
    fields: dict[int, str] = {}
    for name, at in columns.items():
        if fields.setdefault(at, name) != name:
            raise InputError(
                f"{path}: column {row[at]!r} would be both {fields[at]} and {name}; give each a column "
                "of its own by --columns, or rename it"
            )
    return _Layout(names=tuple(row), columns=columns, unit=_find_unit(row, columns, path, unit))


def _listed(row: Sequence[str]) -> str:
    """Name the columns of a heading, as far as a line can hold them."""
    more = ", ..." if len(row) > 12 else ""
    return ", ".join(name if len(name) <= 40 else f"{name[:37]}..." for name in row[:12]) + more


def _find_unit(row: Sequence[str], columns: Mapping[str, int], path: Path, unit: str) -> str:
    """Return the unit that the column's name or the option gives; empty where a column of units has it."""
    column = row[columns["time"]]
    try:
        own = time_unit(column)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    if "unit" not in columns and own == unit != "":
        return own
    told = [how for how in (own and f"the name {column}", unit and f"--unit {unit}") if how]
    if "unit" in columns:
        told.append(f"the column {row[columns['unit']]}")
    if not told:
        raise InputError(f"{path}: nothing says in which unit {column} is; give --unit s, ms, us or ns")
    if len(told) > 1:
        raise InputError(f"{path}: the unit is told twice, by {' and by '.join(told)}; keep one of them")
    return own or unit


def _read_row(row: Sequence[str], layout: _Layout, table: _Table, path: Path, line: int) -> None:
    place = f"{path}: line {line}"
    if len(row) != len(layout.names):
        raise DatasetError(f"{place}: {len(row)} cells under a heading of {len(layout.names)}")
    values = {name: row[at] for name, at in layout.columns.items()}
    for name, value in values.items():
        if not value:
            raise DatasetError(f"{place}: column {layout.names[layout.columns[name]]} is empty")
    time_column = layout.names[layout.columns["time"]]
    unit = layout.unit or _same_unit(values["unit"], table, place)
    seconds = to_seconds(values["time"], unit, f"{place}: column {time_column}")
    seed = _whole(values["seed"], place) if "seed" in values else None
    key = values.get("shape"), values.get("config"), seed
    round_ = _round_label(values.get("round", ""))
    if "repeat" in values:
        first = table.numbered.setdefault((key, round_, values["repeat"]), line)
        if first != line:
            raise DatasetError(
                f"{place}: the same cell, round and repeat as in line {first}; keep one of them"
            )
    table.first_lines.setdefault(key, line)
    table.cells.setdefault(key, {}).setdefault(round_, []).append(seconds)


def _same_unit(unit: str, table: _Table, place: str) -> str:
    known = plain(unit)
    if known not in PER_SECOND:
        raise DatasetError(f"{place}: unit {unit!r} is none of {', '.join(PER_SECOND)}")
    table.unit = table.unit or known
    if known != table.unit:
        raise DatasetError(f"{place}: unit {unit}, but {table.unit} above; convert the times to one unit")
    return known


def _round_label(text: str) -> str:
    """Return the label of a round, the same for 1, 01 and 1.0."""
    match = re.fullmatch(r"(-?\d{1,18})(\.0*)?", text, flags=re.ASCII)
    return str(int(match[1])) if match else text


def _whole(text: str, place: str) -> int:
    if not re.fullmatch(r"\d{1,18}", text, flags=re.ASCII):
        raise DatasetError(f"{place}: seed {text!r} is not a whole number")
    return int(text)
