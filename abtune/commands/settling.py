"""A sweep that adds seeds until every shape is settled, or the seeds are spent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from abtune.stats.spending import ALPHA, LOOKS, Look, looks_from_json, looks_to_json, schedule

if TYPE_CHECKING:
    from abtune.errors import StoreError
    from abtune.measure.plan import Plan
    from abtune.measure.store import Store
    from abtune.measure.sweep import Outcome


def settle(plan: Plan, store: Store, carry_out: Callable[[Plan, str], Outcome]) -> Outcome:
    """Carry out a plan look by look, dropping the shapes that an analysis calls settled.

    Parameters
    ----------
    plan : Plan
        With as many seeds as may be spent.
    store : Store
        Where the sweep is kept; it records the looks that are done.
    carry_out : callable
        Carries out a plan, whose looks are recorded as the text given.

    Returns
    -------
    Outcome
        Of the last look; its dataset is that of all.

    Raises
    ------
    StoreError
        If looks were made already that are not of this design: their part of the error is spent.
    """
    from abtune.measure.assemble import assemble_store

    looks = schedule(alpha=ALPHA, most=len(plan.seeds), shapes=len(plan.shapes))
    already = _looks_done(store, looks)
    left = plan
    for number, look in enumerate(looks):
        part = left.restricted(seeds=plan.seeds[: look.seeds])
        outcome = carry_out(part, looks_to_json(looks, done=max(number, already)))
        if not outcome.stopped:
            store.amend(**{LOOKS: looks_to_json(looks, done=max(number + 1, already))})
        outcome = replace(
            outcome,
            dataset=assemble_store(plan.restricted(seeds=part.seeds), store),
            finished=sum(store.is_finished(run) for run in plan.runs),  # also of shapes settled earlier
        )
        store.save_dataset(outcome.dataset)
        if outcome.stopped:
            break
        unsettled = _unsettled(outcome)
        click.echo(
            f"{look.seeds} seeds: {len(plan.shapes) - len(unsettled)} of {len(plan.shapes)} shapes settled"
        )
        left = left.restricted(shapes=tuple(shape for shape in left.shapes if shape.label in unsettled))
        if not left.shapes:
            break
    return outcome


def require_design(plan: Plan, store: Store, *, until_settled: bool) -> None:
    """Refuse a plan that does not fit the looks that were made, before anything is searched.

    Parameters
    ----------
    plan : Plan
        With as many seeds as are asked for.
    store : Store
        Where the sweep is kept.
    until_settled : bool
        Whether the plan is to be carried out look by look. One that is not may repeat what is done, and
        add shapes; seeds that it added to a shape would be left out of every analysis.

    Raises
    ------
    StoreError
        If looks were made that are not of this design.
    """
    if until_settled:
        _looks_done(store, schedule(alpha=ALPHA, most=len(plan.seeds), shapes=len(plan.shapes)))
        return
    earlier, done = _looks_of(store)
    if not done:
        return
    finished = {(record.shape, record.config, record.seed) for record in store.records()}
    known = {shape for shape, _, _ in finished}
    runs = {(run.shape.label, run.config.name, run.seed) for run in plan.runs if run.shape.label in known}
    if len(plan.seeds) not in (earlier[done - 1].seeds, earlier[-1].seeds) or runs - finished:
        raise _another_design(store, earlier, "--until-settled ")


def _looks_done(store: Store, looks: tuple[Look, ...]) -> int:
    """Return how many looks earlier sittings made."""
    earlier, done = _looks_of(store)
    if done and earlier != looks:
        raise _another_design(store, earlier, "")
    return done


def _looks_of(store: Store) -> tuple[tuple[Look, ...], int]:
    """Return the looks that a store records, and how many of them were made."""
    recorded = store.recorded().get(LOOKS)
    return ((), 0) if recorded is None else looks_from_json(recorded)


def _another_design(store: Store, earlier: tuple[Look, ...], options: str) -> StoreError:
    from abtune.errors import StoreError

    planned = ", ".join(str(look.seeds) for look in earlier)
    return StoreError(
        f"{store.dataset} was looked at already, by a design with looks at {planned} seeds; repeat its "
        f"{options}--seeds {earlier[-1].seeds} and shapes to go on, or give another --out"
    )


def _unsettled(outcome: Outcome) -> set[str]:
    import abtune

    rows = abtune.analyze(outcome.dataset, level=1 - ALPHA).comparisons
    return {row.shape for row in rows if row.verdict is abtune.Verdict.INCONCLUSIVE}
