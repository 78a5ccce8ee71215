"""The permutation test of equal medians."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from abtune.stats.difference.median_error import order_statistics
from abtune.stats.resampling.splits import random_splits, subsets
from abtune.stats.two_sample import Floats, Integers, TwoSample

_MOST_SPLITS = 20_000
_RANDOM = 19_999
_TIE = 1e-9
_SHAPES_AT_ONCE = 64
_SPLITS_AT_ONCE = 2_000


def median_permutation_test(samples: TwoSample, *, rng: np.random.Generator) -> Floats:
    """Return p of the two-sided permutation test of equal medians, studentised.

    Parameters
    ----------
    samples : TwoSample
        Seeds of both sides. The floor is not used.
    rng : numpy.random.Generator
        Used for shapes with more than 20,000 splits. One number is drawn from it in any case.

    Returns
    -------
    ndarray, shape (shapes,)
        p-values, never zero; NaN if either side has fewer than two values.

    Notes
    -----
    The statistic is the difference of medians over Price and Bonett's standard error, computed for every
    split. The test is exact if the sides have the same distribution, and right for many seeds if only their
    medians are equal [1]_.

    References
    ----------
    .. [1] E. Chung and J. P. Romano, Exact and asymptotically robust permutation tests, Annals of
       Statistics 41, 484-507 (2013). DOI 10.1214/13-AOS1090
    """
    p = np.full(len(samples), np.nan)
    root = int(rng.integers(2**62))
    for group in samples.groups(at_least=2):
        sides = group.by_size
        splits = _Splits(sides[0].shape[1], sides[1].shape[1], root)
        pooled = np.sort(np.concatenate(sides, axis=1), axis=1)
        p[group.index] = splits.share_as_extreme(pooled, _squared_t(*sides))
    return p


@dataclass(frozen=True, slots=True)
class _Splits:
    """The splits of a pooled sample: all of them, or random ones that follow from the root and the sizes."""

    small: int
    large: int
    root: int

    @property
    def _exact(self) -> bool:
        return math.comb(self.small + self.large, self.small) <= _MOST_SPLITS

    def share_as_extreme(self, pooled: Floats, observed: Floats) -> Floats:
        """Return the share of the splits whose statistic is at least the observed one."""
        count = np.full(len(pooled), 0 if self._exact else 1)
        for inside, outside in self._positions():
            for start in range(0, len(pooled), _SHAPES_AT_ONCE):
                rows = slice(start, start + _SHAPES_AT_ONCE)
                t = _squared_t(pooled[rows][:, inside], pooled[rows][:, outside])
                count[rows] += np.count_nonzero(t >= observed[rows, np.newaxis] * (1 - _TIE), axis=1)
        share: Floats = count / (
            math.comb(self.small + self.large, self.small) if self._exact else _RANDOM + 1
        )
        return share

    def _positions(self) -> Iterator[tuple[Integers, Integers]]:
        """Yield ascending positions of both sides in the pooled sample, some splits at a time."""
        if self._exact:
            splits = subsets(self.small + self.large, self.small).T
        else:
            rng = np.random.default_rng([self.root, self.small, self.large])
            splits = random_splits(_RANDOM, self.small, self.large, rng)
        inside = splits > 0
        chosen = np.nonzero(inside)[1].reshape(-1, self.small)
        others = np.nonzero(~inside)[1].reshape(-1, self.large)
        for start in range(0, len(chosen), _SPLITS_AT_ONCE):
            rows = slice(start, start + _SPLITS_AT_ONCE)
            yield chosen[rows], others[rows]


def _squared_t(first: Floats, second: Floats) -> Floats:
    """Return the squared difference of medians over its squared error; samples ascend along the last axis."""
    middles, errors = [], []
    for side in (first, second):
        order = order_statistics(side.shape[-1])
        middles.append((side[..., order.middle[0]] + side[..., order.middle[1]]) / 2)
        errors.append(((side[..., order.upper] - side[..., order.lower]) / order.widths) ** 2)
    difference, error = (middles[0] - middles[1]) ** 2, errors[0] + errors[1]
    certain = np.where(difference > 0, np.inf, 0.0)  # without scatter every difference is extreme
    ratio: Floats = np.where(error > 0, difference / np.where(error > 0, error, 1.0), certain)
    return ratio
