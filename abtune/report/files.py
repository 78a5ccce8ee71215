"""Reports and figures as files: replaced whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from abtune.errors import StoreError


def write_text(text: str, path: Path) -> None:
    """Write a text as :func:`write_bytes` does, in UTF-8."""
    write_bytes(text.encode("utf-8"), path)


def write_bytes(content: bytes, path: Path) -> None:
    """Write a file under a temporary name, flush it to the disk, and rename it into place.

    A link is followed; a device or pipe is written directly, for renaming would replace it.

    Raises
    ------
    StoreError
        If the file cannot be written. What was there before is then still there.
    """
    try:
        place = path.resolve()
        if place.exists() and not place.is_file():
            place.write_bytes(content)
            return
        temporary = place.with_name(f".{place.name}.{os.getpid()}.tmp")
        try:
            with temporary.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(place)
        finally:
            temporary.unlink(missing_ok=True)
    except (OSError, RuntimeError) as error:  # a circle of links is a RuntimeError
        reason = error.strerror if isinstance(error, OSError) else None
        raise StoreError(f"cannot write {path}: {reason or error}") from None
