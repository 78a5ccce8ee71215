"""The heading of a table of timings: which column holds what, in which unit, and what its lines held."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from abtune.errors import DatasetError, InputError
from abtune.ingest.boosts import EITHER
from abtune.ingest.table_columns import (
    AS_CONFIGURATIONS,
    FIELDS,
    NAMES_FIRST,
    NEVER,
    ONLY_QUOTIENTS,
    OUTCOME,
    SHAPES,
    THROUGHPUT,
    TOTALS,
    UNIT,
    check_names,
    have_units,
    known_heading,
    lacks_names,
    listed_columns,
    means_of,
    measured,
    sizes,
    time_columns,
)
from abtune.ingest.timings.conditions import MACHINE, SETTING
from abtune.ingest.units import (
    MEANS,
    PER_SECOND,
    RATES,
    UNITS,
    about_work,
    is_statistic,
    read_heading,
    unit_named,
    words_of,
)
from abtune.text import shortened

# Columns that say what a line holds: a mean, a bandwidth, the time of a warm-up.
_KIND = re.compile(
    "(metric|stat(istic)?|quantity)([ _-]?name)?|(is[ _-]?)?warm[ _-]?up|"
    "(measurement_)?iteration[ _-]?(mode|stage)",  # of BenchmarkDotNet
    re.IGNORECASE,
)
# The same within a shape, such as the time of compiling; shapes may be stages of one network.
_PHASE = re.compile("phase|stage", re.IGNORECASE)
# What a time may sum up, if the user says that it is the time.
_MEAN = re.compile(
    rf"({'|'.join(sorted(MEANS, reverse=True))})(?!_ts$)|samples(?=_[mun]s)|"  # avg_ts is tokens per second
    r"(?<![^\W_])(p\d\d+|m(in|ax)(?=[_ ]))|(?<=\.)m(in|ax)$",
    re.IGNORECASE,
)
# The unit of a time before what it is a statistic of: lat_ns.mean, as fio writes it. A req_s.mean is a rate.
_UNIT_WITHIN = re.compile(
    r"(_(?:[mun]s|seconds)|(?:(?<=time)|(?<=latency)|(?<=duration)|(?<=elapsed))_s)([._].*)"
)
# What a rate with its unit may be called.
_RATE = re.compile("throughput|bandwidth|performance|perf|speed", re.IGNORECASE)
# What to do where lines with a time differ in a column that has to be the same in all of them.
_KEEP_ONE_KIND = "they are no repeats, so keep lines with one of them"
LEAVE_EMPTY = "leave the times of failed runs empty, or take the column out if none failed"
# The fields that differ from line to line.
EACH_LINE = {"time", "repeat"}
Key: TypeAlias = tuple[str | None, str | None, int | None]


@dataclass(slots=True, kw_only=True)
class CellTimings:
    """The timings of a cell so far."""

    line: int  # the first
    beside: Sequence[str]  # what that line has in the columns that are left out
    rounds: dict[str, list[float]] = field(default_factory=dict)  # in the order of their lines
    numbered: dict[tuple[str, str], int] = field(default_factory=dict)  # the line of a round and repeat
    failures: list[str] = field(default_factory=list)  # what stands in place of times that are NaN
    # How many times stand beside which value of a column in which its lines differ; some of the values.
    others: dict[int, Counter[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a time belongs. Many lines say the same beside their times, and that is read once."""

    cell: CellTimings
    beside: list[str]  # what the first line of its shape and configuration has in columns that are left out
    round: str
    unit: str
    work: float  # the operations of one call, for rates
    where: str  # the column of the time, for errors


@dataclass(slots=True, kw_only=True)
class Table:
    """The heading of a table, and what its lines held so far."""

    names: Sequence[str]
    columns: Mapping[str, int]  # which column holds which field
    units: Mapping[int, str]  # of each column of times; empty where a column has it
    configs: Mapping[int, str]  # the configuration of each column of times; none where a line has one time
    boosts: Mapping[int, set[str]] = field(default_factory=dict)  # what the boosts of a column can be over
    counted: str = "repeat"  # what a time is: a repeat, a seed, or a trial, the mean of its repeats
    of_pairs: bool = False  # whether the times of a line are a pair
    of_records: bool = False  # whether it is JSON; there a line may have many records
    outcomes: Sequence[int] = ()  # the columns that say how the run or trial of a line ended
    failed: set[int] = field(default_factory=set)  # columns of any name that said so of one that failed
    unused: Sequence[int] = field(init=False)  # the columns that are left out
    fixed: Mapping[int, str] = field(init=False)  # those of them that have to be the same, with the remedy
    of_shape: set[int] = field(init=False)  # those of them that have to be so in lines of one shape alone
    machines: set[int] = field(init=False)  # columns left out that say where a time was measured
    settings: set[int] = field(init=False)  # columns left out of what both sides should have alike
    rates: set[int] = field(init=False)  # columns left out of throughputs
    telling: list[int] = field(init=False)  # those that say where a time belongs
    cells: dict[Key, CellTimings] = field(default_factory=dict)
    beside: dict[tuple[str | None, str | None], list[str]] = field(default_factory=dict)
    targets: dict[Sequence[object], Target] = field(default_factory=dict)  # by what lines say
    held: dict[tuple[int, str], tuple[str, int]] = field(default_factory=dict)  # by fixed columns, in a line
    summaries: dict[int, str] = field(default_factory=dict)  # lines of means and totals, with their labels
    untimed: list[int] = field(default_factory=list)  # the lines of runs and cells without a time
    works: set[str] = field(default_factory=set)  # units of rates whose labels do not tell the operations
    lines: list[int] = field(default_factory=list)  # hashes of the lines that have a time
    differ: set[int] = field(default_factory=set)  # left-out columns in which its lines differ

    def __post_init__(self) -> None:
        used = {*self.columns.values(), *self.configs, *self.boosts}
        self.unused = [index for index in range(len(self.names)) if index not in used]

        def called(pattern: re.Pattern[str]) -> list[int]:
            return [index for index in self.unused if pattern.fullmatch(self.names[index])]

        sized = sizes(word for name in self.names for word in (name, *name.split("+")))  # or joined already
        joins = [index for index in self.unused if self.names[index] in sized]
        phases = called(_PHASE)
        self.of_shape = {*joins, *phases}
        own = [index for name, index in self.columns.items() if name == "shape"]
        joined = "+".join(self.names[index] for index in (*own, *joins))
        join = f"join columns: --columns {shlex.quote(f'shape={joined}')}; take it out if it is a result"
        self.fixed = {
            **dict.fromkeys(joins, f"they are two shapes of one label, so {join}"),
            **dict.fromkeys((*phases, *called(_KIND)), _KEEP_ONE_KIND),
            **dict.fromkeys(called(OUTCOME), LEAVE_EMPTY),
        }
        self.machines, self.settings = {*called(MACHINE)}, {*called(SETTING)}
        self.rates = set() if self.configs else {*called(THROUGHPUT)}
        self.telling = [index for name, index in self.columns.items() if name not in EACH_LINE]
        self.telling += self.fixed


def index_of(name: str, row: Sequence[str]) -> int:
    """Return which column of a heading has a name."""
    known = [cell.casefold() for cell in row]
    if name.casefold() not in known:
        raise InputError(f"has no column {name!r}; there are {listed_columns(row)}")
    return known.index(name.casefold())


def read_columns(row: Sequence[str], names: Mapping[str, str], unit: str) -> Table:
    """Return the table of a heading; ``names`` are the columns of fields, and ``unit`` is that of times."""
    if lacks_names(row):
        raise DatasetError(NAMES_FIRST)
    known = {name.casefold(): index for index, name in enumerate(row)}
    if len(known) < len(row):
        raise DatasetError(f"two columns have the same name: {listed_columns(row)}")
    columns = {name: known[name] for name in FIELDS if name in known}
    # Left out, a column of units such as samples/s would let a rate be read as a time.
    beside = f"{names.get('time', '').rpartition('.')[0]}.unit".casefold()  # of request_latency.avg in JSON
    if units := [name for name in known if name == beside or UNIT.fullmatch(name)]:
        # A table may have several columns of units. A metric may have another unit than the time.
        surest = max(units, key=lambda name: (name == beside, name[:4] == "time", name[:4] == "unit"))
        columns["unit"] = known[surest]
    columns |= {name: index_of(wanted, row) for name, wanted in names.items()}
    if "time" not in names:
        if table := _read_wide(row, columns, unit):
            return table
        columns = _with_time(row, columns)
    time = row[columns["time"]]
    means = means_of(time, row) if "time" not in names or words_of(time) & TOTALS else []
    if means:  # of many calls, whose number may differ (trtexec --exportProfile, rocprof --stats)
        both = f"{shortened(time)} may be a total, and {shortened(means[0])} its mean"
        raise DatasetError(f"{both}; name the one to take: --columns {shlex.quote(f'time={means[0]}')}")
    if len(set(columns.values())) < len(columns):
        raise InputError("one column would be two things; give each a column of its own by --columns")
    units_of = {columns["time"]: _unit_of(row, columns, unit)}
    return Table(names=row, columns=columns, units=units_of, configs={})


def _read_wide(row: Sequence[str], columns: Mapping[str, int], unit: str) -> Table | None:
    """Return the table if it has a column for each configuration; else None."""
    others = _configurations(row, columns).values()
    with_shape = {"shape": 0, **columns} if row[0].casefold() in SHAPES else columns
    has_stub = "shape" in with_shape or ({"seed", "round", "repeat"} & {*columns} and unit)
    is_wide = len(others) > 1 and (has_stub or have_units(others, UNITS))
    if not is_wide or time_columns(row) or {"config", "unit"} & {*columns}:
        return None
    table = read_wide_columns(row, with_shape, unit)
    if unit and unit not in table.units.values():
        raise InputError(f"the unit is told twice, by the headings and by --unit {unit}; keep one")
    return table


def _with_time(row: Sequence[str], columns: Mapping[str, int]) -> dict[str, int]:
    """Return the columns with the one that holds the times by its name, or that alone may hold them."""
    times, others = time_columns(row), [*_configurations(row, columns).values()]
    if not times and len(others) == 1 and "shape" in columns and _may_be_time(others[0]):
        return {**columns, "time": row.index(others[0])}
    if len(times) != 1:
        raise DatasetError(
            f"has {len(times) or 'no'} column{'s' * (len(times) > 1)} of times among {listed_columns(row)}; "
            "a line holds one timing, in a column time_s, time_ms, time_us or time_ns, or in the column that "
            f"--columns time=NAME names{'' if times else f'; {AS_CONFIGURATIONS}'}"
        )
    return {**columns, "time": times[0]}


def _configurations(row: Sequence[str], columns: Mapping[str, int]) -> dict[int, str]:
    """Return the columns that may be configurations; beside columns with units, ``status`` is none."""
    others = {index: name for index, name in measured(row).items() if index not in columns.values()}
    if not any(have_units([name], UNITS) for name in others.values()):
        return others
    return {index: name for index, name in others.items() if not OUTCOME.fullmatch(name)}


def _may_be_time(name: str) -> bool:
    is_other = is_statistic(name) or NEVER.fullmatch(name.casefold()) or sizes([name])
    return unit_named(name) in RATES or (not is_other and bool(_rate_of(name) or known_heading(name, UNITS)))


def _rate_of(name: str) -> str:
    """Return the unit of a column of rates, such as bandwidth (GB/s); empty for others."""
    heading = known_heading(_RATE.sub("value", name), UNITS)
    return heading.unit if heading and heading.unit in RATES else ""


def read_wide_columns(row: Sequence[str], columns: Mapping[str, int], unit: str) -> Table:
    """Return the heading of a table with columns of configurations; one that names no unit has ``unit``."""
    boosts = {*range(len(row))} - {*measured(row), *columns.values()}
    headings = {index: read_heading(name, UNITS) for index, name in _configurations(row, columns).items()}
    configs = {index: heading.name for index, heading in headings.items()}
    if len(set(configs.values())) < max(2, len(configs)):
        if boosts and len(configs) < 2:
            raise DatasetError(ONLY_QUOTIENTS)
        needs = "a column for each configuration, two or more of different names"
        raise DatasetError(f"needs a column of times, or {needs}, among {listed_columns(row)}")
    units = {index: heading.unit or unit for index, heading in headings.items()}
    bare = [configs[index] for index in configs if not units[index]]
    check_names(configs.values())
    said = [one.name for one in headings.values() if not one.unit and OUTCOME.fullmatch(one.name)]
    if said:  # its numbers, such as 1 for valid, would be times
        remedy = f"take it out, or write units into the headings of configurations: 'old ({unit or 'ms'})'"
        raise DatasetError(f"column {shortened(said[0])!r} may say how runs ended; {remedy}")
    if len(bare) == len(configs):
        are = f"nothing says in which unit the numbers of {listed_columns(bare)} are"
        raise InputError(f"{are}; give --unit, one of {', '.join(UNITS)}")
    if bare:
        one = shortened(bare[0])
        remedy = f"name it '{one} (ms)' or '{one} (GFLOPS)', or take it out if it is no configuration"
        raise DatasetError(f"column {one!r} has no unit beside one that has; {remedy}")
    if len({"s" if unit in PER_SECOND else about_work({unit}) for unit in units.values()}) > 1:
        beside = "columns of times stand beside throughputs, or kinds of throughputs"
        raise DatasetError(f"{beside}; keep one kind")
    over = {index: set(EITHER) for index in sorted(boosts)}
    return Table(names=row, columns=columns, units=units, configs=configs, boosts=over)


def _unit_of(row: Sequence[str], columns: Mapping[str, int], unit: str) -> str:
    """Return the unit from the column's name or the option; empty if a column has the units."""
    column = row[columns["time"]]
    name = shortened(column)
    # Who names a column of means has one time of each.
    bare = _UNIT_WITHIN.sub(r"\2\1", column)
    bare = _MEAN.sub("time", _RATE.sub("value", bare) if unit in RATES else bare)
    bare = re.sub(r"^time\((..+)\)$", r"\1", bare)  # median(elapsed), as nanobench writes it
    bare = re.sub(r"(?<!\d)[.-]|[.-](?!\d)", "_", bare)  # perf.tflops and hipblaslt-Gflops are no times
    own = unit_named(column) or _rate_of(column)
    if not own and (heading := known_heading(bare, UNITS)):
        own = heading.unit
    elif not own and "unit" not in columns:  # else each line says whether its score is a time
        own = (read_heading(column, UNITS) and read_heading(bare, UNITS)).unit  # an error names the column
    known = PER_SECOND if time_columns([column]) or "unit" in columns else UNITS
    if unit and unit not in known:
        raise InputError(f"--unit {unit}: column {name} holds times; give one of {', '.join(known)}")
    told = [f"the name {name}"] if own else []
    told += [f"--unit {unit}"] if unit not in {"", own} else []
    told += [f"the column {shortened(row[columns['unit']])}"] if "unit" in columns else []
    if not told:
        raise InputError(f"nothing says in which unit {name} is; give --unit, one of {', '.join(known)}")
    if len(told) > 1:
        raise InputError(f"the unit is told twice, by {' and by '.join(told)}; keep one of them")
    return own or unit
