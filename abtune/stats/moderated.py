"""Variances drawn towards the common level of all shapes, and the t statistics that use them.

Source: Smyth (2004), DOI 10.2202/1544-6115.1027.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from abtune.stats.estimates import StandardError, conservative_freedom
from abtune.stats.two_sample import Floats, TwoSample
from abtune.stats.variance import floored, moments, welch_freedom

_WIDENING = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Moderation:
    """Posterior variances and their degrees of freedom, shape (shapes,)."""

    variance: Floats
    freedom: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """The distribution of variances of shapes: ``variance`` times ``freedom`` over a chi-square variable."""

    variance: float  # the common level s0^2; NaN if fewer than three variances are positive
    freedom: float  # d0, how well shapes agree: infinite if they differ by error alone, 0 if unknown


def fit_prior(variance: Floats, freedom: npt.ArrayLike, *, widening: float) -> Prior:
    """Return the distribution that the variances of many shapes come from, by the moments of log s^2.

    ``widening`` standard errors are added to the spread of the log variances, so that they are drawn less
    far. If one common variance explains their spread, it is their weighted mean, as in limma since 2017.
    """
    own = np.asarray(freedom, dtype=np.float64)
    usable = (variance > 0) & (own > 0)
    if np.count_nonzero(usable) < 3:
        return Prior(variance=np.nan, freedom=0.0)
    half = own[usable] / 2
    logs = np.log(variance[usable]) - special.digamma(half) + np.log(half)
    spread = float(logs.var(ddof=1))
    excess = spread * (1 + widening * np.sqrt(2 / (len(logs) - 1))) - float(special.polygamma(1, half).mean())
    if excess <= 0:  # the error of the variances explains all of their spread
        return Prior(variance=float(np.average(variance[usable], weights=half)), freedom=np.inf)
    prior = _inverse_trigamma(excess)
    level = float(np.exp(logs.mean() + special.digamma(prior) - np.log(prior)))
    return Prior(variance=level, freedom=2 * prior)


def moderate(variance: Floats, freedom: npt.ArrayLike, *, widening: float) -> Moderation:
    """Return the posterior variances (d0 s0^2 + d s^2)/(d0 + d) with d0 + d degrees of freedom.

    No more than all positive variances have in sum. Unchanged if fewer than three are positive.
    """
    own = np.asarray(freedom, dtype=np.float64)
    prior = fit_prior(variance, own, widening=widening)
    if prior.freedom == 0:
        return Moderation(variance=variance, freedom=own)
    total = own[(variance > 0) & (own > 0)].sum()  # the common level itself is known no better
    if np.isinf(prior.freedom):
        common = np.where(np.isnan(variance), np.nan, prior.variance)
        return Moderation(variance=common, freedom=np.full(common.shape, total))
    posterior = (prior.freedom * prior.variance + own * variance) / (prior.freedom + own)
    return Moderation(variance=posterior, freedom=np.minimum(own + prior.freedom, total))


def moderated(variance: Floats, freedom: npt.ArrayLike) -> Floats:
    """Return the posterior variances alone, for planning."""
    return moderate(variance, freedom, widening=0.0).variance


def moderated_error(samples: TwoSample) -> StandardError:
    """Return the difference of means with Welch's standard error from variances moderated on each side.

    Their spread is widened by one standard error: to overestimate how far they agree makes false alarms.
    The result of a shape depends on the other shapes.
    """
    one, two = moments(samples.first), moments(samples.second)
    known = [
        moderate(floored(side.variance, floor), side.n - 1, widening=_WIDENING)
        for side, floor in zip((one, two), samples.floor.T, strict=True)
    ]
    variances = known[0].variance / np.maximum(one.n, 1), known[1].variance / np.maximum(two.n, 1)
    own = known[0].freedom, known[1].freedom
    freedom = welch_freedom(*variances, own[0] + 1, own[1] + 1)
    freedom = conservative_freedom(freedom, variances, own, one.n - two.n)
    total = variances[0] + variances[1]
    return StandardError(
        difference=one.mean - two.mean,
        error=np.sqrt(total),
        freedom=np.where(np.isnan(total), np.nan, freedom),
    )


def _inverse_trigamma(value: float) -> float:
    """Return the x with trigamma(x) = value, by Newton's method on 1/trigamma, which is nearly straight."""
    x = 0.5 + 1 / value
    for _ in range(20):
        slope = float(special.polygamma(1, x))
        x += slope * (1 - slope / value) / float(special.polygamma(2, x))
    return x
