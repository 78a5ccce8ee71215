"""The boost at an equal number of trials, from the histories of the searches.

A latency here is the best that a search itself measured within its first trials. It is not measured again,
so it is a little too good (the luckiest timing wins), and both sides have this bias; the report of the
winners, measured again, does not.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import xarray as xr

from abtune.compare.overall import overall
from abtune.compare.results import Aggregate, Analysis
from abtune.dataset.build import add_variables
from abtune.dataset.provenance import of_searches
from abtune.dataset.schema import RunStatus, TrialStatus
from abtune.errors import InputError
from abtune.samples.samples import AT_TRIALS, extract
from abtune.stats.boost import from_log
from abtune.stats.clustered import clustered_variance, half_width
from abtune.stats.estimand import Estimand
from abtune.stats.intervals.expanded import expanded_percentile
from abtune.stats.intervals.interval import Interval
from abtune.stats.intervals.interval_methods import METHODS
from abtune.stats.two_sample import Floats, TwoSample
from abtune.stats.variance import moments
from abtune.text import count

OPTIMISTIC = (
    "These are the searches' own timings, not measured again: of many candidates the luckiest timing "
    "wins, so both sides look a little faster than they are."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Boost after so many trials; fractions, pointwise interval, NaN where nothing can be said.

    Attributes
    ----------
    trials : int
        Trials of each search.
    boost, boost_low, boost_high : float
    latency_baseline, latency_candidate : float
        Geometric mean over the seeds of the best latency so far, seconds.
    n_baseline, n_candidate : int
        Seeds that have found a candidate that runs; the fewest of any shape where shapes are averaged.

    Notes
    -----
    The mean over shapes is one over the same shapes at any number of trials: those in which two seeds a side
    find something in the end. Before all of them have, there is none.
    """

    trials: int
    boost: float
    boost_low: float
    boost_high: float
    latency_baseline: float
    latency_candidate: float
    n_baseline: int
    n_candidate: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeCurve:
    """The points of one shape."""

    shape: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Boost by number of trials, of each shape and of the geometric mean over exactly these shapes.

    ``measured_again`` says whether the analysis rests on timings made after the searches, and ``again`` is
    the boost of these over the shapes of ``overall``; None without such timings, or if a shape lacks them.
    """

    level: float
    measured_again: bool
    again: Aggregate | None
    overall: tuple[Point, ...]
    shapes: tuple[ShapeCurve, ...]
    interval_method: str
    caveats: tuple[str, ...]


def at_trials(dataset: xr.Dataset, trials: int) -> xr.Dataset:
    """Replace the latency of each winner by the best that its search measured within its first trials.

    Parameters
    ----------
    dataset : xarray.Dataset
        With the histories ``trial_latency`` and ``trial_status``.
    trials : int
        How many, from 1 to the longest history.

    Returns
    -------
    xarray.Dataset
        One round of one timing, and histories that end there. Left out is what is of other timings: the
        ``search_latency`` of all trials, and what was recorded while winners were measured again. An
        attribute says how many trials, so that a run in which none of them ran counts as one that found
        nothing.

    Raises
    ------
    InputError
        If there are no histories, or they are shorter.
    """
    best = best_so_far(dataset)
    if not 1 <= trials <= best.shape[-1]:
        raise InputError(f"the histories have 1 to {best.shape[-1]} trials, not {trials}")
    values = best[..., trials - 1]
    of_others = [name for name, array in dataset.data_vars.items() if "round" in array.dims]
    begun = dataset.isel(round=[0], repeat=[0], trial=slice(trials)).drop_vars(
        [*of_others, "search_latency"], errors="ignore"
    )
    return add_variables(begun, latency=values[..., np.newaxis, np.newaxis]).assign_attrs({AT_TRIALS: trials})


def relabelled(analysis: Analysis, dataset: xr.Dataset, trials: int) -> Analysis:
    """Say in an analysis of :func:`at_trials` what its boost is and what weakens it.

    Parameters
    ----------
    analysis : Analysis
        Of the dataset that :func:`at_trials` returned.
    dataset : xarray.Dataset
        The one that it was made from.
    trials : int
        As given there.
    """
    made = _tried(dataset.sel(config=[analysis.baseline, analysis.candidate]))
    stopped = int(np.count_nonzero((made > 0) & (made < trials)))
    notes, kind = [OPTIMISTIC], analysis.settings.estimand.replace("-", " ")
    first = "trial" if trials == 1 else f"{trials} trials"
    if stopped:
        notes.append(f"{count(stopped, 'search')} ended before {trials} trials and had fewer to choose from.")
    return dataclasses.replace(
        analysis,
        definition=(
            f"Boost: {kind}, over the seeds, of the best latency that each search of the baseline "
            f"measured itself within its first {first}, over that of the candidate, minus 1."
        ),
        caveats=(*notes, *analysis.caveats),
    )


def boost_curve(dataset: xr.Dataset, analysis: Analysis) -> Curve:
    """Boost after 1, 2, 4, ... trials, and after all.

    Parameters
    ----------
    dataset : xarray.Dataset
        With histories; the one that was analysed.
    analysis : Analysis
        Its analysis, which says which shapes, sides and level.

    Raises
    ------
    InputError
        If there are no histories.

    Notes
    -----
    The same searches stand behind all points of a curve, so neighbouring points are not independent, and
    a band covers each point, not the whole curve, with the stated confidence.
    """
    dataset = dataset.sel(shape=[row.shape for row in analysis.comparisons])
    best = np.log(best_so_far(dataset))
    names = [str(name) for name in dataset["config"].values.tolist()]
    sides = [best[:, names.index(name)] for name in (analysis.baseline, analysis.candidate)]
    steps = _steps(best.shape[-1])
    found = [_intervals([side[..., step - 1] for side in sides], analysis.level) for step in steps]
    used = _with_two([side[..., -1] for side in sides])
    mean = tuple(
        _overall([side[..., step - 1] for side in sides], step, used, analysis.level) for step in steps
    )
    points = [
        _points([side[..., step - 1] for side in sides], step, interval)
        for step, interval in zip(steps, found, strict=True)
    ]
    measured_again = not of_searches(dataset)
    again = _again(dataset, analysis, used) if measured_again else None
    return Curve(
        level=analysis.level,
        measured_again=measured_again,
        again=again,
        overall=mean,
        shapes=tuple(
            ShapeCurve(shape=row.shape, points=tuple(point[index] for point in points))
            for index, row in enumerate(analysis.comparisons)
        ),
        interval_method=METHODS[Estimand.GEOMETRIC_MEAN, "expanded-percentile"].words,
        caveats=(
            OPTIMISTIC,
            *_about_seeds(points),
            *_about_shapes(used, mean),
            *(_about_again(used) if measured_again and again is None else ()),
        ),
    )


def _again(dataset: xr.Dataset, analysis: Analysis, used: npt.NDArray[np.bool_]) -> Aggregate | None:
    """Boost of the winners measured again over the shapes of the curve; None if one has not two a side."""
    rows = analysis.comparisons
    timed = np.array([min(row.baseline.n, row.candidate.n) >= 2 for row in rows])
    if not used.any() or not timed[used].all():
        return None
    reported = analysis.overall.these_shapes
    if reported.shapes == np.count_nonzero(used):  # with two a side, the report takes all that have
        return reported
    part = dataset.isel(shape=np.flatnonzero(used))
    sides = extract(part, analysis.baseline), extract(part, analysis.candidate)
    means = [moments(side.value).mean for side in sides]
    shapes = tuple(row.shape for row, chosen in zip(rows, used, strict=True) if chosen)
    settings = dataclasses.replace(analysis.settings, weights=None)
    return overall((sides[0], sides[1]), shapes, means[0] - means[1], settings).overall.these_shapes


def _with_two(sides: Sequence[Floats]) -> npt.NDArray[np.bool_]:
    """Return the shapes in which two seeds a side have found something."""
    counts = np.array([np.count_nonzero(~np.isnan(side), axis=1) for side in sides])
    found: npt.NDArray[np.bool_] = counts.min(axis=0) >= 2
    return found


def _about_seeds(points: Sequence[Sequence[Point]]) -> Iterator[str]:
    """Say up to where some searches that find something later are not counted yet."""
    in_the_end = [(point.n_baseline, point.n_candidate) for point in points[-1]]
    late = [
        row[0].trials
        for row in points
        if [(point.n_baseline, point.n_candidate) for point in row] != in_the_end
    ]
    if late:
        yield (
            f"Up to {count(max(late), 'trial')}, a row leaves out the searches that have not found a "
            "candidate that runs yet: it can look faster than the next."
        )


def _about_shapes(used: npt.NDArray[np.bool_], overall: Sequence[Point]) -> Iterator[str]:
    """Say where the mean over shapes has not all of them, and where it has to wait for them."""
    if len(used) < 2 or not used.any():
        return
    if not used.all():
        yield (
            f"These shapes: {used.sum()} of {len(used)}, those in which two searches a side found a "
            "candidate that runs."
        )
    late = [point.trials for point in overall if math.isnan(point.boost)]
    if late:
        yield (
            f"These shapes: nothing up to {count(max(late), 'trial')}, where some of them lack two searches "
            "a side that have found a candidate that runs."
        )


def _about_again(used: npt.NDArray[np.bool_]) -> Iterator[str]:
    """Say why there is no row of the winners below those of the searches."""
    if len(used) < 2:
        return
    if used.any():
        yield (
            "These shapes: no row of the winners measured again, since some of these shapes have fewer than "
            "two of them on a side."
        )
    else:
        yield "These shapes: in none of them have two searches a side found a candidate that runs."


def _steps(most: int) -> list[int]:
    """Powers of two, and the longest history."""
    steps = [1 << power for power in range(most.bit_length())]
    return steps if steps[-1] == most else [*steps, most]


def _intervals(sides: Sequence[Floats], level: float) -> Interval:
    first, second = sides
    return expanded_percentile(TwoSample.without_floor(first, second), level=level)


def _points(sides: Sequence[Floats], trials: int, found: Interval) -> list[Point]:
    """Points of all shapes; samples of shape (shapes, seeds), log seconds."""
    first, second = sides
    return [
        Point(
            trials=trials,
            boost=from_log(found.difference[at]),
            boost_low=from_log(found.low[at]),
            boost_high=from_log(found.high[at]),
            latency_baseline=_latency(first[at : at + 1]),
            latency_candidate=_latency(second[at : at + 1]),
            n_baseline=int(np.count_nonzero(~np.isnan(first[at]))),
            n_candidate=int(np.count_nonzero(~np.isnan(second[at]))),
        )
        for at in range(len(first))
    ]


def _overall(sides: Sequence[Floats], trials: int, used: npt.NDArray[np.bool_], level: float) -> Point:
    """Geometric mean over the shapes that all points use; NaN where one of them has not two seeds a side."""
    counts = np.array([np.count_nonzero(~np.isnan(side), axis=1) for side in sides])
    complete = bool(_with_two(sides)[used].all())
    chosen = [side[used] if complete else side[:0] for side in sides]
    weight = np.full(len(chosen[0]), 1 / max(len(chosen[0]), 1))
    latency = [_latency(side) for side in chosen]
    log_boost = float(np.log(latency[0] / latency[1]))
    half = half_width([clustered_variance(side, weight) for side in chosen], level)
    return Point(
        trials=trials,
        boost=from_log(log_boost),
        boost_low=from_log(log_boost - half),
        boost_high=from_log(log_boost + half),
        latency_baseline=latency[0],
        latency_candidate=latency[1],
        n_baseline=int(counts[0].min()),
        n_candidate=int(counts[1].min()),
    )


def _latency(log_latency: Floats) -> float:
    """Geometric mean over shapes of the geometric mean over seeds."""
    means = [row[~np.isnan(row)].mean() for row in log_latency if not np.isnan(row).all()]
    return float(np.exp(np.mean(means))) if means else float("nan")


def best_so_far(dataset: xr.Dataset) -> Floats:
    """Seconds of the best candidate after each trial; NaN before one ran.

    The axes are those of the histories.
    """
    if "trial_latency" not in dataset or "trial_status" not in dataset:
        raise InputError("the dataset has no histories of trials, which a comparison at equal trials needs")
    axes = ("shape", "config", "seed", "trial")
    times = dataset["trial_latency"].transpose(*axes).values.astype(np.float64)
    ran = (dataset["trial_status"].transpose(*axes).values == TrialStatus.OK) & (times > 0)
    complete = dataset["run_status"].transpose(*axes[:3]).values == RunStatus.COMPLETE
    best = np.minimum.accumulate(np.where(ran & complete[..., np.newaxis], times, np.inf), axis=-1)
    tried = _tried(dataset)
    if not tried.any():
        raise InputError("no run of the dataset has a history of trials")
    return np.where(np.isinf(best), np.nan, best)[..., : int(tried.max())]


def searches_so_far(dataset: xr.Dataset) -> Floats:
    """Seconds as of :func:`best_so_far`, but infinite before one ran; NaN where no search is known.

    A run that failed was a search, whether it left a history or not; one that is missing was none.
    """
    best = best_so_far(dataset)
    status = dataset["run_status"].transpose("shape", "config", "seed").values
    complete, failed = status == RunStatus.COMPLETE, status == RunStatus.FAILED
    made = failed | (complete & (_tried(dataset) > 0))
    return np.where(np.isnan(best) & made[..., np.newaxis], np.inf, best)


def _tried(dataset: xr.Dataset) -> npt.NDArray[np.int64]:
    """Count the trials that each run made, shape (shape, config, seed)."""
    status = dataset["trial_status"].transpose("shape", "config", "seed", "trial").values
    made: npt.NDArray[np.int64] = np.count_nonzero(status != TrialStatus.NOT_RUN, axis=-1)
    return made
