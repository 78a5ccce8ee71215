"""The Mann-Whitney test: whether the typical run of one side is faster.

A run of the candidate against a run of the baseline, which one wins? One search in ten that goes badly wrong
hardly matters to that, however wrong it goes, so this finds small shifts below rare failures. It is no test
of the boost, which is a mean.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from abtune.stats.ragged import Floats, groups

_MOST_EXACT = 120


def mann_whitney_test(first: npt.ArrayLike, second: npt.ArrayLike) -> Floats:
    """Two-sided Mann-Whitney test, exact also with ties.

    Parameters
    ----------
    first, second : array_like, shape (shapes, seeds)
        Samples, padded with NaN; any scale, for only their order counts.

    Returns
    -------
    ndarray, shape (shapes,)
        Share of the splits whose sum of midranks is at least as far from its mean; NaN if a side has fewer
        than two values.

    Notes
    -----
    The distribution of the sum of midranks is computed for the ties at hand [1]_, up to 120 seeds in all;
    beyond, it is normal with a correction for ties and for continuity. Where the sides scatter differently
    around the same mean, this rejects more often than alpha, because typical runs do differ then.

    References
    ----------
    .. [1] H. B. Mann and D. R. Whitney, On a test of whether one of two random variables is stochastically
       larger than the other, Annals of Mathematical Statistics 18, 50-60 (1947).
       DOI 10.1214/aoms/1177730491
    """
    p = np.full(len(np.asarray(first)), np.nan)
    for group in groups(first, second, at_least=2):
        small = min(group.first.shape[1], group.second.shape[1])
        sides = sorted((group.first, group.second), key=lambda side: side.shape[1])
        pooled = np.concatenate(sides, axis=1)
        doubled = np.rint(2 * stats.rankdata(pooled, axis=1)).astype(np.int64)
        for row, ranks in zip(group.index, doubled, strict=True):
            distance = abs(int(ranks[:small].sum()) - small * (len(ranks) + 1))
            pattern = tuple(sorted(ranks.tolist()))
            if len(ranks) <= _MOST_EXACT:
                p[row] = _tails(pattern, small)[distance]
            else:
                p[row] = _normal(ranks, small, distance)
    return p


@functools.lru_cache(maxsize=4096)
def _tails(doubled: tuple[int, ...], small: int) -> Floats:
    """Probability that the doubled rank sum of random ``small`` lies at least so far from its mean.

    Counts of the subsets of every size and sum, one value at a time.
    """
    total = len(doubled)
    ways = np.zeros((small + 1, sum(doubled[total - small :]) + 1))
    ways[0, 0] = 1.0
    for rank in doubled:
        ways[1:, rank:] += ways[:-1, : ways.shape[1] - rank]
    share = ways[small] / math.comb(total, small)
    distance = np.abs(np.arange(len(share)) - small * (total + 1))
    by_distance = np.bincount(distance, weights=share)
    tails: Floats = np.minimum(np.cumsum(by_distance[::-1])[::-1], 1.0)
    tails.flags.writeable = False
    return tails


def _normal(doubled: npt.NDArray[np.int64], small: int, distance: int) -> float:
    """Approximate by a normal distribution, with the variance of these midranks and half a rank off."""
    total = len(doubled)
    variance = small * (total - small) / total * float(doubled.var(ddof=1))
    if not variance:
        return 1.0
    return min(2 * float(special.ndtr(-max(distance - 1, 0) / math.sqrt(variance))), 1.0)
