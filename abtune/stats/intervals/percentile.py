"""Percentile bootstrap intervals, computed instead of sampled: the default, and two for comparison."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from abtune.stats.estimates import FEWEST_FOR_BOOTSTRAP, Interval, quantile, standard_error, welch
from abtune.stats.resampling.bootstrap import both_smoothings, error_bias, error_quantiles
from abtune.stats.two_sample import Floats, Group, TwoSample
from abtune.stats.variance import residuals

# With fewer seeds on either side the interval is at least as wide as Welch's.
_ENOUGH_FOR_BOOTSTRAP_ALONE = 10
_ENOUGH_PAIRS = 20  # which have about as many degrees of freedom


def expanded_percentile(samples: TwoSample, *, level: float) -> Interval:
    """Return the default interval: the percentile bootstrap with its tails moved outwards.

    The percentiles are at Phi(-e t) instead of alpha/2 (Hesterberg 2015, DOI
    10.1080/00031305.2015.1089789). e is the ratio of Welch's standard error to the bootstrap's, and t has
    Welch's degrees of freedom. A normal error makes up for a sample that varies less than its
    measurement. With fewer than ten seeds on either side, or 20 pairs, it is the hull of this interval
    and Welch's; below five it is Welch's.
    """
    estimate = standard_error(samples)

    def tails(group: Group) -> Floats:
        index, (first, second) = group.index, both_smoothings(group)
        own = np.sqrt(first.variance + second.variance)
        expansion = np.where(own > 0, estimate.error[index] / np.where(own > 0, own, 1.0), 1.0)
        tail = special.ndtr(-expansion * quantile(estimate.freedom[index], level))
        return np.stack([tail, tail], axis=1)

    enough = _ENOUGH_PAIRS if samples.paired else _ENOUGH_FOR_BOOTSTRAP_ALONE
    return _bootstrap(samples, tails, level=level, hull_below=enough)


def percentile(samples: TwoSample, *, level: float) -> Interval:
    """Return the percentile bootstrap interval, too narrow by sqrt((n-1)/n) z/t; Welch's below five seeds."""

    def tails(group: Group) -> Floats:
        return np.full((len(group.index), 2), (1 - level) / 2)

    return _bootstrap(samples, tails, level=level)


def bca(samples: TwoSample, *, level: float) -> Interval:
    """Return the bias-corrected and accelerated bootstrap interval; Welch's below five seeds per side.

    Tails at Phi(z0 + (z0 + z)/(1 - a (z0 + z))), eq. 14.10 of Efron and Tibshirani (1993), with the
    acceleration a of two samples.
    """
    z = special.ndtri((1 - level) / 2)

    def tails(group: Group) -> Floats:
        bias, acceleration = error_bias(group), _acceleration(group)
        ends = [bias + (bias + end) / (1 - acceleration * (bias + end)) for end in (z, -z)]
        return np.stack([special.ndtr(ends[0]), special.ndtr(-ends[1])], axis=1)

    return _bootstrap(samples, tails, level=level)


def _bootstrap(
    samples: TwoSample, tails: Callable[[Group], Floats], *, level: float, hull_below: int = 0
) -> Interval:
    """Return quantiles of the bootstrap at a method's tails; below ``hull_below`` seeds, with Welch's."""
    closed = welch(samples, level=level)
    low, high = closed.low.copy(), closed.high.copy()
    for group in samples.groups(at_least=FEWEST_FOR_BOOTSTRAP):
        index, errors = group.index, error_quantiles(group, tails(group))
        bounds = closed.difference[index] + errors[0], closed.difference[index] + errors[1]
        if min(group.first.shape[1], group.second.shape[1]) < hull_below:
            bounds = np.minimum(bounds[0], low[index]), np.maximum(bounds[1], high[index])
        low[index], high[index] = bounds
    return Interval(difference=closed.difference, low=low, high=high, level=level)


def _acceleration(group: Group) -> Floats:
    """Return a sixth of the skewness of the difference: sum l^3/n^3 over (sum l^2/n^2)^(3/2)."""
    sides = [(residuals(side), side.shape[1]) for side in (group.first, group.second)]
    cubes = [((rest / n) ** 3).sum(axis=1) for rest, n in sides]
    squares = np.sum([((rest / n) ** 2).sum(axis=1) for rest, n in sides], axis=0)
    scale = np.where(squares > 0, squares, 1.0) ** 1.5
    return (cubes[0] - cubes[1]) / (6 * scale)
