"""The rows of a published table: labels, and numbers that become latencies."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from abtune.errors import DatasetError, InputError
from abtune.ingest.tables.table_columns import Columns
from abtune.ingest.units import FLOPS, PER_SECOND, shortened, to_number, unit_named
from abtune.shapes import Conv2d, Shape, parse_shape

_MISSING = {"", "-", "\u2013", "\u2014", "n/a", "na", "nan"}
_LABELS = "M=512_N=256_K=640 or N=1_H=56_W=56_C=64_K=64_R=3_S=3_STR=1_PAD=1_DIL=1"
# What may stand in the column of shapes and is no shape: words of statistics, perhaps with what they are
# over. A label with any other word is a shape, such as "layernorm mean", and so is one with an underscore.
_STATISTIC = re.compile(
    "(g|h|geo|geo_|geometric_)?means?|averages?|avg|\u00f8|medians?|(sub)?totals?|sums?|\u2211|\u03c3|overall|all|"
    "summary|aggregate|std|stdev|stddev|speedups?|boosts?|ratios?|improvement"
)
_BESIDE_STATISTICS = re.compile(
    "geom?|geometric|arith|arithmetic|harm|harmonic|(un)?weighted|grand|of|over|for|across|in|the|every|each|"
    "shapes?|rows|workloads|kernels|models|layers|cases|benchmarks|networks|times?|latency|latencies|"
    "runtimes?|throughput"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of a table: a label and its latencies in seconds, NaN where there is none.

    ``shape`` is None where the label does not name its sizes.
    """

    line: int
    label: str
    shape: Shape | None
    latency: tuple[float, ...]


def read_row(cells: Sequence[str], columns: Columns, line: int) -> Row:
    """Return what a row of a table holds.

    Raises
    ------
    DatasetError
        If a cell is missing, the label is none of a shape, a cell is no number, or the boost does not follow.
    """
    if len(cells) != columns.width:
        raise DatasetError(f"line {line}: {len(cells)} cells under a heading of {columns.width}")
    shape = _read_label(cells[0], columns, line)
    latency = tuple(
        _latency(_read_number(cells[index], unit, line), unit, shape)
        for index, unit in zip(columns.numbers, columns.units, strict=True)
    )
    if columns.boost is not None:
        _check_boost(cells[columns.boost], latency, line)
    return Row(line=line, label=cells[0], shape=shape, latency=latency)


def _read_label(label: str, columns: Columns, line: int) -> Shape | None:
    """Return the sizes that a label names; None for any other label, if no throughput needs them."""
    throughputs = [
        name for name, unit in zip(columns.configs, columns.units, strict=True) if unit not in PER_SECOND
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
    """Return whether a label names means or totals: it has nothing but words of statistics."""
    words = re.findall(r"\w+|\u2211", label.casefold().replace("-up", "up"))
    others = [word for word in words if not _STATISTIC.fullmatch(word)]
    return len(others) < len(words) and all(
        unit_named(word) or _BESIDE_STATISTICS.fullmatch(word) for word in others
    )


def _latency(number: float, unit: str, shape: Shape | None) -> float:
    """Return a throughput or a time in seconds; a throughput has a shape."""
    if shape is None or unit in PER_SECOND:
        return number / PER_SECOND[unit]
    return published_flop(shape) / (number * FLOPS[unit])


def _read_number(cell: str, unit: str, line: int) -> float:
    if cell.casefold() in _MISSING:
        return math.nan
    try:
        number = to_number(cell)
    except ValueError:
        raise DatasetError(
            f"line {line}: {shortened(cell)!r} is not a number; write it with a decimal point and nothing "
            "else, or - if there is none"
        ) from None
    if not 1e-30 < number < math.inf:
        what = "time" if unit in PER_SECOND else "throughput"
        raise DatasetError(f"line {line}: a {what} must be positive, not {cell}")
    return number


def _check_boost(cell: str, latency: Sequence[float], line: int) -> None:
    """Check a printed boost against its row, to its printed digits."""
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
        return to_number(text)
    except ValueError:
        raise DatasetError(f"line {line}: {shortened(text)!r} is not a number") from None


def published_flop(shape: Shape) -> int:
    """Return the floating-point operations as published GFLOPS count them: 2 (M N K + M N).

    A convolution counts as the matrix product that it implies, with M = N OH OW, N = K, K = R S C. The
    convention cancels in a boost; it matters for the latency alone.
    """
    if isinstance(shape, Conv2d):
        n, oh, ow, k = shape.output_shape
        return 2 * (n * oh * ow * k * shape.r * shape.s * shape.c + n * oh * ow * k)
    return 2 * (shape.m * shape.n * shape.k + shape.m * shape.n)
