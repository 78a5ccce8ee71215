"""The interval of all shifts that the permutation test does not reject."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from abtune.stats.interval import Interval, quantile, standard_error
from abtune.stats.ragged import Floats, groups
from abtune.stats.splits import Splits

_BLOCK = 16
_HALVINGS = 18
_WIDEST = 6


def permutation_inversion(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    level: float,
    floor: npt.ArrayLike,
    rng: np.random.Generator,
) -> Interval:
    """Invert the permutation test: a shift lies inside unless the test at 1 - level rejects it.

    Parameters
    ----------
    first, second : array_like, shape (shapes, seeds)
        Samples, padded with NaN; log seconds.
    level : float
        Confidence level, a fraction.
    floor : array_like, shape (shapes, 2)
        Measurement variance of a seed value of each side; NaN where unknown. The test knows of none; the
        interval is at least as wide as the floor alone would make it.
    rng : numpy.random.Generator
        Used for shapes with too many splits to look at; one number is drawn from it in any case.

    Notes
    -----
    With n + n seeds, the split that exchanges a subset I of the first side for a subset J of the second, of
    the same size, is at least as extreme as the data if the shift is at or beyond mean(I) - mean(J); the
    bounds are therefore order statistics of these differences [1]_. With unequal numbers of seeds the test
    is studentised, and the bounds are found by bisection. All splits are used up to 10 + 10 seeds, or up to
    20,000 splits with unequal numbers; beyond, 9,999 random ones.

    Where even the smallest p-value exceeds 1 - level, the interval would be unbounded, and Welch's interval
    is returned instead.

    References
    ----------
    .. [1] J. S. Maritz, Distribution-Free Statistical Methods, 2nd ed., Chapman & Hall (1995).
    """
    limits = np.asarray(floor, dtype=np.float64)
    estimate = standard_error(first, second, limits)
    reach = quantile(estimate.freedom, level) * estimate.error
    low, high = estimate.difference - reach, estimate.difference + reach
    root = int(rng.integers(2**62))
    for group in groups(first, second, at_least=2):
        splits = Splits(group.first.shape[1], group.second.shape[1], root)
        if not splits.resolves(1 - level):
            continue
        for start in range(0, len(group.index), _BLOCK):
            rows = slice(start, start + _BLOCK)
            at, sides = group.index[rows], (group.first[rows], group.second[rows])
            width = reach[at]
            below = _distance(sides[0], sides[1], estimate.difference[at], width, level, splits)
            above = _distance(sides[1], sides[0], -estimate.difference[at], width, level, splits)
            least = np.sqrt(np.nansum(limits[at] / [side.shape[1] for side in sides], axis=1))
            least = least * quantile(estimate.freedom[at], level)
            low[at] = estimate.difference[at] - np.maximum(below, least)
            high[at] = estimate.difference[at] + np.maximum(above, least)
    return Interval(difference=estimate.difference, low=low, high=high, level=level)


def _distance(
    first: Floats, second: Floats, difference: Floats, width: Floats, level: float, splits: Splits
) -> Floats:
    """How far below the difference the smallest shift lies that is not rejected."""
    if first.shape[1] == second.shape[1]:
        shifts = splits.crossings(first, second)
        place = math.floor((1 - level) / 2 * (shifts.shape[1] + 1) + 1e-9) - 1
        return np.maximum(difference - np.partition(shifts, place, axis=1)[:, place], 0.0)
    return _halved(first, second, difference, width, level, splits)


def _halved(
    first: Floats, second: Floats, difference: Floats, width: Floats, level: float, splits: Splits
) -> Floats:
    """Bisect between a shift that is not rejected, the difference itself, and one that is."""
    inside, outside = np.zeros_like(difference), width.copy()
    for _ in range(_WIDEST):  # most are rejected at once
        kept = splits.p(first - (difference - outside)[:, np.newaxis], second) > 1 - level
        inside = np.where(kept, outside, inside)
        outside = np.where(kept, 2 * outside, outside)
        if not kept.any():
            break
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        kept = splits.p(first - (difference - middle)[:, np.newaxis], second) > 1 - level
        inside, outside = np.where(kept, middle, inside), np.where(kept, outside, middle)
    return outside
