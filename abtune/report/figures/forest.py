"""Figures of boosts, a row for each shape: the forest plot with the overall boosts, and one with every seed.

Verdicts differ in colour (Okabe and Ito's palette) and in marker, so the figure can be read in grey. Every
number stands beside its drawing, in the digits of the report.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from abtune.compare.compare import analyze
from abtune.compare.results import Analysis, Comparison, Verdict
from abtune.dataset.check import validate
from abtune.dataset.schema import labels_of
from abtune.errors import InputError
from abtune.report.columns import analysis_scale, shape_intervals
from abtune.report.figures.panels import NOTE, SIDE_COLOURS, SIZE, plain
from abtune.report.figures.row_figure import (
    INK,
    VERDICT_COLOURS,
    Row,
    draw_arrows,
    drawable,
    forest_rows,
    row_figure,
)
from abtune.report.scale import Interval, Scale, choose_scale, clipped, goes_on
from abtune.samples import extract_both
from abtune.stats.two_sample import Floats
from abtune.text import microseconds, plain_percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKERS = dict(zip(VERDICT_COLOURS, "^vspod", strict=True))
# Hollow markers are of verdicts that show no difference and no equivalence.
_HOLLOW = {Verdict.NOT_SLOWER, Verdict.INCONCLUSIVE, Verdict.INVALID}
_ROW = 0.21  # inch


def draw_forest_beside(analysis: Analysis, beside: xr.Dataset | None = None) -> Figure:
    """Return the forest plot, with the boosts of another dataset as crosses."""
    if beside is None:
        return draw_forest(analysis)
    validate(beside)
    path = Path(str(beside.encoding.get("source") or "the other dataset"))
    wanted = {row.shape for row in analysis.comparisons}
    both = [label for label in labels_of(beside, "shape") if label in wanted]
    if not both:
        raise InputError(f"{path.name} has none of the shapes that are drawn")
    same = ("baseline", "candidate", "level", "estimand")
    how = {field: getattr(analysis.settings, field) for field in same}
    boosts = {row.shape: row.boost for row in analyze(beside.sel(shape=both), **how).comparisons}
    return draw_forest(analysis, boosts, path.stem)


def draw_forest(analysis: Analysis, beside: Mapping[str, float] | None = None, source: str = "") -> Figure:
    """Return a forest plot; ``beside`` are boosts of the dataset ``source`` by shape, drawn as crosses."""
    crosses = {row.shape: (beside or {}).get(row.shape, math.nan) for row in analysis.comparisons}
    rows = forest_rows(analysis)
    scale = drawable(analysis_scale(analysis, crosses.values()))
    knowledge = " at equal knowledge" if analysis.settings.equal_knowledge else ""
    notes = [
        f"boost{knowledge} of {analysis.candidate} over {analysis.baseline} (%)",
        f"dotted: margin of {plain_percent(analysis.settings.margin)}",
    ]
    notes += [f"crosses: {source}"] * (beside is not None)
    figure, axis = row_figure(analysis, rows, scale, row_height=_ROW, notes=notes, further=crosses.values())
    for row in rows:
        if row.drawn is not None:
            draw_row(axis, row, scale)
        cross = crosses.get(row.shape, math.nan)
        if scale.holds(cross):
            axis.plot(100 * cross, row.y, "x", color=INK, ms=5, mew=1.1, zorder=5)
        beyond = {"below": cross < scale.low, "above": cross > scale.high}
        draw_arrows(axis, row.y, scale, **beyond, color=INK, ms=4, zorder=5)
    return figure


def draw_row(axis: Axes, row: Row, scale: Scale) -> None:
    """Draw the boost and the intervals of a row, in the colour and with the marker of the verdict."""
    assert row.drawn is not None  # noqa: S101  # headings are not drawn
    drawn = clipped(row.drawn, scale)
    colour = VERDICT_COLOURS[row.verdict] if row.verdict else INK
    draw_arrows(axis, row.y, scale, **goes_on(row.drawn, scale), color=colour, ms=4.5, zorder=4)
    if row.verdict is None:
        _diamond(axis, drawn, row)
        return
    if not math.isnan(drawn.low):
        axis.plot([100 * drawn.wide_low, 100 * drawn.wide_high], [row.y] * 2, color=colour, lw=0.6, zorder=1)
        axis.plot([100 * drawn.low, 100 * drawn.high], [row.y] * 2, color=colour, lw=1.4, zorder=2)
    if not math.isnan(drawn.value):
        face = "white" if row.verdict in _HOLLOW else colour
        axis.plot(
            100 * drawn.value,
            row.y,
            _MARKERS[row.verdict],
            color=colour,
            mfc=face,
            ms=5.5 if row.verdict is not Verdict.EQUIVALENT else 4.8,
            mew=1.2,
            clip_on=False,  # the scale may end where the boost is
            zorder=3,
        )


def _diamond(axis: Axes, drawn: Interval, row: Row) -> None:
    """Draw a boost over shapes as wide as its interval; without one, hollow: a small one would look exact."""
    if math.isnan(drawn.value):
        return
    if math.isnan(drawn.low):
        axis.plot(100 * drawn.value, row.y, "D", color=INK, mfc="white", ms=5, mew=1.2, zorder=3)
        return
    across = [100 * value for value in (drawn.low, drawn.value, drawn.high, drawn.value)]
    axis.fill(across, [row.y, row.y - 0.32, row.y, row.y + 0.32], color=INK, lw=0.8, zorder=3)


_SEED_ROW = 0.32  # inch
_LANES = -0.28, 0.28  # of the baseline and the candidate, from the middle of a row
_DOTS = "o", "D"


def draw_seeds(analysis: Analysis) -> Figure:
    """Return a figure of the speed of each seed against the mean of the baseline, with the boosts."""
    both = extract_both(analysis.dataset, analysis.baseline, analysis.candidate)
    rows = forest_rows(analysis, with_overall=False)
    comparisons = {row.shape: row for row in analysis.comparisons}
    values = {
        row.shape: _speeds(row, [np.exp(side.value[index]) for side in both])
        for index, row in enumerate(analysis.comparisons)
    }
    speeds = [speed for sides in values.values() for side in sides for speed in side.tolist()]
    scale = drawable(choose_scale(shape_intervals(analysis), margin=0.0, further=speeds))
    latency = (microseconds(comparisons[row.shape].baseline.latency) if row.shape else "" for row in rows)
    first = ["baseline, us", *latency]
    notes = [f"speed of each seed against the mean of {analysis.baseline} (%)"]
    known = not all(math.isnan(row.boost_low) for row in analysis.comparisons)
    notes.append(
        f"lines: boosts with {plain_percent(analysis.level)} intervals"
        if known
        else "hollow diamonds: boosts"
    )
    look: Any = {"notes": notes, "further": speeds, "first": first}
    figure, axis = row_figure(analysis, rows, scale, row_height=_SEED_ROW, **look)
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
    return {"marker": _DOTS[lane], "ms": 3.8, "mfc": f"{colour}55", "mec": colour, "mew": 0.8, "ls": ""}
