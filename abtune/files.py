"""Files that are replaced whole or not at all, and those that must not be replaced."""

from __future__ import annotations

import contextlib
import errno
import glob
import math
import os
import secrets
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from abtune.errors import InputError, StoreError
from abtune.text import shortened, to_number

LIMIT_VARIABLE = "ABTUNE_MAX_GIB"
# Files end short where a disk, a quota or a limit on the size of files is reached.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# What ends a program as Ctrl-C does; Windows has no SIGHUP.
_ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_DAY = 24 * 3600.0
# How netCDF files begin: HDF5, and the three classic formats.
_MAGIC = (b"\x89HDF\r\n\x1a\n", b"CDF\x01", b"CDF\x02", b"CDF\x05")


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary name beside a place; what is then written there is flushed and renamed to it."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    # Nobody can have put a link there, through which the writing would go elsewhere.
    os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def remove_leftovers(path: Path, *, age: float = _DAY) -> None:
    """Remove temporary names of a place that a killed program left beside it, at least `age` seconds ago."""
    for name in path.parent.glob(f".{glob.escape(path.name)}.{'[0-9a-f]' * 8}.tmp"):
        with contextlib.suppress(OSError):
            if time.time() - name.lstat().st_mtime >= age:
                name.unlink()


@contextlib.contextmanager
def handling_signals(handler: Callable[[int, FrameType | None, Any], None]) -> Iterator[None]:
    """Have a handler called by what ends a program, with the handler before, unless ``nohup`` ignores it."""
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():  # no other can be interrupted
        known = {number: signal.getsignal(number) for number in _ENDING}
        before = {number: one for number, one in known.items() if one not in (signal.SIG_IGN, None)}
    try:
        for number in before:
            signal.signal(number, lambda number, frame: handler(number, frame, before[number]))
        yield
    finally:
        for number, one in before.items():
            signal.signal(number, one)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait until the end: an exception in the middle of netCDF leaves its locks taken for ever."""
    held: list[int] = []
    try:
        with handling_signals(lambda number, *_: held.append(number)):
            yield
    finally:
        # One is enough: a second signal would interrupt the end that the first began.
        for number in held[:1]:
            signal.raise_signal(number)


def followed(path: Path) -> Path:
    """Return where a path leads, links followed; OSError for a circle of links and for an impossible name."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        path.stat()  # what resolve() refuses differs between versions of Python
    return path.resolve()


def is_netcdf(path: Path) -> bool:
    """Tell whether a file is netCDF, by its first bytes; what is not there or cannot be read is not."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(8).startswith(_MAGIC)
    except (OSError, ValueError, RuntimeError):  # no file can have this name, or links go in a circle
        return False


def same_file(first: Path, second: Path) -> bool:
    """Tell whether two names lead to one file, by links of either kind too."""
    try:
        return first.samefile(second)
    except (OSError, ValueError, RuntimeError):  # one is not there, among other reasons
        return False


def largest_file() -> float:
    """Return the most bytes that this process may write into one file; infinite without a limit."""
    try:
        import resource  # Windows has none
    except ImportError:
        return math.inf
    limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    return math.inf if limit == resource.RLIM_INFINITY else limit


def most_gib(default: float) -> float:
    """Return the most GiB that is read of one file, which the environment may set."""
    text = os.environ.get(LIMIT_VARIABLE, "")
    if not text:
        return default
    try:
        limit = to_number(text)
    except ValueError:
        limit = math.nan
    if not 0 < limit < math.inf:
        raise InputError(f"{LIMIT_VARIABLE} is {shortened(text)!r}; set it to a number of GiB, such as 4")
    return limit


def check_place(path: Path, inputs: Iterable[str | Path] = ()) -> None:
    """Refuse a path where no file can be, one of the inputs, and any dataset: StoreError."""
    for name in inputs:
        if same_file(path, Path(name)):
            raise StoreError(f"cannot write {path}: that is {name}, which is read; give another name")
    if is_netcdf(path):
        raise StoreError(f"cannot write {path}: a netCDF file is there; give another name")
    if path.suffix.lower() == ".nc":
        raise StoreError(f"cannot write {path}: that is a name for datasets; give another")
    if path.is_dir():
        raise StoreError(f"cannot write {path}: that is a folder; name a file in it")
    if not path.parent.is_dir():
        raise StoreError(f"cannot write {path}: there is no folder {path.parent}")


def write_bytes(content: bytes, path: Path) -> None:
    """Write a file whole or not at all, never over a dataset: StoreError."""
    # A link is followed. A device or pipe is written directly, because renaming would replace it.
    check_place(path)
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)  # /dev/stdout leads to a pipe that has no name of its own
            return
        with replacing(followed(path)) as temporary:
            temporary.write_bytes(content)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror or error}") from None
