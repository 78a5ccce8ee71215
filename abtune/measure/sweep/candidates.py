"""Builds and times the candidates of a search, chunk by chunk."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence

from abtune.measure.plan.problem import Problem, RunSettings
from abtune.measure.plan.records import Candidate, Trial
from abtune.measure.workers.cluster import Cluster
from abtune.measure.workers.tasks import build_batch, time_batch

# A search with one core builds this many candidates in a row. With more cores, chunks are smaller.
CHUNK = 8


async def try_candidates(
    settings: RunSettings,
    cluster: Cluster,
    problem: Problem,
    candidates: Sequence[Candidate],
    *,
    priority: int,
    cores: int = 1,
) -> AsyncGenerator[tuple[tuple[Trial, ...], float], None]:
    """Yield the trials of candidates and their seconds, chunk by chunk; this search has `cores` to itself."""
    size = max(1, CHUNK // cores)

    async def try_chunk(start: int) -> tuple[tuple[Trial, ...], float]:
        chunk = candidates[start : start + size]
        build = (problem, chunk, settings.build_timeout)
        # The first chunk goes first. Priorities of runs are whole numbers, so none comes in between.
        later = start / len(candidates)
        trials, building, timing = await cluster.search_and_measure(
            build_batch, build, time_batch, settings, priority=priority - later
        )
        cluster.builds.append(building / len(chunk))
        return trials, building + timing

    tasks = [asyncio.create_task(try_chunk(start)) for start in range(0, len(candidates), size)]
    try:
        for task in tasks:
            yield await task
    finally:
        for task in tasks:
            task.cancel()
