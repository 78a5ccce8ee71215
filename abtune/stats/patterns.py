"""Tests for what a series of independent values of one kind does not show: a period, or a change of level.

Both take the values to be independent. A series that drifts slowly, or whose values depend on each other,
fails them as well, so that what they find is a place to look at and not an explanation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import fft, special, stats

from abtune.stats.long_run import as_series, centred
from abtune.stats.ragged import Floats, Integers

# From so many frequencies expected above the largest ordinate on, p is 1 to nine digits.
_CERTAIN = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """The strongest period of each series.

    Attributes
    ----------
    length : ndarray, shape (...)
        In values; NaN for a constant series.
    p : ndarray, shape (...)
        That the strongest of all periods is as strong.
    """

    length: Floats
    p: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The most likely change of level in each series.

    Attributes
    ----------
    after : ndarray of int, shape (...)
        How many values lie before it.
    p : ndarray, shape (...)
        That there is as much of a change anywhere; NaN for a constant series.
    """

    after: Integers
    p: Floats


def strongest_period(values: npt.ArrayLike) -> Period:
    """Fisher's test for a period [1]_.

    Parameters
    ----------
    values : array_like, shape (..., n)
        Series in the order of time, without gaps; n >= 5.

    Notes
    -----
    g is the largest of the q = floor((n - 1)/2) periodogram ordinates between frequency zero and 1/2 over
    their sum, and its p is the sum over k <= 1/g of (-1)^(k-1) C(q, k) (1 - k g)^(q-1), which is exact for
    independent normal values.

    For even n there is an ordinate at frequency 1/2 too: series that alternate, a period of 2. It has one
    degree of freedom where the others have two, so that its share in the sum of squares is beta(1/2,
    (n - 2)/2), independent of g. The smaller of its p and the p of a single one of the q ordinates,
    1 - (1 - p)^(1/q), is the smallest of q + 1 independent ones: exact again.

    References
    ----------
    .. [1] R. A. Fisher, Tests of significance in harmonic analysis, Proceedings of the Royal Society A 125,
       54-59 (1929). DOI 10.1098/rspa.1929.0151
    """
    series = centred(as_series(values))
    n = series.shape[-1]
    ordinates = np.abs(fft.rfft(series)[..., 1:]) ** 2
    between = ordinates[..., : (n - 1) // 2]
    total = between.sum(axis=-1)
    share = np.where(total > 0, between.max(axis=-1) / np.where(total > 0, total, 1.0), 1.0)
    found = Period(length=n / (between.argmax(axis=-1) + 1), p=_fisher_p(share, between.shape[-1]))
    if n % 2 == 0:
        found = _with_alternation(found, total, ordinates[..., -1], n)
    known = ordinates.sum(axis=-1) > 0
    return Period(length=np.where(known, found.length, np.nan), p=np.where(known, found.p, np.nan))


def _with_alternation(found: Period, between: Floats, alternating: Floats, n: int) -> Period:
    """Let a period of 2 take the place of what was found among the q ordinates, where it is the stronger."""
    q = (n - 1) // 2
    squares = 2 * between + alternating
    left = np.where(squares > 0, 2 * between / np.where(squares > 0, squares, 1.0), 1.0)
    p_alternating = special.betainc(n / 2 - 1, 0.5, left)
    with np.errstate(divide="ignore"):
        p_found = -np.expm1(np.log1p(-found.p) / q)
        p = -np.expm1((q + 1) * np.log1p(-np.minimum(p_found, p_alternating)))
    return Period(length=np.where(p_alternating <= p_found, 2.0, found.length), p=p)


def _fisher_p(share: Floats, q: int) -> Floats:
    """Sum the alternating series, whose terms would drown in rounding where p is 1 anyway."""
    k = np.arange(1, q + 1)
    left = np.maximum(1 - k * share[..., np.newaxis], 0.0)
    log_choose = special.gammaln(q + 1) - special.gammaln(k + 1) - special.gammaln(q - k + 1)
    with np.errstate(divide="ignore"):
        terms = np.where(left > 0, np.exp(np.minimum(log_choose + (q - 1) * np.log(left), 700.0)), 0.0)
    p = (np.where(k % 2 == 1, 1, -1) * terms).sum(axis=-1)
    return np.where(terms[..., 0] > _CERTAIN, 1.0, np.clip(p, 0.0, 1.0))


def level_change(values: npt.ArrayLike) -> Change:
    """Pettitt's test for a change of level at an unknown place [1]_.

    Parameters
    ----------
    values : array_like, shape (..., n)
        Series in the order of time, without gaps.

    Notes
    -----
    K is the largest absolute value over t of 2 sum_i<=t rank_i - t (n + 1), the Mann-Whitney statistic of
    what lies before and after; ties have midranks. p = 2 exp(-6 K^2/(n^3 + n^2)), at most 1, is approximate,
    and conservative: below 11 values it is never below .05.

    References
    ----------
    .. [1] A. N. Pettitt, A non-parametric approach to the change-point problem, Applied Statistics 28,
       126-135 (1979). DOI 10.2307/2346729
    """
    series = as_series(values)
    n = series.shape[-1]
    before = np.arange(1, n)
    statistic = np.abs(2 * np.cumsum(stats.rankdata(series, axis=-1), axis=-1)[..., :-1] - before * (n + 1))
    largest = statistic.max(axis=-1)
    constant = series.max(axis=-1) == series.min(axis=-1)
    p = np.minimum(2 * np.exp(-6 * largest**2 / (n**3 + n**2)), 1.0)
    return Change(after=statistic.argmax(axis=-1) + 1, p=np.where(constant, np.nan, p))
