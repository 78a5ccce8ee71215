"""The boost at an equal number of trials, from the histories of the searches.

A latency here is the best that a search measured within its first trials. It is a little too good, because
the luckiest timing wins. The report of the winners, measured again, does not have this bias.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from abtune.compare.overall import halves_over_seeds
from abtune.compare.results import Analysis
from abtune.compare.settings import Settings
from abtune.dataset.provenance import trials_made
from abtune.dataset.schema import RunStatus, TrialStatus, labels_of
from abtune.errors import InputError
from abtune.report.columns import decimals_of, drawn_boosts
from abtune.report.page import (
    FEW_SHAPES,
    SHAPE,
    Bullets,
    Folded,
    Grid,
    Heading,
    Part,
    Prose,
    Section,
    column,
    table,
)
from abtune.report.scale import Interval, choose_scale
from abtune.stats.estimand import Estimand
from abtune.stats.estimates import EqualWithNaN, from_log
from abtune.stats.intervals.bootstrap import expanded_percentile
from abtune.stats.intervals.interval_methods import methods_for
from abtune.stats.two_sample import Booleans, Floats, Integers, TwoSample, sizes
from abtune.text import microseconds, percent_cell

OPTIMISTIC = (
    "These are the searches' own timings, not measured again. The luckiest of many timings wins, so both "
    "configurations look too fast (selection bias), more so where timings are noisier. A small boost may be "
    "this bias alone."
)
BEFORE_EXCHANGE = "Before the first exchange, each search knows only its own schedules."


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Point(EqualWithNaN):
    """The boost after a number of trials; fractions, NaN where nothing can be said."""

    trials: int
    boost: float
    boost_low: float
    boost_high: float
    latency_baseline: float  # geometric mean over seeds of the best latency so far, seconds
    latency_candidate: float
    n_baseline: int  # seeds that have found a candidate that runs; the fewest of any shape
    n_candidate: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeCurve:
    """The points of one shape."""

    shape: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """The boost by number of trials, of each shape and of the geometric mean over exactly these shapes."""

    level: float
    overall: tuple[Point, ...]
    shapes: tuple[ShapeCurve, ...]
    interval_method: str
    caveats: tuple[str, ...]


def boost_curve(analysis: Analysis) -> Curve:
    """Return the boost after 1, 2, 4, ... trials and after the most of both, each with its own interval."""
    settings = analysis.settings
    # The curve is of the typical search, whatever the report compares.
    method, *_ = methods_for(Estimand.GEOMETRIC_MEAN, paired=settings.paired).values()
    searches = analysis.dataset.sel(config=[analysis.baseline, analysis.candidate])
    most = [trials_made(searches, config).max(initial=0) for config in labels_of(searches, "config")]
    best = np.log(best_so_far(searches))[..., : min(most) or None]
    sides = [best[:, 0], best[:, 1]]
    if settings.paired:  # only whole pairs count
        # A NaN on either side reaches both, at each number of trials by itself.
        gaps = np.where(np.isnan(sides[0] + sides[1]), np.nan, 0.0)
        sides = [side + gaps for side in sides]
    powers_of_two = [1 << power for power in range(best.shape[-1].bit_length())]
    numbers = sorted({*powers_of_two, best.shape[-1]})
    steps = {step: [side[..., step - 1] for side in sides] for step in numbers}
    # The shapes of the last row make all rows: a shape that joined later would make the best so far slower.
    used = _counts([side[..., -1] for side in sides]).min(axis=0) >= 2
    points = [_points(pair, step, settings) for step, pair in steps.items()]
    mean = tuple(_overall(pair, step, used, settings) for step, pair in steps.items())
    return Curve(
        level=analysis.level,
        overall=mean,
        shapes=tuple(
            ShapeCurve(shape=row.shape, points=tuple(point[index] for point in points))
            for index, row in enumerate(analysis.comparisons)
        ),
        interval_method=method.words,
        caveats=(*_caveats(points, used), *([BEFORE_EXCHANGE] if settings.equal_knowledge else [])),
    )


def _caveats(points: Sequence[Sequence[Point]], used: Booleans) -> Iterator[str]:
    yield OPTIMISTIC
    seeds = [[(point.n_baseline, point.n_candidate) for point in row] for row in points]
    late = [row[0].trials for row, number in zip(points, seeds, strict=True) if number != seeds[-1]]
    if late:
        first = f"{max(late):,} trials" if max(late) > 1 else "trial"
        yield (
            f"Some searches find no candidate that runs in their first {first}. Rows up to there leave these "
            "searches out, and may look too fast."
        )
    if len(used) > 1 and used.any() and not used.all():
        yield (
            f"The table of these shapes has {used.sum()} of {len(used)}: in these, two searches per "
            "configuration found a candidate that runs."
        )


def _counts(sides: Sequence[Floats]) -> Integers:
    """Return the number of seeds with a value, shape (sides, shapes)."""
    return np.stack([sizes(side) for side in sides])


def _samples(sides: Sequence[Floats], settings: Settings) -> TwoSample:
    unknown = np.full((len(sides[0]), 2), np.nan)
    return (TwoSample.of_pairs if settings.paired else TwoSample)(sides[0], sides[1], unknown)


def _points(sides: Sequence[Floats], trials: int, settings: Settings) -> list[Point]:
    """Return the points of all shapes; samples have shape (shapes, seeds), log seconds."""
    interval = expanded_percentile(_samples(sides, settings), level=settings.level)
    logs = np.stack([interval.difference, interval.low, interval.high], axis=1)
    return [
        _point(trials, logs[index], [_latency(side[index : index + 1]) for side in sides], n)
        for index, n in enumerate(_counts(sides).T)
    ]


def _overall(sides: Sequence[Floats], trials: int, used: Booleans, settings: Settings) -> Point:
    """Return the mean over the shapes that all points use; NaN where one has not two seeds per side."""
    counts = _counts(sides)
    complete = bool((counts.min(axis=0) >= 2)[used].all())
    chosen = [side[used] if complete else side[:0] for side in sides]
    latency = [_latency(side) for side in chosen]
    boost = float(np.log(latency[0] / latency[1]))
    samples = _samples(chosen, settings)
    down, up = halves_over_seeds(samples, np.ones(len(samples), dtype=bool), settings.level)
    return _point(trials, np.array([boost, boost - down, boost + up]), latency, counts.min(axis=1))


def _point(trials: int, logs: Floats, latency: Sequence[float], n: Integers) -> Point:
    boost, low, high = map(from_log, logs)
    return Point(
        trials=trials,
        boost=boost,
        boost_low=low,
        boost_high=high,
        latency_baseline=latency[0],
        latency_candidate=latency[1],
        n_baseline=int(n[0]),
        n_candidate=int(n[1]),
    )


def _latency(log_latency: Floats) -> float:
    """Return the geometric mean over shapes of the geometric mean over seeds."""
    means = [row[~np.isnan(row)].mean() for row in log_latency if not np.isnan(row).all()]
    return float(np.exp(np.mean(means))) if means else math.nan


def best_so_far(dataset: xr.Dataset) -> Floats:
    """Return seconds of the best candidate after each trial, with the axes of histories; NaN for none."""
    recorded = "trial_latency" in dataset and "trial_status" in dataset
    if not recorded or not (tried := _tried(dataset)).any():
        raise InputError(
            "the dataset has no histories of trials; abtune sweep keeps them, and so does abtune import "
            "of databases and logs"
        )
    times = dataset["trial_latency"].values.astype(np.float64)
    ran = (dataset["trial_status"].values == TrialStatus.OK) & (times > 0) & np.isfinite(times)
    complete = dataset["run_status"].values == RunStatus.COMPLETE
    best = np.fmin.accumulate(np.where(ran & complete[..., np.newaxis], times, np.nan), axis=-1)
    # A file pads histories to its longest run, which may not be among the chosen ones.
    return best[..., : int(tried.max())]


def searches_so_far(dataset: xr.Dataset) -> Floats:
    """Return :func:`best_so_far`, but infinite before a candidate ran; NaN where no search is known."""
    # A run that failed was a search, whether it left a history or not; one that is missing was none.
    best = best_so_far(dataset)
    status = dataset["run_status"].values
    made = (status == RunStatus.FAILED) | ((status == RunStatus.COMPLETE) & (_tried(dataset) > 0))
    return np.where(np.isnan(best) & made[..., np.newaxis], np.inf, best)


def _tried(dataset: xr.Dataset) -> Integers:
    """Return the number of trials of each run, shape (shape, config, seed)."""
    return np.count_nonzero(dataset["trial_status"].values != TrialStatus.NOT_RUN, axis=-1)


_MEANING = "Boost of the fastest kernels so far, by number of trials. Each interval is for its row alone."
_LAST = 4  # numbers of trials in the row of a shape: the first few say little


def curve_section(analysis: Analysis) -> Section:
    """Return the boost by number of trials."""
    curve = boost_curve(analysis)
    return Section(name="curve", page=tuple(curve_page(curve, analysis.settings.margin)), result=curve)


def curve_page(curve: Curve, margin: float) -> Iterator[Part]:
    """Yield the parts of the page."""
    yield Heading("boost by number of trials")
    yield Prose(_MEANING, remark=True)
    if len(curve.shapes) > 1:
        yield Heading("these shapes", minor=True)
        yield _grid(curve.overall, curve.level, margin)
    details: list[Part] = []
    for shape in curve.shapes:
        details += [Heading(shape.shape, minor=True), _grid(shape.points, curve.level, margin)]
    if len(curve.shapes) > FEW_SHAPES:
        yield Heading("boost % of each shape", minor=True)
        yield _overview(curve)
        option, parts = f"HTML, or --shapes with at most {FEW_SHAPES} shapes", tuple(details)
        yield Folded(summary="Shape by shape, with intervals", option=option, unfolded=False, parts=parts)
    else:
        yield from details
    yield Bullets(curve.caveats)


def _overview(curve: Curve) -> Grid:
    """Return the boosts of each shape after the last few numbers of trials, in a row."""
    points = [shape.points[-_LAST:] for shape in curve.shapes]
    decimals = decimals_of((row[-1].boost_low, row[-1].boost_high) for row in points)
    columns = (
        column(
            str(reached[0].trials),
            [percent_cell(point.boost, decimals) for point in reached],
            gives_way=_LAST - number,
        )
        for number, reached in enumerate(zip(*points, strict=True))
    )
    return table(SHAPE, [shape.shape for shape in curve.shapes], *columns)


def _grid(points: Sequence[Point], level: float, margin: float) -> Grid:
    drawn = tuple(Interval(low=row.boost_low, value=row.boost, high=row.boost_high) for row in points)
    decimals = decimals_of((row.low, row.high) for row in drawn)
    # The first few trials say little: the later half of the rows decides on the scale.
    scale = choose_scale(drawn[len(drawn) // 2 :], margin=margin)
    return table(
        "trials",
        [str(point.trials) for point in points],
        column("baseline us", [microseconds(point.latency_baseline) for point in points], gives_way=4),
        column("candidate us", [microseconds(point.latency_candidate) for point in points], gives_way=3),
        *drawn_boosts(drawn, scale, level=level, decimals=decimals),
    )
