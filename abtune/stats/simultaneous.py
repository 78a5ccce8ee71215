"""Intervals of many shapes that hold all at once: one critical value for the largest abs(t) of them all."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from abtune.stats.caution import cautious_error
from abtune.stats.interval import Interval, standard_error, t_interval
from abtune.stats.ragged import Floats
from abtune.stats.studentised import RESAMPLES, resampled


def simultaneous(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    level: float,
    floor: npt.ArrayLike,
    rng: np.random.Generator,
) -> Interval:
    """Intervals that hold the differences of all shapes at once with the probability of the level.

    Parameters
    ----------
    first, second : array_like, shape (shapes, seeds)
        Samples, padded with NaN; log seconds.
    level : float
        Joint confidence level, a fraction.
    floor : array_like, shape (shapes, 2)
        Measurement variance of a seed value of each side; NaN where unknown.
    rng : numpy.random.Generator
        One number is drawn from it.

    Notes
    -----
    Seeds are resampled within each shape and side, and every resample is measured in its own standard error
    [1]_. The critical value c is the level's quantile of the largest abs(t) over the shapes. Resampled
    independently, that maximum stays below c with probability prod_i F_i(c), where F_i is the distribution
    of abs(t) of shape i alone; so no draw of the shapes together is needed, and a few thousand resamples
    resolve c for any number of shapes. Where shapes go up and down together, as in shared sessions, the
    product is too small and the intervals are too wide, never too narrow.

    One c for all shapes lets each borrow the tails that others show. Against Student's t at a level
    divided by the number of shapes, that makes up for skew and unequal spread at the cost of width where
    noise is normal: docs/statistics.md has both. Shapes with fewer than five seeds on a side cannot be
    resampled, and take Student's t with :func:`abtune.stats.caution.cautious_error` at their share of the
    level.

    References
    ----------
    .. [1] J. P. Romano and M. Wolf, Exact and approximate stepdown methods for multiple hypothesis testing,
       Journal of the American Statistical Association 100, 94-108 (2005). DOI 10.1198/016214504000000539
    """
    estimate = standard_error(first, second, floor)
    known = max(int(np.count_nonzero(~np.isnan(estimate.error))), 1)
    closed = t_interval(cautious_error(first, second, floor), level=level ** (1 / known))
    low, high = closed.low.copy(), closed.high.copy()
    keep = math.ceil((1 - level) * (RESAMPLES + 1)) + 1
    drawn = [(part.index, _largest(part.t, keep)) for part in resampled(first, second, floor=floor, rng=rng)]
    if drawn:
        at = np.concatenate([index for index, _ in drawn])
        tails = np.concatenate([tail for _, tail in drawn], axis=1)
        half = critical_value(tails, level=level ** (len(at) / known)) * estimate.error[at]
        low[at], high[at] = estimate.difference[at] - half, estimate.difference[at] + half
    return Interval(difference=estimate.difference, low=low, high=high, level=level)


def critical_value(tails: Floats, *, level: float) -> float:
    """Return the quantile of the largest abs(t) of independent shapes.

    Parameters
    ----------
    tails : ndarray, shape (kept, shapes)
        The largest abs(t) of RESAMPLES of each shape, at least as many as 1 - level of them.
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


def _largest(t: Floats, keep: int) -> Floats:
    """Return the largest absolute values of each column."""
    size = np.abs(t)
    largest: Floats = np.partition(size, len(size) - keep, axis=0)[len(size) - keep :]
    return largest
