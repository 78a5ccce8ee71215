"""A sweep that adds seeds until every shape is settled, or the seeds are spent.

How a shape is judged is the caller's choice: the measuring half imports no analysis.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

import xarray as xr

from abtune.errors import StoreError
from abtune.measure.plan.plan import Plan
from abtune.measure.store.store import Store
from abtune.measure.store.to_dataset import store_to_dataset
from abtune.measure.sweep.run_sweep import Outcome
from abtune.stats.design.looks import ALPHA, LOOKS, Look, looks_from_json, looks_to_json, schedule


def settle(
    plan: Plan,
    store: Store,
    *,
    carry_out: Callable[[Plan, str], Outcome],  # it is also given the text that records the looks
    unsettled: Callable[[xr.Dataset], Collection[str]],  # labels of the shapes that need more seeds
    report: Callable[[int, int], None],  # of the number of seeds, and of shapes that are settled
) -> Outcome:
    """Carry out a plan look by look, and drop the shapes that are settled; return the last outcome."""
    looks = looks_of(plan)
    already = _looks_done(store, looks)
    left, repeated = plan, 0
    for number, look in enumerate(looks):
        now = left.restricted(seeds=plan.seeds[: look.seeds])
        outcome = carry_out(now, looks_to_json(looks, done=max(number, already)))
        if not outcome.stopped:
            store.amend(**{LOOKS: looks_to_json(looks, done=max(number + 1, already))})
        repeated += outcome.repeated
        outcome = replace(  # with the shapes that were settled at earlier looks
            outcome,
            dataset=store_to_dataset(plan.restricted(seeds=now.seeds), store),
            finished=sum(store.is_finished(run) for run in plan.runs),
            repeated=repeated,
        )
        store.save_dataset(outcome.dataset)
        if outcome.stopped:
            break
        open_shapes = unsettled(outcome.dataset)
        report(look.seeds, len(plan.shapes) - len(open_shapes))
        left = left.restricted(shapes=[shape for shape in left.shapes if shape.label in open_shapes])
        if not left.shapes:
            break
    return outcome


def looks_of(plan: Plan) -> tuple[Look, ...]:
    """Return the looks of a plan that is carried out look by look."""
    return schedule(
        alpha=ALPHA, most=len(plan.seeds), shapes=len(plan.shapes), paired=plan.settings.is_shared
    )


def require_design(plan: Plan, store: Store, *, until_settled: bool) -> None:
    """Refuse a plan that does not fit the looks that were made, before anything is searched."""
    # A plan without looks may repeat what is done, and add shapes. It may add no seeds to a shape: every
    # analysis would leave them out.
    if until_settled:
        _looks_done(store, looks_of(plan))
        return
    earlier, done = _recorded_looks(store)
    if not done:
        return
    finished = {record.key: record.shape for record in store.records()}
    runs = {run.key for run in plan.runs if run.shape.label in finished.values()}
    if len(plan.seeds) not in (earlier[done - 1].seeds, earlier[-1].seeds) or runs - finished.keys():
        raise _another_design(store, earlier, "--until-settled ")


def _looks_done(store: Store, looks: tuple[Look, ...]) -> int:
    """Return the number of looks that earlier sessions made."""
    earlier, done = _recorded_looks(store)
    if done and earlier != looks:
        raise _another_design(store, earlier, "")
    return done


def _recorded_looks(store: Store) -> tuple[tuple[Look, ...], int]:
    """Return the looks that a store records, and how many of them were made."""
    recorded = store.recorded().get(LOOKS)
    return ((), 0) if recorded is None else looks_from_json(recorded)


def _another_design(store: Store, earlier: tuple[Look, ...], options: str) -> StoreError:
    planned = ", ".join(str(look.seeds) for look in earlier)
    return StoreError(
        f"{store.dataset} was looked at already, by a design with looks at {planned} seeds; repeat its "
        f"{options}--seeds {earlier[-1].seeds} and shapes to go on, or give another --out"
    )
