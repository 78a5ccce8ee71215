"""Re-measuring: all winners of a shape together, on one device, in rounds of random order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

from abtune.dataset.schema import RunStatus, TransferStatus
from abtune.measure.plan.plan import Run, rng_for
from abtune.measure.plan.records import Rounds, RunRecord, TransferTimes, WinnerTimes, waiting_winners
from abtune.measure.sweep.candidates import HealthCheck, cannot_take_over
from abtune.measure.sweep.session import SLACK, Session, first_error
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
# What became of a winner, or of a transfer, before it is timed: a kernel, or the record of a failure.
Prepared: TypeAlias = Built | WinnerTimes | TransferTimes


async def measure_all(session: Session) -> None:
    """Re-measure together the winners of every shape that has new ones; shapes without enough time wait."""
    records = [record for record in session.store.records() if record.shape in session.winners]
    total = sum(record.status is RunStatus.COMPLETE for record in records)
    measured, stopped = session.store.rounds().values(), session.out_of_time
    left = waiting_winners(records, measured, transfer=session.transfer)
    session.progress.begin("re-measuring", total, total - sum(map(len, left.values())))
    doubtful: list[Rounds] = []

    def keep(rounds: Rounds) -> None:
        if any(winner.failure for winner in rounds.winners):
            doubtful.append(rounds)
        else:
            session.store.save_rounds(rounds)
        session.progress.advance(len(rounds.winners))

    try:
        # A few seconds more than are left: estimates err.
        async with asyncio.timeout(max(session.clock.left(), 0.0) + SLACK):
            # A session without searches tries one shape however short the time: the next may have no more.
            chosen = _affordable(session, left, at_least=0 if stopped else 1)
            while chosen:
                for group in _groups(session, chosen.values()):
                    # Nothing is built while something is timed: a busy host distorts short calls.
                    built = await _gather(_build(session, runs, -place) for place, runs in enumerate(group))
                    await _gather(
                        _measure(session, runs[0].shape, winners, -place, keep)
                        for place, (runs, winners) in enumerate(zip(group, built, strict=True))
                    )
                left = {label: records for label, records in left.items() if label not in chosen}
                chosen = _affordable(session, left)  # estimates are careful, so time may be left
    except TimeoutError:
        await session.cluster.interrupt()
    session.out_of_time = stopped or bool(left)
    if doubtful:  # each of these winners worked before; the check waits, because it builds
        await HealthCheck(session).rerun()
    for rounds in doubtful:
        session.store.save_rounds(rounds)


def _affordable(
    session: Session, stale: Mapping[str, list[RunRecord]], *, at_least: int = 0
) -> dict[str, list[RunRecord]]:
    """Return the shapes for which there is time, chosen one after the other."""
    chosen: dict[str, list[RunRecord]] = {}
    for label, records in stale.items():
        if session.out_of_time and not session.winners[label].due:
            continue
        latencies = [[record.search_latency for record in runs] for runs in (*chosen.values(), records)]
        if len(chosen) < at_least or session.seconds_to_measure(latencies) < session.clock.left():
            chosen[label] = records
    return chosen


def _groups(session: Session, shapes: Iterable[list[RunRecord]]) -> Iterator[list[list[RunRecord]]]:
    """Yield the runs of shapes in groups whose kernels fit into memory; a transfer has about two kernels."""
    kernels = 1 + 2 * (len(session.plan.configs) - 1) * session.transfer
    group: list[list[RunRecord]] = []
    for runs in shapes:
        if group and kernels * sum(map(len, (*group, runs))) > KERNELS_AT_ONCE:
            yield group
            group = []
        group.append(runs)
    if group:
        yield group


async def _gather(steps: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(step) for step in steps]
    except BaseExceptionGroup as group_error:
        raise first_error(group_error) from None
    return [task.result() for task in tasks]


async def _build(session: Session, records: Sequence[RunRecord], priority: int) -> list[Prepared]:
    plan = session.plan
    runs = [(plan.run_of(record.shape, record.config, record.seed), record) for record in records]
    own = [
        session.cluster.search(build_winner, run, plan.settings, record, priority=priority)
        for run, record in runs
    ]
    carried = [
        _carry_over(session, replace(run, config=config), record, priority)
        for run, record in runs
        for config in plan.configs
        if session.transfer and config.name != record.config
    ]
    return await _gather([*own, *carried])


async def _carry_over(session: Session, run: Run, won: RunRecord, priority: int) -> Built | TransferTimes:
    """Return a winner as another configuration builds it, which is the one of the run."""
    task = (build_transfer, run, session.plan.settings, won)
    try:
        built: Built | TransferTimes = await session.cluster.search(*task, priority=priority)
    except CallFailed as error:
        raise cannot_take_over(run.config, error) from None
    return built


async def _measure(
    session: Session, label: str, built: Sequence[Prepared], priority: int, keep: Callable[[Rounds], None]
) -> None:
    prepared, settings = list(_without_twins(built)), session.plan.settings
    working = [one for one in prepared if isinstance(one, Built)]
    rng_seed = int(rng_for(settings.rng_seed, "rounds", label).integers(2**31))
    rounds: Rounds = await session.cluster.measure(
        time_winners, label, settings, working, rng_seed, priority=priority
    )
    lost = tuple(one for one in prepared if isinstance(one, WinnerTimes))
    untimed = tuple(one for one in prepared if isinstance(one, TransferTimes))
    keep(replace(rounds, winners=rounds.winners + lost, transfers=rounds.transfers + untimed))


def _without_twins(built: Sequence[Prepared]) -> Iterator[Prepared]:
    """Yield what was built; a transfer that is its winner's very kernel is not timed a second time."""
    kernels = [one for one in built if isinstance(one, Built)]
    own = {(one.origin, one.seed): library_hash(one.kernels[0]) for one in kernels if one.is_own}
    for one in built:
        if isinstance(one, Built) and not one.is_own:
            winner = own.get((one.origin, one.seed), "")
            if {*map(library_hash, one.kernels)} == {winner}:
                yield one.transfer(TransferStatus.SAME_KERNEL, kernel=winner)
                continue
        yield one
