"""Variances drawn towards the common level of all shapes, and what noise makes a single ratio luck.

Source: Smyth (2004), DOI 10.2202/1544-6115.1027. Nothing that is said of a single run is a test.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import special

from abtune.stats.two_sample import Floats


def fit_prior(variance: Floats, freedom: npt.ArrayLike, *, limit: float = 0.0) -> tuple[float, float]:
    """Return the common level s0^2 of the variances of many shapes, and how well shapes agree on it, d0.

    Variances are taken for s0^2 d0 over a chi-square variable with d0 degrees of freedom, by the moments of
    log s^2. If one common variance explains their spread, it is their weighted mean, as in limma since 2017,
    and d0 is infinite. With fewer than three positive variances, s0^2 is NaN and d0 zero. With a confidence
    ``limit``, d0 is a lower limit: few shapes may agree by chance.
    """
    own = np.asarray(freedom, dtype=np.float64)
    usable = (variance > 0) & (own > 0)
    if np.count_nonzero(usable) < 3:
        return np.nan, 0.0
    half = own[usable] / 2
    # log s^2 is too small on average, by these terms. Of its spread, trigamma(d/2) is sampling.
    logs = np.log(variance[usable]) - special.digamma(half) + np.log(half)
    spread = float(logs.var(ddof=1))
    if limit:
        spread *= (len(logs) - 1) / float(special.chdtri(len(logs) - 1, limit))
    excess = spread - float(special.polygamma(1, half).mean())
    if excess <= 0:  # the error of the variances explains all of their spread
        return float(np.average(variance[usable], weights=half)), np.inf
    prior = _inverse_trigamma(excess)
    return float(np.exp(logs.mean() + special.digamma(prior) - np.log(prior))), 2 * prior


def moderate(variance: Floats, freedom: npt.ArrayLike) -> Floats:
    """Return the posterior variances (d0 s0^2 + d s^2)/(d0 + d); unchanged with fewer than three above 0."""
    own = np.asarray(freedom, dtype=np.float64)
    level, agreement = fit_prior(variance, own)
    if agreement == 0:
        return variance
    if np.isinf(agreement):
        return np.where(np.isnan(variance), np.nan, level)
    return (agreement * level + own * variance) / (agreement + own)


def _inverse_trigamma(value: float) -> float:
    """Return the x with trigamma(x) = value, by Newton's method on 1/trigamma, which is nearly straight."""
    # 1/trigamma(x) exceeds x - 1/2 and is convex. So this start lies above the root, and no step passes it.
    x = 0.5 + 1 / value
    for _ in range(20):
        slope = float(special.polygamma(1, x))
        x += slope * (1 - slope / value) / float(special.polygamma(2, x))
    return x


def tipping_point(log_ratio: npt.ArrayLike, *, level: float) -> Floats:
    """Return the noise (SD of log latency) of a run above which r could be chance: |log r|/(z sqrt 2)."""
    z = float(special.ndtri(0.5 + level / 2))
    return np.abs(np.asarray(log_ratio, dtype=np.float64)) / (z * np.sqrt(2))
