"""Published tables of throughputs, one number for each shape and configuration.

What is read is a markdown table whose first column is headed ``Shape`` and holds labels; every further
column is a configuration with GFLOPS, but for one with ``boost`` in its heading, which is checked and then
dropped. A text may hold several such tables, as long as they have the same configurations. Nothing is made
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

from abtune.errors import DatasetError, InputError
from abtune.ingest.reading import wrong_kind
from abtune.schema import add_variables, make_dataset
from abtune.shapes import Conv2d, Shape, parse_shape

_MISSING = {"", "-", "n/a", "nan"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of a table: a shape and its throughputs in GFLOPS, NaN where there is none."""

    line: int
    shape: Shape
    gflops: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """The heading of a table: the names of its configurations, and which column they and the boost have."""

    configs: tuple[str, ...]
    columns: tuple[int, ...]
    boost: int | None
    width: int


def read_published(path: Path) -> xr.Dataset:
    """Read a file with :func:`parse_published`.

    Raises
    ------
    DatasetError
        If the file cannot be read or is not what it should be; the message names file and line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise DatasetError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DatasetError(f"{path}: not a text in UTF-8") from None
    try:
        return parse_published(text, attrs={"source": path.name})
    except (DatasetError, InputError) as error:
        raise DatasetError(f"{path}: {error}") from None


def parse_published(text: str, *, attrs: dict[str, Any] | None = None) -> xr.Dataset:
    """Turn the tables of a text into a dataset with one seed, one round and one repeat.

    Parameters
    ----------
    text : str
        Markdown; whatever is not a table headed ``Shape`` is ignored.
    attrs : dict, optional
        Global attributes of the dataset, such as its source.

    Returns
    -------
    xarray.Dataset
        Latencies in seconds, configurations in the order of their columns.

    Raises
    ------
    DatasetError
        If there is no table, tables disagree about the configurations, a shape comes twice, a number is
        not one, or a boost does not follow from its row.
    """
    configs, rows = _read_tables(text.splitlines())
    seen: dict[str, int] = {}
    for row in rows:
        first = seen.setdefault(row.shape.label, row.line)
        if first != row.line:
            raise DatasetError(f"line {row.line}: shape {row.shape.label} is already in line {first}")
    flop = np.array([published_flop(row.shape) for row in rows], dtype=np.float64)
    gflops = np.array([row.gflops for row in rows])
    dataset = make_dataset(
        (flop[:, np.newaxis] / (gflops * 1e9))[:, :, np.newaxis],
        shapes=[row.shape.label for row in rows],
        configs=configs,
        workloads=[row.shape.workload for row in rows],
        attrs=attrs,
    )
    return add_variables(dataset, flop=[row.shape.flop for row in rows])


def published_flop(shape: Shape) -> int:
    """Count floating-point operations as published GFLOPS do: 2 (M N K + M N).

    A convolution counts as the matrix product that it implies, with M = N OH OW, N = K, K = R S C. The
    convention cancels in a boost; it matters for the latency alone.
    """
    if isinstance(shape, Conv2d):
        n, oh, ow, k = shape.output_shape
        return 2 * (n * oh * ow * k * shape.r * shape.s * shape.c + n * oh * ow * k)
    return 2 * (shape.m * shape.n * shape.k + shape.m * shape.n)


def _read_tables(lines: Sequence[str]) -> tuple[tuple[str, ...], list[Row]]:
    rows: list[Row] = []
    heading: Heading | None = None
    configs: tuple[str, ...] | None = None
    for number, cells in _table_lines(lines):
        if not cells:
            heading = None  # the table has ended
        elif cells[0].casefold() == "shape":
            heading = _read_heading(cells, number)
            configs = configs or heading.configs
            if heading.configs != configs:
                raise DatasetError(
                    f"line {number}: configurations are {heading.configs}, but above {configs}"
                )
        elif heading is not None and not all(re.fullmatch(r":?-+:?", cell) for cell in cells):
            rows.append(_read_row(cells, heading, number))
    if configs is None or not rows:
        hint = wrong_kind("\n".join(lines), "published")
        raise DatasetError(
            f"no table here{hint or '; its heading would start with | Shape |, and rows would follow'}"
        )
    return configs, rows


def _table_lines(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield each line's number and cells; no cells for a line that is not of a table."""
    for number, line in enumerate(lines, start=1):
        stripped = line.strip()
        cells = stripped.removeprefix("|").removesuffix("|").split("|") if stripped.startswith("|") else []
        yield number, [cell.strip().strip("`").strip() for cell in cells]


def _read_heading(cells: Sequence[str], line: int) -> Heading:
    boosts = [column for column, cell in enumerate(cells) if "boost" in cell.casefold()]
    columns = tuple(column for column in range(1, len(cells)) if column not in boosts)
    configs = tuple(cells[column] for column in columns)
    if len(boosts) > 1 or len(columns) < 2 or len(set(configs)) < len(configs) or not all(configs):
        raise DatasetError(
            f"line {line}: a heading needs Shape, a name of its own for each of two or more configurations, "
            "and at most one boost"
        )
    return Heading(configs=configs, columns=columns, boost=boosts[0] if boosts else None, width=len(cells))


def _read_row(cells: Sequence[str], heading: Heading, line: int) -> Row:
    if len(cells) != heading.width:
        raise DatasetError(f"line {line}: {len(cells)} cells under a heading of {heading.width}")
    try:
        shape = parse_shape(cells[0])
    except InputError as error:
        raise DatasetError(f"line {line}: {error}") from None
    gflops = tuple(_read_number(cells[column], line) for column in heading.columns)
    if heading.boost is not None:
        _check_boost(cells[heading.boost], gflops, line)
    return Row(line=line, shape=shape, gflops=gflops)


def _read_number(cell: str, line: int) -> float:
    if cell.casefold() in _MISSING:
        return math.nan
    try:
        number = float(cell)
    except ValueError:
        raise DatasetError(f"line {line}: {cell!r} is not a number") from None
    if not 0 < number < math.inf:
        raise DatasetError(f"line {line}: a throughput must be positive, not {cell}")
    return number


def _check_boost(cell: str, gflops: Sequence[float], line: int) -> None:
    """Check a printed boost against its row, to the digits that it is printed with."""
    if cell.casefold() in _MISSING or len(gflops) != 2 or any(map(math.isnan, gflops)):
        return
    printed = cell.removesuffix("%").strip()
    stated = _read_signed(printed, line)
    boost = 100 * (gflops[1] / gflops[0] - 1)
    exponent = Decimal(printed).as_tuple().exponent
    last_digit = 10.0**exponent if isinstance(exponent, int) else 0.0
    if abs(stated - boost) > 0.51 * last_digit + 1e-12 * (100 + abs(boost)):
        raise DatasetError(f"line {line}: the boost is printed as {cell}, but the row gives {boost:.6g}%")


def _read_signed(text: str, line: int) -> float:
    try:
        return float(text)
    except ValueError:
        raise DatasetError(f"line {line}: {text!r} is not a number") from None
