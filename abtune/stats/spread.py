"""How large the noise is: standard deviations and variance components."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from abtune.stats.estimates import LARGEST_LOG
from abtune.stats.two_sample import Floats, Integers, ascending, sizes
from abtune.stats.variance import moments, quotient


def spread_intervals(values: npt.ArrayLike, *, level: float) -> tuple[Floats, Floats]:
    """Return limits of the standard deviations of samples that may be skewed but share their kurtosis.

    Both have shape (samples,): NaN below two values, and the upper one may be infinite. They are the hull of
    the chi-square interval and Bonett's (DOI 10.1016/j.csda.2004.10.003). Bonett's standard error of the log
    variance is c sqrt((g - (n - 3)/n)/(n - 1)), with c = n/(n - z) and the mean kurtosis g. Of nominal 95 %
    with six samples of 10 seeds it covers .976 for normal noise, .955 for gamma(2), .936 for exponential.
    """
    samples = ascending(values)
    n = sizes(samples)
    freedom = np.maximum(n - 1, 1)
    variance = moments(samples).variance
    z = float(special.ndtri(0.5 + level / 2))
    # Bonett's factor has a pole at n = z, and means nothing below it. There the interval stays open.
    factor = np.where(n > z, n / np.where(n > z, n - z, 1.0), np.inf)
    reach = z * factor * _relative_error(samples, n)
    # chdtri takes an upper tail, so the sign -1 gives the lower end.
    normal = [freedom / special.chdtri(freedom, 0.5 + sign * level / 2) for sign in (-1, 1)]
    bounded = np.isfinite(factor)
    centre, reach = np.log(np.where(bounded, factor, 1.0)), np.where(bounded, reach, LARGEST_LOG)
    low = np.minimum(normal[0], np.exp(np.maximum(centre - reach, -LARGEST_LOG)))
    high = np.maximum(normal[1], np.exp(np.minimum(centre + reach, LARGEST_LOG)))
    lower = np.sqrt(variance * np.where(bounded, low, 0.0))
    return lower, np.where(bounded | np.isnan(variance), np.sqrt(variance * high), np.inf)


def pooled_spread(values: npt.ArrayLike, *, level: float) -> tuple[float, float, float]:
    """Return the root mean square of standard deviations, by degrees of freedom, and its limits."""
    samples = ascending(values)
    samples = samples[sizes(samples) >= 2]
    if not len(samples):
        return math.nan, math.nan, math.nan
    n, variance = sizes(samples), moments(samples).variance
    weight = (n - 1) / (n - 1).sum()
    pooled = float(weight @ variance)
    if len(samples) == 1 or pooled == 0:
        low, high = (float(limit[0]) for limit in spread_intervals(samples, level=level))
        return math.sqrt(pooled), low, high
    share = weight * variance / pooled
    z = float(special.ndtri(0.5 + level / 2))
    # Two values are near the pole of the factor at n = z. They would swamp samples with more.
    factor = n / np.maximum(n - z, 0.5)
    error = math.sqrt(float(((share * factor * _relative_error(samples, n)) ** 2).sum()))
    # Half of it, for a standard deviation instead of a variance.
    reach = min(z * error, LARGEST_LOG) / 2
    spread = math.sqrt(pooled)
    return spread, spread * math.exp(-reach), spread * math.exp(reach)


def _relative_error(samples: Floats, n: Integers) -> Floats:
    """Return the relative standard error of the sample variances, from the kurtosis that samples share."""
    kurtosis = _shared_kurtosis(samples, n)
    return np.sqrt(np.maximum(kurtosis - (n - 3) / np.maximum(n, 1), 0.0) / np.maximum(n - 1, 1))


def _shared_kurtosis(samples: Floats, n: Integers) -> float:
    """Return the mean kurtosis about means trimmed by 1/(2 sqrt(n - 4)); 3 if no sample has five values."""
    kurtosis = []
    for row, size in zip(samples, n.tolist(), strict=True):
        values = row[:size]
        squares = float(((values - values.mean()) ** 2).sum()) if size > 4 else 0.0
        # Equal values may have squares above zero, by the rounding of their mean.
        if squares > 0 and values[0] < values[-1]:
            cut = int(size / (2 * math.sqrt(size - 4)))
            kept = values[cut : size - cut]
            kurtosis.append(size * float(((values - kept.mean()) ** 4).sum()) / squares**2)
    return float(np.mean(kurtosis)) if kurtosis else 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """Variance components of many samples; log scale."""

    search: Floats  # between seeds; with one round it includes the session, with one timing also the timing
    session: Floats  # between rounds of one winner; NaN if no winner was timed in two rounds
    timing: Floats  # within a round; NaN if no round has two timings

    @property
    def correlation(self) -> Floats:
        """Intraclass correlation: the correlation of two timings of one winner in different rounds."""
        search = np.maximum(self.search, 0.0)
        total = search + sum(np.maximum(np.nan_to_num(one), 0.0) for one in (self.session, self.timing))
        unknown = np.isnan(self.session) & np.isnan(self.timing)
        return np.where(unknown, np.nan, quotient(search, total, np.nan))


def components(log_latency: npt.ArrayLike) -> Components:
    """Return the variance between seeds, between rounds within seeds, and between timings within rounds.

    Takes log seconds, shape (..., seeds, rounds, repeats), NaN where there is no timing. Method of
    moments on the nested sums of squares, for unequal numbers (Henderson's method 1, DOI
    10.2307/3001853). An estimate may be negative, so that the mean of many is right.
    """
    timings = np.asarray(log_latency, dtype=np.float64)
    of_sample = (-1, -2, -3)  # all axes of a sample
    count = np.count_nonzero(~np.isnan(timings), axis=of_sample, keepdims=True)
    # Of logs near -9 themselves, sums of squares would lose digits.
    timings = timings - _ratio(np.nansum(timings, axis=of_sample, keepdims=True), count)
    in_round = np.count_nonzero(~np.isnan(timings), axis=-1)
    in_seed = in_round.sum(axis=-1)
    total = in_seed.sum(axis=-1)
    sums = np.nansum(timings, axis=-1)
    by_round = _ratio(sums**2, in_round).sum(axis=(-1, -2))
    by_seed = _ratio(sums.sum(axis=-1) ** 2, in_seed).sum(axis=-1)
    overall = _ratio(sums.sum(axis=(-1, -2)) ** 2, total)
    rounds, seeds = np.count_nonzero(in_round, axis=(-1, -2)), np.count_nonzero(in_seed, axis=-1)
    timing = _component(np.nansum(timings**2, axis=of_sample) - by_round, total - rounds, total - rounds)
    # An unknown component cannot be subtracted, so it stays a part of the next one.
    own_timing = np.nan_to_num(timing)
    shared = _ratio((in_round**2).sum(axis=-1), in_seed).sum(axis=-1)  # sum over seeds of sum n_ij^2/n_i
    # The expectation of each sum of squares has parts of the components below, which are subtracted first.
    rest = by_round - by_seed - (rounds - seeds) * own_timing
    session = _component(rest, rounds - seeds, total - shared)
    own_session = np.nan_to_num(session)
    rest = by_seed - overall - (seeds - 1) * own_timing
    rest -= (shared - _ratio((in_round**2).sum(axis=(-1, -2)), total)) * own_session
    search = _component(rest, seeds - 1, total - _ratio((in_seed**2).sum(axis=-1), total))
    return Components(search=search, session=session, timing=timing)


def _component(rest: Floats, freedom: npt.NDArray[np.int64], factor: Floats) -> Floats:
    """Return a component; NaN without degrees of freedom."""
    return np.where(freedom > 0, quotient(rest, factor, np.nan), np.nan)


def _ratio(numerator: npt.ArrayLike, count: npt.ArrayLike) -> Floats:
    """Return a quotient, with 0 for 0/0."""
    return np.asarray(numerator, dtype=np.float64) / np.maximum(count, 1)
