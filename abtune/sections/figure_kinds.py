"""The figures of an analysis by name: the only place that lists them."""

from __future__ import annotations

from dataclasses import dataclass

from abtune.lazy import Function


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureKind:
    """One kind of figure."""

    name: str
    words: str  # for the help
    draw: Function  # from the dataset of the analysis and the analysis
    judges: bool = True  # whether level, margin and methods change it
    beside: bool = False  # whether boosts of another dataset can be drawn, too


_HOME = "abtune.sections.drawing.drawings"
# The first is the default.
FIGURES = {
    kind.name: kind
    for kind in (
        FigureKind(
            name="forest", words="boosts with their intervals", draw=f"{_HOME}:draw_forest", beside=True
        ),
        FigureKind(name="seeds", words="every seed", draw=f"{_HOME}:draw_seeds"),
        FigureKind(
            name="trials",
            words="the best so far by number of trials",
            draw=f"{_HOME}:draw_trials",
            judges=False,
        ),
        FigureKind(
            name="same-schedule",
            words="each schedule under both configurations",
            draw=f"{_HOME}:draw_same_schedule",
        ),
    )
}
