"""Published tables of throughputs or times, one number for each shape and configuration.

The first column of such a markdown table is headed ``Shape``; every further column is a configuration.
Triton's ``perf_report`` has columns of sizes instead. Columns of boosts are checked and then dropped.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from abtune.errors import DatasetError, naming
from abtune.ingest.importers import Imported, Importer, Inputs, Option, Values
from abtune.ingest.joined_columns import compared_rows, printed_rows, titles_of, with_labels
from abtune.ingest.sources import Source, read_once
from abtune.ingest.table_columns import (
    OUTCOME,
    SHAPES,
    about_summaries,
    have_units,
    is_summary,
    listed_columns,
    measured,
)
from abtune.ingest.tables import CUT
from abtune.ingest.timings.file_cells import FileCell, FileContent
from abtune.ingest.timings.timing_cells import import_readings
from abtune.ingest.timings.timing_heading import Table, read_wide_columns
from abtune.ingest.timings.timing_table import NO_TIMINGS, about_untimed, read_rows
from abtune.ingest.units import (
    LONGEST_CELL,
    MISSING,
    UNITS,
    has_unit,
    plainly,
    spelled,
    split_unit,
    unit_named,
)
from abtune.text import listed, shortened

_RULE = re.compile(r":?-+:?")
# What makes a cell bold, italic or code: **a**, _a_.
_MARKED = re.compile(r"([*_`]{1,3})(.+)\1")
_BAR = re.compile(r"(?<!\\)\|")  # a bar behind a backslash is part of its cell
# Between the lines of a table as tabulate, psql and Org mode draw it: +---+---+, ---+--- and |---+---|.
_DRAWN_RULE = re.compile(r"\|?[-=:]*\+[-=+:]+\|?")
# A cell with its own unit: 1.5 ms, 12.7 TFLOPS. By kinds, powers of ten of the first unit.
_MEASURED = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([^\W\d_][\w/]*)")
_POWERS = (
    {"s": 0, "ms": -3, "us": -6, "ns": -9},
    {"gflops": 0, "mflops": -3, "tflops": 3},
    {"gb/s": 0, "mb/s": -3, "tb/s": 3},
)
# A line: its number and cells.
_Row: TypeAlias = tuple[int, list[str]]


def _read(sources: Sequence[Source], values: Values) -> Imported:
    """Return the tables of the files; each file is a seed."""
    readings: dict[Source, FileContent] = {}
    titles: dict[tuple[str, ...], Path] = {}
    for source, text in read_once(sources):
        titles[titles_of(text)] = source.path
        with naming(source.path):
            readings[source] = read_tables(text, values["unit"])
    if len(titles) > 1:
        are = listed(f"{shortened(', '.join(own) or 'none')} in {path}" for own, path in titles.items())
        remedy = "files are seeds of the same tables; those of others belong into one file, or are no seeds"
        raise DatasetError(f"titles are {are}; {remedy}")
    return import_readings(readings, shape="")


def read_tables(text: str, unit: str) -> FileContent:
    """Return what all tables of a text hold together; ``unit`` is that of columns that name none."""
    readings: list[FileContent] = []
    configs: list[str] = []
    first: dict[str, int] = {}  # the line of each label
    summaries: dict[int, str] = {}
    lines = list(_rows_of_text(text))
    for number, heading, rows in _tables(lines):
        _check_cells(rows)
        with naming(f"line {number}"):
            table = _read_heading(heading, unit)
            own = list(table.configs.values())
            if own != (configs := configs or own):
                here, before = listed_columns(own), listed_columns(configs)
                differ = f"configurations are {here}, but above {before}"
                raise DatasetError(f"{differ}; give each a file of its own")
        for line, (label, *_) in rows:
            if first.setdefault(label, line) != line and not is_summary(label):
                remedy = "if it is another, write more into its label; several timings of one are CSV"
                again = f"line {line}: shape {shortened(label, 100)} is in line {first[label]} already"
                raise DatasetError(f"{again}; {remedy}: abtune import timings FILE")
        readings.append(read_rows(rows, table))
        summaries |= table.summaries
    if not first:
        raise DatasetError("no table here, which begins with | Shape |; for CSV: abtune import timings FILE")
    last = text[text.rfind("\n") + 1 :].strip()
    cut = [CUT] * ("|" in last and not last.endswith("|"))
    works = dict.fromkeys(one.work for one in readings if one.work)
    cells: tuple[FileCell, ...] = tuple(itertools.chain.from_iterable(one.cells for one in readings))
    if not cells:
        raise DatasetError(next(about_summaries(summaries), NO_TIMINGS))
    said = itertools.chain.from_iterable(one.notes for one in readings)
    notes = dict.fromkeys([*_left_out(lines), *said, *about_untimed(configs, cells), *cut])
    kinds = dict.fromkeys(one.kind for one in readings)
    return FileContent(cells=cells, notes=tuple(notes), work="; ".join(works), kind="; ".join(kinds))


def _read_heading(cells: Sequence[str], unit: str) -> Table:
    if (longest := max(map(len, cells))) > LONGEST_CELL:
        most = f"and the most is {LONGEST_CELL:,}; take the line out"
        raise DatasetError(f"a cell has {longest:,} characters, {most}")
    if "config" in map(str.casefold, cells):
        as_csv = "sed 's/^| *//; s/ *| *$//; s/ *| */,/g; /^[-:,]*$/d' FILE > NAME.csv"
        separated = f"separate its columns by commas, semicolons or tabs: {as_csv}"
        raise DatasetError(f"a column config is of a table with a line for each timing; {separated}")
    return read_wide_columns(cells, {"shape": 0}, unit)


def _check_cells(rows: Sequence[_Row]) -> None:
    """Refuse numbers with units that are no plain numbers, such as 1,234 ms: no heading can mend them."""
    for line, row in rows:
        if cell := next((cell for cell in row[1:] if has_unit(cell) and not _MEASURED.fullmatch(cell)), ""):
            said = f"{shortened(repr(cell))} is not a number with its unit"
            raise DatasetError(f"line {line}: {said}; {plainly(cell)}")


def _tables(lines: Iterable[_Row]) -> list[tuple[int, list[str], list[_Row]]]:
    tables: list[tuple[int, list[str], list[_Row]]] = []
    is_inside = False
    for number, cells in lines:
        is_inside = (is_inside and len(cells) > 0) or _is_heading(cells)
        if _is_heading(cells):
            tables.append((number, cells, []))
        elif is_inside and cells != [""] and not all(map(_RULE.fullmatch, cells)):
            tables[-1][2].append((number, cells))
    return tables


def _left_out(lines: Sequence[_Row]) -> Iterator[str]:
    """Yield which tables of a text are left out, and which rows without a heading."""
    around: list[_Row] = [(0, []), *lines, (0, [])]
    for (_, above), (line, cells), (_, below) in zip(around, lines, around[2:], strict=False):
        if above or _is_heading(cells):
            continue
        # Markdown has a rule below the heading of each table.
        if len(below) > 1 and all(map(_RULE.fullmatch, below)):
            rule = "its heading does not begin with Shape, or a column has no unit"
            yield f"the table in line {line} is left out: {rule}"
        elif any(re.fullmatch(r"[0-9.]+", cell) for cell in cells[2:]):
            remedy = "take out what stands between them and their table"
            yield f"the rows from line {line} on are left out: they have no heading; {remedy}"


PUBLISHED = Importer(
    name="published",
    kind="a published table",
    summary="""Read a published markdown table of throughputs or times.

    FILE is a text with one or more markdown tables. A table has a column Shape and a column for
    each configuration, such as async, async (TFLOPS) or async (ms). It may have a column boost or speedup,
    which is checked against the others. Tables of Triton's perf_report have columns of sizes in place of
    Shape. Text around tables is ignored.
    """,
    recognises=lambda _, text: any(_is_heading(cells) for _, cells in _rows_of_text(text)),
    read=_read,
    inputs=Inputs.TABLES,
    options=(Option(name="unit", choices=UNITS, help="Unit of columns whose headings name none."),),
    examples="""
  abtune import published table.md --unit gflops --out table.nc
  abtune analyze table.nc
""",
)


def _rows_of_text(text: str) -> Iterator[_Row]:
    """Yield each line as its number and cells, with sizes in one column; prose has no cell."""
    titles, prints = printed_rows(text.split("\n"))
    prints |= compared_rows(text.split("\n"))
    lines = ((number, prints.get(number, cells)) for number, cells in _rows_of_markdown(text))
    for _, group in itertools.groupby(lines, key=lambda row: bool(row[1])):
        yield from _with_sizes_joined(list(group), titles if len(titles) > 1 else {})


def _with_sizes_joined(table: list[_Row], titles: Mapping[int, str]) -> Iterator[_Row]:
    """Yield a table with its sizes in one column, below the title of its line; any other as it is."""
    rows = [row for row in table if row[1] != [""] and not all(map(_RULE.fullmatch, row[1]))]
    number, heading = rows[0] if rows else (0, [""])
    _move_units([cells for _, cells in rows if len(cells) == len(heading)])
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


def _move_units(rows: Sequence[list[str]]) -> None:
    for index in range(1, len(rows[0]) if rows else 0):
        own = [row[index] for row in rows[1:] if not is_summary(row[0])]
        cells = [cell for cell in own if cell.casefold() not in MISSING]
        numbers = {cell: match[1] for cell in cells if (match := _MEASURED.fullmatch(cell))}
        units = {cell: unit_named(cell[len(numbers.get(cell, "")) :].strip()) for cell in cells}
        powers = next((kind for kind in _POWERS if cells and {*units.values()} <= kind.keys()), None)
        if powers and not (split_unit(rows[0][index])[1] or OUTCOME.fullmatch(rows[0][index])):
            rows[0][index] += f" ({spelled(next(iter(powers)))})"
            for row in rows[1:]:
                if row[index] in numbers:
                    row[index] = f"{numbers[row[index]]}e{powers[units[row[index]]]}"


def _rows_of_markdown(text: str) -> Iterator[_Row]:
    """Yield each line as its number and cells; prose has no cell, and a drawn rule one empty cell."""
    for number, line in enumerate(map(str.strip, text.split("\n")), start=1):
        if _DRAWN_RULE.fullmatch(line):
            yield number, [""]
        elif "|" in line:
            cells = _BAR.split(line.removeprefix("|").removesuffix("|"))
            yield number, [_bare(cell.replace("\\|", "|")) for cell in cells]
        else:
            yield number, []


def _is_heading(cells: Sequence[str]) -> bool:
    """Return whether a line is a heading: Shape, or another word before columns that all have units."""
    if len(cells) < 2 or cells[0].casefold() not in SHAPES:
        return False
    rest = list(measured(cells).values())[1:]
    return cells[0].casefold() == "shape" or (len(rest) > 1 and have_units(rest, (*UNITS, "%")))


def _bare(cell: str) -> str:
    for _ in range(3):
        match = _MARKED.fullmatch(cell := cell.strip())
        cell = match[2] if match else cell
    return cell.strip()
