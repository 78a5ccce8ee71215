"""Adjusted p-values of many shapes: step-down and step-up procedures, and Westfall and Young's max-T.

Max-T uses the dependence between shapes: whole seeds are dealt to the two sides anew, for every shape alike.
From 4 + 4 seeds on it can show something; Holm's correction over 29 shapes takes 7 + 7.
``statsmodels.stats.multitest.multipletests`` gives the same other p-values; its import takes half a second.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from abtune.stats.splits import blocked_product, random_splits, signs, subsets
from abtune.stats.testing.significance import split_share
from abtune.stats.two_sample import Booleans, Floats, TwoSample


def holm(p: npt.ArrayLike) -> Floats:
    """Return p-values adjusted to control the family-wise error rate; NaN are no tests and stay NaN.

    max over j <= i of min(1, (m - j + 1) p_(j)), for the i-th smallest of m
    (https://www.jstor.org/stable/4615733).
    """
    return _ascending(p, lambda tests: np.maximum.accumulate(np.arange(len(tests), 0, -1) * tests))


def benjamini_hochberg(p: npt.ArrayLike) -> Floats:
    """Return p-values adjusted to control the false discovery rate; NaN are no tests and stay NaN.

    min over j >= i of min(1, m p_(j)/j), for the i-th smallest of m (DOI
    10.1111/j.2517-6161.1995.tb02031.x).
    """

    def step_up(tests: Floats) -> Floats:
        scaled = tests * len(tests) / np.arange(1, len(tests) + 1)
        return np.minimum.accumulate(scaled[::-1])[::-1]

    return _ascending(p, step_up)


def _ascending(p: npt.ArrayLike, adjust: Callable[[Floats], Floats]) -> Floats:
    """Return p-values as a function of all that are known adjusts them in ascending order, at most 1."""
    raw = np.asarray(p, dtype=np.float64)
    adjusted = np.full(raw.shape, np.nan)
    # NaN are last in the order, and the slice leaves them out.
    order = np.argsort(raw, kind="stable")[: np.count_nonzero(~np.isnan(raw))]
    adjusted[order] = np.minimum(adjust(raw[order]), 1.0)
    return adjusted


_MOST_SPLITS = 20_000
_RANDOM = 9_999
_ELEMENTS = 4_000_000
_TIE = 1e-9


def max_t(samples: TwoSample, *, rng: np.random.Generator, alpha: float = 1.0) -> Floats:
    """Return p-values adjusted by the distribution of the largest statistic over the shapes.

    Takes **a column per seed**: whole columns are exchanged, or of pairs their signs flipped. The
    statistic is Welch's t, with the mean floor of both sides; algorithm 4.1 of Westfall and Young
    (Resampling-Based Multiple Testing, 1993) steps down. A split that leaves either side of a shape fewer
    than two values makes that shape unremarkable. Shapes with too few seeds for a p of ``alpha`` do not
    count for the others (Tarone 1990, DOI 10.2307/2531456). One number is drawn from ``rng``.
    """
    p, n = np.full(len(samples), np.nan), samples.sizes
    root, tested = int(rng.integers(2**62)), n.min(axis=1) >= 2
    statistic = _PairedStatistic(samples) if samples.paired else _Statistic(samples)
    # With equal numbers, the split with the sides exchanged is as extreme.
    smallest = split_share(samples) * np.where(n[:, 0] == n[:, 1], 2, 1)
    enough = tested & (smallest <= alpha)
    for family in (tested, enough) if (enough != tested).any() else (tested,):
        if family.any():
            p[family] = _step_down(statistic, statistic.splits(root), family)
    return p


def _step_down(statistic: _PairedStatistic | _Statistic, splits: Floats, family: Booleans) -> Floats:
    """Return the adjusted p-values of some shapes, over these shapes alone."""
    observed = statistic.squared_t(splits[:1])[0]
    order = np.argsort(np.where(family, -observed, np.inf), kind="stable")[: np.count_nonzero(family)]
    # Equal statistics differ by rounding where their sums have another order.
    threshold = observed[order] * (1 - _TIE)
    count = np.zeros(len(order), dtype=np.int64)
    block = max(1, _ELEMENTS // len(family))
    for start in range(0, len(splits), block):
        t = statistic.squared_t(splits[start : start + block])[:, order]
        successive = np.maximum.accumulate(t[:, ::-1], axis=1)[:, ::-1]  # over this shape and lesser ones
        count += np.count_nonzero(successive >= threshold, axis=0)
    p = np.zeros(len(family))
    p[order] = np.maximum.accumulate(count / len(splits))
    return p[family]


class _Statistic:
    """Welch's t of every shape for splits of the columns, by sums and sums of squares."""

    def __init__(self, samples: TwoSample) -> None:
        # Random splits depend on the order of the sides, so the data fix it.
        sides = _columns(samples.first), _columns(samples.second)
        pair = sorted(sides, key=lambda side: (side.shape[1], -float(np.nansum(side))))
        self._small = pair[0].shape[1]
        pooled = np.concatenate(pair, axis=1)
        known = ~np.isnan(pooled)
        filled = np.where(known, pooled, 0.0)
        # Variances are differences of sums of squares here; of logs near -9 they would lose their digits.
        center = filled.sum(axis=1) / np.maximum(known.sum(axis=1), 1)
        values = np.where(known, filled - center[:, np.newaxis], 0.0)
        self._known, self._values = known.astype(np.float64).T, values.T
        # Values change sides, so both sides have one floor.
        floors = np.count_nonzero(~np.isnan(samples.floor), axis=1)
        self._floor = np.nansum(samples.floor, axis=1) / np.maximum(floors, 1)
        self._sums = self._known.sum(axis=0), self._values.sum(axis=0), (self._values**2).sum(axis=0)

    def splits(self, root: int) -> Floats:
        """Return all splits of the columns, or random ones; the first is the data's own."""
        small, large = self._small, len(self._known) - self._small
        if math.comb(small + large, small) <= _MOST_SPLITS:
            return subsets(small + large, small).T
        drawn = random_splits(_RANDOM, small, large, np.random.default_rng([root, small, large]))
        return np.vstack([np.arange(small + large) < small, drawn])

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
        # Without spread the error is zero, or mere rounding. This least error keeps t finite.
        tiny = 1e-12 * self._sums[2] + np.finfo(np.float64).tiny
        enough = np.minimum(inside[0], outside[0]) >= 2
        return np.where(enough, difference / np.maximum(error, tiny), 0.0)


class _PairedStatistic:
    """The paired t of every shape for flips of the columns; sums of squares do not change."""

    def __init__(self, samples: TwoSample) -> None:
        differences = _columns(samples.first - samples.second)
        self._n = np.count_nonzero(~np.isnan(differences), axis=1)
        self._values = np.where(np.isnan(differences), 0.0, differences).T
        self._squares, self._floor = (self._values**2).sum(axis=0), np.nan_to_num(np.fmax(*samples.floor.T))

    def splits(self, root: int) -> Floats:
        """Return all flips, or random ones; a flip and its mirror image are equally extreme."""
        pairs = len(self._values)
        if 2 ** (pairs - 1) <= _MOST_SPLITS:
            # In the first half, the first pair keeps its sign; the other half mirrors it.
            return signs(pairs).T[: 2 ** (pairs - 1)]
        flips = np.random.default_rng([root, pairs]).choice((1.0, -1.0), (_RANDOM, pairs))
        return np.vstack([np.ones(pairs), flips])

    def squared_t(self, flips: Floats) -> Floats:
        """Return t^2, shape (flips, shapes)."""
        n, total = np.maximum(self._n, 2), blocked_product(flips, self._values)
        variance = np.maximum(self._squares - total**2 / n, 0.0) / (n - 1)
        tiny = 1e-12 * self._squares + np.finfo(np.float64).tiny
        return (total / n) ** 2 / np.maximum(np.maximum(variance, self._floor) / n, tiny)


def _columns(values: Floats) -> Floats:
    """Return samples without the columns that are empty in every shape."""
    return values[:, ~np.isnan(values).all(axis=0)]
