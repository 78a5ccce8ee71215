"""Variance components: how much of the variance comes from the search, the session and the single timing.

For description only: no interval or test of a boost uses them. They are moments of the raw timings, spikes
included, whereas the value of a seed is a mean of medians.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from abtune.stats.two_sample import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """Variance components of many samples; log scale.

    Attributes
    ----------
    search : ndarray, shape (...)
        Variance between seeds. With one round it includes the session, with one timing per seed also the
        timing. NaN below two seeds.
    session : ndarray, shape (...)
        Variance between rounds of one winner; NaN if no winner was timed in two rounds.
    timing : ndarray, shape (...)
        Variance within a round; NaN if no round has two timings.
    """

    search: Floats
    session: Floats
    timing: Floats

    @property
    def correlation(self) -> Floats:
        """Intraclass correlation: the correlation of two timings of one winner in different rounds."""
        total = self.search + np.nan_to_num(self.session) + np.nan_to_num(self.timing)
        known = ~(np.isnan(self.session) & np.isnan(self.timing)) & (total > 0)
        share: Floats = np.where(known, self.search / np.where(total > 0, total, 1.0), np.nan)
        return share


def components(log_latency: npt.ArrayLike) -> Components:
    """Return the variance between seeds, between rounds within seeds, and between timings within rounds.

    Parameters
    ----------
    log_latency : array_like, shape (..., seeds, rounds, repeats), log seconds
        NaN where there is no timing.

    Notes
    -----
    Method of moments on the sums of squares of the nested analysis of variance, with the coefficients for
    unequal numbers (Henderson's method 1 [1]_). A negative estimate becomes zero. With equal numbers, and no
    negative estimate, it is the restricted maximum likelihood estimate, which ``statsmodels`` finds by
    iteration, one sample at a time.

    References
    ----------
    .. [1] C. R. Henderson, Estimation of variance and covariance components, Biometrics 9, 226-252 (1953).
       DOI 10.2307/3001853
    """
    timings = np.asarray(log_latency, dtype=np.float64)
    timings = timings - _grand_mean(timings)
    in_round = np.count_nonzero(~np.isnan(timings), axis=-1)
    in_seed = in_round.sum(axis=-1)
    total = in_seed.sum(axis=-1)
    sums = np.nansum(timings, axis=-1)
    by_round = _ratio(sums**2, in_round).sum(axis=(-1, -2))
    by_seed = _ratio(sums.sum(axis=-1) ** 2, in_seed).sum(axis=-1)
    overall = _ratio(sums.sum(axis=(-1, -2)) ** 2, total)
    rounds, seeds = np.count_nonzero(in_round, axis=(-1, -2)), np.count_nonzero(in_seed, axis=-1)
    timing = _component(np.nansum(timings**2, axis=(-1, -2, -3)) - by_round, total - rounds, total - rounds)
    own_timing = np.nan_to_num(timing)
    shared = _ratio((in_round**2).sum(axis=-1), in_seed).sum(axis=-1)  # sum over seeds of sum n_ij^2/n_i
    rest = by_round - by_seed - (rounds - seeds) * own_timing
    session = _component(rest, rounds - seeds, total - shared)
    own_session = np.nan_to_num(session)
    rest = by_seed - overall - (seeds - 1) * own_timing
    rest -= (shared - _ratio((in_round**2).sum(axis=(-1, -2)), total)) * own_session
    search = _component(rest, seeds - 1, total - _ratio((in_seed**2).sum(axis=-1), total))
    return Components(search=search, session=session, timing=timing)


def _component(rest: Floats, freedom: npt.NDArray[np.int64], factor: Floats) -> Floats:
    """Return a component; NaN without degrees of freedom, zero for a negative estimate."""
    known = (freedom > 0) & (factor > 0)
    return np.where(known, np.maximum(rest / np.where(known, factor, 1.0), 0.0), np.nan)


def _ratio(numerator: npt.ArrayLike, count: npt.ArrayLike) -> Floats:
    """Return a quotient, with 0 for 0/0."""
    ratio: Floats = np.asarray(numerator, dtype=np.float64) / np.maximum(count, 1)
    return ratio


def _grand_mean(timings: Floats) -> Floats:
    """Return the mean of each sample. Without it, sums of squares of logs near -9 would lose digits."""
    axes = (-1, -2, -3)
    count = np.count_nonzero(~np.isnan(timings), axis=axes, keepdims=True)
    return _ratio(np.nansum(timings, axis=axes, keepdims=True), count)
