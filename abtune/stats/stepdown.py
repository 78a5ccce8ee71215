"""Westfall and Young's step-down max-T: the correction that allows for the dependence between shapes.

Whole seeds are dealt to the two sides anew, the same for every shape. That keeps what a seed's shapes have
in common, and lets many shapes share the few splits of few seeds: from 4 + 4 seeds on something can be
shown, where Holm's correction of permutation tests over 29 shapes takes 7 + 7.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from abtune.stats.ragged import Floats
from abtune.stats.splits import random_splits, subsets

_MOST_SPLITS = 20_000
_RANDOM = 9_999
_ELEMENTS = 4_000_000
_TIE = 1e-9


def max_t(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    floor: npt.ArrayLike,
    rng: np.random.Generator,
) -> Floats:
    """Adjust the tests of many shapes by the distribution of their largest statistic.

    Parameters
    ----------
    first, second : array_like, shape (shapes, seeds)
        Samples, padded with NaN, **a column a seed**: columns are exchanged whole. Log seconds.
    floor : array_like, shape (shapes, 2)
        Measurement variance of a seed value of each side, of which the mean is used; NaN where unknown.
    rng : numpy.random.Generator
        Used with more than 20,000 splits of the columns; one number is drawn from it in any case.

    Returns
    -------
    ndarray, shape (shapes,)
        Adjusted p-values, never zero; NaN where a side has fewer than two values.

    Notes
    -----
    The statistic is Welch's t, so unequal numbers of seeds and unequal spread do little harm, and algorithm
    4.1 of [1]_ steps down. Missing values travel with their columns; where a split leaves a side fewer
    than two values, that shape counts as unremarkable. Exact if both sides are distributed alike wherever
    they do not differ; with few seeds of very unequal spread it needs Welch's confirmation.

    References
    ----------
    .. [1] P. H. Westfall and S. S. Young, Resampling-Based Multiple Testing, Wiley (1993).
    .. [2] Y. Ge, S. Dudoit and T. P. Speed, Resampling-based multiple testing for microarray data analysis,
       Test 12, 1-77 (2003). DOI 10.1007/BF02595811
    """
    one, two = _columns(first), _columns(second)
    limits = np.asarray(floor, dtype=np.float64)
    known = np.count_nonzero(~np.isnan(limits), axis=1)
    statistic = _Statistic(one, two, np.nansum(limits, axis=1) / np.maximum(known, 1))
    small = min(one.shape[1], two.shape[1])
    observed = statistic.squared_t(statistic.identity())[0]
    tested = np.minimum(*(np.count_nonzero(~np.isnan(side), axis=1) for side in (one, two))) >= 2
    order = np.argsort(np.where(tested, -observed, np.inf), kind="stable")[: np.count_nonzero(tested)]
    if not len(order):
        return np.full(len(one), np.nan)
    chosen = _splits(one.shape[1] + two.shape[1], small, int(rng.integers(2**62)))
    threshold = observed[order] * (1 - _TIE)
    count = np.zeros(len(order), dtype=np.int64)
    step = max(1, _ELEMENTS // max(len(one), 1))
    for start in range(0, len(chosen), step):
        t = statistic.squared_t(chosen[start : start + step])[:, order]
        successive = np.maximum.accumulate(t[:, ::-1], axis=1)[:, ::-1]  # the largest of this and lesser ones
        count += np.count_nonzero(successive >= threshold, axis=0)
    total = len(chosen) + (1 if len(chosen) == _RANDOM else 0)
    count = np.maximum(count + total - len(chosen), 1)
    p = np.full(len(one), np.nan)
    p[order] = np.maximum.accumulate(count / total)
    return p


class _Statistic:
    """Welch's t of every shape for splits of the columns, by sums and sums of squares."""

    __slots__ = ("_floor", "_known", "_small", "_sums", "_values")

    def __init__(self, first: Floats, second: Floats, floor: Floats) -> None:
        pair = sorted((first, second), key=lambda side: side.shape[1])
        self._small = pair[0].shape[1]
        pooled = np.concatenate(pair, axis=1)
        known = ~np.isnan(pooled)
        filled = np.where(known, pooled, 0.0)
        center = filled.sum(axis=1) / np.maximum(known.sum(axis=1), 1)
        values = np.where(known, filled - center[:, np.newaxis], 0.0)
        self._known, self._values, self._floor = known.astype(np.float64).T, values.T, floor
        self._sums = self._known.sum(axis=0), self._values.sum(axis=0), (self._values**2).sum(axis=0)

    def identity(self) -> Floats:
        """Return the split that the data have."""
        chosen = np.zeros((1, len(self._known)))
        chosen[0, : self._small] = 1.0
        return chosen

    def squared_t(self, chosen: Floats) -> Floats:
        """Return t^2, shape (splits, shapes)."""
        parts = [chosen @ array for array in (self._known, self._values, self._values**2)]
        others = [whole - part for whole, part in zip(self._sums, parts, strict=True)]
        means, errors = [], []
        for n, total, squares in (parts, others):
            size = np.maximum(n, 2)
            means.append(total / np.maximum(n, 1))
            variance = np.maximum(squares - total**2 / np.maximum(n, 1), 0.0) / (size - 1)
            errors.append(np.maximum(variance, self._floor) / size)
        difference, error = (means[0] - means[1]) ** 2, errors[0] + errors[1]
        tiny = 1e-12 * self._sums[2] + np.finfo(np.float64).tiny
        enough = np.minimum(parts[0], others[0]) >= 2
        t: Floats = np.where(enough, difference / np.maximum(error, tiny), 0.0)
        return t


def _columns(values: npt.ArrayLike) -> Floats:
    """Return samples without columns that are empty in every shape."""
    array = np.asarray(values, dtype=np.float64)
    return array[:, ~np.isnan(array).all(axis=0)]


def _splits(total: int, small: int, root: int) -> Floats:
    """Return all splits of the columns, the data's among them, or random ones."""
    if math.comb(total, small) <= _MOST_SPLITS:
        return subsets(total, small).T
    rng = np.random.default_rng([root, small, total - small])
    return random_splits(_RANDOM, small, total - small, rng)
