"""Carries out a plan: searches side by side, then the winners re-measured, then the dataset.

Every run is a chain of steps, and every step ends in a file. So a sweep that stops loses at most the steps in
flight, and the same call goes on from the files.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import xarray as xr

from abtune.errors import StoreError
from abtune.measure.plan.plan import Plan
from abtune.measure.plan.target import Workplace
from abtune.measure.store.store import Store
from abtune.measure.store.to_dataset import store_to_dataset
from abtune.measure.sweep.searching import search_all
from abtune.measure.sweep.session import Clock, Progress, Session
from abtune.measure.sweep.winners import measure_all
from abtune.measure.workers.cluster import open_cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The end of a session.

    Attributes
    ----------
    dataset : xarray.Dataset
        All that is done, including earlier sessions.
    finished : int
        Number of runs of the plan that are done.
    stopped : str
        Why the session ended before the plan was done; empty if the plan is done.
    repeated : int
        Number of iterations that this session searched twice, the second time as stock MetaSchedule.
    """

    dataset: xr.Dataset
    finished: int
    stopped: str
    repeated: int


def sweep(
    plan: Plan,
    store: Store,
    workplace: Workplace,
    *,
    about: Mapping[str, Any],
    time_limit: float,
    progress: Progress,
) -> Outcome:
    """Carry out what is left of a plan, write the dataset, and return how the session ended.

    Parameters
    ----------
    plan : Plan
        The runs.
    store : Store
        Where runs are kept and the dataset goes.
    workplace : Workplace
        The target, and who searches and measures.
    about : mapping
        Facts about this session, for the dataset's attributes.
    time_limit : float
        Seconds after which the session has ended, with a dataset of what is done; infinite for no limit.
    progress : Progress
        A display, told of every step.

    Raises
    ------
    StoreError
        If the files cannot be written, or belong to another sweep.
    TargetError
        If the machine is not fit, or the cluster cannot be reached or is lost.
    KeyboardInterrupt
        After the dataset of what is done was written.
    """
    with store.opened(plan, about):
        try:
            session = asyncio.run(_carry_out(plan, store, workplace, Clock(time_limit), progress))
        except BaseException:
            with contextlib.suppress(StoreError):  # the first error already tells of a full disk
                _write_dataset(plan, store)
            raise
        dataset = _write_dataset(plan, store)
        finished = sum(store.is_finished(run) for run in plan.runs)
        stopped = "the time limit" if session.out_of_time else ""
        return Outcome(dataset=dataset, finished=finished, stopped=stopped, repeated=session.repeated)


def _write_dataset(plan: Plan, store: Store) -> xr.Dataset:
    dataset = store_to_dataset(plan, store)
    if store.has_work:  # a machine that is not fit leaves no dataset
        store.save_dataset(dataset)
    return dataset


async def _carry_out(
    plan: Plan, store: Store, workplace: Workplace, clock: Clock, progress: Progress
) -> Session:
    """Search and re-measure; return the session, which has ended."""
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    if task is not None:
        _heed_signals(loop, task)
    try:
        async with open_cluster(workplace) as cluster:
            session = Session(plan, store, cluster, clock, progress)
            await search_all(session)
            await measure_all(session)
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    return session


def _heed_signals(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any]) -> None:
    """End as after Ctrl-C on SIGTERM, and on SIGHUP when the terminal goes away, unless ``nohup`` forbids."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            with contextlib.suppress(RuntimeError, ValueError):  # only the main thread can
                loop.add_signal_handler(number, task.cancel)
