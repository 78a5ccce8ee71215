"""The boost by number of trials, as a figure."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from abtune.report.figures.figure import BAND, COLUMNS, GREY, INK, TITLE, new_figure, plain
from abtune.text import plain_percent, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from abtune.compare.results import Analysis
    from abtune.sections.curve.curve import Curve, Point


def draw_curve(curve: Curve, analysis: Analysis) -> Figure:
    """Draw the boost by number of trials, with its band: these shapes, then each."""
    panels = [("these shapes", curve.overall)] if len(curve.shapes) > 1 else []
    panels += [(shape.shape, shape.points) for shape in curve.shapes]
    figure, axes = new_figure(len(panels), 3.4, 2.6)
    for axis, (name, points) in zip(axes, panels, strict=True):
        _draw_points(axis, name, points)
    boost = textwrap.wrap(printable(f"boost of {analysis.candidate} over {analysis.baseline} (%)"), TITLE)
    band = f"band: {plain_percent(analysis.level)} interval"
    for axis in axes[::COLUMNS]:
        axis.set_ylabel(plain("\n".join([*boost, band])), fontsize=8)
    return figure


def _draw_points(axis: Axes, name: str, points: Sequence[Point]) -> None:
    trials = [point.trials for point in points]
    low, high, boost = (
        [100 * getattr(point, part) for point in points] for part in ("boost_low", "boost_high", "boost")
    )
    axis.axhline(0, color=GREY, lw=0.8)
    axis.fill_between(trials, low, high, color=BAND, linewidth=0)
    axis.plot(trials, boost, color=INK, marker="o", ms=3.5)
    axis.set_xscale("log", base=2)
    crowded = len(trials) > 1 and trials[-1] < 1.7 * trials[-2]
    ticks = [*trials[:-2], trials[-1]] if crowded else trials
    axis.set_xticks(ticks, list(map(str, ticks)))
    # Early boosts are anywhere, and so are the intervals of all but the last few.
    later = [end for end in (*boost[len(boost) // 2 :], *low[-3:], *high[-3:]) if math.isfinite(end)]
    if later:
        axis.set_ylim(min(*later, 0) - 2, max(*later, 0) + 2)
    axis.set_title("\n".join(textwrap.wrap(plain(name).replace("_", " "), TITLE)), fontsize=8)
    axis.set_xlabel("trials")
