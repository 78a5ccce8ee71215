"""Re-measuring: all winners of a shape together, on one device, in rounds of random order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from abtune.configurations import Configuration
from abtune.dataset.schema import RunStatus, TransferStatus
from abtune.measure.plan.plan import rng_for
from abtune.measure.plan.problem import Problem
from abtune.measure.plan.records import Rounds, RunRecord, waiting_winners
from abtune.measure.sweep.health_check import taking_over
from abtune.measure.sweep.session import SLACK, Session
from abtune.measure.workers.gathering import gather
from abtune.measure.workers.tasks import Built, library_hash, rebuild, time_winners
from abtune.shapes import parse_shape

# Each core builds about as many kernels before the first is timed. With fewer, more cores idle at the end
# of a batch. With more, a sweep that is killed has to build more of them again.
KERNELS_PER_CORE = 16


async def measure_all(session: Session) -> None:
    """Re-measure together the winners of every shape that has new ones; shapes without enough time wait."""
    labels = {shape.label for shape in session.plan.shapes}
    records = [record for record in session.store.records() if record.shape in labels]
    total = sum(record.status is RunStatus.COMPLETE for record in records)
    measured, stopped = session.store.rounds().values(), session.out_of_time
    left = waiting_winners(records, measured, transfer=session.transfer)
    session.progress.begin("winners re-measured", total, total - sum(map(len, left.values())))
    doubtful: list[Rounds] = []
    if left and not session.health.passed.is_set():  # nothing was searched here
        await session.health.check_programs()

    def keep(rounds: Rounds) -> None:
        if any(winner.failure for winner in rounds.winners):
            doubtful.append(rounds)
        else:
            session.store.save_rounds(rounds)
        session.advance(len(rounds.winners))

    try:
        # A few seconds more than are left: estimates err.
        async with asyncio.timeout(max(session.time_left(), 0.0) + SLACK):
            # A session without searches tries one shape however short the time: the next may have no more.
            chosen = _affordable(session, left, at_least=0 if stopped else 1)
            while chosen:
                # Nothing is built while something is timed: a busy host distorts short calls.
                built = await gather(
                    _build(session, runs, -rank) for rank, runs in enumerate(chosen.values())
                )
                await gather(
                    _measure(session, label, winners, -rank, keep)
                    for rank, (label, winners) in enumerate(zip(chosen, built, strict=True))
                )
                left = {label: records for label, records in left.items() if label not in chosen}
                chosen = _affordable(session, left)  # estimates are careful, so time may be left
    except TimeoutError:
        await session.cluster.interrupt()
    session.out_of_time = stopped or bool(left)
    if doubtful:  # each of these winners worked before; the check waits, because it builds
        await session.health.rerun()
    for rounds in doubtful:
        session.store.save_rounds(rounds)


def _affordable(
    session: Session, stale: Mapping[str, list[RunRecord]], *, at_least: int = 0
) -> dict[str, list[RunRecord]]:
    """Return a batch of shapes for which there is time, one for each device or more."""
    kernels = 1 + 2 * (len(session.plan.configs) - 1) * session.transfer  # of a run; a transfer has about two
    most = KERNELS_PER_CORE * session.cluster.searchers // kernels
    chosen: dict[str, list[RunRecord]] = {}
    due = session.due() if session.out_of_time else {*stale}
    for label, records in stale.items():
        if label not in due:
            continue
        shapes = [*chosen.values(), records]
        if len(chosen) >= session.cluster.devices and sum(map(len, shapes)) > most:
            break
        latencies = [[record.search_latency for record in runs] for runs in shapes]
        if len(chosen) < at_least or session.seconds_to_measure(latencies) < session.time_left():
            chosen[label] = records
    return chosen


async def _build(session: Session, records: Sequence[RunRecord], priority: int) -> list[Built]:
    """Return winners as their own configurations build them and, with transfers, as the others do."""
    plan = session.plan

    async def build(record: RunRecord, config: Configuration) -> Built:
        problem = Problem(shape=parse_shape(record.shape), config=config, target=plan.settings.target)
        task = (rebuild, problem, plan.settings, record)
        with taking_over(config):
            return await session.cluster.run("search", *task, priority=priority)

    return await gather(
        build(record, config)
        for record in records
        for config in plan.configs
        if session.transfer or config.name == record.config
    )


async def _measure(
    session: Session, label: str, built: Sequence[Built], priority: int, keep: Callable[[Rounds], None]
) -> None:
    settings = session.plan.settings
    rng_seed = int(rng_for(settings.rng_seed, "rounds", label).integers(2**31))
    task = (time_winners, label, settings, [*_without_twins(built)], rng_seed)
    keep(await session.cluster.run("device", *task, priority=priority))


def _without_twins(built: Sequence[Built]) -> Iterator[Built]:
    """Yield what was built; a transfer that is its winner's very kernel is not timed a second time."""
    hashes = {
        (one.times.config, one.times.seed): {*map(library_hash, one.kernels)} for one in built if one.is_own
    }
    for one in built:
        kernels = {*map(library_hash, one.kernels)}
        if kernels and not one.is_own and kernels == hashes.get((one.times.origin, one.times.seed)):
            times = replace(one.times, status=TransferStatus.SAME_KERNEL, kernel=kernels.pop())
            yield replace(one, times=times, kernels=())
        else:
            yield one
