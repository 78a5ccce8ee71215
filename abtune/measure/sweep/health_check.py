"""Checks a machine by a few small kernels, and the configurations that a user wrote.

A missing compiler, a full disk or a lost device fails every run within seconds. A failed run is not tried
again. So a sweep checks the machine before it keeps such failures.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from abtune.configurations import RANDOM, Configuration
from abtune.dataset.schema import TrialStatus
from abtune.errors import TargetError
from abtune.measure.plan.plan import Plan
from abtune.measure.plan.problem import Problem, RunSettings
from abtune.measure.plan.records import Candidate, SearchHistory
from abtune.measure.sweep.candidates import try_candidates
from abtune.measure.workers.cluster import Cluster, Task
from abtune.measure.workers.fork_server import CallFailed, ChildDied, ChildError, with_remedy
from abtune.measure.workers.gathering import gather
from abtune.measure.workers.tasks import in_process, propose, set_up
from abtune.shapes import Gemm, OwnShape, Shape

# The shape of the kernels, and how many of them are tried.
SHAPE = Gemm(m=128, n=128, k=128)
KERNELS = 4
# Schedules that one configuration must be able to take over from the other, at least one of them.
SCHEDULES = 16


class HealthCheck:
    """The health of a machine: checked before anything is kept, and again when much fails."""

    def __init__(self, plan: Plan, cluster: Cluster, note_code: Callable[[Mapping[str, str]], None]) -> None:
        self._plan, self._cluster, self._note_code = plan, cluster, note_code
        self._lock = asyncio.Lock()
        self._begun = -math.inf
        self.passed = asyncio.Event()

    async def run(self) -> None:
        """Try out all configurations, and note what code of the user made."""
        await self.check_programs()
        self._note_code(await try_out(self._plan, self._cluster))
        self.passed.set()

    async def check_programs(self) -> None:
        """Refuse workloads of the user that are other programs than before."""
        own = [shape for shape in self._plan.shapes if isinstance(shape, OwnShape)]
        made = await gather(_set_up(self._cluster, one.label, "program_hash", one) for one in own)
        self._note_code({shape.label: one for shape, one in zip(own, made, strict=True)})

    async def rerun(self) -> None:
        """Try out the machine once more; runs that ask before the trial begins share its result."""
        called = time.monotonic()
        async with self._lock:
            if self._begun >= called:
                return
            self._begun = time.monotonic()
            try:
                await _try_kernels(self._plan.settings, self._cluster, RANDOM)
            except TargetError as error:
                raise TargetError(f"{error}; mend that, and the same command goes on") from None


async def try_out(plan: Plan, cluster: Cluster) -> dict[str, str]:
    """Build and time a few small kernels, which finds a broken compiler or driver in seconds.

    Returns a hash of each design space of the user.
    """
    # All before anything else: a space that hangs would hold every slot, once its searches propose.
    spaces = dict[str, str]()

    async def set_up_search(shape: Shape, config: Configuration) -> None:
        """Set up a search with the user's own code or options: a mistake in them costs seconds."""
        what = shape.label if isinstance(shape, OwnShape) else f"configuration {config.name!r}"
        problem = Problem(shape=shape, config=config, target=plan.settings.target)
        made = await _set_up(cluster, what, "check", problem)
        if config.space_is_foreign:
            spaces[f"the design space of {config.name!r} for {shape.label}"] = made

    await gather(
        set_up_search(shape, config)
        for number, shape in enumerate(plan.shapes)
        for config in plan.configs
        if isinstance(shape, OwnShape)
        or (number == 0 and (config.space_is_foreign or config.strategy_options or config.cost_model))
    )
    for config in plan.configs:
        if not config.space_is_foreign:  # a space of one's own may be made for other workloads
            await _try_kernels(plan.settings, cluster, config)
    if plan.settings.is_shared:
        first, second = plan.configs
        await _try_exchange(plan, cluster, first, second)
        await _try_exchange(plan, cluster, second, first)
    return spaces


@contextlib.contextmanager
def taking_over(config: Configuration) -> Iterator[None]:
    """Name a configuration that fails when it takes over a schedule."""
    try:
        yield
    except CallFailed as error:
        raise TargetError(
            f"configuration {config.name!r} cannot take schedules over: {error}; mend that, and the same "
            "command goes on"
        ) from None


async def _searched(cluster: Cluster, task: Task, *args: Any) -> Any:
    """Return the result of a task of the check; if its process dies, the task is tried once more."""
    # Where memory is short, or the fork server dies, a process may end through no fault of its own.
    try:
        return await cluster.run("search", task, *args, priority=1)
    except ChildDied:
        return await cluster.run("search", task, *args, priority=1)


async def _sample(cluster: Cluster, problem: Problem, count: int) -> Sequence[Candidate]:
    # Sampling takes half a second on a GPU, an evolutionary iteration 85 s (``plan._TYPICAL``).
    config = replace(problem.config, strategy="replay-trace", strategy_options={}, cost_model="")
    sampling = replace(problem, config=config)
    try:
        (candidates, *_), _ = await _searched(cluster, propose, sampling, SearchHistory(), count, 1, 1)
    except ChildError as error:
        raise TargetError(f"this machine cannot tune {config.name!r}: {with_remedy(str(error))}") from None
    return tuple(candidates)


async def _try_exchange(plan: Plan, cluster: Cluster, giver: Configuration, taker: Configuration) -> None:
    # A space of one's own may be made for the workloads of this sweep.
    given = Problem(shape=plan.shapes[0], config=giver, target=plan.settings.target)
    candidates = await _sample(cluster, given, SCHEDULES)
    texts = [candidate.text for candidate in candidates]
    try:
        taken = replace(given, config=taker)
        with taking_over(taker):
            adopted, _ = await _searched(cluster, in_process, "adopt", taken, texts, frozenset(), 1)
    except ChildError as error:
        raise TargetError(f"this machine cannot tune {taker.name!r}: {with_remedy(str(error))}") from None
    if not texts:
        raise TargetError(f"the search of {giver.name!r} proposed nothing for {given.shape.label}")
    if not adopted:
        raise TargetError(
            f"{taker.name!r} can take over no schedule of {giver.name!r}; sweep without --share"
        )


async def _set_up(cluster: Cluster, what: str, function: str, subject: Problem | Shape) -> str:
    """Return the hash that a function gives what it sets up, with code of the user."""
    try:
        return await _searched(cluster, set_up, function, subject)
    except ChildError as error:
        raise TargetError(f"{what} cannot be used: {str(error).removeprefix(f'{function}: ')}") from None


async def _try_kernels(settings: RunSettings, cluster: Cluster, config: Configuration) -> None:
    problem = Problem(shape=SHAPE, config=config, target=settings.target)
    candidates = await _sample(cluster, problem, KERNELS)
    tried = try_candidates(settings, cluster, problem, candidates, priority=1)
    trials = [trial async for some, _ in tried for trial in some]
    if not any(trial.status is TrialStatus.OK for trial in trials):
        reason = trials[-1].message if trials else "the search proposed nothing"
        what = f"build and time kernels of {config.name!r}"
        raise TargetError(f"this machine cannot {what}: {with_remedy(reason)}")
