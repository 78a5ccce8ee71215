"""What a design can show, before and after it is run.

Plans are for Welch's test with conservative degrees of freedom, at the levels that the permutation test can
attain. The correction enters as the level of the first step of Holm's procedure. Max-T counts the splits of
the seeds once for all shapes; a t-test at that level finds about as much.

A moderated test gains degrees of freedom, up to those for equal noise, where the permutation test is the
limit. With unequal numbers of seeds, the permutation test of normal scores tells that, by the noisier side.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special

from abtune.stats.estimates import LARGEST_LOG, conservative_freedom
from abtune.stats.testing.attainable import MOST_SEEDS, attainable_level, most_seeds, smallest_of, takes_max_t
from abtune.stats.testing.significance import permutation_test
from abtune.stats.two_sample import Booleans, Floats, Integers, TwoSample
from abtune.stats.variance import quotient

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

    At most 1,000,000, which also means none: sampled splits resolve no stricter level. 0 for a noise of NaN.
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


# Nodes for the share and the size of the variance. The weights of each sum to 2 on [-1, 1], so 4 divides.
_SHARES, _SHARE_WEIGHTS = np.polynomial.legendre.leggauss(12)
_SIZES, _SIZE_WEIGHTS = np.polynomial.legendre.leggauss(20)
_WEIGHTS = np.outer(_SHARE_WEIGHTS, _SIZE_WEIGHTS) / 4


class WelchPower:
    """Welch's test of a design: its standard error, its critical values, and its power at any effect.

    The test rejects if abs(Z + delta) > c(b) sqrt(k(b) x), with a normal Z. x has a chi-square distribution
    with n1 + n2 - 2 degrees of freedom. The share b of the first side in x has a beta distribution. c is the
    critical value, and k(b) x is the squared standard error over its expectation. Gauss-Legendre quadrature
    over b and x is right to 1e-3.
    """

    def __init__(self, seeds: Sequence[Floats], noise: Sequence[Floats], level: Floats, gain: float) -> None:
        n = np.stack(seeds)[..., np.newaxis]
        own = n - 1
        true = np.stack(noise)[..., np.newaxis] ** 2 / n
        share, size = _quantiles(*seeds)
        unit = np.stack([share, 1 - share]) / own
        variances = true * unit
        more = (n[0] - n[1]).astype(np.int64)
        alone, gained, equal = (
            conservative_freedom((squares[0], squares[1]), (freedom[0], freedom[1]), more)
            for squares, freedom in ((variances, own), (variances, own + gain), (unit / n, own))
        )
        self.error: Floats = np.sqrt(true.sum(axis=0))[..., 0]
        planned = np.maximum(alone, np.minimum(gained, equal))
        self.critical: Floats = special.stdtrit(planned, 1 - level[..., np.newaxis] / 2)
        scale = self.critical * np.sqrt(variances.sum(axis=0))
        scale /= np.where(self.error > 0, self.error, 1.0)[..., np.newaxis]
        self._reach: Floats = scale[..., np.newaxis] * np.sqrt(size)[..., np.newaxis, :]
        # Max-T may pass where no split of a shape alone does, and has another limit.
        alone_passes = smallest_of(*n[..., 0].astype(np.int64)) <= level * (1 + 1e-12)
        unequal = (more[..., 0] != 0) & (self.error > 0) & alone_passes
        if unequal.any():
            squares = unit[:, unequal, :, np.newaxis] * size[unequal, np.newaxis, :]
            reach = _unequal_reach(n[:, unequal], true[:, unequal], squares, level[unequal], gain)
            self._reach[unequal] = reach / self.error[unequal, np.newaxis, np.newaxis]

    @np.errstate(under="ignore")  # whatever the caller has set: tiny chances are zero
    def power(self, effect: Floats) -> Floats:
        """Return the probability to reject at a true log boost."""
        size = np.abs(effect)
        certain = np.where(size > 0, np.inf, 0.0)  # without noise every effect shows
        shift = quotient(size, self.error, certain)
        shift = shift[..., np.newaxis, np.newaxis]
        given = special.ndtr(shift - self._reach) + special.ndtr(-shift - self._reach)
        return (given * _WEIGHTS).sum(axis=(-2, -1))


def _unequal_reach(n: Floats, true: Floats, squares: Floats, level: Floats, gain: float) -> Floats:
    """Return the smallest difference that passes both tests, at the nodes, for unequal numbers of seeds.

    ``true`` are the variances of the means, and ``squares`` the observed ones over them. The moderated
    t-test draws observed variances towards the true ones, but lowers none.
    """
    own, true = n[..., np.newaxis] - 1, true[..., np.newaxis]
    drawn = true * np.maximum(squares, 1 + (squares - 1) / (1 + gain / own))
    more = (own[0] - own[1]).astype(np.int64)
    freedom = conservative_freedom((drawn[0], drawn[1]), (own[0] + gain, own[1] + gain), more)
    student = special.stdtrit(freedom, 1 - level[:, np.newaxis, np.newaxis] / 2)
    variances = true * squares
    total = variances.sum(axis=0)
    share = np.where(more < 0, *variances) / total
    sizes = np.sort(n[..., 0].astype(np.int64), axis=0).T.tolist()
    critical = [
        np.interp(shares, _SPLIT_SHARES, _critical_of_splits(*pair, strict))
        for shares, pair, strict in zip(share, sizes, level.tolist(), strict=True)
    ]
    return np.maximum(student * np.sqrt(drawn.sum(axis=0)), np.array(critical) * np.sqrt(total))


# Seeds of the smaller side and of the larger one up to which the permutation test is looked at.
_FEW, _MANY = 30, 100
_SPLIT_SHARES = special.expit(np.linspace(-4.5, 4.5, 7))


@functools.lru_cache(maxsize=256)
def _critical_of_splits(small: int, large: int, level: float) -> Floats:
    """Return the t from which the permutation test of normal scores rejects, at shares of the variance.

    A share is the smaller side's. Beyond 30 seeds on both sides Student's t is about as large.
    """
    if small > _FEW:
        return np.zeros(len(_SPLIT_SHARES))
    large = min(large, _MANY)  # more take long
    sides = []
    for n, share in ((small, _SPLIT_SHARES), (large, 1 - _SPLIT_SHARES)):
        scores = special.ndtri((np.arange(n) + 0.5) / n)
        sides.append(np.sqrt(n * share)[:, np.newaxis] * scores / scores.std(ddof=1))
    low, high = np.zeros(len(_SPLIT_SHARES)), np.full(len(_SPLIT_SHARES), 30.0)
    for _ in range(5):
        t = np.linspace(low, high, 7)  # six sections need fewer calls than bisection
        moved = (sides[0] + t[1:-1, :, np.newaxis]).reshape(-1, small)
        samples = TwoSample.without_floor(moved, np.tile(sides[1], (5, 1)))
        p = permutation_test(samples, rng=np.random.default_rng(0)).reshape(5, -1)
        missed = np.count_nonzero(p > level * (1 + 1e-9), axis=0)
        low, high = (np.take_along_axis(t, missed[np.newaxis] + end, axis=0)[0] for end in (0, 1))
    return high


def _quantiles(n_first: Floats, n_second: Floats) -> tuple[Floats, Floats]:
    """Return quantiles of the first side's share in the variance, and of its size, at the nodes."""
    pairs = np.stack([n_first.ravel(), n_second.ravel()], axis=1)
    unique, position = np.unique(pairs, axis=0, return_inverse=True)
    half = (unique[..., np.newaxis] - 1) / 2
    # Quantiles at the nodes turn the integral over a distribution into one over [0, 1].
    share = special.betaincinv(half[:, 0], half[:, 1], (_SHARES + 1) / 2)
    size = 2 * special.gammaincinv(half.sum(axis=1), (_SIZES + 1) / 2)
    position = position.ravel()
    shape = (*n_first.shape, -1)
    return share[position].reshape(shape), size[position].reshape(shape)
