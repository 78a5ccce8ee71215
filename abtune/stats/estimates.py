"""Differences of two means with their standard errors, for unequal variances, and t intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from abtune.stats.two_sample import Floats, Integers, TwoSample
from abtune.stats.variance import (
    HARDLY_ANY,
    SMALLER,
    fewest_freedom,
    floored_moments,
    interval_freedom,
    quantile,
    welch_freedom,
)

# With fewer seeds on either side nothing is resampled: the bounds would lie beyond the most extreme resample.
FEWEST_FOR_BOOTSTRAP = 5
# As ``SMALLER``, for the noisier side of two with equally many seeds.
_NOISIER = 0.75


class EqualWithNaN:
    """Base of dataclasses with ``eq=False``: they are equal if all fields are, and NaN is equal to NaN."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EqualWithNaN) or type(self) is not type(other):
            return NotImplemented
        both = zip(self._values(), other._values(), strict=True)
        return all(one == two or (one != one and two != two) for one, two in both)  # noqa: PLR0124

    def __hash__(self) -> int:
        # Of the texts: numbers that are equal here, such as NaN, may have different hashes.
        return hash(tuple(value for value in self._values() if isinstance(value, str)))

    def _values(self) -> list[Any]:
        return [getattr(self, field.name) for field in fields(self)]  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True)
class StandardError:
    """A difference with its standard error; from it follow a t interval and the closed-form tests."""

    difference: Floats  # the first side minus the second, or the mean of a series; log scale, shape (shapes,)
    error: Floats
    freedom: Floats  # degrees of freedom of the error; infinite for a normal distribution

    def half_width(self, level: float) -> Floats:
        """Return half of Student's t interval."""
        return quantile(self.freedom, level) * self.error


def standard_error(samples: TwoSample) -> StandardError:
    """Return the difference of means with Welch's standard error; each variance is at least the floor."""
    one, two = floored_moments(samples)
    freedom = interval_freedom(one.of_mean, two.of_mean, one.n, two.n)
    error = np.sqrt(one.of_mean + two.of_mean)
    return StandardError(difference=one.mean - two.mean, error=error, freedom=freedom)


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
    # With equal numbers the noisier side matters: towards it, the degrees of freedom fall to its own.
    raises_first = np.where(more == 0, variances[0] >= variances[1], more < 0)
    fewest = fewest_freedom(variances, own, raises_first, np.where(more == 0, _NOISIER, SMALLER))
    least = np.where(np.minimum(*own) <= HARDLY_ANY, np.minimum(*own), np.inf)
    fewest = np.where(np.abs(more) > least, np.fmin(fewest, least), fewest)
    return np.where(np.isnan(sum(variances)), np.nan, fewest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervals:
    """Intervals of many shapes; log scale, arrays of shape (shapes,)."""

    difference: Floats  # the first side minus the second; NaN if either side is empty
    low: Floats  # NaN, as high is, if either side has fewer than two values
    high: Floats

    @property
    def reach(self) -> Floats:
        """How far the farther end is from the difference."""
        return np.maximum(self.difference - self.low, self.high - self.difference)

    def hull(self, other: Intervals) -> Intervals:
        """Return the interval from the lower of both lower ends to the higher of both higher ends."""
        return replace(self, low=np.minimum(self.low, other.low), high=np.maximum(self.high, other.high))

    def widened(self, by: Floats | float) -> Intervals:
        """Return the interval with both ends moved outwards."""
        return replace(self, low=self.low - by, high=self.high + by)


def welch(samples: TwoSample, *, level: float) -> Intervals:
    """Return Welch's t interval, with his degrees of freedom."""
    one, two = floored_moments(samples)
    freedom = welch_freedom(one.of_mean, two.of_mean, one.n, two.n)
    return t_interval(replace(standard_error(samples), freedom=freedom), level=level)


def t_interval(estimate: StandardError, *, level: float) -> Intervals:
    """Return the difference plus and minus a quantile of Student's t times the standard error."""
    half, difference = estimate.half_width(level), estimate.difference
    return Intervals(difference=difference, low=difference - half, high=difference + half)


# exp() of more than 709 overflows a float.
LARGEST_LOG = 700.0
# No ratio of times is zero, so no boost is -100 %, though it may round to that.
_LEAST_BOOST = math.nextafter(-1.0, 0.0)


def from_log(log_ratio: float) -> float:
    """Return the boost of a log ratio. A ratio beyond the range of floats becomes the largest one."""
    if math.isnan(log_ratio):
        return math.nan
    return max(float(np.expm1(min(log_ratio, LARGEST_LOG))), _LEAST_BOOST)
