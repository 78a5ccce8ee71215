"""What a search has seen: the only state that passes from one iteration to the next.

An iteration has two steps, each a function from a history to the next: propose candidates, then try them.
So a run can stop after any step, or with some of its candidates tried, and go on later, in another process
or on another machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Self

from abtune.schema import TrialStatus

# MetaSchedule's own patience: iterations in a row that find nothing new before the space counts as exhausted.
MAX_EMPTY_ITERATIONS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A schedule that a search proposes.

    Attributes
    ----------
    record : list
        MetaSchedule's tuning record as JSON: trace, times, target, arguments.
    module_hash : str
        Structural hash of the scheduled module, by which MetaSchedule tells candidates apart.
    """

    record: list[Any]
    module_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A candidate and what became of it.

    Attributes
    ----------
    candidate : Candidate
        What was tried.
    status : TrialStatus
        What became of it.
    latency : float
        Median time of one call, seconds; NaN if it failed.
    message : str
        Why it failed; empty otherwise.
    """

    candidate: Candidate
    status: TrialStatus
    latency: float
    message: str

    @property
    def was_built(self) -> bool:
        """Whether there was a kernel to run; messages begin with the call that failed."""
        return self.status is not TrialStatus.BUILD_FAILED and not self.message.startswith("build:")


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """All trials of a run so far, and what is needed to go on.

    Attributes
    ----------
    trials : tuple of Trial
        In the order of the search.
    pending : tuple of Candidate
        Proposed and not tried yet: the search was stopped between the two.
    learned : int
        How many of the trials the cost model has seen.
    cost_model : bytes
        State of the cost model after those; empty before the first.
    iterations, empty_iterations : int
        Iterations done, and how many of the last ones found no new candidate.
    seconds : float
        Time spent on the run.
    """

    trials: tuple[Trial, ...]
    pending: tuple[Candidate, ...]
    learned: int
    cost_model: bytes
    iterations: int
    empty_iterations: int
    seconds: float

    @classmethod
    def empty(cls) -> Self:
        """Return the history of a run that has not begun."""
        return cls(
            trials=(),
            pending=(),
            learned=0,
            cost_model=b"",
            iterations=0,
            empty_iterations=0,
            seconds=0.0,
        )

    @property
    def winner(self) -> Trial | None:
        """The fastest trial, or None if all failed."""
        timed = [trial for trial in self.trials if trial.status is TrialStatus.OK]
        return min(timed, key=lambda trial: trial.latency, default=None)

    def is_over(self, trials: int) -> bool:
        """Tell whether the budget is spent or the design space exhausted."""
        return len(self.trials) >= trials or self.empty_iterations >= MAX_EMPTY_ITERATIONS

    def proposed(self, candidates: tuple[Candidate, ...], *, cost_model: bytes, seconds: float) -> History:
        """Return the history within an iteration, whose cost model has learned all trials before it."""
        return replace(
            self,
            pending=candidates,
            learned=len(self.trials),
            cost_model=cost_model,
            seconds=self.seconds + seconds,
        )

    def tried(self, trials: tuple[Trial, ...], *, seconds: float) -> History:
        """Return the history after the first of the pending candidates, or all, were tried.

        The iteration is over with the last of them, or at once if there was nothing new.
        """
        pending = self.pending[len(trials) :]
        longer = replace(self, trials=self.trials + trials, pending=pending, seconds=self.seconds + seconds)
        if pending:
            return longer
        return replace(
            longer,
            iterations=self.iterations + 1,
            empty_iterations=0 if trials else self.empty_iterations + 1,
        )


def failed(candidate: Candidate, status: TrialStatus, message: str) -> Trial:
    """Return the trial of a candidate that could not be timed."""
    return Trial(candidate=candidate, status=status, latency=math.nan, message=message)
