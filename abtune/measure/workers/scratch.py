"""Folders for temporary files. What a killed process leaves, the next that needs one removes."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

_PREFIX = "abtune-"
# A file in each folder, locked while its owner lives: the system frees a lock when a process ends.
_LOCK = ".abtune-scratch"


@contextlib.contextmanager
def scratch_folder() -> Iterator[str]:
    """Yield a folder for temporary files, which goes at the end."""
    import fcntl  # sweeps run on Linux; everything else imports without it

    for lock in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/{_LOCK}"):
        with (
            contextlib.suppress(OSError),
            lock.open("rb+") as handle,
        ):  # one that is locked, or another user's
            if lock.parent.lstat().st_uid == lock.lstat().st_uid == os.geteuid():
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(lock.parent, ignore_errors=True)
    with (
        tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as folder,
        contextlib.ExitStack() as held,
    ):
        with contextlib.suppress(OSError):  # a full disk, or a file system without locks
            fcntl.flock(held.enter_context(Path(folder, "new").open("xb")), fcntl.LOCK_EX)
            Path(folder, "new").rename(Path(folder, _LOCK))  # nobody sees it before it is locked
        yield folder
