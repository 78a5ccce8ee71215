"""Figures of two datasets: boosts against each other, and the forest with the other boosts as crosses."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xarray as xr

from abtune.compare.compare import analyze
from abtune.compare.results import Analysis, Comparison
from abtune.dataset.schema import labels_of
from abtune.errors import InputError
from abtune.report.figures import forest
from abtune.report.figures.figure import GREY, new_figure, plain
from abtune.report.figures.row_figure import BOOST_AXIS, drawable
from abtune.report.scale import Interval, Scale, choose_scale, ticks
from abtune.sections.change.change import ChangeVerdict, compare_datasets
from abtune.sections.change.change_page import mean_words
from abtune.text import count, percent_cell, plain_percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours and markers of their own, so that the figure can be read in grey.
_LOOKS = {
    ChangeVerdict.CHANGED: ("#d55e00", "s"),
    ChangeVerdict.UNCHANGED: ("#0072b2", "D"),
    ChangeVerdict.NOT_SETTLED: ("#555555", "o"),
}
_SIZE = 4.6  # inch
_SLOWEST = -0.99  # beyond every axis; -100 % would be infinitely far


def draw_forest(_: xr.Dataset, analysis: Analysis, beside: xr.Dataset | None = None) -> Figure:
    """Return the forest plot, with the boosts of another dataset as crosses."""
    if beside is None:
        return forest.draw_forest(analysis)
    boosts = {row.shape: row.boost for row in _same_shapes(beside, analysis).comparisons}
    return forest.draw_forest(analysis, boosts, _name(beside, "the other dataset"))


def draw_agreement(dataset: xr.Dataset, first: Analysis, beside: xr.Dataset) -> Figure:
    """Return a figure of the boosts of the common shapes: on the diagonal they agree."""
    second, change = _same_shapes(beside, first), None
    # Without any interval in one of them, no change can be tested; boosts can still be drawn.
    if all(any(not math.isnan(row.boost_low) for row in one.comparisons) for one in (first, second)):
        how = {
            name: getattr(first.settings, name) for name in ("baseline", "candidate", "level", "tolerance")
        }
        change = compare_datasets(dataset, beside, **how)
    other = {row.shape: row for row in second.comparisons}
    pairs = [(row, other[row.shape]) for row in first.comparisons if row.shape in other]
    pairs = [pair for pair in pairs if not any(math.isnan(row.boost) for row in pair)]
    if not pairs:
        raise InputError("no shape has a boost in both datasets, so there is nothing to draw")
    drawn = {row.shape for row, _ in pairs}
    verdicts = {row.shape: row.verdict for row in change.shapes if row.shape in drawn} if change else {}
    figure, (axis,) = new_figure(1, _SIZE, _SIZE + (0.6 if verdicts else 0.35))
    if len(pairs) < len(first.comparisons):
        # `abtune plot` prints the label of a figure: how many of the shapes it has.
        figure.set_label(f"{len(pairs)} of {len(first.comparisons)} shapes: those with a boost in both")
    scale = choose_scale(
        [Interval(low=row.boost_low, value=row.boost, high=row.boost_high) for pair in pairs for row in pair],
        margin=first.margin,
    )
    _set_up(axis, scale)
    for a, b in pairs:
        colour, marker = _LOOKS[verdicts.get(a.shape, ChangeVerdict.NOT_SETTLED)]
        axis.plot(*_across(a, b), color=colour, lw=0.7, alpha=0.6, zorder=2)
        axis.plot(*reversed(_across(b, a)), color=colour, lw=0.7, alpha=0.6, zorder=2)
        axis.plot(100 * a.boost, 100 * b.boost, marker, color=colour, mfc="white", ms=5, zorder=3)
    words = f"boost of {first.candidate} over {first.baseline} (%)"
    lines = f"lines: {plain_percent(first.level)} intervals; dashed: the same boost"
    notes = [f"{_name(dataset, 'A')}: {words}", f"{count(len(pairs), 'shape')}; {lines}"]
    if change is not None and not math.isnan(change.overall.low):
        notes.append(f"mean change {mean_words(change.mean, change.level)}")
    axis.set_xlabel(plain("\n".join(notes)))
    axis.set_ylabel(plain(f"{_name(beside, 'B')}: {words}"))
    _explain(axis, verdicts)
    return figure


def _set_up(axis: Axes, scale: Scale) -> None:
    """Give both axes the same logarithmic scale, and draw zero and the diagonal."""
    shown = drawable(scale)
    ends = 100 * shown.low, 100 * shown.high
    numbers = [100 * tick for tick in ticks(scale, 7) if shown.holds(tick)]
    labels = [percent_cell(number / 100, 0) for number in numbers]
    axis.set_xscale(**BOOST_AXIS)
    axis.set_yscale(**BOOST_AXIS)
    axis.set(xlim=ends, ylim=ends, xticks=numbers, yticks=numbers, xticklabels=labels, yticklabels=labels)
    axis.minorticks_off()
    axis.set_box_aspect(1)
    axis.plot(ends, ends, color=GREY, lw=0.9, ls="--", zorder=0)
    axis.axvline(0, color=GREY, lw=0.8, zorder=0)
    axis.axhline(0, color=GREY, lw=0.8, zorder=0)


def _across(row: Comparison, other: Comparison) -> tuple[list[float], list[float]]:
    """Return the interval of one dataset at the boost of the other."""
    return [100 * max(row.boost_low, _SLOWEST), 100 * row.boost_high], [100 * other.boost] * 2


def _explain(axis: Axes, verdicts: Mapping[str, ChangeVerdict]) -> None:
    """Write what the markers mean and how many there are, above the drawing."""
    place: Any = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": 3, "fontsize": 8}
    for verdict, (colour, marker) in _LOOKS.items():
        if number := list(verdicts.values()).count(verdict):
            axis.plot([], [], marker, color=colour, mfc="white", ms=5, label=f"{number} {verdict}")
    if verdicts:
        axis.legend(frameon=False, **place)


def _name(dataset: xr.Dataset, unknown: str) -> str:
    """Return the name of the file that a dataset was read from."""
    return Path(str(dataset.encoding.get("source") or unknown)).stem


def _same_shapes(dataset: xr.Dataset, analysis: Analysis) -> Analysis:
    """Judge the shapes of another dataset that an analysis has."""
    wanted = {row.shape for row in analysis.comparisons}
    both = [label for label in labels_of(dataset, "shape") if label in wanted]
    if not both:
        raise InputError(f"{_name(dataset, 'the other dataset')}: it has none of the shapes that are drawn")
    part = dataset.sel(shape=both)
    same = ("baseline", "candidate", "level", "estimand")
    return analyze(part, **{name: getattr(analysis.settings, name) for name in same})
