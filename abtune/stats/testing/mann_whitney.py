"""The Mann-Whitney test: whether the typical run of one side is faster.

It asks whether a run of the candidate beats a run of the baseline. One search in ten that goes badly wrong
hardly matters to that, so the test finds small shifts below rare failures. It is not a test of the boost,
which is a ratio of means.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from scipy import special

from abtune.stats.two_sample import Floats, Integers, TwoSample

_MOST_EXACT = 120


def mann_whitney_test(samples: TwoSample) -> Floats:
    """Return p of the two-sided Mann-Whitney test, exact also with ties.

    Parameters
    ----------
    samples : TwoSample
        Seeds of both sides. Only their order counts; the floor is not used.

    Returns
    -------
    ndarray, shape (shapes,)
        Share of the splits whose sum of midranks is at least as far from its mean; NaN if either side has
        fewer than two values.

    Notes
    -----
    Up to 120 seeds in all, the distribution of the sum of midranks is computed for the ties at hand [1]_.
    Beyond that it is normal, with a correction for ties and for continuity. If the sides vary differently
    around the same mean, the test rejects more often than alpha, because typical runs do differ then.

    References
    ----------
    .. [1] H. B. Mann and D. R. Whitney, On a test of whether one of two random variables is stochastically
       larger than the other, Annals of Mathematical Statistics 18, 50-60 (1947).
       DOI 10.1214/aoms/1177730491
    """
    from scipy import stats  # its import takes half a second

    p = np.full(len(samples), np.nan)
    for group in samples.groups(at_least=2):
        sides = group.by_size
        small = sides[0].shape[1]
        doubled = np.rint(2 * stats.rankdata(np.concatenate(sides, axis=1), axis=1)).astype(np.int64)
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
    """Return the probability of each distance or more of a doubled rank sum of ``small`` from its mean.

    Subsets of every size and sum are counted, one value at a time.
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


def _normal(doubled: Integers, small: int, distance: int) -> float:
    """Return p of a normal distribution with the variance of these midranks, and half a rank off."""
    total = len(doubled)
    variance = small * (total - small) / total * float(doubled.var(ddof=1))
    if not variance:
        return 1.0
    return min(2 * float(special.ndtr(-max(distance - 1, 0) / math.sqrt(variance))), 1.0)
