"""Errors of sums over shapes, clustered by seed: runs with one seed number may share a session."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from abtune.stats.two_sample import Booleans, Floats, TwoSample
from abtune.stats.variance import floored, moments, welch_freedom


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteredVariance:
    """Variance of a weighted sum over shapes of their means over seeds, with its degrees of freedom."""

    variance: float
    freedom: float


def clustered_variance(value: Floats, weight: Floats, floor: Floats | None = None) -> ClusteredVariance:
    """Return the variance of one side's weighted sum over shapes of their means, clustered by seed.

    Each seed contributes the sum over its shapes of weight (x - mean)/sqrt(k (k - 1)), for a shape with k
    seeds; the variance is the sum of squares of the contributions (Bell and McCaffrey, Survey Methodology
    28, 2002). The floor raises the variance of a shape. NaN if a shape with a weight has fewer than two
    seeds.
    """
    used = weight > 0
    value, weight = value[used], weight[used]
    known = ~np.isnan(value)
    counts = known.sum(axis=1)
    if not len(value) or (counts < 2).any():
        return ClusteredVariance(variance=math.nan, freedom=math.nan)
    own = moments(value).variance
    scale = weight / np.sqrt(counts * (counts - 1))
    means = np.where(known, value, 0.0).sum(axis=1, keepdims=True) / counts[:, np.newaxis]
    contribution = scale @ np.where(known, value - means, 0.0)
    variance = float((contribution**2).sum())
    if floor is not None:
        variance += float((weight**2 * (floored(own, floor[used]) - own) / counts).sum())
    return ClusteredVariance(variance=variance, freedom=_freedom(known, scale**2 * own))


def _freedom(known: Booleans, spread: Floats) -> float:
    """Return Satterthwaite's degrees of freedom tr(C)^2/tr(C^2); C is the covariance of the contributions."""
    present = known.astype(np.float64)
    counts = present.sum(axis=1)
    if (counts == present.shape[1]).all() or not spread.any():
        return float(counts.min() - 1)
    spread = spread / spread.max()  # squares of tiny variances would underflow
    covariance = np.diag(spread @ present) - (present * (spread / counts)[:, np.newaxis]).T @ present
    return float(np.trace(covariance) ** 2 / (covariance**2).sum())


def shared_covariance(samples: TwoSample) -> ClusteredVariance:
    """Return the mean covariance of the boosts of two shapes; zero where negative or unknown."""
    shapes = len(samples)
    if shapes < 2:
        return ClusteredVariance(variance=0.0, freedom=1.0)
    single, joint, freedom = 0.0, 0.0, math.inf
    for side in (samples.first, samples.second):
        own, of_mean = moments(side), clustered_variance(side, np.full(shapes, 1 / shapes))
        single += float(np.mean(own.variance / np.maximum(own.n, 1)))
        joint += of_mean.variance
        freedom = min(freedom, of_mean.freedom)
    covariance = (shapes * joint - single) / (shapes - 1)
    if not covariance > 0:
        return ClusteredVariance(variance=0.0, freedom=1.0)
    return ClusteredVariance(variance=covariance, freedom=freedom)


def both_variances(samples: TwoSample, weight: Floats) -> list[ClusteredVariance]:
    """Return the variance of each side's weighted sum over shapes; of pairs, all is the first side's."""
    return [
        clustered_variance(values, weight, floor)
        for values, floor in zip((samples.first, samples.second), samples.floor.T, strict=True)
    ]


def half_width(sides: Sequence[ClusteredVariance], level: float) -> float:
    """Return half of Welch's t interval of a difference or sum of two sides."""
    first, second = sides
    freedom = float(welch_freedom(first.variance, second.variance, first.freedom + 1, second.freedom + 1))
    error = math.sqrt(first.variance + second.variance)
    return t_quantile(freedom, level) * error


def t_quantile(freedom: float, level: float) -> float:
    """Return the upper two-sided quantile of Student's t, for at least one degree of freedom."""
    return float(special.stdtrit(max(freedom, 1.0), 0.5 + level / 2))
