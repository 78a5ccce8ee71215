"""The expected log latency of the best of k searches, for who tunes k times and keeps the best."""

from __future__ import annotations

import numpy as np
from scipy import special

from abtune.stats.two_sample import Floats


def best_of(values: Floats, k: int) -> Floats:
    """Return pseudo-values, shape (shapes, seeds), whose mean is the expected smallest of k values.

    NaN where a value is, and for shapes with fewer than k + 1 seeds. Their spread gives the jackknife's
    standard error. The mean of the smallest over all subsets of k is sum_i w_i x_(i), w_i = C(n - i, k -
    1)/C(n, k); the pseudo-value of a seed is n times this minus n - 1 times the same without the seed.
    """
    found = np.full(values.shape, np.nan)
    for row, out in zip(values, found, strict=True):
        known = np.flatnonzero(~np.isnan(row))
        n = len(known)
        if n <= k:
            continue
        order = known[np.argsort(row[known])]
        ranked = row[order]
        # Without the j-th smallest, the smaller ones keep their weight and the larger ones move up one rank.
        weights, fewer = _weights(n, k), _weights(n - 1, k)
        below = np.concatenate([[0.0], np.cumsum(fewer * ranked[:-1])])
        above = np.concatenate([np.cumsum((fewer * ranked[1:])[::-1])[::-1], [0.0]])
        out[order] = n * (weights @ ranked) - (n - 1) * (below + above)
    return found


def _weights(n: int, k: int) -> Floats:
    return special.binom(n - np.arange(1, n + 1), k - 1) / special.binom(n, k)
