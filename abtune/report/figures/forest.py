"""The forest plot: one row per shape with its boost and interval, the overall boosts as diamonds below.

Verdicts differ in colour (of Okabe and Ito's palette) and in the shape of the marker, so that the figure can
be read in grey and by the colour-blind. Every number stands beside its drawing, in the digits of the report.
"""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from abtune.compare.results import Analysis, Verdict
from abtune.report.columns import analysis_scale
from abtune.report.figures.figure import GREY, new_figure, plain, text_width
from abtune.report.figures.forest_rows import Row, forest_rows, headed_cells
from abtune.report.scale import Scale, Stretch, margin_ends, stretch, ticks
from abtune.text import percent_cell, plain_percent, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

VERDICT_COLOURS = {
    Verdict.IMPROVED: "#009e73",
    Verdict.REGRESSED: "#d55e00",
    Verdict.EQUIVALENT: "#0072b2",
    Verdict.NOT_SLOWER: "#2f6f3e",  # not of the palette: a darker green, as in HTML
    Verdict.INCONCLUSIVE: "#555555",
    Verdict.INVALID: "#777777",
}
_MARKERS = dict(zip(VERDICT_COLOURS, "^vspod", strict=True))
_HOLLOW = {Verdict.NOT_SLOWER, Verdict.INCONCLUSIVE, Verdict.INVALID}
_SIZE = 8.0  # points of letters
_ROW, _PLOT, _GAP = 0.21, 3.6, 10.0  # inch, inch, points
_WIDEST = 62  # letters in a line below the drawing
_INK = "black"


def draw_forest(analysis: Analysis, beside: Mapping[str, float] | None = None, source: str = "") -> Figure:
    """Return a figure of the boosts of an analysis: percent across, a row per shape.

    ``beside`` are boosts of another dataset by shape, drawn as crosses; ``source`` is its name.
    """
    crosses = {row.shape: (beside or {}).get(row.shape, math.nan) for row in analysis.comparisons}
    rows = forest_rows(analysis)
    height = rows[-1].y + rows[-1].height
    scale = analysis_scale(analysis, crosses.values())
    cells = headed_cells(analysis, rows)
    left = max(text_width(row.label, _SIZE, bold=row.drawn is None) for row in rows) + _GAP
    widths = [
        max(text_width(text, _SIZE, bold=not number) for number, text in enumerate(column))
        for column in zip(*cells, strict=True)
    ]
    width = _PLOT + (left + sum(widths) + _GAP * (len(widths) + 1)) / 72
    figure, (axis,) = new_figure(1, width, 0.9 + _ROW * height)
    _set_up(axis, scale, rows)
    axis.set_xlabel(_explanation(analysis, source if beside is not None else ""), fontsize=_SIZE)
    _write_labels(axis, rows, left)
    _write_cells(axis, rows, cells, widths)
    for row in rows:
        if row.drawn is not None:
            _draw_row(axis, row, scale)
    for row in rows:
        _draw_cross(axis, crosses.get(row.shape, math.nan), row.y, scale)
    return figure


def _set_up(axis: Axes, scale: Scale, rows: Sequence[Row]) -> None:
    axis.set_xlim(100 * scale.low, 100 * scale.high)
    axis.set_ylim(rows[-1].y + 0.7, -0.7)
    numbers = [100 * tick for tick in ticks(scale, 7)]
    decimals = max(0, *(-math.floor(math.log10(abs(number)) + 1e-9) for number in numbers if number))
    axis.set_xticks(numbers, [percent_cell(number / 100, decimals) for number in numbers])
    axis.tick_params(axis="both", labelsize=_SIZE)
    axis.axvline(0, color=GREY, lw=0.9, zorder=0)
    for end in margin_ends(scale.margin):
        axis.axvline(100 * end, color=GREY, lw=0.8, ls=":", zorder=0)
    axis.spines["left"].set_visible(False)


def _explanation(analysis: Analysis, source: str) -> str:
    words = f"boost of {analysis.candidate} over {analysis.baseline} (%)"
    texts = [f"{words}; dotted: margin of {plain_percent(analysis.margin)}", "thin: all shapes at once"]
    texts += [f"crosses: {source}"] if source else []
    lines = (textwrap.wrap(printable(text), _WIDEST, break_on_hyphens=False) for text in texts)
    return plain("\n".join(itertools.chain.from_iterable(lines)))


def _write_labels(axis: Axes, rows: Sequence[Row], left: float) -> None:
    """Write the labels flush left, ``left`` points before the drawing."""
    axis.set_yticks([row.y for row in rows], [plain(row.label) for row in rows])
    axis.tick_params(axis="y", length=0, pad=left)
    for row, text in zip(rows, axis.get_yticklabels(), strict=True):
        text.set_horizontalalignment("left")
        text.set_fontweight("normal" if row.drawn is not None else "bold")


def _write_cells(
    axis: Axes, rows: Sequence[Row], cells: Sequence[tuple[str, ...]], widths: Sequence[float]
) -> None:
    """Write the numbers right of the drawing, the last column flush left, the others flush right."""
    heights = [-1.0, *(row.y for row in rows)]
    verdicts = [None, *(row.verdict for row in rows)]
    inner = axis.get_yaxis_transform()
    for column, width in enumerate(widths):
        last = column == len(widths) - 1
        offset = _GAP * (column + 1) + sum(widths[:column]) + (0 if last else width)
        for y, line, verdict in zip(heights, cells, verdicts, strict=True):
            if line[column]:
                axis.annotate(
                    line[column],
                    (1, y),
                    xycoords=inner,
                    xytext=(offset, 0),
                    textcoords="offset points",
                    ha="left" if last else "right",
                    va="center_baseline",
                    fontsize=_SIZE,
                    fontweight="bold" if y < 0 else "normal",
                    color=VERDICT_COLOURS[verdict] if last and verdict else _INK,
                    annotation_clip=False,
                )


def _draw_row(axis: Axes, row: Row, scale: Scale) -> None:
    assert row.drawn is not None  # noqa: S101  # headings are not drawn
    part = stretch(row.drawn, scale)
    colour = VERDICT_COLOURS[row.verdict] if row.verdict else _INK
    for beyond, edge, marker in ((part.below, scale.low, "<"), (part.above, scale.high, ">")):
        if beyond:
            axis.plot(100 * edge, row.y, marker, color=colour, ms=6, clip_on=False, zorder=4)
    if row.verdict is None:
        _diamond(axis, part, row)
        return
    if not math.isnan(part.low):
        axis.plot([100 * part.wide_low, 100 * part.wide_high], [row.y] * 2, color=colour, lw=0.6, zorder=1)
        axis.plot([100 * part.low, 100 * part.high], [row.y] * 2, color=colour, lw=1.4, zorder=2)
    if not math.isnan(part.value):
        face = "white" if row.verdict in _HOLLOW else colour
        axis.plot(
            100 * part.value,
            row.y,
            _MARKERS[row.verdict],
            color=colour,
            mfc=face,
            ms=5.5 if row.verdict is not Verdict.EQUIVALENT else 4.8,
            mew=1.2,
            clip_on=False,  # the scale may end where the boost is
            zorder=3,
        )


def _diamond(axis: Axes, part: Stretch, row: Row) -> None:
    """Draw a boost over shapes as wide as its interval; without one, hollow: a small one would look exact."""
    if math.isnan(part.value):
        return
    if math.isnan(part.low):
        axis.plot(100 * part.value, row.y, "D", color=_INK, mfc="white", ms=5, mew=1.2, zorder=3)
        return
    across = [100 * value for value in (part.low, part.value, part.high, part.value)]
    axis.fill(across, [row.y, row.y - 0.32, row.y, row.y + 0.32], color=_INK, lw=0.8, zorder=3)


def _draw_cross(axis: Axes, boost: float, y: float, scale: Scale) -> None:
    """Draw the boost of another dataset, or an arrow if it is beyond the scale."""
    if scale.holds(boost):
        axis.plot(100 * boost, y, "x", color=_INK, ms=5, mew=1.1, zorder=5)
    elif not math.isnan(boost):
        edge, marker = (scale.low, "<") if boost < scale.low else (scale.high, ">")
        axis.plot(100 * edge, y, marker, color=_INK, ms=4, clip_on=False, zorder=5)
