"""Candidates built and timed in chunks, which spread over idle cores and devices."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Protocol

from abtune.measure.plan.problem import Problem
from abtune.measure.plan.sweep_settings import Settings
from abtune.measure.plan.trials import Candidate
from abtune.measure.sweep.session import Clock
from abtune.measure.workers.tasks import Batch, Timed, build_batch, time_batch

# Candidates that are built one after the other. Smaller chunks spread a batch better over cores.
CHUNK = 8


class Places(Protocol):
    """Where tasks run; a :class:`abtune.measure.workers.cluster.Cluster` is one."""

    async def search(self, task: Callable[..., Any], *args: Any, priority: int) -> Any:
        """Return the result of a task on a core that searches and builds."""

    async def measure(self, task: Callable[..., Any], *args: Any, priority: int) -> Any:
        """Return the result of a task at a device."""


async def try_candidates(
    settings: Settings,
    places: Places,
    clock: Clock,
    problem: Problem,
    candidates: Sequence[Candidate],
    *,
    priority: int,
) -> AsyncIterator[Timed]:
    """Yield the trials of candidates chunk by chunk, in the order of the candidates."""

    async def try_chunk(chunk: Sequence[Candidate]) -> Timed:
        batch: Batch = await places.search(
            build_batch, problem, chunk, settings.build_timeout, priority=priority
        )
        clock.note("build", batch.seconds / len(chunk))
        if batch.started_in >= 0:  # False if it is unknown
            clock.note("start", batch.started_in)
        timed: Timed = await places.measure(time_batch, settings, batch, priority=priority)
        return timed

    chunks = [candidates[start : start + CHUNK] for start in range(0, len(candidates), CHUNK)]
    tasks = [asyncio.create_task(try_chunk(chunk)) for chunk in chunks]
    try:
        for task in tasks:
            yield await task
    finally:
        for task in tasks:
            task.cancel()
