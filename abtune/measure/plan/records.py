"""The records that a sweep keeps: of each finished run, and of its re-measured winner."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

from abtune.dataset.schema import RunStatus, TransferStatus, TrialOrigin, TrialStatus


def run_key(shape: str, config: str, seed: int) -> str:
    """Return the name of the run of a label, a configuration and a seed: unique, and fit for a file."""
    return f"{shape}--{config}--{seed:04d}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """A finished run."""

    shape: str  # label of the shape
    config: str  # name of the configuration
    seed: int
    status: RunStatus  # complete or failed
    failure: str  # the reason of a failure; empty without one
    search_latency: float  # latency of the winner as its search measured it, seconds; NaN without a winner
    trial_latency: list[float]  # latency of every trial in order, seconds; NaN where it failed
    trial_status: list[TrialStatus]  # result of every trial in order
    winner: list[Any] | None  # the winner's tuning record
    tuning_time: float  # seconds spent on the run
    started: str  # UTC, ISO 8601
    finished: str
    host: str  # machine that drove the run
    # whose search found each trial's schedule; empty if the searches are independent
    trial_origin: list[TrialOrigin] = field(default_factory=list)

    @property
    def key(self) -> str:
        """The name of its run."""
        return run_key(self.shape, self.config, self.seed)


# What is known of the device in each round.
STATES = ("sm_clock", "temperature", "throttle_reasons")


@dataclass(frozen=True, slots=True, kw_only=True)
class WinnerTimes:
    """The timings of one re-measured winner."""

    config: str  # of the run that it won, as its seed
    seed: int
    latency: list[list[float]]  # seconds of one call, by round and repeat
    # state of the device by round: MHz, degC, and NVML's bits; NaN where it cannot be read
    sm_clock: list[float]
    temperature: list[float]
    throttle_reasons: list[float]
    failure: str  # why the winner could not be measured or was wrong; empty without a failure
    kernel: str = ""  # hash of the library; empty without one, and in files of earlier versions

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
    """A winner rebuilt under another configuration."""

    origin: str  # the configuration of the run that it won
    seed: int
    config: str  # the configuration that built it anew
    status: TransferStatus  # whether it was built and timed
    kernel: str = ""  # hash of the library that was timed; empty without one
    # seconds of one call, by round and repeat; empty unless the status is OK
    latency: list[list[float]] = field(default_factory=list)
    failure: str = ""  # why building or timing failed; empty without a failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """All winners of a shape, re-measured together on one device, and their transfers."""

    shape: str
    device: str
    host: str
    winners: tuple[WinnerTimes, ...]
    transfers: tuple[TransferTimes, ...] = ()  # unknown to earlier versions
