"""Winners measured again: all of a shape together, on one device, in rounds of random order."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from abtune.measure.cluster import Cluster
from abtune.measure.plan import Run, Settings, rng_for
from abtune.measure.records import Rounds, RunRecord, WinnerTimes
from abtune.measure.searching import HealthCheck
from abtune.measure.sitting import SLACK, Sitting, first_error
from abtune.measure.tasks import Winner, build_winner, time_winners
from abtune.schema import RunStatus
from abtune.shapes import Shape

# Kernels that wait, built, to be measured: a quarter of a megabyte each.
WINNERS_AT_ONCE = 1000

# A run, the tuning record of its winner, and what its search measured of it, seconds.
Job = tuple[Run, list[Any], float]

T = TypeVar("T")


async def measure_all(sitting: Sitting) -> None:
    """Measure again, together, the winners of every shape that has new ones.

    When time is up only of shapes for which that is due. Those for which there is no time wait as well.
    """
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
    stale = _affordable(sitting, stale)
    total = sum(len(records) for records in complete.values())
    sitting.progress.begin("re-measuring", total, total - sum(len(records) for records in stale.values()))
    jobs = [[_job(sitting, record) for record in records] for records in stale.values()]
    doubtful: list[Rounds] = []

    def keep(rounds: Rounds) -> None:
        if any(winner.failure for winner in rounds.winners):
            doubtful.append(rounds)
        else:
            sitting.store.save_rounds(rounds)
        sitting.progress.advance(len(rounds.winners))

    try:
        async with asyncio.timeout(_allowed(sitting)):
            await measure_winners(sitting.cluster, sitting.plan.settings, jobs, keep)
    except TimeoutError:
        sitting.out_of_time = True
        await sitting.cluster.interrupt()
        return
    if doubtful:  # each of these winners has worked before; not sooner, for nothing is built while timing
        await HealthCheck(sitting).rerun()
    for rounds in doubtful:
        sitting.store.save_rounds(rounds)


def _affordable(sitting: Sitting, stale: dict[str, list[RunRecord]]) -> dict[str, list[RunRecord]]:
    """Choose shapes one after the other, as long as there is time for all chosen."""
    chosen: dict[str, list[RunRecord]] = {}
    for label, records in stale.items():
        if sitting.out_of_time and not sitting.winners[label].due:
            continue
        latencies = [[record.search_latency for record in each] for each in (*chosen.values(), records)]
        # Where there was nothing to search one is tried however short the time: it may be shorter every time.
        alone = not chosen and not sitting.out_of_time
        if alone or sitting.seconds_to_measure(latencies) < sitting.clock.left():
            chosen[label] = records
    sitting.out_of_time |= len(chosen) < len(stale)
    return chosen


def _allowed(sitting: Sitting) -> float | None:
    """Return the seconds after which measuring is given up; estimates err, so a few more than are left."""
    left = sitting.clock.left()
    return None if math.isinf(left) else max(left, 0.0) + SLACK


def _job(sitting: Sitting, record: RunRecord) -> Job:
    run = sitting.plan.run_of(record.shape, record.config, record.seed)
    return run, record.winner or [], record.search_latency


async def measure_winners(
    cluster: Cluster, settings: Settings, jobs: Sequence[Sequence[Job]], keep: Callable[[Rounds], None]
) -> None:
    """Build the winners of many shapes again, then measure those of each shape together.

    Nothing is built while something is timed: calls of a few microseconds show how busy their host is.

    Parameters
    ----------
    cluster : Cluster
        Where to.
    settings : Settings
        For what target, in how many rounds.
    jobs : sequence of sequence of Job
        Shape by shape.
    keep : callable
        Is given the rounds of each shape as soon as they are there.
    """
    for group in _groups(jobs):
        built = await _together([_build(cluster, settings, shape, -place) for place, shape in group])
        await _together(
            [
                _measure(cluster, settings, shape[0][0].shape, winners, -place, keep)
                for (place, shape), winners in zip(group, built, strict=True)
            ]
        )


def _groups(jobs: Sequence[Sequence[Job]]) -> Iterator[list[tuple[int, Sequence[Job]]]]:
    """Yield shapes, numbered, so many at a time that all of their kernels fit into memory."""
    group: list[tuple[int, Sequence[Job]]] = []
    for place, shape in enumerate(jobs):
        if group and sum(len(each) for _, each in group) + len(shape) > WINNERS_AT_ONCE:
            yield group
            group = []
        group.append((place, shape))
    if group:
        yield group


async def _together(steps: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Return what coroutines that run side by side return, in their order."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(step) for step in steps]
    except BaseExceptionGroup as group_error:
        raise first_error(group_error) from None
    return [task.result() for task in tasks]


async def _build(
    cluster: Cluster, settings: Settings, jobs: Sequence[Job], priority: int
) -> list[Winner | WinnerTimes]:
    return await _together(
        [cluster.search(build_winner, run, settings, *job, priority=priority) for run, *job in jobs]
    )


async def _measure(
    cluster: Cluster,
    settings: Settings,
    shape: Shape,
    built: Sequence[Winner | WinnerTimes],
    priority: int,
    keep: Callable[[Rounds], None],
) -> None:
    winners = [entry for entry in built if isinstance(entry, Winner)]
    lost = tuple(entry for entry in built if not isinstance(entry, Winner))
    rng_seed = int(rng_for(settings.rng_seed, "rounds", shape.label).integers(2**31))
    rounds: Rounds = await cluster.measure(
        time_winners, shape, settings, winners, rng_seed, priority=priority
    )
    keep(replace(rounds, winners=rounds.winners + lost))


def _cells(records: Sequence[RunRecord]) -> set[tuple[str, int]]:
    return {(record.config, record.seed) for record in records}


def _measured_cells(rounds: Rounds | None) -> set[tuple[str, int]]:
    return {(winner.config, winner.seed) for winner in rounds.winners} if rounds else set()
