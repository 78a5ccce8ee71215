"""The figures of an analysis by name: the only place that lists them.

To add a figure, write a function from an analysis to a matplotlib figure, and add an entry to
``FIGURES``. ``abtune plot --kind`` and ``Analysis.plot`` offer every entry.
"""

from __future__ import annotations

from dataclasses import dataclass

from abtune.lazy import Function

JUDGING = ("level", "margin", "rng_seed", "estimand", "method", "correction")


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureKind:
    """One kind of figure."""

    name: str
    words: str  # for the help
    draw: Function  # from the analysis; with beside, another dataset too
    judged: tuple[str, ...] = JUDGING  # the options of an analysis that change it
    beside: bool = False  # whether another dataset can be drawn, too


_CURVE = "abtune.sections.curve.curve_figures"
# The first is the default.
FIGURES = {
    kind.name: kind
    for kind in (
        FigureKind(
            name="forest",
            words="boosts with their intervals",
            draw="abtune.report.figures.forest:draw_forest_beside",
            beside=True,
        ),
        FigureKind(name="seeds", words="every seed", draw="abtune.report.figures.forest:draw_seeds"),
        FigureKind(
            name="trials",
            words="the best so far by number of trials",
            draw=f"{_CURVE}:draw_searches",
            judged=(),
        ),
        FigureKind(name="curve", words="the boost by number of trials", draw=f"{_CURVE}:draw_boosts"),
        FigureKind(
            name="same-schedule",
            words="each schedule under both configurations",
            draw="abtune.sections.same_schedule.same_schedule_page:draw_same_schedule",
        ),
        FigureKind(
            name="power",
            words="the chance to find a boost, by seeds and their cost",
            draw="abtune.sections.power.power_page:draw_power",
            judged=("level",),
        ),
    )
}
