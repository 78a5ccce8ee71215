"""How much the values of a series depend on those before them."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy import fft, special

from abtune.stats.long_run import as_series, centred
from abtune.stats.ragged import Floats


def autocorrelations(values: npt.ArrayLike) -> Floats:
    """Correlation of a series with itself, shifted.

    Parameters
    ----------
    values : array_like, shape (..., n)
        Series in the order of time, without gaps.

    Returns
    -------
    ndarray, shape (..., n)
        At lags 0 to n - 1, all sums of products over that at lag 0; NaN for a constant series.
    """
    series = centred(as_series(values))
    n = series.shape[-1]
    spectrum = np.abs(fft.rfft(series, 2 * n)) ** 2  # padded, so that the end does not meet the beginning
    products = fft.irfft(spectrum, 2 * n)[..., :n]
    scale = (series**2).sum(axis=-1, keepdims=True)
    correlations: Floats = np.where(scale > 0, products / np.where(scale > 0, scale, 1.0), np.nan)
    return correlations


def default_lags(n: int) -> int:
    """Return how many lags :func:`ljung_box` looks at by default: n/5, at most 10, as statsmodels does."""
    return max(min(10, n // 5), 1)


def ljung_box(correlations: Floats, *, lags: int) -> Floats:
    """Test that the values of a series do not depend on each other [1]_.

    Parameters
    ----------
    correlations : ndarray, shape (..., n)
        As :func:`autocorrelations` returns them.
    lags : int
        How many to look at, fewer than n.

    Returns
    -------
    ndarray, shape (...)
        p-value: n (n + 2) sum_k r_k^2/(n - k) against chi-square with as many degrees of freedom as lags.

    References
    ----------
    .. [1] G. M. Ljung and G. E. P. Box, On a measure of lack of fit in time series models, Biometrika 65,
       297-303 (1978). DOI 10.1093/biomet/65.2.297
    """
    n = correlations.shape[-1]
    lag = np.arange(1, lags + 1)
    statistic = n * (n + 2) * (correlations[..., 1 : lags + 1] ** 2 / (n - lag)).sum(axis=-1)
    p: Floats = special.chdtrc(lags, statistic)
    return p


def integrated_time(correlations: Floats) -> Floats:
    """Integrated autocorrelation time: how many consecutive values are worth one independent value.

    Parameters
    ----------
    correlations : ndarray, shape (..., n)
        As :func:`autocorrelations` returns them.

    Returns
    -------
    ndarray, shape (...)
        -1 + 2 sum of r_2m + r_2m+1 over Geyer's initial monotone sequence [1]_: pairs up to the first that is
        not positive, none larger than those before it. At least :func:`least_time`, as in [2]_: values that
        alternate are worth more than independent ones, but no sample can show how much more.

    Notes
    -----
    A rough estimate for series that depend much on themselves: what 50 values of an autoregression of .9 are
    worth comes out twice too large in the median, and within a factor of 1.5 for one series in five.
    Simulated by ``analysis/simulated_series.py``.

    References
    ----------
    .. [1] C. J. Geyer, Practical Markov chain Monte Carlo, Statistical Science 7, 473-483 (1992).
       DOI 10.1214/ss/1177011137
    .. [2] A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Buerkner, Rank-normalization, folding,
       and localization: an improved R-hat, Bayesian Analysis 16, 667-718 (2021). DOI 10.1214/20-BA1221
    """
    n = correlations.shape[-1]
    pairs = correlations[..., 0 : n - 1 : 2] + correlations[..., 1:n:2]
    falling = np.minimum.accumulate(pairs, axis=-1)
    time = -1 + 2 * np.where(falling > 0, falling, 0.0).sum(axis=-1)
    unknown = np.isnan(correlations[..., 0])
    return np.where(unknown, np.nan, np.maximum(time, least_time(n)))


def least_time(n: int) -> float:
    """Return the least integrated autocorrelation time that n values can show, 1/log10(n)."""
    return 1 / math.log10(n) if n > 2 else 1.0
