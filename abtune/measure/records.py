"""What a sweep keeps of a finished run, and of its winner measured again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from abtune.schema import RunStatus, TrialStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """A finished run.

    Attributes
    ----------
    shape, config, seed
        Which run it was: label, name and number.
    status : RunStatus
        Complete, or failed.
    failure : str
        Why it failed; empty if it did not.
    search_latency : float
        What the search reported for its winner, seconds; NaN without one.
    trial_latency, trial_status : list
        Every trial in order: seconds (NaN if it failed) and :class:`TrialStatus`.
    winner : list or None
        The winner's tuning record.
    tuning_time : float
        Seconds spent on the run.
    started, finished : str
        UTC, ISO 8601.
    host : str
        Machine that drove the run.
    """

    shape: str
    config: str
    seed: int
    status: RunStatus
    failure: str
    search_latency: float
    trial_latency: list[float]
    trial_status: list[TrialStatus]
    winner: list[Any] | None
    tuning_time: float
    started: str
    finished: str
    host: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WinnerTimes:
    """One winner, measured again.

    Attributes
    ----------
    config, seed
        Whose winner it is.
    latency : list of list of float
        Seconds of one call, by round and repeat.
    sm_clock, temperature, throttle_reasons : list of float
        State of the device by round: MHz, degC, and NVML's bits; NaN where it cannot be read.
    failure : str
        Why it could not be measured or was wrong; empty otherwise.
    """

    config: str
    seed: int
    latency: list[list[float]]
    sm_clock: list[float]
    temperature: list[float]
    throttle_reasons: list[float]
    failure: str

    @classmethod
    def lost(cls, config: str, seed: int, failure: str) -> Self:
        """Return what there is of a winner that could not be measured, or is wrong."""
        return cls(
            config=config,
            seed=seed,
            latency=[],
            sm_clock=[],
            temperature=[],
            throttle_reasons=[],
            failure=failure,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """All winners of a shape, measured again together on one device."""

    shape: str
    device: str
    host: str
    winners: tuple[WinnerTimes, ...]
