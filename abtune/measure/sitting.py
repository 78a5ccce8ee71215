"""What the coroutines of one sweep share: plan, files, cluster, and how much time is left."""

from __future__ import annotations

import math
import statistics
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from distributed.client import FutureCancelledError

from abtune.measure.cluster import Cluster
from abtune.measure.plan import Plan
from abtune.measure.records import RunRecord
from abtune.measure.store import Store
from abtune.schema import RunStatus

# Seconds for what ends a sitting beside measuring: interrupting, and writing the dataset.
SLACK = 5.0
# Seconds that building a kernel takes as long as none was built.
BUILD_SECONDS = 1.0


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
    _took: dict[str, deque[float]] = field(default_factory=dict, init=False)

    def left(self) -> float:
        """Return the seconds that are left."""
        return self.limit - (time.monotonic() - self._start)

    def note(self, step: str, seconds: float) -> None:
        """Learn how long a step of an iteration took, without waiting for its turn."""
        self._took.setdefault(step, deque(maxlen=99)).append(seconds)

    def allows(self, step: str, reserve: float) -> bool:
        """Tell whether a step that starts now ends in time, with a reserve for what comes after."""
        return self.left() > reserve + self.typical(step, 0.0)

    def typical(self, step: str, unknown: float) -> float:
        """Return how long a step typically takes."""
        return statistics.median(self._took[step]) if step in self._took else unknown


@dataclass(slots=True, kw_only=True)
class Winners:
    """The winners of a shape.

    Attributes
    ----------
    latencies : list of float
        Seconds, by their searches; one for each winner that there is.
    measured, awaited : int
        How many were measured again already, and are still to be searched for.
    """

    latencies: list[float]
    measured: int
    awaited: int

    @property
    def due(self) -> bool:
        """Whether it is worth measuring all again when time is up, and not only when all is done.

        All are measured together, old ones included. Where every sitting did that, it would take the more
        time the more sittings there are; so only if they are half as many again as the last time, or all.
        """
        new = len(self.latencies) - self.measured
        return new > 0 and (2 * new >= self.measured or not self.awaited)


class Sitting:
    """What the coroutines of one sweep share.

    Parameters
    ----------
    plan, store, cluster, clock, progress
        See each.
    """

    def __init__(self, plan: Plan, store: Store, cluster: Cluster, clock: Clock, progress: Progress) -> None:
        self.plan = plan
        self.store = store
        self.cluster = cluster
        self.clock = clock
        self.progress = progress
        self.out_of_time = False
        measured = store.rounds()
        self.winners = {
            shape.label: Winners(
                latencies=[],
                measured=len(measured[shape.label].winners) if shape.label in measured else 0,
                awaited=sum(run.shape == shape and not store.is_finished(run) for run in plan.runs),
            )
            for shape in plan.shapes
        }
        for record in store.records():
            if record.shape in self.winners:
                self._count(record)

    @property
    def runs_left(self) -> int:
        """How many runs are not over."""
        return sum(winners.awaited for winners in self.winners.values())

    def note_record(self, record: RunRecord) -> None:
        """Count a run that is over now."""
        self.winners[record.shape].awaited -= 1
        self._count(record)

    def _count(self, record: RunRecord) -> None:
        if record.status is RunStatus.COMPLETE:
            self.winners[record.shape].latencies.append(record.search_latency)

    def reserve(self) -> float:
        """Estimate the seconds that measuring winners again will take if the searches end now."""
        if math.isinf(self.clock.limit):
            return 0.0
        due = [winners.latencies for winners in self.winners.values() if winners.due]
        return min(SLACK + 1.5 * self.seconds_to_measure(due), 0.4 * self.clock.limit)

    def seconds_to_measure(self, winners: Sequence[Sequence[float]]) -> float:
        """Estimate the seconds to build and measure again winners with these latencies, shape by shape.

        Searches are interrupted for that, and whatever builds the winners has to start anew: on a machine
        with many cores, where all start at once, that takes longer than the rest.
        """
        latencies = [latency for shape in winners for latency in shape]
        if not latencies:
            return 0.0
        settings, start = self.plan.settings, self.clock.typical("start", 0.0)
        # Loading, checking and warming up take as long as the timing itself.
        timing = 2 * settings.rounds * sum(map(settings.round_seconds, latencies))
        build = self.clock.typical("build", BUILD_SECONDS)
        devices = min(self.cluster.devices, max(len(winners), 1))  # a shape is measured on one
        builds = math.ceil(len(latencies) / self.cluster.searchers)
        return start + builds * build + timing / devices


def first_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the error that ended a group of tasks; a stopped cluster cancels the others."""
    errors = [error for error in group.exceptions if not isinstance(error, FutureCancelledError)]
    error = (errors or list(group.exceptions))[0]
    return first_error(error) if isinstance(error, BaseExceptionGroup) else error
