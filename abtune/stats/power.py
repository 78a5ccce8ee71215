"""What a design can show, before and after it is run: smallest p, detectable boost, seeds needed.

Planning uses Welch's test with the noncentral t distribution. The correction over shapes enters as the
level of the first step of Holm's procedure, alpha over the number of shapes: what holds there holds for
every shape.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy import special

from abtune.stats.ragged import Floats, Integers
from abtune.stats.splits import RESAMPLES, is_exact
from abtune.stats.variance import welch_freedom

MOST_SEEDS = 1_000_000
_LARGEST_LOG = 700.0
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)


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
    if min(n_first, n_second) < 2:
        return 1.0
    share = (2 if n_first == n_second else 1) / math.comb(n_first + n_second, n_first)
    return share if is_exact(n_first, n_second) else max(share, 1 / (RESAMPLES + 1))


def power(
    boost: npt.ArrayLike,
    *,
    n_first: npt.ArrayLike,
    n_second: npt.ArrayLike,
    noise_first: npt.ArrayLike,
    noise_second: npt.ArrayLike,
    alpha: float,
) -> Floats:
    """Probability that Welch's two-sided test at alpha rejects; arguments broadcast.

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

    Notes
    -----
    1 - F(t; nu, delta) + F(-t; nu, delta) with the noncentrality delta = log(1 + boost)/se and Welch's
    degrees of freedom nu at the true variances.
    """
    design = _Design(n_first, n_second, noise_first, noise_second, alpha)
    return design.power(np.log1p(np.asarray(boost, dtype=np.float64)))


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
    arrays = [np.asarray(part, dtype=np.float64) for part in (n_first, n_second, noise_first, noise_second)]
    n_one, n_two, noise_one, noise_two = np.broadcast_arrays(*arrays)
    reachable = _smallest(n_one, n_two) <= (alpha / shapes if resolution is None else resolution)
    n_one, n_two = np.maximum(n_one, 2), np.maximum(n_two, 2)
    design = _Design(n_one, n_two, noise_one, noise_two, alpha / shapes)
    # In standard errors; the power is over one half where the effect exceeds the critical value.
    low, high = np.zeros(design.error.shape), 20 + 20 * design.critical
    for _ in range(50):
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
        1,000,000; 0 where the noise is NaN.
    """
    arrays = [np.asarray(part, dtype=np.float64) for part in (boost, noise_first, noise_second)]
    size, noise_one, noise_two = np.broadcast_arrays(*arrays)
    effect = np.log1p(size)
    fewest = fewest_seeds(alpha=alpha / shapes if resolution is None else resolution)
    low, high = np.full(size.shape, fewest - 1), np.full(size.shape, MOST_SEEDS)
    while (high - low > 1).any():
        middle = np.maximum((low + high) // 2, fewest)
        enough = _Design(middle, middle, noise_one, noise_two, alpha / shapes).power(effect) >= target
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
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


def _smallest(n_first: Floats, n_second: Floats) -> Floats:
    pairs = np.stack([n_first.ravel(), n_second.ravel()], axis=1).astype(np.int64)
    unique, place = np.unique(pairs, axis=0, return_inverse=True)
    values = np.array([smallest_p(one, two) for one, two in unique.tolist()])
    smallest: Floats = values[place].reshape(n_first.shape)
    return smallest


class _Design:
    """Welch's test of a design: its standard error, critical value, and power at any effect.

    Power is P(|T| > critical) for a noncentral T = (Z + delta)/sqrt(X/nu). Given X, a normal probability
    remains, which is integrated over the quantiles of X by Gauss-Legendre quadrature: to 1e-5, and at any
    noncentrality, where the noncentral t distribution of the library gives NaN.
    """

    __slots__ = ("_nodes", "critical", "error")

    def __init__(
        self,
        n_first: npt.ArrayLike,
        n_second: npt.ArrayLike,
        noise_first: npt.ArrayLike,
        noise_second: npt.ArrayLike,
        alpha: float,
    ) -> None:
        n_one, n_two = np.asarray(n_first, dtype=np.float64), np.asarray(n_second, dtype=np.float64)
        part_one, part_two = np.asarray(noise_first) ** 2 / n_one, np.asarray(noise_second) ** 2 / n_two
        freedom = welch_freedom(part_one, part_two, n_one, n_two)
        self.error: Floats = np.sqrt(part_one + part_two)
        self.critical: Floats = special.stdtrit(freedom, 1 - alpha / 2)
        half = freedom[..., np.newaxis] / 2
        self._nodes: Floats = np.sqrt(special.gammaincinv(half, (_NODES + 1) / 2) / half)

    def power(self, effect: Floats) -> Floats:
        """Probability to reject at a true log boost."""
        size = np.abs(effect)
        certain = np.where(size > 0, np.inf, 0.0)  # without noise every effect shows
        shift = np.where(self.error > 0, size / np.where(self.error > 0, self.error, 1.0), certain)
        reach = self.critical[..., np.newaxis] * self._nodes
        given = special.ndtr(shift[..., np.newaxis] - reach) + special.ndtr(-shift[..., np.newaxis] - reach)
        probability: Floats = given @ (_WEIGHTS / 2)
        return probability
