"""The records that a sweep keeps: of each finished run, and of its re-measured winner."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

from abtune.dataset.schema import RunStatus, TransferStatus, TrialStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """A finished run.

    Attributes
    ----------
    shape, config : str
    seed : int
        Label, name and number of the run.
    status : RunStatus
        Complete or failed.
    failure : str
        The reason of a failure; empty without one.
    search_latency : float
        Latency of the winner as its search measured it, seconds; NaN without a winner.
    trial_latency : list of float
        Latency of every trial in order, seconds; NaN where it failed.
    trial_status : list of TrialStatus
        Result of every trial in order.
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
    """The timings of one re-measured winner.

    Attributes
    ----------
    config : str
    seed : int
        The run that it won.
    latency : list of list of float
        Seconds of one call, by round and repeat.
    sm_clock, temperature, throttle_reasons : list of float
        State of the device by round: MHz, degC, and NVML's bits; NaN where it cannot be read.
    failure : str
        Why the winner could not be measured or was wrong; empty without a failure.
    kernel : str
        Hash of the library that was built; empty without one.
    """

    config: str
    seed: int
    latency: list[list[float]]
    sm_clock: list[float]
    temperature: list[float]
    throttle_reasons: list[float]
    failure: str
    kernel: str = ""  # unknown to earlier versions

    @classmethod
    def lost(cls, config: str, seed: int, failure: str) -> Self:
        """Return the record of a winner that could not be measured, or is wrong."""
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
class TransferTimes:
    """A winner rebuilt under another configuration.

    Attributes
    ----------
    origin : str
    seed : int
        The run that it won.
    config : str
        The configuration that built it anew.
    status : TransferStatus
        Whether it was built and timed.
    kernel : str
        Hash of the library that was timed; empty without one.
    latency : list of list of float
        Seconds of one call, by round and repeat; empty unless the status is OK.
    failure : str
        Why building or timing failed; empty without a failure.
    """

    origin: str
    seed: int
    config: str
    status: TransferStatus
    kernel: str = ""
    latency: list[list[float]] = field(default_factory=list)
    failure: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """All winners of a shape, re-measured together on one device, and their transfers."""

    shape: str
    device: str
    host: str
    winners: tuple[WinnerTimes, ...]
    transfers: tuple[TransferTimes, ...] = ()  # unknown to earlier versions
