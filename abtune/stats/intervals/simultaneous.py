"""Simultaneous intervals of many shapes: one critical value for the largest abs(t) of all shapes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from abtune.stats.difference.conservative import conservative_welch
from abtune.stats.difference.standard_error import standard_error
from abtune.stats.intervals.bootstrap_t import RESAMPLES, resampled
from abtune.stats.intervals.interval import Interval, t_interval
from abtune.stats.resampling.pooled_t import PooledT
from abtune.stats.two_sample import Floats, Integers, TwoSample


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tails:
    """The resamples of all shapes, as far as claims about all of them need these.

    Attributes
    ----------
    index : ndarray of int, shape (resampled,)
        Rows of the shapes that could be resampled.
    largest : ndarray, shape (kept, resampled)
        Their largest abs(t).
    pool : PooledT
        All of their t.
    """

    index: Integers
    largest: Floats
    pool: PooledT


def resample_tails(samples: TwoSample, *, level: float, rng: np.random.Generator) -> Tails:
    """Return the tails of the resamples of all shapes.

    Parameters
    ----------
    samples : TwoSample
        Seeds of both sides.
    level : float
        The least joint confidence level that is wanted, a fraction.
    rng : numpy.random.Generator
        One number is drawn from it.
    """
    kept = math.ceil((1 - level) * (RESAMPLES + 1)) + 1
    index, largest = [np.zeros(0, np.int64)], [np.zeros((kept, 0))]

    def signed() -> Iterator[Floats]:
        for shapes in resampled(samples, rng=rng):
            index.append(shapes.index)
            largest.append(_largest(shapes.t, kept))
            yield np.where(shapes.turn > 0, -shapes.t, shapes.t)

    pool = PooledT.of(signed())
    return Tails(index=np.concatenate(index), largest=np.concatenate(largest, axis=1), pool=pool)


def simultaneous(samples: TwoSample, tails: Tails, *, level: float) -> Interval:
    """Return intervals that cover the differences of all shapes at once.

    Parameters
    ----------
    samples : TwoSample
        Seeds of both sides.
    tails : Tails
        As :func:`resample_tails` returns them for at most this level.
    level : float
        Joint confidence level, a fraction.

    Notes
    -----
    Seeds are resampled within each shape and side, and every resample is measured in its own standard error
    [1]_. The critical value c is the level's quantile of the largest abs(t) over the shapes. For independent
    resamples, that maximum stays below c with probability prod_i F_i(c), where F_i is the distribution of
    abs(t) of shape i alone. So the shapes are not drawn jointly, and a few thousand resamples resolve c for
    any number of shapes. If the errors of shapes are positively correlated, as in shared sessions, the
    product is too small, and the intervals are too wide rather than too narrow.

    With one c for all shapes, each borrows the tails of the others. Against Student's t at a level divided by
    the number of shapes, that allows for skew and unequal spread. Where noise is normal it costs width:
    docs/statistics.md has both. Shapes with fewer than five seeds on either side cannot be resampled. They
    have Student's t, from :func:`abtune.stats.difference.conservative.conservative_welch`, at their share of
    the level.

    References
    ----------
    .. [1] J. P. Romano and M. Wolf, Exact and approximate stepdown methods for multiple hypothesis testing,
       Journal of the American Statistical Association 100, 94-108 (2005). DOI 10.1198/016214504000000539
    """
    estimate = standard_error(samples)
    known = max(int(np.count_nonzero(~np.isnan(estimate.error))), 1)
    closed = t_interval(conservative_welch(samples), level=level ** (1 / known))
    low, high = closed.low.copy(), closed.high.copy()
    index = tails.index
    if len(index):
        value = critical_value(tails.largest, level=level ** (len(index) / known))
        half = value * estimate.error[index]
        low[index], high[index] = estimate.difference[index] - half, estimate.difference[index] + half
    return Interval(difference=estimate.difference, low=low, high=high, level=level)


def critical_value(tails: Floats, *, level: float) -> float:
    """Return the quantile of the largest abs(t) of independent shapes.

    Parameters
    ----------
    tails : ndarray, shape (kept, shapes)
        The largest abs(t) out of RESAMPLES of each shape; at least a share of 1 - level of them.
    level : float
        Probability that no shape exceeds it.
    """
    values = np.unique(tails)
    below, enough = -1, len(values) - 1
    while enough - below > 1:
        middle = (below + enough) // 2
        beyond = np.count_nonzero(tails > values[middle], axis=0) / (RESAMPLES + 1)
        if np.log1p(-beyond).sum() >= math.log(level):
            enough = middle
        else:
            below = middle
    return float(values[enough])


def _largest(t: Floats, kept: int) -> Floats:
    """Return the largest absolute values of each column."""
    size = np.abs(t)
    largest: Floats = np.partition(size, len(size) - kept, axis=0)[len(size) - kept :]
    return largest
