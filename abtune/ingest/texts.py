"""Text of files: read within limits, and taken apart as JSON."""

from __future__ import annotations

import codecs
import contextlib
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from abtune.errors import DatasetError, InputError
from abtune.files import LIMIT_VARIABLE, most_gib
from abtune.text import shortened

# The most GiB that is read of one file. An endless file, such as a device, would fill the memory.
_LIMIT = 1.0
_CHUNK = 2**20
_NETCDF = (b"\x89HDF", b"CDF")
_NO_TEXT = "not a text in UTF-8; convert it, or give the right file"
# What a terminal does not show: colours, and the codes by which TVM clears the screen before a table.
_COLOUR = re.compile(r"\x1b(?:\[[0-9;?]{0,40}[A-Za-z]|c)")


def read_text(path: Path) -> str:
    """Return the whole text of a file that may not be empty, without the colours of a terminal."""
    text = load_text(path)
    if not text.strip():
        raise DatasetError(f"{path}: is empty")
    return _COLOUR.sub("", text)


def load_text(path: Path) -> str:
    """Return the whole text of a file; only the ends of its lines are made alike."""
    with reading(path):
        return _with_newlines("".join(_decoded(path)))


def _with_newlines(text: str) -> str:
    """Return a text whose lines end as on Linux; Excel may end them with a carriage return alone."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_beginning(path: Path) -> str:
    """Return the first MiB of a regular file; empty for anything else, because a pipe would lose it."""
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            beginning = file.read(_CHUNK)
            return _COLOUR.sub("", _with_newlines(beginning.decode(_encoding(beginning), "replace")))
    except (OSError, ValueError):
        return ""


def load_bytes(path: Path) -> bytes:
    """Return what a file holds."""
    with reading(path):
        return b"".join(_chunks(path))


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Name the path that cannot be read, and say why."""
    try:
        yield
    except UnicodeDecodeError:
        raise DatasetError(f"{path}: {_NO_TEXT}") from None
    except OSError as error:
        raise DatasetError(f"cannot read {path}: {error.strerror or error}") from None


def _decoded(path: Path) -> Iterator[str]:
    """Yield the text piece by piece, so that the first wrong byte ends it."""
    decoder: codecs.IncrementalDecoder | None = None
    # The empty chunk ends the text: the decoder refuses a character that is cut off there.
    for chunk in itertools.chain(_chunks(path), [b""]):
        if decoder is None and chunk.startswith(_NETCDF):
            raise DatasetError(f"{path}: is netCDF, not a text; if it is a dataset: abtune analyze")
        decoder = decoder or codecs.getincrementaldecoder(_encoding(chunk))()
        text = decoder.decode(chunk, final=not chunk)
        if "\0" in text:
            raise DatasetError(f"{path}: {_NO_TEXT}")
        yield text


def _encoding(beginning: bytes) -> str:
    """Return the encoding of a text: UTF-16 if it begins with its mark, as PowerShell writes; else UTF-8."""
    # utf-8-sig drops the byte order mark that some editors write.
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


@contextlib.contextmanager
def naming(place: object) -> Iterator[None]:
    """Put a place, such as a path or a line, before what is said to be wrong there."""
    try:
        yield
    except (DatasetError, InputError) as error:
        raise type(error)(f"{place}: {error}") from None


def parse_json(text: str) -> Any:
    """Return what a JSON document holds."""
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        if error.pos >= len(text.rstrip()) - 1 or error.msg.startswith("Unterminated"):
            raise DatasetError("the JSON is cut short; write or copy the file again") from None
        if error.msg == "Extra data":
            raise DatasetError("more than one JSON document; give each a file of its own") from None
        spot = f" at line {error.lineno}" if "\n" in text.strip() else f" at character {error.colno}"
        raise DatasetError(f"not JSON{spot}: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"not JSON: {error}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; one key twice is refused, because Python would keep the last value."""
    entries = dict(pairs)
    if len(entries) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        repeated = shortened(max(counts, key=counts.__getitem__))
        raise DatasetError(f"has {repeated!r} twice in one object; keep one of them")
    return entries
