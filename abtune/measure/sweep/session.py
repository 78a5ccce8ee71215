"""The state that the coroutines of one session share: plan, files, cluster, and the time that is left."""

from __future__ import annotations

import asyncio
import math
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Protocol

from abtune.dataset.schema import RunStatus
from abtune.measure.plan.plan import Plan
from abtune.measure.plan.records import RunRecord, with_transfers
from abtune.measure.store.store import Store
from abtune.measure.sweep.health_check import HealthCheck
from abtune.measure.workers.cluster import Cluster
from abtune.text import count, percent, span

# Seconds at the end of a session for interrupting the workers and writing the dataset.
SLACK = 5.0
# Seconds that building a kernel takes, before any was built here.
BUILD_SECONDS = 1.0
# Re-measuring that takes at most this share of a session is worth it for any new winner.
QUICK_SHARE = 0.1
# Seconds after which a sweep tells that nothing has finished, and between two looks at that.
QUIET = 900.0
QUIET_INTERVAL = 30.0


class Progress(Protocol):
    """A display of how far a sweep is."""

    def begin(self, phase: str, total: int, done: int) -> None:
        """Begin a phase of `total` steps, `done` of them before this session."""

    def advance(self, steps: int) -> None:
        """Count steps that were done just now."""

    def tell(self, news: str) -> None:
        """Show what the finished runs say so far, in place of the last news."""

    def warn(self, line: str) -> None:
        """Show a line at once; it stays."""


class Session:
    """The state that the coroutines of one session share."""

    def __init__(self, plan: Plan, store: Store, cluster: Cluster, end: float, progress: Progress) -> None:
        self.plan = plan
        self.store = store
        self.cluster = cluster
        self.health = HealthCheck(plan, cluster, store.note_code)
        self._end = end  # of the monotonic clock
        self._length = self.time_left()
        self.progress = progress
        self.out_of_time = False
        self.has_kept = False  # whether any step of a search, or any timings, were kept
        self.repeated = 0  # iterations that were searched twice, the second time as stock MetaSchedule
        measured = store.rounds()
        self.transfer = with_transfers(measured.values(), planned=plan.transfer)
        self._measured = {label: len(rounds.winners) for label, rounds in measured.items()}
        self._left = Counter(run.shape.label for run in plan.runs if not store.is_finished(run))
        # latencies of winners as their searches timed them, seconds, by shape and configuration
        self._winners: dict[tuple[str, str], list[float]] = defaultdict(list)
        for record in store.records():
            self._note_winner(record)
        self._failed = 0
        self._moved = time.monotonic()  # when the last step was kept

    @property
    def runs_left(self) -> int:
        """Number of runs that are not over."""
        return self._left.total()

    def note_record(self, record: RunRecord) -> None:
        """Count a run that is over; tell failures, and mean boosts over shapes with two winners of both."""
        self._left[record.shape] -= 1
        self._note_winner(record)
        self._failed += record.status is RunStatus.FAILED
        news = [f"{count(self._failed, 'run')} failed"] if self._failed else []
        for candidate in self.plan.configs[1:]:
            boost, compared = self._mean_boost(candidate.name)
            if compared:
                gain, shapes = percent(boost, signed=True), count(compared, "shape")
                news.append(f"{candidate.name} {gain} over {shapes}, not final")
        self.progress.tell("; ".join(news))

    def _note_winner(self, record: RunRecord) -> None:
        if record.status is RunStatus.COMPLETE:
            self._winners[record.shape, record.config].append(record.search_latency)

    def _mean_boost(self, candidate: str) -> tuple[float, int]:
        """Return the mean boost over the shapes with two winners of both, a fraction, and their number."""
        sides = self.plan.configs[0].name, candidate
        pairs = ([self._winners[shape.label, side] for side in sides] for shape in self.plan.shapes)
        ratios = [
            statistics.geometric_mean(old) / statistics.geometric_mean(new)
            for old, new in pairs
            if min(len(old), len(new)) >= 2
        ]
        return statistics.geometric_mean(ratios) - 1 if ratios else math.nan, len(ratios)

    def advance(self, steps: int) -> None:
        """Count steps whose result was kept just now."""
        self.has_kept = True
        self._moved = time.monotonic()
        self.progress.advance(steps)

    async def watch(self) -> None:
        """Tell when nothing has finished for long, once for each such time."""
        told = -math.inf
        while True:
            await asyncio.sleep(QUIET_INTERVAL)
            quiet = time.monotonic() - self._moved
            if quiet >= QUIET and told < self._moved:
                told = self._moved
                self.progress.warn(
                    f"nothing has finished for {span(quiet)}: a design space or a compiler may hang; "
                    "Ctrl-C ends the sweep and keeps what is done"
                )

    def time_left(self) -> float:
        """Return the seconds that are left."""
        return self._end - time.monotonic()

    def _latencies(self, label: str) -> list[float]:
        """Return the seconds of each winner of a shape, by their searches."""
        return [latency for config in self.plan.configs for latency in self._winners[label, config.name]]

    def due(self) -> set[str]:
        """Return the shapes to re-measure when time is up, although runs are left."""
        winners = {shape.label: self._latencies(shape.label) for shape in self.plan.shapes}
        new = {label: len(of_shape) - self._measured.get(label, 0) for label, of_shape in winners.items()}
        # Old winners are measured again, too. So it is due when winners have grown by half, when all are in,
        # or when it is quick.
        is_quick = self.seconds_to_measure([*winners.values()]) <= QUICK_SHARE * self._length
        return {
            label
            for label, more in new.items()
            if more > 0 and (is_quick or 2 * more >= self._measured.get(label, 0) or not self._left[label])
        }

    def reserve(self) -> float:
        """Return the estimated seconds for re-measuring winners if the searches end now."""
        due = [self._latencies(label) for label in self.due()]
        # Estimates err, so half as much again. But most of a session is for its searches.
        return min(SLACK + 1.5 * self.seconds_to_measure(due), 0.4 * self._length)

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
