"""How the searches went: the best latency so far by number of trials, a panel a shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from abtune.analyse.comparison import Analysis
from abtune.report.figures import GREY, new_figure, plain
from abtune.report.panels import SIDE_COLOURS, SIZE, Floats, label_ticks, panel_title, time_unit, title_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STYLES = ("--", "-")


def draw_trials(analysis: Analysis, baseline: Floats, candidate: Floats) -> Figure:
    """Draw the best so far of every search, the median over the searches bold.

    Parameters
    ----------
    analysis : Analysis
        Which shapes and sides.
    baseline, candidate : ndarray, shape (shapes, seeds, trials), seconds
        Best latency after each trial; NaN before a candidate ran, and throughout where there was no search.

    Returns
    -------
    matplotlib.figure.Figure
        One axes a shape; its unit is in the label of its axis.

    Raises
    ------
    InputError
        If matplotlib is not installed.
    """
    title = max(title_lines(row.shape) for row in analysis.comparisons)
    figure, axes = new_figure(len(analysis.comparisons), 3.2, 2.4 + 0.14 * max(title - 2, 0))
    names = analysis.baseline, analysis.candidate
    for at, (axis, row) in enumerate(zip(axes, analysis.comparisons, strict=True)):
        panel_title(axis, row.shape, "")
        _draw_panel(axis, (baseline[at], candidate[at]))
    for name, colour, style in zip(names, SIDE_COLOURS, _STYLES, strict=True):
        axes[0].plot([], [], color=colour, ls=style, lw=2.2, label=plain(name))
    figure.legend(
        loc="outside upper center",
        ncols=min(2, len(axes)),
        frameon=False,
        fontsize=SIZE,
        title="bold: median over the searches",
        title_fontsize=SIZE,
    )
    return figure


def median_so_far(best: Floats) -> Floats:
    """Return the median over searches after each trial; a search that has found nothing counts as slowest.

    Parameters
    ----------
    best : ndarray, shape (seeds, trials), seconds
        As for :func:`draw_trials`; searches that were not made are left out.

    Returns
    -------
    ndarray, shape (trials,), seconds
        NaN while half of the searches have found nothing.
    """
    made = best[~np.isnan(best).all(axis=1)]
    if not len(made):
        return np.full(best.shape[1], np.nan)
    ordered = np.sort(np.where(np.isnan(made), np.inf, made), axis=0)
    low, high = ordered[(len(made) - 1) // 2], ordered[len(made) // 2]
    with np.errstate(invalid="ignore"):  # of two that have found nothing
        middle = (low + high) / 2
    return np.where(np.isfinite(middle), middle, np.nan)


def _ends(sides: tuple[Floats, Floats]) -> tuple[float, float]:
    """Choose the ends of the axis of latencies, in seconds, without what only the first sixteenth needs.

    The first candidates are slower by factors of a hundred; on their scale nothing else can be told apart.
    """
    late = np.concatenate([side[:, side.shape[1] // 16 :].ravel() for side in sides])
    low, high = float(np.nanmin(late)), float(np.nanmax(late))
    return low / 1.1, max(high, 1.2 * low) * 1.1


def _draw_panel(axis: Axes, sides: tuple[Floats, Floats]) -> None:
    axis.tick_params(labelsize=SIZE)
    known = np.concatenate([side[~np.isnan(side)] for side in sides])
    if not known.size:
        axis.set_xticks([])
        axis.set_yticks([])
        axis.text(
            0.5,
            0.5,
            "no trials",
            transform=axis.transAxes,
            ha="center",
            va="center",
            color=GREY,
            fontsize=SIZE,
        )
        return
    unit = time_unit(np.concatenate([side[:, -1] for side in sides]))
    trials = np.arange(1, sides[0].shape[1] + 1)
    for side, colour, style in zip(sides, SIDE_COLOURS, _STYLES, strict=True):
        axis.plot(
            trials,
            side.T * unit.per_second,
            color=colour,
            alpha=0.4,
            lw=0.7,
            drawstyle="steps-post",
            zorder=2,
        )
        middle = median_so_far(side) * unit.per_second
        axis.plot(trials, middle, color=colour, ls=style, lw=2.2, drawstyle="steps-post", zorder=3)
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    ticks = [1 << power for power in range(0, int(trials[-1]).bit_length(), 2)]
    axis.set_xticks(ticks, [str(tick) for tick in ticks])
    axis.xaxis.minorticks_off()
    axis.set_ylim(*(end * unit.per_second for end in _ends(sides)))
    label_ticks(axis.yaxis)
    axis.set_xlabel("trials", fontsize=SIZE)
    axis.set_ylabel(f"best latency so far ({unit.name})", fontsize=SIZE)
