"""What the coroutines of one sweep share: plan, files, cluster, and how much time is left."""

from __future__ import annotations

import math
import statistics
import time
from dataclasses import dataclass, field
from typing import Protocol

from distributed.client import FutureCancelledError

from abtune.measure.cluster import Cluster
from abtune.measure.plan import Plan
from abtune.measure.store import Store


class Progress(Protocol):
    """Whoever wants to know how far a sweep is."""

    def begin(self, phase: str, total: int, done: int) -> None:
        """Begin a phase of so many steps, some of them done already."""

    def advance(self, steps: int) -> None:
        """Count steps done."""


@dataclass(slots=True)
class Clock:
    """Knows how long things take here, and so what can still be begun.

    Attributes
    ----------
    limit : float
        Seconds from the start after which all has ended.
    """

    limit: float
    _start: float = field(default_factory=time.monotonic, init=False)
    _took: dict[str, list[float]] = field(default_factory=dict, init=False)

    def left(self) -> float:
        """Return the seconds that are left."""
        return self.limit - (time.monotonic() - self._start)

    def note(self, step: str, seconds: float) -> None:
        """Learn how long a step of an iteration took, without waiting for its turn."""
        self._took.setdefault(step, []).append(seconds)

    def allows(self, step: str, reserve: float) -> bool:
        """Tell whether a step that starts now ends in time, with a reserve for what comes after."""
        typical = statistics.median(self._took[step]) if step in self._took else 0.0
        return self.left() > reserve + typical


@dataclass(slots=True)
class Sitting:
    """What the coroutines of one sweep share."""

    plan: Plan
    store: Store
    cluster: Cluster
    clock: Clock
    progress: Progress
    out_of_time: bool = False

    def reserve(self) -> float:
        """Estimate the seconds that measuring the winners again will take."""
        if math.isinf(self.clock.limit):
            return 0.0
        settings = self.plan.settings
        # Loading and warming up take as long as the timing itself.
        timing = 2 * settings.rounds * settings.repeats * settings.repeat_ms / 1000
        builds = len(self.plan.runs) / self.cluster.searchers
        return min(
            0.4 * self.clock.limit, 20.0 + builds + timing * len(self.plan.runs) / self.cluster.devices
        )


def first_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the error that ended a group of tasks; a stopped cluster cancels the others."""
    errors = [error for error in group.exceptions if not isinstance(error, FutureCancelledError)]
    error = (errors or list(group.exceptions))[0]
    return first_error(error) if isinstance(error, BaseExceptionGroup) else error
