"""The mean of a series whose values depend on each other, such as consecutive timings of one process.

Its standard error rests on the long-run variance, the limit of n times the variance of the mean. All of it is
about this one series. Its values do not show how much another process would differ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import fft

from abtune.stats.difference.standard_error import StandardError, quantile
from abtune.stats.two_sample import Floats
from abtune.stats.variance import welch_freedom


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanEstimate:
    """Means of many series.

    Attributes
    ----------
    mean, error : ndarray, shape (...)
        Mean and its standard error, in the unit of the values.
    freedom : int
        Degrees of freedom of the error.
    """

    mean: Floats
    error: Floats
    freedom: int


def cosine_mean(values: npt.ArrayLike) -> MeanEstimate:
    """Return the mean with a standard error that allows for dependence: equally weighted cosines (EWC).

    Parameters
    ----------
    values : array_like, shape (..., n)
        Series in the order of time, without gaps; n >= 2.

    Notes
    -----
    The long-run variance is the mean square of the first B cosine transforms of the series, sqrt(2/n)
    sum_t x_t cos(pi j (t - 1/2)/n) for j = 1, ..., B, which is its periodogram near frequency zero. The mean
    over its error has Student's t with B = 0.4 n^(2/3) degrees of freedom [1]_. For independent normal values
    that is exact for any n. B is 5 at 50 values, and 1 below 8, where intervals are wide.

    Coverage of nominal 95 % at 50 and 200 values: .94 and .94 for an autoregression of .6, where intervals
    for independent values have .67; .79 and .85 for one of .9 (``analysis/simulated_series.py``).

    References
    ----------
    .. [1] E. Lazarus, D. J. Lewis, J. H. Stock and M. W. Watson, HAR Inference: Recommendations for Practice,
       Journal of Business & Economic Statistics 36, 541-559 (2018). DOI 10.1080/07350015.2018.1506926
    """
    series = as_series(values)
    n = series.shape[-1]
    freedom = cosine_freedom(n)
    cosines = fft.dct(centred(series), norm="ortho")[..., 1 : freedom + 1]
    error = np.sqrt((cosines**2).mean(axis=-1) / n)
    return MeanEstimate(mean=series.mean(axis=-1), error=error, freedom=freedom)


def independent_mean(values: npt.ArrayLike) -> MeanEstimate:
    """Return the mean with the standard error s/sqrt(n) of independent values; see :func:`cosine_mean`."""
    series = as_series(values)
    n = series.shape[-1]
    error = np.sqrt((centred(series) ** 2).sum(axis=-1) / (n - 1) / n)
    return MeanEstimate(mean=series.mean(axis=-1), error=error, freedom=n - 1)


def cosine_freedom(n: int) -> int:
    """Return the number of cosines for n values."""
    wanted: float = 0.4 * n ** (2 / 3)
    return max(round(wanted), 1)


def half_width(estimate: MeanEstimate, *, level: float) -> Floats:
    """Return half of Student's t interval of a mean."""
    return quantile(np.array(float(estimate.freedom)), level) * estimate.error


def mean_difference(first: MeanEstimate, second: MeanEstimate) -> StandardError:
    """Return the difference of the means of two independent series, with Welch's degrees of freedom."""
    variances = first.error**2, second.error**2
    return StandardError(
        difference=first.mean - second.mean,
        error=np.sqrt(variances[0] + variances[1]),
        freedom=welch_freedom(*variances, first.freedom + 1, second.freedom + 1),
    )


def as_series(values: npt.ArrayLike) -> Floats:
    """Return values as an array of series.

    Raises
    ------
    ValueError
        If a series has fewer than two values, or a value that is not finite.
    """
    series = np.asarray(values, dtype=np.float64)
    if not series.ndim or series.shape[-1] < 2:
        raise ValueError("a series needs at least two values")
    if not np.isfinite(series).all():
        raise ValueError("a series includes a value that is not finite")
    return series


def centred(series: Floats) -> Floats:
    """Return each series minus its mean; exactly zero for a constant series."""
    constant = series.max(axis=-1, keepdims=True) == series.min(axis=-1, keepdims=True)
    return np.where(constant, 0.0, series - series.mean(axis=-1, keepdims=True))
