"""Skewness of samples: whether one side has outliers in one direction more than the other.

If only one side is skewed, as where now and then a search fails, its mean and its variance err together. A
few seeds then often look too good and too certain, and a t-test calls too many differences.
"""

from __future__ import annotations

import math

import numpy as np

from abtune.stats.two_sample import Floats, TwoSample, sizes
from abtune.stats.variance import mean_of_known

_FEWEST_SEEDS, _FEWEST_SHAPES = 5, 5
# A gap counts from this size on, if it is this many standard errors away from zero.
_GAP, _ERRORS = 0.3, 2.0


def skewness(values: Floats) -> Floats:
    """Return the skewness of each row without its NaN, shape (shapes,); NaN below five, and for constants.

    ``scipy.stats.skew`` gives the same numbers, and its import takes half a second.
    """
    residual = values - mean_of_known(values)[:, np.newaxis]
    square, cube = mean_of_known(residual**2), mean_of_known(residual**3)
    known = (sizes(values) >= _FEWEST_SEEDS) & (square > 0)
    return np.where(known, cube / np.where(known, square, 1.0) ** 1.5, np.nan)


def skewness_gap(samples: TwoSample) -> float:
    """Return how much more skewed the second side is, mean over shapes; 0 if that is not shown.

    Of pairs, it is minus the skewness of their differences. It takes five shapes with five seeds per side.
    """
    first, second = samples.first, samples.second
    gap = -skewness(first - second) if samples.paired else skewness(second) - skewness(first)
    known = gap[~np.isnan(gap)]
    if len(known) < _FEWEST_SHAPES:
        return 0.0
    mean, error = float(known.mean()), float(known.std(ddof=1)) / math.sqrt(len(known))
    return mean if abs(mean) > max(_GAP, _ERRORS * error) else 0.0
