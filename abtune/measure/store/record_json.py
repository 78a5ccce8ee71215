"""Records as JSON and back; content that is not as it should be raises, and the caller names its file."""

from __future__ import annotations

import base64
import itertools
from dataclasses import asdict
from typing import Any

import numpy as np

from abtune.dataset.schema import RunStatus, TransferStatus, TrialStatus
from abtune.measure.plan.records import Rounds, RunRecord, TransferTimes, WinnerTimes
from abtune.measure.plan.trials import Candidate, History, Trial

_NUMBER = (int, float)
_TEXTS = ("shape", "config", "failure", "started", "finished", "host")


def record_to_json(record: RunRecord) -> dict[str, Any]:
    """Return the JSON content of a finished run."""
    return asdict(record)


def record_from_json(content: dict[str, Any]) -> RunRecord:
    """Return a finished run, after checking every value."""
    # Without the checks a damaged file would be noticed only when the dataset is built.
    content["status"] = RunStatus(content["status"])
    content["trial_status"] = [TrialStatus(status) for status in content["trial_status"]]
    record = RunRecord(**content)
    for name in _TEXTS:
        _require(name, getattr(record, name), str)
    _require("seed", record.seed, int)
    for name in ("search_latency", "tuning_time"):
        _require(name, getattr(record, name), _NUMBER)
    for value in record.trial_latency:
        _require("trial_latency", value, _NUMBER)
    for moment in (record.started, record.finished):
        np.datetime64(moment)
    if len(record.trial_latency) != len(record.trial_status):
        raise ValueError(
            f"it has {len(record.trial_latency)} latencies for {len(record.trial_status)} trials"
        )
    if isinstance(record.winner, list) is not (record.status is RunStatus.COMPLETE):
        raise ValueError(f"status {record.status.name} and its winner do not go together")
    return record


def rounds_to_json(rounds: Rounds) -> dict[str, Any]:
    """Return the JSON content of a re-measurement."""
    return asdict(rounds)


def rounds_from_json(content: dict[str, Any]) -> Rounds:
    """Return a re-measurement, after checking every value."""
    winners = tuple(_times_from_json(winner) for winner in content.pop("winners"))
    transfers = tuple(_transfer_from_json(transfer) for transfer in content.pop("transfers", ()))
    return Rounds(winners=winners, transfers=transfers, **content)


def _times_from_json(content: dict[str, Any]) -> WinnerTimes:
    times = WinnerTimes(**content)
    states = (times.sm_clock, times.temperature, times.throttle_reasons)
    lengths = {len(times.latency), *map(len, states)}
    if len(lengths) > 1 or len({len(repeats) for repeats in times.latency}) > 1:
        raise ValueError("its rounds have different lengths")
    for value in itertools.chain(*times.latency, *states):
        _require("a timing", value, _NUMBER)
    return times


def _transfer_from_json(content: dict[str, Any]) -> TransferTimes:
    content["status"] = TransferStatus(content["status"])
    times = TransferTimes(**content)
    if len({len(repeats) for repeats in times.latency}) > 1:
        raise ValueError("its rounds have different lengths")
    for value in itertools.chain(*times.latency):
        _require("a timing", value, _NUMBER)
    return times


def _require(name: str, value: object, kind: type | tuple[type, ...]) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{name}: {value!r}")


def history_to_json(history: History, started: str) -> dict[str, Any]:
    """Return the JSON content of a search in progress."""
    # asdict() would copy every record to the bottom, which takes far longer than writing it.
    return {
        "trials": [
            {
                "candidate": _candidate_to_json(trial.candidate),
                "status": trial.status,
                "latency": trial.latency,
                "message": trial.message,
            }
            for trial in history.trials
        ],
        "pending": [_candidate_to_json(candidate) for candidate in history.pending],
        "learned": history.learned,
        "cost_model": base64.b64encode(history.cost_model).decode(),
        "iterations": history.iterations,
        "empty_iterations": history.empty_iterations,
        "seconds": history.seconds,
        "started": started,
    }


def _candidate_to_json(candidate: Candidate) -> dict[str, Any]:
    return {"record": candidate.record, "module_hash": candidate.module_hash}


def history_from_json(content: dict[str, Any]) -> tuple[History, str]:
    """Return a search in progress, and when it started."""
    trials = tuple(
        Trial(
            candidate=Candidate(**trial["candidate"]),
            status=TrialStatus(trial["status"]),
            latency=trial["latency"],
            message=trial["message"],
        )
        for trial in content["trials"]
    )
    history = History(
        trials=trials,
        pending=tuple(Candidate(**candidate) for candidate in content["pending"]),
        learned=content["learned"],
        cost_model=base64.b64decode(content["cost_model"]),
        iterations=content["iterations"],
        empty_iterations=content["empty_iterations"],
        seconds=content["seconds"],
    )
    return history, str(content["started"])
