"""What one run per side says about a shape: an interval with borrowed noise, and a tipping point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from abtune.stats.estimates import Interval, StandardError, t_interval
from abtune.stats.moderated import Prior, fit_prior, moderate
from abtune.stats.two_sample import Floats, Integers


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
    prior = _prior(variance, own)
    known = moderate(variance, own, widening=0.0)
    has = (position >= 0) & (own[position] > 0)
    lent = np.where(has, known.variance[position], prior.variance)
    freedoms = np.minimum(np.where(has, known.freedom[position], prior.freedom), own.sum())
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
    freedom = np.fmin(first.freedom, second.freedom)
    error = np.sqrt(first.variance + second.variance)
    ratio = np.asarray(log_ratio, dtype=np.float64)
    estimate = StandardError(difference=ratio, error=error, freedom=freedom)
    return t_interval(estimate, level=level)


def tipping_point(log_ratio: npt.ArrayLike, *, level: float) -> Floats:
    """Return the noise of a single run above which the difference could be chance: |log r|/(z sqrt 2).

    It is a standard deviation of log latency over runs, about a coefficient of variation.
    """
    z = float(special.ndtri(0.5 + level / 2))
    return np.abs(np.asarray(log_ratio, dtype=np.float64)) / (z * np.sqrt(2))


def _prior(variance: Floats, freedom: Floats) -> Prior:
    """Return the fitted prior, or the mean of the variances if they are too few."""
    prior = fit_prior(variance, freedom, widening=0.0)
    known = freedom > 0
    if prior.freedom > 0 or not known.any():
        return prior
    mean = float(np.average(variance[known], weights=freedom[known]))
    return Prior(variance=mean, freedom=float(freedom[known].min()))
