"""Every seed of both configurations on one scale, a row for each shape, and between them the boost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from abtune.compare.results import Analysis, Comparison
from abtune.report.columns import shape_interval
from abtune.report.figures.figure import NOTE, SIDE_COLOURS, SIZE, plain
from abtune.report.figures.forest import draw_row
from abtune.report.figures.row_figure import draw_arrows, drawable, forest_rows, row_figure
from abtune.report.scale import Scale, choose_scale
from abtune.samples import extract_both
from abtune.stats.two_sample import Floats
from abtune.text import microseconds, plain_percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROW = 0.32  # inch
_LANES = -0.28, 0.28  # of the baseline and the candidate, from the middle of a row
_MARKERS = "o", "D"


def draw_seeds(analysis: Analysis) -> Figure:
    """Return a figure of the speed of each seed against the mean of the baseline, with the boosts."""
    both = extract_both(analysis.analysed, analysis.baseline, analysis.candidate)
    rows = forest_rows(analysis, with_overall=False)
    comparisons = {row.shape: row for row in analysis.comparisons}
    speeds = [
        _speeds(row, [np.exp(side.value[shape]) for side in both])
        for shape, row in enumerate(analysis.comparisons)
    ]
    every = [speed for sides in speeds for side in sides for speed in side.tolist()]
    scale = drawable(choose_scale(list(map(shape_interval, analysis.comparisons)), margin=0.0, further=every))
    latency = [microseconds(comparisons[row.shape].baseline.latency) if row.shape else "" for row in rows]
    first = ["baseline, us", *latency]
    notes = (
        f"speed of each seed against the mean of {analysis.baseline} (%)",
        f"line: boost with its {plain_percent(analysis.level)} interval; thin: all shapes at once",
    )
    figure, axis = row_figure(analysis, rows, scale, row_height=_ROW, notes=notes, first=first)
    values = dict(zip(comparisons, speeds, strict=True))
    for row in (row for row in rows if row.shape):
        draw_sides(axis, row.y, values[row.shape], scale)
        nothing = False
        for lane, side in enumerate(comparisons[row.shape].sides):
            if values[row.shape][lane].size or (nothing and not side.failed):
                continue  # that there is nothing is said once in a row
            nothing = not side.failed
            words = "nothing to compare" if nothing else f"{side.failed} failed"
            axis.text(0, row.y + _LANES[lane], words, **NOTE)
        draw_row(axis, row, scale)
    name_sides(figure, axis, (analysis.baseline, analysis.candidate))
    return figure


def _speeds(row: Comparison, latency: list[Floats]) -> list[Floats]:
    """Return the speed of the seeds of both sides, minus 1; none without a baseline to compare with."""
    if not row.baseline.n:
        return [np.empty(0)] * 2
    return [row.baseline.latency / side[~np.isnan(side)] - 1 for side in latency]


def draw_sides(axis: Axes, y: float, sides: Sequence[Floats], scale: Scale) -> None:
    """Draw boosts of both configurations above each other, and an arrow for those beyond the scale."""
    for lane, values in enumerate(sides):
        below, above = values < scale.low, values > scale.high
        within = values[~(below | above)]
        if within.size:  # an empty line would take its room at the corner of the figure
            height = np.full(within.size, y + _LANES[lane])
            axis.plot(100 * within, height, clip_on=False, zorder=2, **_look(lane))
        beyond = {"below": bool(below.any()), "above": bool(above.any())}
        look: Any = {"color": SIDE_COLOURS[lane], "ms": 4.5, "zorder": 2}
        draw_arrows(axis, y + _LANES[lane], scale, **beyond, **look)


def name_sides(figure: Figure, axis: Axes, names: Sequence[str]) -> None:
    """Write what the markers of both configurations are, above the figure."""
    for lane, name in enumerate(names):
        axis.plot([], [], label=plain(name), **_look(lane))
    figure.legend(loc="outside upper left", ncols=2, frameon=False, fontsize=SIZE)


def _look(lane: int) -> Any:
    colour = SIDE_COLOURS[lane]
    return {"marker": _MARKERS[lane], "ms": 3.8, "mfc": f"{colour}55", "mec": colour, "mew": 0.8, "ls": ""}
