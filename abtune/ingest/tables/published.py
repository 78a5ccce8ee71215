"""Published tables of throughputs or times, one number for each shape and configuration.

The first column of such a markdown table is headed ``Shape`` and holds labels. Every further column is a
configuration; its heading may say its unit in brackets, and numbers without a unit are GFLOPS. A throughput
needs a label from which its operations can be counted; for times, any label is a shape. A column ``boost`` is
checked against the others and then dropped. A text may hold several tables of the same configurations. One
number is one seed, and the analysis says how little that supports.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from abtune.dataset.build import add_variables, make_dataset
from abtune.errors import DatasetError, InputError, unknown_name
from abtune.ingest.importer import Imported, Importer, Inputs, Option, Values
from abtune.ingest.sources import Source, recorded_path
from abtune.ingest.tables.markdown_tables import check_lengths, is_heading, is_rule, table_lines
from abtune.ingest.tables.table_columns import ASSUMED_UNIT, Columns, check_same, read_columns
from abtune.ingest.tables.table_rows import Row, read_row
from abtune.ingest.texts import read_text
from abtune.ingest.units import UNITS


def _read(sources: Sequence[Source], values: Values) -> Imported:
    (source,) = sources
    dataset = read_published(source.path, unit=values["unit"])
    note = "numbers without a unit are read as GFLOPS (more is better); for times, give --unit ms"
    return Imported(dataset=dataset, notes=(note,) if "assumed_unit" in dataset.attrs else ())


def _recognises(path: Path, text: str) -> bool:  # noqa: ARG001 - the text tells
    lines = (line.strip().removeprefix("|") for line in text.splitlines())
    return any("|" in line and line.partition("|")[0].strip(" *_`").casefold() == "shape" for line in lines)


PUBLISHED = Importer(
    name="published",
    kind="a published table",
    summary="""Read a published markdown table of throughputs or times.

    FILE is a text with one or more tables. A table has a column Shape and a column for each configuration,
    such as async, async (TFLOPS) or async (ms). It may have a column boost in percent, which is checked
    against the others. Text around the tables is ignored.
    """,
    recognises=_recognises,
    read=_read,
    inputs=Inputs.ONE_FILE,
    options=(
        Option(
            name="unit", choices=UNITS, help="Unit of columns whose headings name none. [default: gflops]"
        ),
    ),
    examples="""
  abtune import published table.md --out table.nc
  abtune analyze table.nc
""",
)


def read_published(path: Path, *, unit: str = "") -> xr.Dataset:
    """Return the dataset of a file, as :func:`parse_published` reads its text.

    Raises
    ------
    DatasetError
        If the file cannot be read or is not what it should be; the message names file and line.
    """
    text = read_text(path)
    try:
        return parse_published(text, unit=unit, attrs={"sources": json.dumps([recorded_path(path)])})
    except (DatasetError, InputError) as error:
        raise DatasetError(f"{path}: {error}") from None


def parse_published(text: str, *, unit: str = "", attrs: dict[str, Any] | None = None) -> xr.Dataset:
    """Return the tables of a text as a dataset with one seed, one round and one repeat.

    Parameters
    ----------
    text : str
        Markdown; whatever is not a table headed ``Shape`` is ignored.
    unit : str
        One of ``UNITS``, for columns whose headings name none; GFLOPS if empty.
    attrs : dict, optional
        Global attributes of the dataset, such as its source.

    Returns
    -------
    xarray.Dataset
        Latencies in seconds, configurations in the order of their columns. The attribute ``assumed_unit``
        is there if neither a heading nor ``unit`` says the unit.

    Raises
    ------
    DatasetError
        If there is no table, tables disagree about the configurations, a shape comes twice, a cell
        is no number, or a boost does not follow from its row.
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


def _read_tables(lines: Sequence[str], unit: str) -> tuple[tuple[str, ...], list[Row], bool]:
    """Return the configurations, the rows, and whether the unit of any column was assumed."""
    rows: list[Row] = []
    first: Columns | None = None
    columns: Columns | None = None
    for number, cells in table_lines(lines):
        if not cells:
            columns = None  # the table has ended
            continue
        if columns is not None or is_heading(cells):
            check_lengths(cells, number)
        if is_heading(cells):
            columns = read_columns(cells, number, unit)
            first = first or columns
            check_same(columns, first, number)
        elif columns is not None and not is_rule(cells):
            rows.append(read_row(cells, columns, number))
    if first is None or not rows:
        raise DatasetError("no table here; its heading would start with | Shape |, and rows would follow")
    return first.configs, rows, first.assumed
