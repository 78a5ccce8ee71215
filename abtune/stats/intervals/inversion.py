"""The interval of all shifts that the permutation test does not reject."""

from __future__ import annotations

import math

import numpy as np

from abtune.stats.difference.standard_error import quantile, standard_error
from abtune.stats.intervals.interval import Interval
from abtune.stats.resampling.splits import Splits
from abtune.stats.two_sample import Booleans, Floats, Group, TwoSample

_BLOCK = 16
_HALVINGS = 18
_WIDEST = 6


def permutation_inversion(samples: TwoSample, *, level: float, rng: np.random.Generator) -> Interval:
    """Return the inverted permutation test: a shift lies inside unless the test at 1 - level rejects it.

    Parameters
    ----------
    samples : TwoSample
        Seeds of both sides. The test ignores the floor; the interval is at least as wide as the floor alone
        would make it.
    level : float
        Confidence level, a fraction.
    rng : numpy.random.Generator
        Used for shapes with too many splits to count. One number is drawn from it in any case.

    Notes
    -----
    With n + n seeds, take the split that exchanges a subset I of the first side for a subset J of the second,
    of the same size. It is at least as extreme as the data if the shift is at or beyond mean(I) - mean(J). So
    the bounds are order statistics of these differences [1]_. With unequal numbers of seeds the test is
    studentised, and bisection finds the bounds. All splits are used up to 10 + 10 seeds, or up to 20,000
    splits with unequal numbers; beyond that, 9,999 random ones.

    If even the smallest p-value exceeds 1 - level, the interval would be unbounded. Then it is Welch's.

    References
    ----------
    .. [1] J. S. Maritz, Distribution-Free Statistical Methods, 2nd ed., Chapman & Hall (1995).
    """
    estimate = standard_error(samples)
    reach = quantile(estimate.freedom, level) * estimate.error
    low, high = estimate.difference - reach, estimate.difference + reach
    root = int(rng.integers(2**62))
    for group in samples.groups(at_least=2):
        splits = Splits(group.first.shape[1], group.second.shape[1], root)
        if not splits.resolves(1 - level):
            continue
        for block in group.blocks(_BLOCK):
            index, search = block.index, _Search(splits, reach[block.index], level)
            difference = estimate.difference[index]
            below = search.distance(block.first, block.second, difference)
            above = search.distance(block.second, block.first, -difference)
            least = _floor_error(block) * quantile(estimate.freedom[index], level)
            low[index] = difference - np.maximum(below, least)
            high[index] = difference + np.maximum(above, least)
    return Interval(difference=estimate.difference, low=low, high=high, level=level)


def _floor_error(group: Group) -> Floats:
    """Return the standard error of the difference if seeds varied by their measurement alone."""
    sizes = [group.first.shape[1], group.second.shape[1]]
    error: Floats = np.sqrt(np.nansum(group.floor / sizes, axis=1))
    return error


class _Search:
    """The search for the smallest shift that is not rejected; ``width`` is a first guess of its distance."""

    __slots__ = ("_level", "_splits", "_width")

    def __init__(self, splits: Splits, width: Floats, level: float) -> None:
        self._splits, self._width, self._level = splits, width, level

    def distance(self, first: Floats, second: Floats, difference: Floats) -> Floats:
        """Return how far below the difference the smallest shift lies that is not rejected."""
        if first.shape[1] == second.shape[1]:
            shifts = self._splits.crossings(first, second)
            position = math.floor((1 - self._level) / 2 * (shifts.shape[1] + 1) + 1e-9) - 1
            return np.maximum(difference - np.partition(shifts, position, axis=1)[:, position], 0.0)
        return self._bisected(first, second, difference)

    def _bisected(self, first: Floats, second: Floats, difference: Floats) -> Floats:
        """Bisect between a shift that is not rejected, the difference itself, and one that is."""
        inside, outside = np.zeros_like(difference), self._width.copy()
        for _ in range(_WIDEST):  # most are rejected at once
            kept = self._keeps(first, second, difference - outside)
            inside = np.where(kept, outside, inside)
            outside = np.where(kept, 2 * outside, outside)
            if not kept.any():
                break
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            kept = self._keeps(first, second, difference - middle)
            inside, outside = np.where(kept, middle, inside), np.where(kept, outside, middle)
        return outside

    def _keeps(self, first: Floats, second: Floats, shift: Floats) -> Booleans:
        return self._splits.p(first - shift[:, np.newaxis], second) > 1 - self._level
