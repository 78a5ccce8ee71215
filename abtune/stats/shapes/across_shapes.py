"""Whether shapes differ in their boost, how many have one, and how often a run beats another."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from abtune.stats.two_sample import Floats, TwoSample


def at_least(p: Floats, *, correlation: float, alpha: float) -> int:
    """Return a lower bound of the number of shapes whose null hypothesis is false.

    ``p`` are one-sided p-values, each by itself; ``correlation`` is of the tests of two shapes. The bound
    is the number of shapes minus the largest k whose k largest p-values Fisher's combination does not
    reject (Goeman and Solari 2011, DOI 10.1214/11-STS356), with Brown's approximation for the correlation
    (1975, DOI 10.2307/2529826).
    """
    known = np.where(np.isnan(p), 1.0, np.asarray(p, dtype=np.float64))
    largest_first = np.sort(known)[::-1]
    k = np.arange(1, len(known) + 1)
    statistic = -2 * np.cumsum(np.log(largest_first))
    pair = 3.263 * correlation + 0.71 * correlation**2 + 0.027 * correlation**3  # covariance of two logs
    variance = 4 * k + k * (k - 1) * pair
    combined = special.chdtrc(8 * k**2 / variance, 4 * k * statistic / variance)
    kept = np.flatnonzero(combined > alpha)
    return len(known) - (int(kept[-1]) + 1 if len(kept) else 0)


_ITERATIONS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Heterogeneity:
    """The spread of true effects around their mean."""

    q: float  # Cochran's Q; about ``shapes - 1`` if all effects are equal
    p: float  # test that all effects are equal
    between: float  # standard deviation of the true effects (tau), log scale
    share: float  # I^2, the share of the variance of the estimates that their errors do not explain


def heterogeneity(effect: npt.ArrayLike, error: npt.ArrayLike, freedom: npt.ArrayLike) -> Heterogeneity:
    """Return how far independent estimates spread beyond their own errors; NaN below two shapes.

    Q = sum w (y - mean)^2 with w = 1/se^2. p is from Welch's F (1951, DOI 10.1093/biomet/38.3-4.330),
    because errors come from few seeds. tau^2 solves Q(tau^2) = k - 1 (Paule and Mandel 1982, DOI
    10.6028/jres.087.022). I^2 = max(0, 1 - (k - 1)/Q). ``statsmodels`` gives the same numbers, and its
    import takes half a second.
    """
    y, variance = np.asarray(effect, dtype=np.float64), np.asarray(error, dtype=np.float64) ** 2
    if len(y) < 2:
        return Heterogeneity(q=math.nan, p=math.nan, between=math.nan, share=math.nan)
    q, others = _q(y, variance), len(y) - 1
    return Heterogeneity(
        q=q,
        p=_welch_f(y, variance, np.asarray(freedom, dtype=np.float64)),
        between=math.sqrt(_between(y, variance)),
        share=max(0.0, 1 - others / q) if q > 0 else 0.0,
    )


def _q(effect: Floats, variance: Floats) -> float:
    weight = 1 / variance
    return float(weight @ (effect - weight @ effect / weight.sum()) ** 2)


def _welch_f(effect: Floats, variance: Floats, freedom: Floats) -> float:
    k = len(effect)
    share = 1 / variance / (1 / variance).sum()
    spread = float(((1 - share) ** 2 / freedom).sum()) / (k**2 - 1)
    f = _q(effect, variance) / (k - 1) / (1 + 2 * (k - 2) * spread)
    return float(special.fdtrc(k - 1, 1 / (3 * spread), f))


def _between(effect: Floats, variance: Floats) -> float:
    """Return the tau^2 with Q(tau^2) = k - 1, by bisection; Q falls with tau^2."""
    low, high = 0.0, float(np.ptp(effect)) ** 2
    if _q(effect, variance) <= len(effect) - 1:
        return 0.0
    for _ in range(_ITERATIONS):
        middle = (low + high) / 2
        above = _q(effect, variance + middle) > len(effect) - 1
        low, high = (middle, high) if above else (low, middle)
    return (low + high) / 2


def placements(samples: TwoSample) -> Floats:
    """Return the share of the second side's values above each value of the first; ties count half."""
    difference = samples.second[:, np.newaxis, :] - samples.first[:, :, np.newaxis]
    known = ~np.isnan(difference)
    wins = (np.where(known, np.sign(difference), 0.0).sum(axis=2) / np.maximum(known.sum(axis=2), 1) + 1) / 2
    return np.where(known.any(axis=2), wins, np.nan)
