"""Re-measuring: all winners of a shape together, on one device, in rounds of random order.

With transfers, each winner is also rebuilt under the other configurations and timed in the same rounds.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from abtune.configurations import Configuration
from abtune.dataset.schema import RunStatus, TransferStatus
from abtune.errors import TargetError
from abtune.measure.plan.plan import Plan, Run, rng_for
from abtune.measure.plan.problem import Settings
from abtune.measure.plan.records import Rounds, RunRecord, TransferTimes, WinnerTimes
from abtune.measure.sweep.candidates import HealthCheck
from abtune.measure.sweep.session import SLACK, Session, first_error
from abtune.measure.workers.cluster import Cluster
from abtune.measure.workers.fork_server import CallFailed
from abtune.measure.workers.winner_tasks import (
    Built,
    build_transfer,
    build_winner,
    library_hash,
    time_winners,
)

# This many built kernels may wait in memory to be measured; one takes a quarter of a megabyte.
KERNELS_AT_ONCE = 1000

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A winner that is to be built and re-measured."""

    run: Run  # the run that it won. Its configuration says with which options to build
    record: list[Any]  # its tuning record
    latency: float  # seconds of one call as its search measured it
    others: tuple[Configuration, ...]  # the configurations that are to rebuild it as well


def job_of(plan: Plan, record: RunRecord, *, transfer: bool) -> Job:
    """Return the job to re-measure the winner of a complete run, with transfers or without."""
    return Job(
        run=plan.run_of(record.shape, record.config, record.seed),
        record=record.winner or [],
        latency=record.search_latency,
        others=tuple(config for config in plan.configs if transfer and config.name != record.config),
    )


async def measure_all(session: Session) -> None:
    """Re-measure together the winners of every shape that has new ones."""
    # When time is up this happens only for shapes where it is due. Shapes for which there is no time wait,
    # too.
    complete = _complete_runs(session)
    stale = _affordable(session, _stale(session, complete))
    total = sum(map(len, complete.values()))
    session.progress.begin("re-measuring", total, total - sum(map(len, stale.values())))
    jobs = [
        [job_of(session.plan, record, transfer=session.transfer) for record in records]
        for records in stale.values()
    ]
    doubtful: list[Rounds] = []

    def keep(rounds: Rounds) -> None:
        if any(winner.failure for winner in rounds.winners):
            doubtful.append(rounds)
        else:
            session.store.save_rounds(rounds)
        session.progress.advance(len(rounds.winners))

    try:
        async with asyncio.timeout(_allowed(session)):
            await measure_winners(session.cluster, session.plan.settings, jobs, keep)
    except TimeoutError:
        session.out_of_time = True
        await session.cluster.interrupt()
        return
    if doubtful:  # each of these winners worked before; the check waits, because it builds
        await HealthCheck(session).rerun()
    for rounds in doubtful:
        session.store.save_rounds(rounds)


def _complete_runs(session: Session) -> dict[str, list[RunRecord]]:
    """Return the complete runs of each shape of the plan."""
    complete: dict[str, list[RunRecord]] = {shape.label: [] for shape in session.plan.shapes}
    for record in session.store.records():
        if record.status is RunStatus.COMPLETE and record.shape in complete:
            complete[record.shape].append(record)
    return complete


def _stale(session: Session, complete: Mapping[str, list[RunRecord]]) -> dict[str, list[RunRecord]]:
    """Return the shapes whose winners, or their transfers, are not the ones that were re-measured."""
    measured = {
        label: {(winner.config, winner.seed) for winner in rounds.winners}
        for label, rounds in session.store.rounds().items()
        if rounds.transfers or not session.transfer
    }
    return {
        label: records
        for label, records in complete.items()
        if records and {(record.config, record.seed) for record in records} != measured.get(label)
    }


def _affordable(session: Session, stale: Mapping[str, list[RunRecord]]) -> dict[str, list[RunRecord]]:
    """Return the shapes for which there is time, chosen one after the other."""
    chosen: dict[str, list[RunRecord]] = {}
    for label, records in stale.items():
        if session.out_of_time and not session.winners[label].due:
            continue
        latencies = [[record.search_latency for record in runs] for runs in (*chosen.values(), records)]
        # A session without searches tries one shape however short the time: the next may have no more.
        alone = not chosen and not session.out_of_time
        if alone or session.seconds_to_measure(latencies) < session.clock.left():
            chosen[label] = records
    session.out_of_time |= len(chosen) < len(stale)
    return chosen


def _allowed(session: Session) -> float | None:
    """Return the seconds after which re-measuring is given up, a few more than are left: estimates err."""
    left = session.clock.left()
    return None if math.isinf(left) else max(left, 0.0) + SLACK


async def measure_winners(
    cluster: Cluster, settings: Settings, jobs: Sequence[Sequence[Job]], keep: Callable[[Rounds], None]
) -> None:
    """Build the winners of many shapes again, then measure the winners of each shape together."""
    # Nothing is built while something is timed: a busy host distorts calls of a few microseconds.
    for group in _groups(jobs):
        built = await _gather([_build(cluster, settings, shape, -index) for index, shape in group])
        await _gather(
            [
                _measure(cluster, settings, shape[0].run.shape.label, winners, -index, keep)
                for (index, shape), winners in zip(group, built, strict=True)
            ]
        )


def _groups(jobs: Sequence[Sequence[Job]]) -> Iterator[list[tuple[int, Sequence[Job]]]]:
    """Yield numbered shapes in groups whose kernels fit into memory."""
    group: list[tuple[int, Sequence[Job]]] = []
    for index, shape in enumerate(jobs):
        if group and sum(_kernels(winners) for _, winners in group) + _kernels(shape) > KERNELS_AT_ONCE:
            yield group
            group = []
        group.append((index, shape))
    if group:
        yield group


def _kernels(jobs: Sequence[Job]) -> int:
    """Return about how many kernels are built."""
    return sum(1 + 2 * len(job.others) for job in jobs)


async def _gather(steps: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Return the results of coroutines that run side by side, in their order."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(step) for step in steps]
    except BaseExceptionGroup as group_error:
        raise first_error(group_error) from None
    return [task.result() for task in tasks]


async def _build(
    cluster: Cluster, settings: Settings, jobs: Sequence[Job], priority: int
) -> list[Built | WinnerTimes | TransferTimes]:
    """Return all winners of a shape, then their transfers."""
    own = [
        cluster.search(build_winner, job.run, settings, job.record, job.latency, priority=priority)
        for job in jobs
    ]
    carried = [_carry_over(cluster, settings, job, other, priority) for job in jobs for other in job.others]
    return await _gather([*own, *carried])


async def _carry_over(
    cluster: Cluster, settings: Settings, job: Job, other: Configuration, priority: int
) -> Built | TransferTimes:
    """Return a winner as another configuration builds it."""
    run, origin = replace(job.run, config=other), job.run.config.name
    try:
        built: Built | TransferTimes = await cluster.search(
            build_transfer, run, settings, job.record, origin, job.latency, priority=priority
        )
    except CallFailed as error:
        raise TargetError(
            f"configuration {other.name!r} cannot take schedules over: {error}; mend that, and the same "
            "command goes on"
        ) from None
    return built


async def _measure(
    cluster: Cluster,
    settings: Settings,
    label: str,
    built: Sequence[Built | WinnerTimes | TransferTimes],
    priority: int,
    keep: Callable[[Rounds], None],
) -> None:
    sorted_out = _without_twins(built)
    working = [one for one in sorted_out if isinstance(one, Built)]
    rng_seed = int(rng_for(settings.rng_seed, "rounds", label).integers(2**31))
    rounds: Rounds = await cluster.measure(
        time_winners, label, settings, working, rng_seed, priority=priority
    )
    lost = tuple(one for one in sorted_out if isinstance(one, WinnerTimes))
    untimed = tuple(one for one in sorted_out if isinstance(one, TransferTimes))
    keep(replace(rounds, winners=rounds.winners + lost, transfers=rounds.transfers + untimed))


def _without_twins(
    built: Sequence[Built | WinnerTimes | TransferTimes],
) -> list[Built | WinnerTimes | TransferTimes]:
    """Return what was built; a transfer that is its winner's very kernel is not timed a second time."""
    own = {
        (one.origin, one.seed): {library_hash(one.kernels[0])}
        for one in built
        if isinstance(one, Built) and one.is_own
    }
    kept: list[Built | WinnerTimes | TransferTimes] = []
    for one in built:
        twin = isinstance(one, Built) and not one.is_own and _hashes(one) == own.get((one.origin, one.seed))
        kept.append(_same_kernel(one) if twin and isinstance(one, Built) else one)
    return kept


def _hashes(one: Built) -> set[str]:
    return {library_hash(kernel) for kernel in one.kernels}


def _same_kernel(one: Built) -> TransferTimes:
    return TransferTimes(
        origin=one.origin,
        seed=one.seed,
        config=one.config,
        status=TransferStatus.SAME_KERNEL,
        kernel=library_hash(one.kernels[0]),
    )
