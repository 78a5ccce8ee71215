"""The figures of an analysis by name: the only place that lists them. What draws is loaded when it draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from abtune.lazy import Function, load

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from abtune.compare.results import Analysis

# Sections import the registry beside this module, so this one names theirs by path.
_SAME = "abtune.sections.same_schedule.same_schedule"


def _draw_forest(_: xr.Dataset, analysis: Analysis) -> Figure:
    from abtune.report.figures.forest import draw_forest

    return draw_forest(analysis)


def _draw_seeds(dataset: xr.Dataset, analysis: Analysis) -> Figure:
    from abtune.report.figures.seeds import draw_seeds
    from abtune.samples import extract_both

    return draw_seeds(analysis, *extract_both(dataset, analysis.baseline, analysis.candidate))


def _draw_trials(dataset: xr.Dataset, analysis: Analysis) -> Figure:
    both = dataset.sel(config=[analysis.baseline, analysis.candidate])
    best = load("abtune.sections.curve.curve:searches_so_far")(both)
    figure: Figure = load("abtune.sections.curve.curve_figures:draw_trials")(analysis, best[:, 0], best[:, 1])
    return figure


def _draw_same_schedule(dataset: xr.Dataset, analysis: Analysis) -> Figure:
    figure: Figure = load(f"{_SAME}_figure:draw_same_schedule")(
        dataset, load(f"{_SAME}:describe_same_schedule")(dataset, analysis)
    )
    return figure


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureKind:
    """One kind of figure."""

    name: str
    words: str  # for the help
    draw: Function  # from the dataset of the analysis and the analysis
    judges: bool = True  # whether level, margin and methods change it
    beside: bool = False  # whether boosts of another dataset can be drawn, too


# The first is the default.
FIGURES = {
    kind.name: kind
    for kind in (
        FigureKind(name="forest", words="boosts with their intervals", draw=_draw_forest, beside=True),
        FigureKind(name="seeds", words="every seed", draw=_draw_seeds),
        FigureKind(
            name="trials",
            words="the best so far by number of trials",
            draw=_draw_trials,
            judges=False,
        ),
        FigureKind(
            name="same-schedule",
            words="each schedule under both configurations",
            draw=_draw_same_schedule,
        ),
    )
}
