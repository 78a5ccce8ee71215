"""What a sweep keeps: finished runs, re-measured winners, transfers, and the histories of searches.

A history is the only state that passes from one iteration to the next. An iteration proposes candidates, then
tries them; searches that share end it with an exchange. Each step makes a new history of an old one. So a run
can stop after any step, or between two candidates. It goes on in another process or on another machine.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from abtune.dataset.schema import RunStatus, TransferStatus, TrialOrigin, TrialStatus
from abtune.measure.plan.problem import RunSettings


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
    # the most frequent reason why trials failed; empty without a failure, and in files of earlier versions
    trial_failure: str = ""

    @property
    def key(self) -> str:
        """The name of its run."""
        return run_key(self.shape, self.config, self.seed)


# What is known of the device in each round.
STATES = ("sm_clock", "temperature", "throttle_reasons")


@dataclass(frozen=True, slots=True, kw_only=True)
class WinnerTimes:
    """The timings of one re-measured winner, built by its own configuration or transferred to another one."""

    config: str  # the configuration that built it
    seed: int  # of the run that it won
    origin: str = ""  # the configuration of that run, if another one built it; files of winners may lack it
    status: TransferStatus = TransferStatus.OK  # of a transfer: whether it was built and timed
    # seconds of one call, by round and repeat; empty after a failure
    latency: list[list[float]] = field(default_factory=list)
    # state of the device by round: MHz, degC, and NVML's bits; NaN where it cannot be read; not of a transfer
    sm_clock: list[float] = field(default_factory=list)
    temperature: list[float] = field(default_factory=list)
    throttle_reasons: list[float] = field(default_factory=list)
    failure: str = ""  # why it could not be built or timed, or was wrong; empty without a failure
    # hash of the library that was timed; empty without one, and in files of earlier versions
    kernel: str = ""
    host: str = ""  # machine that timed it; empty for that of all rounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """All winners of a shape, re-measured together on one device, and their transfers."""

    shape: str
    device: str
    host: str
    winners: tuple[WinnerTimes, ...] = ()
    transfers: tuple[WinnerTimes, ...] = ()  # unknown to earlier versions

    @property
    def times(self) -> tuple[WinnerTimes, ...]:
        """All winners, then all transfers."""
        return self.winners + self.transfers

    def with_times(self, times: Iterable[WinnerTimes]) -> Rounds:
        """Return these winners and transfers as measured on this device."""
        times = tuple(times)
        winners = tuple(one for one in times if not one.origin)
        return replace(self, winners=winners, transfers=tuple(one for one in times if one.origin))

    def of(self, is_wanted: Callable[[str, int], bool]) -> Rounds:
        """Return the timings of the winners of some runs, which are told by configuration and seed."""
        return self.with_times(one for one in self.times if is_wanted(one.origin or one.config, one.seed))


def with_transfers(measured: Iterable[Rounds], *, planned: bool) -> bool:
    """Tell whether winners are transferred: as planned, or as earlier sessions did."""
    return planned or any(rounds.transfers for rounds in measured)


def waiting_winners(
    records: Iterable[RunRecord], measured: Iterable[Rounds], *, transfer: bool
) -> dict[str, list[RunRecord]]:
    """Return the complete runs of each shape that lacks timings of winners, or of their transfers."""
    with_all = [rounds for rounds in measured if rounds.transfers or not transfer]
    timed = {run_key(rounds.shape, one.config, one.seed) for rounds in with_all for one in rounds.winners}
    complete: dict[str, list[RunRecord]] = defaultdict(list)
    for record in records:
        if record.status is RunStatus.COMPLETE:
            complete[record.shape].append(record)
    return {shape: runs for shape, runs in complete.items() if not timed.issuperset(run.key for run in runs)}


Step: TypeAlias = Literal["propose", "try", "exchange"]
# After this many iterations in a row without a new candidate the space is exhausted; MetaSchedule's number.
MAX_EMPTY_ITERATIONS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A schedule that a search proposes."""

    # MetaSchedule's tuning record as JSON text. As lists it takes ten times the memory, and longer to send.
    text: str
    module_hash: str  # structural hash of the scheduled module, by which MetaSchedule tells candidates apart
    carried_over: bool = False  # whether the partner's search found it

    @property
    def record(self) -> list[Any]:
        """The tuning record: trace, times, target, arguments."""
        return json.loads(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A candidate that was tried, and the result."""

    candidate: Candidate  # the schedule
    status: TrialStatus  # the result
    latency: float  # median time of one call, seconds; NaN if it failed
    message: str  # why it failed; empty without a failure

    @property
    def was_built(self) -> bool:
        """Whether there was a kernel to run; messages begin with the call that failed."""
        return self.status is not TrialStatus.BUILD_FAILED and not self.message.startswith("build:")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHistory:
    """All trials of a run so far, and the state that the next step needs."""

    trials: tuple[Trial, ...] = ()  # in the order of the search
    pending: tuple[Candidate, ...] = ()  # candidates that were proposed and not tried yet
    learned: int = 0  # number of trials that the cost model has seen
    cost_model: bytes = b""  # state of the cost model after these trials; empty before the first
    iterations: int = 0  # number of iterations done
    empty_iterations: int = 0  # number of iterations since the last one that found a new candidate
    exchanged_at: tuple[int, ...] = ()  # number of trials before each exchange with the partner
    seconds: float = 0.0  # time spent on the run

    @property
    def winner(self) -> Trial | None:
        """The fastest trial, or None if all failed."""
        timed = [trial for trial in self.trials if trial.status is TrialStatus.OK]
        return min(timed, key=lambda trial: trial.latency, default=None)

    def next_step(self, settings: RunSettings) -> Step | None:
        """Return the next step; None if the budget is spent or the design space exhausted."""
        if self.pending:
            return "try"
        if settings.is_shared and len(self.exchanged_at) < self.iterations:
            return "exchange"
        # Partners have the same number of iterations, so that each finds the other at every exchange.
        is_exhausted = self.empty_iterations >= MAX_EMPTY_ITERATIONS and not settings.is_shared
        is_last = settings.is_shared and self.iterations >= settings.iterations
        spent = len(self.trials) >= settings.trials
        return None if spent or is_exhausted or is_last else "propose"

    def count(self, settings: RunSettings) -> int:
        """Return the number of candidates that the next step of an iteration asks for."""
        if not settings.is_shared:
            return min(settings.trials_per_iteration, settings.trials - len(self.trials))
        exchanges = len(self.exchanged_at)
        # An iteration that found too little leaves more for the next one.
        left = min((exchanges + 1) * settings.trials_per_iteration, settings.trials) - len(self.trials)
        return left if exchanges < self.iterations else max(left - settings.exchanged, 1)

    def offer(self, exchange: int) -> list[Trial]:
        """Return the trials that a search offers in an exchange, by its number: its own, fastest first."""
        # A search that is further by now offers what it had then, so its speed does not change what its
        # partner finds. One that failed has made fewer exchanges, and offers what it had at its end.
        ends = (*self.exchanged_at, len(self.trials))
        end = ends[min(exchange, len(ends) - 1)]
        # What came from the partner is not offered back to it.
        own = (trial for trial in self.trials[:end] if not trial.candidate.carried_over)
        timed = (trial for trial in own if trial.status is TrialStatus.OK)
        return sorted(timed, key=lambda trial: trial.latency)

    def proposed(
        self, candidates: tuple[Candidate, ...], *, cost_model: bytes, seconds: float
    ) -> SearchHistory:
        """Return the history between the two steps of an iteration; its cost model has learned all trials."""
        return replace(
            self,
            pending=candidates,
            learned=len(self.trials),
            cost_model=cost_model,
            seconds=self.seconds + seconds,
        )

    def exchanged(self, candidates: tuple[Candidate, ...], *, seconds: float) -> SearchHistory:
        """Return the history after an exchange, with the partner's schedules that are to be tried."""
        return replace(
            self,
            pending=candidates,
            exchanged_at=(*self.exchanged_at, len(self.trials)),
            seconds=self.seconds + seconds,
        )

    def tried(self, trials: tuple[Trial, ...], *, seconds: float) -> SearchHistory:
        """Return the history after some of the pending candidates were tried, in their order."""
        # The search's part of an iteration ends with the last of them, at once if there was nothing new.
        pending = self.pending[len(trials) :]
        longer = replace(self, trials=self.trials + trials, pending=pending, seconds=self.seconds + seconds)
        if pending or any(trial.candidate.carried_over for trial in trials):
            return longer
        return replace(
            longer,
            iterations=self.iterations + 1,
            empty_iterations=0 if trials else self.empty_iterations + 1,
        )
