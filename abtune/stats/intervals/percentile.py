"""Percentile and BCa bootstrap intervals: what most tools print, and too narrow for few seeds.

They are here for comparison with other tools, and never a default. Their distribution is computed instead of
sampled, so neither depends on a random seed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from abtune.stats.intervals.interval import FEWEST_FOR_BOOTSTRAP, Interval, welch
from abtune.stats.resampling.bootstrap import error_bias, error_quantiles
from abtune.stats.resampling.orientation import residuals
from abtune.stats.two_sample import Floats, Group, TwoSample


def percentile(samples: TwoSample, *, level: float) -> Interval:
    """Return the percentile bootstrap interval.

    Parameters
    ----------
    samples : TwoSample
        Seeds of both sides.
    level : float
        Confidence level, a fraction.

    Notes
    -----
    Too narrow by the factor sqrt((n-1)/n) z/t. Welch's below five seeds per side.
    """

    def tails(group: Group) -> Floats:
        return np.full((len(group.index), 2), (1 - level) / 2)

    return _bootstrap(samples, tails, level=level)


def bca(samples: TwoSample, *, level: float) -> Interval:
    """Return the bias-corrected and accelerated bootstrap interval.

    Parameters
    ----------
    samples : TwoSample
        Seeds of both sides.
    level : float
        Confidence level, a fraction.

    Notes
    -----
    Tails at Phi(z0 + (z0 + z)/(1 - a (z0 + z))), eq. 14.10 of [1]_, with the acceleration a of two samples
    from their third moments. The skewness of five to ten values is mostly noise, so the correction covers
    less than the plain percentile. Welch's below five seeds per side.

    References
    ----------
    .. [1] B. Efron and R. J. Tibshirani, An Introduction to the Bootstrap, Chapman & Hall (1993).
       DOI 10.1201/9780429246593
    """
    z = special.ndtri((1 - level) / 2)

    def tails(group: Group) -> Floats:
        bias, acceleration = error_bias(group), _acceleration(group)
        ends = [bias + (bias + end) / (1 - acceleration * (bias + end)) for end in (z, -z)]
        return np.stack([special.ndtr(ends[0]), special.ndtr(-ends[1])], axis=1)

    return _bootstrap(samples, tails, level=level)


def _bootstrap(samples: TwoSample, tails: Callable[[Group], Floats], *, level: float) -> Interval:
    """Return quantiles of the bootstrap distribution at the tails of a method."""
    closed = welch(samples, level=level)
    low, high = closed.low.copy(), closed.high.copy()
    for group in samples.groups(at_least=FEWEST_FOR_BOOTSTRAP):
        index, errors = group.index, error_quantiles(group, tails(group))
        low[index], high[index] = closed.difference[index] + errors[0], closed.difference[index] + errors[1]
    return Interval(difference=closed.difference, low=low, high=high, level=level)


def _acceleration(group: Group) -> Floats:
    """Return a sixth of the skewness of the difference: sum l^3/n^3 over (sum l^2/n^2)^(3/2)."""
    sides = [(residuals(side), side.shape[1]) for side in (group.first, group.second)]
    cubes = [((rest / n) ** 3).sum(axis=1) for rest, n in sides]
    squares = np.sum([((rest / n) ** 2).sum(axis=1) for rest, n in sides], axis=0)
    scale = np.where(squares > 0, squares, 1.0) ** 1.5
    acceleration: Floats = (cubes[0] - cubes[1]) / (6 * scale)
    return acceleration
