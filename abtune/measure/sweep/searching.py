"""The searches of a sweep, side by side."""

from __future__ import annotations

import asyncio
import math

from abtune.measure.plan.plan import Run
from abtune.measure.sweep.health_check import HealthCheck
from abtune.measure.sweep.one_search import Search, now
from abtune.measure.sweep.session import Session, first_error


async def search_all(session: Session) -> None:
    """Carry out the runs that are left, until they are done or the time is up."""
    # The machine is checked meanwhile. Searches propose at once, but nothing is kept before it proves fit.
    plan, store = session.plan, session.store
    if not plan.runs:
        return
    left = [run for run in plan.runs if not store.is_finished(run)]
    trials = plan.settings.trials
    histories = {run.key: store.history(run) for run in left}
    done = (len(plan.runs) - len(left)) * trials
    done += sum(len(history.trials) for history, _ in histories.values())
    session.progress.begin("tuning", len(plan.runs) * trials, done)
    # Two runs per slot, so that cores search for one half while devices time the other half.
    slots = asyncio.Semaphore(2 * session.cluster.searchers + session.cluster.devices)
    health = HealthCheck(session)

    async def search(run: Run, priority: int) -> None:
        async with slots:
            history, started = histories.pop(run.key)
            await Search(session, run, history, started or now(), priority, health).carry_on()
            if not limit.expired():
                limit.reschedule(_deadline(session))

    try:
        async with asyncio.timeout_at(_deadline(session)) as limit, asyncio.TaskGroup() as group:
            if left:
                group.create_task(health.run())
            for index, run in enumerate(left):
                group.create_task(search(run, -index))
    except TimeoutError:
        session.out_of_time = True
        await session.cluster.interrupt()
    except BaseExceptionGroup as group_error:
        raise first_error(group_error) from None


def _deadline(session: Session) -> float | None:
    """Return the event loop's time at which searching must end; None without a limit."""
    left = session.clock.left() - session.reserve()
    return None if math.isinf(left) else asyncio.get_running_loop().time() + left
