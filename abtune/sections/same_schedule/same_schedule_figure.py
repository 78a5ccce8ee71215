"""The same schedules under both configurations, as a figure: a row for each shape, both directions in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from abtune.compare.results import Analysis
from abtune.report.columns import shape_interval
from abtune.report.figures.forest import draw_row
from abtune.report.figures.row_figure import drawable, forest_rows, headed_cells, row_figure
from abtune.report.figures.seeds import draw_sides, name_sides
from abtune.report.scale import choose_scale
from abtune.samples import extract_transfers
from abtune.sections.same_schedule.same_schedule import describe_same_schedule, effects
from abtune.text import plain_percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROW = 0.34  # inch


def draw_same_schedule(dataset: xr.Dataset, analysis: Analysis) -> Figure:
    """Return a figure of the effect on every schedule, beside the boost of the searches."""
    found = describe_same_schedule(dataset, analysis)
    names = found.baseline, found.candidate
    part = dataset.sel(shape=[row.shape for row in found.shapes])
    sides = [extract_transfers(part, name, *names) for name in names]
    schedules = {
        shape.shape: [np.expm1(effects(side, index)) for side in sides]
        for index, shape in enumerate(found.shapes)
    }
    best = {row.shape: row.best.boost for row in found.shapes}
    every = [boost for values in schedules.values() for side in values for boost in side.tolist()]
    drawn = list(map(shape_interval, analysis.comparisons))
    scale = drawable(choose_scale(drawn, margin=0.0, further=[*every, *best.values()]))
    kernels = ", the same kernels" if found.one_kernel else ""
    notes = (
        f"boost of {names[1]} over {names[0]} on each schedule{kernels} (%)",
        f"line: boost of the searches with its {plain_percent(found.level)} interval",
        "thin: all shapes at once",
        "star: best known kernels of both",
    )
    rows = forest_rows(analysis, with_overall=False)
    cells = headed_cells(analysis, rows)
    figure, axis = row_figure(analysis, rows, cells, scale, row_height=_ROW, notes=notes)
    for row in (row for row in rows if row.shape):
        draw_sides(axis, row.y, schedules[row.shape], scale)
        draw_row(axis, row, scale)
        if scale.holds(best[row.shape]):
            axis.plot(100 * best[row.shape], row.y, "*", color="black", mfc="white", ms=7, mew=0.9, zorder=5)
    name_sides(figure, axis, [f"a schedule that {name} chose" for name in names])
    return figure
