"""Figures of the searches: the boost by number of trials, and the best latency so far."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from abtune.compare.results import Analysis
from abtune.dataset.provenance import summary
from abtune.report.figures import panels
from abtune.report.figures.row_figure import VERDICT_COLOURS
from abtune.report.summary import some_shapes
from abtune.sections.curve.curve import Curve, Point, boost_curve, searches_so_far
from abtune.stats.two_sample import Floats
from abtune.text import plain_percent, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STYLES = "--", "-"
# The width of a panel, and the least one of a figure, whose legend is this wide; inches.
_PANEL, _LEAST_WIDTH = 2.4, 5.4
_INK, _BAND = "#1f4e79", "#1f4e7933"
_FIRST = 16  # the trial from which longer histories are drawn: earlier candidates are far slower
_SLOWEST = 0.01  # share of the speeds that lies below the axis


def draw_boosts(analysis: Analysis) -> Figure:
    """Return a figure of the boost by number of trials."""
    return draw_curve(boost_curve(analysis), analysis)


def draw_searches(analysis: Analysis) -> Figure:
    """Return a figure of the best so far of every search."""
    best = searches_so_far(analysis.dataset.sel(config=[analysis.baseline, analysis.candidate]))
    return draw_trials(analysis, best[:, 0], best[:, 1])


def draw_curve(curve: Curve, analysis: Analysis) -> Figure:
    """Draw the boost by number of trials, with its band: these shapes, then each."""
    curves = [(f"these {len(curve.shapes)} shapes", curve.overall)] if len(curve.shapes) > 1 else []
    curves += [(shape.shape, shape.points) for shape in curve.shapes]
    figure, axes = panels.new_figure(len(curves), 3.4, 2.6)
    for axis, (name, points) in zip(axes, curves, strict=True):
        _draw_points(axis, name, points)
    boost = textwrap.wrap(
        printable(f"boost of {analysis.candidate} over {analysis.baseline} (%)"), panels.TITLE
    )
    band = f"band: {plain_percent(analysis.level)} interval"
    for axis in axes[:: panels.COLUMNS]:
        axis.set_ylabel(panels.plain("\n".join([*boost, band])), fontsize=8)
    panels.write_below(figure, summary(analysis.dataset))
    return figure


def _draw_points(axis: Axes, name: str, points: Sequence[Point]) -> None:
    # Early boosts are anywhere, and so are the intervals of all but the last few.
    long = bool(points) and points[-1].trials >= 4 * _FIRST
    points = [point for point in points if point.trials >= _FIRST or not long]
    trials = [point.trials for point in points]
    low, high, boost = (
        [100 * getattr(point, field) for point in points] for field in ("boost_low", "boost_high", "boost")
    )
    axis.axhline(0, color=panels.GREY, lw=0.8)
    axis.fill_between(trials, low, high, color=_BAND, linewidth=0)
    axis.plot(trials, boost, color=_INK, marker="o", ms=3.5)
    axis.set_xscale("log", base=2)
    # The last number of trials may be no power of two, and its label would overlap the one before.
    crowded = len(trials) > 1 and trials[-1] < 1.7 * trials[-2]
    ticks = [*trials[:-2], trials[-1]] if crowded else trials
    axis.set_xticks(ticks, list(map(str, ticks)))
    settled = boost[0 if long else len(boost) // 2 :]
    later = [end for end in (*settled, *low[-3:], *high[-3:]) if math.isfinite(end)]
    if later:
        axis.set_ylim(min(*later, 0) - 2, max(*later, 0) + 2)
    axis.yaxis.set_major_formatter(lambda boost, _: f"{boost:+g}" if boost else "0")
    axis.set_title(panels.shape_title(name), fontsize=8)
    axis.set_xlabel("trials")


def draw_trials(analysis: Analysis, baseline: Floats, candidate: Floats) -> Figure:
    """Return a figure of the best so far of every search, relative to the baseline at the end."""
    panels.require_matplotlib()
    from matplotlib.ticker import LogLocator, NullLocator

    drawn = sorted(panels.extremes([row.boost for row in analysis.comparisons]))
    number, names = len(drawn), (analysis.baseline, analysis.candidate)
    rows, baseline, candidate = ([analysis.comparisons[i] for i in drawn], baseline[drawn], candidate[drawn])
    columns = min(number, max(panels.COLUMNS, math.ceil(math.sqrt(number))))
    titles = [f"{panels.shape_title(row.shape)}\n{row.verdict.words}" for row in rows]
    lines = 1 + max(title.count("\n") for title in titles)
    legend = 0.8 / math.ceil(number / columns)  # its height in inches, shared by the rows of panels
    width, height = max(_PANEL, _LEAST_WIDTH / columns), 1.6 + 0.13 * lines + legend
    figure, axes = panels.new_figure(number, width, height, columns=columns)
    speeds = [_speeds(sides) for sides in zip(baseline, candidate, strict=True)]
    first = _FIRST if baseline.shape[-1] >= 4 * _FIRST else 1
    bottom, top = _ends(speeds, first)
    for axis, row, title, sides, *best_so_far in zip(
        axes, rows, titles, speeds, baseline, candidate, strict=True
    ):
        axis.set_title(title, fontsize=8, color=VERDICT_COLOURS[row.verdict])
        _draw_panel(axis, sides, not np.isnan(best_so_far).all(), first)
        axis.set_ylim(bottom, top)
        axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.yaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_minor_locator(NullLocator())
    # `abtune plot` prints the label of a figure: how many of the shapes it has.
    figure.set_label(panels.drawn_of(number, len(analysis.comparisons)))
    _explain(figure, axes, names, [str(figure.get_label()), some_shapes(analysis), summary(analysis.dataset)])
    return figure


def _explain(figure: Figure, axes: Sequence[Axes], names: Sequence[str], further: Sequence[str]) -> None:
    """Write what lines and axes are around the panels; ``further`` are lines about the shapes."""
    for name, colour, style in zip(names, panels.SIDE_COLOURS, _STYLES, strict=True):
        axes[0].plot([], [], color=colour, ls=style, lw=1.8, label=panels.plain(name))
    lines = ["bold: median over the searches; band: their middle half", *further]
    title = panels.wrapped(lines, panels.most_letters(figure))
    look: Any = {"fontsize": panels.SIZE, "title_fontsize": panels.SIZE, "frameon": False}
    figure.legend(loc="outside upper center", ncols=min(2, len(axes)), title=title, **look)
    figure.supxlabel("trials", fontsize=panels.SIZE)
    reference = textwrap.wrap(printable(f"1: {names[0]}'s median at the end"), panels.TITLE)
    figure.supylabel(panels.plain("\n".join(["speed of the best so far", *reference])), fontsize=panels.SIZE)


def _speeds(sides: tuple[Floats, Floats]) -> list[tuple[Floats, Floats, Floats]]:
    """Return the searches, the median and the middle half of each side as speeds; NaN where there is none."""
    known = [np.where(np.isfinite(side), side, np.nan) for side in sides]
    quartiles = [quartiles_so_far(side) for side in sides]
    ends = [*(middle[-1] for _, middle, _ in quartiles), *(side[:, -1].min(initial=np.inf) for side in known)]
    reference = next((float(end) for end in ends if np.isfinite(end)), math.nan)
    return [
        (reference / side, reference / middle, reference / np.stack([upper, lower]))
        for side, (upper, middle, lower) in zip(known, quartiles, strict=True)
    ]


def quartiles_so_far(best: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the upper quartile, the median and the lower quartile over searches after each trial.

    A search that has found nothing counts as slowest: without it, early medians would be too fast. The median
    is NaN while half of the searches have found nothing.
    """
    made = best[~np.isnan(best).all(axis=1)]
    if not len(made):
        none = np.full(best.shape[1], np.nan)
        return none, none, none
    times = np.where(np.isnan(made), np.inf, made)
    middle = np.median(times, axis=0)
    # inverted_cdf takes the value of a search. Interpolation between a time and infinity would give NaN.
    upper, lower = np.quantile(times, (0.75, 0.25), axis=0, method="inverted_cdf")
    return upper, np.where(np.isfinite(middle), middle, np.nan), lower


def _ends(speeds: Sequence[Sequence[tuple[Floats, Floats, Floats]]], first: int) -> tuple[float, float]:
    """Return the ends of the axis of speeds: all but the slowest of what is drawn."""
    late = np.concatenate([lines[:, first - 1 :].ravel() for sides in speeds for lines, _, _ in sides])
    late = late[np.isfinite(late)]
    if not late.size:
        return 0.5, 2.0
    return min(float(np.quantile(late, _SLOWEST)), 0.95) / 1.05, 1.05 * max(float(late.max()), 1.0)


def _draw_panel(axis: Axes, sides: Sequence[tuple[Floats, Floats, Floats]], made: bool, first: int) -> None:  # noqa: FBT001
    axis.tick_params(labelsize=panels.SIZE)
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.minorticks_off()
    if all(np.isnan(lines).all() for lines, _, _ in sides):
        words = "nothing found" if made else "no trials"
        axis.text(0.5, 0.5, words, transform=axis.transAxes, **panels.NOTE)
    trials = np.arange(1, sides[0][1].size + 1)
    for (lines, middle, band), colour, style in zip(sides, panels.SIDE_COLOURS, _STYLES, strict=True):
        if np.isnan(lines).all():  # matplotlib warns of a logarithmic axis without a number
            continue
        steps: Any = {"color": colour, "drawstyle": "steps-post"}
        axis.fill_between(trials, band[0], band[1], color=colour, alpha=0.2, lw=0, step="post", zorder=1)
        axis.plot(trials, lines.T, alpha=0.25, lw=0.4, zorder=2, **steps)
        axis.plot(trials, middle, ls=style, lw=1.8, zorder=3, **steps)
    last = int(trials[-1])
    # A power of four too near the end would touch its label.
    ticks = [1 << power for power in range(0, last.bit_length(), 2) if 1 << power < last / 1.7] + [last]
    axis.set_xticks(ticks, [str(tick) for tick in ticks])
    axis.set_xlim(first, max(int(trials[-1]), 2))
