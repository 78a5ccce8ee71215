"""The page about the boost by number of trials."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from abtune.analyse.comparison import Aggregate, Analysis, Comparison
from abtune.analyse.convergence import Curve, Point
from abtune.report.columns import intervals
from abtune.report.drawing import span
from abtune.report.numbers import boost_decimals, microseconds, percent, plain_percent
from abtune.report.page import Bullets, Grid, Heading, Part, Prose, column, drawing

_WIDTH = 33
_AGAIN = "again"
_MEANING = (
    "Boost of the best candidate after so many trials of each search; again: the winners, measured again "
    "after the search, as in the report. The drawing shows interval and boost; the bar is zero, < and > "
    "go on beyond. Intervals are for each row by itself."
)


def curve_page(curve: Curve, analysis: Analysis) -> tuple[Part, ...]:
    """Compose the page."""
    return tuple(_parts(curve, analysis))


def _parts(curve: Curve, analysis: Analysis) -> Iterator[Part]:
    yield Heading(text="boost by number of trials", minor=False)
    yield Prose(text=_MEANING, remark=True)
    if len(curve.shapes) > 1:
        yield Heading(text="these shapes", minor=True)
        yield _grid(curve.overall, analysis.overall.these_shapes, curve.level)
    for shape, row in zip(curve.shapes, analysis.comparisons, strict=True):
        yield Heading(text=shape.shape, minor=True)
        yield _grid(shape.points, row, curve.level)
    yield Bullets(items=curve.caveats)


def _grid(points: Sequence[Point], again: Comparison | Aggregate, level: float) -> Grid:
    bounds = [(point.boost_low, point.boost_high) for point in points] + [(again.boost_low, again.boost_high)]
    boosts = [*(point.boost for point in points), again.boost]
    decimals = boost_decimals((high - low) / 2 for low, high in bounds)
    scale = _scale(bounds)
    drawn = [span(low, boost, high, scale, _WIDTH) for boost, (low, high) in zip(boosts, bounds, strict=True)]
    times = [(point.latency_baseline, point.latency_candidate) for point in points]
    if isinstance(again, Comparison):
        times.append((again.baseline.latency, again.candidate.latency))
    else:
        times.append((math.nan, math.nan))
    return Grid(
        stub="trials",
        labels=(*(str(point.trials) for point in points), _AGAIN),
        columns=(
            column("baseline us", [microseconds(one) for one, _ in times], gives_way=3),
            column("candidate us", [microseconds(two) for _, two in times], gives_way=2),
            column("boost %", [percent(boost, decimals) for boost in boosts]),
            column(f"{plain_percent(level)} interval", intervals(bounds, decimals), gives_way=1),
            drawing("drawn", drawn, gives_way=4),
        ),
    )


def _scale(bounds: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Choose the ends of the drawing by the later half of the rows; the first few trials say little."""
    ends = [end for ends in bounds[len(bounds) // 2 :] for end in ends if math.isfinite(end)]
    return min(0.0, *ends, -0.01), max(0.0, *ends, 0.01)
