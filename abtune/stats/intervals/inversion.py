"""The interval of all shifts that the permutation test does not reject."""

from __future__ import annotations

import math

import numpy as np

from abtune.stats.estimates import Interval, quantile, standard_error
from abtune.stats.resampling.splits import Splits
from abtune.stats.two_sample import Booleans, Floats, TwoSample

_BLOCK = 16
_HALVINGS = 18
_WIDEST = 6


def permutation_inversion(samples: TwoSample, *, level: float, rng: np.random.Generator) -> Interval:
    """Return the interval of all shifts that the permutation test at 1 - level does not reject.

    The split that exchanges a subset I of the first side for an equally large J of the second is at least
    as extreme as the data if the shift is at or beyond mean(I) - mean(J), so the bounds are order
    statistics of these differences (J. S. Maritz, Distribution-Free Statistical Methods, 1995). With
    unequal numbers bisection finds them. Welch's if the smallest p-value exceeds 1 - level; at least as
    wide as the floor alone.
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
            least = np.sqrt(block.floor_variance) * quantile(estimate.freedom[index], level)
            low[index] = difference - np.maximum(below, least)
            high[index] = difference + np.maximum(above, least)
    return Interval(difference=estimate.difference, low=low, high=high, level=level)


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
