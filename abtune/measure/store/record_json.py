"""Records from JSON; content that is not as it should be raises, and the caller names its file."""

from __future__ import annotations

import base64
import itertools
import math
from dataclasses import fields
from typing import Any

import numpy as np

from abtune.dataset.schema import RunStatus, TransferStatus, TrialOrigin, TrialStatus
from abtune.measure.plan.records import Rounds, RunRecord, TransferTimes, WinnerTimes
from abtune.measure.plan.trials import Candidate, History, Trial

_NUMBER = (int, float)
_TEXTS = ("shape", "config", "failure", "started", "finished", "host")


def record_from_json(content: dict[str, Any]) -> RunRecord:
    """Return a finished run, after checking every value."""
    # Without the checks a damaged file would be noticed only when the dataset is built.
    content["status"] = RunStatus(content["status"])
    content["trial_status"] = [TrialStatus(status) for status in content["trial_status"]]
    content["trial_origin"] = [TrialOrigin(origin) for origin in content.get("trial_origin", ())]
    record = RunRecord(**content)
    _require_labels(record, *_TEXTS)
    _require("seed", record.seed, int)
    _require_number("tuning_time", record.tuning_time)
    _require_time("search_latency", record.search_latency)
    for value in record.trial_latency:
        _require_time("trial_latency", value)
    for moment in (record.started, record.finished):
        np.datetime64(moment)
    if len(record.trial_latency) != len(record.trial_status):
        raise ValueError(
            f"it has {len(record.trial_latency)} latencies for {len(record.trial_status)} trials"
        )
    if record.trial_origin and len(record.trial_origin) != len(record.trial_status):
        raise ValueError(f"it has {len(record.trial_origin)} origins for {len(record.trial_status)} trials")
    if isinstance(record.winner, list) is not (record.status is RunStatus.COMPLETE):
        raise ValueError(f"status {record.status.name} and its winner do not go together")
    return record


def rounds_from_json(content: dict[str, Any]) -> Rounds:
    """Return a re-measurement, after checking every value."""
    winners = tuple(_times_from_json(winner) for winner in content.pop("winners"))
    transfers = tuple(_transfer_from_json(transfer) for transfer in content.pop("transfers", ()))
    rounds = Rounds(winners=winners, transfers=transfers, **content)
    _require_labels(rounds, "shape", "device", "host")
    return rounds


def _times_from_json(content: dict[str, Any]) -> WinnerTimes:
    times = WinnerTimes(**content)
    _require_labels(times, "config", "failure", "kernel")
    _require("seed", times.seed, int)
    _require_rounds(times.latency, times.sm_clock, times.temperature, times.throttle_reasons)
    return times


def _transfer_from_json(content: dict[str, Any]) -> TransferTimes:
    times = TransferTimes(**{**content, "status": TransferStatus(content["status"])})
    _require_labels(times, "origin", "config", "failure", "kernel")
    _require("seed", times.seed, int)
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


def _require_labels(record: object, *names: str) -> None:
    for name in names:
        _require(name, getattr(record, name), str)


def _require_number(name: str, value: object) -> None:
    """Refuse what is no number, or is too large for one."""
    _require(name, value, _NUMBER)
    float(value)  # type: ignore[arg-type]


def _require_time(name: str, value: object) -> None:
    """Refuse what is no number of seconds, which is NaN where nothing was timed."""
    _require_number(name, value)
    if value <= 0 or value == math.inf:  # type: ignore[operator]
        raise ValueError(f"{name} is {value!r}, which is no time")


def _require(name: str, value: object, kind: type | tuple[type, ...]) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{name}: {value!r}")


def history_from_json(content: dict[str, Any]) -> tuple[History, str]:
    """Return a search in progress, and when it started."""
    for trial in content["trials"]:
        trial["candidate"] = Candidate(**trial["candidate"])
        trial["status"] = TrialStatus(trial["status"])
    content["trials"] = tuple(Trial(**trial) for trial in content["trials"])
    content["pending"] = tuple(Candidate(**candidate) for candidate in content["pending"])
    content["cost_model"] = base64.b64decode(content["cost_model"])
    content["exchanged_at"] = tuple(content.get("exchanged_at", ()))  # unknown to earlier versions
    history = History(**{field.name: content[field.name] for field in fields(History)})
    return history, str(content["started"])
