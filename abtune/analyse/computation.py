"""Every number of an analysis, for all shapes at once; what they mean is decided elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from abtune.analyse.comparison import Choices
from abtune.analyse.samples import Samples, floors
from abtune.analyse.testing import Tests, run_tests
from abtune.stats.estimand import Estimand, linearised
from abtune.stats.interval import Interval, t_interval, welch
from abtune.stats.medians import median_error
from abtune.stats.methods import compute_interval
from abtune.stats.moderation import moderated
from abtune.stats.multiplicity import Correction
from abtune.stats.power import detectable_boost, fewest_seeds, seeds_needed
from abtune.stats.ragged import Floats, Integers
from abtune.stats.simultaneous import simultaneous
from abtune.stats.variance import floored, moments


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignPower:
    """What the design can show.

    Attributes
    ----------
    detectable : ndarray, shape (shapes,)
        Boost that is detected with 80 % power, correction included; infinite if none can be.
    seeds : ndarray of int, shape (shapes,)
        Seeds a side that would detect a boost of the margin.
    fewest : int
        Seeds a side below which no p-value passes the correction by itself.
    """

    detectable: Floats
    seeds: Integers
    fewest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Computed:
    """Everything computed of all shapes at once; each array has shape (shapes,).

    Attributes
    ----------
    log_boost : ndarray
        Of the estimand.
    log_ratio : ndarray
        Of geometric means, which the overall boosts are made of.
    interval, welch : Interval
        The interval asked for, and the closed-form one of the same estimand; for medians, the same twice.
    simultaneous : Interval
        Holds all shapes at once, and nowhere lies inside ``interval``.
    tests : Tests
    plan : DesignPower
    """

    log_boost: Floats
    log_ratio: Floats
    interval: Interval
    welch: Interval
    simultaneous: Interval
    tests: Tests
    plan: DesignPower


def compute(
    baseline: Samples,
    candidate: Samples,
    *,
    choices: Choices,
    level: float,
    alpha: float,
    margin: float,
    rank_test: bool,
    rng: np.random.Generator,
) -> Computed:
    """Apply every method to all shapes at once.

    Parameters
    ----------
    baseline, candidate : Samples
        Both sides.
    choices : Choices
        Estimand, interval, test and correction.
    level, alpha, margin : float
        Fractions; alpha is 1 - level.
    rank_test : bool
        Whether to make the Mann-Whitney test too.
    rng : numpy.random.Generator
        For what cannot be counted or computed.
    """
    pair = baseline.value, candidate.value
    floor = floors(baseline, candidate)
    estimand = Estimand(choices.estimand)
    tests = run_tests(*pair, floor=floor, choices=choices, margin=margin, rank_test=rank_test, rng=rng)
    interval = compute_interval(choices.method, *pair, estimand=estimand, level=level, floor=floor, rng=rng)
    closed = interval
    if estimand is not Estimand.MEDIAN:
        closed = welch(*(linearised(side, estimand) for side in pair), level=level, floor=floor)
    wide = _simultaneous(*pair, floor, estimand, level=1 - alpha, rng=rng)
    return Computed(
        log_boost=interval.difference,
        log_ratio=moments(pair[0]).mean - moments(pair[1]).mean,
        interval=interval,
        welch=closed,
        simultaneous=_hull(wide, interval),
        tests=tests,
        plan=_plan(baseline, candidate, choices=choices, alpha=alpha, margin=margin, tests=_count(tests)),
    )


def resolution(choices: Choices, alpha: float, shapes: int) -> float:
    """Return what the smallest p-value of the seeds has to reach for the correction to be passed.

    Holm asks for alpha over the shapes at first, and Benjamini and Hochberg of a shape that differs alone;
    max-T counts the splits once for all shapes, and the moderated test is not bound to splits.
    """
    if choices.test == "moderated":
        return 1.0
    return alpha / shapes if choices.correction in {Correction.HOLM, Correction.BH} else alpha


def _count(tests: Tests) -> int:
    return max(int(np.count_nonzero(~np.isnan(tests.p))), 1)


def _simultaneous(
    first: Floats,
    second: Floats,
    floor: Floats,
    estimand: Estimand,
    *,
    level: float,
    rng: np.random.Generator,
) -> Interval:
    """Resample means; medians, whose resamples have no standard error, get normal intervals."""
    if estimand is not Estimand.MEDIAN:
        pair = linearised(first, estimand), linearised(second, estimand)
        return simultaneous(*pair, level=level, floor=floor, rng=rng)
    estimate = median_error(first, second, floor)
    shapes = max(int(np.count_nonzero(~np.isnan(estimate.error))), 1)
    return t_interval(estimate, level=1 - (1 - level) / shapes)


def _hull(wide: Interval, narrow: Interval) -> Interval:
    return Interval(
        difference=narrow.difference,
        low=np.minimum(wide.low, narrow.low),
        high=np.maximum(wide.high, narrow.high),
        level=wide.level,
    )


def _plan(
    baseline: Samples, candidate: Samples, *, choices: Choices, alpha: float, margin: float, tests: int
) -> DesignPower:
    """Say what this design can show, from noise that is drawn towards the level of all shapes."""
    needed = resolution(choices, alpha, tests)
    return DesignPower(
        detectable=detectable_boost(
            n_first=baseline.n,
            n_second=candidate.n,
            noise_first=lent_noise(baseline),
            noise_second=lent_noise(candidate),
            alpha=alpha,
            shapes=_family(choices, tests),
            resolution=needed,
        ),
        seeds=seeds_to_find(margin, baseline, candidate, choices=choices, alpha=alpha, tests=tests),
        fewest=fewest_seeds(alpha=needed),
    )


def seeds_to_find(
    boost: npt.ArrayLike,
    baseline: Samples,
    candidate: Samples,
    *,
    choices: Choices,
    alpha: float,
    tests: int,
) -> Integers:
    """Return how many seeds a side find a boost with 80 % power, judged as these samples are.

    Parameters
    ----------
    boost : array_like, shape (shapes,) or ()
        True boost, a fraction, not zero.
    baseline, candidate : Samples
        Both sides.
    choices : Choices
        Test and correction.
    alpha : float
        Family-wise level.
    tests : int
        Shapes that the correction covers.

    Returns
    -------
    ndarray of int, shape (shapes,)
        0 where the noise of a side is unknown.
    """
    return seeds_needed(
        boost,
        noise_first=lent_noise(baseline),
        noise_second=lent_noise(candidate),
        alpha=alpha,
        shapes=_family(choices, tests),
        resolution=resolution(choices, alpha, tests),
    )


def lent_noise(side: Samples) -> Floats:
    """Noise of each shape to plan with: at least that of the measurement, and drawn towards the shapes'."""
    noise: Floats = np.sqrt(moderated(floored(side.noise**2, side.floor), side.n - 1))
    return noise


def _family(choices: Choices, tests: int) -> int:
    return 1 if choices.correction == Correction.NONE else tests
