"""A sweep that adds seeds until every shape is settled, or the seeds are spent.

How a shape is judged is the caller's choice: the measuring half imports no analysis.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import xarray as xr

from abtune.errors import StoreError
from abtune.measure.plan.plan import Plan
from abtune.measure.store.store import Store
from abtune.measure.store.to_dataset import store_to_dataset
from abtune.measure.sweep.run_sweep import Outcome
from abtune.stats.design.looks import ALPHA, LOOKS, Look, looks_from_json, looks_to_json, schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """What a sweep in looks needs of its caller.

    Attributes
    ----------
    carry_out : callable
        Carries out a plan and returns its outcome. The second argument is the text that records the looks.
    unsettled : callable
        Returns the labels of the shapes of a dataset that need more seeds.
    report : callable
        Is told after each look its number of seeds, and how many shapes are settled.
    """

    carry_out: Callable[[Plan, str], Outcome]
    unsettled: Callable[[xr.Dataset], Collection[str]]
    report: Callable[[int, int], None]


def settle(plan: Plan, store: Store, hooks: Hooks) -> Outcome:
    """Carry out a plan look by look, and drop the shapes that are settled; return the last outcome.

    Parameters
    ----------
    plan : Plan
        With all seeds that may be spent.
    store : Store
        Where the sweep is kept; it records the looks that were made.
    hooks : Hooks
        How to carry out a plan and how to judge its shapes.

    Returns
    -------
    Outcome
        Of the last look, with the dataset of all looks.

    Raises
    ------
    StoreError
        If looks were made by another design: they have spent their share of the error.
    """
    looks = looks_of(plan)
    already = _looks_done(store, looks)
    left, repeated = plan, 0
    for number, look in enumerate(looks):
        now = left.restricted(seeds=plan.seeds[: look.seeds])
        outcome = hooks.carry_out(now, looks_to_json(looks, done=max(number, already)))
        if not outcome.stopped:
            store.amend(**{LOOKS: looks_to_json(looks, done=max(number + 1, already))})
        repeated += outcome.repeated
        outcome = replace(_with_all_shapes(outcome, plan, now, store), repeated=repeated)
        store.save_dataset(outcome.dataset)
        if outcome.stopped:
            break
        unsettled = hooks.unsettled(outcome.dataset)
        hooks.report(look.seeds, len(plan.shapes) - len(unsettled))
        left = left.restricted(shapes=[shape for shape in left.shapes if shape.label in unsettled])
        if not left.shapes:
            break
    return outcome


def looks_of(plan: Plan) -> tuple[Look, ...]:
    """Return the looks of a plan that is carried out look by look."""
    return schedule(alpha=ALPHA, most=len(plan.seeds), shapes=len(plan.shapes))


def _with_all_shapes(outcome: Outcome, plan: Plan, now: Plan, store: Store) -> Outcome:
    """Return the outcome of a look with the shapes that were settled at earlier looks."""
    return replace(
        outcome,
        dataset=store_to_dataset(plan.restricted(seeds=now.seeds), store),
        finished=sum(store.is_finished(run) for run in plan.runs),
    )


def require_design(plan: Plan, store: Store, *, until_settled: bool) -> None:
    """Refuse a plan that does not fit the looks that were made, before anything is searched.

    A plan without looks may repeat what is done, and add shapes. It may add no seeds to a shape: every
    analysis would leave them out.

    Parameters
    ----------
    plan : Plan
        With all seeds that the user wants.
    store : Store
        Where the sweep is kept.
    until_settled : bool
        Whether the plan is to be carried out look by look.

    Raises
    ------
    StoreError
        If looks were made by another design.
    """
    if until_settled:
        _looks_done(store, looks_of(plan))
        return
    earlier, done = _recorded_looks(store)
    if not done:
        return
    finished = {(record.shape, record.config, record.seed) for record in store.records()}
    known = {shape for shape, _, _ in finished}
    runs = {(run.shape.label, run.config.name, run.seed) for run in plan.runs if run.shape.label in known}
    if len(plan.seeds) not in (earlier[done - 1].seeds, earlier[-1].seeds) or runs - finished:
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
