"""The rows of a CSV file, as spreadsheets, pandas and R write it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from abtune.errors import DatasetError

# How lines above the heading begin: comments, and the line by which Excel is told what separates columns.
_ABOVE = ("#", "sep=", "SEP=")


def csv_rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows with the numbers of their lines, but for empty ones and comments above the heading.

    Two kinds of columns are left out. A first column without a name may number the rows, from 0 as in pandas
    or from 1 as in R. Excel writes empty columns behind the last heading.
    """
    lines = io.StringIO(text, newline="")
    delimiter = delimiter_of(first_line(text))
    reader = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=True)
    heading: list[str] = []
    start, end, number = 0, 0, -1
    try:
        for cells in reader:
            row = list(map(str.strip, cells))
            if not any(row) or (not heading and row[0].startswith(_ABOVE)):
                continue
            line = reader.line_num
            if row[0].startswith("#"):  # a comment, or a timing of a shape with this name
                remedy = "comments stand above the heading; take the line out"
                raise DatasetError(f"line {line}: begins with #, but {remedy}")
            if not heading:
                heading = row
                start = 0 if heading[0] else 1
                end = max(index for index, cell in enumerate(heading, start=1) if cell)
            elif start:
                number = int(row[0] == "1") if number < 0 else number + 1
                if row[0] != str(number):
                    remedy = "call it shape if it says what was timed, or write the table without its index"
                    raise DatasetError(f"line {line}: the first column has no name; {remedy}")
            yield line, row[start:] if any(row[end:]) else row[start:end]
    except csv.Error as error:
        raise DatasetError(f"line {reader.line_num}: {error}; close each quote, or take it out") from None


def first_line(text: str) -> str:
    """Return the first line that has content: empty lines, comments and Excel's sep=; are skipped."""
    lines = (line for line in io.StringIO(text) if line.strip() and not line.lstrip().startswith(_ABOVE))
    return next(lines, "")


def delimiter_of(heading: str) -> str:
    """Return what separates the columns: the mark that the heading has most often outside quotes."""
    return max(",;\t", key="".join(heading.split('"')[::2]).count)
