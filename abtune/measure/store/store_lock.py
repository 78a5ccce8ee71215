"""The lock that one sweep at a time holds on its files."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from abtune.errors import StoreError
from abtune.measure.store.json_files import writing


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
