"""What a design can show, before and after it is run: smallest p, detectable boost, seeds needed.

Plans are for the less powerful of the two tests. That is Welch's with conservative degrees of freedom, except
for the smallest numbers of seeds; the permutation test enters through its attainable levels. The correction
over shapes enters as the level of the first step of Holm's procedure: what passes there passes for every
shape.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from abtune.stats.design.welch_power import WelchPower, broadcast
from abtune.stats.resampling.splits import RESAMPLES, is_exact
from abtune.stats.two_sample import Booleans, Floats, Integers

MOST_SEEDS = 1_000_000
_LARGEST_LOG = 700.0
# Most seeds per side whose splits are counted.
_MOST_COUNTED = max(n for n in range(2, 40) if is_exact(n, n))


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """Numbers of seeds and the noise of both sides; all of them broadcast.

    Attributes
    ----------
    n_first, n_second : array_like of int
        Seeds per side.
    noise_first, noise_second : array_like
        Standard deviation of the log latency over seeds, about the coefficient of variation.
    """

    n_first: npt.ArrayLike
    n_second: npt.ArrayLike
    noise_first: npt.ArrayLike
    noise_second: npt.ArrayLike


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """What a design has to achieve.

    Attributes
    ----------
    level : float
        Level of the test of one shape, already corrected: the family-wise level over the number of shapes.
    target : float
        Wanted power.
    resolution : float, optional
        What the smallest p-value of the seeds has to reach; by default the level.
    """

    level: float
    target: float = 0.8
    resolution: float | None = None

    @property
    def smallest_p(self) -> float:
        """What the smallest p-value of the seeds has to reach."""
        return self.level if self.resolution is None else self.resolution


def smallest_p(n_first: int, n_second: int) -> float:
    """Return the smallest p-value of the permutation test with these numbers of seeds.

    Parameters
    ----------
    n_first, n_second : int
        Numbers of seeds.

    Returns
    -------
    float
        2/C(2n, n) for equal numbers, since a split and its mirror image are equally extreme; 1/C(n1 + n2, n1)
        for unequal ones; at least 1/100,000 where splits are sampled; 1 if either side has fewer than two
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
    """Return the largest level up to alpha at which the permutation test can reject.

    Returns
    -------
    float
        A multiple of the smallest p-value; 0 if that is larger than alpha.
    """
    step = smallest_p(n_first, n_second)
    return math.floor(alpha / step * (1 + 1e-12)) * step


def power(boost: npt.ArrayLike, design: Design, *, level: float) -> Floats:
    """Return the probability that a difference is called.

    Parameters
    ----------
    boost : array_like
        True boost, a fraction; broadcasts with the design. A slowdown by the same ratio has the same power.
    design : Design
        At least two seeds per side.
    level : float
        Level of the test of one shape, already corrected.

    Returns
    -------
    ndarray
        0 where no p-value of these seeds reaches the level.

    Notes
    -----
    For normal noise. A difference must pass Welch's test with the degrees of freedom of
    :func:`abtune.stats.difference.conservative.conservative_welch`, and the permutation test, which with few
    seeds rejects at certain levels only. The power is the first test's at the largest level of the
    second. Both together are within three points of it (docs/statistics.md).
    """
    n_one, n_two, *noise = broadcast(design.n_first, design.n_second, design.noise_first, design.noise_second)
    attained = _levels(n_one, n_two, level)
    test = WelchPower((n_one, n_two), (noise[0], noise[1]), np.where(attained > 0, attained, level))
    return np.where(attained > 0, test.power(np.log1p(np.asarray(boost, dtype=np.float64))), 0.0)


def detectable_boost(design: Design, requirement: Requirement) -> Floats:
    """Return the smallest true boost that a design detects with the wanted power.

    Parameters
    ----------
    design : Design
        Seeds and noise of both sides.
    requirement : Requirement
        Level and power.

    Returns
    -------
    ndarray
        Boost, a fraction; infinite where no p-value of these seeds passes the correction, NaN where the noise
        is.
    """
    n_one, n_two, *noise = broadcast(design.n_first, design.n_second, design.noise_first, design.noise_second)
    level, reachable = _attained(n_one, n_two, requirement)
    test = WelchPower((np.maximum(n_one, 2), np.maximum(n_two, 2)), (noise[0], noise[1]), level)
    # In standard errors; the power is over one half where the effect exceeds the critical value.
    low, high = np.zeros(test.error.shape), 20 + 20 * test.critical.max(axis=-1)
    for _ in range(40):
        middle = (low + high) / 2
        enough = test.power(middle * test.error) >= requirement.target
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    error = np.where(test.error > 0, test.error, 0.0)
    boost = np.expm1(np.minimum(high * error, _LARGEST_LOG))
    return np.where(np.isnan(test.error), np.nan, np.where(reachable, boost, np.inf))


def seeds_needed(
    boost: npt.ArrayLike, noise_first: npt.ArrayLike, noise_second: npt.ArrayLike, requirement: Requirement
) -> Integers:
    """Return the smallest number of seeds per side that detects a boost with the wanted power.

    Parameters
    ----------
    boost : array_like
        True boost, a fraction, not zero.
    noise_first, noise_second : array_like
        Standard deviation of the log latency over seeds. All arrays broadcast.
    requirement : Requirement
        Level and power.

    Returns
    -------
    ndarray of int
        At least the number whose smallest p-value passes the correction. At most 1,000,000, which also stands
        for none: sampled splits cannot resolve a level that is too strict. 0 where the noise is NaN.
    """
    size, noise_one, noise_two = broadcast(boost, noise_first, noise_second)
    effect = np.log1p(size)
    fewest = fewest_seeds(alpha=requirement.smallest_p)
    low, high = np.full(size.shape, fewest - 1), np.full(size.shape, MOST_SEEDS)
    while (high - low > 1).any():
        middle = np.maximum((low + high) // 2, fewest)
        level, _ = _attained(middle, middle, requirement)
        test = WelchPower((middle, middle), (noise_one, noise_two), level)
        enough = test.power(effect) >= requirement.target
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    if requirement.smallest_p < 1 / (RESAMPLES + 1):
        high = np.where(high > _MOST_COUNTED, MOST_SEEDS, high)
    seeds: Integers = np.where(np.isnan(noise_one + noise_two), 0, high).astype(np.int64)
    return seeds


def fewest_seeds(*, alpha: float = 0.05, shapes: int = 1) -> int:
    """Return the smallest n for which n + n seeds can give a p-value that passes a correction.

    Parameters
    ----------
    alpha : float
        Family-wise level.
    shapes : int
        Number of shapes that alpha is divided by.

    Returns
    -------
    int
        1,000,000 if sampled splits can never resolve such a strict level.
    """
    for n in range(2, 40):
        if smallest_p(n, n) <= alpha / shapes:
            return n
    return MOST_SEEDS


def _levels(n_first: npt.ArrayLike, n_second: npt.ArrayLike, level: float) -> Floats:
    """Return the attainable level of every pair of numbers of seeds."""
    n_one, n_two = broadcast(n_first, n_second)
    pairs = np.stack([n_one.ravel(), n_two.ravel()], axis=1).astype(np.int64)
    unique, position = np.unique(pairs, axis=0, return_inverse=True)
    values = np.array([attainable_level(one, two, level) for one, two in unique.tolist()])
    levels: Floats = values[position.ravel()].reshape(n_one.shape)
    return levels


def _attained(
    n_first: npt.ArrayLike, n_second: npt.ArrayLike, requirement: Requirement
) -> tuple[Floats, Booleans]:
    """Return the level to plan with, and whether the smallest p-value reaches what it has to.

    Only where that is the level itself does the number of splits restrict it.
    """
    reachable = _levels(n_first, n_second, requirement.smallest_p) > 0
    if requirement.smallest_p > requirement.level:
        return np.full(reachable.shape, requirement.level), reachable
    level = _levels(n_first, n_second, requirement.level)
    return np.where(level > 0, level, requirement.level), reachable
