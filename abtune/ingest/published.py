"""Published tables of throughputs, one number for each shape and configuration.

What is read is a markdown table whose first column is headed ``Shape`` and holds labels; every further
column is a configuration with what its heading says in brackets, such as TFLOPS or ms, or else with GFLOPS. A
throughput takes a label from which its operations can be counted; beside times, any label is a shape. A
column with ``boost`` in its heading is checked and then dropped, and one that can be no configuration is
refused. A text may hold several such tables, as long as they have the same configurations. Nothing is made
up: one number is one seed, and the analysis will say how little that supports.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from abtune.errors import DatasetError, InputError, unknown_name
from abtune.ingest.headings import UNIT_WORDS, plain, read_column
from abtune.ingest.reading import read_text, wrong_kind
from abtune.ingest.timing_parts import PER_SECOND
from abtune.schema import add_variables, make_dataset
from abtune.shapes import Conv2d, Shape, parse_shape

_MISSING = {"", "-", "\u2013", "\u2014", "n/a", "na", "nan"}
_LABELS = "M=512_N=256_K=640 or N=1_H=56_W=56_C=64_K=64_R=3_S=3_STR=1_PAD=1_DIL=1"
# What may stand in the column of shapes and is none: words of statistics, perhaps with what they are over. A
# label with any other word is a shape, such as "layernorm mean", and so is one with an underscore.
_STATISTIC = re.compile(
    "(g|h|geo|geo_|geometric_)?means?|averages?|avg|\u00f8|medians?|(sub)?totals?|sums?|\u2211|\u03c3|overall|all|"
    "summary|aggregate|std|stdev|stddev|speedups?|boosts?|ratios?|improvement"
)
_BESIDE_STATISTICS = re.compile(
    "geom?|geometric|arith|arithmetic|harm|harmonic|(un)?weighted|grand|of|over|for|across|in|the|every|each|"
    "shapes?|rows|workloads|kernels|models|layers|cases|benchmarks|networks|times?|latency|latencies|"
    "runtimes?|throughput"
)
_FLOP = {"mflops": 1e6, "gflops": 1e9, "tflops": 1e12}
UNITS = (*PER_SECOND, *_FLOP)
ASSUMED_UNIT = "gflops"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of a table: a shape and its latencies in seconds, NaN where there is none.

    ``shape`` is what the label says of its sizes, None if nothing.
    """

    line: int
    label: str
    shape: Shape | None
    latency: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """The heading of a table: the names of its configurations, their units, and which columns hold what.

    ``assumed`` says whether nothing told the unit of some column.
    """

    configs: tuple[str, ...]
    units: tuple[str, ...]
    assumed: bool
    columns: tuple[int, ...]
    boost: int | None
    width: int


def read_published(path: Path, *, unit: str = "") -> xr.Dataset:
    """Read a file with :func:`parse_published`.

    Raises
    ------
    DatasetError
        If the file cannot be read or is not what it should be; the message names file and line.
    """
    text = read_text(path)
    try:
        return parse_published(text, unit=unit, attrs={"source": path.name})
    except (DatasetError, InputError) as error:
        raise DatasetError(f"{path}: {error}") from None


def parse_published(text: str, *, unit: str = "", attrs: dict[str, Any] | None = None) -> xr.Dataset:
    """Turn the tables of a text into a dataset with one seed, one round and one repeat.

    Parameters
    ----------
    text : str
        Markdown; whatever is not a table headed ``Shape`` is ignored.
    unit : str
        One of ``UNITS``, of the numbers below a heading that has none; GFLOPS if empty.
    attrs : dict, optional
        Global attributes of the dataset, such as its source.

    Returns
    -------
    xarray.Dataset
        Latencies in seconds, configurations in the order of their columns; ``assumed_unit`` is among the
        attributes if nothing said what the unit was.

    Raises
    ------
    DatasetError
        If there is no table, tables disagree about the configurations, a shape comes twice, a number is
        not one, or a boost does not follow from its row.
    InputError
        If there is no such unit.
    """
    if unit and unit not in UNITS:
        raise unknown_name("unit", unit, UNITS)
    configs, rows, assumed = _read_tables(text.splitlines(), unit)
    seen: dict[str, int] = {}
    for row in rows:
        first = seen.setdefault(row.label, row.line)
        if first != row.line:
            raise DatasetError(f"line {row.line}: shape {row.label} is already in line {first}")
    latency = np.array([row.latency for row in rows])
    if np.isnan(latency).all():
        raise DatasetError(
            f"line {rows[0].line}: no number in this row or any other; put in what was measured, or give the "
            "right file"
        )
    dataset = make_dataset(
        latency[:, :, np.newaxis],
        shapes=[row.label for row in rows],
        configs=configs,
        workloads=[row.shape.workload if row.shape else "" for row in rows],
        attrs={**(attrs or {}), **({"assumed_unit": ASSUMED_UNIT} if assumed else {})},
    )
    flop = [row.shape.flop if row.shape else math.nan for row in rows]
    return dataset if np.isnan(flop).all() else add_variables(dataset, flop=flop)


def published_flop(shape: Shape) -> int:
    """Count floating-point operations as published GFLOPS do: 2 (M N K + M N).

    A convolution counts as the matrix product that it implies, with M = N OH OW, N = K, K = R S C. The
    convention cancels in a boost; it matters for the latency alone.
    """
    if isinstance(shape, Conv2d):
        n, oh, ow, k = shape.output_shape
        return 2 * (n * oh * ow * k * shape.r * shape.s * shape.c + n * oh * ow * k)
    return 2 * (shape.m * shape.n * shape.k + shape.m * shape.n)


def _read_tables(lines: Sequence[str], unit: str) -> tuple[tuple[str, ...], list[Row], bool]:
    """Return the configurations, the rows, and whether the unit of any column had to be assumed."""
    rows: list[Row] = []
    first: Heading | None = None
    heading: Heading | None = None
    for number, cells in _table_lines(lines):
        if not cells:
            heading = None  # the table has ended
        elif cells[0].casefold() == "shape":
            heading = _read_heading(cells, number, unit)
            first = first or heading
            _check_same(heading, first, number)
        elif heading is not None and not all(re.fullmatch(r":?-+:?", cell) for cell in cells):
            rows.append(_read_row(cells, heading, number))
    if first is None or not rows:
        hint = wrong_kind("\n".join(lines), "published")
        raise DatasetError(
            f"no table here{hint or '; its heading would start with | Shape |, and rows would follow'}"
        )
    return first.configs, rows, first.assumed


def _check_same(heading: Heading, first: Heading, line: int) -> None:
    """Check that a table has the configurations of the first one, and units as far as that has."""
    if heading.configs != first.configs:
        raise DatasetError(f"line {line}: configurations are {heading.configs}, but above {first.configs}")
    if heading.assumed != first.assumed:
        without = "this table" if heading.assumed else "the first table"
        raise DatasetError(
            f"line {line}: {without} says no unit, though another does; give all headings their units, or "
            "--unit for those without"
        )


def _table_lines(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield each line's number and cells, bare of what makes them bold; none where it is not of a table."""
    for number, line in enumerate(lines, start=1):
        stripped = line.strip()
        cells = stripped.removeprefix("|").removesuffix("|").split("|") if "|" in stripped else []
        yield number, [re.sub(r"^(\*+|_+|`+)(.*)\1$", r"\2", cell.strip()).strip() for cell in cells]


def _read_heading(cells: Sequence[str], line: int, unit: str) -> Heading:
    boosts = [column for column, cell in enumerate(cells) if "boost" in cell.casefold()]
    columns = tuple(column for column in range(1, len(cells)) if column not in boosts)
    named = [
        read_column(
            cells[column], line, others=[cells[other] for other in columns if other != column], given=unit
        )
        for column in columns
    ]
    configs = tuple(name for name, _ in named)
    if len(boosts) > 1 or len(columns) < 2 or len(set(configs)) < len(configs) or not all(configs):
        raise DatasetError(
            f"line {line}: a heading needs Shape, a name of its own for each of two or more configurations, "
            "and at most one boost"
        )
    bare = [name for name, unit in named if not unit]
    if len(bare) < len(named) and bare:
        raise DatasetError(
            f"line {line}: column {bare[0]!r} has no unit beside one that has; name it '{bare[0]} (ms)' or "
            f"'{bare[0]} (GFLOPS)', whichever it is, or give --unit"
        )
    return Heading(
        configs=configs,
        units=tuple(unit or ASSUMED_UNIT for _, unit in named),
        assumed=bool(bare),
        columns=columns,
        boost=boosts[0] if boosts else None,
        width=len(cells),
    )


def _read_row(cells: Sequence[str], heading: Heading, line: int) -> Row:
    if len(cells) != heading.width:
        raise DatasetError(f"line {line}: {len(cells)} cells under a heading of {heading.width}")
    shape = _read_label(cells[0], heading, line)
    latency = tuple(
        _latency(_read_number(cells[column], unit, line), unit, shape)
        for column, unit in zip(heading.columns, heading.units, strict=True)
    )
    if heading.boost is not None:
        _check_boost(cells[heading.boost], latency, line)
    return Row(line=line, label=cells[0], shape=shape, latency=latency)


def _read_label(label: str, heading: Heading, line: int) -> Shape | None:
    """Return the sizes that a label says; None for any other label, if no throughput needs them."""
    throughputs = [
        name for name, unit in zip(heading.configs, heading.units, strict=True) if unit not in PER_SECOND
    ]
    try:
        return parse_shape(label)
    except InputError as error:
        near = str(error).partition("; there are")[0]  # any sizes will do, not only the known ones
    if throughputs:
        raise DatasetError(
            f"line {line}: {near}; labels are such as {_LABELS}, from which the operations of a throughput "
            f"are counted; if these are times, for which any label will do, say so: '{throughputs[0]} (ms)'"
        )
    if not label or _is_summary(label):
        raise DatasetError(f"line {line}: {label!r} is not the label of a shape; take the line out")
    return None


def _is_summary(label: str) -> bool:
    """Tell a line of means, totals or the like from a shape: it has nothing but words of statistics."""
    words = re.findall(r"\w+|\u2211", plain(label).replace("-up", "up"))
    others = [word for word in words if not _STATISTIC.fullmatch(word)]
    return len(others) < len(words) and all(
        word in UNIT_WORDS or _BESIDE_STATISTICS.fullmatch(word) for word in others
    )


def _latency(number: float, unit: str, shape: Shape | None) -> float:
    """Convert a throughput or a time to seconds; a throughput has a shape."""
    if shape is None or unit in PER_SECOND:
        return number / PER_SECOND[unit]
    return published_flop(shape) / (number * _FLOP[unit])


def _read_number(cell: str, unit: str, line: int) -> float:
    if cell.casefold() in _MISSING:
        return math.nan
    try:
        number = float(cell)
    except ValueError:
        raise DatasetError(
            f"line {line}: {cell!r} is not a number; write it with a decimal point and nothing else, or - if "
            "there is none"
        ) from None
    if not 1e-30 < number < math.inf:
        what = "time" if unit in PER_SECOND else "throughput"
        raise DatasetError(f"line {line}: a {what} must be positive, not {cell}")
    return number


def _check_boost(cell: str, latency: Sequence[float], line: int) -> None:
    """Check a printed boost against its row, to the digits that it is printed with."""
    if cell.casefold() in _MISSING or len(latency) != 2 or any(map(math.isnan, latency)):
        return
    printed = cell.removesuffix("%").strip().replace("\u2212", "-")
    stated = _read_signed(printed, line)
    boost = 100 * (latency[0] / latency[1] - 1)
    exponent = Decimal(printed).as_tuple().exponent
    last_digit = 10.0 ** min(exponent, 9) if isinstance(exponent, int) else 0.0
    if not abs(stated - boost) <= 0.51 * last_digit + 1e-12 * (100 + abs(boost)):  # NaN is not
        raise DatasetError(f"line {line}: the boost is printed as {cell}, but the row gives {boost:.6g}%")


def _read_signed(text: str, line: int) -> float:
    try:
        return float(text)
    except ValueError:
        raise DatasetError(f"line {line}: {text!r} is not a number") from None
