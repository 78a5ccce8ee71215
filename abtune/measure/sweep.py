"""Carries out a plan: searches side by side, then all winners measured again, then the dataset.

Every run is a chain of iterations, and every iteration ends in a file. So stopping, for whatever reason,
loses at most the iterations in flight, and the same call goes on from the files.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from dataclasses import dataclass
from typing import Any

import xarray as xr

from abtune.errors import StoreError
from abtune.measure.assemble import assemble_store
from abtune.measure.cluster import open_cluster
from abtune.measure.plan import Plan
from abtune.measure.searching import search_all
from abtune.measure.sitting import Clock, Progress, Sitting
from abtune.measure.store import Store
from abtune.measure.target import TargetFacts
from abtune.measure.winners import measure_all


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
        try:
            stopped = asyncio.run(
                _carry_out(plan, facts, store, scheduler, cores, Clock(time_limit), progress)
            )
        except BaseException:
            with contextlib.suppress(StoreError):  # a disk that is full has been spoken of
                _write_dataset(plan, store)
            raise
        dataset = _write_dataset(plan, store)
        finished = sum(store.is_finished(run) for run in plan.runs)
        return Outcome(dataset=dataset, finished=finished, stopped=stopped)


def _write_dataset(plan: Plan, store: Store) -> xr.Dataset:
    dataset = assemble_store(plan, store)
    if store.has_work:  # a machine that is not fit leaves no dataset
        store.save_dataset(dataset)
    return dataset


async def _carry_out(
    plan: Plan, facts: TargetFacts, store: Store, scheduler: str, cores: int, clock: Clock, progress: Progress
) -> str:
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    if task is not None:
        _heed_signals(loop, task)
    try:
        async with open_cluster(facts, scheduler=scheduler, cores=cores) as cluster:
            sitting = Sitting(plan, store, cluster, clock, progress)
            await search_all(sitting)
            await measure_all(sitting)
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    return "the time limit" if sitting.out_of_time else ""


def _heed_signals(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any]) -> None:
    """End as after Ctrl-C when told to end or when the terminal goes away, unless ``nohup`` says not to."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            with contextlib.suppress(RuntimeError, ValueError):  # only the main thread can
                loop.add_signal_handler(number, task.cancel)
