"""The page about planning: seeds needed, boosts within reach, power; and its figure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from abtune.compare.results import Analysis
from abtune.dataset.provenance import summary
from abtune.report.figures.panels import GREY, new_figure, write_below
from abtune.report.page import Bullets, Column, Grid, Heading, Part, Prose, column, filled, table
from abtune.sections.power.seed_plan import Need, Reach, SeedPlan, power
from abtune.stats.testing.attainable import MOST_SEEDS, fewest_seeds, most_seeds
from abtune.text import NOTHING, count, listed, plain_percent, spread_percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST = 100_000
_MARKERS = "os^DvP"


def power_page(plan: SeedPlan, source: str) -> tuple[Part, ...]:
    """Return the page; ``source`` says in words where the noise comes from."""
    unit, target = _unit(plan), plain_percent(plan.goal.target)
    needed = f"{unit} that find a boost with {target} power"
    return (
        Heading("power"),
        Prose(_setting(plan, source)),
        Heading(needed, minor=True),
        _needs(plan),
        Heading(f"chance to find a boost, in percent, by number of {unit}", minor=True),
        _reaches(plan),
        Bullets(tuple(_notes(plan))),
    )


def _unit(plan: SeedPlan) -> str:
    return "pairs" if plan.goal.paired else "seeds per configuration"


def _setting(plan: SeedPlan, source: str) -> str:
    goal = plan.goal
    correction = f"corrected over {goal.shapes:,} shapes" if goal.shapes > 1 else "one shape, no correction"
    shared = f" for each of {goal.of_candidates} candidates" if goal.of_candidates > 1 else ""
    level = 1 - goal.alpha * goal.of_candidates
    noise = []
    for side in (plan.baseline, plan.candidate)[: 2 - goal.paired]:
        limits = f"{plain_percent(level)} interval {spread_percent(side.low)} to {spread_percent(side.high)}"
        known = "" if math.isnan(side.low) else f" ({limits})"
        noise.append(f"{side.config} {spread_percent(side.spread)}%{known}")
    return (
        f"Noise (standard deviation of log latency over seeds), {source}: {', '.join(noise)}. "
        f"Level {plain_percent(goal.alpha, 3)}{shared}, {correction}. "
        "A slowdown by the same ratio has the same power."
    )


def _costs(rows: Sequence[Need | Reach], *, after: int = 0) -> tuple[Column, Column]:
    """Return the costs, which matter less than ``after`` other optional columns."""
    return (
        column("core hours", [_rounded(row.core_hours) for row in rows], gives_way=after + 1),
        column("GPU hours", [_rounded(row.gpu_hours) for row in rows], gives_way=after + 2),
    )


def _needs(plan: SeedPlan) -> Grid:
    seeds = column("pairs" if plan.goal.paired else "seeds", [_seeds(need.seeds) for need in plan.needs])
    boosts = [plain_percent(need.boost) for need in plan.needs]
    return table("boost", boosts, *filled([seeds, *_costs(plan.needs)]))


def _reaches(plan: SeedPlan) -> Grid:
    reaches = plan.reaches
    detectable = column("detectable %", [_rounded(100 * reach.detectable) for reach in reaches])
    powers = [
        column(
            plain_percent(boost),
            [">99" if reach.power[index] > 0.995 else f"{100 * reach.power[index]:.0f}" for reach in reaches],
            gives_way=index + 1,
        )
        for index, boost in enumerate(plan.goal.boosts)
    ]
    stub = "pairs" if plan.goal.paired else "seeds"
    columns = filled([detectable, *powers, *_costs(reaches, after=len(powers))])
    return table(stub, [str(reach.seeds) for reach in reaches], *columns)


def _notes(plan: SeedPlan) -> Iterator[str]:
    yield from plan.caveats
    if plan.goal.correlation is not None:
        yield f"The correlation of pairs, {plan.goal.correlation:g}, is given, not measured."
    yield f"detectable %: the smallest boost that is found with {plain_percent(plan.goal.target)} power."
    few = f"Below {plan.fewest} {_unit(plan)} no shape can be shown to differ. "
    fewest, most = (bound(smallest=plan.goal.requirement.level) for bound in (fewest_seeds, most_seeds))
    without_holm = [f"Below {fewest}"] * (plan.fewest < fewest) + [f"above {most}"] * (most < MOST_SEEDS)
    if plan.goal.requirement.holm_first and without_holm:
        numbers = listed(without_holm) if fewest < MOST_SEEDS else "With any number of"
        yield f"{numbers} {_unit(plan)} the correction is max-T, because Holm's can show no difference."
    tests = "the test of a verdict finds" if plan.goal.paired else "both tests of a verdict find"
    yield f"{few * (plan.fewest < MOST_SEEDS)}A boost is found if {tests} it."
    yield (
        "The power is right to about seven percentage points if the noise is normal and as large as stated. "
        "Noisier shapes have less power."
    )
    if plan.cost is not None:
        gpu = plan.cost.gpu_seconds
        device = "" if math.isnan(gpu) else f" and at least {gpu:,.0f} s on the GPU"
        seconds = f"{plan.cost.core_seconds:,.0f} core seconds{device}"
        yield f"Cost of one seed of one shape: {seconds}, for both configurations together."


def _seeds(seeds: int | None) -> str:
    if not seeds:
        return "none" if seeds is None else NOTHING
    return f"{seeds:,}" if seeds <= _MOST else f"over {_MOST:,}"


def _rounded(number: float) -> str:
    """Return two significant digits, or all before the point; a dash for NaN, and none for infinity."""
    if not math.isfinite(number):
        return NOTHING if math.isnan(number) else "none"
    return f"{number:,.0f}" if number >= 99.5 else f"{number:.2g}"


def draw_power(analysis: Analysis) -> Figure:
    """Return a figure of the power to find each boost by the number of seeds, with their cost above."""
    dataset, names = analysis.dataset, (analysis.baseline, analysis.candidate)
    plan = power(dataset, baseline=names[0], candidate=names[1], level=analysis.level)
    figure, (axis,) = new_figure(1, 5.6, 3.6)
    from matplotlib import colormaps

    seeds = [reach.seeds for reach in plan.reaches]
    for index, boost in enumerate(plan.goal.boosts):
        powers = [100 * reach.power[index] for reach in plan.reaches]
        colour = colormaps["viridis"](0.9 * index / max(len(plan.goal.boosts) - 1, 1))
        marker, label = _MARKERS[index % len(_MARKERS)], f"{100 * boost:.6g}%"
        # Many powers are 0 or 100 %, so markers may cross the frame.
        axis.plot(seeds, powers, color=colour, marker=marker, ms=4, clip_on=False, label=label)
    axis.axhline(100 * plan.goal.target, color=GREY, lw=0.8)
    axis.set_xscale("log")
    axis.minorticks_off()
    axis.set_xticks(seeds, [str(number) for number in seeds])
    axis.set_ylim(0, 101)
    costs = {"GPU hours": [reach.gpu_hours for reach in plan.reaches]}
    costs["core hours"] = [reach.core_hours for reach in plan.reaches]
    for unit, hours in costs.items():
        if not any(map(math.isnan, hours)):
            above = axis.secondary_xaxis("top")
            above.set_xticks(seeds, [_rounded(number) for number in hours], fontsize=8)
            above.minorticks_off()
            above.set_xlabel(f"{unit} for {count(plan.goal.shapes, 'shape')}", fontsize=8)
            break
    axis.set_xlabel(_unit(plan))
    axis.set_ylabel(f"power (%); line: {plain_percent(plan.goal.target)} wanted")
    # Beside the curves, which may be anywhere; the largest boost on top, as its curve is.
    beside: Any = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
    axis.legend(title="true boost", frameon=False, fontsize=8, reverse=True, **beside)
    write_below(figure, summary(dataset))
    return figure
