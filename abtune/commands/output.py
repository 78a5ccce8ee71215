"""Where a report goes: to the standard output, or to a file that is replaced whole or not at all."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import TextIO

from abtune.errors import StoreError


def emit(text: str) -> None:
    """Write text to the standard output; a reader that has gone away is no error.

    Characters that the stream cannot encode are written as escapes: names come from datasets.

    Raises
    ------
    StoreError
        If the standard output cannot be written, such as a file on a full disk.
    """
    stream = sys.stdout
    encoding = stream.encoding or "utf-8"
    try:
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        abandon(stream)
    except OSError as error:
        abandon(stream)
        raise StoreError(f"cannot write the standard output: {error.strerror}") from None


def abandon(stream: TextIO) -> None:
    """Send the rest of a stream nowhere, so that flushing it at exit does not fail again."""
    with contextlib.suppress(OSError, ValueError):
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, stream.fileno())
        os.close(devnull)


def write_text(text: str, path: Path) -> None:
    """Write a file under a temporary name, flush it to the disk, and rename it into place.

    A link is followed; a device or pipe is written directly, for renaming would replace it.

    Raises
    ------
    StoreError
        If the file cannot be written. What was there before is then still there.
    """
    place = path.resolve()
    try:
        if place.exists() and not place.is_file():
            place.write_text(text, encoding="utf-8")
            return
        temporary = place.with_name(f".{place.name}.{os.getpid()}.tmp")
        try:
            with temporary.open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(place)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror or error}") from None
