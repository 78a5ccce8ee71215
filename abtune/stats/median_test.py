"""The permutation test of equal medians."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from abtune.stats.medians import order_statistics
from abtune.stats.ragged import Floats, Integers, groups
from abtune.stats.splits import random_splits, subsets

_MOST_SPLITS = 20_000
_RANDOM = 19_999
_TIE = 1e-9
_BLOCK = 64


def median_permutation_test(
    first: npt.ArrayLike, second: npt.ArrayLike, *, rng: np.random.Generator
) -> Floats:
    """Two-sided permutation test of equal medians, studentised.

    Parameters
    ----------
    first, second : array_like, shape (shapes, seeds)
        Samples, padded with NaN; log seconds.
    rng : numpy.random.Generator
        Used for shapes with more than 20,000 splits; one number is drawn from it in any case.

    Returns
    -------
    ndarray, shape (shapes,)
        p-values, never zero; NaN if a side has fewer than two values.

    Notes
    -----
    The statistic is the difference of medians over its standard error of Price and Bonett, computed anew
    for every split: exact if the sides are distributed alike, and right for many seeds if only their
    medians are equal [1]_.

    References
    ----------
    .. [1] E. Chung and J. P. Romano, Exact and asymptotically robust permutation tests, Annals of
       Statistics 41, 484-507 (2013). DOI 10.1214/13-AOS1090
    """
    p = np.full(len(np.asarray(first)), np.nan)
    root = int(rng.integers(2**62))
    for group in groups(first, second, at_least=2):
        sides = sorted((group.first, group.second), key=lambda side: side.shape[1])
        small, large = sides[0].shape[1], sides[1].shape[1]
        pooled = np.sort(np.concatenate(sides, axis=1), axis=1)
        exact = math.comb(small + large, small) <= _MOST_SPLITS
        observed = _squared_t(sides[0], sides[1])
        count = np.full(len(pooled), 0 if exact else 1)
        for inside, outside in _places(small, large, root, exact=exact):
            for start in range(0, len(pooled), _BLOCK):
                rows = slice(start, start + _BLOCK)
                t = _squared_t(pooled[rows][:, inside], pooled[rows][:, outside])
                count[rows] += np.count_nonzero(t >= observed[rows, np.newaxis] * (1 - _TIE), axis=1)
        p[group.index] = count / (math.comb(small + large, small) if exact else _RANDOM + 1)
    return p


def _places(small: int, large: int, root: int, *, exact: bool) -> Iterator[tuple[Integers, Integers]]:
    """Ascending places of both sides in the pooled sample, some splits at a time."""
    if exact:
        splits = subsets(small + large, small).T
    else:
        splits = random_splits(_RANDOM, small, large, np.random.default_rng([root, small, large]))
    inside = splits > 0
    chosen = np.nonzero(inside)[1].reshape(-1, small)
    others = np.nonzero(~inside)[1].reshape(-1, large)
    for start in range(0, len(chosen), 2_000):
        yield chosen[start : start + 2_000], others[start : start + 2_000]


def _squared_t(first: Floats, second: Floats) -> Floats:
    """Squared difference of medians over its squared error; samples are ascending along the last axis."""
    middles, errors = [], []
    for side in (first, second):
        order = order_statistics(side.shape[-1])
        middles.append((side[..., order.middle[0]] + side[..., order.middle[1]]) / 2)
        errors.append(((side[..., order.upper] - side[..., order.lower]) / order.widths) ** 2)
    difference, error = (middles[0] - middles[1]) ** 2, errors[0] + errors[1]
    certain = np.where(difference > 0, np.inf, 0.0)  # without scatter every difference is extreme
    ratio: Floats = np.where(error > 0, difference / np.where(error > 0, error, 1.0), certain)
    return ratio
