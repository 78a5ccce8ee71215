"""Files of a sweep: written whole or not at all, locked, and read back as checked records."""

from __future__ import annotations

import base64
import contextlib
import errno
import gzip
import itertools
import json
import math
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from abtune.dataset.schema import RunStatus, TransferStatus, TrialOrigin, TrialStatus
from abtune.errors import StoreError
from abtune.files import LIMIT_VARIABLE, most_gib, replacing
from abtune.measure.plan.records import (
    Candidate,
    History,
    Rounds,
    RunRecord,
    TransferTimes,
    Trial,
    WinnerTimes,
)
from abtune.text import shortened

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
    # NaN is written as NaN, which only Python reads; the file stays here.
    data = json.dumps(content, default=plain).encode()
    with writing(path), replacing(path) as temporary:
        # Without a time in it, the same content gives the same file.
        temporary.write_bytes(gzip.compress(data, compresslevel=4, mtime=0) if compress else data)


def plain(value: Any) -> Any:
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
    # A link may lead to a device, which could be read without end.
    if path.exists() and not path.is_file():
        raise ValueError("it is no regular file")
    limit, data = most_gib(_LIMIT), bytearray()
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        # Piece by piece, because a small file may unpack to any size.
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
        is_full = error.errno in _NO_ROOM
        remedy = "make room and give the same command again" if is_full else "give another --out"
        raise StoreError(f"cannot write {path}: {error.strerror}; {remedy}") from None


@contextlib.contextmanager
def locked(folder: Path, dataset: Path) -> Iterator[None]:
    """Hold the lock of a folder; the system frees it when this process ends, even if it is killed."""
    import fcntl  # sweeps run on Linux; everything else imports without it

    with writing(path := folder / "lock"):
        file = path.open("ab")
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(
                f"another sweep is writing {dataset}; wait for it or give another --out"
            ) from None
        except OSError as error:  # such as a file system without locks
            raise StoreError(
                f"cannot lock {folder}: {error.strerror}; give an --out on another file system"
            ) from None
        yield


def record_from_json(content: dict[str, Any]) -> RunRecord:
    """Return a finished run, after checking every value."""
    # Without the checks a damaged file would be noticed only when the dataset is built.
    content["status"] = RunStatus(content["status"])
    content["trial_status"] = [TrialStatus(status) for status in content["trial_status"]]
    content["trial_origin"] = [TrialOrigin(origin) for origin in content.get("trial_origin", ())]
    record = RunRecord(**content)
    _require_kinds(record)
    _require_time("search_latency", record.search_latency)
    for value in record.trial_latency:
        _require_time("trial_latency", value)
    for moment in (record.started, record.finished):
        if not re.fullmatch(r"([\d-]+(T[\d:.]+)?|NaT)?", moment, re.ASCII):  # numpy warns of a time zone
            raise ValueError(f"{shortened(moment)} is no moment in UTC without a time zone")
        np.datetime64(moment)  # raises for a day that no month has
    trials = len(record.trial_status)
    if len(record.trial_latency) != trials:
        raise ValueError(f"it has {len(record.trial_latency)} latencies for {trials} trials")
    if record.trial_origin and len(record.trial_origin) != trials:
        raise ValueError(f"it has {len(record.trial_origin)} origins for {trials} trials")
    if isinstance(record.winner, list) is not (record.status is RunStatus.COMPLETE):
        raise ValueError(f"status {record.status.name} and its winner do not go together")
    return record


def rounds_from_json(content: dict[str, Any]) -> Rounds:
    """Return a re-measurement, after checking every value."""
    winners = tuple(_times_from_json(winner) for winner in content.pop("winners"))
    transfers = tuple(_transfer_from_json(transfer) for transfer in content.pop("transfers", ()))
    rounds = Rounds(winners=winners, transfers=transfers, **content)
    _require_kinds(rounds)
    return rounds


def _times_from_json(content: dict[str, Any]) -> WinnerTimes:
    times = WinnerTimes(**content)
    _require_kinds(times)
    _require_rounds(times.latency, times.sm_clock, times.temperature, times.throttle_reasons)
    if not (times.latency or times.failure):
        raise ValueError("a winner has neither timings nor a failure")
    return times


def _transfer_from_json(content: dict[str, Any]) -> TransferTimes:
    times = TransferTimes(**{**content, "status": TransferStatus(content["status"])})
    _require_kinds(times)
    _require_rounds(times.latency)
    return times


def _require_rounds(latency: list[list[float]], *states: list[float]) -> None:
    lengths = {len(latency), *map(len, states)}
    if len(lengths) > 1 or len({len(repeats) for repeats in latency}) > 1:
        raise ValueError("its rounds have different lengths")
    for value in itertools.chain(*latency):
        _require_time("a timing", value)
    for value in itertools.chain(*states):
        _require_number("a state of the device", value)


def _require_kinds(record: Any) -> None:
    """Refuse a record with a text, a whole number or a number that is none; lists are not looked into."""
    for entry in fields(record):
        value = getattr(record, entry.name)
        if not isinstance(value, {"str": str, "int": int}.get(str(entry.type), object)):
            raise TypeError(f"{entry.name}: {value!r}")
        if entry.type == "float":
            _require_number(entry.name, value)


def _require_number(name: str, value: Any) -> None:
    """Refuse what is no number, or is too large for one."""
    if not isinstance(value, int | float):
        raise TypeError(f"{name}: {value!r}")
    float(value)


def _require_time(name: str, value: Any) -> None:
    """Refuse what is no number of seconds, which is NaN where nothing was timed."""
    _require_number(name, value)
    # NaN passes, because it compares as false.
    if value <= 0 or value == math.inf:
        raise ValueError(f"{name} is {value!r}, which is no time")


def history_from_json(content: dict[str, Any]) -> tuple[History, str]:
    """Return a search in progress, and when it started."""
    for trial in content["trials"]:
        trial["candidate"] = _candidate_from_json(trial["candidate"])
        trial["status"] = TrialStatus(trial["status"])
    content["trials"] = tuple(Trial(**trial) for trial in content["trials"])
    content["pending"] = tuple(map(_candidate_from_json, content["pending"]))
    content["cost_model"] = base64.b64decode(content["cost_model"])
    content["exchanged_at"] = tuple(content.get("exchanged_at", ()))  # unknown to earlier versions
    history = History(**{field.name: content[field.name] for field in fields(History)})
    return history, str(content["started"])


def _candidate_from_json(content: dict[str, Any]) -> Candidate:
    if "record" in content:  # earlier versions kept lists
        content["text"] = json.dumps(content.pop("record"))
    candidate = Candidate(**content)
    _require_kinds(candidate)
    return candidate
