"""A sweep that adds seeds until every shape is settled or without promise, or the seeds are spent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import xarray as xr

from abtune.errors import StoreError
from abtune.measure.plan.plan import Plan
from abtune.measure.store.store import Store
from abtune.measure.store.to_dataset import store_to_dataset
from abtune.measure.sweep.run_sweep import Outcome
from abtune.stats.design.looks import (
    ALPHA,
    LOOKS,
    Look,
    dropped_shapes,
    looks_from_json,
    looks_to_json,
    schedule,
)


def settle(
    plan: Plan,
    store: Store,
    *,
    carry_out: Callable[[Plan, str], Outcome],  # it is also given the text that records the looks
    goes_on: Callable[[xr.Dataset], Mapping[str, bool]],  # of each shape that is not settled nor dropped yet
    report: Callable[[Look, int], None],  # of a look, and of the number of shapes that are settled
) -> Outcome:
    """Carry out a plan look by look, without shapes that are settled or dropped; return the last outcome."""
    looks, already = _looks_done(plan, store)
    left, repeated = plan, 0
    for number, look in enumerate(looks):
        now = left.restricted(seeds=plan.seeds[: look.seeds])
        outcome = carry_out(now, looks_to_json(looks, done=max(number, already)))
        repeated += outcome.repeated
        # With the shapes that were settled or dropped at earlier looks.
        dataset = store_to_dataset(plan.restricted(seeds=now.seeds), store)
        if not outcome.stopped:
            done = max(number + 1, already)
            unsettled = goes_on(dataset.assign_attrs({LOOKS: looks_to_json(looks, done=done)}))
            # Decided once: with more seeds, all winners of a shape are timed anew.
            if number >= already and look is not looks[-1]:
                hopeless = tuple(label for label, promising in unsettled.items() if not promising)
                looks = (*looks[:number], replace(look, dropped=hopeless), *looks[number + 1 :])
            store.amend(**{LOOKS: looks_to_json(looks, done=done)})
            dataset = dataset.assign_attrs({LOOKS: looks_to_json(looks, done=done)})
        store.save_dataset(dataset)
        finished = sum(store.is_finished(run) for run in plan.runs)
        outcome = replace(outcome, dataset=dataset, finished=finished, repeated=repeated)
        if outcome.stopped:
            break
        dropped = {*dropped_shapes(looks)}
        report(looks[number], len(plan.shapes) - len(unsettled.keys() | dropped))
        further = unsettled.keys() - dropped
        left = left.restricted(shapes=[shape for shape in left.shapes if shape.label in further])
        if not left.shapes:
            break
    return outcome


def looks_of(plan: Plan) -> tuple[Look, ...]:
    """Return the looks of a plan that is carried out look by look."""
    return schedule(alpha=ALPHA, most=len(plan.seeds), paired=plan.settings.is_shared)


def require_design(plan: Plan, store: Store, *, until_settled: bool) -> None:
    """Refuse a plan that does not fit the looks that were made, before anything is searched."""
    # A plan without looks may repeat what is done, and add shapes. It may add no seeds to a shape: every
    # analysis would leave them out.
    if until_settled:
        _looks_done(plan, store)
        return
    earlier, done = recorded_looks(store)
    if not done:
        return
    finished = {record.key: record.shape for record in store.records()}
    runs = {run.key for run in plan.runs if run.shape.label in finished.values()}
    if len(plan.seeds) not in (earlier[done - 1].seeds, earlier[-1].seeds) or runs - finished.keys():
        raise _another_design(store, earlier, "--until-settled ")


def _looks_done(plan: Plan, store: Store) -> tuple[tuple[Look, ...], int]:
    """Return the looks of a plan, with what earlier sessions dropped, and how many of them were made."""
    looks = looks_of(plan)
    earlier, done = recorded_looks(store)
    if not done:
        return looks, 0
    at_first_look = {run.key for run in plan.restricted(seeds=plan.seeds[: looks[0].seeds]).runs}
    same = tuple(replace(look, dropped=()) for look in earlier) == looks
    if not same or at_first_look - {record.key for record in store.records()}:
        raise _another_design(store, earlier, "")
    return earlier, done


def recorded_looks(store: Store) -> tuple[tuple[Look, ...], int]:
    """Return the looks that a store records, and how many of them were made."""
    recorded = store.recorded().get(LOOKS)
    return ((), 0) if recorded is None else looks_from_json(recorded)


def _another_design(store: Store, earlier: tuple[Look, ...], options: str) -> StoreError:
    planned = ", ".join(str(look.seeds) for look in earlier)
    return StoreError(
        f"{store.dataset} was looked at already, by a design with looks at {planned} seeds; repeat its "
        f"{options}--seeds {earlier[-1].seeds} and shapes to go on, or give another --out"
    )
