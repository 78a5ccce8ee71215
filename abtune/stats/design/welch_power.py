"""The power of Welch's test with conservative degrees of freedom, by quadrature instead of simulation."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import special

from abtune.stats.difference.conservative import conservative_freedom
from abtune.stats.two_sample import Floats
from abtune.stats.variance import welch_freedom

_SHARES, _SHARE_WEIGHTS = np.polynomial.legendre.leggauss(12)
_SIZES, _SIZE_WEIGHTS = np.polynomial.legendre.leggauss(20)
_WEIGHTS = np.outer(_SHARE_WEIGHTS, _SIZE_WEIGHTS) / 4


class WelchPower:
    """Welch's test of a design: its standard error, its critical values, and its power at any effect.

    Parameters
    ----------
    seeds, noise : tuple of array_like
        Number of seeds and standard deviation of each side.
    level : array_like
        Of the two-sided test. All arrays broadcast.

    Attributes
    ----------
    error : ndarray
        True standard error of the difference.
    critical : ndarray
        Critical values, by the first side's share in the scatter on the last axis.

    Notes
    -----
    The test rejects if abs(Z + delta) > c(b) sqrt(k(b) x). Z is normal, x is chi-square distributed with
    n1 + n2 - 2 degrees of freedom, and b, the share of the first side in x, follows a beta distribution. The
    critical value c depends on b by way of the degrees of freedom, and k(b) x is the squared standard error
    over its expectation. Given b and x a normal probability remains. It is integrated over the quantiles of
    both by Gauss-Legendre quadrature, to 1e-3.
    """

    __slots__ = ("_reach", "critical", "error")

    def __init__(
        self,
        seeds: tuple[npt.ArrayLike, npt.ArrayLike],
        noise: tuple[npt.ArrayLike, npt.ArrayLike],
        level: npt.ArrayLike,
    ) -> None:
        n = np.stack(broadcast(*seeds, noise[0])[:2])[..., np.newaxis]
        own = n - 1
        true = np.stack(broadcast(*noise, seeds[0])[:2])[..., np.newaxis] ** 2 / n
        share, size = _quantiles(n[0, ..., 0], n[1, ..., 0])
        variances = true / own * np.stack([share, 1 - share])
        freedom = welch_freedom(variances[0], variances[1], n[0], n[1])
        more = (n[0] - n[1]).astype(np.int64)
        fewer = conservative_freedom(freedom, (variances[0], variances[1]), (own[0], own[1]), more)
        self.error: Floats = np.sqrt(true.sum(axis=0))[..., 0]
        self.critical: Floats = special.stdtrit(fewer, 1 - np.asarray(level)[..., np.newaxis] / 2)
        unit = np.where(self.error > 0, self.error, 1.0)[..., np.newaxis]
        scale = self.critical * np.sqrt(variances.sum(axis=0)) / unit
        self._reach: Floats = scale[..., np.newaxis] * np.sqrt(size)[..., np.newaxis, :]

    def power(self, effect: Floats) -> Floats:
        """Return the probability to reject at a true log boost."""
        size = np.abs(effect)
        certain = np.where(size > 0, np.inf, 0.0)  # without noise every effect shows
        shift = np.where(self.error > 0, size / np.where(self.error > 0, self.error, 1.0), certain)
        shift = shift[..., np.newaxis, np.newaxis]
        given = special.ndtr(shift - self._reach) + special.ndtr(-shift - self._reach)
        probability: Floats = (given * _WEIGHTS).sum(axis=(-2, -1))
        return probability


def broadcast(*arrays: npt.ArrayLike) -> list[Floats]:
    """Return arrays of floats broadcast against each other."""
    return list(np.broadcast_arrays(*(np.asarray(array, dtype=np.float64) for array in arrays)))


def _quantiles(n_first: Floats, n_second: Floats) -> tuple[Floats, Floats]:
    """Return quantiles of the first side's share in the scatter, and of its size, at the nodes."""
    pairs = np.stack([n_first.ravel(), n_second.ravel()], axis=1)
    unique, position = np.unique(pairs, axis=0, return_inverse=True)
    half = (unique[..., np.newaxis] - 1) / 2
    share = special.betaincinv(half[:, 0], half[:, 1], (_SHARES + 1) / 2)
    size = 2 * special.gammaincinv(half.sum(axis=1), (_SIZES + 1) / 2)
    position = position.ravel()
    return (
        share[position].reshape(*n_first.shape, len(_SHARES)),
        size[position].reshape(*n_first.shape, len(_SIZES)),
    )
