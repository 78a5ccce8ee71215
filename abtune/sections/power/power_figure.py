"""The power curves of a plan, as a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from abtune.report.figures.figure import GREY, new_figure
from abtune.text import plain_percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from abtune.sections.power.seed_plan import SeedPlan

_MARKERS = ("o", "s", "^", "D", "v", "P")


def draw_power(plan: SeedPlan) -> Figure:
    """Draw the chance to find each boost by the number of seeds."""
    figure, (axis,) = new_figure(1, 5.0, 3.4)
    from matplotlib import colormaps  # there, or the figure would not be

    seeds = [reach.seeds for reach in plan.reaches]
    for at, boost in enumerate(plan.goal.boosts):
        chances = [100 * reach.power[at] for reach in plan.reaches]
        colour = colormaps["viridis"](0.9 * at / max(len(plan.goal.boosts) - 1, 1))
        axis.plot(
            seeds,
            chances,
            color=colour,
            marker=_MARKERS[at % len(_MARKERS)],
            ms=4,
            clip_on=False,  # many chances are 0 or 100 %
            label=f"{100 * boost:.6g}%",
        )
    axis.axhline(100 * plan.goal.target, color=GREY, lw=0.8)
    axis.set_xscale("log")
    axis.minorticks_off()
    axis.set_xticks(seeds, [str(number) for number in seeds])
    axis.set_ylim(0, 101)
    axis.set_xlabel("seeds a side")
    axis.set_ylabel(f"power (%); line: the {plain_percent(plan.goal.target)} asked for")
    # Beside the curves, which may be anywhere; the largest boost on top, as its curve is.
    axis.legend(
        title="true boost",
        frameon=False,
        fontsize=8,
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        reverse=True,
    )
    return figure
