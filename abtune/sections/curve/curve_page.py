"""The page about the boost by number of trials."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from abtune.report.columns import boost_columns
from abtune.report.page import (
    FEW_SHAPES,
    SHAPE,
    Bullets,
    Drawn,
    Grid,
    Heading,
    Part,
    Prose,
    Section,
    column,
    shape_by_shape,
    table,
)
from abtune.report.scale import Interval, choose_scale
from abtune.sections.curve.curve import Curve, Point, boost_curve
from abtune.sections.section_registry import Context
from abtune.text import boost_decimals, microseconds, percent_cell

_MEANING = (
    "Boost of the best candidate after each number of trials of a search. Each interval is for its row alone."
)
_LAST = 4  # numbers of trials in the row of a shape: the first few say little


def curve_section(context: Context) -> Section:
    """Return the boost by number of trials."""
    curve = boost_curve(context.dataset, context.analysis)
    return Section(name="curve", page=tuple(curve_page(curve, context.analysis.margin)), result=curve)


def curve_page(curve: Curve, margin: float) -> Iterator[Part]:
    """Yield the parts of the page."""
    yield Heading("boost by number of trials")
    yield Prose(_MEANING, remark=True)
    if len(curve.shapes) > 1:
        yield Heading("these shapes", minor=True)
        yield _grid(curve.overall, curve.level, margin)
    if len(curve.shapes) > FEW_SHAPES:
        yield Heading("boost % of each shape", minor=True)
        yield _overview(curve)
    each: list[Part] = []
    for shape in curve.shapes:
        each += [Heading(shape.shape, minor=True), _grid(shape.points, curve.level, margin)]
    yield from shape_by_shape(each, len(curve.shapes))
    yield Bullets(curve.caveats)


def _overview(curve: Curve) -> Grid:
    """Return the boosts of each shape after the last few numbers of trials, in a row."""
    points = [shape.points[-_LAST:] for shape in curve.shapes]
    decimals = boost_decimals((row[-1].boost_high - row[-1].boost_low) / 2 for row in points)
    columns = (
        column(
            str(at[0].trials), [percent_cell(point.boost, decimals) for point in at], gives_way=_LAST - number
        )
        for number, at in enumerate(zip(*points, strict=True))
    )
    return table(SHAPE, [shape.shape for shape in curve.shapes], *columns)


def _grid(points: Sequence[Point], level: float, margin: float) -> Grid:
    drawn = tuple(Interval(low=row.boost_low, value=row.boost, high=row.boost_high) for row in points)
    decimals = boost_decimals((row.high - row.low) / 2 for row in drawn)
    # The first few trials say little: the later half of the rows decides on the scale.
    scale = choose_scale(drawn[len(drawn) // 2 :], margin=margin)
    return table(
        "trials",
        [str(point.trials) for point in points],
        column("baseline us", [microseconds(point.latency_baseline) for point in points], gives_way=4),
        column("candidate us", [microseconds(point.latency_candidate) for point in points], gives_way=3),
        *boost_columns(drawn, level=level, decimals=decimals),
        Drawn(intervals=drawn, scale=scale, gives_way=2),
    )
