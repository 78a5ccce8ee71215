"""A figure with a row for each shape: labels, a drawing on one scale of speed, and numbers."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from abtune.compare.results import Analysis, Verdict
from abtune.compare.settings import margin_ends
from abtune.dataset.provenance import summary
from abtune.report.columns import (
    overall_decimals,
    overall_interval,
    overall_lines,
    report_decimals,
    shape_intervals,
)
from abtune.report.figures import panels
from abtune.report.scale import Interval, Scale, goes_on, ticks
from abtune.report.summary import rows_by_heading, seeds_per_shape, some_shapes, title
from abtune.report.text.labels import fit_labels
from abtune.text import NOTHING, count, limits, percent_cell, plain_percent, printable

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
# A logarithmic axis of boosts in percent: half as fast lies as far from zero as twice as fast.
BOOST_AXIS: Any = {
    "value": "function",
    "functions": (lambda percent: np.log1p(percent / 100), lambda log: 100 * np.expm1(log)),
}
INK = "black"
_PLOT, _GAP = 3.6, 10.0  # inch, points
_SLOWEST = -0.95  # the least boost that is drawn
_FAR = 8.0  # the ratio of speeds at the ends of an axis from which on its ticks are not at equal steps
_WIDEST = 62  # letters in a line below the drawing
_LABEL = 44  # characters of a line
_LINE = 0.75  # rows that a further line of a label takes
_BETWEEN = 0.4  # rows between groups
_VERDICT = "verdict"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row as it is drawn."""

    label: str  # at the left; long labels have several lines
    y: float = 0.0  # its middle; 0 is the top, and a line of text takes 1
    cells: tuple[str, ...] = ()  # the texts at its right
    drawn: Interval | None = None  # None for headings
    shape: str = ""  # empty for overall boosts and headings

    @property
    def height(self) -> float:
        """The room it takes."""
        return 1 + _LINE * self.label.count("\n")

    @property
    def verdict(self) -> Verdict | None:
        """The verdict of a shape; None for overall boosts and headings."""
        return Verdict(self.drawn.tone) if self.drawn and self.shape else None


def forest_rows(analysis: Analysis, *, with_overall: bool = True) -> list[Row]:
    """Return the rows from top to bottom: the overall boosts, then groups below their headings."""
    rows: list[Row] = []
    top = 0.0
    has_overall = with_overall and overall_lines(analysis.overall)
    for group in [*([_overall(analysis)] if has_overall else []), *_groups(analysis)]:
        for row in group:
            rows.append(replace(row, y=top + (row.height - 1) / 2))
            top += row.height
        top += _BETWEEN
    return rows


def _groups(analysis: Analysis) -> list[list[Row]]:
    """Return the shapes of each workload, the largest boost first, below a heading."""
    comparisons, decimals = analysis.comparisons, report_decimals(analysis)
    intervals = shape_intervals(analysis)
    # Where all shapes lack a verdict for one reason, the verdicts say nothing.
    one = {(row.verdict, row.reason) for row in comparisons}
    silent = len(comparisons) > 1 == len(one) and comparisons[0].verdict is Verdict.INVALID
    groups = []
    for heading, members in rows_by_heading(comparisons).items():
        # Each group gets its share of the rows of a page.
        most = max(2, panels.MOST * len(members) // max(panels.MOST, len(comparisons)))
        shown = [members[i] for i in panels.extremes([comparisons[member].boost for member in members], most)]
        labels = fit_labels([printable(comparisons[member].shape) for member in shown], _LABEL)
        words = filter(None, (printable(heading), labels.shared))
        rows = [Row(label=textwrap.fill("; ".join(words), _LABEL))]
        for member, lines in zip(shown, labels.lines, strict=True):
            row, drawn = comparisons[member], intervals[member]
            cells = (*_numbers(drawn, decimals), "" if silent else row.verdict.words)
            rows.append(Row(label="\n".join(lines), cells=cells, drawn=drawn, shape=row.shape))
        if rest := set(members) - set(shown):
            # Between the largest boosts and the least.
            rows.insert(-(len(shown) // 2), _left_out([comparisons[i].verdict.words for i in sorted(rest)]))
        groups.append(rows)
    return groups


def _left_out(verdicts: Sequence[str]) -> Row:
    """Return the row that stands in place of shapes."""
    counts = ", ".join(f"{number} {verdict}" for verdict, number in Counter(verdicts).most_common())
    return Row(
        label=textwrap.fill(f"{count(len(verdicts), 'shape')} between, not drawn: {counts}", _LABEL // 2)
    )


def _overall(analysis: Analysis) -> list[Row]:
    lines = {name: overall_interval(line) for name, line in overall_lines(analysis.overall).items()}
    decimals = overall_decimals(analysis)
    rows = [
        Row(label=name, cells=(*_numbers(drawn, decimals), ""), drawn=drawn) for name, drawn in lines.items()
    ]
    return [Row(label=textwrap.fill(printable(title(analysis)), _LABEL)), *rows]


def _numbers(drawn: Interval, decimals: int) -> tuple[str, str]:
    return percent_cell(drawn.value, decimals), limits(drawn.low, drawn.high, decimals)


def drawable(scale: Scale) -> Scale:
    """Return a scale that a logarithmic axis can have: -100 % is infinitely far."""
    return replace(scale, low=max(scale.low, _SLOWEST))


def row_figure(
    analysis: Analysis,
    rows: Sequence[Row],
    scale: Scale,
    *,
    row_height: float,
    notes: Sequence[str],
    further: Iterable[float] = (),
    first: Sequence[str] = (),
) -> tuple[Figure, Axes]:
    """Return a figure with labels and numbers, and the axis to draw on.

    The notes say what is drawn, the first of them at the axis, the others below the figure. The axis also
    spans the boosts in ``further``. ``first`` is a column before the boosts: a heading, then a cell a row.
    """
    columns = _told(rows, analysis.level, first)
    left = max(panels.text_width(row.label, bold=row.drawn is None) for row in rows) + _GAP
    widths = [
        max(panels.text_width(text, bold=not number) for number, text in enumerate(one)) for one in columns
    ]
    width = _PLOT + (left + sum(widths) + _GAP * (len(widths) + 1)) / 72
    figure, (axis,) = panels.new_figure(1, width, 1.0 + row_height * (rows[-1].y + rows[-1].height))
    _set_up(axis, scale, rows)
    _write_labels(axis, rows, left)
    _write_cells(axis, rows, columns, widths)
    what, *drawn = notes
    known = [row.drawn for row in rows if row.drawn]
    drawn += ["thin lines: intervals of all shapes at once"] * any(row.wide for row in known)
    known += [Interval(low=value, value=value, high=value) for value in further]
    drawn += ["arrows: beyond the scale"] * any(any(goes_on(row, scale).values()) for row in known)
    axis.set_xlabel(panels.wrapped([what], _WIDEST), fontsize=panels.LETTERS)
    facts = summary(analysis.dataset), some_shapes(analysis), seeds_per_shape(analysis)
    origin = "; ".join(filter(None, facts))
    panels.write_below(figure, "; ".join(drawn), origin)
    figure.set_label(panels.drawn_of(sum(bool(row.shape) for row in rows), len(analysis.comparisons)))
    return figure, axis


def _told(rows: Sequence[Row], level: float, first: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the columns right of the drawing that say something, each below its heading."""
    headings = ("boost %", f"{plain_percent(level)} interval", _VERDICT)
    columns = list(zip(headings, *(row.cells or ("",) * len(headings) for row in rows), strict=True))
    columns = [tuple(first), *columns] if first else columns
    return [column for column in columns if {*column[1:]} - {"", NOTHING}]


def draw_arrows(axis: Axes, y: float, scale: Scale, *, below: bool, above: bool, **look: Any) -> None:
    """Draw an arrow at each end of the scale that something lies beyond."""
    for beyond, edge, marker in ((below, scale.low, "<"), (above, scale.high, ">")):
        if beyond:
            axis.plot(100 * edge, y, marker, clip_on=False, **look)


def _set_up(axis: Axes, scale: Scale, rows: Sequence[Row]) -> None:
    axis.set_xscale(**BOOST_AXIS)
    axis.set_xlim(100 * scale.low, 100 * scale.high)
    axis.set_ylim(rows[-1].y + 0.7, -0.7)  # the first row at the top
    numbers = _apart(scale)
    axis.set_xticks([100 * number for number in numbers], list(numbers.values()))
    axis.tick_params(axis="both", labelsize=panels.LETTERS)
    axis.axvline(0, color=panels.GREY, lw=0.9, zorder=0)
    for end in margin_ends(scale.margin):
        axis.axvline(100 * end, color=panels.GREY, lw=0.8, ls=":", zorder=0)
    axis.xaxis.minorticks_off()
    axis.spines["left"].set_visible(False)
    for words, side, away in (("slower", "right", -1), ("faster", "left", 1)):
        if away > 0 and _points(scale.high, scale) - _points(0, scale) < panels.text_width(words):
            continue  # it would stand in the heading of the numbers
        placing: Any = {"xytext": (6 * away, 0), "textcoords": "offset points", "annotation_clip": False}
        look: Any = {"color": panels.QUIET, "fontsize": panels.LETTERS, "ha": side, "va": "center_baseline"}
        axis.annotate(words, (0, -1.0), **placing, **look)


def _points(boost: float, scale: Scale) -> float:
    """Return how far from the left end of the axis a boost lies, in points."""
    low, value, high = (math.log1p(number) for number in (scale.low, boost, scale.high))
    return 72 * _PLOT * (value - low) / (high - low)


def _apart(scale: Scale) -> dict[float, str]:
    """Return round boosts with their labels, without those that would touch a label nearer to zero."""
    numbers = [*ticks(scale, 7)]
    if (1 + scale.high) / (1 + scale.low) > _FAR:  # equal steps would crowd at one end
        more = (factor * 10.0**power for power in range(-1, 8) for factor in (1, 2, 5))
        numbers = [-0.9, -0.8, -0.5, -0.2, 0, *more]
    elif min(numbers) == 0:
        numbers += [*filter(scale.holds, (-0.5, -0.2, -0.1, -0.05))][:1]
    numbers = sorted(filter(scale.holds, numbers), key=abs)
    decimals = max(0, *(-math.floor(math.log10(100 * abs(number)) + 1e-9) for number in numbers if number))
    kept: dict[float, str] = {}
    for number in numbers:
        label = percent_cell(number, decimals)
        half = panels.text_width(label) / 2
        if all(
            abs(_points(number, scale) - _points(other, scale)) > half + panels.text_width(text) / 2 + _GAP
            for other, text in kept.items()
        ):
            kept[number] = label
    return kept


def _write_labels(axis: Axes, rows: Sequence[Row], left: float) -> None:
    """Write the labels flush left, ``left`` points before the drawing."""
    axis.set_yticks([row.y for row in rows], [panels.plain(row.label) for row in rows])
    axis.tick_params(axis="y", length=0, pad=left)
    for row, text in zip(rows, axis.get_yticklabels(), strict=True):
        text.set_horizontalalignment("left")
        text.set_fontweight("normal" if row.drawn is not None else "bold")


def _write_cells(
    axis: Axes, rows: Sequence[Row], columns: Sequence[tuple[str, ...]], widths: Sequence[float]
) -> None:
    """Write the numbers right of the drawing, verdicts flush left, the others flush right."""
    heights = [-1.0, *(row.y for row in rows)]
    verdicts = [None, *(row.verdict for row in rows)]
    inner = axis.get_yaxis_transform()
    for number, (column, width) in enumerate(zip(columns, widths, strict=True)):
        words = column[0] == _VERDICT
        offset = _GAP * (number + 1) + sum(widths[:number]) + (0 if words else width)
        for y, text, verdict in zip(heights, column, verdicts, strict=True):
            if text:
                axis.annotate(
                    text,
                    (1, y),
                    xycoords=inner,
                    xytext=(offset, 0),
                    textcoords="offset points",
                    ha="left" if words else "right",
                    va="center_baseline",
                    fontsize=panels.LETTERS,
                    fontweight="bold" if y < 0 else "normal",
                    color=VERDICT_COLOURS[verdict] if words and verdict else INK,
                    annotation_clip=False,
                )
