"""The same schedules under both configurations, as a figure: a row for each shape, both directions in it."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from abtune.compare.results import Analysis
from abtune.report.figures.figure import GREY, SIDE_COLOURS, drawn_of, extremes, new_figure, plain, text_width
from abtune.report.text.labels import fit_labels
from abtune.samples import extract_transfers
from abtune.sections.same_schedule.same_schedule import (
    SameSchedule,
    ShapeEffect,
    describe_same_schedule,
    effects,
)
from abtune.stats.two_sample import Floats
from abtune.text import count, printable

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE = 8.0  # points of letters
_LABEL = 34  # letters in a line of a label
_ROW, _PLOT = 0.3, 4.6  # inches of a row, and of the axis
_BESIDE = 1.25  # inches of title, ticks and legend
_TITLE = 64  # letters in a line of the title
_TICKS = (-75, -50, -30, -20, -10, 0, 10, 20, 30, 50, 100, 200, 400, 900)
_MARKERS = ("o", "D")
_INTERVAL: Any = {"color": "black", "lw": 1.2, "ls": "-"}
_BOOST: Any = {"color": "black", "marker": "|", "ms": 8, "mew": 1.6, "ls": ""}
_BEST: Any = {"color": "black", "marker": "*", "mfc": "white", "ms": 7, "mew": 0.9, "ls": ""}
_FAR = 0.98  # the axis holds this share of the schedules; the others stand at its ends


def draw_same_schedule(dataset: xr.Dataset, analysis: Analysis) -> Figure:
    """Return a figure of the effect on every schedule, beside the boost of the searches."""
    found = describe_same_schedule(dataset, analysis)
    part = dataset.sel(shape=[row.shape for row in found.shapes])
    names = found.baseline, found.candidate
    sides = [extract_transfers(part, name, *names) for name in names]
    schedules = [[effects(side, index) for side in sides] for index in range(len(found.shapes))]
    order = extremes([row.best.boost for row in found.shapes])
    labels = fit_labels([printable(found.shapes[index].shape) for index in order], _LABEL)
    texts = ["\n".join(map(plain, lines)) for lines in labels.lines]
    heights = [max(1.0, 0.55 * len(lines)) for lines in labels.lines]
    tops = np.concatenate([[0.0], np.cumsum(heights)])
    height = _ROW * max(float(tops[-1]), 3.0)
    left = max(text_width(text, _SIZE) for text in texts) + 8
    some = drawn_of(len(order), len(found.shapes))
    title = _title(found, labels.shared, some)
    beside = _BESIDE + 0.2 * title.count("\n")
    figure, (axis,) = new_figure(1, _PLOT + left / 72, height + beside)
    figure.set_label(some)
    _set_up(axis, schedules, found)
    axis.set_ylim(float(tops[-1]) + 0.1, -0.1)
    middles = (tops[:-1] + tops[1:]) / 2
    axis.set_yticks(middles, texts, fontsize=_SIZE, ha="left")
    axis.tick_params(axis="y", length=0, pad=left)
    for edge in tops[1:-1]:
        axis.axhline(edge, color=GREY, lw=0.3, zorder=0)
    for y, index in zip(middles.tolist(), order, strict=True):
        _draw_row(axis, y, found.shapes[index], schedules[index])
    marks, words = _legend(axis, found)
    figure.legend(marks, words, loc="outside lower right", ncols=2, fontsize=_SIZE, frameon=False)
    axis.set_title(title, fontsize=9, loc="left")
    return figure


def _title(found: SameSchedule, shared: str, some: str) -> str:
    words = f"{found.candidate} against {found.baseline}: {some or count(len(found.shapes), 'shape')}"
    if found.one_kernel:
        words += ", the same kernels"
    said = printable(f"{words}; {shared}" if shared else words)
    return plain("\n".join(textwrap.wrap(said, _TITLE, break_on_hyphens=False)))


def _set_up(axis: Axes, schedules: Sequence[Sequence[Floats]], found: SameSchedule) -> None:
    from matplotlib.ticker import NullLocator

    boosts = [math.log1p(boost) for row in found.shapes for boost in (row.boost, row.best.boost)]
    known = [boost for boost in boosts if math.isfinite(boost)]
    # With 5 % to either side, the axis has a width where all effects are alike.
    values = np.concatenate([*itertools.chain.from_iterable(schedules), known, [-0.05, 0.05]])
    low, high = np.quantile(values, [(1 - _FAR) / 2, (1 + _FAR) / 2])
    axis.set_xscale("log")
    axis.set_xlim(math.exp(low - 0.05), math.exp(high + 0.05))
    first, last = axis.get_xlim()
    ticks = [tick for tick in _TICKS if first <= 1 + tick / 100 <= last]
    axis.set_xticks([1 + tick / 100 for tick in ticks], [f"{tick:+d}" if tick else "0" for tick in ticks])
    axis.xaxis.set_minor_locator(NullLocator())
    axis.tick_params(axis="x", labelsize=_SIZE)
    axis.axvline(1, color=GREY, lw=0.9, zorder=0)
    axis.spines["left"].set_visible(False)
    words = f"slower  |  faster: boost of {found.candidate} over {found.baseline} (%)"
    axis.set_xlabel(plain(printable(words)), fontsize=_SIZE)


def _draw_row(axis: Axes, y: float, row: ShapeEffect, schedules: Sequence[Floats]) -> None:
    first, last = axis.get_xlim()
    for lane, values, colour, marker in zip((-0.24, 0.24), schedules, SIDE_COLOURS, _MARKERS, strict=True):
        across = np.exp(values)
        within = (first <= across) & (across <= last)
        for ends, shape in ((across < first, "<"), (across > last, ">"), (within, marker)):
            here = np.clip(across[ends], first, last)
            if len(here):  # an empty line would take its room at the corner of the figure
                axis.plot(
                    here, np.full(len(here), y + lane), shape, color=colour, ms=3.2, mew=0, clip_on=False
                )
    if not math.isnan(row.boost_low):
        ends = np.clip([1 + row.boost_low, 1 + row.boost_high], first, last)
        axis.plot(ends, [y, y], **_INTERVAL)
        for end, edge, shape in ((1 + row.boost_low, first, "<"), (1 + row.boost_high, last, ">")):
            if not first <= end <= last:  # as in other figures, the interval goes on
                axis.plot(edge, y, shape, color="black", ms=4, mew=0, clip_on=False)
    for boost, mark in ((row.boost, _BOOST), (row.best.boost, _BEST)):
        if not math.isnan(boost):
            axis.plot(np.clip(1 + boost, first, last), y, **mark)


def _legend(axis: Axes, found: SameSchedule) -> tuple[list[Artist], list[str]]:
    handles: list[Artist] = [
        axis.plot([], [], marker, color=colour, ms=4, mew=0)[0]
        for colour, marker in zip(SIDE_COLOURS, _MARKERS, strict=True)
    ]
    handles.append(axis.plot([], [], **_BOOST | _INTERVAL)[0])
    handles.append(axis.plot([], [], **_BEST)[0])
    names = [f"a schedule that {name} chose" for name in (found.baseline, found.candidate)]
    words = [*names, "boost of the searches, with its interval", "best known kernels of both"]
    return handles, [plain(printable(word)) for word in words]
