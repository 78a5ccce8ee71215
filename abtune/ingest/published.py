"""Published tables of throughputs or times, one number for each shape and configuration.

The first column of such a markdown table is headed ``Shape``; every further column is a configuration.
Triton's ``perf_report`` has columns of sizes instead. A column ``boost``, ``speedup`` or ``ratio`` is checked
against the others and then dropped. CSV is one table.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import xarray as xr

from abtune.dataset.build import add_variables, make_dataset
from abtune.dataset.merge import merge_datasets
from abtune.dataset.schema import RunStatus, labels_of
from abtune.errors import AbtuneError, DatasetError, InputError
from abtune.ingest.importers import Imported, Importer, Inputs, Option, Values
from abtune.ingest.joined_columns import compared_rows, printed_rows, titles_of, with_labels
from abtune.ingest.sources import Source, about_lacking, baseline_first, read_once, recorded_path
from abtune.ingest.table_columns import (
    FIELDS,
    ONLY_QUOTIENTS,
    SHAPES,
    about_summaries,
    check_names,
    have_units,
    is_summary,
    listed_columns,
    measured,
    no_unit,
    time_columns,
)
from abtune.ingest.tables import CUT, table_rows
from abtune.ingest.texts import naming
from abtune.ingest.units import (
    FAILED,
    FLOPS,
    LONGEST_CELL,
    MISSING,
    PER_SECOND,
    RATES,
    UNITS,
    WORK,
    Heading,
    about_work,
    fits,
    read_heading,
    read_number,
    rounding_of,
    spelled,
    to_seconds,
)
from abtune.shapes import Shape, parse_shape, shape_values
from abtune.text import listed, shell_path, shortened, to_number

_RULE = re.compile(r":?-+:?")
# What makes a cell bold, italic or code: **a**, _a_.
_MARKED = re.compile(r"([*_`]{1,3})(.+)\1")
_BAR = re.compile(r"(?<!\\)\|")  # a bar behind a backslash is part of its cell
# Between the lines of a table as tabulate, psql and Org mode draw it: +---+---+, ---+--- and |---+---|.
_DRAWN_RULE = re.compile(r"\|?[-=:]*\+[-=+:]+\|?")
_LABELS = "M=512_N=256_K=640 or N=1_H=56_W=56_C=64_K=64_R=3_S=3_STR=1_PAD=1_DIL=1"


def _read(sources: Sequence[Source], values: Values) -> Imported:
    """Return the tables of the files; each file is a seed."""
    datasets: dict[str, xr.Dataset] = {}
    notes: list[str] = []
    titles: dict[tuple[str, ...], Path] = {}
    shapes: dict[Source, frozenset[str]] = {}
    for source, text in read_once(sources):
        own: list[str] = []
        titles[titles_of(text)] = source.path
        with naming(source.path):
            attrs = {"sources": json.dumps([recorded_path(source.path)])}
            dataset = parse_published(text, unit=values["unit"], attrs=attrs, notes=own)
        shapes[source] = frozenset(labels_of(dataset, "shape"))
        datasets[str(source.path)] = dataset.assign_coords(seed=[len(datasets)])
        last = text[text.rfind("\n") + 1 :].strip()
        own = [*_left_out(text), *own, *[CUT] * (last[-1:] not in "|]}" and ("|" in last or _is_csv(text)))]
        notes += own if len(sources) == 1 else [f"{source.path}: {note}" for note in own]
    if len(datasets) == 1:
        return Imported(dataset=dataset, notes=tuple(notes))
    if len(titles) > 1:
        are = listed(f"{shortened(', '.join(own) or 'none')} in {path}" for own, path in titles.items())
        remedy = "files are seeds of the same tables; those of others belong into one file, or are no seeds"
        raise DatasetError(f"titles are {are}; {remedy}")
    note = f"each file is one seed: {len(datasets)} seeds; that holds if each was a process of its own"
    return Imported(dataset=merge_datasets(datasets), notes=(note, *notes, *about_lacking(shapes)))


def _left_out(text: str) -> Iterator[str]:
    """Yield which tables of a text are left out, and which rows without a heading."""
    lines = [(0, []), *_rows_of_text(text), (0, [])]
    for (_, above), (line, cells), (_, below) in zip(lines, lines[1:], lines[2:], strict=False):
        if above or _is_heading(cells):
            continue
        # Markdown has a rule below the heading of each table.
        if len(below) > 1 and all(map(_RULE.fullmatch, below)):
            rule = "its heading does not begin with Shape, or a column has no unit"
            yield f"the table in line {line} is left out: {rule}"
        elif any(re.fullmatch(r"[0-9.]+", cell) for cell in cells[2:]):
            remedy = "take out what stands between them and their table"
            yield f"the rows from line {line} on are left out: they have no heading; {remedy}"


def _recognises(_: Path, text: str) -> bool:
    if not _is_csv(text):
        return any(_is_heading(cells) for _, cells in _rows_of_text(text))
    # CSV with several lines of a shape holds timings. The beginning of a text may end within a line.
    shapes: list[str] = []
    with contextlib.suppress(DatasetError):
        shapes.extend(row[0] for _, row in with_labels(table_rows(text)))
    return len(set(shapes)) == len(shapes)


PUBLISHED = Importer(
    name="published",
    kind="a published table",
    summary="""Read a published markdown table of throughputs or times.

    FILE is a text with one or more markdown tables, or CSV. A table has a column Shape and a column for
    each configuration, such as async, async (TFLOPS) or async (ms). It may have a column boost or speedup,
    which is checked against the others. Tables of Triton's perf_report have columns of sizes in place of
    Shape. Text around tables is ignored.
    """,
    recognises=_recognises,
    read=_read,
    inputs=Inputs.TABLES,
    options=(Option(name="unit", choices=UNITS, help="Unit of columns whose headings name none."),),
    examples="""
  abtune import published table.md --unit gflops --out table.nc
  abtune analyze table.nc
""",
)


# The shape of a line, None where its label names no sizes, and its seconds: NaN where there are none, and
# infinite where a run failed.
_Row: TypeAlias = tuple[Shape | None, tuple[float, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Columns:
    """The columns of a table."""

    headings: Mapping[int, Heading]  # names and units of the configurations, by the numbers of their columns
    boost: int | None  # the column of boosts
    width: int
    over: set[str]  # what the boosts so far may be over: the baseline, another configuration, or both

    @property
    def configs(self) -> tuple[str, ...]:
        """The configurations."""
        return tuple(heading.name for heading in self.headings.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tables:
    """What the tables of a text hold together."""

    configs: Sequence[str]  # which all of them share
    rows: Mapping[str, _Row]  # by the labels of their shapes
    works: Sequence[str]  # what to say of throughputs whose labels do not tell the operations


def parse_published(
    text: str, *, unit: str = "", attrs: dict[str, Any] | None = None, notes: list[str] | None = None
) -> xr.Dataset:
    """Return the tables of a text as a dataset with one seed, one round and one repeat.

    ``notes`` gets a line for each table whose boosts are not over the baseline.
    """
    notes = [] if notes is None else notes
    tables = _read_tables(_rows_of_text(text), unit, notes)
    configs, rows = tables.configs, tables.rows
    attrs = {**(attrs or {}), **({"latency_source": "throughput"} if tables.works else {})}
    notes += tables.works
    latency = np.array([seconds for _, seconds in rows.values()])
    if not np.isfinite(latency).any():
        raise DatasetError("no number in any row; put in what was measured")
    values = shape_values([shape for shape, _ in rows.values()])
    status = np.select(
        [np.isnan(latency), np.isinf(latency)], [RunStatus.MISSING, RunStatus.FAILED], RunStatus.COMPLETE
    )
    dataset = make_dataset(
        np.where(np.isinf(latency), np.nan, latency)[:, :, np.newaxis],
        shapes=list(rows),
        configs=configs,
        workloads=values.pop("workload"),
        run_status=status[:, :, np.newaxis],
        attrs=attrs,
    )
    return add_variables(dataset, **values)


def _is_csv(text: str) -> bool:
    """Return whether a text is surely CSV with a line for each shape, a column for each configuration."""
    try:
        (_, heading), (_, row) = itertools.islice(with_labels(table_rows(text)), 2)
        names = _read_columns(heading, "gflops").configs
        cells = (cell.replace(",", ".") for cell in row[1 : len(names) + 1])  # refused where it is read
        numbers = [to_number(cell) for cell in cells if cell.casefold() not in MISSING]
    except (ValueError, AbtuneError):
        return False
    is_long = time_columns(names) or not set(FIELDS).isdisjoint(map(str.casefold, names))
    return heading[0].casefold() in SHAPES and not is_long and len(numbers) > 0


def _rows_of_text(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each line as its number and cells, with sizes in one column; prose has no cell."""
    if _is_csv(text):
        (line, heading), *others = with_labels(table_rows(text))
        yield from ((line, ["shape", *heading[1:]]), *others)
        return
    titles, prints = printed_rows(text.split("\n"))
    prints |= compared_rows(text.split("\n"))
    lines = ((number, prints.get(number, cells)) for number, cells in _rows_of_markdown(text))
    for _, group in itertools.groupby(lines, key=lambda row: bool(row[1])):
        yield from _with_sizes_joined(list(group), titles if len(titles) > 1 else {})


def _with_sizes_joined(
    table: list[tuple[int, list[str]]], titles: Mapping[int, str]
) -> Iterator[tuple[int, list[str]]]:
    """Yield a table with its sizes in one column, below the title of its line; any other as it is."""
    rows = [row for row in table if row[1] != [""] and not all(map(_RULE.fullmatch, row[1]))]
    number, heading = rows[0] if rows else (0, [""])
    has_numbers = heading[0] == "" < heading[-1] and all(cells[0].isdigit() for _, cells in rows[1:])
    if has_numbers:  # pandas numbers the rows
        table, rows = ([(line, cells[1:] or cells) for line, cells in some] for some in (table, rows))
    joined = list(with_labels(rows))
    if not rows or joined[0][1][0] != "shape" or rows[0][1][0] == "shape":
        yield from table
        return
    title = f"{titles[number]}_" if number in titles else ""
    yield joined[0]
    yield from ((line, [f"{title}{label}", *cells]) for line, (label, *cells) in joined[1:])


def _rows_of_markdown(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each line as its number and cells; prose has no cell, and a drawn rule one empty cell."""
    for number, line in enumerate(map(str.strip, text.split("\n")), start=1):
        if _DRAWN_RULE.fullmatch(line):
            yield number, [""]
        elif "|" in line:
            cells = _BAR.split(line.removeprefix("|").removesuffix("|"))
            yield number, [_bare(cell.replace("\\|", "|")) for cell in cells]
        else:
            yield number, []


def _read_tables(lines: Iterable[tuple[int, list[str]]], unit: str, notes: list[str]) -> _Tables:
    """Return what all tables of a text hold together."""
    rows: dict[str, _Row] = {}
    configs: Sequence[str] = ()
    columns: _Columns | None = None
    boosts: list[tuple[str, _Columns]] = []  # the tables that have any, each with its name
    summaries: dict[int, str] = {}
    works: set[str] = set()
    for number, cells in lines:
        is_heading = _is_heading(cells)
        if cells == [""]:
            continue  # a rule of a drawn table: +-----+-----+
        columns = columns if cells else None  # without cells, the table has ended
        with naming(f"line {number}"):
            if (is_heading or columns) and (longest := max(map(len, cells), default=0)) > LONGEST_CELL:
                most = f"and the most is {LONGEST_CELL:,}; take the line out"
                raise DatasetError(f"a cell has {longest:,} characters, {most}")
            if is_heading:
                columns = _read_columns(cells, unit)
                if columns.boost is not None:
                    boosts.append((cells[columns.boost], columns))
                configs = _same_configs(columns.configs, configs)
            elif columns is not None and is_summary(cells[0]):
                summaries[number] = cells[0]
            elif columns is not None and not all(map(_RULE.fullmatch, cells)):
                _add_row(rows, cells, columns)
                works |= _unknown_work(rows[cells[0]], columns)
    notes += about_summaries(summaries)
    if not rows:
        raise DatasetError(
            notes[0]
            if summaries
            else "no table here; its heading would start with | Shape |, and rows would follow"
        )
    notes += _about_boosts(boosts, configs)
    return _Tables(configs=configs, rows=rows, works=sorted(works))


def _same_configs(own: Sequence[str], above: Sequence[str]) -> Sequence[str]:
    """Return the configurations of a heading. All headings of a file have the same."""
    if not above:
        check_names(own)
    elif own != above:
        here, before = listed_columns(own), listed_columns(above)
        raise DatasetError(f"configurations are {here}, but above {before}; give each a file of its own")
    return own


def _about_boosts(boosts: Sequence[tuple[str, _Columns]], configs: Sequence[str]) -> Iterator[str]:
    """Yield which columns of boosts are not over the baseline."""
    contrary = [name for name, table in boosts if table.over == {"other"}]
    for name in dict.fromkeys(name for name in contrary if not re.search("ratio|/", name, re.IGNORECASE)):
        baseline, *others = baseline_first(configs)
        other = shell_path(others[0]) if len(others) == 1 else "NAME"
        remedy = f"if another is the baseline: abtune analyze --baseline {other}"
        yield f"column {shortened(name)} is not over {baseline}, the baseline; {remedy}"


def _add_row(rows: dict[str, _Row], cells: Sequence[str], columns: _Columns) -> None:
    if cells[0] in rows:
        again = f"shape {shortened(cells[0], 100)} has a line already"
        remedy = "several timings of a shape in CSV: abtune import timings FILE"
        raise DatasetError(f"{again}; {remedy}")
    rows[cells[0]] = _read_row(cells, columns)


def _unknown_work(row: _Row, columns: _Columns) -> set[str]:
    """Return what to say of the throughputs of a row, if its label does not tell the operations."""
    rates = {heading.unit for heading in columns.headings.values()} & RATES.keys()
    is_told = not rates or (row[0] is not None and rates <= FLOPS.keys())
    return set() if is_told else {about_work(rates)}


def _is_heading(cells: Sequence[str]) -> bool:
    """Return whether a line is a heading: Shape, or another word before columns that all have units."""
    if len(cells) < 2 or cells[0].casefold() not in SHAPES:
        return False
    rest = list(measured(cells).values())[1:]
    return cells[0].casefold() == "shape" or (len(rest) > 1 and have_units(rest, (*UNITS, "%")))


def _bare(cell: str) -> str:
    """Return a cell without the marks around it."""
    for _ in range(3):
        match = _MARKED.fullmatch(cell := cell.strip())
        cell = match[2] if match else cell
    return cell.strip()


def _read_columns(cells: Sequence[str], unit: str) -> _Columns:
    """Return the columns of a heading. A column without a unit of its own has ``unit``."""
    if {"config", "seed"} <= set(map(str.casefold, cells)):
        separated = "separate its columns by commas, semicolons or tabs"
        raise DatasetError(f"columns config and seed are of a table with a line for each timing; {separated}")
    columns = [cell for cell in cells[1:] if cell]
    headings: dict[int, Heading] = {}
    for index, cell in measured(columns).items():
        heading = read_heading(cell, (*UNITS, "%"))
        if heading.unit == "%":
            column = f"column {shortened(heading.name)!r} is in %"
            raise DatasetError(f"{column}, as only a boost is; take the column out, or call it boost (%)")
        headings[1 + index] = Heading(name=heading.name, unit=heading.unit or unit)
    boosts = sorted({*range(1, len(columns) + 1)} - headings.keys())
    configs = [heading.name for heading in headings.values()]
    # Fewer than two names, or one name twice.
    few = len(set(configs)) < max(2, len(configs))
    if few and boosts:
        raise DatasetError(ONLY_QUOTIENTS)
    if few or len(boosts) > 1 or len(columns) < len(cells) - 1:
        needs = "Shape, a name of its own for each of two or more configurations, and at most one boost"
        raise DatasetError(f"a heading needs {needs}")
    bare = [shortened(heading.name) for heading in headings.values() if not heading.unit]
    if len(bare) == len(configs):
        raise no_unit(configs, UNITS)
    if bare:
        remedy = f"name it '{bare[0]} (ms)' or '{bare[0]} (GFLOPS)', or take it out if it is no configuration"
        raise DatasetError(f"column {bare[0]!r} has no unit beside one that has; {remedy}")
    boost = boosts[0] if boosts else None
    return _Columns(headings=headings, boost=boost, width=len(cells), over={"baseline", "other"})


def _read_row(cells: Sequence[str], columns: _Columns) -> _Row:
    if len(cells) != columns.width:
        remedy = "complete the line or take it out; a bar within a cell needs a backslash, a comma quotes"
        raise DatasetError(f"{len(cells)} cells under a heading of {columns.width}; {remedy}")
    shape = _read_label(cells[0], columns)
    latency = tuple(
        _read_latency(cells[index], heading, shape) for index, heading in columns.headings.items()
    )
    if columns.boost is not None:
        rounding = (rounding_of(cells[index]) for index in columns.headings)
        by_name = dict(zip(columns.configs, zip(latency, rounding, strict=True), strict=True))
        in_order = [by_name[name] for name in baseline_first(columns.configs)]
        _check_boost(cells[columns.boost], in_order, columns.over)
    return shape, latency


def _read_label(label: str, columns: _Columns) -> Shape | None:
    """Return the shape that a label names; None for any other label, unless rates stand beside times."""
    try:
        shape = parse_shape(label)
    except InputError:
        shape = None
    units = {heading.unit for heading in columns.headings.values()}
    kinds = (PER_SECOND, FLOPS, RATES.keys() - FLOPS.keys())
    comparable = any(units <= set(kind) for kind in kinds) or (shape and units <= {*PER_SECOND, *FLOPS})
    if not comparable:
        stand = f"columns in {listed(map(spelled, sorted(units)))} stand side by side"
        remedy = f"keep one kind, or write labels that tell the operations of FLOPS, such as {_LABELS}"
        raise DatasetError(f"{stand}, and {shortened(label)!r} does not tell what they compare; {remedy}")
    if not label:
        raise DatasetError("a line has no label of a shape; write one, or take the line out")
    return shape


def _read_latency(cell: str, heading: Heading, shape: Shape | None) -> float:
    """Return a throughput or a time in seconds, NaN where there is none, infinite where the run failed."""
    if cell.casefold() in MISSING:
        return math.inf if cell.casefold() in FAILED else math.nan
    work = published_flop(shape) if shape and heading.unit in FLOPS else WORK
    remedy = "write - if there is none; a column of boosts is called boost (%)"
    return to_seconds(cell, heading.unit, f"column {heading.name}", remedy, work)


def _check_boost(cell: str, latency: Sequence[tuple[float, float]], over: set[str]) -> None:
    """Check a printed boost or quotient against its row; any two columns may give its printed digits.

    ``latency`` has the seconds and the relative rounding of each column, because boosts are computed before
    times are rounded. ``over`` keeps what all boosts of a table can be over.
    """
    if cell.casefold() in MISSING or not all(math.isfinite(seconds) for seconds, _ in latency):
        return
    pairs = [(old / new, a + b) for (old, a), (new, b) in itertools.combinations(latency, 2)]
    printed = cell.removesuffix("%").rstrip(" xX\u00d7").replace("\u2212", "-")
    values: dict[str, list[tuple[float, float]]] = {"baseline": [], "other": []}
    for ratio, slack in pairs:
        values["baseline"] += [(100 * (ratio - 1), 100 * ratio * slack)] * (cell[-1:] not in "xX\u00d7")
        values["baseline"] += [(ratio, ratio * slack)] * (cell[-1:] != "%")
        values["other"] += [(1 / ratio, slack / ratio)] * (cell[-1:] != "%")
    # Only for its error: fits() would raise one without the cell.
    read_number(printed, "; write the number alone, such as 1.25x, or take the column out")
    fitting = {side for side in over if any(fits(printed, *value) for value in values[side])}
    if not fitting:
        ratio = pairs[0][0]
        computed = f"{100 * (ratio - 1):.6g}% or {ratio:.6g}x"
        if over == {"other"}:
            computed = f"{1 / ratio:.6g}x, over the same side as above"
        differ = f"the boost is printed as {shortened(cell)}, but the row gives {computed}"
        raise DatasetError(f"{differ}; take the column out if it is something else, such as a saving of time")
    over &= fitting


def published_flop(shape: Shape) -> int:
    """Return 2 (M N K + M N), as published GFLOPS count; a convolution as the product that it implies."""
    return shape.flop + 2 * math.prod(shape.output_shape)
