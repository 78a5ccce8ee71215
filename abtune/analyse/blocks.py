"""Errors of sums over shapes, with the seed as the unit.

Runs of different shapes with the same seed number may share a session, so their errors may be correlated.
Summing variances shape by shape would then cover 52 % instead of 95 %; whatever is a sum over shapes is
therefore first summed within each seed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from abtune.stats.ragged import Floats
from abtune.stats.variance import floored, moments, welch_freedom


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Variance of a weighted sum over shapes of the means over seeds, and its degrees of freedom."""

    variance: float
    freedom: float


def block(value: Floats, weight: Floats, floor: Floats | None = None) -> Block:
    """Variance of one side's weighted sum, clustered by seed.

    Parameters
    ----------
    value : ndarray, shape (shapes, seeds)
        NaN where there is none.
    weight : ndarray, shape (shapes,)
        Of the mean of each shape in the sum.
    floor : ndarray, shape (shapes,), optional
        Variance of a seed's value by measurement, NaN for none: a shape scatters no less.

    Notes
    -----
    With complete data of n seeds this is the variance of the seeds' sums over n, with n - 1 degrees of
    freedom. With gaps, each seed contributes sum over its shapes of weight (x - shape mean)/sqrt(k (k - 1)),
    k seeds of the shape, and the squares of the contributions are summed: a clustered sandwich that is
    unbiased for shapes of unequal numbers of seeds [1]_. Its degrees of freedom are Satterthwaite's, for
    shapes that are independent of each other: with C the covariance of the contributions, tr(C)^2/tr(C^2).
    NaN where a shape with a weight has fewer than two seeds.

    References
    ----------
    .. [1] R. M. Bell and D. F. McCaffrey, Bias reduction in standard errors for linear regression with
       multi-stage samples, Survey Methodology 28(2), 169-181 (2002).
    """
    at = weight > 0
    value, weight = value[at], weight[at]
    known = ~np.isnan(value)
    counts = known.sum(axis=1)
    if not len(value) or (counts < 2).any():
        return Block(variance=math.nan, freedom=math.nan)
    own = moments(value).variance
    scale = weight / np.sqrt(counts * (counts - 1))
    means = np.where(known, value, 0.0).sum(axis=1, keepdims=True) / counts[:, np.newaxis]
    contribution = scale @ np.where(known, value - means, 0.0)
    variance = float((contribution**2).sum())
    if floor is not None:
        variance += float((weight**2 * (floored(own, floor[at]) - own) / counts).sum())
    return Block(variance=variance, freedom=_freedom(known, scale**2 * own))


def _freedom(known: npt.NDArray[np.bool_], spread: Floats) -> float:
    """Return Satterthwaite's degrees of freedom, from each shape's part in the contributions."""
    here = known.astype(np.float64)
    counts = here.sum(axis=1)
    if (counts == here.shape[1]).all() or not spread.any():
        return float(counts.min() - 1)
    spread = spread / spread.max()  # squares of tiny variances must not underflow
    covariance = np.diag(spread @ here) - (here * (spread / counts)[:, np.newaxis]).T @ here
    return float(np.trace(covariance) ** 2 / (covariance**2).sum())


def shared(first: Floats, second: Floats) -> Block:
    """Covariance of the boosts of two shapes, mean over pairs, from what the runs of a seed have in common.

    Parameters
    ----------
    first, second : ndarray, shape (shapes, seeds)
        Both sides; NaN where there is no value.

    Notes
    -----
    The variance V of the mean over S shapes, clustered by seed, is (v + (S - 1) c)/S, where v is the mean of
    the shapes' own variances. Zero where c comes out negative, and where it is unknown.
    """
    shapes = len(first)
    if shapes < 2:
        return Block(variance=0.0, freedom=1.0)
    each, together, freedom = 0.0, 0.0, math.inf
    for side in (first, second):
        own, whole = moments(side), block(side, np.full(shapes, 1 / shapes))
        each += float(np.mean(own.variance / np.maximum(own.n, 1)))
        together += whole.variance
        freedom = min(freedom, whole.freedom)
    covariance = (shapes * together - each) / (shapes - 1)
    if not covariance > 0:
        return Block(variance=0.0, freedom=1.0)
    return Block(variance=covariance, freedom=freedom)


def half_width(sides: Sequence[Block], level: float) -> float:
    """Half of Welch's t interval of a difference or sum of two sides; NaN where a variance is."""
    first, second = sides
    freedom = float(welch_freedom(first.variance, second.variance, first.freedom + 1, second.freedom + 1))
    error = math.sqrt(first.variance + second.variance)
    return t_quantile(freedom, level) * error


def t_quantile(freedom: float, level: float) -> float:
    """Upper two-sided quantile of Student's t."""
    return float(special.stdtrit(max(freedom, 1.0), 0.5 + level / 2))
