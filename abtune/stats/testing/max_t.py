"""Westfall and Young's step-down max-T: the correction that uses the dependence between shapes.

Whole seeds are dealt to the two sides again, the same seeds for every shape. From 4 + 4 seeds on it can show
something; Holm's correction of permutation tests over 29 shapes takes 7 + 7.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from abtune.stats.resampling.splits import blocked_product, random_splits, subsets
from abtune.stats.testing.sign_flips import signs
from abtune.stats.two_sample import Floats, TwoSample

_MOST_SPLITS = 20_000
_RANDOM = 9_999
_ELEMENTS = 4_000_000
_TIE = 1e-9


def max_t(samples: TwoSample, *, rng: np.random.Generator) -> Floats:
    """Return p-values adjusted by the distribution of the largest statistic over the shapes.

    Takes **a column per seed**: whole columns are exchanged, or of pairs their signs flipped. The
    statistic is Welch's t, with the mean floor of both sides; algorithm 4.1 of Westfall and Young
    (Resampling-Based Multiple Testing, 1993) steps down. A split that leaves either side of a shape fewer
    than two values makes that shape unremarkable. One number is drawn from ``rng``.
    """
    if samples.paired:
        return _max_t_of_pairs(samples, rng)
    one, two = _columns(samples.first), _columns(samples.second)
    known = np.count_nonzero(~np.isnan(samples.floor), axis=1)
    statistic = _Statistic(one, two, np.nansum(samples.floor, axis=1) / np.maximum(known, 1))
    small = min(one.shape[1], two.shape[1])
    observed = statistic.squared_t(statistic.identity())[0]
    tested = samples.sizes.min(axis=1) >= 2
    order = np.argsort(np.where(tested, -observed, np.inf), kind="stable")[: np.count_nonzero(tested)]
    if not len(order):
        return np.full(len(one), np.nan)
    chosen = _splits(one.shape[1] + two.shape[1], small, int(rng.integers(2**62)))
    return _adjusted(statistic, chosen, observed, order)


def _max_t_of_pairs(samples: TwoSample, rng: np.random.Generator) -> Floats:
    """Return the same for pairs, whose statistic is the paired t."""
    differences = _columns(samples.first - samples.second)
    statistic, pairs = _PairedStatistic(differences, np.fmax(*samples.floor.T)), differences.shape[1]
    observed = statistic.squared_t(np.ones((1, pairs)))[0]
    tested = samples.sizes[:, 0] >= 2
    order = np.argsort(np.where(tested, -observed, np.inf), kind="stable")[: np.count_nonzero(tested)]
    root = int(rng.integers(2**62))
    if not len(order):
        return np.full(len(differences), np.nan)
    if 2 ** (pairs - 1) <= _MOST_SPLITS:  # a flip and its mirror image are equally extreme
        return _adjusted(statistic, signs(pairs).T[: 2 ** (pairs - 1)], observed, order)
    flips = np.random.default_rng([root, pairs]).choice((1.0, -1.0), (_RANDOM, pairs))
    return _adjusted(statistic, flips, observed, order)


def _adjusted(
    statistic: _Statistic | _PairedStatistic, chosen: Floats, observed: Floats, order: npt.NDArray[np.intp]
) -> Floats:
    count = _as_extreme(statistic, chosen, observed, order)
    total = len(chosen) + (1 if len(chosen) == _RANDOM else 0)
    count = np.maximum(count + total - len(chosen), 1)
    p = np.full(len(observed), np.nan)
    p[order] = np.maximum.accumulate(count / total)
    return p


def _as_extreme(
    statistic: _Statistic | _PairedStatistic,
    chosen: Floats,
    observed: Floats,
    order: npt.NDArray[np.intp],
) -> npt.NDArray[np.int64]:
    """Return for each step down the number of splits whose largest statistic is as large as the observed."""
    threshold = observed[order] * (1 - _TIE)
    count = np.zeros(len(order), dtype=np.int64)
    block = max(1, _ELEMENTS // max(len(observed), 1))
    for start in range(0, len(chosen), block):
        t = statistic.squared_t(chosen[start : start + block])[:, order]
        successive = np.maximum.accumulate(t[:, ::-1], axis=1)[:, ::-1]  # over this shape and lesser ones
        count += np.count_nonzero(successive >= threshold, axis=0)
    return count


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
        arrays = self._known, self._values, self._values**2
        inside = [blocked_product(chosen, array) for array in arrays]
        outside = [total - some for total, some in zip(self._sums, inside, strict=True)]
        means, errors = [], []
        for n, total, squares in (inside, outside):
            size = np.maximum(n, 2)
            means.append(total / np.maximum(n, 1))
            variance = np.maximum(squares - total**2 / np.maximum(n, 1), 0.0) / (size - 1)
            errors.append(np.maximum(variance, self._floor) / size)
        difference, error = (means[0] - means[1]) ** 2, errors[0] + errors[1]
        tiny = 1e-12 * self._sums[2] + np.finfo(np.float64).tiny
        enough = np.minimum(inside[0], outside[0]) >= 2
        t: Floats = np.where(enough, difference / np.maximum(error, tiny), 0.0)
        return t


class _PairedStatistic:
    """The paired t of every shape for flips of the columns; sums of squares do not change."""

    __slots__ = ("_floor", "_n", "_squares", "_values")

    def __init__(self, differences: Floats, floor: Floats) -> None:
        self._n = np.count_nonzero(~np.isnan(differences), axis=1)
        self._values = np.where(np.isnan(differences), 0.0, differences).T
        self._squares, self._floor = (self._values**2).sum(axis=0), np.nan_to_num(floor)

    def squared_t(self, flips: Floats) -> Floats:
        """Return t^2, shape (flips, shapes)."""
        n, total = np.maximum(self._n, 2), blocked_product(flips, self._values)
        variance = np.maximum(self._squares - total**2 / n, 0.0) / (n - 1)
        tiny = 1e-12 * self._squares + np.finfo(np.float64).tiny
        t: Floats = (total / n) ** 2 / np.maximum(np.maximum(variance, self._floor) / n, tiny)
        return t


def _columns(values: npt.ArrayLike) -> Floats:
    """Return samples without the columns that are empty in every shape."""
    array = np.asarray(values, dtype=np.float64)
    return array[:, ~np.isnan(array).all(axis=0)]


def _splits(total: int, small: int, root: int) -> Floats:
    """Return all splits of the columns, including the data's own, or random ones."""
    if math.comb(total, small) <= _MOST_SPLITS:
        return subsets(total, small).T
    rng = np.random.default_rng([root, small, total - small])
    return random_splits(_RANDOM, small, total - small, rng)
