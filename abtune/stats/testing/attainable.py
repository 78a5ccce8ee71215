"""The smallest p-values that the seeds of a design can reach: those of extreme splits, and of random ones."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from abtune.stats.splits import LARGEST_HALF, MOST_PAIRS, RESAMPLES, is_exact
from abtune.stats.two_sample import Booleans, Floats

MOST_SEEDS = 1_000_000


def smallest_p(n_first: int, n_second: int, *, paired: bool = False) -> float:
    """Return the smallest p-value of the permutation test, of pairs the sign-flip test; 1 below two seeds."""
    few = min(n_first, n_second)
    if few < 2:
        return 1.0
    if paired:
        return 2.0 ** (1 - few) if few <= MOST_PAIRS else 1 / (RESAMPLES + 1)
    if few > 30:  # sampled, and the number of splits takes long to count
        return 1 / (RESAMPLES + 1)
    # With equal numbers, the split with the sides exchanged is as extreme as the observed one.
    share = (2 if n_first == n_second else 1) / math.comb(n_first + n_second, n_first)
    return share if is_exact(n_first, n_second) else max(share, 1 / (RESAMPLES + 1))


smallest_of = np.vectorize(smallest_p, otypes=[np.float64], excluded={"paired"})

# Fewer seeds of a shape show no skewness, and fewer of all shapes often no rare failure. Then over 5 % of
# reports have a false difference by max-T (docs/statistics.md, "Too few seeds for Holm").
_FEWEST_FOR_MAX_T, _FEWEST_OF_ALL = 5, 125


def fewest_for_max_t(shapes: int) -> int:
    """Return the seeds per side of each shape from which max-T may replace Holm's correction."""
    return max(_FEWEST_FOR_MAX_T, math.ceil(_FEWEST_OF_ALL / shapes))


def takes_max_t(smallest: npt.ArrayLike, fewest: npt.ArrayLike, *, shapes: int, alpha: float) -> Booleans:
    """Return whether max-T replaces Holm's correction: no smallest p passes Holm, and seeds are enough."""
    return (np.asarray(smallest) > alpha / shapes) & (np.asarray(fewest) >= fewest_for_max_t(shapes))


def most_seeds(*, smallest: float, paired: bool = False) -> int:
    """Return the largest n for which p of n + n seeds, or n pairs, can be this small; 1,000,000 for any."""
    if smallest >= 1 / (RESAMPLES + 1):  # as random splits and flips can
        return MOST_SEEDS
    return MOST_PAIRS if paired else LARGEST_HALF


def attainable_level(step: Floats, alpha: float) -> Floats:
    """Return the largest level up to alpha at which tests with these smallest p can reject; 0 for none."""
    # The quotient of a level that is attained may round to just below its whole number.
    return np.floor(alpha / step * (1 + 1e-12)) * step


def fewest_seeds(*, smallest: float, paired: bool = False) -> int:
    """Return the smallest n for which p of n + n seeds, or n pairs, can be this small; 1,000,000 for none."""
    # Beyond 15 + 15 seeds, or 30 pairs, the test draws, and the smallest p no longer falls.
    enough = (n for n in range(2, 40) if smallest_p(n, n, paired=paired) <= smallest)
    return next(enough, MOST_SEEDS)
