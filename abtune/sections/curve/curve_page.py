"""The page about the boost by number of trials."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from abtune.compare.results import Aggregate, Analysis, Comparison
from abtune.report.columns import boost_columns
from abtune.report.page import Bullets, Drawn, Grid, Heading, Part, Prose, Section, column
from abtune.report.scale import Interval, choose_scale
from abtune.sections.curve.curve import Curve, Point, boost_curve
from abtune.sections.section_registry import Context
from abtune.text import boost_decimals, microseconds

_AGAIN = "again"
_MEANING = (
    "Boost of the best candidate after this number of trials of each search{again}. Intervals are for each "
    "row by itself."
)
_AS_REPORTED = "; again: the winners, measured again after the search, as in the report"


def curve_section(context: Context) -> Section:
    """Return the boost by number of trials, and draw it if a figure is asked for."""
    curve = boost_curve(context.dataset, context.analysis)
    if context.values.get("figure") is not None:
        # Not above: only figures need matplotlib.
        from abtune.report.figures.figure import save_figure
        from abtune.sections.curve.curve_figure import draw_curve

        save_figure(draw_curve(curve, context.analysis), context.values["figure"])
    return Section(name="curve", page=curve_page(curve, context.analysis), result=curve)


def curve_page(curve: Curve, analysis: Analysis) -> tuple[Part, ...]:
    """Compose the page."""
    return tuple(_parts(curve, analysis))


def _parts(curve: Curve, analysis: Analysis) -> Iterator[Part]:
    yield Heading(text="boost by number of trials", minor=False)
    yield Prose(text=_MEANING.format(again=_AS_REPORTED if curve.measured_again else ""), remark=True)
    if len(curve.shapes) > 1:
        yield Heading(text="these shapes", minor=True)
        yield _grid(curve.overall, curve.again, analysis)
    for shape, row in zip(curve.shapes, analysis.comparisons, strict=True):
        yield Heading(text=shape.shape, minor=True)
        yield _grid(shape.points, row if curve.measured_again else None, analysis)
    yield Bullets(items=curve.caveats)


def _grid(points: Sequence[Point], again: Comparison | Aggregate | None, analysis: Analysis) -> Grid:
    rows = [_row(point) for point in points] + ([_again(again)] if again else [])
    drawn = tuple(row.boost for row in rows)
    decimals = boost_decimals((row.high - row.low) / 2 for row in drawn)
    # The first few trials say little: the later half of the rows decides on the scale.
    scale = choose_scale(drawn[len(drawn) // 2 :], margin=analysis.margin)
    return Grid(
        stub="trials",
        labels=tuple(row.label for row in rows),
        columns=(
            column("baseline us", [microseconds(row.baseline) for row in rows], gives_way=4),
            column("candidate us", [microseconds(row.candidate) for row in rows], gives_way=3),
            *boost_columns(drawn, level=analysis.level, decimals=decimals),
            Drawn(intervals=drawn, scale=scale, gives_way=2),
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """One line: its label, latencies in seconds, and the boost."""

    label: str
    baseline: float
    candidate: float
    boost: Interval


def _row(point: Point) -> _Row:
    return _Row(
        label=str(point.trials),
        baseline=point.latency_baseline,
        candidate=point.latency_candidate,
        boost=Interval(low=point.boost_low, value=point.boost, high=point.boost_high),
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
        boost=Interval(low=reported.boost_low, value=reported.boost, high=reported.boost_high),
    )
