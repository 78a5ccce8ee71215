"""The rows of a table: CSV, as spreadsheets, pandas and R write it, or records in JSON."""

from __future__ import annotations

import csv
import functools
import io
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from abtune.errors import DatasetError
from abtune.ingest.table_columns import FIELDS, known_heading, time_columns
from abtune.ingest.texts import json_documents, unrepeated
from abtune.text import listed, shortened

# How lines above the heading begin: comments, Excel's line of what separates columns, ncu's ==PROF==.
_ABOVE = ("#", "sep=", "SEP=", "==")
# What to say of a table whose last line has no end.
CUT = "its last line does not end; if the file was cut, take it out"
# More objects in an object are records by their keys: a report has fewer metrics.
_MOST = 50
_RECORDS = re.compile(r"\s*(\{|\[\s*\{)")
# How values of JSON become cells. Others, such as lists, are written as JSON, which takes ten times as long.
_AS_CELL: Mapping[type, Callable[[Any], str]] = {
    str: str.strip,
    int: repr,
    float: repr,
    type(None): lambda _: "",
}


def has_records(text: str) -> bool:
    """Return whether a text is JSON that begins with an object or a list of some."""
    return _RECORDS.match(text) is not None


def table_rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of CSV or of records in JSON, with the numbers of their lines."""
    if not has_records(text):
        yield from csv_rows(text)
        return
    columns, lines, records, error = _records(text)
    if columns:
        yield 1, columns
        for line, cells in zip(lines, records, strict=True):
            yield line, [cells.get(name, "") for name in columns]
    if error or not columns:
        remedy = "JSON without records: objects of names and values; write it as CSV"
        raise error or DatasetError(remedy)


@functools.lru_cache(maxsize=1)  # readers look at the heading first
def _records(text: str) -> tuple[list[str], list[int], list[dict[str, str]], DatasetError | None]:
    """Return the columns, the lines and the cells of records, and what is wrong with the text behind them.

    Pairs of lines and cells would take Python's garbage collector a second.
    """
    lines: list[int] = []
    documents: list[Any] = []
    error: DatasetError | None = None
    try:
        for line, document in json_documents(text):  # those before an error are kept
            lines.append(line)
            documents.append(document)
    except DatasetError as raised:
        error = raised
    if len(documents) == 1:
        documents = _within(documents[0])
        lines *= len(documents)
    for line, document in zip(lines, documents, strict=True):
        if not isinstance(document, dict):
            raise DatasetError(f"line {line}: is no record, which is an object of names and values")
    cells = [unrepeated(_flat(record)) for record in documents]
    columns = list(dict.fromkeys(itertools.chain.from_iterable(cells)))
    return columns, lines, cells, error


def _within(document: Mapping[str, Any]) -> list[Any]:
    """Return the objects in the list or object that a document has, such as ``results``; else itself."""
    lists = _of_objects({name: value for name, value in document.items() if isinstance(value, list)})
    objects = {name: _with_keys(value) for name, value in document.items() if isinstance(value, dict)}
    if document and len(objects) == len(document):
        names = [frozenset(value) for value in document.values()]
        # Of nested objects and a few statistics a user names one, such as latency.mean.
        is_flat = not _of_objects(objects) and (len(names) > _MOST or all(map(known_heading, names[0])))
        is_alike = is_flat and len(names) > 1 and len({*names}) == 1
        if is_alike or all(map(time_columns, names)):
            return _with_keys(document)
    lists = lists or _of_objects(objects)
    if time_columns(document):  # a record, or how long all of them took
        timed = [name for name, some in lists.items() if any(map(time_columns, some))]
        if timed and document.keys().isdisjoint(FIELDS):
            raise DatasetError(f"has a time beside its records in {timed[0]}; keep one of them")
        return [document]
    if len(lists) > 1:
        one = f"keep one of them: jq '.\"{shortened([*lists][-1])}\"' FILE > NAME.json"
        remedy = f"{one}; or write a record for each timing, with shape and config in it"
        raise DatasetError(f"has records in {listed(map(shortened, lists))}; {remedy}")
    return next(iter(lists.values()), [document])


def _with_keys(objects: Mapping[str, Any]) -> list[Any]:
    """Return the values of an object; records among them keep their keys, which say what was timed."""
    if own := [key for key, value in objects.items() if isinstance(value, dict) and "key" in value]:
        remedy = "rename that field, as names of records are called so"
        raise DatasetError(f"record {shortened(own[0])} has a field key; {remedy}")
    return [{"key": key, **value} if isinstance(value, dict) else value for key, value in objects.items()]


def _of_objects(lists: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    return {name: some for name, some in lists.items() if some and all(isinstance(one, dict) for one in some)}


def _flat(record: Mapping[str, Any], above: str = "") -> list[tuple[str, str]]:
    """Return the values of a record as cells; what is within an object has both names, such as stats.mean."""
    cells: list[tuple[str, str]] = []
    for name, value in record.items():
        if type(value) is dict:
            cells += _flat(value, f"{above}{name}.")
        else:
            cells.append((above + name, _AS_CELL.get(type(value), json.dumps)(value)))
    return cells


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
