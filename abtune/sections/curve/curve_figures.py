"""Figures of the searches: the boost by number of trials, and the best latency so far."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from abtune.compare.results import Analysis
from abtune.report.figures.figure import BAND, COLUMNS, GREY, INK, TITLE, new_figure, plain
from abtune.report.figures.panels import (
    NOTE,
    SIDE_COLOURS,
    SIZE,
    Floats,
    label_ticks,
    panel_title,
    time_unit,
    title_lines,
)
from abtune.text import plain_percent, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from abtune.sections.curve.curve import Curve, Point

_STYLES = "--", "-"


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


def draw_trials(analysis: Analysis, baseline: Floats, candidate: Floats) -> Figure:
    """Return a figure of the best so far of every search, the median over the searches bold.

    ``baseline`` and ``candidate`` are seconds, shape (shapes, seeds, trials), as :func:`searches_so_far`
    returns them.
    """
    lines = max(title_lines(row.shape) for row in analysis.comparisons)
    figure, axes = new_figure(len(analysis.comparisons), 3.2, 2.4 + 0.14 * max(lines - 2, 0))
    names = analysis.baseline, analysis.candidate
    for at, (axis, row) in enumerate(zip(axes, analysis.comparisons, strict=True)):
        panel_title(axis, row.shape, "")
        _draw_panel(axis, (baseline[at], candidate[at]))
    for name, colour, style in zip(names, SIDE_COLOURS, _STYLES, strict=True):
        axes[0].plot([], [], color=colour, ls=style, lw=2.2, label=plain(name))
    look: Any = {"frameon": False, "fontsize": SIZE, "title_fontsize": SIZE}
    title = "bold: median over the searches"
    figure.legend(loc="outside upper center", ncols=min(2, len(axes)), title=title, **look)
    return figure


def median_so_far(best: Floats) -> Floats:
    """Return the median over searches after each trial; a search that has found nothing counts as slowest.

    NaN while half of the searches have found nothing.
    """
    made = best[_made(best)]
    if not len(made):
        return np.full(best.shape[1], np.nan)
    middle = np.median(np.where(np.isnan(made), np.inf, made), axis=0)
    return np.where(np.isfinite(middle), middle, np.nan)


def _made(best: Floats) -> npt.NDArray[np.bool_]:
    """Return which rows are of searches, whether they found something or not."""
    made: npt.NDArray[np.bool_] = np.count_nonzero(~np.isnan(best), axis=1) > 0
    return made


def _ends(sides: tuple[Floats, Floats]) -> tuple[float, float]:
    """Return the ends of the axis of latencies, in seconds, without what only the first sixteenth needs.

    The first candidates are slower by factors of a hundred: on their scale all others look equal.
    """
    late = np.concatenate([side[:, side.shape[1] // 16 :].ravel() for side in sides])
    low, high = float(np.nanmin(late)), float(np.nanmax(late))
    return low / 1.1, max(high, 1.2 * low) * 1.1


def _draw_panel(axis: Axes, sides: tuple[Floats, Floats]) -> None:
    axis.tick_params(labelsize=SIZE)
    found = [np.where(np.isfinite(side), side, np.nan) for side in sides]
    if all(np.isnan(side).all() for side in found):
        axis.set_xticks([])
        axis.set_yticks([])
        words = "nothing found" if any(_made(side).any() for side in sides) else "no trials"
        axis.text(0.5, 0.5, words, transform=axis.transAxes, **NOTE)
        return
    unit = time_unit(np.concatenate([side[:, -1] for side in found]))
    trials = np.arange(1, sides[0].shape[1] + 1)
    for side, lines, colour, style in zip(sides, found, SIDE_COLOURS, _STYLES, strict=True):
        steps: Any = {"color": colour, "drawstyle": "steps-post"}
        axis.plot(trials, lines.T * unit.per_second, alpha=0.4, lw=0.7, zorder=2, **steps)
        axis.plot(trials, median_so_far(side) * unit.per_second, ls=style, lw=2.2, zorder=3, **steps)
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    ticks = [1 << power for power in range(0, int(trials[-1]).bit_length(), 2)]
    axis.set_xticks(ticks, [str(tick) for tick in ticks])
    axis.xaxis.minorticks_off()
    axis.set_ylim(*(end * unit.per_second for end in _ends((found[0], found[1]))))
    label_ticks(axis.yaxis)
    axis.set_xlabel("trials", fontsize=SIZE)
    axis.set_ylabel(f"best latency so far ({unit.name})", fontsize=SIZE)
