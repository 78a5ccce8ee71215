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
from scipy import special

from abtune.stats.ragged import Floats
from abtune.stats.variance import moments, welch_freedom


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Variance of a weighted sum over shapes of the means over seeds, from so many seeds."""

    variance: float
    seeds: int


def block(value: Floats, weight: Floats) -> Block:
    """Variance of one side's weighted sum, clustered by seed.

    Parameters
    ----------
    value : ndarray, shape (shapes, seeds)
        NaN where there is none.
    weight : ndarray, shape (shapes,)
        Of the mean of each shape in the sum.

    Notes
    -----
    With complete data this is the variance of the seeds' sums over their number. With gaps, each seed
    contributes sum over its shapes of weight (x - shape mean)/(seeds of the shape): the clustered sandwich
    with the factor seeds/(seeds - 1). NaN where a shape with a weight has fewer than two seeds.
    """
    value, weight = value[weight > 0], weight[weight > 0]
    known = ~np.isnan(value)
    counts = known.sum(axis=1, keepdims=True)
    seeds = int(np.count_nonzero(known.any(axis=0)))
    if seeds < 2 or (counts < 2).any():
        return Block(variance=math.nan, seeds=seeds)
    filled = np.where(known, value, 0.0)
    residual = np.where(known, value - filled.sum(axis=1, keepdims=True) / counts, 0.0)
    contribution = weight @ (residual / counts)
    return Block(variance=float((contribution**2).sum()) * seeds / (seeds - 1), seeds=seeds)


def shared(first: Floats, second: Floats) -> float:
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
        return 0.0
    each, together = 0.0, 0.0
    for side in (first, second):
        own = moments(side)
        each += float(np.mean(own.variance / np.maximum(own.n, 1)))
        together += block(side, np.full(shapes, 1 / shapes)).variance
    covariance = (shapes * together - each) / (shapes - 1)
    return max(covariance, 0.0) if math.isfinite(covariance) else 0.0


def half_width(sides: Sequence[Block], level: float) -> float:
    """Half of Welch's t interval of a difference or sum of two sides; NaN where a variance is."""
    first, second = sides
    freedom = float(welch_freedom(first.variance, second.variance, first.seeds, second.seeds))
    error = math.sqrt(first.variance + second.variance)
    return t_quantile(freedom, level) * error


def t_quantile(freedom: float, level: float) -> float:
    """Upper two-sided quantile of Student's t."""
    return float(special.stdtrit(max(freedom, 1.0), 0.5 + level / 2))
