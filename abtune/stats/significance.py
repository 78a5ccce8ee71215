"""Tests of two independent samples for many shapes: of a difference, and of its being negligible.

The difference is tested by relabelling seeds, exactly where the relabellings can be counted. Equal
numbers of seeds are counted by meeting in the middle, which needs 2 x 2^n sums instead of C(2n, n);
unequal ones need the studentised statistic and are enumerated in blocks.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy import special

from abtune.stats.interval import standard_error
from abtune.stats.ragged import Floats, Group, Integers, groups

RESAMPLES = 99_999
_LARGEST_HALF = 15
_MOST_SPLITS = 2_704_156  # 12 + 12 seeds
_TIE = 1e-12
_ELEMENTS = 2_000_000


def is_exact(n_first: int, n_second: int) -> bool:
    """Whether the permutation test counts every split of so many seeds, or samples them."""
    if n_first == n_second:
        return n_first <= _LARGEST_HALF
    return math.comb(n_first + n_second, n_first) <= _MOST_SPLITS


def permutation_test(first: npt.ArrayLike, second: npt.ArrayLike, *, rng: np.random.Generator) -> Floats:
    """Two-sided permutation test of equal means.

    Parameters
    ----------
    first, second : array_like, shape (shapes, seeds)
        Samples, padded with NaN; log seconds.
    rng : numpy.random.Generator
        Used only for shapes with too many splits to count; one number is drawn from it in any case.

    Returns
    -------
    ndarray, shape (shapes,)
        p-values, never zero; NaN if a side has fewer than two values.

    Notes
    -----
    The statistic is the difference of means, studentised with Welch's standard error if the numbers of
    seeds differ: without that, unequal spread gives up to 27 % false alarms at 5 + 15 seeds [1]_. For
    equal numbers both statistics order the splits alike. Counted are splits at least as extreme, with a
    relative tolerance for ties. Beyond 15 + 15 seeds, or 2.7 million unequal splits, 99,999 random splits
    are drawn and one is added to numerator and denominator [2]_. Neither the order of the shapes nor
    their company alters a result.

    References
    ----------
    .. [1] A. Janssen, Studentized permutation tests for non-i.i.d. hypotheses and the generalized
       Behrens-Fisher problem, Statistics & Probability Letters 36, 9-21 (1997).
       DOI 10.1016/S0167-7152(97)00043-6
    .. [2] B. Phipson and G. K. Smyth, Permutation p-values should never be zero, Statistical Applications
       in Genetics and Molecular Biology 9, 39 (2010). DOI 10.2202/1544-6115.1585
    .. [3] E. Horowitz and S. Sahni, Computing partitions with applications to the knapsack problem,
       Journal of the ACM 21, 277-292 (1974). DOI 10.1145/321812.321823
    """
    p = np.full(len(np.asarray(first)), np.nan)
    root = int(rng.integers(2**62))
    for group in groups(first, second, at_least=2):
        sides = sorted((group.first, group.second), key=lambda side: side.shape[1])
        small, large = sides[0].shape[1], sides[1].shape[1]
        pooled = np.concatenate(sides, axis=1)
        pooled -= pooled.mean(axis=1, keepdims=True)
        if not is_exact(small, large):
            p[group.index] = _sampled(pooled, small, np.random.default_rng([root, small, large]))
        elif small == large:
            p[group.index] = _counted_in_halves(pooled)
        else:
            p[group.index] = _counted_in_blocks(pooled, small)
        p[group.index[_all_equal(group)]] = 1.0
    return p


def welch_test(first: npt.ArrayLike, second: npt.ArrayLike, *, floor: npt.ArrayLike) -> Floats:
    """Two-sided Welch test of equal means.

    Parameters
    ----------
    first, second : array_like, shape (shapes, seeds)
        Samples, padded with NaN; log seconds.
    floor : array_like, shape (shapes, 2)
        Measurement variance of a seed value of each side; NaN where unknown.

    Returns
    -------
    ndarray, shape (shapes,)
        p-values, never zero; NaN if a side has fewer than two values.

    Notes
    -----
    At or below alpha exactly if the Welch interval at level 1 - alpha leaves out zero. Where nothing
    varies, two equal constants have p = 1, and two different ones the permutation test's smallest p.
    """
    estimate = standard_error(first, second, floor)
    varies = estimate.error > 0
    p = 2 * special.stdtr(
        estimate.freedom, -np.abs(estimate.difference) / np.where(varies, estimate.error, 1.0)
    )
    extreme = np.where(estimate.difference == 0, 1.0, 2 * _rarest(first, second))
    return _never_zero(np.where(estimate.error == 0, extreme, p), estimate.error)


def equivalence_test(
    first: npt.ArrayLike, second: npt.ArrayLike, *, margin: float, floor: npt.ArrayLike
) -> Floats:
    """Two one-sided Welch tests of a difference of means of at least the margin.

    Parameters
    ----------
    first, second : array_like, shape (shapes, seeds)
        Samples, padded with NaN; log seconds.
    margin : float
        Largest negligible difference, log scale; the same on both sides of zero.
    floor : array_like, shape (shapes, 2)
        Measurement variance of a seed value of each side; NaN where unknown.

    Returns
    -------
    ndarray, shape (shapes,)
        The larger of the two one-sided p-values; NaN if a side has fewer than two values.

    Notes
    -----
    At or below alpha exactly if the Welch interval at level 1 - 2 alpha lies within the margin. Where
    nothing varies at all, t is infinite; the p-value is then that of the most extreme of the splits,
    1/C(n1 + n2, n1), because so many values cannot show more.

    References
    ----------
    .. [1] D. J. Schuirmann, A comparison of the two one-sided tests procedure and the power approach for
       assessing the equivalence of average bioavailability, Journal of Pharmacokinetics and
       Biopharmaceutics 15, 657-680 (1987). DOI 10.1007/BF01068419
    """
    estimate = standard_error(first, second, floor)
    distance = margin - np.abs(estimate.difference)  # to the nearer margin, the larger p-value
    varies = estimate.error > 0
    p = special.stdtr(estimate.freedom, -distance / np.where(varies, estimate.error, 1.0))
    extreme = np.where(distance > 0, _rarest(first, second), 1.0)
    return _never_zero(np.where(estimate.error == 0, extreme, p), estimate.error)


def _rarest(first: npt.ArrayLike, second: npt.ArrayLike) -> Floats:
    """Share of one split among all."""
    n = [np.count_nonzero(~np.isnan(np.asarray(side, dtype=np.float64)), axis=1) for side in (first, second)]
    share: Floats = 1 / np.minimum(special.binom(n[0] + n[1], n[0]), 1e300)
    return share


def _never_zero(p: Floats, error: Floats) -> Floats:
    """Keep p-values from underflowing to zero, and NaN where there is no standard error."""
    return np.where(np.isnan(error), np.nan, np.maximum(p, np.finfo(np.float64).tiny))


def _all_equal(group: Group) -> npt.NDArray[np.bool_]:
    low = np.minimum(group.first[:, 0], group.second[:, 0])
    equal: npt.NDArray[np.bool_] = low == np.maximum(group.first[:, -1], group.second[:, -1])
    return equal


def _counted_in_halves(pooled: Floats) -> Floats:
    """Exact test of n + n values: pairs of partial sums that together reach the observed sum.

    The values are centred, so exchanging the sides negates the sum: one tail is counted and doubled.
    """
    n = pooled.shape[1] // 2
    threshold = np.abs(pooled[:, :n].sum(axis=1)) - _TIE * np.abs(pooled).sum(axis=1)
    count = np.zeros(len(pooled), dtype=np.int64)
    for left, right in _meeting(n, n, n):
        sums = np.sort(pooled[:, :n] @ left, axis=1)
        wanted = threshold[:, np.newaxis] - pooled[:, n:] @ right
        wanted.sort(axis=1)  # the search then walks through memory in order
        for row, (have, need) in enumerate(zip(sums, wanted, strict=True)):
            count[row] += have.size * need.size - have.searchsorted(need).sum()
    return np.minimum(2 * np.maximum(count, 1) / math.comb(2 * n, n), 1.0)


def _counted_in_blocks(pooled: Floats, small: int) -> Floats:
    """Exact studentised test: every split, a block of pairs of partial sums at a time."""
    half = pooled.shape[1] // 2
    rule = _ExtremeRule(pooled, small)
    count = np.zeros(len(pooled), dtype=np.int64)
    for left, right in _meeting(half, pooled.shape[1] - half, small):
        sums = pooled[:, :half] @ left, pooled[:, half:] @ right
        squares = pooled[:, :half] ** 2 @ left, pooled[:, half:] ** 2 @ right
        for row in range(len(pooled)):
            parts = [(total[row], square[row]) for total, square in zip(sums, squares, strict=True)]
            count[row] += rule.count_pairs(row, *parts)
    return np.maximum(count, 1) / math.comb(pooled.shape[1], small)


def _sampled(pooled: Floats, small: int, rng: np.random.Generator) -> Floats:
    """Studentised test by random splits, the same splits for every shape."""
    shapes, total = pooled.shape
    rule = _ExtremeRule(pooled, small)
    count = np.zeros(shapes, dtype=np.int64)
    step = max(1, _ELEMENTS // max(shapes, total))
    values = np.sort(pooled, axis=1).T  # so that a split knows nothing of which side is first
    for start in range(0, RESAMPLES, step):
        keys = rng.random((min(step, RESAMPLES - start), total))
        chosen = np.zeros(keys.shape)
        np.put_along_axis(chosen, np.argpartition(keys, small, axis=1)[:, :small], 1.0, axis=1)
        count += rule.count(chosen @ values, chosen @ values**2)
    return (count + 1) / (RESAMPLES + 1)


class _ExtremeRule:
    """Whether the Welch statistic of a split is at least as extreme as the observed one.

    For the ``small`` chosen of all values, centred, with sum S and sum of squares Q, the difference of
    means is w S and its squared standard error c0 + c1 Q - c2 S^2. Then t^2 >= t_obs^2, multiplied by
    both squared errors so that constant samples need no exception, reads a S^2 - b Q >= c.
    """

    __slots__ = ("a", "b", "c")

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
        """Count over splits, the first axis, for each shape."""
        extreme = self.a * sums**2 - self.b * squares >= self.c
        count: Integers = np.count_nonzero(extreme, axis=0)
        return count

    def count_pairs(self, row: int, left: tuple[Floats, Floats], right: tuple[Floats, Floats]) -> int:
        """Count over all pairs of partial (sum, sum of squares) of one shape, as a matrix product."""
        a, b = self.a[row], self.b[row]
        own = [a * sums**2 - b * squares for sums, squares in (left, right)]
        one = np.stack([own[0], np.ones_like(own[0]), 2 * a * left[0]], axis=1)
        two = np.stack([np.ones_like(own[1]), own[1], right[0]], axis=0)
        return int(np.count_nonzero(one @ two >= self.c[row]))


def _meeting(first: int, second: int, chosen: int) -> Iterator[tuple[Floats, Floats]]:
    """Go through the ways to choose among first + second values: k of the first, the rest of the second.

    Yields indicator matrices of shape (first, C(first, k)) and (second, C(second, chosen - k)).
    """
    for k in range(max(0, chosen - second), min(first, chosen) + 1):
        yield _subsets(first, k), _subsets(second, chosen - k)


@functools.lru_cache(maxsize=64)
def _subsets(total: int, size: int) -> Floats:
    """Build the indicators of all subsets of a size, shape (total, C(total, size))."""
    members = np.array(list(itertools.combinations(range(total), size)), dtype=np.int64)
    indicator = np.zeros((total, len(members)))
    indicator[members.T, np.arange(len(members))] = 1.0
    indicator.flags.writeable = False
    return indicator
