"""Carries out a plan: searches side by side, then all winners measured again, then the dataset.

Every run is a chain of iterations, and every iteration ends in a file. So stopping, for whatever reason,
loses at most the iterations in flight, and the same call goes on from the files.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import math
import signal
import socket
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import xarray as xr
from distributed.client import FutureCancelledError
from distributed.scheduler import KilledWorker

from abtune.datasets import save_dataset
from abtune.errors import TargetError
from abtune.measure.assemble import assemble
from abtune.measure.cluster import Cluster, open_cluster
from abtune.measure.crew import (
    Batch,
    Proposal,
    Timed,
    Winner,
    build_batch,
    build_winner,
    propose,
    time_batch,
    time_winners,
)
from abtune.measure.plan import Plan, Run, rng_for
from abtune.measure.servant import ServantError
from abtune.measure.store import Rounds, RunRecord, Store
from abtune.measure.target import TargetFacts
from abtune.measure.trials import Candidate, History
from abtune.schema import RunStatus, TrialStatus
from abtune.shapes import Gemm

# A search that dies is tried again from its last iteration with other random numbers.
ATTEMPTS = 3
# Candidates that are built one after the other; the smaller, the better a batch spreads over cores.
CHUNK = 8


class Progress(Protocol):
    """Whoever wants to know how far a sweep is."""

    def begin(self, phase: str, total: int, done: int) -> None:
        """Begin a phase of so many steps, some of them done already."""

    def advance(self, steps: int) -> None:
        """Count steps done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a sweep ended.

    Attributes
    ----------
    dataset : xarray.Dataset
        Everything that is done, also earlier.
    finished : int
        Runs of the plan that are done.
    stopped : str
        Why the sweep ended before its plan did; empty if it did not.
    """

    dataset: xr.Dataset
    finished: int
    stopped: str


def sweep(
    plan: Plan,
    facts: TargetFacts,
    store: Store,
    *,
    about: dict[str, Any],
    scheduler: str,
    cores: int,
    time_limit: float,
    progress: Progress,
) -> Outcome:
    """Carry out what is left of a plan and write the dataset.

    Parameters
    ----------
    plan : Plan
        What to do.
    facts : TargetFacts
        What to tune for.
    store : Store
        Where runs are kept and the dataset goes.
    about : dict
        Facts about this sitting, for the dataset's attributes.
    scheduler : str
        Address of a dask scheduler; empty for this machine alone.
    cores : int
        Cores of this machine that search.
    time_limit : float
        Seconds after which the sweep has ended, with a dataset of what is done; infinite for no limit.
    progress : Progress
        Told of every step.

    Raises
    ------
    StoreError
        If the files cannot be written, or belong to another sweep.
    TargetError
        If there is no cluster.
    KeyboardInterrupt
        After the dataset of what is done was written.
    """
    with store.opened(plan, about):
        stopped = ""
        try:
            stopped = asyncio.run(
                _carry_out(plan, facts, store, scheduler, cores, Clock(time_limit), progress)
            )
        finally:
            dataset = assemble(plan, store)
            if store.has_work:  # a machine that is not fit leaves no dataset
                save_dataset(dataset, store.dataset)
        finished = sum(store.is_finished(run) for run in plan.runs)
        return Outcome(dataset=dataset, finished=finished, stopped=stopped)


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
    _iterations: list[float] = field(default_factory=list, init=False)

    def left(self) -> float:
        """Return the seconds that are left."""
        return self.limit - (time.monotonic() - self._start)

    def note_iteration(self, seconds: float) -> None:
        """Learn how long an iteration took, without waiting for its turn."""
        self._iterations.append(seconds)

    def allows_iteration(self, reserve: float) -> bool:
        """Tell whether an iteration that starts now ends in time, with a reserve for what comes after."""
        typical = statistics.median(self._iterations) if self._iterations else 0.0
        return self.left() > reserve + typical


@dataclass(slots=True)
class _Sitting:
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


async def _carry_out(
    plan: Plan, facts: TargetFacts, store: Store, scheduler: str, cores: int, clock: Clock, progress: Progress
) -> str:
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    if task is not None:
        with contextlib.suppress(RuntimeError, ValueError):  # only the main thread can
            loop.add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        async with open_cluster(facts, scheduler=scheduler, cores=cores) as cluster:
            sitting = _Sitting(plan, store, cluster, clock, progress)
            if not all(store.is_finished(run) for run in plan.runs):
                await _try_out(sitting)
            await _search_all(sitting)
            await _measure_all(sitting)
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    return "the time limit" if sitting.out_of_time else ""


async def _try_out(sitting: _Sitting) -> None:
    """Build and time a few small kernels, so that a broken compiler or driver is found in seconds.

    Raises
    ------
    TargetError
        If none of them works.
    """
    plan = sitting.plan
    for config in plan.configs:
        if config.space:  # it may be made for other workloads
            continue
        sampling = replace(config, strategy="replay-trace", strategy_options={})
        run = Run(shape=Gemm(m=128, n=128, k=128), config=sampling, seed=0)
        arguments = (run, plan.settings, History.empty(), 4, 1)
        try:
            proposal = await sitting.cluster.search(propose, *arguments, priority=1)
            parts = await _try(sitting, run, proposal.candidates, 1)
        except ServantError as error:
            raise TargetError(f"this machine cannot tune {config.name!r}: {error}") from None
        trials = [trial for part in parts for trial in part.trials]
        if not any(trial.status is TrialStatus.OK for trial in trials):
            reason = trials[-1].message if trials else "the search proposed nothing"
            raise TargetError(f"this machine cannot build and time kernels of {config.name!r}: {reason}")


# --- searching --------------------------------------------------------------------------------------


async def _search_all(sitting: _Sitting) -> None:
    plan, store = sitting.plan, sitting.store
    left = [run for run in plan.runs if not store.is_finished(run)]
    trials = plan.settings.trials
    histories = {run.key: store.history(run) for run in left}
    done = (len(plan.runs) - len(left)) * trials
    done += sum(len(history.trials) for history, _ in histories.values())
    sitting.progress.begin("tuning", len(plan.runs) * trials, done)
    # A few more runs than places, so that cores search while other runs wait for a device.
    slots = asyncio.Semaphore(sitting.cluster.searchers + sitting.cluster.devices + 1)

    async def one(run: Run, priority: int) -> None:
        async with slots:
            history, started = histories.pop(run.key)
            await _search(sitting, run, history, started or _now(), priority)

    try:
        async with asyncio.timeout(max(0.0, sitting.clock.left() - sitting.reserve()) if left else None):
            async with asyncio.TaskGroup() as group:
                for index, run in enumerate(left):
                    group.create_task(one(run, -index))
    except TimeoutError:
        sitting.out_of_time = True
        await sitting.cluster.interrupt()
    except BaseExceptionGroup as group_error:
        raise _first(group_error) from None


async def _search(sitting: _Sitting, run: Run, history: History, started: str, priority: int) -> None:
    """Carry one run to its end, or as far as time allows."""
    settings = sitting.plan.settings
    while not history.is_over(settings.trials):
        if not sitting.clock.allows_iteration(sitting.reserve()):
            sitting.out_of_time = True
            return
        try:
            longer = await _iterate(sitting, run, history, priority)
        except (ServantError, KilledWorker) as error:
            record = _record(run, history, started, failure=f"the search failed {ATTEMPTS} times: {error}")
            sitting.store.save_record(run, record)
            sitting.progress.advance(settings.trials - len(history.trials))
            return
        sitting.clock.note_iteration(longer.seconds - history.seconds)
        sitting.store.save_history(run, longer, started)
        sitting.progress.advance(len(longer.trials) - len(history.trials))
        history = longer
    sitting.store.save_record(run, _record(run, history, started, failure=""))
    sitting.progress.advance(settings.trials - len(history.trials))


async def _iterate(sitting: _Sitting, run: Run, history: History, priority: int) -> History:
    settings = sitting.plan.settings
    count = min(settings.trials_per_iteration, settings.trials - len(history.trials))
    for attempt in range(ATTEMPTS):
        rng = rng_for(
            settings.rng_seed, run.shape.label, run.config.name, run.seed, history.iterations, attempt
        )
        rng_seed = int(rng.integers(1, 2**31 - 1))
        try:
            proposal: Proposal = await sitting.cluster.search(
                propose, run, settings, history, count, rng_seed, priority=priority
            )
            parts = await _try(sitting, run, proposal.candidates, priority)
        except (ServantError, KilledWorker):
            if attempt == ATTEMPTS - 1:
                raise
        else:
            return history.extended(
                tuple(trial for part in parts for trial in part.trials),
                cost_model=proposal.cost_model,
                seconds=proposal.seconds + sum(part.seconds for part in parts),
            )
    raise AssertionError("unreachable: the last attempt returns or raises")


async def _try(
    sitting: _Sitting, run: Run, candidates: Sequence[Candidate], priority: int
) -> Sequence[Timed]:
    """Build and time candidates in chunks, which spread over idle cores and devices; the order is kept."""
    settings, cluster = sitting.plan.settings, sitting.cluster

    async def one(chunk: Sequence[Candidate]) -> Timed:
        batch: Batch = await cluster.search(build_batch, run, settings, chunk, priority=priority)
        timed: Timed = await cluster.measure(time_batch, run.shape, settings, batch, priority=priority)
        return timed

    chunks = [candidates[start : start + CHUNK] for start in range(0, len(candidates), CHUNK)]
    return await asyncio.gather(*(one(chunk) for chunk in chunks))


def _record(run: Run, history: History, started: str, *, failure: str) -> RunRecord:
    winner = history.winner
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


# --- measuring the winners again ----------------------------------------------------------------------


async def _measure_all(sitting: _Sitting) -> None:
    """Measure again, together, the winners of every shape that has new ones."""
    complete: dict[str, list[RunRecord]] = {shape.label: [] for shape in sitting.plan.shapes}
    for record in sitting.store.records():
        if record.status is RunStatus.COMPLETE and record.shape in complete:
            complete[record.shape].append(record)
    measured = sitting.store.rounds()
    stale = {
        label: records
        for label, records in complete.items()
        if records and _cells(records) != _measured_cells(measured.get(label))
    }
    total = sum(len(records) for records in complete.values())
    sitting.progress.begin("re-measuring", total, total - sum(len(records) for records in stale.values()))
    try:
        async with asyncio.TaskGroup() as group:
            for index, records in enumerate(stale.values()):
                group.create_task(_measure(sitting, records, -index))
    except BaseExceptionGroup as group_error:
        raise _first(group_error) from None


async def _measure(sitting: _Sitting, records: Sequence[RunRecord], priority: int) -> None:
    settings, cluster = sitting.plan.settings, sitting.cluster
    jobs = [(_run_of(record, sitting.plan), record.winner) for record in records]
    built = await asyncio.gather(
        *(cluster.search(build_winner, run, settings, winner, priority=priority) for run, winner in jobs)
    )
    winners = [entry for entry in built if isinstance(entry, Winner)]
    lost = tuple(entry for entry in built if not isinstance(entry, Winner))
    shape = jobs[0][0].shape
    rng_seed = int(rng_for(settings.rng_seed, "rounds", shape.label).integers(2**31))
    rounds: Rounds = await cluster.measure(
        time_winners, shape, settings, winners, rng_seed, priority=priority
    )
    together = Rounds(
        shape=rounds.shape, device=rounds.device, host=rounds.host, winners=rounds.winners + lost
    )
    sitting.store.save_rounds(together)
    sitting.progress.advance(len(records))


def _run_of(record: RunRecord, plan: Plan) -> Run:
    """Return the run of a record; its seed may be one of an earlier plan with more seeds."""
    shape = next(shape for shape in plan.shapes if shape.label == record.shape)
    config = next(config for config in plan.configs if config.name == record.config)
    return Run(shape=shape, config=config, seed=record.seed)


def _cells(records: Sequence[RunRecord]) -> set[tuple[str, int]]:
    return {(record.config, record.seed) for record in records}


def _measured_cells(rounds: Rounds | None) -> set[tuple[str, int]]:
    return {(winner.config, winner.seed) for winner in rounds.winners} if rounds else set()


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the error that ended a group of tasks; a stopped cluster cancels the others."""
    errors = [error for error in group.exceptions if not isinstance(error, FutureCancelledError)]
    error = (errors or list(group.exceptions))[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).replace(tzinfo=None).isoformat(timespec="milliseconds")
