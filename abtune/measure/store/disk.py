"""Files of a sweep: written whole or not at all, locked, and read back as checked records."""

from __future__ import annotations

import base64
import contextlib
import errno
import functools
import gzip
import json
import math
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, fields
from enum import EnumType
from pathlib import Path
from types import UnionType
from typing import IO, Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from abtune.dataset.schema import RunStatus
from abtune.errors import StoreError
from abtune.files import NO_ROOM, replacing
from abtune.measure.plan.records import STATES, Rounds, RunRecord, SearchHistory
from abtune.shapes import parse_shape
from abtune.text import listed, shortened

_REMEDIES = {
    **dict.fromkeys(NO_ROOM, "make room"),
    **dict.fromkeys((errno.EEXIST, errno.EISDIR, errno.ENOTDIR), "move it away"),
    errno.EFBIG: "raise ulimit -f",
}
_UNREADABLE = (
    *(OSError, EOFError, zlib.error),
    *(ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError),
)
# How JSON holds the types of values; lists and tuples are lists.
_STORED_AS: Mapping[Any, Any] = {float: (int, float), int: int, bool: bool, str: str, bytes: str}
# The values that are seconds of a call: positive, or NaN where nothing was timed.
_TIMES = {"search_latency", "trial_latency", "latency"}

# The file that a sweep holds locked in its folder.
_LOCK = "lock"

T = TypeVar("T")


class DamagedError(StoreError):
    """A file that holds something else than it should; the error may name several."""

    def __init__(self, *reasons: str, advice: str = "") -> None:
        parts = "them to have those parts" if reasons[1:] else "it to have that part"
        super().__init__(f"{'; '.join(reasons)}; {advice or f'remove {parts} done again'}")
        self.reasons = reasons


_kinds = functools.cache(get_type_hints)


def write_json(path: Path, content: Any) -> None:
    """Write a value as JSON, with gzip if the name ends in .gz; the file is complete once it has its name."""
    # NaN is written as NaN, which only Python reads; the file stays here.
    data = json.dumps(content, default=plain).encode()
    with writing(path), replacing(path) as temporary:
        # Without a time in it, the same content gives the same file.
        temporary.write_bytes(gzip.compress(data, compresslevel=4, mtime=0) if path.suffix == ".gz" else data)


def plain(value: Any) -> Any:
    """Return bytes as text, and a record as a mapping; asdict() would copy all that it holds."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return {field.name: getattr(value, field.name) for field in fields(value)}


def read_json(path: Path, parse: Callable[[dict[str, Any], str], T], advice: str = "") -> T:
    """Return what `parse` makes of the content of a JSON file, and of its name without the endings."""
    try:
        if path.exists() and not path.is_file():  # a link to a device would be read without end
            raise ValueError("it is no regular file")
        data = path.read_bytes()
        content = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
        if not isinstance(content, dict):
            raise ValueError("it is JSON, but no object")
        return parse(content, path.name.removesuffix(".gz").removesuffix(".json"))
    except PermissionError as error:  # the file may be whole, so nobody is told to remove it
        remedy = "mend this and give the same command again"
        raise StoreError(f"cannot read {path}: {error.strerror}; {remedy}") from None
    except _UNREADABLE as error:
        # The message of a KeyError is the name alone.
        reason = f"it lacks {error}" if isinstance(error, KeyError) else str(error) or type(error).__name__
        raise DamagedError(f"{path} cannot be read ({reason})", advice=advice) from None


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an error of the system into a line that says what to do."""
    try:
        yield
    except OSError as error:
        remedy = _REMEDIES.get(error.errno or 0, "give another --out, or mend this")
        raise StoreError(
            f"cannot write {path}: {error.strerror}; {remedy} and give the same command again"
        ) from None


@contextlib.contextmanager
def locked(folder: Path, dataset: Path) -> Iterator[IO[bytes]]:
    """Hold the lock of a folder; the system frees it when this process ends, even if it is killed."""
    import fcntl  # sweeps run on Linux; everything else imports without it

    with writing(path := folder / _LOCK):
        file = path.open("a+b", buffering=0)  # to read, too: a pipe would wait for a reader
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(f"another sweep is writing {dataset}; wait, or give another --out") from None
        except OSError as error:  # such as a file system without locks
            raise StoreError(
                f"cannot lock {folder}: {error.strerror}; give an --out on another file system"
            ) from None
        yield file


def require_lock(lock: IO[bytes], folder: Path) -> None:
    """Refuse to write where a folder was removed or replaced since it was locked, as by another sweep."""
    try:
        same = os.path.samestat(os.fstat(lock.fileno()), (folder / _LOCK).stat())
    except OSError:
        same = False
    if not same:
        raise StoreError(
            f"{folder} was removed or replaced while this sweep was writing it; look for another sweep, and "
            "give the same command again"
        )


def from_json(kind: Any, content: Any, name: str = "") -> Any:
    """Return a value of a type from what its JSON says; what does not fit is refused by its name."""
    # Without the checks a damaged file would be noticed only when the dataset is built.
    if kind is Any:
        return content
    if isinstance(kind, EnumType):
        return kind(content)
    if hasattr(kind, "__dataclass_fields__"):
        kinds = _kinds(kind)
        if unknown := sorted(content.keys() - kinds.keys()):
            raise ValueError(f"unknown field {shortened(unknown[0])}")
        required = [item.name for item in fields(kind) if item.default is item.default_factory is MISSING]
        if lacking := [field for field in required if field not in content]:
            raise ValueError(f"it lacks {listed(lacking[:3])}")
        return kind(**{key: from_json(kinds.get(key, Any), value, key) for key, value in content.items()})
    if isinstance(kind, UnionType):  # of a type and None
        return None if content is None else from_json(get_args(kind)[0], content, name)
    stored_as: Any = _STORED_AS.get(kind, list)
    if not isinstance(content, stored_as):
        raise TypeError(f"{name}: {content!r}")
    if kind is float:
        float(content)  # fails for an integer that is too large
        # NaN, where nothing was timed, passes, because it compares as false.
        if name in _TIMES and (content <= 0 or content == math.inf):
            raise ValueError(f"{name} is {content!r}, which is no time")
    elif kind is bytes:
        content = base64.b64decode(content)
    elif kind not in _STORED_AS:
        return get_origin(kind)(from_json(get_args(kind)[0], value, name) for value in content)
    return content


def record_from_json(content: dict[str, Any], name: str) -> RunRecord:
    """Return the finished run of this name, after checking every value."""
    record: RunRecord = from_json(RunRecord, content)
    for moment in (record.started, record.finished):
        _require_moment(moment)
    trials = len(record.trial_status)
    if len(record.trial_latency) != trials:
        raise ValueError(f"it has {len(record.trial_latency)} latencies for {trials} trials")
    if record.trial_origin and len(record.trial_origin) != trials:
        raise ValueError(f"it has {len(record.trial_origin)} origins for {trials} trials")
    if (record.winner is not None) is not (record.status is RunStatus.COMPLETE):
        raise ValueError(f"status {record.status.name} and its winner do not go together")
    if record.key != name:
        raise ValueError(f"it is the run of seed {record.seed} of {record.config} for {record.shape}")
    parse_shape(record.shape)
    return record


def _require_moment(moment: str) -> None:
    if not re.fullmatch(r"([\d-]+(T[\d:.]+)?|NaT)?", moment, re.ASCII):  # numpy warns of a time zone
        raise ValueError(f"{shortened(moment)} is no moment in UTC without a time zone")
    np.datetime64(moment)  # raises for a day that no month has


def rounds_from_json(content: dict[str, Any], shape: str) -> Rounds:
    """Return the re-measurement of a shape, after checking every value."""
    rounds: Rounds = from_json(Rounds, content)
    for times in rounds.times:
        states = () if times.origin else [getattr(times, name) for name in STATES]
        lengths = {len(times.latency), *map(len, states)}
        if len(lengths) > 1 or len({len(repeats) for repeats in times.latency}) > 1:
            raise ValueError("its rounds have different lengths")
        if not (times.latency or times.failure or times.origin):
            raise ValueError("a winner has no timings and no failure")
    if rounds.shape != shape:  # a copy would replace newer timings
        raise ValueError(f"it has the winners of {rounds.shape}")
    return rounds


def history_from_json(content: dict[str, Any], _: str) -> tuple[SearchHistory, str]:
    """Return a search in progress, and when it started."""
    started = str(content.pop("started"))
    _require_moment(started)  # else the finished run could not be read
    for candidate in (*(trial["candidate"] for trial in content["trials"]), *content["pending"]):
        if "record" in candidate:  # earlier versions kept lists
            candidate["text"] = json.dumps(candidate.pop("record"))
    return from_json(SearchHistory, content), started


# How the files of a sweep are read, by their folder.
PARSERS: Mapping[str, Callable[[dict[str, Any], str], Any]] = {
    "runs": record_from_json,
    "rounds": rounds_from_json,
    "searches": history_from_json,
}


def read_file(path: Path) -> Any:
    """Return what a file of a sweep holds, after checking every value."""
    return read_json(path, PARSERS[path.parent.name])


def read_whole(paths: Iterable[Path]) -> tuple[dict[Path, Any], dict[Path, str]]:
    """Return what the files hold that are whole, and why others cannot be read."""
    whole, damaged = dict[Path, Any](), dict[Path, str]()
    for path in paths:
        try:
            whole[path] = read_file(path)
        except DamagedError as error:
            (damaged[path],) = error.reasons
    return whole, damaged
