"""Differences of two means or medians with their standard errors, for unequal variances, and t intervals."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from abtune.stats.two_sample import Floats, Integers, TwoSample
from abtune.stats.variance import floored_moments, welch_freedom

# With fewer seeds on either side nothing is resampled: the bounds would lie beyond the most extreme resample.
FEWEST_FOR_BOOTSTRAP = 5
# Quantiles of F that raise one side's variance, for conservative degrees of freedom: of the side with fewer
# seeds, or of the noisier side if both have the same number. Simulation chose them
# (analysis/simulations/degrees_of_freedom.py).
_SMALLER, _NOISIER = 0.95, 0.75
# If the smaller side has at most two degrees of freedom, a quantile of F is too small.
_HARDLY_ANY = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class StandardError:
    """A difference with its standard error; from it follow a t interval and the closed-form tests."""

    difference: Floats  # the first side minus the second, log scale, shape (shapes,)
    error: Floats
    freedom: Floats  # degrees of freedom of the error; infinite for a normal distribution


def standard_error(samples: TwoSample) -> StandardError:
    """Return the difference of means with Welch's standard error; each variance is at least the floor."""
    one, two = floored_moments(samples)
    freedom = welch_freedom(one.of_mean, two.of_mean, one.n, two.n)
    error = np.sqrt(one.of_mean + two.of_mean)
    return StandardError(difference=one.mean - two.mean, error=error, freedom=freedom)


def quantile(freedom: Floats, level: float) -> Floats:
    """Return the upper two-sided quantile of Student's t."""
    return special.stdtrit(freedom, 0.5 + level / 2)


def conservative_welch(samples: TwoSample) -> StandardError:
    """Return the difference of means with Welch's standard error and fewer degrees of freedom.

    With Welch's own, up to 10 instead of 5 % of reports over 29 shapes err; with these, 5 to 6 %
    (analysis/simulations/degrees_of_freedom.py).
    """
    one, two = floored_moments(samples)
    own = np.maximum(one.n - 1.0, 1.0), np.maximum(two.n - 1.0, 1.0)
    freedom = conservative_freedom((one.of_mean, two.of_mean), own, one.n - two.n)
    return replace(standard_error(samples), freedom=freedom)


def conservative_freedom(
    variances: tuple[Floats, Floats], own: tuple[Floats, Floats], more: Integers
) -> Floats:
    """Return the fewest degrees of freedom that the data are compatible with, at most Welch's.

    ``own`` are the degrees of freedom of the two variances, ``more`` the seeds of the first side minus
    the second. One variance is raised by a quantile of F: the 95 % one for the smaller sample, or the 75 %
    one for the larger variance if the samples are equally large. The idea is Berger and Boos's (1994), DOI
    10.1080/01621459.1994.10476836; simulation chose the quantiles. Two or three seeds beside at least twice
    as many leave their own degrees of freedom.
    """
    freedom = welch_freedom(*variances, own[0] + 1, own[1] + 1)
    # With equal numbers the noisier side matters: towards it, the degrees of freedom fall to its own.
    share = np.where(more == 0, _NOISIER, _SMALLER)
    # A side's own degrees of freedom come first. A strict confidence limit of the variance has them last, and
    # is larger for the side with fewer seeds.
    limits = special.fdtri(own[0], own[1], share), special.fdtri(own[1], own[0], share)
    raises_first = np.where(more == 0, variances[0] >= variances[1], more < 0)
    worst = (
        np.where(raises_first, limits[0], 1.0) * variances[0],
        np.where(raises_first, 1.0, limits[1]) * variances[1],
    )
    # Welch's degrees of freedom have one maximum, so the fewest are at an end of the range.
    fewest = np.fmin(freedom, welch_freedom(*worst, own[0] + 1, own[1] + 1))
    least = np.where(np.minimum(*own) <= _HARDLY_ANY, np.minimum(*own), np.inf)
    fewest = np.where(np.abs(more) > least, np.fmin(fewest, least), fewest)
    return np.where(np.isnan(freedom), np.nan, fewest)


def median_error(samples: TwoSample) -> StandardError:
    """Return the difference of medians with Price and Bonett's standard error.

    Var = ((x_(n-c+1) - x_(c))/(2 z))^2 with c = (n + 1)/2 - sqrt(n), at least 1, and the z that the
    binomial distribution gives to that pair (DOI 10.1080/00949650212140); at least pi/2 of the floor over
    n. It is normal, and Student's below five seeds on either side, with Welch's degrees of freedom.
    """
    shape = (2, len(samples))
    middle, variance = np.full(shape, np.nan), np.full(shape, np.nan)
    for group in samples.groups(at_least=1):
        for side, values in enumerate((group.first, group.second)):
            n = values.shape[1]
            middle[side, group.index], own = medians(values)
            if n > 1:
                # A median of normal values has about pi/2 times the variance of their mean.
                least = np.nan_to_num(group.floor[:, side]) * np.pi / 2 / n
                variance[side, group.index] = np.maximum(own, least)
    error, n = np.sqrt(variance.sum(axis=0)), samples.sizes.T
    # A normal quantile is too small for so few: 6 of 40 reports of 10 shapes had a false bound (its test).
    few = n.min(axis=0) < FEWEST_FOR_BOOTSTRAP
    freedom = np.where(few, welch_freedom(*variance, *n), np.where(np.isnan(error), np.nan, np.inf))
    return StandardError(difference=middle[0] - middle[1], error=error, freedom=freedom)


def medians(ascending: Floats) -> tuple[Floats, Floats]:
    """Return medians over the last axis, and their variances, as in :func:`median_error`."""
    n = ascending.shape[-1]
    c, widths = _pair(n)
    middle = (ascending[..., (n - 1) // 2] + ascending[..., n // 2]) / 2
    return middle, ((ascending[..., n - c] - ascending[..., c - 1]) / widths) ** 2


@functools.lru_cache(maxsize=256)
def _pair(n: int) -> tuple[int, float]:
    """Return the c of :func:`median_error`, and twice its z: the distance of the pair in standard errors."""
    c = max(round((n + 1) / 2 - math.sqrt(n)), 1)
    outside = sum(math.comb(n, i) for i in range(c)) / 2 ** (n - 1)
    # A lone value is its own pair, and its z of zero would be a divisor: 0.999 keeps it above zero.
    return c, 2 * float(special.ndtri(1 - min(outside, 0.999) / 2))


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Intervals of many shapes; log scale, arrays of shape (shapes,)."""

    difference: Floats  # the first side minus the second; NaN if either side is empty
    low: Floats  # NaN, as high is, if either side has fewer than two values
    high: Floats

    def hull(self, other: Interval) -> Interval:
        """Return the interval from the lower of both lower ends to the higher of both higher ends."""
        return replace(self, low=np.minimum(self.low, other.low), high=np.maximum(self.high, other.high))

    def widened(self, by: Floats | float) -> Interval:
        """Return the interval with both ends moved outwards."""
        return replace(self, low=self.low - by, high=self.high + by)


def welch(samples: TwoSample, *, level: float) -> Interval:
    """Return Welch's t interval."""
    return t_interval(standard_error(samples), level=level)


def t_interval(estimate: StandardError, *, level: float) -> Interval:
    """Return the difference plus and minus a quantile of Student's t times the standard error."""
    half = quantile(estimate.freedom, level) * estimate.error
    difference = estimate.difference
    return Interval(difference=difference, low=difference - half, high=difference + half)


# exp() of more than 709 overflows a float.
LARGEST_LOG = 700.0


def from_log(log_ratio: float) -> float:
    """Return the boost of a log ratio. A ratio beyond the range of floats becomes the largest one."""
    if math.isnan(log_ratio):  # always the same NaN: analyses that are alike compare equal
        return math.nan
    return float(np.expm1(np.clip(log_ratio, -LARGEST_LOG, LARGEST_LOG)))
