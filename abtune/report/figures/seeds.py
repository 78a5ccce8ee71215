"""Every seed of both configurations on one scale, a row for each shape, and between them the boost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from abtune.compare.results import Analysis, Comparison, Side
from abtune.report.columns import shape_interval
from abtune.report.figures.figure import GREY, drawn_of, plain
from abtune.report.figures.forest import draw_row
from abtune.report.figures.forest_rows import headed_cells, shape_rows
from abtune.report.figures.panels import SIDE_COLOURS, SIZE, Floats
from abtune.report.figures.row_figure import drawable, explain_below, row_figure
from abtune.report.scale import Scale, choose_scale
from abtune.samples import Samples
from abtune.text import microseconds, plain_percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROW = 0.32  # inch
_LANES = -0.28, 0.28  # of the baseline and the candidate, from the middle of a row
_MARKERS = "o", "D"


def draw_seeds(analysis: Analysis, baseline: Samples, candidate: Samples) -> Figure:
    """Return a figure of the speed of each seed against the mean of the baseline, with the boosts."""
    rows = shape_rows(analysis)
    found = {
        row.shape: _speeds(row, [np.exp(side.value[shape]) for side in (baseline, candidate)])
        for shape, row in enumerate(analysis.comparisons)
    }
    every = [speed for sides in found.values() for side in sides for speed in side.tolist()]
    scale = drawable(choose_scale(list(map(shape_interval, analysis.comparisons)), margin=0.0, further=every))
    numbers = {row.shape: microseconds(row.baseline.latency) for row in analysis.comparisons}
    headings, *cells = headed_cells(analysis, rows)
    latency = [numbers.get(row.shape, "") for row in rows]
    cells = [("baseline, us", *headings), *((text, *line) for text, line in zip(latency, cells, strict=True))]
    figure, axis = row_figure(rows, cells, scale, _ROW)
    figure.set_label(drawn_of(sum(bool(row.shape) for row in rows), len(analysis.comparisons)))
    words = f"line: boost with its {plain_percent(analysis.level)} interval; thin: all shapes at once"
    explain_below(axis, analysis, [f"speed of each seed against the mean of {analysis.baseline} (%)", words])
    heights = {row.shape: row.y for row in rows}
    for row in (row for row in analysis.comparisons if row.shape in heights):
        for lane, (side, values) in enumerate(zip(row.sides, found[row.shape], strict=True)):
            _draw_side(axis, heights[row.shape] + _LANES[lane], lane, side, values, scale)
    for drawn in rows:
        if drawn.shape:
            draw_row(axis, drawn, scale)
    for lane, name in enumerate((analysis.baseline, analysis.candidate)):
        axis.plot([], [], label=plain(name), **_look(lane))
    figure.legend(loc="outside upper left", ncols=2, frameon=False, fontsize=SIZE)
    return figure


def _speeds(row: Comparison, latency: list[Floats]) -> list[Floats]:
    """Return the speed of the seeds of both sides, minus 1; none without a baseline to compare with."""
    if not row.baseline.n:
        return [np.empty(0)] * 2
    return [row.baseline.latency / side[~np.isnan(side)] - 1 for side in latency]


def _draw_side(axis: Axes, y: float, lane: int, side: Side, values: Floats, scale: Scale) -> None:
    """Draw the seeds of one configuration, and an arrow for those beyond the scale."""
    if not values.size:
        words = f"{side.failed} failed" if side.failed else "nothing to compare"
        axis.text(0, y, words, ha="center", va="center", color=GREY, fontsize=SIZE)
        return
    within = values[(values >= scale.low) & (values <= scale.high)]
    axis.plot(100 * within, np.full(within.size, y), clip_on=False, zorder=2, **_look(lane))
    for edge, marker, some in ((scale.low, "<", values < scale.low), (scale.high, ">", values > scale.high)):
        if some.any():
            axis.plot(100 * edge, y, marker, color=SIDE_COLOURS[lane], ms=4.5, clip_on=False, zorder=2)


def _look(lane: int) -> Any:
    colour = SIDE_COLOURS[lane]
    return {"marker": _MARKERS[lane], "ms": 3.8, "mfc": f"{colour}55", "mec": colour, "mew": 0.8, "ls": ""}
