"""The expected log latency of the best of k searches, for who tunes k times and keeps the best."""

from __future__ import annotations

import numpy as np
from scipy import special

from abtune.stats.two_sample import Floats, Integers, sizes


def best_of(values: Floats, k: int) -> Floats:
    """Return pseudo-values, shape (shapes, seeds), whose mean is the expected smallest of k values.

    NaN where a value is, and for shapes with fewer than k + 1 seeds. Their spread gives the jackknife's
    standard error. The mean of the smallest over all subsets of k is sum_i w_i x_(i), w_i = C(n - i, k -
    1)/C(n, k); the pseudo-value of a seed is n times this minus n - 1 times the same without the seed.
    """
    found, counts = np.full(values.shape, np.nan), sizes(values)
    for n in np.unique(counts[counts > k]).tolist():
        rows = np.flatnonzero(counts == n)[:, np.newaxis]
        order = np.argsort(values[rows[:, 0]], axis=1)[:, :n]  # NaN is last
        ranked = values[rows, order]
        # Without the j-th smallest, the smaller ones keep their weight and the larger ones move up one rank.
        weights, fewer, none = _weights(n, k), _weights(n - 1, k), np.zeros((len(rows), 1))
        below = np.concatenate([none, np.cumsum(fewer * ranked[:, :-1], axis=1)], axis=1)
        above = np.concatenate([np.cumsum((fewer * ranked[:, 1:])[:, ::-1], axis=1)[:, ::-1], none], axis=1)
        found[rows, order] = n * (ranked @ weights)[:, np.newaxis] - (n - 1) * (below + above)
    return found


def best_of_floor(floor: Floats, n: Integers, k: int) -> Floats:
    """Return the least variance of the pseudo-values of n seeds with this measurement variance."""
    share = {m: m * float((_weights(m, k) ** 2).sum()) for m in np.unique(n[n >= k]).tolist()}
    return floor * np.array([share.get(m, np.nan) for m in n.tolist()])


def _weights(n: int, k: int) -> Floats:
    return special.binom(n - np.arange(1, n + 1), k - 1) / special.binom(n, k)
