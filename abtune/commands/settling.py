"""A sweep that adds seeds until every shape is settled, or the seeds are spent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from abtune.stats.spending import ALPHA, LOOKS, Look, looks_from_json, looks_to_json, schedule

if TYPE_CHECKING:
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


def _looks_done(store: Store, looks: tuple[Look, ...]) -> int:
    """Return how many looks earlier sittings made."""
    from abtune.errors import StoreError

    recorded = store.recorded().get(LOOKS)
    if recorded is None:
        return 0
    earlier, done = looks_from_json(recorded)
    if done and earlier != looks:
        planned = ", ".join(str(look.seeds) for look in earlier)
        raise StoreError(
            f"{store.dataset} was looked at already, by a design with looks at {planned} seeds; repeat its "
            f"--seeds {earlier[-1].seeds} and shapes to go on, or give another --out"
        )
    return done


def _unsettled(outcome: Outcome) -> set[str]:
    import abtune

    rows = abtune.analyze(outcome.dataset, level=1 - ALPHA).comparisons
    return {row.shape for row in rows if row.verdict is abtune.Verdict.INCONCLUSIVE}
