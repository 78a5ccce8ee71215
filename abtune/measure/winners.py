"""Winners measured again: all of a shape together, on one device, in rounds of random order."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from abtune.measure.cluster import Cluster
from abtune.measure.crew import Winner, build_winner, time_winners
from abtune.measure.plan import Run, Settings, rng_for
from abtune.measure.records import Rounds, RunRecord
from abtune.measure.sitting import Sitting, first_error
from abtune.schema import RunStatus


async def measure_all(sitting: Sitting) -> None:
    """Measure again, together, the winners of every shape that has new ones.

    When time is up, only of shapes for which that is due, and as many of these as still fit.
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
    if sitting.out_of_time:
        stale = _affordable(sitting, stale)
    total = sum(len(records) for records in complete.values())
    sitting.progress.begin("re-measuring", total, total - sum(len(records) for records in stale.values()))
    try:
        async with asyncio.TaskGroup() as group:
            for index, records in enumerate(stale.values()):
                group.create_task(_measure(sitting, records, -index))
    except BaseExceptionGroup as group_error:
        raise first_error(group_error) from None


def _affordable(sitting: Sitting, stale: dict[str, list[RunRecord]]) -> dict[str, list[RunRecord]]:
    """Choose shapes that are due, one after the other, as long as there is time for all chosen."""
    chosen: dict[str, list[RunRecord]] = {}
    for label, records in stale.items():
        counts = [len(each) for each in (*chosen.values(), records)]
        if sitting.winners[label].due and sitting.seconds_to_measure(counts) < sitting.clock.left():
            chosen[label] = records
    return chosen


async def _measure(sitting: Sitting, records: Sequence[RunRecord], priority: int) -> None:
    plan = sitting.plan
    jobs = [
        (plan.run_of(record.shape, record.config, record.seed), record.winner or []) for record in records
    ]
    rounds = await measure_winners(sitting.cluster, plan.settings, jobs, priority)
    sitting.store.save_rounds(rounds)
    sitting.progress.advance(len(records))


async def measure_winners(
    cluster: Cluster, settings: Settings, jobs: Sequence[tuple[Run, list[Any]]], priority: int
) -> Rounds:
    """Build the winners of one shape again and measure them together.

    Parameters
    ----------
    cluster : Cluster
        Where to.
    settings : Settings
        For what target, in how many rounds.
    jobs : sequence of (Run, record)
        Runs of one shape, and the tuning records of their winners.
    priority : int
        Higher goes first.
    """
    built = await asyncio.gather(
        *(cluster.search(build_winner, run, settings, record, priority=priority) for run, record in jobs)
    )
    winners = [entry for entry in built if isinstance(entry, Winner)]
    lost = tuple(entry for entry in built if not isinstance(entry, Winner))
    shape = jobs[0][0].shape
    rng_seed = int(rng_for(settings.rng_seed, "rounds", shape.label).integers(2**31))
    rounds: Rounds = await cluster.measure(
        time_winners, shape, settings, winners, rng_seed, priority=priority
    )
    return replace(rounds, winners=rounds.winners + lost)


def _cells(records: Sequence[RunRecord]) -> set[tuple[str, int]]:
    return {(record.config, record.seed) for record in records}


def _measured_cells(rounds: Rounds | None) -> set[tuple[str, int]]:
    return {(winner.config, winner.seed) for winner in rounds.winners} if rounds else set()
