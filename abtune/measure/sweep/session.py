"""The state that the coroutines of one session share: plan, files, cluster, and the time that is left."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from distributed.client import FutureCancelledError

from abtune.dataset.schema import RunStatus
from abtune.measure.plan.plan import Plan
from abtune.measure.plan.records import RunRecord, with_transfers
from abtune.measure.store.state import mean_boost
from abtune.measure.store.store import Store
from abtune.measure.workers.cluster import Cluster
from abtune.text import count, percent

# Seconds at the end of a session for interrupting the workers and writing the dataset.
SLACK = 5.0
# Seconds that building a kernel takes, before any was built here.
BUILD_SECONDS = 1.0


class Progress(Protocol):
    """A display of how far a sweep is."""

    def begin(self, phase: str, total: int, done: int) -> None:
        """Begin a phase of `total` steps, `done` of them before this session."""

    def advance(self, steps: int) -> None:
        """Count steps that were done just now."""

    def tell(self, news: str) -> None:
        """Show what the finished runs say so far, in place of the last news."""


@dataclass(slots=True)
class Clock:
    """The time that is left of a session."""

    limit: float  # seconds from the start after which the session must have ended
    _start: float = field(default_factory=time.monotonic, init=False)

    def left(self) -> float:
        """Return the seconds that are left."""
        return self.limit - (time.monotonic() - self._start)


@dataclass(slots=True, kw_only=True)
class Winners:
    """The winners of a shape."""

    latencies: list[float]  # seconds, by their searches; one for each winner that there is
    measured: int  # number of winners that were re-measured already
    awaited: int  # number of runs that are not over

    @property
    def due(self) -> bool:
        """Whether to re-measure this shape when time is up, although runs are left."""
        # Re-measuring includes the old winners, so it would get slower with every session. It is due when the
        # winners have grown by half, or when all are in.
        new = len(self.latencies) - self.measured
        return new > 0 and (2 * new >= self.measured or not self.awaited)


class Session:
    """The state that the coroutines of one session share."""

    def __init__(self, plan: Plan, store: Store, cluster: Cluster, clock: Clock, progress: Progress) -> None:
        self.plan = plan
        self.store = store
        self.cluster = cluster
        self.clock = clock
        self.progress = progress
        self.out_of_time = False
        self.repeated = 0  # iterations that were searched twice, as Proposal tells
        measured = store.rounds()
        self.transfer = with_transfers(measured.values(), planned=plan.transfer)
        self.winners = {
            shape.label: Winners(
                latencies=[],
                measured=len(measured[shape.label].winners) if shape.label in measured else 0,
                awaited=sum(run.shape == shape and not store.is_finished(run) for run in plan.runs),
            )
            for shape in plan.shapes
        }
        self._logs: dict[tuple[str, str], list[float]] = {}  # latencies by shape and configuration
        for record in store.records():
            if record.shape in self.winners:
                self._count(record)

    @property
    def runs_left(self) -> int:
        """Number of runs that are not over."""
        return sum(winners.awaited for winners in self.winners.values())

    def note_record(self, record: RunRecord) -> None:
        """Count a run that is over now."""
        self.winners[record.shape].awaited -= 1
        self._count(record)
        self.progress.tell(self._boost_so_far())

    def _count(self, record: RunRecord) -> None:
        if record.status is RunStatus.COMPLETE:
            self.winners[record.shape].latencies.append(record.search_latency)
            self._logs.setdefault((record.shape, record.config), []).append(math.log(record.search_latency))

    def _boost_so_far(self) -> str:
        """Return the mean boost over the shapes that have two winners of both; empty without one."""
        configs = [config.name for config in self.plan.configs]
        boost, compared = mean_boost(self._logs, self.winners, configs)
        if not compared:
            return ""
        return f"{configs[-1]} {percent(boost, signed=True)} over {count(compared, 'shape')}, not final"

    def reserve(self) -> float:
        """Return the estimated seconds for re-measuring winners if the searches end now."""
        due = [winners.latencies for winners in self.winners.values() if winners.due]
        # Estimates err, so half as much again. But most of a session is for its searches.
        return min(SLACK + 1.5 * self.seconds_to_measure(due), 0.4 * self.clock.limit)

    def seconds_to_measure(self, winners: Sequence[Sequence[float]]) -> float:
        """Return the estimated seconds to build and re-measure winners with these latencies."""
        kernels = len(self.plan.configs) if self.transfer else 1
        latencies = [latency for shape in winners for latency in shape] * kernels
        if not latencies:
            return 0.0
        timing = sum(map(self.plan.settings.winner_seconds, latencies))
        devices = min(self.cluster.devices, len(winners))  # a shape is measured on one
        builds = math.ceil(len(latencies) / self.cluster.searchers)
        return builds * statistics.median(self.cluster.builds or [BUILD_SECONDS]) + timing / devices


def first_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the error that ended a group of tasks; the cancellations that followed it do not count."""
    errors = [error for error in group.exceptions if not isinstance(error, FutureCancelledError)]
    error = (errors or list(group.exceptions))[0]
    return first_error(error) if isinstance(error, BaseExceptionGroup) else error
