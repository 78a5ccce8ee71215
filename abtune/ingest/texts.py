"""Text of files: read within limits, and taken apart as tables."""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from abtune.errors import DatasetError, InputError
from abtune.files import LIMIT_VARIABLE, most_gib
from abtune.ingest.units import LONGEST_CELL, PER_SECOND, read_heading
from abtune.text import shortened

# The most GiB that is read of one file. An endless file, such as a device, would fill the memory.
_LIMIT = 1.0
_CHUNK = 2**20
_NETCDF = (b"\x89HDF", b"CDF")
# What a terminal does not show: colours, and the codes by which TVM clears the screen before a table.
_COLOUR = re.compile(r"\x1b(?:\[[0-9;?]{0,40}[A-Za-z]|c)")


def read_text(path: Path) -> str:
    """Return the whole text of a file that may not be empty, without the colours of a terminal."""
    text = load_text(path)
    if not text.strip():
        raise DatasetError(f"{path}: is empty")
    return _COLOUR.sub("", text)


def load_text(path: Path) -> str:
    """Return the whole text of a file, as it is but for the ends of its lines."""
    try:
        text = "".join(_decoded(path))
    except UnicodeDecodeError:
        raise DatasetError(f"{path}: not a text in UTF-8; convert it, or give the right file") from None
    except OSError as error:
        raise DatasetError(f"cannot read {path}: {error.strerror or error}") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_beginning(path: Path) -> str:
    """Return the first MiB of a regular file; empty for anything else: a pipe would lose it."""
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            beginning = file.read(_CHUNK)
            return _COLOUR.sub("", beginning.decode(_encoding(beginning), "replace"))
    except (OSError, ValueError):
        return ""


def load_bytes(path: Path) -> bytes:
    """Return what a file holds."""
    try:
        return b"".join(_chunks(path))
    except OSError as error:
        raise DatasetError(f"cannot read {path}: {error.strerror or error}") from None


def _decoded(path: Path) -> Iterator[str]:
    """Yield the text piece by piece, so that the first wrong byte ends it."""
    decoder: codecs.IncrementalDecoder | None = None
    for chunk in itertools.chain(_chunks(path), [b""]):
        if decoder is None and chunk.startswith(_NETCDF):
            raise DatasetError(f"{path}: is netCDF, not a text; if it is a dataset: abtune analyze")
        decoder = decoder or codecs.getincrementaldecoder(_encoding(chunk))()
        text = decoder.decode(chunk, final=not chunk)
        if "\0" in text:
            raise DatasetError(f"{path}: not a text in UTF-8; convert it, or give the right file")
        yield text


def _encoding(beginning: bytes) -> str:
    """Return the encoding of a text: UTF-16 if it begins with its mark, as PowerShell writes; else UTF-8."""
    return "utf-16" if beginning.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"


def _chunks(path: Path) -> Iterator[bytes]:
    """Yield what a file holds piece by piece, up to the limit."""
    limit, size = most_gib(_LIMIT), 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            size += len(chunk)
            if size > limit * 2**30:
                remedy = f"give a smaller file, or set {LIMIT_VARIABLE}"
                raise DatasetError(f"{path}: has more than {limit:g} GiB, the most that is read; {remedy}")
            yield chunk


class _RepeatedKeyError(Exception):
    """One object of JSON has a key twice; Python would keep the last value without a word."""


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Put the path of a file before what is said to be wrong with it."""
    try:
        yield
    except (DatasetError, InputError) as error:
        raise type(error)(f"{path}: {error}") from None


def parse_json(text: str, where: str = "") -> Any:
    """Return what a JSON document holds; errors begin with ``where``."""
    where = f"{where}: " if where else ""
    try:
        return json.loads(text, object_pairs_hook=_object)
    except _RepeatedKeyError as error:
        raise DatasetError(f"{where}has {error} twice in one object; keep one of them") from None
    except json.JSONDecodeError as error:
        if error.pos >= len(text.rstrip()) - 1 or error.msg.startswith("Unterminated"):
            raise DatasetError(f"{where}the JSON is cut short; write or copy the file again") from None
        if error.msg == "Extra data":
            raise DatasetError(f"{where}more than one JSON document; give each a file of its own") from None
        spot = f" at line {error.lineno}" if "\n" in text.strip() else f" at character {error.colno}"
        raise DatasetError(f"{where}not JSON{spot}: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{where}not JSON: {error}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise _RepeatedKeyError(repr(shortened(max(counts, key=counts.__getitem__))))
    return entries


# What the columns of a table with a line for each timing hold, and are called if nobody says otherwise.
FIELDS = ("shape", "config", "seed", "round", "repeat", "time", "unit")
# The first column of a table with a column for each configuration.
SHAPES = (
    *("shape", "kernel", "workload", "benchmark", "layer", "task", "name", "model", "network"),
    *("op", "operator", "function", "test", "case", "problem"),
)
_QUOTIENT = re.compile(r"(speed-?\s?up|ratio|improvement)( ?[(\[][^()\[\]]{1,80}[)\]])?")
ONLY_QUOTIENTS = "a speedup alone says no times; give both sides a column: | Shape | old (ms) | new (ms) |"
# The names of a column of times that needs no --columns.
_TIMES = ("time", "latency", "duration")


def csv_rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows with the numbers of their lines, but for empty ones and comments above the heading.

    Left out are a first column without a name that numbers the rows, from 0 as in pandas or from 1 as in R,
    and empty columns behind the last heading, as Excel writes them.
    """
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter_of(first_line(text)), strict=True)
    begun = False
    unnamed = False  # whether the first column has no name
    width = 0  # columns up to the last heading
    number: int | None = None  # what the column without a name said of the last row
    try:
        for cells in reader:
            row = [cell.strip() for cell in cells]
            if any(row) and (begun or not row[0].startswith("#")):
                if row[0].startswith("#"):  # a comment, or a timing of a shape with this name
                    remedy = "comments stand above the heading; take the line out"
                    raise DatasetError(f"line {reader.line_num}: begins with #, but {remedy}")
                if not begun:
                    begun, unnamed = True, not row[0]
                    width = max(index for index, cell in enumerate(row, start=1) if cell)
                elif unnamed:
                    number = int(row[0] == "1") if number is None else number + 1
                    if row[0] != str(number):
                        remedy = "call it shape if it says what was timed"
                        raise DatasetError(f"line {reader.line_num}: the first column has no name; {remedy}")
                filled = row if any(row[width:]) else row[:width]
                yield reader.line_num, filled[1:] if unnamed else filled
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


def have_units(row: Sequence[str], known: Sequence[str]) -> bool:
    """Return whether each heading is NAME (UNIT) with a known unit, or that of a seed, round or repeat."""
    try:
        return all(cell.casefold() in FIELDS or bool(read_heading(cell, known).unit) for cell in row)
    except InputError:
        return False


def quotients(row: Sequence[str]) -> list[bool]:
    """Return which columns compare others, as quotients: speedup, ratio (new/old), new / old."""
    cells = [cell.casefold() if len(cell) <= LONGEST_CELL else "" for cell in row]
    names = {re.split(r"[(\[_]", cell)[0].strip() for cell in cells}
    sides = [{side.strip() for side in cell.split("/")} for cell in cells]
    return [
        _QUOTIENT.fullmatch(cell) is not None or (len(both) == 2 and both <= names)
        for cell, both in zip(cells, sides, strict=True)
    ]


def listed_columns(row: Sequence[str]) -> str:
    """Return the columns of a heading as text, as many as a line can hold."""
    more = ", ..." if len(row) > 12 else ""
    return ", ".join(map(shortened, row[:12])) + more
