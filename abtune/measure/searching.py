"""The searches of a sweep: each run a chain of iterations, each of their two steps a file when it ends."""

from __future__ import annotations

import asyncio
import datetime
import math
import socket
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from distributed.scheduler import KilledWorker

from abtune.configurations import RANDOM, Configuration
from abtune.errors import TargetError
from abtune.measure.child import ChildError
from abtune.measure.plan import Plan, Run, Settings, rng_for
from abtune.measure.records import RunRecord
from abtune.measure.sitting import Clock, Sitting, first_error
from abtune.measure.tasks import Batch, Proposal, Timed, build_batch, check, propose, time_batch
from abtune.measure.trials import Candidate, History
from abtune.schema import RunStatus, TrialStatus
from abtune.shapes import Gemm

# A step of a search that dies is tried again; if it was to propose, then with other random numbers.
ATTEMPTS = 3
# Candidates that are built one after the other; the smaller, the better a batch spreads over cores.
CHUNK = 8
# So many failed trials in a row may be the machine's fault.
SUSPICIOUS = 4


class Places(Protocol):
    """Where the tasks of a trial run; a :class:`abtune.measure.cluster.Cluster` is one."""

    async def search(self, task: Callable[..., Any], *args: Any, priority: int) -> Any:
        """Run a task on a core that searches and builds."""

    async def measure(self, task: Callable[..., Any], *args: Any, priority: int) -> Any:
        """Run a task at a device."""


async def try_out(plan: Plan, places: Places, clock: Clock) -> None:
    """Build and time a few small kernels, so that a broken compiler or driver is found in seconds.

    Parameters
    ----------
    plan : Plan
        Whose settings and configurations are tried.
    places : Places
        Where.
    clock : Clock
        Learns how long building takes.

    Raises
    ------
    TargetError
        If none of them works.
    """
    for config in plan.configs:
        if config.space or config.strategy_options:
            await _check(plan, places, config)
        if not config.space:  # it may be made for other workloads
            await _try_out(plan.settings, places, clock, config)


class HealthCheck:
    """Health check of the machine: passed once before anything is kept, repeated when everything fails.

    A compiler that is gone, a full disk or a lost device fails every run in seconds, and a failed run is not
    tried again; so before such failures are kept it is made sure that they are not the machine's.
    """

    def __init__(self, sitting: Sitting) -> None:
        self._sitting = sitting
        self._lock = asyncio.Lock()
        self._begun = -math.inf
        self.passed = asyncio.Event()

    async def run(self) -> None:
        """Try out all configurations."""
        await try_out(self._sitting.plan, self._sitting.cluster, self._sitting.clock)
        self.passed.set()

    async def rerun(self) -> None:
        """Try out the machine once more; whoever asks before a trial begins shares what comes of it.

        Raises
        ------
        TargetError
            If it is not fit any more.
        """
        asked = time.monotonic()
        async with self._lock:
            if self._begun >= asked:
                return
            self._begun = time.monotonic()
            sitting = self._sitting
            try:
                await _try_out(sitting.plan.settings, sitting.cluster, sitting.clock, RANDOM)
            except TargetError as error:
                raise TargetError(f"{error}; mend that, and the same command goes on") from None


async def search_all(sitting: Sitting) -> None:
    """Carry all runs that are left as far as time allows.

    Meanwhile the machine is tried out: searches propose at once, but nothing is kept before it proves fit.

    Raises
    ------
    TargetError
        If it is not.
    """
    plan, store = sitting.plan, sitting.store
    left = [run for run in plan.runs if not store.is_finished(run)]
    trials = plan.settings.trials
    histories = {run.key: store.history(run) for run in left}
    done = (len(plan.runs) - len(left)) * trials
    done += sum(len(history.trials) for history, _ in histories.values())
    sitting.progress.begin("tuning", len(plan.runs) * trials, done)
    # Twice as many runs as places, so that cores search for one half while devices time the other.
    slots = asyncio.Semaphore(2 * sitting.cluster.searchers + sitting.cluster.devices)
    health = HealthCheck(sitting)

    async def one(run: Run, priority: int) -> None:
        async with slots:
            history, started = histories.pop(run.key)
            await _Search(sitting, run, history, started or _now(), priority, health).carry_on()
            if not limit.expired():
                limit.reschedule(_deadline(sitting))

    try:
        async with asyncio.timeout_at(_deadline(sitting)) as limit, asyncio.TaskGroup() as group:
            if left:
                group.create_task(health.run())
            for index, run in enumerate(left):
                group.create_task(one(run, -index))
    except TimeoutError:
        sitting.out_of_time = True
        await sitting.cluster.interrupt()
    except BaseExceptionGroup as group_error:
        raise first_error(group_error) from None


def _deadline(sitting: Sitting) -> float | None:
    """Return the time of the event loop at which searching has to end; None without a limit."""
    left = sitting.clock.left() - sitting.reserve()
    return None if math.isinf(left) else asyncio.get_running_loop().time() + left


async def _check(plan: Plan, places: Places, config: Configuration) -> None:
    """Set up a search with what is the user's own, so that a mistake there costs seconds and no runs."""
    try:
        await places.search(check, plan.shapes[0], config, plan.settings.target, priority=1)
    except ChildError as error:
        raise TargetError(f"configuration {config.name!r} cannot be used: {error}") from None


async def _try_out(settings: Settings, places: Places, clock: Clock, config: Configuration) -> None:
    sampling = replace(config, strategy="replay-trace", strategy_options={})
    run = Run(shape=Gemm(m=128, n=128, k=128), config=sampling, seed=0)
    try:
        proposal = await places.search(propose, run, settings, History.empty(), 4, 1, 1, priority=1)
        tried = _try(settings, places, clock, run, proposal.candidates, priority=1)
        parts = [part async for part in tried]
    except ChildError as error:
        raise TargetError(f"this machine cannot tune {config.name!r}: {error}") from None
    trials = [trial for part in parts for trial in part.trials]
    if not any(trial.status is TrialStatus.OK for trial in trials):
        reason = trials[-1].message if trials else "the search proposed nothing"
        raise TargetError(f"this machine cannot build and time kernels of {config.name!r}: {reason}")


@dataclass(slots=True)
class _Search:
    """One run on its way."""

    sitting: Sitting
    run: Run
    history: History
    started: str
    priority: int
    health: HealthCheck

    async def carry_on(self) -> None:
        """Search to the end, or as far as time allows."""
        failures = 0  # of the step at hand
        while not self.history.is_over(self.sitting.plan.settings.trials):
            kind = "try" if self.history.pending else "propose"
            if not self.sitting.clock.allows(f"{kind} {self.run.config.name}", self.sitting.reserve()):
                self.sitting.out_of_time = True
                return
            try:
                longer = await (self._propose(failures) if kind == "propose" else self._try())
            except (ChildError, KilledWorker) as error:
                failures += 1
                if failures < ATTEMPTS:
                    continue
                await self._prove(broken=True)
                self._finish(f"the search could not {kind} candidates, {ATTEMPTS} times: {error}")
                return
            failures = 0
            await self._prove(broken=self._looks_broken(longer))
            self._keep(longer)
        self._finish("")

    async def _prove(self, *, broken: bool) -> None:
        """Wait until the machine has proved fit, and have it do so again if it may have broken since."""
        if not self.health.passed.is_set():
            await self.health.passed.wait()
        elif broken:
            await self.health.rerun()

    def _looks_broken(self, longer: History) -> bool:
        """Tell whether the last candidates failed, one and all."""
        recent = longer.trials[-SUSPICIOUS:]
        failed = all(trial.status is not TrialStatus.OK for trial in recent)
        return failed and len(longer.trials) > len(self.history.trials)

    async def _propose(self, attempt: int) -> History:
        """Take the first step of an iteration; one that finds nothing new is over with it."""
        settings, history = self.sitting.plan.settings, self.history
        count = min(settings.trials_per_iteration, settings.trials - len(history.trials))
        threads = self.sitting.cluster.threads(self.sitting.runs_left)
        arguments = (self.run, settings, history, count, self._rng_seed(attempt), threads)
        proposal: Proposal = await self.sitting.cluster.search(propose, *arguments, priority=self.priority)
        self.sitting.clock.note(f"propose {self.run.config.name}", proposal.seconds)
        longer = history.proposed(
            proposal.candidates,
            cost_model=proposal.cost_model,
            seconds=proposal.seconds * proposal.threads,
        )
        return longer if longer.pending else longer.tried((), seconds=0.0)

    def _rng_seed(self, attempt: int) -> int:
        run, iteration = self.run, self.history.iterations
        root = self.sitting.plan.settings.rng_seed
        rng = rng_for(root, run.shape.label, run.config.name, run.seed, iteration, attempt)
        return int(rng.integers(1, 2**31 - 1))

    async def _try(self) -> History:
        """Take the second step of an iteration: build and time what was proposed."""
        history, sitting = self.history, self.sitting
        settings, clock = sitting.plan.settings, sitting.clock
        try:
            async for part in _try(
                settings, sitting.cluster, clock, self.run, history.pending, priority=self.priority
            ):
                clock.note(f"try {self.run.config.name}", part.seconds)
                history = history.tried(part.trials, seconds=part.seconds)
        except (asyncio.CancelledError, ChildError, KilledWorker):  # what is tried is tried
            kept = history is not self.history and not self._looks_broken(history)
            if kept and self.health.passed.is_set():
                self._keep(history)
            raise
        return history

    def _keep(self, history: History) -> None:
        self.sitting.store.save_history(self.run, history, self.started)
        self.sitting.progress.advance(len(history.trials) - len(self.history.trials))
        self.history = history

    def _finish(self, failure: str) -> None:
        record = _record(self.run, self.history, self.started, failure=failure)
        self.sitting.store.save_record(self.run, record)
        self.sitting.note_record(record)
        self.sitting.progress.advance(self.sitting.plan.settings.trials - len(self.history.trials))


async def _try(
    settings: Settings,
    places: Places,
    clock: Clock,
    run: Run,
    candidates: Sequence[Candidate],
    *,
    priority: int,
) -> AsyncIterator[Timed]:
    """Build and time candidates in chunks, which spread over idle cores and devices; the order is kept."""

    async def one(chunk: Sequence[Candidate]) -> Timed:
        batch: Batch = await places.search(build_batch, run, settings, chunk, priority=priority)
        clock.note("build", batch.seconds / len(chunk))
        if batch.started_in >= 0:
            clock.note("start", batch.started_in)
        timed: Timed = await places.measure(time_batch, run.shape, settings, batch, priority=priority)
        return timed

    chunks = [candidates[start : start + CHUNK] for start in range(0, len(candidates), CHUNK)]
    tasks = [asyncio.create_task(one(chunk)) for chunk in chunks]
    try:
        for task in tasks:
            yield await task
    finally:
        for task in tasks:
            task.cancel()


def _record(run: Run, history: History, started: str, *, failure: str) -> RunRecord:
    winner = None if failure else history.winner  # that of a part of the trials would pass for one of all
    if winner is None and not failure:
        reasons = [trial.message for trial in history.trials if trial.message] or ["the search found nothing"]
        failure = f"no candidate could be timed; the last: {reasons[-1]}"
    return RunRecord(
        shape=run.shape.label,
        config=run.config.name,
        seed=run.seed,
        status=RunStatus.FAILED if failure else RunStatus.COMPLETE,
        failure=failure,
        search_latency=winner.latency if winner else math.nan,
        trial_latency=[trial.latency for trial in history.trials],
        trial_status=[trial.status for trial in history.trials],
        winner=winner.candidate.record if winner else None,
        tuning_time=history.seconds,
        started=started,
        finished=_now(),
        host=socket.gethostname(),
    )


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).replace(tzinfo=None).isoformat(timespec="milliseconds")
