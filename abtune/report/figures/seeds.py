"""Every seed of both configurations, one panel per shape: the data behind the intervals of the report."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from abtune.compare.results import Analysis, Comparison, Side
from abtune.report.columns import boost_texts, report_decimals, shape_interval
from abtune.report.figures.figure import new_figure, plain
from abtune.report.figures.panels import (
    NOTE,
    SIDE_COLOURS,
    SIZE,
    Floats,
    Unit,
    label_ticks,
    panel_title,
    time_unit,
    title_lines,
)
from abtune.samples.samples import Samples
from abtune.text import NOTHING, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The axis is logarithmic if the slowest seed takes more than this many times as long as the fastest.
_FAR = 5.0
_MARKERS = ("o", "D")
_NAME = 16  # letters in a line of a configuration's name
_LINE = 0.14  # inches that a line of text takes
_LANES = 2.2  # height of a panel, in lanes
_SPREAD = 0.16  # distance between seeds across the axis, in lanes


def draw_seeds(analysis: Analysis, baseline: Samples, candidate: Samples) -> Figure:
    """Return a figure of the seeds of each shape, the baseline above, with a bar at their geometric mean."""
    figure, axes = new_figure(len(analysis.comparisons), 3.2, _height(analysis))
    texts = _results(analysis)
    for shape, (axis, row) in enumerate(zip(axes, analysis.comparisons, strict=True)):
        panel_title(axis, row.shape, texts[shape])
        sides = [np.exp(side.value[shape]) for side in (baseline, candidate)]
        _draw_panel(axis, row, [side[~np.isnan(side)] for side in sides])
    return figure


def _height(analysis: Analysis) -> float:
    """Return the height of a panel, in inches, with room for long titles and for long names in both lanes."""
    title = max(title_lines(row.shape) for row in analysis.comparisons)
    name = max(len(_named(config)) for config in (analysis.baseline, analysis.candidate))
    return 1.65 + _LINE * (max(title - 2, 0) + _LANES * max(name - 2, 0))


def _named(config: str) -> list[str]:
    return textwrap.wrap(printable(config), _NAME)


def _results(analysis: Analysis) -> list[str]:
    """Return the boost, the interval and the verdict of each shape, as the report has them."""
    drawn = [shape_interval(row) for row in analysis.comparisons]
    numbers = boost_texts(drawn, level=analysis.level, decimals=report_decimals(analysis))
    results = []
    for row, (boost, interval) in zip(analysis.comparisons, numbers, strict=True):
        bounds = f" ({interval})" if interval != NOTHING else ""
        known = f"{boost}%{bounds}, " if boost != NOTHING else ""
        results.append(f"{known}{row.verdict.value}")
    return results


def _draw_panel(axis: Axes, row: Comparison, samples: Sequence[Floats]) -> None:
    sides = (row.baseline, row.candidate)
    axis.set_ylim(_LANES - 0.6, -0.6)
    axis.set_yticks([0, 1], [plain("\n".join(_named(side.config))) for side in sides], fontsize=SIZE)
    axis.tick_params(axis="y", length=0)
    axis.tick_params(axis="x", labelsize=SIZE)
    axis.spines["left"].set_visible(False)
    times = np.concatenate(samples)
    unit = time_unit(times)
    if times.size and times.max() > _FAR * times.min():
        axis.set_xscale("log")
    for lane, (side, values) in enumerate(zip(sides, samples, strict=True)):
        _draw_side(axis, lane, side, np.sort(values), unit)
    if not times.size:
        axis.set_xticks([])
        return
    label_ticks(axis.xaxis)
    axis.set_xlabel(f"latency ({unit.name})", fontsize=SIZE)


def _draw_side(axis: Axes, lane: int, side: Side, values: Floats, unit: Unit) -> None:
    """Draw one configuration in its lane; seeds in order of latency step up and down, so that ties show."""
    if not values.size:
        words = f"{side.failed} failed" if side.failed else "no timings"
        axis.text(0.5, lane, words, transform=axis.get_yaxis_transform(), **NOTE)
        return
    steps = np.array([-1, 1, 0])[np.arange(values.size) % 3] if values.size > 1 else np.zeros(1)
    axis.plot(
        values * unit.per_second,
        lane + _SPREAD * steps,
        _MARKERS[lane],
        ms=4.5,
        mfc=f"{SIDE_COLOURS[lane]}66",
        mec=SIDE_COLOURS[lane],
        mew=0.9,
        ls="",
    )
    if not math.isnan(side.latency):
        mean = side.latency * unit.per_second
        axis.plot([mean] * 2, [lane - 0.38, lane + 0.38], color="black", lw=1.5, solid_capstyle="butt")
