"""The page about the boost by number of trials."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from abtune.compare.compare import compare
from abtune.compare.results import Aggregate, Analysis, Comparison
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
from abtune.stats.estimand import Estimand
from abtune.text import boost_decimals, microseconds, percent_cell

_MEANING = (
    "Boost of the best candidate after each number of trials of a search. Each interval is for its row alone."
)
_LAST = 4  # numbers of trials in the row of a shape: the first few say little
_AGAIN = " Row again: the winners, measured again after the search, "


def curve_section(context: Context) -> Section:
    """Return the boost by number of trials."""
    curve, means = boost_curve(context.dataset, context.analysis), _of_means(context)
    page = curve_page(curve, means, as_reported=means is context.analysis)
    return Section(name="curve", page=tuple(page), result=curve)


def _of_means(context: Context) -> Analysis:
    """Return the analysis of geometric means, which the rows of the curve compare."""
    analysis, mean = context.analysis, Estimand.GEOMETRIC_MEAN
    if analysis.settings.estimand == mean:
        return analysis
    dataset = context.dataset.sel(shape=[row.shape for row in analysis.comparisons])
    return compare(dataset, replace(analysis.settings, estimand=mean, method="", test="", weights=None))


def curve_page(curve: Curve, analysis: Analysis, *, as_reported: bool = True) -> Iterator[Part]:
    """Yield the parts of the page; the analysis is that of geometric means."""
    yield Heading("boost by number of trials")
    again = _AGAIN + ("as in the report." if as_reported else "geometric means, unlike the report.")
    yield Prose(_MEANING + (again if curve.measured_again else ""), remark=True)
    if len(curve.shapes) > 1:
        yield Heading("these shapes", minor=True)
        yield _grid(curve.overall, curve.again, analysis)
    if len(curve.shapes) > FEW_SHAPES:
        yield Heading("boost % of each shape", minor=True)
        yield _overview(curve, analysis)
    each: list[Part] = []
    for shape, row in zip(curve.shapes, analysis.comparisons, strict=True):
        each.append(Heading(shape.shape, minor=True))
        each.append(_grid(shape.points, row if curve.measured_again else None, analysis))
    yield from shape_by_shape(each, len(curve.shapes))
    yield Bullets(curve.caveats)


def _overview(curve: Curve, analysis: Analysis) -> Grid:
    """Return the boosts of each shape after the last few numbers of trials, in a row."""
    points = [shape.points[-_LAST:] for shape in curve.shapes]
    again = [row.boost for row in analysis.comparisons]
    decimals = boost_decimals((row.boost_high - row.boost_low) / 2 for row in analysis.comparisons)
    columns = [
        column(
            str(at[0].trials), [percent_cell(point.boost, decimals) for point in at], gives_way=_LAST - number
        )
        for number, at in enumerate(zip(*points, strict=True))
    ]
    if curve.measured_again:
        columns.append(column("again", [percent_cell(boost, decimals) for boost in again]))
    return table(SHAPE, [shape.shape for shape in curve.shapes], *columns)


def _grid(points: Sequence[Point], again: Comparison | Aggregate | None, analysis: Analysis) -> Grid:
    rows: list[Point | Comparison | Aggregate] = [*points, *([again] if again else [])]
    latency = [(point.latency_baseline, point.latency_candidate) for point in points]
    if isinstance(again, Comparison):
        latency.append((again.baseline.latency, again.candidate.latency))
    elif again:
        latency.append((math.nan, math.nan))  # several shapes have none
    drawn = tuple(Interval(low=row.boost_low, value=row.boost, high=row.boost_high) for row in rows)
    decimals = boost_decimals((row.high - row.low) / 2 for row in drawn)
    # The first few trials say little: the later half of the rows decides on the scale.
    scale = choose_scale(drawn[len(drawn) // 2 :], margin=analysis.margin)
    return table(
        "trials",
        (*(str(point.trials) for point in points), *(["again"] if again else [])),
        column("baseline us", [microseconds(first) for first, _ in latency], gives_way=4),
        column("candidate us", [microseconds(second) for _, second in latency], gives_way=3),
        *boost_columns(drawn, level=analysis.level, decimals=decimals),
        Drawn(intervals=drawn, scale=scale, gives_way=2),
    )
