"""Timings as CSV: a line for each timing, or a line for a shape and a column for each configuration."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from abtune.errors import AbtuneError, DatasetError, InputError
from abtune.ingest.table_columns import (
    FIELDS,
    NAMES_FIRST,
    SHAPES,
    about_summaries,
    check_names,
    have_units,
    is_summary,
    lacks_names,
    listed_columns,
    no_unit,
    quotients,
    sizes,
    time_columns,
)
from abtune.ingest.tables import csv_rows, delimiter_of, first_line
from abtune.ingest.texts import naming
from abtune.ingest.timings.timing_cells import FileCell, Reading
from abtune.ingest.units import LONGEST_CELL, MISSING, PER_SECOND, read_heading, to_seconds, unit_named
from abtune.text import count, shortened, to_number

# Columns that may number the runs, which are seeds, or the repeats within one run.
_RUNS = {"run", "run_id", "rep", "trial", "attempt", "iteration", "process", "experiment"}
# Columns that say how a run ended. A time beside another outcome may be that of a failure.
_OUTCOME = re.compile(
    "status|state|outcome|success(ful)?|succeeded|fail(ed|ure)|error[ _-]?(code|msg|message|occurred|type)|"
    "(exit|return)[ _-]?(code|status)|rc|valid|correct(ness)?|pass(ed)?|ok|verified",
    re.IGNORECASE,
)
# Columns that say what a line holds: a mean, a bandwidth, the time of a warm-up.
_KIND = re.compile("(metric|stat(istic)?|quantity)([ _-]?name)?|(is[ _-]?)?warm[ _-]?up", re.IGNORECASE)
_Key: TypeAlias = tuple[str | None, str | None, int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fixed:
    """A column that may not differ between lines with a time."""

    remedy: str
    of_shape: bool = False  # whether lines of other shapes may differ


_KIND_IS_FIXED = _Fixed(remedy="they are no repeats, so keep lines with one of them")
_OUTCOME_IS_FIXED = _Fixed(
    remedy="leave the times of failed runs empty, or take the column out if none failed"
)
_SIZE_IS_FIXED = _Fixed(
    remedy="they are two shapes of one label, so write the size into the label, such as gemm_M=512",
    of_shape=True,
)


@dataclass(slots=True, kw_only=True)
class _Table:
    """The heading of a table, and its timings so far: by cell, by round, in the order of their lines."""

    names: Sequence[str]
    columns: Mapping[str, int]  # which column holds which field
    units: Mapping[int, str]  # of each column of times; empty where a column has it
    configs: Mapping[int, str]  # the configuration of each column of times; none where a line has one time
    timings: dict[_Key, dict[str, list[float]]] = field(default_factory=dict)
    first_lines: dict[_Key, int] = field(default_factory=dict)
    numbered: dict[tuple[_Key, str, str], int] = field(default_factory=dict)
    summaries: dict[int, str] = field(default_factory=dict)  # lines of means and totals, with their labels
    untimed: list[int] = field(default_factory=list)  # the lines of runs and cells without a time
    lines: Counter[int] = field(default_factory=Counter)  # hashes of the lines that have a time
    each_a_seed: bool = False  # whether each line is a run
    unused: Sequence[int] = field(init=False)  # the columns that are left out
    fixed: Mapping[int, _Fixed] = field(init=False)
    told: dict[tuple[int, str], tuple[str, int]] = field(
        default_factory=dict
    )  # what those hold in which line
    beside: dict[_Key, Sequence[str]] = field(default_factory=dict)  # what they hold in a cell's first line
    differ: set[int] = field(default_factory=set)  # those in which lines of one cell differ

    def __post_init__(self) -> None:
        used = {*self.columns.values(), *self.configs}
        self.unused = [index for index in range(len(self.names)) if index not in used]
        names = {index: self.names[index] for index in self.unused}
        sized = sizes(names.values())
        self.fixed = {
            **{index: _SIZE_IS_FIXED for index, name in names.items() if name in sized},
            **{index: _KIND_IS_FIXED for index, name in names.items() if _KIND.fullmatch(name)},
            **{index: _OUTCOME_IS_FIXED for index, name in names.items() if _OUTCOME.fullmatch(name)},
        }


def read_csv(text: str, names: Mapping[str, str], unit: str, *, each_a_seed: bool = False) -> Reading:
    """Return the timings of a table with a heading, separated by commas, semicolons or tabs."""
    table: _Table | None = None
    for line, row in csv_rows(text):
        if table is None:
            table = _read_heading(row, names, unit)
            check_names(table.configs.values())
            table.each_a_seed = each_a_seed
            if told := [name for name in ("seed", "round") if each_a_seed and name in table.columns]:
                raise InputError(f"has a column {told[0]}; leave out --seed-is timing")
        elif label := _summary_in(row, table):
            table.summaries[line] = label
        else:
            with naming(f"line {line}"):
                _read_row(row, table, line)
    if table is None or not table.timings:
        summaries = table.summaries if table else {}
        raise DatasetError(next(about_summaries(summaries), "has a heading and no timings"))
    cells = (
        FileCell(
            where=f"line {table.first_lines[key]}",
            shape=key[0],
            config=key[1],
            seed=key[2],
            rounds=tuple(map(tuple, rounds.values())),
            labels=tuple(filter(None, rounds)),
        )
        for key, rounds in table.timings.items()
    )
    each_a_process = False if table.columns.keys() & {"seed", "round"} else None
    cut = () if text.endswith("\n") else ("its last line does not end; if the file was cut, take it out",)
    return Reading(
        cells=tuple(cells),
        each_a_process=each_a_process,
        notes=(*_notes(table), *cut),
        unused=tuple(table.names[index] for index in table.unused),
    )


def _notes(table: _Table) -> Iterator[str]:
    """Yield what the user should know about columns that are left out and lines without a time."""
    unused = {
        index: shortened(table.names[index] or f"number {index + 1}, which has no name")
        for index in table.unused
    }
    # Beside several configurations, a column may compare the times of its line.
    counted = "seed" if table.each_a_seed else "repeat"
    differ = [] if table.configs else [unused[index] for index in sorted(table.differ)]
    repeats = f", and count as {counted}s unless you write that into the shape or configuration"
    alike = f"; lines of one cell differ in {', '.join(differ)}{repeats}" if differ else ""
    if unused:
        yield f"columns left out: {', '.join(unused.values())}{alike}"
    runs = [name for name in unused.values() if name.casefold() in _RUNS]
    if "seed" not in table.columns and runs and not table.each_a_seed:
        yield f"if {runs[0]} tells separate runs apart, each is a seed: --columns seed={runs[0]}"
    yield from about_summaries(table.summaries)
    if again := table.lines.total() - len(table.lines):
        yield f"lines that are the same as one above: {again:,}; each counts as a {counted}"
    if table.untimed:
        what, then = ("cell", "is missing") if table.configs else ("line", "counts as failed")
        cells = f"{count(len(table.untimed), what)} without a time, the first in line {table.untimed[0]}"
        yield f"{cells}; a run without any time {then}"
    timed = {config for _, config, _ in table.timings}
    if empty := [shortened(name) for name in table.configs.values() if name not in timed]:
        yield f"configurations without any time: {', '.join(empty)}"


def has_times(text: str) -> bool:
    """Return whether a text begins with the heading of a table of timings."""
    heading = first_line(text)
    cells = [cell.strip() for cell in heading.replace('"', "").split(delimiter_of(heading))]
    if len(cells) == 1 and (cells[0] in FIELDS or not have_units(cells, tuple(PER_SECOND))):
        return False
    return bool(time_columns(cells)) or any(_is_wide(text, unit) for unit in ("", "ms"))


def _is_wide(text: str, unit: str) -> bool:
    """Return whether a text begins with a heading of configurations, and a line with a number."""
    try:
        (_, heading), (_, row) = itertools.islice(csv_rows(text), 2)
        configs = _read_heading(heading, {}, unit).configs
        numbers = [to_number(row[index]) for index in configs if row[index].casefold() not in MISSING]
        return len(numbers) > 0
    except (ValueError, IndexError, AbtuneError):
        return False


def _read_heading(row: Sequence[str], names: Mapping[str, str], unit: str) -> _Table:
    if lacks_names(row):
        raise DatasetError(NAMES_FIRST)
    known = {name.casefold(): index for index, name in enumerate(row)}
    if len(known) < len(row):
        raise DatasetError(f"two columns have the same name: {listed_columns(row)}")
    columns = {name: known[name] for name in FIELDS if name in known}
    # Left out, a column of units such as samples/s would let a rate be read as a time.
    for other in known.keys() & {"units", "time_unit"}:
        columns["unit"] = known[other]
    for name, wanted in names.items():
        if wanted.casefold() not in known:
            raise InputError(f"has no column {wanted!r}; there are {listed_columns(row)}")
        columns[name] = known[wanted.casefold()]
    if "time" not in names:
        times = time_columns(row)
        first = {"shape": 0} if row[0].casefold() in SHAPES else {}
        told = columns.values()
        others = [row[i] for i, quotient in enumerate(quotients(row)) if not quotient and i not in told]
        is_wide = first or "shape" in columns or have_units(others, tuple(PER_SECOND))
        if is_wide and not times and columns.keys().isdisjoint({"config", "unit"}):
            return _read_wide_heading(row, {**first, **columns}, unit)
        if len(times) != 1:
            raise DatasetError(
                f"has {len(times) or 'no'} column{'s' * (len(times) > 1)} of times among "
                f"{listed_columns(row)}; a line holds one timing, in a column time_s, time_ms, time_us or "
                "time_ns, or in the column that --columns time=NAME names"
            )
        columns["time"] = times[0]
    if len(set(columns.values())) < len(columns):
        raise InputError("one column would be two things; give each a column of its own by --columns")
    return _Table(
        names=row, columns=columns, units={columns["time"]: _unit_of(row, columns, unit)}, configs={}
    )


def _read_wide_heading(row: Sequence[str], columns: Mapping[str, int], unit: str) -> _Table:
    """Return the heading of a table whose further columns are configurations, or quotients, left out."""
    configs = {
        index: read_heading(row[index], tuple(PER_SECOND)).name
        for index, quotient in enumerate(quotients(row))
        if not quotient and index not in columns.values()
    }
    if len(set(configs.values())) < max(2, len(configs)):
        needs = "a column for each configuration, two or more of different names"
        raise DatasetError(f"has no column of times; it needs one, or {needs}, among {listed_columns(row)}")
    bare = [configs[index] for index in configs if not read_heading(row[index], tuple(PER_SECOND)).unit]
    if bare and not unit:
        raise no_unit(bare, PER_SECOND)
    units = {index: _unit_of(row, {"time": index}, unit) for index in configs}
    return _Table(names=row, columns=columns, units=units, configs=configs)


def _unit_of(row: Sequence[str], columns: Mapping[str, int], unit: str) -> str:
    """Return the unit from the column's name or the option; empty if a column has the units."""
    column = row[columns["time"]]
    own = read_heading(column, tuple(PER_SECOND)).unit
    told = [f"the name {column}"] if own else []
    told += [f"--unit {unit}"] if unit not in {"", own} else []
    told += [f"the column {row[columns['unit']]}"] if "unit" in columns else []
    if not told:
        raise InputError(f"nothing says in which unit {column} is; give --unit s, ms, us or ns")
    if len(told) > 1:
        raise InputError(f"the unit is told twice, by {' and by '.join(told)}; keep one of them")
    return own or unit


def _summary_in(row: Sequence[str], table: _Table) -> str:
    """Return what says that a line sums up others, as its shape or in place of a number; else nothing."""
    columns = (table.columns[name] for name in ("shape", "seed", "round", "repeat") if name in table.columns)
    return next((row[index] for index in columns if index < len(row) and is_summary(row[index])), "")


def _read_row(row: Sequence[str], table: _Table, line: int) -> None:
    if len(row) != len(table.names):
        remedy = "complete the line or take it out; a cell with the mark between columns needs quotes"
        raise DatasetError(f"{len(row)} cells under a heading of {len(table.names)}; {remedy}")
    if row == table.names:
        raise DatasetError("is the heading again; take it out, or give each table a file of its own")
    values = {name: row[index] for name, index in table.columns.items()}
    is_untimed = "time" in values and values["time"].casefold() in MISSING
    for name, value in values.items():
        column = f"column {table.names[table.columns[name]]}"
        if not value and not (is_untimed and name in {"time", "unit"}):
            raise DatasetError(f"{column} is empty")
        if len(value) > LONGEST_CELL:
            raise DatasetError(f"{column} has {len(value):,} characters, and the most is {LONGEST_CELL:,}")
    seed = _number_label(values["seed"]) if "seed" in values else None
    if seed is not None and not re.fullmatch(r"\d{1,18}", seed, flags=re.ASCII):
        remedy = "number the runs of a cell 0, 1, 2 and so on"
        raise DatasetError(f"seed {shortened(seed)!r} is not a whole number of up to 18 digits; {remedy}")
    if not is_untimed:
        table.lines[hash(tuple(row))] += 1
    for index in table.units:
        is_missing = row[index].casefold() in MISSING
        if is_missing:
            table.untimed.append(line)
        if not (is_missing and table.configs):
            config = table.configs.get(index, values.get("config"))
            key = values.get("shape"), config, None if seed is None else int(seed)
            table.first_lines.setdefault(key, line)
            table.timings.setdefault(key, {})
            if not is_missing:
                _add_time(row, index, values, key, table, line)
            elif table.each_a_seed:  # NaN is a run that failed
                table.timings[key].setdefault("", []).append(math.nan)


def _add_time(
    row: Sequence[str], index: int, values: Mapping[str, str], key: _Key, table: _Table, line: int
) -> None:
    unit, round_ = table.units[index] or unit_named(values["unit"]), _number_label(values.get("round", ""))
    _check_fixed(row, values.get("shape", ""), table, line)
    if unit not in PER_SECOND:
        raise DatasetError(f"unit {shortened(values['unit'])!r} is none of {', '.join(PER_SECOND)}")
    empty = "if that run failed, leave the cell empty"
    seconds = to_seconds(row[index], unit, f"column {table.names[index]}", empty)
    if "repeat" in values:
        first = table.numbered.setdefault((key, round_, values["repeat"]), line)
        if first != line:
            raise DatasetError(f"the same cell, round and repeat as in line {first}; keep one")
    table.timings[key].setdefault(round_, []).append(seconds)
    beside = tuple(row[index] for index in table.unused)
    others = zip(table.unused, beside, table.beside.setdefault(key, beside), strict=True)
    table.differ.update(index for index, here, above in others if here != above)


def _check_fixed(row: Sequence[str], shape: str, table: _Table, line: int) -> None:
    for column, fixed in table.fixed.items():
        key = (column, shape if fixed.of_shape else "")
        above, earlier = table.told.setdefault(key, (row[column], line))
        if row[column] != above:
            said = f"column {table.names[column]} says {shortened(row[column])!r}"
            raise DatasetError(f"{said}, but {shortened(above)!r} in line {earlier}; {fixed.remedy}")


def _number_label(text: str) -> str:
    """Return the label of a round or seed, the same for 1, 01 and 1.0."""
    match = re.fullmatch(r"(-?\d{1,18})(\.0*)?", text, flags=re.ASCII)
    return str(int(match[1])) if match else text
