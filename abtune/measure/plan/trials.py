"""The history of a search: the only state that passes from one iteration to the next.

An iteration has two steps: propose candidates, then try them. Searches that share what they find end each
iteration with an exchange: they try the fastest schedules of their partner. Each step is a function from one
history to the next. So a run can stop after any step, or between two candidates, and go on later in another
process or on another machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeAlias

from abtune.dataset.schema import TrialStatus
from abtune.measure.plan.problem import Settings

Step: TypeAlias = Literal["propose", "try", "exchange"]
# After this many iterations in a row without a new candidate the space is exhausted; MetaSchedule's number.
MAX_EMPTY_ITERATIONS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A schedule that a search proposes."""

    record: list[Any]  # MetaSchedule's tuning record as JSON: trace, times, target, arguments
    module_hash: str  # structural hash of the scheduled module, by which MetaSchedule tells candidates apart
    carried_over: bool = False  # whether the partner's search found it


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
class History:
    """All trials of a run so far, and the state that the next step needs."""

    trials: tuple[Trial, ...] = ()  # in the order of the search
    pending: tuple[Candidate, ...] = ()  # candidates that were proposed and not tried yet
    learned: int = 0  # number of trials that the cost model has seen
    cost_model: bytes = b""  # state of the cost model after these trials; empty before the first
    iterations: int = 0  # number of iterations done
    empty_iterations: int = 0  # number of iterations since the last one that found a new candidate
    exchanged_at: tuple[int, ...] = ()  # number of trials before each exchange with the partner
    seconds: float = 0.0  # time spent on the run

    @classmethod
    def empty(cls) -> Self:
        """Return the history of a run that has not begun."""
        return cls()

    @property
    def winner(self) -> Trial | None:
        """The fastest trial, or None if all failed."""
        timed = [trial for trial in self.trials if trial.status is TrialStatus.OK]
        return min(timed, key=lambda trial: trial.latency, default=None)

    def next_step(self, settings: Settings) -> Step | None:
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

    def count(self, settings: Settings) -> int:
        """Return the number of candidates that the next step of an iteration asks for."""
        if not settings.is_shared:
            return min(settings.trials_per_iteration, settings.trials - len(self.trials))
        exchanges = len(self.exchanged_at)
        left = min((exchanges + 1) * settings.trials_per_iteration, settings.trials) - len(self.trials)
        return left if exchanges < self.iterations else max(left - settings.exchanged, 1)

    def offer(self, exchange: int) -> list[Trial]:
        """Return the trials that a search offers in an exchange, by its number: its own, fastest first."""
        end = (*self.exchanged_at, len(self.trials))[exchange]
        own = (trial for trial in self.trials[:end] if not trial.candidate.carried_over)
        timed = (trial for trial in own if trial.status is TrialStatus.OK)
        return sorted(timed, key=lambda trial: trial.latency)

    def proposed(self, candidates: tuple[Candidate, ...], *, cost_model: bytes, seconds: float) -> History:
        """Return the history between the two steps of an iteration; its cost model has learned all trials."""
        return replace(
            self,
            pending=candidates,
            learned=len(self.trials),
            cost_model=cost_model,
            seconds=self.seconds + seconds,
        )

    def exchanged(self, candidates: tuple[Candidate, ...], *, seconds: float) -> History:
        """Return the history after an exchange, with the partner's schedules that are to be tried."""
        return replace(
            self,
            pending=candidates,
            exchanged_at=(*self.exchanged_at, len(self.trials)),
            seconds=self.seconds + seconds,
        )

    def tried(self, trials: tuple[Trial, ...], *, seconds: float) -> History:
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


def failed(candidate: Candidate, status: TrialStatus, message: str) -> Trial:
    """Return the trial of a candidate that could not be timed."""
    return Trial(candidate=candidate, status=status, latency=math.nan, message=message)
