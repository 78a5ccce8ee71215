"""Tests that count: sign flips of pairs, and splits of medians.

Were both sides of a pair the same, a difference could as well have the other sign. Source: R. A. Fisher, The
Design of Experiments (1935), section 21. The test of medians hardly notices a search that fails rarely.
"""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np

from abtune.stats.estimates import medians
from abtune.stats.splits import RESAMPLES, blocked_product, random_splits, subsets
from abtune.stats.two_sample import Floats, Integers, TwoSample

# Most pairs whose flips are counted: 2^15 sums of each half in place of 2^30 flips.
MOST_COUNTED = 30
_TIE = 1e-9
_AT_ONCE = 10_000


def sign_flip_test(samples: TwoSample, *, rng: np.random.Generator) -> Floats:
    """Return p of the two-sided sign-flip test of a mean difference of zero; NaN below two pairs.

    Flips are counted by meeting in the middle. Beyond 30 pairs 99,999 random ones are drawn, and one is
    added to numerator and denominator. One number is drawn from ``rng``.
    """
    p = np.full(len(samples), np.nan)
    root = int(rng.integers(2**62))
    for group in samples.groups(at_least=2):
        differences = group.first + group.second  # one of them is zero, and p does not depend on the sign
        few = differences.shape[1] <= MOST_COUNTED
        p[group.index] = _counted(differences) if few else _sampled(differences, root)
    return p


@functools.lru_cache(maxsize=32)
def signs(n: int) -> Floats:
    """Return all flips of n values, shape (n, 2^n); the first one changes nothing."""
    flips: Floats = np.array(list(itertools.product((1.0, -1.0), repeat=n))).T.reshape(n, -1)
    # The cache hands the same array to every caller.
    flips.flags.writeable = False
    return flips


def _counted(differences: Floats) -> Floats:
    """Return the share of flips that are as extreme: one tail is counted and doubled."""
    half = differences.shape[1] // 2
    left = np.sort(blocked_product(differences[:, :half], signs(half)), axis=1)
    right = np.sort(blocked_product(differences[:, half:], signs(differences.shape[1] - half)), axis=1)
    least = _threshold(differences)[:, np.newaxis] - right
    below = np.array([have.searchsorted(need).sum() for have, need in zip(left, least, strict=True)])
    # Sums near zero are in both tails, and twice a tail may exceed 1.
    return np.minimum(2 * (1 - below / 2.0 ** differences.shape[1]), 1.0)


def _sampled(differences: Floats, root: int) -> Floats:
    n = differences.shape[1]
    rng, count = np.random.default_rng([root, n]), np.zeros(len(differences))
    for start in range(0, RESAMPLES, _AT_ONCE):
        flips = rng.choice((1.0, -1.0), (min(_AT_ONCE, RESAMPLES - start), n))
        count += (np.abs(blocked_product(flips, differences.T)) >= _threshold(differences)).sum(axis=0)
    return (count + 1) / (RESAMPLES + 1)


def _threshold(differences: Floats) -> Floats:
    """Return the least sum that is as extreme as the observed one."""
    return np.abs(differences.sum(axis=1)) - _TIE * np.abs(differences).sum(axis=1)


_MOST_SPLITS = 20_000
_RANDOM = 19_999
_SHAPES_AT_ONCE = 64  # arrays that stay in the cache take a third of the time
_SPLITS_AT_ONCE = 2_000


def median_permutation_test(samples: TwoSample, *, rng: np.random.Generator) -> Floats:
    """Return p of the two-sided permutation test of equal medians; NaN below two seeds per side.

    The statistic is the difference of medians over Price and Bonett's standard error (Chung and Romano
    2013, DOI 10.1214/13-AOS1090). One number is drawn from ``rng``.
    """
    p = np.full(len(samples), np.nan)
    root = int(rng.integers(2**62))
    for group in samples.groups(at_least=2):
        sides = group.by_size
        pooled, observed = np.sort(np.concatenate(sides, axis=1), axis=1), _squared_t(*sides)
        chosen, others, total = _splits(sides[0].shape[1], sides[1].shape[1], root)
        # Where splits are drawn, the observed one counts as one of them.
        count = np.full(len(pooled), total - len(chosen))
        for split in range(0, len(chosen), _SPLITS_AT_ONCE):
            some = slice(split, split + _SPLITS_AT_ONCE)
            for start in range(0, len(pooled), _SHAPES_AT_ONCE):
                rows = slice(start, start + _SHAPES_AT_ONCE)
                t = _squared_t(pooled[rows][:, chosen[some]], pooled[rows][:, others[some]])
                count[rows] += np.count_nonzero(t >= observed[rows, np.newaxis] * (1 - _TIE), axis=1)
        p[group.index] = count / total
    return p


def _splits(small: int, large: int, root: int) -> tuple[Integers, Integers, int]:
    """Return ascending positions of both sides in the pooled sample, and the number of splits."""
    total = math.comb(small + large, small)
    if total <= _MOST_SPLITS:
        splits = subsets(small + large, small).T
    else:
        splits = random_splits(_RANDOM, small, large, np.random.default_rng([root, small, large]))
        total = _RANDOM + 1
    inside = splits > 0
    return (np.nonzero(inside)[1].reshape(-1, small), np.nonzero(~inside)[1].reshape(-1, large), total)


def _squared_t(first: Floats, second: Floats) -> Floats:
    """Return the squared difference of medians over its squared error; samples ascend along the last axis."""
    (one, first_error), (two, second_error) = medians(first), medians(second)
    difference, error = (one - two) ** 2, first_error + second_error
    certain = np.where(difference > 0, np.inf, 0.0)  # without scatter every difference is extreme
    return np.where(error > 0, difference / np.where(error > 0, error, 1.0), certain)
