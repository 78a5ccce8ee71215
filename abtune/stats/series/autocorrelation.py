"""How much the values of a series depend on the values before them: autocorrelations, their test, and worth.

``statsmodels`` computes the autocorrelations and the test of Ljung and Box. It is imported on use, because
its import takes half a second.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from abtune.stats.series.long_run import as_series, centred
from abtune.stats.two_sample import Floats


def autocorrelations(values: npt.ArrayLike) -> Floats:
    """Return the correlations of a series with itself, shifted.

    Parameters
    ----------
    values : array_like, shape (..., n)
        Series in the order of time, without gaps.

    Returns
    -------
    ndarray, shape (..., n)
        At lags 0 to n - 1, each sum of products over the one at lag 0; NaN for a constant series.
    """
    from statsmodels.tsa.stattools import acf

    series = centred(as_series(values))
    with np.errstate(invalid="ignore"):  # a constant series has no variance
        correlations: Floats = np.apply_along_axis(acf, -1, series, nlags=series.shape[-1] - 1)
    return correlations


def default_lags(n: int) -> int:
    """Return the default number of lags of :func:`ljung_box`: n/5, at most 10, as in statsmodels."""
    return max(min(10, n // 5), 1)


def ljung_box(correlations: Floats, *, lags: int) -> Floats:
    """Return p of Ljung and Box's test that the values of a series are independent [1]_.

    Parameters
    ----------
    correlations : ndarray, shape (..., n)
        As :func:`autocorrelations` returns them.
    lags : int
        Number of lags, fewer than n.

    Returns
    -------
    ndarray, shape (...)
        n (n + 2) sum_k r_k^2/(n - k) against chi-square, with one degree of freedom per lag.

    References
    ----------
    .. [1] G. M. Ljung and G. E. P. Box, On a measure of lack of fit in time series models, Biometrika 65,
       297-303 (1978). DOI 10.1093/biomet/65.2.297
    """
    from statsmodels.tsa.stattools import q_stat

    n = correlations.shape[-1]
    p: Floats = np.apply_along_axis(lambda r: q_stat(r, n)[1][-1], -1, correlations[..., 1 : lags + 1])
    return p


def integrated_time(correlations: Floats) -> Floats:
    """Return the integrated autocorrelation time: the number of values worth one independent value.

    Parameters
    ----------
    correlations : ndarray, shape (..., n)
        As :func:`autocorrelations` returns them.

    Returns
    -------
    ndarray, shape (...)
        -1 + 2 sum of r_2m + r_2m+1 over Geyer's initial monotone sequence [1]_: pairs up to the first that is
        not positive, each at most the one before it. At least :func:`least_time`, as in [2]_: values that
        alternate are worth more than independent ones, but no sample can show how much more.

    Notes
    -----
    A rough estimate for long dependence. For 50 values of an autoregression of .9, their worth is twice too
    large in the median, and within a factor of 1.5 for one series in five (``analysis/simulated_series.py``).

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
