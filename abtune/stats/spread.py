"""How large the noise is, and how skewed: standard deviations, variance components, skewness.

If only one side is skewed, as where now and then a search fails, its mean and its variance err together. A
few seeds then often look too good and too certain, and a t-test calls too many differences in its favour. It
calls too few against it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from abtune.stats.estimates import LARGEST_LOG
from abtune.stats.splits import centred
from abtune.stats.two_sample import Floats, Group, Integers, TwoSample, ascending, sizes
from abtune.stats.variance import mean_of_known, moments


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
    """Return the pooled standard deviation of samples, and the limits of it for exactly these samples.

    It is the root mean square, weighted by degrees of freedom.
    """
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
            kept = values[cut : size - cut] if size > 2 * cut else values
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
        total = self.search + np.nan_to_num(self.session) + np.nan_to_num(self.timing)
        known = ~(np.isnan(self.session) & np.isnan(self.timing)) & (total > 0)
        return np.where(known, self.search / np.where(total > 0, total, 1.0), np.nan)


def components(log_latency: npt.ArrayLike) -> Components:
    """Return the variance between seeds, between rounds within seeds, and between timings within rounds.

    Takes log seconds, shape (..., seeds, rounds, repeats), NaN where there is no timing. Method of
    moments on the nested sums of squares, for unequal numbers (Henderson's method 1, DOI
    10.2307/3001853). A negative estimate becomes zero.
    """
    timings = np.asarray(log_latency, dtype=np.float64)
    every = (-1, -2, -3)
    count = np.count_nonzero(~np.isnan(timings), axis=every, keepdims=True)
    # Of logs near -9 themselves, sums of squares would lose digits.
    timings = timings - _ratio(np.nansum(timings, axis=every, keepdims=True), count)
    in_round = np.count_nonzero(~np.isnan(timings), axis=-1)
    in_seed = in_round.sum(axis=-1)
    total = in_seed.sum(axis=-1)
    sums = np.nansum(timings, axis=-1)
    by_round = _ratio(sums**2, in_round).sum(axis=(-1, -2))
    by_seed = _ratio(sums.sum(axis=-1) ** 2, in_seed).sum(axis=-1)
    overall = _ratio(sums.sum(axis=(-1, -2)) ** 2, total)
    rounds, seeds = np.count_nonzero(in_round, axis=(-1, -2)), np.count_nonzero(in_seed, axis=-1)
    timing = _component(np.nansum(timings**2, axis=every) - by_round, total - rounds, total - rounds)
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
    """Return a component; NaN without degrees of freedom, zero for a negative estimate."""
    known = (freedom > 0) & (factor > 0)
    return np.where(known, np.maximum(rest / np.where(known, factor, 1.0), 0.0), np.nan)


def _ratio(numerator: npt.ArrayLike, count: npt.ArrayLike) -> Floats:
    """Return a quotient, with 0 for 0/0."""
    return np.asarray(numerator, dtype=np.float64) / np.maximum(count, 1)


_FEWEST_SEEDS = 5
FEWEST_SHAPES = 5
# A gap counts from this size on, if it is this many standard errors away from zero.
_GAP, _ERRORS = 0.3, 2.0
# Fewer seeds than this over all shapes show a gap less clearly, so less evidence is asked for
# (docs/statistics.md, `one side skewed`).
_MANY, _GAP_OF_FEW, _ERRORS_OF_FEW = 200, 0.15, 1.5
_EXCHANGES = 99


def skewness(values: Floats) -> Floats:
    """Return the skewness of each row without its NaN, shape (shapes,); NaN below five, and for constants.

    ``scipy.stats.skew`` gives the same numbers, and its import takes half a second.
    """
    residual = values - mean_of_known(values)[:, np.newaxis]
    square, cube = mean_of_known(residual**2), mean_of_known(residual**3)
    # Of a constant row, the residuals may be the rounding of its mean; its variance is exactly zero.
    known = (sizes(values) >= _FEWEST_SEEDS) & (moments(values).variance > 0)
    return np.where(known, cube / np.where(known, square, 1.0) ** 1.5, np.nan)


def misled(samples: TwoSample) -> tuple[bool, bool]:
    """Return whether skewness makes too many claims that the second side is faster, and that it is slower."""
    gap = skewness_gap(samples)
    # If both sides are skewed alike, the one with more seeds looks more skewed, and the other one misleads.
    unequal = gap != 0 and bool((samples.sizes[:, 0] != samples.sizes[:, 1]).any())
    both = unequal or (gap == 0 and is_skewed_both_ways(samples))
    return gap > 0 or both, gap < 0 or both


def skewness_gap(samples: TwoSample) -> float:
    """Return how much more skewed the second side is, mean over shapes; 0 if that is not shown.

    It takes two shapes with five seeds per side: the resamples of one show no failure that its seeds do not.
    Of pairs, it is minus the skewness of their differences.
    """
    if samples.paired:
        return _mean_gap(samples, _gaps(samples))
    # The skewness of the difference of the means misleads. Of sides that are skewed alike, the noisier one
    # decides it.
    gap = _mean_gap(samples, _gaps_of_means(samples))
    unequal = bool((samples.sizes[:, 0] != samples.sizes[:, 1]).any())
    return _mean_gap(samples, _gaps(samples)) if unequal and not gap else gap


def may_be_chance(samples: TwoSample) -> bool:
    """Return whether too few shapes have a gap to tell it from chance."""
    return int(np.count_nonzero(~np.isnan(_gaps(samples)))) < FEWEST_SHAPES


def _mean_gap(samples: TwoSample, gap: Floats) -> float:
    known = ~np.isnan(gap)
    shapes, mean = int(np.count_nonzero(known)), float(mean_of_known(gap))
    if shapes < 2:
        return 0.0
    # Few shapes do not show the standard error of their mean.
    error = float(gap[known].std(ddof=1)) / math.sqrt(shapes) if shapes >= FEWEST_SHAPES else 0.0
    few = samples.sizes.min(axis=1)[known].sum() < _MANY
    least, errors = (_GAP_OF_FEW, _ERRORS_OF_FEW) if few else (_GAP, _ERRORS)
    return mean if abs(mean) > max(least, errors * error) else 0.0


def is_skewed_both_ways(samples: TwoSample) -> bool:
    """Return whether the first side is skewed in some shapes, and the second in others.

    Then gaps vary more than those of normal noise. Heavy tails do the same and mislead nobody, if both sides
    of a shape have them. So the sides must also look less alike than after 99 exchanges of their seeds.
    """
    gap = _gaps(samples)
    # Whether a side varies at all is no sign of its skewness: searches end at one of a few kernels.
    known = ~np.isnan(gap if samples.paired else skewness(samples.first) + skewness(samples.second))
    shapes, n = int(np.count_nonzero(known)), samples.sizes[known]
    if shapes < FEWEST_SHAPES:
        return False
    of_normal = 6 * (n - 2) / ((n + 1) * (n + 3))  # variance of the skewness of normal samples
    expected = of_normal[:, 0] if samples.paired else of_normal.sum(axis=1)
    if np.mean(gap[known] ** 2 / expected) <= 1 + _ERRORS * math.sqrt(2 / shapes):
        return False
    rng = np.random.default_rng(0)
    groups = samples.rows(known).groups(at_least=_FEWEST_SEEDS)
    totals = np.sum([_unlike(group, rng, paired=samples.paired) for group in groups], axis=0)
    return bool(totals[0] > totals[1:].max())


def _gaps(samples: TwoSample) -> Floats:
    """Return how much more skewed the second side of each shape is; NaN below five seeds."""
    # Few values look less skewed than many. So unequal numbers of skewed seeds have a gap, too, and the t of
    # their difference is skewed indeed.
    if samples.paired:
        return -skewness(samples.first - samples.second)
    first, second = skewness(samples.first), skewness(samples.second)
    # A side whose seeds agree has none, and hides nothing of the other's.
    unknown = np.isnan(first) & np.isnan(second) | (samples.sizes.min(axis=1) < _FEWEST_SEEDS)
    return np.where(unknown, np.nan, np.nan_to_num(second) - np.nan_to_num(first))


def _gaps_of_means(samples: TwoSample) -> Floats:
    """Return the skewness of the difference of the means, in the unit of :func:`_gaps`; NaN where that is.

    With equal variances and equal numbers of seeds both are equal.
    """
    sides = samples.first, samples.second
    n = [np.maximum(sizes(side), 1) for side in sides]
    rest = [side - mean_of_known(side)[:, np.newaxis] for side in sides]
    one, two = (mean_of_known(values**2) / size for values, size in zip(rest, n, strict=True))
    minus, plus = (mean_of_known(values**3) / size**2 for values, size in zip(rest, n, strict=True))
    variance = np.where(one + two > 0, one + two, 1.0)
    gap = 4 * (plus - minus) / (np.sqrt(1 / n[0] + 1 / n[1]) * variance**1.5)
    return np.where(np.isnan(_gaps(samples)), np.nan, gap)


def _unlike(group: Group, rng: np.random.Generator, *, paired: bool) -> Floats:
    """Return how unlike the sides of shapes are, summed; first as they are, then after each exchange."""
    if paired:  # differences that are alike in both directions may change their signs
        rest = group.first - group.second
        rest = rest - np.median(rest, axis=1, keepdims=True)  # of a mean, one outlier would be a part
        flipped = (rest * rng.choice((-1.0, 1.0), rest.shape) for _ in range(_EXCHANGES))
        return np.array([np.nansum(skewness(rows) ** 2) for rows in (rest, *flipped)])
    small, large = map(centred, group.by_size)
    rest = np.concatenate([small, large], axis=1)
    moved = (rng.permuted(np.sort(rest, axis=1), axis=1) for _ in range(_EXCHANGES))
    sides = (np.split(rows, [small.shape[1]], axis=1) for rows in (rest, *moved))
    least = 1e-6 * rest.var(axis=1)  # of equal values, an exchange may leave a side without any variance
    spreads = ([np.log(np.maximum(side.var(axis=1), least)) for side in both] for both in sides)
    return np.array([np.abs(one - two).sum() for one, two in spreads])
