"""Percentile and BCa bootstrap intervals: what most tools print, and too narrow for few seeds.

They are here to be compared with, and for readers who know them from elsewhere. The distribution is
computed instead of sampled, so neither depends on a random seed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy import special

from abtune.stats.interval import FEWEST_FOR_BOOTSTRAP, Interval, bootstrap_variance, welch
from abtune.stats.ragged import Floats, Group, groups
from abtune.stats.resampling import error_bias, error_quantiles, residuals

_Tails = Callable[[Group, Floats], Floats]


def percentile(
    first: npt.ArrayLike, second: npt.ArrayLike, *, level: float, floor: npt.ArrayLike
) -> Interval:
    """Percentile bootstrap interval.

    Parameters
    ----------
    first, second : array_like, shape (shapes, seeds)
        Samples, padded with NaN; log seconds.
    level : float
        Confidence level, a fraction.
    floor : array_like, shape (shapes, 2)
        Measurement variance of a seed value of each side; NaN where unknown.

    Notes
    -----
    Too narrow by the factor sqrt((n-1)/n) z/t. Welch's below five seeds a side.
    """

    def tails(group: Group, _: Floats) -> Floats:
        return np.full((len(group.index), 2), (1 - level) / 2)

    return _bootstrap(first, second, tails, level=level, floor=floor)


def bca(first: npt.ArrayLike, second: npt.ArrayLike, *, level: float, floor: npt.ArrayLike) -> Interval:
    """Bias-corrected and accelerated bootstrap interval.

    Parameters
    ----------
    first, second : array_like, shape (shapes, seeds)
        Samples, padded with NaN; log seconds.
    level : float
        Confidence level, a fraction.
    floor : array_like, shape (shapes, 2)
        Measurement variance of a seed value of each side; NaN where unknown.

    Notes
    -----
    Tails at Phi(z0 + (z0 + z)/(1 - a (z0 + z))), eq. 14.10 of [1]_, with the acceleration a of two samples
    from their third moments. The skewness of five to ten values is mostly noise, so the correction makes
    coverage worse than that of the plain percentile. Welch's below five seeds a side.

    References
    ----------
    .. [1] B. Efron and R. J. Tibshirani, An Introduction to the Bootstrap, Chapman & Hall (1993).
       DOI 10.1201/9780429246593
    """
    z = special.ndtri((1 - level) / 2)

    def tails(group: Group, smear: Floats) -> Floats:
        bias, acceleration = error_bias(group, smear), _acceleration(group)
        ends = [bias + (bias + end) / (1 - acceleration * (bias + end)) for end in (z, -z)]
        return np.stack([special.ndtr(ends[0]), special.ndtr(-ends[1])], axis=1)

    return _bootstrap(first, second, tails, level=level, floor=floor)


def _bootstrap(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    tails: _Tails,
    *,
    level: float,
    floor: npt.ArrayLike,
) -> Interval:
    """Quantiles of the bootstrap distribution at the tails of a method."""
    limits = np.asarray(floor, dtype=np.float64)
    closed = welch(first, second, level=level, floor=limits)
    low, high = closed.low.copy(), closed.high.copy()
    for group in groups(first, second, at_least=FEWEST_FOR_BOOTSTRAP):
        at = group.index
        smear = np.stack(
            [
                bootstrap_variance(group.first, limits[at, 0])[1],
                bootstrap_variance(group.second, limits[at, 1])[1],
            ],
            axis=1,
        )
        errors = error_quantiles(group, smear, tails(group, smear))
        low[at], high[at] = closed.difference[at] + errors[0], closed.difference[at] + errors[1]
    return Interval(difference=closed.difference, low=low, high=high, level=level)


def _acceleration(group: Group) -> Floats:
    """Return a sixth of the skewness of the difference: sum l^3/n^3 over (sum l^2/n^2)^(3/2)."""
    sides = [(residuals(side), side.shape[1]) for side in (group.first, group.second)]
    cubes = [((rest / n) ** 3).sum(axis=1) for rest, n in sides]
    squares = np.sum([((rest / n) ** 2).sum(axis=1) for rest, n in sides], axis=0)
    scale = np.where(squares > 0, squares, 1.0) ** 1.5
    acceleration: Floats = (cubes[0] - cubes[1]) / (6 * scale)
    return acceleration
