"""Bootstrap-t intervals: resamples are measured in their own standard errors.

The only bootstrap here that is sampled, because its statistic is not a sum of draws. It covers best where one
side is skewed and the other is not, and is the widest where values tie.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from abtune.stats.interval import (
    FEWEST_FOR_BOOTSTRAP,
    Interval,
    bootstrap_variance,
    standard_error,
    t_interval,
)
from abtune.stats.ragged import Floats, Integers, groups
from abtune.stats.resampling import orientation, residuals
from abtune.stats.variance import floored, moments

RESAMPLES = 9_999
_BLOCK = 32
_LEAST_SHARE = 0.01


def bootstrap_t(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    level: float,
    floor: npt.ArrayLike,
    rng: np.random.Generator,
    symmetric: bool,
) -> Interval:
    """Bootstrap-t interval.

    Parameters
    ----------
    first, second : array_like, shape (shapes, seeds)
        Samples, padded with NaN; log seconds.
    level : float
        Confidence level, a fraction.
    floor : array_like, shape (shapes, 2)
        Measurement variance of a seed value of each side; NaN where unknown.
    rng : numpy.random.Generator
        One number is drawn from it; the resamples follow from that and the numbers of seeds, so that
        neither the order of the shapes nor their company alters a result.
    symmetric : bool
        Whether the quantile of abs(t) is used for both ends: wider, and safer under skew.

    Notes
    -----
    The variance of a resample is at least the measurement variance, and at least a hundredth of that of
    the sample: resamples of five seeds with ties are often constant, and the interval would have no bound.
    Where a sample varies less than its measurement, a normal error makes up the difference, as for the
    other bootstraps. Welch's below five seeds a side.

    References
    ----------
    .. [1] P. Hall, The Bootstrap and Edgeworth Expansion, Springer (1992). DOI 10.1007/978-1-4612-4384-7
    """
    limits = np.asarray(floor, dtype=np.float64)
    estimate = standard_error(first, second, limits)
    closed = t_interval(estimate, level=level)
    low, high = closed.low.copy(), closed.high.copy()
    for drawn in resampled(first, second, floor=limits, rng=rng):
        t, at = drawn.quantiles(level, symmetric=symmetric), drawn.index
        low[at] = estimate.difference[at] - t[1] * estimate.error[at]
        high[at] = estimate.difference[at] - t[0] * estimate.error[at]
    return Interval(difference=estimate.difference, low=low, high=high, level=level)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resampled:
    """Errors of resamples over their own standard errors, for some shapes.

    Attributes
    ----------
    index : ndarray of int, shape (members,)
        Where the shapes stand in the whole.
    t : ndarray, shape (RESAMPLES, members)
        With the sign that it has in an orientation that the data fix.
    turn : ndarray, shape (members,)
        As :func:`abtune.stats.resampling.orientation` gives it.
    """

    index: Integers
    t: Floats
    turn: Floats

    def quantiles(self, level: float, *, symmetric: bool) -> tuple[Floats, Floats]:
        """Quantiles of t over the resamples; exchanging the sides exchanges and negates them exactly."""
        low, high = _ends(np.abs(self.t), level) if symmetric else _ends(self.t, level)
        if symmetric:
            low = -high
        even = (high - low) / 2
        low, high = np.where(self.turn == 0, -even, low), np.where(self.turn == 0, even, high)
        return np.where(self.turn > 0, -high, low), np.where(self.turn > 0, -low, high)


def resampled(
    first: npt.ArrayLike, second: npt.ArrayLike, *, floor: npt.ArrayLike, rng: np.random.Generator
) -> Iterator[Resampled]:
    """Resample the seeds of every shape with at least five on both sides, some shapes at a time.

    Parameters
    ----------
    first, second : array_like, shape (shapes, seeds)
        Samples, padded with NaN; log seconds.
    floor : array_like, shape (shapes, 2)
        Measurement variance of a seed value of each side; NaN where unknown.
    rng : numpy.random.Generator
        One number is drawn from it, as :func:`bootstrap_t` says.
    """
    limits = np.asarray(floor, dtype=np.float64)
    root = int(rng.integers(2**62))
    for group in groups(first, second, at_least=FEWEST_FOR_BOOTSTRAP):
        n = sorted((group.first.shape[1], group.second.shape[1]))
        draws = _Draws(np.random.default_rng([root, *n]), *n)
        for start in range(0, len(group.index), _BLOCK):
            rows = slice(start, start + _BLOCK)
            at = group.index[rows]
            t, turn = draws.t(group.first[rows], group.second[rows], limits[at])
            yield Resampled(index=at, t=t, turn=turn)


class _Draws:
    """Resamples for two given sample sizes, the same for every shape."""

    __slots__ = ("counts", "normal")

    def __init__(self, rng: np.random.Generator, small: int, large: int) -> None:
        self.counts = [
            rng.multinomial(n, np.full(n, 1 / n), size=RESAMPLES).astype(np.float64) for n in (small, large)
        ]
        self.normal = rng.standard_normal(RESAMPLES)[:, np.newaxis]

    def t(self, first: Floats, second: Floats, floor: Floats) -> tuple[Floats, Floats]:
        """Return t of every resample and shape, and the orientation in which it was computed."""
        turn = orientation(residuals(first), residuals(second))
        known = np.nan_to_num(floor, nan=-1.0)
        exchange = ((turn > 0) | (turn == 0) & (known[:, 0] > known[:, 1]))[:, np.newaxis]
        if first.shape[1] != second.shape[1]:
            one, two = sorted((first, second), key=lambda side: side.shape[1])
        else:
            one, two = np.where(exchange, second, first), np.where(exchange, first, second)
        limits = np.where(exchange, floor[:, ::-1], floor)
        return self._t(one, two, limits), turn

    def _t(self, one: Floats, two: Floats, floor: Floats) -> Floats:
        """Error of each resample over its own standard error, shape (RESAMPLES, members)."""
        errors, squares, smear = [], [], []
        for counts, side, limit in zip(self.counts, (one, two), floor.T, strict=True):
            n, rest = side.shape[1], residuals(side)
            mean = counts @ rest.T / n
            variance = np.maximum(counts @ (rest**2).T / n - mean**2, 0.0) * n / (n - 1)
            least = floored(_LEAST_SHARE * moments(side).variance, limit)
            errors.append(mean)
            squares.append(np.maximum(variance, least) / n)
            smear.append(bootstrap_variance(side, limit)[1])
        error = errors[0] - errors[1] + np.hypot(*smear) * self.normal
        scale = np.sqrt(squares[0] + squares[1])
        t: Floats = np.where(scale > 0, error / np.where(scale > 0, scale, 1.0), 0.0)
        return t


def _ends(t: Floats, level: float) -> tuple[Floats, Floats]:
    """Order statistics of the resamples; of absolute values only the upper one is used, at the level."""
    absolute = bool((t >= 0).all())
    share = (1 - level) if absolute else (1 - level) / 2
    place = max(math.floor((RESAMPLES + 1) * share + 1e-9), 1)
    ordered = np.partition(t, (place - 1, RESAMPLES - place), axis=0)
    return ordered[place - 1], ordered[RESAMPLES - place]
