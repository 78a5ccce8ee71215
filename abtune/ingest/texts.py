"""Text of files: read within limits, and taken apart as JSON."""

from __future__ import annotations

import codecs
import contextlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from abtune.errors import AbtuneError, DatasetError, naming
from abtune.files import LIMIT_VARIABLE, most_gib
from abtune.text import shortened

# The most GiB that is read of one file. An endless file, such as a device, would fill the memory.
_LIMIT = 1.0
# How files begin that hold no text, and what to do with them.
_NO_TEXT = {
    b"\x1f\x8b": "is compressed; unpack it: gunzip -k FILE",
    b"(\xb5/\xfd": "is compressed; unpack it: unzstd FILE",
    b"\xfd7zXZ": "is compressed; unpack it: unxz -k FILE",
    b"BZh": "is compressed; unpack it: bunzip2 -k FILE",
    b"\x89HDF": "is netCDF or HDF5, not a text; if it is a dataset: abtune analyze FILE",
    b"CDF": "is netCDF, not a text; if it is a dataset: abtune analyze FILE",
    b"PK\x03\x04": "is a workbook or an archive; save its sheet as CSV, or unpack it",
    b"SQLite format 3": "is of SQLite; write it as CSV: sqlite3 -header -csv FILE 'select * from TABLE'",
    b"\xd0\xcf\x11\xe0": "is a workbook of an older Excel; save its sheet as CSV",
    **dict.fromkeys(
        (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"),  # by the version of the format
        "is a pickle of Python, which could run any code and is not opened; write its times as CSV",
    ),
    b"PAR1": "is Parquet; write it as CSV: pandas.read_parquet(FILE).to_csv(NAME)",
}
# What a terminal does not show: colours, and the codes by which TVM clears the screen before a table.
_COLOUR = re.compile(r"\x1b(?:\[[0-9;?]{0,40}[A-Za-z]|c)")
_OBJECTS = re.compile(r"\s*\[\s*\{")
_SEVERAL = "more than one JSON document; give each a file of its own"


def read_text(path: Path) -> str:
    """Return the whole text of a file that may not be empty, without the colours of a terminal."""
    content = load_bytes(path)
    try:
        text = _decoded(content, "strict")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        other = "is not a text in UTF-8; a spreadsheet saves CSV UTF-8, and iconv converts"
        what = next((_NO_TEXT[start] for start in _NO_TEXT if content.startswith(start)), other)
        raise DatasetError(f"{path}: {what}")
    if not text.strip():
        raise DatasetError(f"{path}: is empty")
    return text


def read_beginning(path: Path) -> str:
    """Return the first MiB of a regular file; empty for anything else, because a pipe would lose it."""
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            return _decoded(file.read(2**20), "replace")
    except (OSError, ValueError):
        return ""


def _decoded(content: bytes, errors: str) -> str:
    """Return bytes as text without colours, whose lines end as on Linux."""
    is_utf16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))  # as PowerShell writes
    # utf-8-sig drops the byte order mark that some editors write.
    text = content.decode("utf-16" if is_utf16 else "utf-8-sig", errors)
    # Excel may end lines with a carriage return alone.
    return _COLOUR.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def load_bytes(path: Path) -> bytes:
    """Return what a file holds, up to the limit."""
    limit = most_gib(_LIMIT)
    with reading(path), path.open("rb") as file:
        content = file.read(int(limit * 2**30) + 1)
    if len(content) > limit * 2**30:
        remedy = f"give a smaller file, or set {LIMIT_VARIABLE}"
        raise DatasetError(f"{path}: has more than {limit:g} GiB, the most that is read; {remedy}")
    return content


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Name the path that cannot be read, and say why."""
    try:
        yield
    except OSError as error:
        raise DatasetError(f"cannot read {path}: {error.strerror or error}") from None


def is_json_of(text: str, names: Sequence[str]) -> bool:
    """Return whether the beginning of a text is JSON that has values of all these names."""
    return text.lstrip().startswith(("{", "[")) and all(re.search(rf'"{name}"\s*:', text) for name in names)


def parse_json(text: str) -> Any:
    """Return what a JSON document holds."""
    with _decoding(text):
        return json.loads(text, object_pairs_hook=unrepeated)


@contextlib.contextmanager
def _decoding(text: str) -> Iterator[None]:
    """Say what is wrong with JSON, and where."""
    try:
        yield
    except json.JSONDecodeError as error:
        end = text.rstrip()
        is_cut = error.pos >= len(end) - (end[-1:] not in "]}")  # else a comma stands before a bracket
        if is_cut or error.msg.startswith("Unterminated"):
            where = f"the JSON is cut short in line {error.lineno}"
            raise DatasetError(f"{where}; write or copy the file again") from None
        if error.msg == "Extra data":
            raise DatasetError(_SEVERAL) from None
        where = f"line {error.lineno}, character {error.colno}"
        raise DatasetError(f"not JSON at {where}: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"not JSON: {error}") from None


def json_documents(text: str) -> Iterator[tuple[int, Any]]:
    """Yield documents in a row, or the objects in one list, with their lines; ``#`` begins a comment.

    Commas may stand between and behind them.
    """
    decoder, is_list = json.JSONDecoder(object_pairs_hook=unrepeated), _OBJECTS.match(text) is not None
    between = re.compile(r"[\s,]*" if is_list else r"(?:[\s,]|#[^\n]*)*")
    line, before, position = 1, 0, text.find("[") + 1 if is_list else 0
    with _decoding(text):
        while True:
            position = between.match(text, position).end()  # type: ignore[union-attr] # it matches nothing, too
            if text[position : position + 1] == "]" * is_list:
                if text[position + 1 :].strip():
                    raise DatasetError(f"line {line}: {_SEVERAL}")
                return
            line, before = line + text.count("\n", before, position), position
            with naming(f"line {line}"):
                document, position = decoder.raw_decode(text, position)
            yield line, document


@contextlib.contextmanager
def well_formed(said: str) -> Iterator[None]:
    """Raise what is ``said`` if JSON does not have the entries and types that the code within takes."""
    try:
        yield
    except AbtuneError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        missing = f"; there is no {error}" if isinstance(error, KeyError) else ""
        raise DatasetError(f"{said}{missing}") from None


def unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; one key twice is refused, because Python would keep the last value."""
    entries = dict(pairs)
    if len(entries) < len(pairs):
        ((repeated, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise DatasetError(f"has {shortened(repeated)!r} twice in one object; keep one of them")
    return entries
