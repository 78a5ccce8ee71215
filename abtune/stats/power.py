"""What a design can show, before and after it is run: smallest p, detectable boost, seeds needed.

Plans are for the less powerful of the two tests, which is Welch's with fewer degrees of freedom except for
the smallest numbers of seeds; the permutation test enters through its attainable levels. The correction over
shapes enters as the level of the first step of Holm's procedure, alpha over the number of shapes: what
passes there passes for every shape.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy import special

from abtune.stats.caution import fewest_freedom
from abtune.stats.ragged import Floats, Integers
from abtune.stats.splits import RESAMPLES, is_exact
from abtune.stats.variance import welch_freedom

MOST_SEEDS = 1_000_000
_LARGEST_LOG = 700.0
# Seeds a side beyond which splits are sampled.
_MOST_COUNTED = max(n for n in range(2, 40) if is_exact(n, n))
_SHARES, _SHARE_WEIGHTS = np.polynomial.legendre.leggauss(12)
_SIZES, _SIZE_WEIGHTS = np.polynomial.legendre.leggauss(20)
_WEIGHTS = np.outer(_SHARE_WEIGHTS, _SIZE_WEIGHTS) / 4


def smallest_p(n_first: int, n_second: int) -> float:
    """Smallest p-value that the permutation test can give with so many seeds a side.

    Parameters
    ----------
    n_first, n_second : int
        Numbers of seeds.

    Returns
    -------
    float
        2/C(2n, n) for equal numbers (a split and its mirror image are equally extreme), 1/C(n1 + n2, n1)
        for unequal ones, at least 1/100,000 where splits are sampled; 1 if a side has fewer than two
        seeds.
    """
    few = min(n_first, n_second)
    if few < 2:
        return 1.0
    if few > 30:  # sampled, and the number of splits takes long to count
        return 1 / (RESAMPLES + 1)
    share = (2 if n_first == n_second else 1) / math.comb(n_first + n_second, n_first)
    return share if is_exact(n_first, n_second) else max(share, 1 / (RESAMPLES + 1))


def attainable_level(n_first: int, n_second: int, alpha: float) -> float:
    """Largest level up to alpha at which the permutation test can reject with so many seeds a side.

    Returns
    -------
    float
        A multiple of the smallest p-value; 0 if that is larger than alpha.
    """
    step = smallest_p(n_first, n_second)
    return math.floor(alpha / step * (1 + 1e-12)) * step


def power(
    boost: npt.ArrayLike,
    *,
    n_first: npt.ArrayLike,
    n_second: npt.ArrayLike,
    noise_first: npt.ArrayLike,
    noise_second: npt.ArrayLike,
    alpha: float,
) -> Floats:
    """Probability that a difference is called; arguments broadcast.

    Parameters
    ----------
    boost : array_like
        True boost, a fraction; the same power holds for a slowdown by the same ratio.
    n_first, n_second : array_like of int
        Seeds a side, at least two.
    noise_first, noise_second : array_like
        Standard deviation of the log latency over seeds.
    alpha : float
        Level of the test, already corrected.

    Returns
    -------
    ndarray
        0 where no p-value that these seeds can give reaches the level.

    Notes
    -----
    For normal noise. A difference must pass Welch's test with the degrees of freedom of
    :func:`abtune.stats.caution.cautious_error`, and the permutation test, which with few seeds rejects at
    certain levels only. The power is that of the former at the largest level of the latter, which is within
    three points of what both together do (docs/statistics.md).
    """
    n_one, n_two, *noise = _together(n_first, n_second, noise_first, noise_second)
    level = _levels(n_one, n_two, alpha)
    design = _Design(n_one, n_two, noise[0], noise[1], np.where(level > 0, level, alpha))
    return np.where(level > 0, design.power(np.log1p(np.asarray(boost, dtype=np.float64))), 0.0)


def detectable_boost(
    *,
    n_first: npt.ArrayLike,
    n_second: npt.ArrayLike,
    noise_first: npt.ArrayLike,
    noise_second: npt.ArrayLike,
    alpha: float = 0.05,
    shapes: int = 1,
    target: float = 0.8,
    resolution: float | None = None,
) -> Floats:
    """Smallest true boost that a design detects with the wanted power; arguments broadcast.

    Parameters
    ----------
    n_first, n_second : array_like of int
        Seeds a side.
    noise_first, noise_second : array_like
        Standard deviation of the log latency over seeds (about the coefficient of variation).
    alpha : float
        Family-wise level.
    shapes : int
        Number of shapes that the correction covers.
    target : float
        Wanted power.
    resolution : float, optional
        What the smallest p-value that these seeds can give has to reach; by default alpha over the shapes.

    Returns
    -------
    ndarray
        Boost, a fraction; infinite where no p-value that these seeds can give passes the correction, NaN
        where the noise is.
    """
    n_one, n_two, noise_one, noise_two = _together(n_first, n_second, noise_first, noise_second)
    level, reachable = _attained(n_one, n_two, alpha / shapes, resolution)
    design = _Design(np.maximum(n_one, 2), np.maximum(n_two, 2), noise_one, noise_two, level)
    # In standard errors; the power is over one half where the effect exceeds the critical value.
    low, high = np.zeros(design.error.shape), 20 + 20 * design.critical.max(axis=-1)
    for _ in range(40):
        middle = (low + high) / 2
        enough = design.power(middle * design.error) >= target
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    error = np.where(design.error > 0, design.error, 0.0)
    boost = np.expm1(np.minimum(high * error, _LARGEST_LOG))
    return np.where(np.isnan(design.error), np.nan, np.where(reachable, boost, np.inf))


def seeds_needed(
    boost: npt.ArrayLike,
    *,
    noise_first: npt.ArrayLike,
    noise_second: npt.ArrayLike,
    alpha: float = 0.05,
    shapes: int = 1,
    target: float = 0.8,
    resolution: float | None = None,
) -> Integers:
    """Smallest number of seeds a side that detects a boost with the wanted power; arguments broadcast.

    Parameters
    ----------
    boost : array_like
        True boost, a fraction, not zero.
    noise_first, noise_second : array_like
        Standard deviation of the log latency over seeds.
    alpha : float
        Family-wise level.
    shapes : int
        Number of shapes that the correction covers.
    target : float
        Wanted power.
    resolution : float, optional
        What the smallest p-value has to reach; by default alpha over the shapes.

    Returns
    -------
    ndarray of int
        At least so many that the smallest p-value of the permutation test passes the correction, at most
        1,000,000, which also stands for none: where so many that splits are sampled would be needed, and
        sampled splits cannot resolve so strict a level. 0 where the noise is NaN.
    """
    size, noise_one, noise_two = _together(boost, noise_first, noise_second)
    effect = np.log1p(size)
    strictest = alpha / shapes if resolution is None else resolution
    fewest = fewest_seeds(alpha=strictest)
    low, high = np.full(size.shape, fewest - 1), np.full(size.shape, MOST_SEEDS)
    while (high - low > 1).any():
        middle = np.maximum((low + high) // 2, fewest)
        level, _ = _attained(middle, middle, alpha / shapes, resolution)
        enough = _Design(middle, middle, noise_one, noise_two, level).power(effect) >= target
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    if strictest < 1 / (RESAMPLES + 1):
        high = np.where(high > _MOST_COUNTED, MOST_SEEDS, high)
    seeds: Integers = np.where(np.isnan(noise_one + noise_two), 0, high).astype(np.int64)
    return seeds


def fewest_seeds(*, alpha: float = 0.05, shapes: int = 1) -> int:
    """Smallest n for which n + n seeds can give a p-value that passes the correction over the shapes.

    Returns
    -------
    int
        At most 1,000,000, which says that sampled splits can never resolve so strict a level.
    """
    for n in range(2, 40):
        if smallest_p(n, n) <= alpha / shapes:
            return n
    return MOST_SEEDS


def _together(*parts: npt.ArrayLike) -> list[Floats]:
    return list(np.broadcast_arrays(*(np.asarray(part, dtype=np.float64) for part in parts)))


def _levels(n_first: npt.ArrayLike, n_second: npt.ArrayLike, alpha: float) -> Floats:
    """Return the attainable level of every pair of numbers of seeds."""
    n_one, n_two = _together(n_first, n_second)
    pairs = np.stack([n_one.ravel(), n_two.ravel()], axis=1).astype(np.int64)
    unique, place = np.unique(pairs, axis=0, return_inverse=True)
    values = np.array([attainable_level(one, two, alpha) for one, two in unique.tolist()])
    levels: Floats = values[place.ravel()].reshape(n_one.shape)
    return levels


def _attained(
    n_first: npt.ArrayLike, n_second: npt.ArrayLike, alpha: float, resolution: float | None
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return the level to plan with, and whether the smallest p-value reaches what it has to.

    Only where that is the level itself does the number of splits restrict it.
    """
    reachable = _levels(n_first, n_second, alpha if resolution is None else resolution) > 0
    if resolution is not None and resolution > alpha:
        return np.full(reachable.shape, alpha), reachable
    level = _levels(n_first, n_second, alpha)
    return np.where(level > 0, level, alpha), reachable


class _Design:
    """Welch's test of a design, with its error and its critical values, and the power at any effect.

    The test rejects if abs(Z + delta) > c(b) sqrt(k(b) x), where Z is normal, x is chi-square distributed
    with n1 + n2 - 2 degrees of freedom, and b, the share of the first side in x, follows a beta
    distribution. The critical value c depends on b by way of the degrees of freedom, and k(b) x is the
    squared standard error over its expectation. Given b and x a normal probability remains, which is
    integrated over the quantiles of both by Gauss-Legendre quadrature, to 1e-3.
    """

    __slots__ = ("_reach", "critical", "error")

    def __init__(
        self, n_first: Floats, n_second: Floats, noise_first: Floats, noise_second: Floats, alpha: Floats
    ) -> None:
        n = np.stack(_together(n_first, n_second, noise_first)[:2])[..., np.newaxis]
        own = n - 1
        true = np.stack(_together(noise_first, noise_second, n_first)[:2])[..., np.newaxis] ** 2 / n
        share, size = _quantiles(n[0, ..., 0], n[1, ..., 0])
        parts = true / own * np.stack([share, 1 - share])
        freedom = welch_freedom(parts[0], parts[1], n[0], n[1])
        more = (n[0] - n[1]).astype(np.int64)
        fewer = fewest_freedom(freedom, (parts[0], parts[1]), (own[0], own[1]), more)
        self.error: Floats = np.sqrt(true.sum(axis=0))[..., 0]
        self.critical: Floats = special.stdtrit(fewer, 1 - np.asarray(alpha)[..., np.newaxis] / 2)
        unit = np.where(self.error > 0, self.error, 1.0)[..., np.newaxis]
        scale = self.critical * np.sqrt(parts.sum(axis=0)) / unit
        self._reach: Floats = scale[..., np.newaxis] * np.sqrt(size)[..., np.newaxis, :]

    def power(self, effect: Floats) -> Floats:
        """Probability to reject at a true log boost."""
        size = np.abs(effect)
        certain = np.where(size > 0, np.inf, 0.0)  # without noise every effect shows
        shift = np.where(self.error > 0, size / np.where(self.error > 0, self.error, 1.0), certain)
        shift = shift[..., np.newaxis, np.newaxis]
        given = special.ndtr(shift - self._reach) + special.ndtr(-shift - self._reach)
        probability: Floats = (given * _WEIGHTS).sum(axis=(-2, -1))
        return probability


def _quantiles(n_first: Floats, n_second: Floats) -> tuple[Floats, Floats]:
    """Quantiles of the first side's share in the scatter, and of its size, at the nodes."""
    pairs = np.stack([n_first.ravel(), n_second.ravel()], axis=1)
    unique, place = np.unique(pairs, axis=0, return_inverse=True)
    half = (unique[..., np.newaxis] - 1) / 2
    share = special.betaincinv(half[:, 0], half[:, 1], (_SHARES + 1) / 2)
    size = 2 * special.gammaincinv(half.sum(axis=1), (_SIZES + 1) / 2)
    place = place.ravel()
    return (
        share[place].reshape(*n_first.shape, len(_SHARES)),
        size[place].reshape(*n_first.shape, len(_SIZES)),
    )
