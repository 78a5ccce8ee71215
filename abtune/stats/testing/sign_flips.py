"""The sign-flip test of pairs.

Were both sides of a pair the same, a difference could as well have the other sign. Source: R. A. Fisher, The
Design of Experiments (1935), section 21.
"""

from __future__ import annotations

import functools
import itertools

import numpy as np

from abtune.stats.splits import RESAMPLES, blocked_product
from abtune.stats.two_sample import Floats, TwoSample

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
