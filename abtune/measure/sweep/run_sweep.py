"""Carries out a plan: searches side by side, then the winners re-measured, then the dataset; or look by look.

Every run is a chain of steps, and every step ends in a file. So a sweep that stops loses at most the steps in
flight, and the same call goes on from the files. To re-measure the winners of a dataset is such a sweep, too.
A sweep may add seeds until every shape is settled or without promise; how to judge is the caller's choice.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import xarray as xr

from abtune.configurations import Configuration
from abtune.dataset.provenance import CAVEATS, MEASURED, SEARCHED_ON, hardware
from abtune.errors import StoreError
from abtune.files import uninterrupted
from abtune.measure.plan.plan import Plan
from abtune.measure.plan.problem import RunSettings
from abtune.measure.plan.workplace import TargetFacts, Workplace
from abtune.measure.store.as_dataset import plan_from_dataset, records_from_dataset
from abtune.measure.store.store import Store
from abtune.measure.sweep.searching import search_all
from abtune.measure.sweep.session import Progress, Session
from abtune.measure.sweep.winners import measure_all
from abtune.measure.workers.cluster import open_cluster
from abtune.measure.workers.gathering import run
from abtune.stats.testing.looks import ALPHA, LOOKS, Look, dropped_shapes, looks_to_json, schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The end of a session."""

    dataset: xr.Dataset  # all that is done, including earlier sessions
    finished: int  # number of runs of the plan that are done
    stopped: str  # why the session ended before the plan was done; empty if the plan is done
    has_kept: bool  # whether this session kept any step of a search, or any timings
    repeated: int  # number of iterations that were searched twice, the second time as stock MetaSchedule

    @property
    def ending(self) -> str:
        """Why the session ended before the plan was done, and what to do; empty if the plan is done."""
        if not self.stopped:
            return ""
        if not self.has_kept:  # the same command would end like this for ever
            return f"stopped by {self.stopped} before anything new was kept; give a longer --time-limit"
        return f"stopped by {self.stopped}; the same command goes on"


def sweep(
    plan: Plan,
    store: Store,
    workplace: Workplace,
    *,
    about: Mapping[str, Any],
    end: float,
    progress: Progress,
) -> Outcome:
    """Carry out what is left of a plan until a moment of the monotonic clock, and write the dataset."""
    with store.opened(plan, about):
        try:
            session = run(_carry_out(plan, store, workplace, end, progress))
            dataset = _write_dataset(plan, store)
        # Also after Ctrl-C: finished runs become a dataset however the session ends.
        except BaseException:
            with contextlib.suppress(StoreError):  # the first error already tells of a full disk
                _write_dataset(plan, store)
            raise
        return Outcome(
            dataset=dataset,
            finished=sum(map(store.is_finished, plan.runs)),
            stopped="the time limit" if session.out_of_time else "",
            has_kept=session.has_kept,
            repeated=session.repeated,
        )


def _write_dataset(plan: Plan, store: Store) -> xr.Dataset:
    with uninterrupted():  # a further signal waits, or finished runs would leave no dataset
        dataset = store.to_dataset(plan)
        if store.has_work:  # a machine that is not fit leaves no dataset
            store.save_dataset(dataset)
        return dataset


async def _carry_out(
    plan: Plan, store: Store, workplace: Workplace, end: float, progress: Progress
) -> Session:
    async with open_cluster(workplace) as cluster:
        session = Session(plan, store, cluster, end, progress)
        watches = cluster.watch(progress.warn), session.watch()
        watching = [asyncio.create_task(watch) for watch in watches]
        try:
            await search_all(session)
            await measure_all(session)
        finally:
            for task in watching:
                task.cancel()
    return session


def remeasuring_plan(
    dataset: xr.Dataset,
    settings: RunSettings,
    facts: TargetFacts,
    own: Sequence[Configuration | str],  # what the user trusts, see trusted_code
    *,
    transfer: bool,
) -> Plan:
    """Return the plan that measures winners again; it has no runs, because nothing is searched."""
    settings = replace(settings, target=facts.target, launched_by=facts.launched_by)
    plan = plan_from_dataset(dataset, settings, own)
    machine = f"{facts.devices[0]}, TVM {dataset.attrs.get('tvm_version', '')}"
    return replace(plan, machine=machine, is_searched=False, transfer=transfer)


def adopt_winners(dataset: xr.Dataset, plan: Plan, store: Store, about: Mapping[str, Any]) -> None:
    """Write the searches of a dataset into a store, so that a sweep of the plan measures their winners."""
    records, recorded = records_from_dataset(dataset), store.recorded()
    if recorded and MEASURED not in recorded:
        raise StoreError(f"{store.dataset} exists and was not made by abtune measure; give another --out")
    same = all(recorded.get(name) == about.get(name) for name in ("created", "sources"))
    # Sweeps that have grown may be merged with other seed numbers than before.
    winners = {record.key: record.winner for record in records}
    same &= all(winners.get(one.key, one.winner) == one.winner for one in store.records())
    if recorded and not same:
        raise StoreError(f"{store.dataset} has the winners of another dataset; give another --out")
    with store.opened(plan, about):
        here = {record.key for record in store.records()}
        for record in records:
            if record.key not in here:
                store.save_record(record)


# Attributes that the store writes anew, or that are about timings which are not kept.
_REWRITTEN = {"settings", "configurations", "transfers_measured", CAVEATS}


def about_new_timings(dataset: xr.Dataset, device: str, moment: str) -> dict[str, Any]:
    """Return the facts about the dataset of the new timings."""
    attrs = {
        str(name): value.tolist() if hasattr(value, "tolist") else value
        for name, value in dataset.attrs.items()
        if name not in _REWRITTEN
    }
    searched_on = attrs.get(SEARCHED_ON) or hardware(dataset)
    return {**attrs, "device": device, MEASURED: moment, SEARCHED_ON: searched_on}


def settle(
    plan: Plan,
    store: Store,
    *,
    carry_out: Callable[[Plan, str], Outcome],  # it is also given the text that records the looks
    goes_on: Callable[[xr.Dataset, Set[str]], Mapping[str, bool]],  # of these shapes, unless they are settled
    report: Callable[[Look, int], None],  # of a look, and of the number of shapes that are settled
) -> Outcome:
    """Carry out a plan look by look, without shapes that are settled or dropped; return the last outcome."""
    looks, already = _looks_done(plan, store)
    left, repeated, has_kept = plan, 0, False
    for number, look in enumerate(looks):
        now = replace(left, seeds=plan.seeds[: look.seeds])
        outcome = carry_out(now, looks_to_json(looks, done=max(number, already)))
        repeated += outcome.repeated
        has_kept |= outcome.has_kept
        # With the shapes that were settled or dropped at earlier looks.
        dataset = store.to_dataset(replace(plan, seeds=now.seeds))
        done = max(number + 1, already)
        if not outcome.stopped:
            # The dataset may have shapes that earlier sessions searched without looks.
            labels = {shape.label for shape in left.shapes} - {*dropped_shapes(looks)}
            unsettled = goes_on(dataset.assign_attrs({LOOKS: looks_to_json(looks, done=done)}), labels)
            # Decided once: with more seeds, all winners of a shape are timed anew. The last look drops none.
            if already <= number < len(looks) - 1:
                hopeless = tuple(label for label, is_promising in unsettled.items() if not is_promising)
                looks = (*looks[:number], replace(look, dropped=hopeless), *looks[number + 1 :])
            dropped = {*dropped_shapes(looks)}
            further = unsettled.keys() - dropped
            left = replace(left, shapes=tuple(shape for shape in left.shapes if shape.label in further))
            dataset = dataset.assign_attrs({LOOKS: looks_to_json(looks, done=done)})
            store.note_looks(dataset.attrs[LOOKS])
        store.save_dataset(dataset)
        finished = sum(store.is_finished(run) for run in plan.runs)
        outcome = replace(outcome, dataset=dataset, finished=finished, has_kept=has_kept, repeated=repeated)
        if outcome.stopped:
            break
        if number + 1 >= already or not left.shapes:  # of the looks of earlier sessions the last one counts
            report(looks[done - 1], len(plan.shapes) - len(unsettled.keys() | dropped))
        if not left.shapes:
            break
    return outcome


def looks_of(plan: Plan) -> tuple[Look, ...]:
    """Return the looks of a plan that is carried out look by look."""
    return schedule(alpha=ALPHA, most=len(plan.seeds), paired=plan.settings.is_shared)


def require_design(plan: Plan, store: Store, *, until_settled: bool) -> None:
    """Refuse a plan that does not fit the looks that were made, before anything is searched."""
    # A plan without looks may repeat what is done, and add shapes. An analysis would leave out further seeds.
    if until_settled:
        _looks_done(plan, store)
        return
    earlier, done = store.looks()
    if not done:
        return
    finished = {record.key: record.shape for record in store.records()}
    runs = {run.key for run in plan.runs if run.shape.label in finished.values()}
    if len(plan.seeds) not in (earlier[done - 1].seeds, earlier[-1].seeds) or runs - finished.keys():
        raise _another_design(store, earlier, "--until-settled ")


def _looks_done(plan: Plan, store: Store) -> tuple[tuple[Look, ...], int]:
    """Return the looks of a plan, with what earlier sessions dropped, and how many of them were made."""
    looks = looks_of(plan)
    earlier, done = store.looks()
    if not done:
        return looks, 0
    same = tuple(replace(look, dropped=()) for look in earlier) == looks
    # A single run may be missing, because the user removed its file to have it made again.
    if not same or {shape.label for shape in plan.shapes} - {record.shape for record in store.records()}:
        raise _another_design(store, earlier, "")
    return earlier, done


def _another_design(store: Store, earlier: tuple[Look, ...], options: str) -> StoreError:
    planned = ", ".join(str(look.seeds) for look in earlier)
    return StoreError(
        f"{store.dataset} was looked at already, by a design with looks at {planned} seeds; repeat its "
        f"{options}--seeds {earlier[-1].seeds} and shapes to go on, or give another --out"
    )
