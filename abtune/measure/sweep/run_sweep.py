"""Carries out a plan: searches side by side, then the winners re-measured, then the dataset.

Every run is a chain of steps, and every step ends in a file. So a sweep that stops loses at most the steps in
flight, and the same call goes on from the files. To re-measure the winners of a dataset is such a sweep, too:
its runs go into a store of their own, as if it had searched them.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import xarray as xr

from abtune.configurations import Configuration
from abtune.errors import StoreError
from abtune.measure.plan.plan import Plan
from abtune.measure.plan.problem import Settings, TargetFacts, Workplace
from abtune.measure.store.from_dataset import plan_from_dataset, records_from_dataset
from abtune.measure.store.store import Store
from abtune.measure.store.to_dataset import store_to_dataset
from abtune.measure.sweep.searching import search_all
from abtune.measure.sweep.session import Clock, Progress, Session
from abtune.measure.sweep.winners import measure_all
from abtune.measure.workers.cluster import open_cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The end of a session."""

    dataset: xr.Dataset  # all that is done, including earlier sessions
    finished: int  # number of runs of the plan that are done
    stopped: str  # why the session ended before the plan was done; empty if the plan is done
    repeated: int  # number of iterations that were searched twice, the second time as stock MetaSchedule


def sweep(
    plan: Plan,
    store: Store,
    workplace: Workplace,
    *,
    about: Mapping[str, Any],
    time_limit: float,
    progress: Progress,
) -> Outcome:
    """Carry out what is left of a plan, write the dataset, and return how the session ended."""
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
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    try:
        with _heeding_signals(loop, task):
            async with open_cluster(workplace) as cluster:
                session = Session(plan, store, cluster, clock, progress)
                await search_all(session)
                await measure_all(session)
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    return session


@contextlib.contextmanager
def _heeding_signals(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any] | None) -> Iterator[None]:
    """End as after Ctrl-C on SIGTERM, and on SIGHUP when the terminal goes away, unless ``nohup`` forbids."""
    before = {}
    for number in (signal.SIGTERM, signal.SIGHUP):
        handler = signal.getsignal(number)
        if task is not None and handler is not signal.SIG_IGN:
            with contextlib.suppress(RuntimeError, ValueError):  # only the main thread can
                loop.add_signal_handler(number, task.cancel)
                before[number] = handler
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)


# The moment of re-measuring, by which the dataset of a re-measurement is known.
MEASURED = "measured_again"
# Attributes that the store writes anew.
_REWRITTEN = {"settings", "configurations"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Remeasurement:
    """What is measured again, and how."""

    dataset: xr.Dataset  # made by a sweep; it is not changed
    settings: Settings  # rounds and repeats; the target is the workplace's
    # configurations of the user, by which entries of the dataset are known that take code from modules
    own: tuple[Configuration, ...] = ()
    transfer: bool = False  # whether the other configurations rebuild each winner

    def plan(self, facts: TargetFacts) -> Plan:
        """Return the plan, which has no runs: nothing is searched."""
        plan = plan_from_dataset(self.dataset, replace(self.settings, target=facts.target), self.own)
        machine = f"{facts.devices[0]}, TVM {self.dataset.attrs.get('tvm_version', '')}"
        return replace(plan, machine=machine, runs=(), transfer=self.transfer)

    def about(self, facts: TargetFacts, moment: str) -> dict[str, Any]:
        """Return the facts about the dataset of the new timings."""
        stored = {str(name): value for name, value in self.dataset.attrs.items() if name not in _REWRITTEN}
        attrs = {
            name: value.tolist() if hasattr(value, "tolist") else value for name, value in stored.items()
        }
        title = re.sub(r", \d+ shapes?$", "", str(attrs.get("title", "")))
        return {**attrs, "title": title, "device": facts.devices[0], MEASURED: moment}


def remeasure(
    what: Remeasurement,
    store: Store,
    workplace: Workplace,
    *,
    moment: str,
    time_limit: float,
    progress: Progress,
) -> Outcome:
    """Measure all winners again, built anew and checked, write the dataset, and return how it ended."""
    plan, about = what.plan(workplace.facts), what.about(workplace.facts, moment)
    records = records_from_dataset(what.dataset)
    store.check(plan)
    _require_same_winners(store, about)
    store.adopt(plan, about, records)
    return sweep(plan, store, workplace, about=about, time_limit=time_limit, progress=progress)


def _require_same_winners(store: Store, about: Mapping[str, Any]) -> None:
    """Refuse a store of a sweep, or of the winners of another dataset."""
    recorded = store.recorded()
    if recorded and MEASURED not in recorded:
        raise StoreError(f"{store.dataset} exists and was not made by abtune measure; give another --out")
    if recorded and recorded.get("created") != about.get("created"):
        raise StoreError(f"{store.dataset} has the winners of another dataset; give another --out")
