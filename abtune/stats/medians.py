"""Intervals of the difference of median log latencies: the typical search, whatever a rare one does.

Everything is computed, nothing resampled: the bootstrap distribution of a median has as many values as the
sample has, or pairs of them, with known probabilities.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from abtune.stats.interval import Interval, StandardError, t_interval
from abtune.stats.ragged import Floats, Integers, groups

FEWEST_FOR_PERCENTILE = 5
_NEGLIGIBLE = 1e-9
_TIE = 1e-12


def median_error(first: npt.ArrayLike, second: npt.ArrayLike, floor: npt.ArrayLike) -> StandardError:
    """Difference of medians and its standard error, from order statistics.

    Parameters
    ----------
    first, second : array_like, shape (shapes, seeds)
        Samples, padded with NaN; log seconds.
    floor : array_like, shape (shapes, 2)
        Measurement variance of a seed value of each side; NaN where unknown. A median of n values so
        measured varies by at least pi/2 of it over n.

    Notes
    -----
    Var = ((x_(n-c+1) - x_(c))/(2 z))^2 with c = (n + 1)/2 - sqrt(n), at least 1, and the z that the
    binomial distribution gives to that pair of order statistics [1]_. Degrees of freedom are infinite.
    At 5 seeds of which one in five fails, an interval from this covers .885.

    References
    ----------
    .. [1] R. M. Price and D. G. Bonett, Distribution-free confidence intervals for difference and ratio of
       medians, Journal of Statistical Computation and Simulation 72, 119-124 (2002).
       DOI 10.1080/00949650212140
    """
    limits = np.asarray(floor, dtype=np.float64)
    shape = (2, len(limits))
    middle, variance = np.full(shape, np.nan), np.full(shape, np.nan)
    for group in groups(first, second, at_least=1):
        for side, samples in enumerate((group.first, group.second)):
            order = order_statistics(samples.shape[1])
            middle[side, group.index] = samples[:, list(order.middle)].mean(axis=1)
            spread = samples[:, order.upper] - samples[:, order.lower]
            least = np.nan_to_num(limits[group.index, side]) * np.pi / 2 / samples.shape[1]
            if samples.shape[1] > 1:
                variance[side, group.index] = np.maximum((spread / order.widths) ** 2, least)
    error = np.sqrt(variance.sum(axis=0))
    freedom = np.where(np.isnan(error), np.nan, np.inf)
    return StandardError(difference=middle[0] - middle[1], error=error, freedom=freedom)


def price_bonett(
    first: npt.ArrayLike, second: npt.ArrayLike, *, level: float, floor: npt.ArrayLike
) -> Interval:
    """Return the normal interval with the standard error of :func:`median_error`."""
    return t_interval(median_error(first, second, floor), level=level)


def median_percentile(
    first: npt.ArrayLike, second: npt.ArrayLike, *, level: float, floor: npt.ArrayLike
) -> Interval:
    """Percentile bootstrap interval of the difference of medians, computed exactly.

    Parameters
    ----------
    first, second : array_like, shape (shapes, seeds)
        Samples, padded with NaN; log seconds.
    level : float
        Confidence level, a fraction.
    floor : array_like, shape (shapes, 2)
        Measurement variance of a seed value of each side; NaN where unknown. The interval is
        at least as wide as that alone would make it.

    Notes
    -----
    For medians, unlike means, the coverage of the plain percentile is near nominal: the figures stand in
    :mod:`abtune.stats.methods`, and by kind of noise in docs/statistics.md. Price-Bonett's below five seeds
    a side.
    """
    limits = np.asarray(floor, dtype=np.float64)
    closed = price_bonett(first, second, level=level, floor=limits)
    low, high = closed.low.copy(), closed.high.copy()
    z = float(special.ndtri(0.5 + level / 2))
    for group in groups(first, second, at_least=FEWEST_FOR_PERCENTILE):
        at = group.index
        n = [group.first.shape[1], group.second.shape[1]]
        least = z * np.sqrt(np.pi / 2 * (np.nan_to_num(limits[at]) / n).sum(axis=1))
        ends = _lower(group.first, group.second, level), _lower(group.second, group.first, level)
        low[at] = np.minimum(ends[0], closed.difference[at] - least)
        high[at] = np.maximum(-ends[1], closed.difference[at] + least)
    return Interval(difference=closed.difference, low=low, high=high, level=level)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Places, from 0, of the values that make a median and its error; ``widths`` is twice the z between."""

    middle: tuple[int, int]
    lower: int
    upper: int
    widths: float


@functools.lru_cache(maxsize=256)
def order_statistics(n: int) -> Order:
    """Choose the order statistics of [1]_ of :func:`median_error` for n values."""
    c = max(round((n + 1) / 2 - math.sqrt(n)), 1)
    outside = sum(math.comb(n, i) for i in range(c)) / 2 ** (n - 1)
    return Order(
        middle=((n - 1) // 2, n // 2),
        lower=c - 1,
        upper=n - c,
        widths=2 * float(special.ndtri(1 - min(outside, 0.999) / 2)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Atoms:
    """Values that a resampled median can take: means of two order statistics, with probabilities."""

    low: Integers
    high: Integers
    share: Floats


@functools.lru_cache(maxsize=64)
def _atoms(n: int) -> _Atoms:
    """Return the bootstrap distribution of the median of n values; negligible probabilities are left out."""
    rank = np.arange(n + 1) / n
    half = n // 2
    upto = special.bdtrc((n - 1) // 2, n, rank)  # the lower of the middle two is at most this value
    single = np.diff(upto)
    if n % 2:
        low = high = np.flatnonzero(single > _NEGLIGIBLE)
        return _Atoms(low=low, high=high, share=single[low] / single[low].sum())
    # C(n, n/2) times the differences of rank^(n/2), in logs: either is beyond a float from 1,030 values on.
    ways = special.gammaln(n + 1) - 2 * special.gammaln(half + 1)
    with np.errstate(divide="ignore"):  # rank 0, whose power is 0
        steps = half * np.log(rank[1:]) + np.log(-np.expm1(half * np.log(rank[:-1] / rank[1:])))
    # Below the diagonal, where the lower value would be the higher, nothing is a probability.
    joint = np.triu(np.exp(np.minimum(ways + np.add.outer(steps, steps[::-1]), 0.0)), 1)
    joint += np.diag(np.diff(special.bdtrc(half - 1, n, rank)) - joint.sum(axis=1))
    low, high = np.nonzero(joint > _NEGLIGIBLE)
    share = joint[low, high]
    return _Atoms(low=low, high=high, share=share / share.sum())


def _lower(first: Floats, second: Floats, level: float) -> Floats:
    """Lower bound: where the cumulated probability of resampled differences passes the tail."""
    one, two = _atoms(first.shape[1]), _atoms(second.shape[1])
    share = np.outer(one.share, two.share).ravel()
    found = np.empty(len(first))
    for row, (x, y) in enumerate(zip(first, second, strict=True)):
        values = np.subtract.outer((x[one.low] + x[one.high]) / 2, (y[two.low] + y[two.high]) / 2).ravel()
        order = np.argsort(values, kind="stable")
        passed = np.cumsum(share[order]) >= (1 - level) / 2 - _TIE
        found[row] = values[order[np.argmax(passed)]]
    return found
