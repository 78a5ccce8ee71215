"""What many shapes say: whether they differ, how many have an effect, and what single log ratios show.

Of single ratios, the sample consists of shapes, not of runs. Three answers say if the candidate is faster
over shapes like these: by the mean, by ranks, by signs. The spread of the ratios bounds the search noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from abtune.stats.estimates import EqualWithNaN
from abtune.stats.two_sample import Floats, TwoSample
from abtune.stats.variance import quantile


def at_least(p: Floats, *, correlation: Floats | float, alpha: float) -> int:
    """Return a lower bound of the number of shapes whose null hypothesis is false.

    ``p`` are one-sided p-values, each by itself. Fisher's test combines the k largest; ``correlation`` is of
    two of them, one number or one for each k. The bound is the number of shapes minus the largest k that the
    test does not reject (Goeman and Solari 2011, DOI 10.1214/11-STS356). Brown's approximation accounts for
    the correlation (1975, DOI 10.2307/2529826).
    """
    # A shape without a test counts as a true null hypothesis, so it can only lower the bound.
    known = np.where(np.isnan(p), 1.0, np.asarray(p, dtype=np.float64))
    # Closed testing asks every set of shapes. Of the sets with k shapes, the k largest p-values are rejected
    # last, so they stand for all. With a correlation for each k that is nearly so (docs/statistics.md).
    largest_first = np.sort(known)[::-1]
    k = np.arange(1, len(known) + 1)
    statistic = -2 * np.cumsum(np.log(largest_first))
    # Covariance of -2 log p of two one-sided tests: the cubic of Kost and McDermott (2002, Statistics &
    # Probability Letters 60, 183). Brown's own is quadratic.
    pair = 3.263 * correlation + 0.71 * correlation**2 + 0.027 * correlation**3
    variance = 4 * k + k * (k - 1) * pair
    # A scaled chi-square variable with the mean 2k and this variance (Satterthwaite).
    combined = special.chdtrc(8 * k**2 / variance, 4 * k * statistic / variance)
    # Without noise, a p of 3 + 3 seeds is 0.05, and rounding must not lift it above that level.
    kept = np.flatnonzero(combined > alpha * (1 + _TIE))
    return len(known) - (int(kept[-1]) + 1 if len(kept) else 0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Heterogeneity(EqualWithNaN):
    """The spread of true effects around their mean."""

    q: float  # Cochran's Q; about ``shapes - 1`` if all effects are equal
    p: float  # test that all effects are equal
    between: float  # standard deviation of the true effects (tau), log scale
    share: float  # I^2, the share of the variance of the estimates that their errors do not explain


def heterogeneity(effect: npt.ArrayLike, error: npt.ArrayLike, freedom: npt.ArrayLike) -> Heterogeneity:
    """Return how far independent estimates spread beyond their own errors; NaN below two shapes.

    Q = sum w (y - mean)^2 with w = 1/se^2. p is from Brown and Forsythe's F (1974, DOI
    10.1080/00401706.1974.10489158) with Mehrotra's degrees of freedom (1997, DOI 10.1080/03610919708813431),
    because errors come from few seeds. tau^2 solves Q(tau^2) = k - 1 (Paule and Mandel 1982, DOI
    10.6028/jres.087.022). I^2 = max(0, 1 - (k - 1)/Q). ``statsmodels`` gives the same, and is slow to import.
    """
    y, variance = np.asarray(effect, dtype=np.float64), np.asarray(error, dtype=np.float64) ** 2
    if len(y) < 2:
        return Heterogeneity(q=math.nan, p=math.nan, between=math.nan, share=math.nan)
    q, others = _q(y, variance), len(y) - 1
    return Heterogeneity(
        q=q,
        p=_brown_forsythe(y, variance, np.asarray(freedom, dtype=np.float64)),
        between=math.sqrt(_between(y, variance)),
        share=max(0.0, 1 - others / q) if q > 0 else 0.0,
    )


def _q(effect: Floats, variance: Floats) -> float:
    weight = 1 / variance
    return float(weight @ (effect - weight @ effect / weight.sum()) ** 2)


def _brown_forsythe(effect: Floats, variance: Floats, freedom: Floats) -> float:
    """Return p of equal effects; unlike Welch's F, no effect counts more because its variance looks small."""
    k, variances = len(effect), variance / variance.max()
    total = (1 - 1 / k) * variances.sum()
    f = float(np.var(effect)) * k / variance.max() / total
    # The degrees of freedom of two weighted sums of chi-square variables, by Satterthwaite.
    numerator = total**2 / ((1 - 2 / k) * (variances**2).sum() + variances.mean() ** 2)
    denominator = total**2 / (((1 - 1 / k) * variances) ** 2 / freedom).sum()
    return float(special.fdtrc(numerator, denominator, f))


def _between(effect: Floats, variance: Floats) -> float:
    """Return the tau^2 with Q(tau^2) = k - 1, by bisection; Q falls with tau^2."""
    # At tau^2 = range^2 no weight exceeds 1/range^2, so Q is at most k/4. The root lies below.
    low, high = 0.0, float(np.ptp(effect)) ** 2
    if _q(effect, variance) <= len(effect) - 1:
        return 0.0
    for _ in range(100):
        middle = (low + high) / 2
        above = _q(effect, variance + middle) > len(effect) - 1
        low, high = (middle, high) if above else (low, middle)
    return (low + high) / 2


def placements(samples: TwoSample) -> Floats:
    """Return the share of the second side's values above each value of the first; ties count half."""
    difference = samples.second[:, np.newaxis, :] - samples.first[:, :, np.newaxis]
    known = ~np.isnan(difference)
    wins = (np.where(known, np.sign(difference), 0.0).sum(axis=2) / np.maximum(known.sum(axis=2), 1) + 1) / 2
    return np.where(known.any(axis=2), wins, np.nan)


# Ratios that differ by rounding alone have no spread.
_TIE = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Estimate(EqualWithNaN):
    """An estimate with its interval and the two-sided p of no effect; NaN where there is none."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan


def without_rounding(log_ratio: npt.ArrayLike) -> Floats:
    """Return log ratios with equal sizes where they differ by rounding alone; tiny ones become zero."""
    values = np.asarray(log_ratio, dtype=np.float64)
    order = np.argsort(np.abs(values))
    size = np.abs(values)[order]
    # Sizes in ascending order; the zero before them takes in sizes that are zero but for rounding.
    larger = np.diff(size, prepend=0.0) > _TIE
    tied = np.empty_like(values)
    tied[order] = np.concatenate([[0.0], size[larger]])[np.cumsum(larger)]
    return np.copysign(tied, values)


def student(log_ratio: npt.ArrayLike, *, level: float) -> Estimate:
    """Return an estimate of the mean log ratio of a population of shapes, with Student's t."""
    values = np.asarray(log_ratio, dtype=np.float64)
    if not len(values):
        return Estimate()
    mean = float(values.mean())
    if np.ptp(values) <= _TIE:
        return Estimate(value=mean)
    error, freedom = float(values.std(ddof=1)) / math.sqrt(len(values)), len(values) - 1
    half = float(quantile(freedom, level)) * error
    p = 2 * float(special.stdtr(freedom, -abs(mean) / error))
    return Estimate(value=mean, low=mean - half, high=mean + half, p=p)


def sign(log_ratio: npt.ArrayLike, *, level: float) -> Estimate:
    """Return the share of ratios above one, with the sign test; zeros are left out."""
    from scipy import stats  # its import takes half a second

    values = without_rounding(log_ratio)
    above, either = int(np.count_nonzero(values > 0)), int(np.count_nonzero(values))
    if not either:
        return Estimate()
    test = stats.binomtest(above, either)
    share = test.proportion_ci(level, method="exact")  # Clopper and Pearson, DOI 10.1093/biomet/26.4.404
    return Estimate(value=above / either, low=float(share.low), high=float(share.high), p=float(test.pvalue))


def noise_bound(log_ratio: npt.ArrayLike, *, level: float) -> tuple[float, float, float]:
    """Return the spread of log ratios, the most search noise that it allows, and the upper limit of that.

    The root mean square of both runs' noise is at most SD/sqrt(2). The one-sided limit assumes normal
    ratios. All are NaN without a spread.
    """
    values = np.asarray(log_ratio, dtype=np.float64)
    if len(values) < 2 or np.ptp(values) <= _TIE:
        return math.nan, math.nan, math.nan
    freedom, spread = len(values) - 1, float(values.std(ddof=1))
    # chdtri takes an upper tail, so this is the lower quantile, which gives an upper limit.
    widest = math.sqrt(freedom / float(special.chdtri(freedom, level)))
    return spread, spread / math.sqrt(2), spread * widest / math.sqrt(2)
