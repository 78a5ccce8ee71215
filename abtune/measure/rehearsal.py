"""A sweep's own trial, watched: a few small kernels are proposed, built and timed, and each step is timed."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from abtune.errors import AbtuneError
from abtune.measure.cluster import open_cluster
from abtune.measure.fitness import Finding, ok, problem
from abtune.measure.plan import Plan
from abtune.measure.searching import Places, try_out
from abtune.measure.sitting import Clock
from abtune.measure.store import Store
from abtune.measure.target import TargetFacts

# A trial takes seconds; minutes where all cores are busy.
TRIAL_LIMIT = 300.0


class _Watched:
    """Places that note how long each of their tasks took."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self.seconds: dict[str, float] = {}

    async def search(self, task: Callable[..., Any], *args: Any, priority: int) -> Any:
        """Run a task on a core."""
        return await self._timed(self._places.search, task, args, priority)

    async def measure(self, task: Callable[..., Any], *args: Any, priority: int) -> Any:
        """Run a task at a device."""
        return await self._timed(self._places.measure, task, args, priority)

    async def _timed(self, run: Any, task: Any, args: Sequence[Any], priority: int) -> Any:
        started = time.monotonic()
        try:
            return await run(task, *args, priority=priority)
        finally:
            name = task.__name__
            self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - started


# The tasks of a trial, as try_out runs them, and what they are called here.
_STEPS = {"propose": "propose", "build_batch": "build", "time_batch": "time"}


def check_trial(plan: Plan, facts: TargetFacts, store: Store) -> Finding:
    """Propose, build and time a few kernels just as a sweep does before it begins.

    Parameters
    ----------
    plan : Plan
        What a sweep would do.
    facts : TargetFacts
        The target; the first of its devices is tried.
    store : Store
        Where a sweep would keep its runs; what is there is read, and nothing is written.
    """
    started = time.monotonic()
    try:
        store.rounds()  # a sweep reads what it goes on with, and ends where that is damaged
        store.records()
        seconds = asyncio.run(_try(plan, facts))
    except AbtuneError as error:
        return problem("trial", str(error), "a sweep would end like this; the line says where")
    except TimeoutError:
        said = f"no kernel was timed within {TRIAL_LIMIT:.0f} s"
        return problem("trial", said, "is the machine busy, or swapping?")
    steps = ", ".join(f"{_STEPS.get(name, name)} {took:.1f} s" for name, took in seconds.items())
    whole = time.monotonic() - started
    configs = " and ".join(config.name for config in plan.configs)
    return ok("trial", f"kernels of {configs} were built and timed in {whole:.1f} s: {steps}")


async def _try(plan: Plan, facts: TargetFacts) -> dict[str, float]:
    began = time.monotonic()
    one = replace(facts, devices=facts.devices[:1])  # each device would start several processes
    async with asyncio.timeout(TRIAL_LIMIT), open_cluster(one, scheduler="", cores=1) as cluster:
        watched = _Watched(cluster)
        watched.seconds["start"] = time.monotonic() - began
        try:
            await try_out(plan, watched, Clock(math.inf))
        except asyncio.CancelledError:
            await cluster.interrupt()
            raise
    return watched.seconds
