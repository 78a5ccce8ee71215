"""Counts of the splits of a pooled sample, or flips of pairs, that are as extreme as the observed one.

Equal numbers of seeds are counted by meeting in the middle (Horowitz and Sahni 1974, DOI
10.1145/321812.321823): 2 x 2^n partial sums instead of C(2n, n) splits. So are flips. Unequal numbers need
the studentised statistic, and every split counts. Where there are too many, they are sampled.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator

import numpy as np

from abtune.stats.two_sample import Floats, Integers

# OpenBLAS uses threads beyond this number of multiplications. They wait longer than such products take.
_MULTIPLICATIONS = 1 << 18
RESAMPLES = 99_999
LARGEST_HALF = 15  # most seeds per side whose splits are counted, if both have as many
MOST_PAIRS = 30  # whose flips are counted: 2^15 sums of each half in place of 2^30 flips
_FLIPS = 10_000  # that are drawn at once
_MOST_SPLITS = 2_704_156  # 12 + 12 seeds
_MOST_SEEDS = 40  # beyond, the partial sums of a few among many need too much memory
# As a share of the sum of absolute residuals: the rounding error of logs near -9 that vary by only 1e-6.
_TIE = 1e-9
_ELEMENTS = 2_000_000


def blocked_product(left: Floats, right: Floats) -> Floats:
    """Return ``left @ right``, a block of rows at a time, which takes a fifth of the time."""
    product = np.empty((left.shape[0], right.shape[1]))
    rows = max(1, _MULTIPLICATIONS // max(right.size, 1))
    for start in range(0, len(left), rows):
        np.matmul(left[start : start + rows], right, out=product[start : start + rows])
    return product


def is_exact(n_first: int, n_second: int) -> bool:
    """Return whether the permutation test counts every split of these numbers of seeds, or samples them."""
    if n_first == n_second:
        return n_first <= LARGEST_HALF
    total = n_first + n_second
    return total <= _MOST_SEEDS and math.comb(total, n_first) <= _MOST_SPLITS


def centred(pooled: Floats) -> Floats:
    """Return the pooled values less their mean.

    The first value is subtracted beforehand, which is exact: otherwise the residuals of logs near -9 that
    vary by a millionth would not sum to zero.
    """
    shifted = pooled - pooled[:, :1]
    return shifted - shifted.mean(axis=1, keepdims=True)


def counted_in_halves(pooled: Floats) -> Floats:
    """Return p of the exact test of n + n centred values: one tail is counted and doubled."""
    n = pooled.shape[1] // 2
    count = np.zeros(len(pooled), dtype=np.int64)
    for start, block in _blocks(pooled, math.comb(n, n // 2)):
        threshold = np.abs(block[:, :n].sum(axis=1)) - _TIE * np.abs(block).sum(axis=1)
        for left, right in _meeting(n, n, n):
            sums = np.sort(blocked_product(block[:, :n], left), axis=1)
            wanted = threshold[:, np.newaxis] - blocked_product(block[:, n:], right)
            wanted.sort(axis=1)  # the search then walks through memory in order
            for row, (have, need) in enumerate(zip(sums, wanted, strict=True), start):
                count[row] += have.size * need.size - have.searchsorted(need).sum()
    # The observed split always counts. Sums near zero are in both tails, and twice a tail may exceed 1.
    return np.minimum(2 * np.maximum(count, 1) / math.comb(2 * n, n), 1.0)


def counted_in_blocks(pooled: Floats, small: int) -> Floats:
    """Return p of the exact studentised test: every split, a block of pairs of partial sums at a time."""
    half = pooled.shape[1] // 2
    other = pooled.shape[1] - half
    count = np.zeros(len(pooled), dtype=np.int64)
    for start, block in _blocks(pooled, math.comb(other, min(small, other // 2))):
        rule = _ExtremeRule(block, small)
        for left, right in _meeting(half, other, small):
            sums = block[:, :half] @ left, block[:, half:] @ right
            squares = block[:, :half] ** 2 @ left, block[:, half:] ** 2 @ right
            for row in range(len(block)):
                halves = [(total[row], square[row]) for total, square in zip(sums, squares, strict=True)]
                count[start + row] += rule.count_pairs(row, *halves)
    return np.maximum(count, 1) / math.comb(pooled.shape[1], small)


def sampled(pooled: Floats, small: int, rng: np.random.Generator) -> Floats:
    """Return p of the studentised test by random splits, the same splits for every shape."""
    shapes, total = pooled.shape
    rule = _ExtremeRule(pooled, small)
    count = np.zeros(shapes, dtype=np.int64)
    step = max(1, _ELEMENTS // max(shapes, total))
    values = np.sort(pooled, axis=1).T  # so no split depends on which side is first
    for start in range(0, RESAMPLES, step):
        chosen = random_splits(min(step, RESAMPLES - start), small, total - small, rng)
        count += rule.count(blocked_product(chosen, values), blocked_product(chosen, values**2))
    return (count + 1) / (RESAMPLES + 1)


class _ExtremeRule:
    """The rule whether the Welch statistic of a split is at least as extreme as the observed one.

    Let the ``small`` chosen values, centred, have the sum S and the sum of squares Q. The difference of
    means is w S, its squared standard error c0 + c1 Q - c2 S^2. So t^2 >= t_obs^2, times both squared
    errors, reads a S^2 - b Q >= c, also for constant samples.
    """

    def __init__(self, pooled: Floats, small: int) -> None:
        large = pooled.shape[1] - small
        per_small, per_large = 1 / (small * (small - 1)), 1 / (large * (large - 1))
        squares = (pooled**2).sum(axis=1)
        c0, c1, c2 = squares * per_large, per_small - per_large, per_small / small + per_large / large
        chosen = pooled[:, :small]
        sum_squared = chosen.sum(axis=1) ** 2
        error = np.maximum(c0 + c1 * (chosen**2).sum(axis=1) - c2 * sum_squared, 0.0)
        difference = (1 / small + 1 / large) ** 2 * sum_squared
        self.a = error * (1 / small + 1 / large) ** 2 + difference * c2
        self.b = difference * c1
        self.c = difference * c0 - _TIE * (difference * c0 + self.a * squares)

    def count(self, sums: Floats, squares: Floats) -> Integers:
        """Return the number of extreme splits of each shape; splits are the first axis."""
        extreme = self.a * sums**2 - self.b * squares >= self.c
        return np.count_nonzero(extreme, axis=0)

    def count_pairs(self, row: int, left: tuple[Floats, Floats], right: tuple[Floats, Floats]) -> int:
        """Return the number of extreme pairs of partial (sum, sum of squares) of one shape."""
        a, b = self.a[row], self.b[row]
        own = [a * sums**2 - b * squares for sums, squares in (left, right)]
        # All pairs at once, as a matrix product; the last column makes the mixed term of (left + right)^2.
        one = np.stack([own[0], np.ones_like(own[0]), 2 * a * left[0]], axis=1)
        two = np.stack([np.ones_like(own[1]), own[1], right[0]], axis=0)
        return int(np.count_nonzero(blocked_product(one, two) >= self.c[row]))


def _blocks(pooled: Floats, width: int) -> Iterator[tuple[int, Floats]]:
    """Yield blocks of shapes, each with its first row. An array of this width for a block stays small."""
    step = max(1, _ELEMENTS // width)
    for start in range(0, len(pooled), step):
        yield start, pooled[start : start + step]


def _meeting(first: int, second: int, chosen: int) -> Iterator[tuple[Floats, Floats]]:
    """Yield indicators of all ways to choose k of the first values and the rest of the second."""
    for k in range(max(0, chosen - second), min(first, chosen) + 1):
        yield subsets(first, k), subsets(second, chosen - k)


def random_splits(number: int, small: int, large: int, rng: np.random.Generator) -> Floats:
    """Return random subsets with ``small`` members: indicators of shape (number, small + large)."""
    keys = rng.random((number, small + large))
    return (keys <= np.partition(keys, small - 1, axis=1)[:, small - 1 : small]).astype(np.float64)


@functools.lru_cache(maxsize=64)
def subsets(total: int, size: int) -> Floats:
    """Return the indicators of all subsets of a size, shape (total, C(total, size))."""
    members = np.array(list(itertools.combinations(range(total), size)), dtype=np.int64)
    indicator = np.zeros((total, len(members)))
    indicator[members.T, np.arange(len(members))] = 1.0
    # The cache hands the same array to every caller.
    indicator.flags.writeable = False
    return indicator


def counted_flips(differences: Floats) -> Floats:
    """Return p of the exact sign-flip test: one tail is counted and doubled."""
    half = differences.shape[1] // 2
    left = np.sort(blocked_product(differences[:, :half], signs(half)), axis=1)
    right = np.sort(blocked_product(differences[:, half:], signs(differences.shape[1] - half)), axis=1)
    least = _least_sum(differences)[:, np.newaxis] - right
    below = np.array([have.searchsorted(need).sum() for have, need in zip(left, least, strict=True)])
    # Sums near zero are in both tails, and twice a tail may exceed 1.
    return np.minimum(2 * (1 - below / 2.0 ** differences.shape[1]), 1.0)


def sampled_flips(differences: Floats, rng: np.random.Generator) -> Floats:
    """Return p of the sign-flip test by random flips, the same flips for every shape."""
    count = np.zeros(len(differences))
    for start in range(0, RESAMPLES, _FLIPS):
        flips = rng.choice((1.0, -1.0), (min(_FLIPS, RESAMPLES - start), differences.shape[1]))
        sums = np.abs(blocked_product(flips, differences.T))
        count += (sums >= _least_sum(differences)).sum(axis=0)
    return (count + 1) / (RESAMPLES + 1)


def _least_sum(differences: Floats) -> Floats:
    """Return the least sum that is as extreme as the observed one."""
    return np.abs(differences.sum(axis=1)) - _TIE * np.abs(differences).sum(axis=1)


@functools.lru_cache(maxsize=32)
def signs(n: int) -> Floats:
    """Return all flips of n values, shape (n, 2^n); the first one changes nothing."""
    flips: Floats = np.array(list(itertools.product((1.0, -1.0), repeat=n))).T.reshape(n, -1)
    flips.flags.writeable = False
    return flips
