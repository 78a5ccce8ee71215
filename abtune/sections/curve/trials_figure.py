"""How the searches went: the best latency so far by number of trials, a panel a shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from abtune.compare.results import Analysis
from abtune.report.figures.figure import GREY, new_figure, plain
from abtune.report.figures.panels import (
    SIDE_COLOURS,
    SIZE,
    Floats,
    label_ticks,
    panel_title,
    time_unit,
    title_lines,
)

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
        Best latency after each trial; infinite or NaN before a candidate ran, infinite throughout where a
        search never found one, NaN throughout where there was no search.

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
    made = best[_made(best)]
    if not len(made):
        return np.full(best.shape[1], np.nan)
    ordered = np.sort(np.where(np.isnan(made), np.inf, made), axis=0)
    low, high = ordered[(len(made) - 1) // 2], ordered[len(made) // 2]
    with np.errstate(invalid="ignore"):  # of two that have found nothing
        middle = (low + high) / 2
    return np.where(np.isfinite(middle), middle, np.nan)


def _made(best: Floats) -> npt.NDArray[np.bool_]:
    """Tell which rows are of searches, whether they found something or not."""
    made: npt.NDArray[np.bool_] = np.count_nonzero(~np.isnan(best), axis=1) > 0
    return made


def _ends(sides: tuple[Floats, Floats]) -> tuple[float, float]:
    """Choose the ends of the axis of latencies, in seconds, without what only the first sixteenth needs.

    The first candidates are slower by factors of a hundred; on their scale nothing else can be told apart.
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
        axis.text(
            0.5,
            0.5,
            "nothing found" if any(_made(side).any() for side in sides) else "no trials",
            transform=axis.transAxes,
            ha="center",
            va="center",
            color=GREY,
            fontsize=SIZE,
        )
        return
    unit = time_unit(np.concatenate([side[:, -1] for side in found]))
    trials = np.arange(1, sides[0].shape[1] + 1)
    for side, lines, colour, style in zip(sides, found, SIDE_COLOURS, _STYLES, strict=True):
        axis.plot(
            trials,
            lines.T * unit.per_second,
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
    axis.set_ylim(*(end * unit.per_second for end in _ends((found[0], found[1]))))
    label_ticks(axis.yaxis)
    axis.set_xlabel("trials", fontsize=SIZE)
    axis.set_ylabel(f"best latency so far ({unit.name})", fontsize=SIZE)
