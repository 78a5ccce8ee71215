"""What a design can show, before and after it is run.

Plans are for Welch's test with conservative degrees of freedom, at the levels that the permutation test can
attain. The correction enters as the level of the first step of Holm's procedure. Max-T counts the splits of
the seeds once for all shapes; a t-test at that level finds about as much.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from abtune.stats.estimates import LARGEST_LOG
from abtune.stats.testing.attainable import MOST_SEEDS, attainable_level, most_seeds, smallest_of, takes_max_t
from abtune.stats.testing.welch_power import WelchPower
from abtune.stats.two_sample import Booleans, Floats, Integers

# The numbers of seeds of both sides, or their noise: the standard deviation of log latency. All broadcast.
Sides: TypeAlias = tuple[npt.ArrayLike, npt.ArrayLike]


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """What a design has to achieve."""

    level: float  # of the test of one shape: the family-wise level over the number of shapes
    target: float = 0.8
    resolution: float | None = None  # what the smallest p-value has to reach; by default the level
    paired: bool = False  # the seeds of the design are pairs, and the noise of its second side is zero
    agreement: float = 0.0  # the degrees of freedom that a moderated test adds to both variances
    holm_first: bool = False  # whether a joint correction is only for seeds with which Holm's passes nothing

    @property
    def smallest_p(self) -> float:
        """What the smallest p-value of the seeds has to reach."""
        return self.level if self.resolution is None else self.resolution


def _broadcast(*arrays: npt.ArrayLike) -> list[Floats]:
    return list(np.broadcast_arrays(*(np.asarray(array, dtype=np.float64) for array in arrays)))


def power(boost: npt.ArrayLike, seeds: Sides, noise: Sides, requirement: Requirement) -> Floats:
    """Return the probability that a true boost is called different, for normal noise.

    It is the power of Welch's test at the largest level of the permutation test; the power of both is
    within seven points of it from five seeds on (docs/statistics.md). 0 where no p-value reaches the level.
    """
    n_first, n_second, *noises = _broadcast(*seeds, *noise)
    level, reachable = _attained(n_first, n_second, requirement)
    test = WelchPower((n_first, n_second), noises, level, requirement.agreement)
    return np.where(reachable, test.power(np.log1p(np.asarray(boost, dtype=np.float64))), 0.0)


def detectable_boost(seeds: Sides, noise: Sides, requirement: Requirement) -> Floats:
    """Return the smallest true boost that a design detects; infinite where no p passes, NaN without noise."""
    n_first, n_second, *noises = _broadcast(*seeds, *noise)
    level, reachable = _attained(n_first, n_second, requirement)
    test = WelchPower((np.maximum(n_first, 2), np.maximum(n_second, 2)), noises, level, requirement.agreement)
    # In standard errors; the power is over one half where the effect exceeds the critical value.
    low, high = np.zeros(test.error.shape), 20 + 20 * test.critical.max(axis=-1)
    for _ in range(40):
        middle = (low + high) / 2
        enough = test.power(middle * test.error) >= requirement.target
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    error = np.where(test.error > 0, test.error, 0.0)
    boost = np.expm1(np.minimum(high * error, LARGEST_LOG))
    return np.where(np.isnan(test.error), np.nan, np.where(reachable, boost, np.inf))


def seeds_needed(boost: npt.ArrayLike, noise: Sides, requirement: Requirement) -> Integers:
    """Return the smallest number of seeds per side that detects a boost with the wanted power.

    At most 1,000,000, which also stands for none: sampled splits cannot resolve a level that is too
    strict. 0 where the noise is NaN.
    """
    size, *noises = _broadcast(boost, *noise)
    effect = np.log1p(size)
    fewest = fewest_that_find(requirement)
    low, high = np.full(size.shape, fewest - 1), np.full(size.shape, MOST_SEEDS)
    while (high - low > 1).any():
        middle = np.maximum((low + high) // 2, fewest)
        level, _ = _attained(middle, middle, requirement)
        test = WelchPower((middle, middle), noises, level, requirement.agreement)
        enough = test.power(effect) >= requirement.target
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    most = most_seeds(smallest=requirement.smallest_p, paired=requirement.paired)
    high = np.where(high > most, MOST_SEEDS, high)
    return np.where(np.isnan(sum(noises)), 0, high).astype(np.int64)


def fewest_that_find(requirement: Requirement) -> int:
    """Return the smallest n for which n + n seeds, or n pairs, can find a difference; 1,000,000 for none."""
    n = np.arange(2.0, 40.0)
    return int(np.append(n[_attained(n, n, requirement)[1]], MOST_SEEDS)[0])


def _attained(n_first: Floats, n_second: Floats, requirement: Requirement) -> tuple[Floats, Booleans]:
    """Return the level to plan with, and whether the smallest p-value reaches what it has to."""
    step = smallest_of(n_first.astype(np.int64), n_second.astype(np.int64), paired=requirement.paired)
    attained = attainable_level(step, requirement.smallest_p)
    reachable = attained > 0
    # A joint correction counts the splits once for all shapes. A claim allows k splits that are as extreme,
    # its own among them. How many others there are has about a Poisson distribution, with the median k - 1
    # where its mean is k - 1/3. So of few splits the plan takes a third of a step less than k of them.
    level = attainable_level(step, requirement.level)
    if requirement.smallest_p > requirement.level:
        fewer = np.where(reachable, attained - step / 3, requirement.smallest_p)
        joint = requirement.level * fewer / requirement.smallest_p
        if not requirement.holm_first:
            return joint, reachable
        alpha, shapes = requirement.smallest_p, round(requirement.smallest_p / requirement.level)
        fewest = np.minimum(n_first, n_second)
        reachable &= takes_max_t(step, fewest, shapes=shapes, alpha=alpha) | (level > 0)
        return np.where(level > 0, level, joint), reachable
    return np.where(level > 0, level, requirement.level), reachable
