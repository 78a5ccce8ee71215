"""Tables of text with a heading: their rows, their columns, and which of these hold times."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from abtune.errors import DatasetError, InputError
from abtune.ingest.units import PER_SECOND, read_heading
from abtune.text import shortened

# What the columns of a table with a line for each timing hold, and are called if nobody says otherwise.
FIELDS = ("shape", "config", "seed", "round", "repeat", "time", "unit")
# The names of a column of times that needs no --columns.
_TIMES = ("time", "latency", "duration")


def csv_rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows with the numbers of their lines, but for empty ones and comments above the heading."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter_of(first_line(text)), strict=True)
    begun = False
    try:
        for cells in reader:
            row = [cell.strip() for cell in cells]
            if any(row) and (begun or not row[0].startswith("#")):
                if row[0].startswith("#"):  # a comment, or a timing of a shape with this name
                    remedy = "comments stand above the heading; take the line out"
                    raise DatasetError(f"line {reader.line_num}: begins with #, but {remedy}")
                begun = True
                yield reader.line_num, row
    except csv.Error as error:
        raise DatasetError(f"line {reader.line_num}: {error}") from None


def first_line(text: str) -> str:
    """Return the first line that is neither empty nor a comment."""
    lines = (line for line in io.StringIO(text) if line.strip() and not line.lstrip().startswith("#"))
    return next(lines, "")


def delimiter_of(heading: str) -> str:
    """Return what separates the columns: the mark that the heading has most often outside quotes."""
    return max(",;\t", key="".join(heading.split('"')[::2]).count)


def is_long(heading: Sequence[str]) -> bool:
    """Return whether a heading is that of a table with a line for each timing."""
    return not set(FIELDS).isdisjoint(map(str.casefold, heading)) or bool(time_columns(heading))


def time_columns(row: Sequence[str]) -> list[int]:
    """Return which columns are of times by their names: time, time_us, latency (ms)."""
    times = []
    for index, cell in enumerate(row):
        try:
            heading = read_heading(cell, tuple(PER_SECOND))
        except InputError:
            continue
        if heading.name.casefold() in _TIMES:
            times.append(index)
    return times


def listed_columns(row: Sequence[str]) -> str:
    """Return the columns of a heading as text, as many as a line can hold."""
    more = ", ..." if len(row) > 12 else ""
    return ", ".join(map(shortened, row[:12])) + more
