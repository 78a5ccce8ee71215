"""The page about planning: seeds needed, boosts within reach, power."""

from __future__ import annotations

import math
from collections.abc import Iterator

from abtune.report.page import SHAPE, Bullets, Grid, Heading, Part, Prose, column, filled
from abtune.sections.power.seed_plan import SeedPlan, SideNoise
from abtune.text import NOTHING, plain_percent, spread_percent

_MOST = 100_000


def power_page(plan: SeedPlan, source: str) -> tuple[Part, ...]:
    """Compose the page.

    Parameters
    ----------
    plan : SeedPlan
        What was found.
    source : str
        Where the noise comes from, in words.
    """
    return tuple(_parts(plan, source))


def _parts(plan: SeedPlan, source: str) -> Iterator[Part]:
    yield Heading(text="power", minor=False)
    yield Prose(text=_setting(plan, source), remark=False)
    yield Heading(
        text=f"seeds a side that find a boost with {plain_percent(plan.goal.target)} power", minor=True
    )
    yield _needs(plan)
    yield Heading(text="what a number of seeds a side finds", minor=True)
    yield _reaches(plan)
    if plan.shapes:
        yield Heading(text="seeds a side, shape by shape", minor=True)
        yield _shapes(plan)
    yield Bullets(items=tuple(_notes(plan)))


def _setting(plan: SeedPlan, source: str) -> str:
    goal = plan.goal
    correction = f"Holm over {goal.shapes} shapes" if goal.shapes > 1 else "one shape, no correction"
    return (
        f"Noise of log latency over seeds, {source}: {_noise(plan.baseline)}, {_noise(plan.candidate)}. "
        f"Level {plain_percent(goal.alpha)}, {correction}. A slowdown by the same ratio is as easy to find."
    )


def _noise(side: SideNoise) -> str:
    bounds = "" if math.isnan(side.low) else f" ({spread_percent(side.low)} to {spread_percent(side.high)})"
    return f"{side.config} {spread_percent(side.spread)}%{bounds}"


def _needs(plan: SeedPlan) -> Grid:
    return Grid(
        stub="boost",
        labels=tuple(plain_percent(need.boost) for need in plan.needs),
        columns=filled(
            [
                column("seeds", [_seeds(need.seeds) for need in plan.needs]),
                column("core hours", [_hours(need.core_hours) for need in plan.needs], gives_way=1),
                column("GPU hours", [_hours(need.gpu_hours) for need in plan.needs], gives_way=2),
            ]
        ),
    )


def _reaches(plan: SeedPlan) -> Grid:
    reaches, boosts = plan.reaches, plan.goal.boosts
    chances = [
        column(plain_percent(boost), [_chance(reach.power[at]) for reach in reaches], gives_way=3 + at)
        for at, boost in enumerate(boosts)
    ]
    return Grid(
        stub="seeds",
        labels=tuple(str(reach.seeds) for reach in reaches),
        columns=filled(
            [
                column("detectable %", [_detectable(reach.detectable) for reach in reaches]),
                *chances,
                column("core hours", [_hours(reach.core_hours) for reach in reaches], gives_way=1),
                column("GPU hours", [_hours(reach.gpu_hours) for reach in reaches], gives_way=2),
            ]
        ),
    )


def _shapes(plan: SeedPlan) -> Grid:
    sides = [(spread_percent(row.baseline), spread_percent(row.candidate)) for row in plan.shapes]
    boosts = plan.goal.boosts
    return Grid(
        stub=SHAPE,
        labels=tuple(row.shape for row in plan.shapes),
        columns=(
            column("noise %", ["/".join(pair) for pair in sides], gives_way=len(boosts) + 1),
            *(
                column(plain_percent(boost), [_seeds(row.seeds[at]) for row in plan.shapes], gives_way=at + 1)
                for at, boost in enumerate(boosts)
            ),
        ),
    )


def _notes(plan: SeedPlan) -> Iterator[str]:
    yield from plan.caveats
    boosts = ", ".join(plain_percent(boost) for boost in plan.goal.boosts)
    yield f"Columns {boosts}: chance in percent to find a true boost of that size."
    yield (
        f"Below {plan.fewest} seeds a side no difference can pass the correction. The plan is for both tests "
        "that a verdict requires, and right to within about three percentage points."
    )
    if plan.shapes:
        yield "Shape by shape: with that shape's noise, drawn towards that of all as far as they agree."
    if plan.cost is not None:
        device = f", and at least {plan.cost.gpu_seconds:.0f} s of the GPU"
        yield (
            f"Cost: a seed of a shape, both sides together, took {plan.cost.core_seconds:.0f} s of a core"
            f"{'' if math.isnan(plan.cost.gpu_seconds) else device}."
        )


def _seeds(seeds: int) -> str:
    if seeds == 0:
        return NOTHING
    return f"{seeds:,}" if seeds <= _MOST else f"over {_MOST:,}"


def _hours(hours: float) -> str:
    if math.isnan(hours):
        return NOTHING
    return f"{hours:,.0f}" if hours >= 99.5 else f"{hours:.2g}"


def _detectable(boost: float) -> str:
    if not math.isfinite(boost):
        return "none"
    return f"{100 * boost:,.0f}" if boost >= 0.0995 else f"{100 * boost:.2g}"


def _chance(power: float) -> str:
    return ">99" if power > 0.995 else f"{100 * power:.0f}"
