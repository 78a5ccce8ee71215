"""The page and the figure of the same schedules: the effect of the code, in both directions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from abtune.compare.results import Analysis
from abtune.errors import InputError
from abtune.report.columns import shape_intervals
from abtune.report.page import (
    FEW_SHAPES,
    SHAPE,
    Bullets,
    Cell,
    Column,
    Drawn,
    Folded,
    Grid,
    Heading,
    Part,
    Prose,
    Section,
    Tally,
    column,
    filled,
    table,
)
from abtune.report.scale import Interval, choose_scale
from abtune.samples import extract_transfers
from abtune.sections.same_schedule.same_schedule import (
    Direction,
    Reading,
    SameSchedule,
    describe_same_schedule,
    effects,
)
from abtune.text import count, limits, percent_cell, plain_percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The verdict whose colour a reading has.
_TONES = {Reading.FASTER: "improved", Reading.SLOWER: "regressed", Reading.SAME: "equivalent"}


def same_schedule_section(analysis: Analysis, *, unfolded: bool = True) -> Section:
    """Return what rebuilding the winners under the other configuration shows."""
    same = describe_same_schedule(analysis)
    page = tuple(same_schedule_page(same, unfolded=unfolded))
    return Section(name="same_schedule", page=page, result=same, sentence=summarise(same))


def summarise(same: SameSchedule) -> str:
    """Return what is shown against the bias: gains on the schedules of the baseline, losses on the others.

    A mean boost stands there only if its interval shows the same. Means that are all equal have none.
    """
    if same.one_kernel:
        return f"{same.candidate} and {same.baseline} build the same kernels from the same schedules."
    faster, slower = same.claims
    gain, loss = "not shown faster in any single shape", "not shown slower in any single shape"
    if faster.at_least:
        gain = f"faster in at least {faster.at_least} of {count(faster.of, 'shape')}"
    if slower.at_least:
        loss = f"slower in at least {slower.at_least} of {count(slower.of, 'shape')}"

    def mean(side: Direction) -> str:
        nearest = 100 * min(abs(side.low), abs(side.high))  # to zero, which the interval excludes
        decimals = min(max(0, -math.floor(math.log10(nearest))), 3)
        interval = f"{plain_percent(same.level)} interval {limits(side.low, side.high, decimals)}"
        return f"{percent_cell(side.effect, 1)}% ({interval})"

    def said(side: Direction, builder: str, shown: str, *, is_evidence: bool) -> str:
        if side.never_built:
            return f"{builder} could build no schedule that {side.origin} chose."
        where = f"On schedules that {side.origin} chose,"
        if side.built < side.schedules:
            chosen = f"{count(side.schedules, 'schedule')} that {side.origin} chose"
            where = f"{builder} can build {side.built} of {chosen}. On these,"
        if is_evidence:
            return f"{where} {same.candidate}'s mean boost is {mean(side)}; its code is {shown}."
        return f"{where} {same.candidate}'s code is {shown}."

    theirs, own = same.of_baseline, same.of_candidate
    gained = said(theirs, same.candidate, gain, is_evidence=0 < theirs.low < theirs.high)
    return f"{gained} {said(own, same.baseline, loss, is_evidence=own.low < own.high < 0)}"


def same_schedule_page(same: SameSchedule, *, unfolded: bool = True) -> Iterator[Part]:
    """Yield the parts of the page."""
    baseline, candidate = same.baseline, same.candidate
    yield Heading("the same schedules under both configurations")
    yield Prose(summarise(same))
    if same.one_kernel:
        return
    yield Prose(
        "Each winner was built under both configurations, and both kernels were timed together. The "
        "luck of the search is the same on both sides, so what differs is the code.",
        remark=True,
    )
    yield _directions(same)
    yield Prose(
        f"Each search chose schedules that are fast in its own configuration. So a gain of {candidate} on "
        f"{baseline}'s schedules, or a loss on its own, is strong evidence. The reverse is not.",
        remark=True,
    )
    if len(same.shapes) > FEW_SHAPES:
        option, parts = "--section same-schedule", tuple(_shape_by_shape(same))
        yield Folded(summary="Shape by shape", option=option, unfolded=unfolded, parts=parts)
    else:
        yield Heading("shape by shape", minor=True)
        yield from _shape_by_shape(same)
    yield Bullets(same.caveats)


def _shape_by_shape(same: SameSchedule) -> Iterator[Part]:
    counts = Counter(row.reading for row in same.shapes)
    present = [reading for reading in Reading if counts[reading]]
    yield Tally(
        cells=tuple(Cell(text=f"{one}: {counts[one]}", tone=_TONES.get(one, "")) for one in present),
        words=tuple(present),
    )
    yield _shapes(same)
    yield Prose(_explain(same), remark=True)


def _directions(same: SameSchedule) -> Grid:
    sides = same.of_baseline, same.of_candidate
    drawn = tuple(Interval(low=side.low, value=side.effect, high=side.high, tone="overall") for side in sides)
    effects = zip(*((row.of_baseline.effect, row.of_candidate.effect) for row in same.shapes), strict=True)
    known = [[effect for effect in side if not math.isnan(effect)] for side in effects]
    positive = [f"{sum(effect > 0 for effect in side)}/{len(side)}" for side in known]
    failed = column("failed", [str(side.failed) for side in sides], gives_way=3)
    return table(
        "schedules of",
        [side.origin for side in sides],
        column("boost %", [percent_cell(side.effect, 1) for side in sides]),
        column(f"{plain_percent(same.level)} interval", map(_interval, sides)),
        Drawn(intervals=drawn, scale=choose_scale(drawn, margin=0.0), gives_way=4),
        column("shapes above 0", positive, gives_way=1),
        column("schedules", [str(side.schedules) for side in sides], gives_way=2),
        column("fit", [str(side.fitting) for side in sides]),
        column("same kernel", [str(side.same) for side in sides], gives_way=3),
        column("do not fit", [str(side.does_not_fit) for side in sides], gives_way=3),
        *([failed] if any(side.failed for side in sides) else []),
    )


def _shapes(same: SameSchedule) -> Grid:
    rows = same.shapes
    readings = [Cell(text=str(row.reading), tone=_TONES.get(row.reading, "")) for row in rows]
    columns = (
        column("reading", readings, kind="word"),
        column("search %", [percent_cell(row.boost, 1) for row in rows], gives_way=6),
        *_side_columns(same.baseline, [row.of_baseline for row in rows], 1),
        *_side_columns(same.candidate, [row.of_candidate for row in rows], 3),
        column("best known %", [percent_cell(row.best.boost, 1) for row in rows], gives_way=5),
    )
    return table(SHAPE, [row.shape for row in rows], *filled(columns))


def _side_columns(origin: str, sides: list[Direction], gives_way: int) -> Iterator[Column]:
    yield column(f"{origin}'s %", [percent_cell(side.effect, 1) for side in sides])
    yield column("interval", map(_interval, sides), gives_way=gives_way + 1)
    yield column("fit", [f"{side.fitting}/{side.tried}" for side in sides], gives_way=gives_way)


def _interval(side: Direction) -> str:
    return limits(side.low, side.high, 0)


def _explain(same: SameSchedule) -> str:
    meanings = {
        Reading.SAME: f"both intervals lie within {plain_percent(same.tolerance)}",
        Reading.MIXED: "some gain and others lose, by more than the measurement error",
        Reading.OPEN: "no other reading is shown",
    }
    used = {row.reading for row in same.shapes}
    readings = "".join(f" {reading}: {meaning}." for reading, meaning in meanings.items() if reading in used)
    baseline, candidate = same.baseline, same.candidate
    return (
        f"search: boost of the searches. {baseline}'s %, {candidate}'s %: mean boost of {candidate} on the "
        "schedules that each chose. fit: of the schedules tried, those that both build into different "
        f"kernels. best known: {candidate}'s fastest kernel against {baseline}'s, over all "
        f"schedules; a kernel of both counts as {baseline}'s. This extreme depends on luck.{readings} Faster "
        "and slower require a bootstrap-t test, corrected over the shapes (Holm), whose p is at least 1/2^n "
        "with n schedules."
    )


_ROW = 0.34  # inch


def draw_same_schedule(analysis: Analysis) -> Figure:
    """Return a figure of the effect on every schedule, beside the boost of the searches."""
    from abtune.report.figures.forest import draw_row, draw_sides, name_sides
    from abtune.report.figures.row_figure import drawable, forest_rows, row_figure

    same = describe_same_schedule(analysis)
    names = same.baseline, same.candidate
    sides = [extract_transfers(analysis.dataset, name, *names) for name in names]
    schedules = {
        shape.shape: [np.expm1(effects(side, index)) for side in sides]
        for index, shape in enumerate(same.shapes)
    }
    best = {row.shape: row.best.boost for row in same.shapes}
    boosts = [boost for values in schedules.values() for side in values for boost in side.tolist()]
    if not boosts:
        raise InputError(f"no schedule gives {names[0]} and {names[1]} two different kernels to draw")
    scale = drawable(choose_scale(shape_intervals(analysis), margin=0.0, further=[*boosts, *best.values()]))
    notes = (
        f"boost of {names[1]} over {names[0]} on each schedule (%)",
        f"lines: boosts of the searches with {plain_percent(same.level)} intervals",
        "stars: best known kernels of both",
    )
    rows = forest_rows(analysis, with_overall=False)
    figure, axis = row_figure(analysis, rows, scale, row_height=_ROW, notes=notes, further=boosts)
    for row in (row for row in rows if row.shape):
        draw_sides(axis, row.y, schedules[row.shape], scale)
        draw_row(axis, row, scale)
        if scale.holds(best[row.shape]):
            axis.plot(100 * best[row.shape], row.y, "*", color="black", mfc="white", ms=7, mew=0.9, zorder=5)
    name_sides(figure, axis, [f"a schedule that {name} chose" for name in names])
    return figure
