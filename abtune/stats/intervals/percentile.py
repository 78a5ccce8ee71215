"""Percentile bootstrap intervals, computed instead of sampled: the default, and that of medians."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np
from scipy import special

from abtune.stats.estimates import (
    FEWEST_FOR_BOOTSTRAP,
    Interval,
    median_error,
    quantile,
    standard_error,
    t_interval,
    welch,
)
from abtune.stats.intervals.bootstrap import both_smoothings, error_quantiles
from abtune.stats.two_sample import Floats, Integers, TwoSample

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
    closed = welch(samples, level=level)
    low, high = closed.low.copy(), closed.high.copy()
    enough = _ENOUGH_PAIRS if samples.paired else _ENOUGH_FOR_BOOTSTRAP_ALONE
    for group in samples.groups(at_least=FEWEST_FOR_BOOTSTRAP):
        index, (variances, _) = group.index, both_smoothings(group)
        own = np.sqrt(variances.sum(axis=0))
        expansion = np.where(own > 0, estimate.error[index] / np.where(own > 0, own, 1.0), 1.0)
        tail = special.ndtr(-expansion * quantile(estimate.freedom[index], level))
        errors = error_quantiles(group, np.stack([tail, tail], axis=1))
        bounds = closed.difference[index] + errors[0], closed.difference[index] + errors[1]
        if min(group.first.shape[1], group.second.shape[1]) < enough:
            bounds = np.minimum(bounds[0], low[index]), np.maximum(bounds[1], high[index])
        low[index], high[index] = bounds
    return Interval(difference=closed.difference, low=low, high=high)


# Probabilities of a resampled median that are left out, and what a cumulated sum may lack by rounding.
_NEGLIGIBLE = 1e-9
_TIE = 1e-12


def median_percentile(samples: TwoSample, *, level: float) -> Interval:
    """Return the percentile bootstrap interval of the difference of medians, computed exactly.

    Below five seeds it is the normal one with Price and Bonett's standard error.
    """
    closed = t_interval(median_error(samples), level=level)
    low, high = closed.low.copy(), closed.high.copy()
    z = float(special.ndtri(0.5 + level / 2))
    for group in samples.groups(at_least=FEWEST_FOR_BOOTSTRAP):
        # A median of normal values has about pi/2 times the variance of their mean.
        floor = np.pi / 2 * np.nansum(group.floor / (group.first.shape[1], group.second.shape[1]), axis=1)
        index, least = group.index, z * np.sqrt(floor)
        # The upper end is the lower one of the swapped sides, so swapping mirrors every bit.
        ends = _lower(group.first, group.second, level), _lower(group.second, group.first, level)
        low[index] = np.minimum(ends[0], closed.difference[index] - least)
        high[index] = np.maximum(-ends[1], closed.difference[index] + least)
    return Interval(difference=closed.difference, low=low, high=high)


@functools.lru_cache(maxsize=64)
def _atoms(n: int) -> tuple[Integers, Integers, Floats]:
    """Return the bootstrap distribution of the median of n values, without negligible probabilities.

    It takes means of two order statistics: the positions of both, and the probability of their mean.
    """
    rank = np.arange(n + 1) / n
    half = n // 2
    cumulated = special.bdtrc((n - 1) // 2, n, rank)  # the lower of the middle two is at most this value
    single = np.diff(cumulated)
    if n % 2:
        middle = np.flatnonzero(single > _NEGLIGIBLE)
        return middle, middle, single[middle] / single[middle].sum()
    # C(n, n/2) times the differences of rank^(n/2), in logs: from 1,030 values on either overflows.
    ways = special.gammaln(n + 1) - 2 * special.gammaln(half + 1)
    with np.errstate(divide="ignore"):  # rank 0, whose power is 0
        steps = half * np.log(rank[1:]) + np.log(-np.expm1(half * np.log(rank[:-1] / rank[1:])))
    # Below the diagonal the lower value would be the higher, so these are no probabilities.
    joint = np.triu(np.exp(np.minimum(ways + np.add.outer(steps, steps[::-1]), 0.0)), 1)
    # Both middle values may be one: the probability of the lower one beyond its pairs with higher values.
    joint += np.diag(np.diff(special.bdtrc(half - 1, n, rank)) - joint.sum(axis=1))
    low, high = np.nonzero(joint > _NEGLIGIBLE)
    share = joint[low, high]
    return low, high, share / share.sum()


def median_beyond(samples: TwoSample, margin: Floats | float) -> Floats:
    """Return the larger share of resampled differences of medians at or beyond a margin, log scale."""
    share, limit = np.full(len(samples), np.nan), np.broadcast_to(margin, len(samples)) - _TIE
    for group in samples.groups(at_least=2):
        for row, values, chance in _resampled(group.first, group.second):
            index = group.index[row]
            share[index] = max(chance[values >= limit[index]].sum(), chance[values <= -limit[index]].sum())
    return share


def _lower(first: Floats, second: Floats, level: float) -> Floats:
    """Return the value at which the cumulated probability of resampled differences passes the lower tail."""
    bound = np.empty(len(first))
    for row, values, share in _resampled(first, second):
        order = np.argsort(values, kind="stable")
        passed = np.cumsum(share[order]) >= (1 - level) / 2 - _TIE
        bound[row] = values[order[np.argmax(passed)]]
    return bound


def _resampled(first: Floats, second: Floats) -> Iterator[tuple[int, Floats, Floats]]:
    """Yield each row with the resampled differences of its medians, and their probabilities."""
    (a, b, first_share), (c, d, second_share) = _atoms(first.shape[1]), _atoms(second.shape[1])
    share = np.outer(first_share, second_share).ravel()
    for row, (x, y) in enumerate(zip(first, second, strict=True)):
        yield row, np.subtract.outer((x[a] + x[b]) / 2, (y[c] + y[d]) / 2).ravel(), share
