"""Fewer degrees of freedom for Welch's t, for the strict levels of a correction over many shapes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import special

from abtune.stats.interval import StandardError, standard_error
from abtune.stats.ragged import Floats
from abtune.stats.variance import floored, moments, welch_freedom

_SMALLER = 0.95
_NOISIER = 0.75


def cautious_error(first: npt.ArrayLike, second: npt.ArrayLike, floor: npt.ArrayLike) -> StandardError:
    """Difference of means like :func:`standard_error`, with fewer degrees of freedom.

    Parameters
    ----------
    first, second : array_like, shape (shapes, seeds)
        Samples, padded with NaN; log seconds.
    floor : array_like, shape (shapes, 2)
        Measurement variance of a seed value of each side; NaN where unknown.

    Notes
    -----
    Welch's degrees of freedom are largest where the noisier side happens to scatter too little, which is
    just where t is too large. At 5 % that does not matter. At the levels of a correction over 29 shapes it
    makes 12 % of analyses claim something false at 5 + 10 seeds with four times the spread on the side of
    five, and 9 % at 5 + 5; 6 % at 10 + 10, where a permutation test has to agree. See
    :func:`fewest_freedom` for the remedy: 5, 6 and 5 % then, for two points of power at 7 + 7 and 10 + 10
    seeds of equal spread (docs/statistics.md). False equivalence of shapes that differ by
    exactly the margin is alike: 8 to 10 % of analyses at 5 + 20 seeds, or with four times the spread at
    5 + 10 and 5 + 5, and 5 to 6 % with it (analysis/degrees_of_freedom.py).
    """
    plain = standard_error(first, second, floor)
    limits = np.asarray(floor, dtype=np.float64)
    sides = moments(first), moments(second)
    parts = [
        floored(side.variance, limit) / np.maximum(side.n, 1)
        for side, limit in zip(sides, limits.T, strict=True)
    ]
    own = [np.maximum(side.n - 1, 1).astype(np.float64) for side in sides]
    freedom = fewest_freedom(plain.freedom, (parts[0], parts[1]), (own[0], own[1]), sides[0].n - sides[1].n)
    return StandardError(difference=plain.difference, error=plain.error, freedom=freedom)


def fewest_freedom(
    freedom: Floats, parts: tuple[Floats, Floats], own: tuple[Floats, Floats], more: npt.NDArray[np.int64]
) -> Floats:
    """Reduce Welch's degrees of freedom to the fewest that the data are compatible with.

    Parameters
    ----------
    freedom : ndarray, shape (shapes,)
        Welch-Satterthwaite degrees of freedom.
    parts, own : tuple of ndarray, shape (shapes,)
        Variance of the mean of either side, and the degrees of freedom that it is known with; they broadcast.
    more : ndarray of int, shape (shapes,)
        Seeds of the first side less those of the second.

    Notes
    -----
    The variance of one side is raised to its one-sided upper confidence limit, given the other side's, by
    the F distribution of their ratio. If the numbers of seeds differ, the smaller sample's variance is raised
    to its 95 % limit; if they are equal, the larger variance is raised to its 75 % limit. Taking a nuisance
    parameter at its worst within a confidence set is an idea of [1]_; the limits were chosen by simulation.

    References
    ----------
    .. [1] R. L. Berger and D. D. Boos, P values maximized over a confidence set for the nuisance parameter,
       Journal of the American Statistical Association 89, 1012-1016 (1994).
       DOI 10.1080/01621459.1994.10476836
    """
    share = np.where(more == 0, _NOISIER, _SMALLER)
    limits = special.fdtri(own[0], own[1], share), special.fdtri(own[1], own[0], share)
    # Whether the variance of the first side is the one that is raised.
    first = np.where(more == 0, parts[0] >= parts[1], more < 0)
    worst = np.where(first, limits[0], 1.0) * parts[0], np.where(first, 1.0, limits[1]) * parts[1]
    fewest = np.fmin(freedom, welch_freedom(*worst, own[0] + 1, own[1] + 1))
    known: Floats = np.where(np.isnan(freedom), np.nan, fewest)
    return known
