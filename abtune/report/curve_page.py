"""The page about the boost by number of trials."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from abtune.analyse.comparison import Aggregate, Analysis, Comparison
from abtune.analyse.convergence import Curve, Point
from abtune.report.columns import intervals
from abtune.report.drawing import span
from abtune.report.numbers import boost_decimals, microseconds, percent, plain_percent
from abtune.report.page import Bullets, Grid, Heading, Part, Prose, column, drawing

_WIDTH = 33
_AGAIN = "again"
_MEANING = (
    "Boost of the best candidate after so many trials of each search{again}. The drawing shows interval and "
    "boost; the bar is zero, < and > go on beyond. Intervals are for each row by itself."
)
_AS_REPORTED = "; again: the winners, measured again after the search, as in the report"


def curve_page(curve: Curve, analysis: Analysis) -> tuple[Part, ...]:
    """Compose the page."""
    return tuple(_parts(curve, analysis))


def _parts(curve: Curve, analysis: Analysis) -> Iterator[Part]:
    yield Heading(text="boost by number of trials", minor=False)
    yield Prose(text=_MEANING.format(again=_AS_REPORTED if curve.measured_again else ""), remark=True)
    if len(curve.shapes) > 1:
        yield Heading(text="these shapes", minor=True)
        yield _grid(curve.overall, curve.again, curve)
    for shape, row in zip(curve.shapes, analysis.comparisons, strict=True):
        yield Heading(text=shape.shape, minor=True)
        yield _grid(shape.points, row if curve.measured_again else None, curve)
    yield Bullets(items=curve.caveats)


def _grid(points: Sequence[Point], again: Comparison | Aggregate | None, curve: Curve) -> Grid:
    rows = [_row(point) for point in points] + ([_again(again)] if again else [])
    bounds = [(row.low, row.high) for row in rows]
    decimals = boost_decimals((high - low) / 2 for low, high in bounds)
    scale = _scale(rows)
    return Grid(
        stub="trials",
        labels=tuple(row.label for row in rows),
        columns=(
            column("baseline us", [microseconds(row.baseline) for row in rows], gives_way=3),
            column("candidate us", [microseconds(row.candidate) for row in rows], gives_way=2),
            column("boost %", [percent(row.boost, decimals) for row in rows]),
            column(f"{plain_percent(curve.level)} interval", intervals(bounds, decimals), gives_way=1),
            drawing(
                "drawn", [span(row.low, row.boost, row.high, scale, _WIDTH) for row in rows], gives_way=4
            ),
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """One line: what it is of, latencies in seconds, and the boost."""

    label: str
    baseline: float
    candidate: float
    boost: float
    low: float
    high: float


def _row(point: Point) -> _Row:
    return _Row(
        label=str(point.trials),
        baseline=point.latency_baseline,
        candidate=point.latency_candidate,
        boost=point.boost,
        low=point.boost_low,
        high=point.boost_high,
    )


def _again(reported: Comparison | Aggregate) -> _Row:
    """Return the line of the winners, as the report has them."""
    latency = math.nan, math.nan  # of several shapes there is none
    if isinstance(reported, Comparison):
        latency = reported.baseline.latency, reported.candidate.latency
    return _Row(
        label=_AGAIN,
        baseline=latency[0],
        candidate=latency[1],
        boost=reported.boost,
        low=reported.boost_low,
        high=reported.boost_high,
    )


def _scale(rows: Sequence[_Row]) -> tuple[float, float]:
    """Choose the ends of the drawing by the later half of the rows; the first few trials say little.

    Their boosts are on it too: of one run a side there are no intervals.
    """
    later = rows[len(rows) // 2 :]
    ends = [end for row in later for end in (row.low, row.boost, row.high) if math.isfinite(end)]
    return min(0.0, *ends, -0.01), max(0.0, *ends, 0.01)
