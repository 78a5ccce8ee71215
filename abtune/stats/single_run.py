"""What a lone pair of runs says of one shape: an interval from noise known elsewhere, and a tipping point.

One run a side holds no error of its own. Either the noise of the search comes from other runs, and then the
interval is as good as the likeness of those runs, or the question is turned round: how much noise would it
take for this difference to be chance? Neither is a test, and nothing here gives a p-value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from abtune.stats.interval import Interval, StandardError, t_interval
from abtune.stats.moderation import Prior, fit_prior, moderate
from abtune.stats.ragged import Floats, Integers


@dataclass(frozen=True, slots=True, kw_only=True)
class LentVariance:
    """Variances of log latency over runs that other runs lend to the shapes of a table.

    Attributes
    ----------
    variance, freedom : ndarray, shape (shapes,)
        With their degrees of freedom; NaN where nothing is known.
    prior : Prior
        What a shape gets of which the other runs know nothing.
    """

    variance: Floats
    freedom: Floats
    prior: Prior


def lend_variance(variance: Floats, freedom: npt.ArrayLike, place: Integers) -> LentVariance:
    """Give each shape of a table the variance of its own runs elsewhere, or what is usual there.

    Parameters
    ----------
    variance : ndarray, shape (others,)
        Sample variances of the shapes that were run several times; NaN where unknown.
    freedom : array_like, shape (others,)
        Their degrees of freedom, 0 or less where there is no variance.
    place : ndarray of int, shape (shapes,)
        Which of the others each shape of the table is; -1 for none.

    Notes
    -----
    A shape that has runs elsewhere gets its posterior variance (d0 s0^2 + d s^2)/(d0 + d), any other the
    prior s0^2 with d0 degrees of freedom [1]_, so that an interval pays for what the noise of shapes differs.
    No variance has more degrees of freedom than all of them together. Where fewer than three shapes have
    a variance above zero, how they differ is not known: shapes keep their own, and the mean goes to others
    with the fewest degrees of freedom of any. A variance of zero says nothing and is NaN.

    References
    ----------
    .. [1] G. K. Smyth, Linear models and empirical Bayes methods for assessing differential expression in
       microarray experiments, Statistical Applications in Genetics and Molecular Biology 3, 3 (2004).
       DOI 10.2202/1544-6115.1027
    """
    own = np.where(np.isnan(variance), 0.0, np.maximum(np.asarray(freedom, dtype=np.float64), 0.0))
    prior = _prior(variance, own)
    known = moderate(variance, own, caution=0.0)
    has = (place >= 0) & (own[place] > 0)
    lent = np.where(has, known.variance[place], prior.variance)
    freedoms = np.minimum(np.where(has, known.freedom[place], prior.freedom), own.sum())
    usable = lent > 0
    return LentVariance(
        variance=np.where(usable, lent, np.nan), freedom=np.where(usable, freedoms, np.nan), prior=prior
    )


def predictive_interval(
    log_ratio: npt.ArrayLike, first: LentVariance, second: LentVariance, *, level: float
) -> Interval:
    """Interval of the true log ratio of each shape from one run a side and variances lent by others.

    Parameters
    ----------
    log_ratio : array_like, shape (shapes,)
        log(first/second) of the two runs.
    first, second : LentVariance
        Of either side.
    level : float
        Confidence level, a fraction.

    Returns
    -------
    Interval
        log r -+ t sqrt(s1^2 + s2^2); NaN where nothing was lent.

    Notes
    -----
    t has the fewer degrees of freedom of the two sides. Welch and Satterthwaite's, nearly twice as many,
    presume that the errors of s1 and s2 are independent, but a shape that is noisier than usual is so on
    both sides: they cover .87-.91 of shapes that the other runs lack where shapes differ in their noise,
    these .95-.96 (29 shapes lend, analysis/degrees_of_freedom.py).
    """
    freedom = np.fmin(first.freedom, second.freedom)
    error = np.sqrt(first.variance + second.variance)
    ratio = np.asarray(log_ratio, dtype=np.float64)
    estimate = StandardError(difference=ratio, error=error, freedom=freedom)
    return t_interval(estimate, level=level)


def tipping_point(log_ratio: npt.ArrayLike, *, level: float) -> Floats:
    """Noise of a single run from which on a difference as large is not distinguishable from none.

    Parameters
    ----------
    log_ratio : array_like, shape (shapes,)
        Of one run a side.
    level : float
        Confidence level, a fraction.

    Returns
    -------
    ndarray, shape (shapes,)
        Standard deviation of log latency over runs: |log r|/(z sqrt 2), about a coefficient of variation.

    Notes
    -----
    Two runs with noise s, alike but for their luck, differ by less than z sqrt(2) s with probability
    ``level``, if the noise is normal on logs.
    """
    z = float(special.ndtri(0.5 + level / 2))
    point: Floats = np.abs(np.asarray(log_ratio, dtype=np.float64)) / (z * np.sqrt(2))
    return point


def _prior(variance: Floats, freedom: Floats) -> Prior:
    """Fit the prior, or take the mean of the variances where they are too few."""
    prior = fit_prior(variance, freedom, caution=0.0)
    known = freedom > 0
    if prior.freedom > 0 or not known.any():
        return prior
    mean = float(np.average(variance[known], weights=freedom[known]))
    return Prior(variance=mean, freedom=float(freedom[known].min()))
