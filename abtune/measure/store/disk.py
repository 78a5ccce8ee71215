"""Files written whole or not at all, the lock of a sweep, and errors of the disk in one line."""

from __future__ import annotations

import base64
import contextlib
import errno
import gzip
import json
import os
import zlib
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from abtune.errors import StoreError
from abtune.files import LIMIT_VARIABLE, most_gib, replacing

# Files end short where a disk, a quota or a limit on the size of files is reached.
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_UNREADABLE = (
    *(OSError, EOFError, zlib.error),
    *(ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError),
)
# The most GiB that is read of one file.
_LIMIT = 1.0
_REDO = "remove it to have that part done again"

T = TypeVar("T")


def write_json(path: Path, content: Any, *, compress: bool = False) -> None:
    """Write a value as JSON, with gzip if asked; the file is complete as soon as it has its name."""
    data = json.dumps(
        content, default=_plain
    ).encode()  # NaN is written as NaN, which only Python reads; it stays here
    with writing(path), replacing(path) as temporary:
        temporary.write_bytes(gzip.compress(data, compresslevel=4, mtime=0) if compress else data)


def _plain(value: Any) -> Any:
    """Return bytes as text, and a record as a mapping; asdict() would copy all that it holds."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return {field.name: getattr(value, field.name) for field in fields(value)}


def read_json(path: Path, parse: Callable[[Any], T], advice: str = _REDO) -> T:
    """Return what `parse` makes of the content of a JSON file."""
    try:
        return parse(json.loads(_content(path)))
    except _UNREADABLE as error:
        reason = str(error) or type(error).__name__
        raise StoreError(f"{path} cannot be read ({reason}); {advice}") from None


def _content(path: Path) -> bytes:
    """Return what a file holds, unpacked, up to the limit."""
    if path.exists() and not path.is_file():
        raise ValueError("it is no regular file")
    limit, data = most_gib(_LIMIT), bytearray()
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        while chunk := file.read(2**20):
            data += chunk
            if len(data) > limit * 2**30:
                raise ValueError(f"it has more than {limit:g} GiB; {LIMIT_VARIABLE} sets another limit")
    return bytes(data)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an error of the system into a line that says what to do."""
    try:
        yield
    except FileNotFoundError:
        if path.parent.exists():  # such as /proc
            reason = f"nothing can be made in {path.parent}; give another --out"
        else:
            reason = "its folder is gone; give the same command again"
        raise StoreError(f"cannot write {path}: {reason}") from None
    except OSError as error:
        remedy = (
            "make room and give the same command again" if error.errno in _NO_ROOM else "give another --out"
        )
        raise StoreError(f"cannot write {path}: {error.strerror}; {remedy}") from None


@contextlib.contextmanager
def locked(folder: Path, dataset: Path) -> Iterator[None]:
    """Hold the lock of a folder; the system frees it when this process ends, even if it is killed."""
    import fcntl  # sweeps run on Linux; everything else imports without it

    with writing(path := folder / "lock"):
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(
                f"another sweep is writing {dataset}; wait for it or give another --out"
            ) from None
        except OSError as error:  # such as a file system without locks
            raise StoreError(
                f"cannot lock {folder}: {error.strerror}; give an --out on another file system"
            ) from None
        yield
    finally:
        os.close(handle)
