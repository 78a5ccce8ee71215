"""Variances drawn towards the common level of all shapes, and lent to shapes of another dataset.

Source: Smyth (2004), DOI 10.2202/1544-6115.1027. Nothing that is said of a single run is a test.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from abtune.stats.estimates import Interval, StandardError, t_interval
from abtune.stats.two_sample import Floats, Integers


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """The distribution of variances of shapes: ``variance`` times ``freedom`` over a chi-square variable."""

    variance: float  # the common level s0^2; NaN if fewer than three variances are positive
    freedom: float  # d0, how well shapes agree: infinite if they differ by error alone, 0 if unknown


def fit_prior(variance: Floats, freedom: npt.ArrayLike) -> Prior:
    """Return the distribution that the variances of many shapes come from, by the moments of log s^2.

    If one common variance explains their spread, it is their weighted mean, as in limma since 2017.
    """
    own = np.asarray(freedom, dtype=np.float64)
    usable = (variance > 0) & (own > 0)
    if np.count_nonzero(usable) < 3:
        return Prior(variance=np.nan, freedom=0.0)
    half = own[usable] / 2
    # log s^2 is too small on average, by these terms. Its sampling variance is trigamma(d/2), which is no
    # spread of the true variances.
    logs = np.log(variance[usable]) - special.digamma(half) + np.log(half)
    spread = float(logs.var(ddof=1))
    excess = spread - float(special.polygamma(1, half).mean())
    if excess <= 0:  # the error of the variances explains all of their spread
        return Prior(variance=float(np.average(variance[usable], weights=half)), freedom=np.inf)
    prior = _inverse_trigamma(excess)
    level = float(np.exp(logs.mean() + special.digamma(prior) - np.log(prior)))
    return Prior(variance=level, freedom=2 * prior)


def moderate(variance: Floats, freedom: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return the posterior variances (d0 s0^2 + d s^2)/(d0 + d), and their d0 + d degrees of freedom.

    No more than all positive variances have in sum. Unchanged if fewer than three are positive.
    """
    own = np.asarray(freedom, dtype=np.float64)
    prior = fit_prior(variance, own)
    if prior.freedom == 0:
        return variance, own
    total = own[(variance > 0) & (own > 0)].sum()  # the common level itself is known no better
    if np.isinf(prior.freedom):
        common = np.where(np.isnan(variance), np.nan, prior.variance)
        return common, np.full(common.shape, total)
    posterior = (prior.freedom * prior.variance + own * variance) / (prior.freedom + own)
    return posterior, np.minimum(own + prior.freedom, total)


def _inverse_trigamma(value: float) -> float:
    """Return the x with trigamma(x) = value, by Newton's method on 1/trigamma, which is nearly straight."""
    # 1/trigamma(x) exceeds x - 1/2 and is convex. So this start lies above the root, and no step passes it.
    x = 0.5 + 1 / value
    for _ in range(20):
        slope = float(special.polygamma(1, x))
        x += slope * (1 - slope / value) / float(special.polygamma(2, x))
    return x


@dataclass(frozen=True, slots=True, kw_only=True)
class LentVariance:
    """Variances of log latency over runs, shape (shapes,), lent by other runs to a table; NaN if unknown."""

    variance: Floats
    freedom: Floats
    prior: Prior  # of the variance of a shape that has no other runs


def lend_variance(variance: Floats, freedom: npt.ArrayLike, position: Integers) -> LentVariance:
    """Return for each shape of a table the variance of its own runs elsewhere, or the usual one there.

    ``position`` is the place of each shape among the others, -1 for none. A shape with runs elsewhere
    gets its posterior variance, any other the prior. No variance has more degrees of freedom than all
    have in sum. A variance of zero says nothing and becomes NaN.
    """
    own = np.where(np.isnan(variance), 0.0, np.maximum(np.asarray(freedom, dtype=np.float64), 0.0))
    prior, known = fit_prior(variance, own), own > 0
    if prior.freedom == 0 and known.any():  # too few variances to fit: their mean
        mean = float(np.average(variance[known], weights=own[known]))
        prior = Prior(variance=mean, freedom=float(own[known].min()))
    posterior, posterior_freedom = moderate(variance, own)
    # A position of -1 would pick the last row; `has` leaves it out here and below.
    has = (position >= 0) & (own[position] > 0)
    lent = np.where(has, posterior[position], prior.variance)
    freedoms = np.minimum(np.where(has, posterior_freedom[position], prior.freedom), own.sum())
    usable = lent > 0
    return LentVariance(
        variance=np.where(usable, lent, np.nan), freedom=np.where(usable, freedoms, np.nan), prior=prior
    )


def predictive_interval(
    log_ratio: npt.ArrayLike, first: LentVariance, second: LentVariance, *, level: float
) -> Interval:
    """Return log r -+ t sqrt(s1^2 + s2^2) from one run per side; NaN where no variance was lent.

    t has the degrees of freedom of the side with fewer. Welch's would be too many: a shape with unusual
    noise has it on both sides (analysis/degrees_of_freedom.py).
    """
    estimate = StandardError(
        difference=np.asarray(log_ratio, dtype=np.float64),
        error=np.sqrt(first.variance + second.variance),
        freedom=np.fmin(first.freedom, second.freedom),
    )
    return t_interval(estimate, level=level)


def tipping_point(log_ratio: npt.ArrayLike, *, level: float) -> Floats:
    """Return the noise of a single run above which the difference could be chance: |log r|/(z sqrt 2).

    It is a standard deviation of log latency over runs, about a coefficient of variation.
    """
    z = float(special.ndtri(0.5 + level / 2))
    return np.abs(np.asarray(log_ratio, dtype=np.float64)) / (z * np.sqrt(2))
