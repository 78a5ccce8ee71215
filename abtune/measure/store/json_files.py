"""JSON files that are written completely or not at all, and errors of the disk in one line."""

from __future__ import annotations

import contextlib
import errno
import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from abtune.errors import StoreError
from abtune.files import replacing

# Files end short where a disk, a quota or a limit on the size of files is reached.
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_REDO = "remove it to have that part done again"

T = TypeVar("T")


def write_json(path: Path, content: Any, *, compress: bool = False) -> None:
    """Write a value as JSON, with gzip if asked; the file is complete as soon as it has its name."""
    data = json.dumps(content).encode()  # NaN is written as NaN, which only Python reads; it stays here
    with writing(path), replacing(path) as temporary:
        temporary.write_bytes(gzip.compress(data, compresslevel=4, mtime=0) if compress else data)


def read_json(path: Path, parse: Callable[[Any], T], advice: str = _REDO) -> T:
    """Return what `parse` makes of the content of a JSON file."""
    try:
        data = path.read_bytes()
        return parse(json.loads(gzip.decompress(data) if path.suffix == ".gz" else data))
    except (OSError, ValueError, EOFError, LookupError, TypeError, AttributeError, zlib.error) as error:
        reason = str(error) or type(error).__name__
        raise StoreError(f"{path} cannot be read ({reason}); {advice}") from None


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
