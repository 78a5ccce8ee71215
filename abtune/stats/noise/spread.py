"""Intervals of a standard deviation from few seeds whose noise may be skewed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from abtune.stats.two_sample import Floats, Integers, ascending, sizes
from abtune.stats.variance import moments

_LARGEST_LOG = 700.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadIntervals:
    """Intervals of the standard deviations of many samples.

    Attributes
    ----------
    low, high : ndarray, shape (samples,)
        NaN below two values; the upper end is infinite if a sample is too small to bound it.
    """

    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledSpread:
    """Root mean square of standard deviations, weighted by degrees of freedom, with its interval."""

    spread: float
    low: float
    high: float


def spread_intervals(values: npt.ArrayLike, *, level: float) -> SpreadIntervals:
    """Return intervals of the standard deviations of samples that may be skewed.

    Parameters
    ----------
    values : array_like, shape (samples, seeds)
        Padded with NaN. The method assumes that samples share their kurtosis, but not their spread.
    level : float
        Confidence level, a fraction.

    Notes
    -----
    The hull of the chi-square interval, which is right for normal noise only, and of Bonett's [1]_. Bonett's
    standard error of the log variance is c sqrt((g - (n - 3)/n)/(n - 1)) with c = n/(n - z) and the kurtosis
    g, here the mean over the samples. Coverage of nominal 95 % with six samples of 5, 10, 20 seeds: normal
    noise .997, .976, .964; gamma(2) .994, .955, .940; exponential .983, .936, .917; one search in five 10 %
    slower .794, .892, .986. The chi-square interval alone has .727 for exponential noise at 20, and a
    bootstrap of the standard deviation .48-.91.

    References
    ----------
    .. [1] D. G. Bonett, Approximate confidence interval for standard deviation of nonnormal distributions,
       Computational Statistics & Data Analysis 50, 775-782 (2006). DOI 10.1016/j.csda.2004.10.003
    """
    samples = ascending(values)
    n = sizes(samples)
    freedom = np.maximum(n - 1, 1)
    variance = moments(samples).variance
    z = float(special.ndtri(0.5 + level / 2))
    factor = np.where(n > z, n / np.where(n > z, n - z, 1.0), np.inf)
    reach = z * factor * _relative_error(samples, n)
    normal = [freedom / special.chdtri(freedom, 0.5 + sign * level / 2) for sign in (-1, 1)]
    bounded = np.isfinite(factor)
    centre, reach = np.log(np.where(bounded, factor, 1.0)), np.where(bounded, reach, _LARGEST_LOG)
    low = np.minimum(normal[0], np.exp(np.maximum(centre - reach, -_LARGEST_LOG)))
    high = np.maximum(normal[1], np.exp(np.minimum(centre + reach, _LARGEST_LOG)))
    return SpreadIntervals(
        low=np.sqrt(variance * np.where(bounded, low, 0.0)),
        high=np.where(bounded | np.isnan(variance), np.sqrt(variance * high), np.inf),
    )


def pooled_spread(values: npt.ArrayLike, *, level: float) -> PooledSpread:
    """Return the pooled standard deviation of samples, with an interval for exactly these samples.

    Parameters
    ----------
    values : array_like, shape (samples, seeds)
        Padded with NaN; those with fewer than two values are left out.
    level : float
        Confidence level, a fraction.

    Notes
    -----
    The log of the pooled variance plus and minus z times its standard error, from the standard errors of
    :func:`spread_intervals`. A single sample has the interval of that function. Coverage of nominal 95 % with
    six samples of 5, 10, 20 seeds: normal noise .997, .977, .965; exponential .982, .932, .919.
    """
    samples = ascending(values)
    samples = samples[sizes(samples) >= 2]
    if not len(samples):
        return PooledSpread(spread=math.nan, low=math.nan, high=math.nan)
    n, variance = sizes(samples), moments(samples).variance
    weight = (n - 1) / (n - 1).sum()
    pooled = float(weight @ variance)
    if len(samples) == 1 or pooled == 0:
        own = spread_intervals(samples, level=level)
        low, high = float(own.low[0]), float(own.high[0])
        return PooledSpread(spread=math.sqrt(pooled), low=low, high=high)
    share = weight * variance / pooled
    z = float(special.ndtri(0.5 + level / 2))
    factor = n / np.maximum(n - z, 0.5)
    error = math.sqrt(float(((share * factor * _relative_error(samples, n)) ** 2).sum()))
    reach = min(z * error, _LARGEST_LOG) / 2
    spread = math.sqrt(pooled)
    return PooledSpread(spread=spread, low=spread * math.exp(-reach), high=spread * math.exp(reach))


def _relative_error(samples: Floats, n: Integers) -> Floats:
    """Return the relative standard error of the sample variances, from the kurtosis that samples share."""
    kurtosis = _shared_kurtosis(samples, n)
    error: Floats = np.sqrt(np.maximum(kurtosis - (n - 3) / np.maximum(n, 1), 0.0) / np.maximum(n - 1, 1))
    return error


def _shared_kurtosis(samples: Floats, n: Integers) -> float:
    """Return the mean over samples of n sum (x - m)^4/(sum (x - mean)^2)^2.

    m is the mean trimmed by 1/(2 sqrt(n - 4)). If no sample has five values that differ, the kurtosis is 3,
    as for normal noise.
    """
    kurtosis = []
    for row, size in zip(samples, n.tolist(), strict=True):
        values = row[:size]
        squares = float(((values - values.mean()) ** 2).sum()) if size > 4 else 0.0
        if squares > 0 and values[0] < values[-1]:
            cut = int(size / (2 * math.sqrt(size - 4)))
            kept = values[cut : size - cut] if size > 2 * cut else values
            kurtosis.append(size * float(((values - kept.mean()) ** 4).sum()) / squares**2)
    return float(np.mean(kurtosis)) if kurtosis else 3.0
