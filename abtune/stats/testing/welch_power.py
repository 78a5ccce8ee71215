"""The power of Welch's test where a permutation test has to pass, too.

A moderated test gains degrees of freedom, up to those for equal noise, where the permutation test is the
limit. With unequal numbers of seeds that limit depends on which side is noisier, so the permutation test of
normal scores tells it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
from scipy import special

from abtune.stats.estimates import conservative_freedom
from abtune.stats.testing.attainable import smallest_of
from abtune.stats.testing.significance import permutation_test
from abtune.stats.two_sample import Floats, TwoSample

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

    def power(self, effect: Floats) -> Floats:
        """Return the probability to reject at a true log boost."""
        size = np.abs(effect)
        certain = np.where(size > 0, np.inf, 0.0)  # without noise every effect shows
        shift = np.where(self.error > 0, size / np.where(self.error > 0, self.error, 1.0), certain)
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
