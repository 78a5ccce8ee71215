"""The searches of a sweep: each run a chain of iterations, each of their two steps a file when it ends."""

from __future__ import annotations

import asyncio
import datetime
import math
import socket
from collections.abc import Sequence
from dataclasses import replace

from distributed.scheduler import KilledWorker

from abtune.errors import TargetError
from abtune.measure.crew import Batch, Proposal, Timed, build_batch, propose, time_batch
from abtune.measure.plan import Run, rng_for
from abtune.measure.records import RunRecord
from abtune.measure.servant import ServantError
from abtune.measure.sitting import Sitting, first_error
from abtune.measure.trials import Candidate, History
from abtune.schema import RunStatus, TrialStatus
from abtune.shapes import Gemm

# A search that dies is tried again from its last iteration with other random numbers.
ATTEMPTS = 3
# Candidates that are built one after the other; the smaller, the better a batch spreads over cores.
CHUNK = 8


async def try_out(sitting: Sitting) -> None:
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


async def search_all(sitting: Sitting) -> None:
    """Carry all runs that are left as far as time allows."""
    plan, store = sitting.plan, sitting.store
    left = [run for run in plan.runs if not store.is_finished(run)]
    trials = plan.settings.trials
    histories = {run.key: store.history(run) for run in left}
    done = (len(plan.runs) - len(left)) * trials
    done += sum(len(history.trials) for history, _ in histories.values())
    sitting.progress.begin("tuning", len(plan.runs) * trials, done)
    # Twice as many runs as places, so that cores search for one half while devices time the other.
    slots = asyncio.Semaphore(2 * sitting.cluster.searchers + sitting.cluster.devices)

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
        raise first_error(group_error) from None


async def _search(sitting: Sitting, run: Run, history: History, started: str, priority: int) -> None:
    """Carry one run to its end, or as far as time allows."""
    settings = sitting.plan.settings
    while not history.is_over(settings.trials):
        step = _try_pending if history.pending else _propose
        if not sitting.clock.allows(step.__name__, sitting.reserve()):
            sitting.out_of_time = True
            return
        try:
            longer = await step(sitting, run, history, priority)
        except (ServantError, KilledWorker) as error:
            record = _record(run, history, started, failure=f"the search failed {ATTEMPTS} times: {error}")
            sitting.store.save_record(run, record)
            sitting.progress.advance(settings.trials - len(history.trials))
            return
        sitting.clock.note(step.__name__, longer.seconds - history.seconds)
        sitting.store.save_history(run, longer, started)
        sitting.progress.advance(len(longer.trials) - len(history.trials))
        history = longer
    sitting.store.save_record(run, _record(run, history, started, failure=""))
    sitting.progress.advance(settings.trials - len(history.trials))


async def _propose(sitting: Sitting, run: Run, history: History, priority: int) -> History:
    """Take the first step of an iteration; one that finds nothing new is over with it."""
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
        except (ServantError, KilledWorker):
            if attempt == ATTEMPTS - 1:
                raise
        else:
            longer = history.proposed(
                proposal.candidates, cost_model=proposal.cost_model, seconds=proposal.seconds
            )
            return longer if longer.pending else longer.tried((), seconds=0.0)
    raise AssertionError("unreachable: the last attempt returns or raises")


async def _try_pending(sitting: Sitting, run: Run, history: History, priority: int) -> History:
    """Take the second step of an iteration: build and time what was proposed."""
    parts = await _try(sitting, run, history.pending, priority)
    trials = tuple(trial for part in parts for trial in part.trials)
    return history.tried(trials, seconds=sum(part.seconds for part in parts))


async def _try(sitting: Sitting, run: Run, candidates: Sequence[Candidate], priority: int) -> Sequence[Timed]:
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


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).replace(tzinfo=None).isoformat(timespec="milliseconds")
