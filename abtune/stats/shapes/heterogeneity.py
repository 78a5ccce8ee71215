"""Whether shapes differ in their boost by more than their seeds explain.

``statsmodels.stats.meta_analysis.combine_effects`` gives the same Q, tau^2 and I^2, and the tests compare
them. It is not used: its import takes half a second, and every report has these numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from abtune.stats.two_sample import Floats

_ITERATIONS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Heterogeneity:
    """The spread of true effects around their mean.

    Attributes
    ----------
    q : float
        Cochran's Q; about ``shapes - 1`` if all effects are equal.
    p : float
        Test that all effects are equal.
    between : float
        Standard deviation of the true effects (tau), log scale.
    share : float
        I^2, the share of the variance of the estimates that their errors do not explain.
    """

    q: float
    p: float
    between: float
    share: float


def heterogeneity(effect: npt.ArrayLike, error: npt.ArrayLike, freedom: npt.ArrayLike) -> Heterogeneity:
    """Return how far independent estimates spread beyond their own errors.

    Parameters
    ----------
    effect, error, freedom : array_like, shape (shapes,)
        Estimates, their positive standard errors, and the degrees of freedom of these errors.

    Returns
    -------
    Heterogeneity
        All NaN for fewer than two shapes.

    Notes
    -----
    Q = sum w (y - mean)^2 with w = 1/se^2. If errors come from few seeds, Q exceeds its chi-square quantile
    too often. So p is from Welch's F [1]_, which allows for that. tau^2 solves the generalised
    Q(tau^2) = k - 1 (Paule and Mandel [2]_), zero if Q is below that. I^2 = max(0, 1 - (k - 1)/Q).

    References
    ----------
    .. [1] B. L. Welch, On the comparison of several mean values: an alternative approach, Biometrika 38,
       330-336 (1951). DOI 10.1093/biomet/38.3-4.330
    .. [2] R. C. Paule and J. Mandel, Consensus values and weighting factors, Journal of Research of the
       National Bureau of Standards 87, 377-385 (1982). DOI 10.6028/jres.087.022
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
