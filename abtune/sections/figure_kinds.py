"""The figures of an analysis by name: the only place that lists them. It loads none of them."""

from __future__ import annotations

from typing import NamedTuple

from abtune.lazy import Function


class FigureKind(NamedTuple):
    """One kind of figure."""

    words: str  # for the help
    draw: Function  # from the analysis; with beside, another dataset too
    beside: bool = False  # whether another dataset can be drawn, too
    ignores: tuple[str, ...] = ()  # options of an analysis that change nothing in it


_FOREST, _CURVE = "abtune.report.figures.forest", "abtune.sections.curve.curve_figures"
_SAME_SCHEDULE = "abtune.sections.same_schedule.same_schedule_page:draw_same_schedule"
_POWER = "abtune.sections.power.power_page:draw_power"
# The first is the default.
FIGURES = {
    "forest": FigureKind("boosts with their intervals", f"{_FOREST}:draw_forest_beside", beside=True),
    "seeds": FigureKind("every seed", f"{_FOREST}:draw_seeds"),
    "trials": FigureKind("the best so far by number of trials", f"{_CURVE}:draw_searches"),
    "curve": FigureKind("the boost by number of trials", f"{_CURVE}:draw_boosts"),
    "same-schedule": FigureKind("each schedule under both configurations", _SAME_SCHEDULE),
    "power": FigureKind(
        "the chance to find a boost, by seeds and their cost",
        _POWER,
        ignores=("margin", "rng_seed", "estimand", "method", "correction"),
    ),
}
