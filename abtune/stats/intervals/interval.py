"""Intervals of many shapes, and Welch's, the closed-form cross-check of every other method."""

from __future__ import annotations

from dataclasses import dataclass

from abtune.stats.difference.standard_error import StandardError, quantile, standard_error
from abtune.stats.two_sample import Floats, TwoSample

# With fewer seeds on either side nothing is resampled: the bounds would lie beyond the most extreme resample.
FEWEST_FOR_BOOTSTRAP = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Intervals of many shapes; log scale.

    Attributes
    ----------
    difference : ndarray, shape (shapes,)
        The first side minus the second; NaN if either side is empty.
    low, high : ndarray, shape (shapes,)
        NaN if either side has fewer than two values.
    level : float
        Nominal confidence level, a fraction.
    """

    difference: Floats
    low: Floats
    high: Floats
    level: float


def welch(samples: TwoSample, *, level: float) -> Interval:
    """Return Welch's t interval.

    Parameters
    ----------
    samples : TwoSample
        Seeds of both sides.
    level : float
        Confidence level, a fraction.

    Notes
    -----
    Its coverage is listed in :mod:`abtune.stats.intervals.interval_methods`, and by kind of noise in
    docs/statistics.md.
    """
    return t_interval(standard_error(samples), level=level)


def t_interval(estimate: StandardError, *, level: float) -> Interval:
    """Return the difference plus and minus a quantile of Student's t times the standard error.

    Parameters
    ----------
    estimate : StandardError
        Infinite degrees of freedom give the normal quantile.
    level : float
        Confidence level, a fraction.
    """
    half = quantile(estimate.freedom, level) * estimate.error
    return Interval(
        difference=estimate.difference,
        low=estimate.difference - half,
        high=estimate.difference + half,
        level=level,
    )
