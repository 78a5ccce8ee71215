"""Bootstrap-t intervals: every resample is measured in its own standard error.

The only bootstrap here that is sampled, because its statistic is not a sum of draws. It covers best where one
side is skewed and the other is not. It is the widest where values tie.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from abtune.stats.difference.standard_error import standard_error
from abtune.stats.intervals.interval import FEWEST_FOR_BOOTSTRAP, Interval, t_interval
from abtune.stats.resampling.bootstrap import smoothing
from abtune.stats.resampling.orientation import orientation, oriented_ends, residuals
from abtune.stats.resampling.products import blocked_product
from abtune.stats.two_sample import Floats, Group, Integers, TwoSample
from abtune.stats.variance import floored, moments

RESAMPLES = 9_999
_BLOCK = 32
_LEAST_SHARE = 0.01


def bootstrap_t(samples: TwoSample, *, level: float, rng: np.random.Generator) -> Interval:
    """Return the bootstrap-t interval.

    Parameters
    ----------
    samples : TwoSample
        Seeds of both sides.
    level : float
        Confidence level, a fraction.
    rng : numpy.random.Generator
        As :func:`resampled` uses it.

    Notes
    -----
    The variance of a resample is at least the floor, and at least a hundredth of the sample's variance:
    resamples of five seeds with ties are often constant, and the interval would have no bound. If a sample
    varies less than its measurement does, a normal error makes up the difference, as for the other
    bootstraps. Welch's below five seeds per side.

    References
    ----------
    .. [1] P. Hall, The Bootstrap and Edgeworth Expansion, Springer (1992). DOI 10.1007/978-1-4612-4384-7
    """
    estimate = standard_error(samples)
    closed = t_interval(estimate, level=level)
    low, high = closed.low.copy(), closed.high.copy()
    for drawn in resampled(samples, rng=rng):
        t, index = drawn.quantiles(level), drawn.index
        low[index] = estimate.difference[index] - t[1] * estimate.error[index]
        high[index] = estimate.difference[index] - t[0] * estimate.error[index]
    return Interval(difference=estimate.difference, low=low, high=high, level=level)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resampled:
    """Errors of resamples over their own standard errors, for some shapes.

    Attributes
    ----------
    index : ndarray of int, shape (members,)
        Rows of the shapes in the samples.
    t : ndarray, shape (RESAMPLES, members)
        In the orientation that the data fix.
    turn : ndarray, shape (members,)
        As :func:`abtune.stats.resampling.orientation.orientation` returns it.
    """

    index: Integers
    t: Floats
    turn: Floats

    def quantiles(self, level: float) -> tuple[Floats, Floats]:
        """Return the quantiles of t that leave out half of 1 - level each.

        Exchanging the sides exchanges and negates them exactly.
        """
        position = max(math.floor((RESAMPLES + 1) * (1 - level) / 2 + 1e-9), 1)
        ordered = np.partition(self.t, (position - 1, RESAMPLES - position), axis=0)
        return oriented_ends(ordered[position - 1], ordered[RESAMPLES - position], self.turn)


def resampled(samples: TwoSample, *, rng: np.random.Generator) -> Iterator[Resampled]:
    """Yield resamples of every shape with at least five seeds on both sides, some shapes at a time.

    Parameters
    ----------
    samples : TwoSample
        Seeds of both sides.
    rng : numpy.random.Generator
        One number is drawn from it. The resamples follow from that number and the numbers of seeds, so a
        result does not depend on the order of the shapes or on the other shapes.
    """
    root = int(rng.integers(2**62))
    for group in samples.groups(at_least=FEWEST_FOR_BOOTSTRAP):
        n = sorted((group.first.shape[1], group.second.shape[1]))
        draws = _Draws(np.random.default_rng([root, *n]), *n)
        for block in group.blocks(_BLOCK):
            yield draws.resample(block)


class _Draws:
    """Resamples for two given sample sizes, the same for every shape."""

    __slots__ = ("counts", "normal")

    def __init__(self, rng: np.random.Generator, small: int, large: int) -> None:
        self.counts = [
            rng.multinomial(n, np.full(n, 1 / n), size=RESAMPLES).astype(np.float64) for n in (small, large)
        ]
        self.normal = rng.standard_normal(RESAMPLES)[:, np.newaxis]

    def resample(self, group: Group) -> Resampled:
        """Return t of every resample and shape."""
        first, second, floor = group.first, group.second, group.floor
        turn = orientation(residuals(first), residuals(second))
        known = np.nan_to_num(floor, nan=-1.0)
        exchange = ((turn > 0) | (turn == 0) & (known[:, 0] > known[:, 1]))[:, np.newaxis]
        if first.shape[1] != second.shape[1]:
            one, two = group.by_size
        else:
            one, two = np.where(exchange, second, first), np.where(exchange, first, second)
        t = self._t(one, two, np.where(exchange, floor[:, ::-1], floor))
        return Resampled(index=group.index, t=t, turn=turn)

    def _t(self, one: Floats, two: Floats, floor: Floats) -> Floats:
        """Return the error of each resample over its own standard error, shape (RESAMPLES, members)."""
        errors, squares, smears = [], [], []
        for counts, side, least in zip(self.counts, (one, two), floor.T, strict=True):
            n, rest = side.shape[1], residuals(side)
            mean = blocked_product(counts, rest.T) / n
            squared = blocked_product(counts, (rest**2).T) / n
            variance = np.maximum(squared - mean**2, 0.0) * n / (n - 1)
            errors.append(mean)
            squares.append(np.maximum(variance, floored(_LEAST_SHARE * moments(side).variance, least)) / n)
            smears.append(smoothing(side, least).smear)
        error = errors[0] - errors[1] + np.hypot(*smears) * self.normal
        scale = np.sqrt(squares[0] + squares[1])
        t: Floats = np.where(scale > 0, error / np.where(scale > 0, scale, 1.0), 0.0)
        return t
