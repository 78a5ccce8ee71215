"""Skewness of samples: whether one side has outliers in one direction more than the other.

If only one side is skewed, as where now and then a search fails, its mean and its variance err together. A
few seeds then often look too good and too certain, and a t-test calls too many differences in its favour. It
calls too few against it.
"""

from __future__ import annotations

import math

import numpy as np

from abtune.stats.two_sample import Floats, TwoSample, sizes
from abtune.stats.variance import mean_of_known, moments

_FEWEST_SEEDS, _FEWEST_SHAPES = 5, 5
# A gap counts from this size on, if it is this many standard errors away from zero.
_GAP, _ERRORS = 0.3, 2.0
# Fewer seeds than this over all shapes show a gap less clearly, so less evidence is asked for
# (docs/statistics.md, `one side skewed`).
_MANY, _GAP_OF_FEW, _ERRORS_OF_FEW = 200, 0.15, 1.5


def skewness(values: Floats) -> Floats:
    """Return the skewness of each row without its NaN, shape (shapes,); NaN below five, and for constants.

    ``scipy.stats.skew`` gives the same numbers, and its import takes half a second.
    """
    residual = values - mean_of_known(values)[:, np.newaxis]
    square, cube = mean_of_known(residual**2), mean_of_known(residual**3)
    # Of a constant row, the residuals may be the rounding of its mean; its variance is exactly zero.
    known = (sizes(values) >= _FEWEST_SEEDS) & (moments(values).variance > 0)
    return np.where(known, cube / np.where(known, square, 1.0) ** 1.5, np.nan)


def misled(samples: TwoSample) -> tuple[bool, bool]:
    """Return whether skewness makes too many claims that the second side is faster, and that it is slower."""
    gap = skewness_gap(samples)
    # If both sides are skewed alike, the one with more seeds looks more skewed, and the other one misleads.
    unequal = gap != 0 and bool((samples.sizes[:, 0] != samples.sizes[:, 1]).any())
    return gap > 0 or unequal, gap < 0 or unequal


def skewness_gap(samples: TwoSample) -> float:
    """Return how much more skewed the second side is, mean over shapes; 0 if that is not shown.

    Of pairs, it is minus the skewness of their differences. It takes five shapes with five seeds per side.
    """
    first, second = samples.first, samples.second
    # Few values look less skewed than many. So unequal numbers of skewed seeds have a gap, too, and the t of
    # their difference is skewed indeed.
    gap = -skewness(first - second) if samples.paired else skewness(second) - skewness(first)
    known = ~np.isnan(gap)
    shapes, mean = int(np.count_nonzero(known)), float(mean_of_known(gap))
    if shapes < _FEWEST_SHAPES:
        return 0.0
    error = float(gap[known].std(ddof=1)) / math.sqrt(shapes)
    few = samples.sizes.min(axis=1)[known].sum() < _MANY
    least, errors = (_GAP_OF_FEW, _ERRORS_OF_FEW) if few else (_GAP, _ERRORS)
    return mean if abs(mean) > max(least, errors * error) else 0.0
