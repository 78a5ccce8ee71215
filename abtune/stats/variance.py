"""From timings to one value per seed, and the variance of these values.

Timings of one winner set a floor under the variance of the seeds, and are never counted as replicates.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import special

from abtune.stats.two_sample import Booleans, Floats, Integers, TwoSample, ascending, exact_differences, sizes

# That three different timings are multiples of ten times the real step has a chance of 1 in 1,000.
_FEWEST_FOR_STEP = 3
_ENOUGH_FOR_STEP = 5  # that five are multiples of twice the step, 1 in 32; the allowance is then too large
_LEAST_ROUNDING = 1e-4  # 0.01 %, less than anybody asks for
_TIE = 1e-9  # spreads that differ by this share differ by the rounding of floats alone
# The most degrees of freedom of two or three seeds.
HARDLY_ANY = 2
# The correction for skewness is an expansion. Beyond this quantile, its square would count far too much.
_FARTHEST = 3.0
# The quantile of F that raises the variance of fewer seeds, for conservative degrees of freedom.
# Simulation chose it (analysis/simulations/degrees_of_freedom.py).
SMALLER = 0.95
_NORMAL_MAD = 1.4826  # a normal sample's standard deviation over its median absolute deviation


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """Sizes, means and variances of the samples of many shapes, shape (shapes,)."""

    n: Integers
    mean: Floats  # NaN for an empty sample
    variance: Floats  # with n - 1 in the denominator; NaN below two values

    @property
    def of_mean(self) -> Floats:
        """Variance of the mean."""
        return self.variance / np.maximum(self.n, 1)


def seed_values(log_latency: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return one value per winner and its measurement variance, shape (...), from (..., rounds, repeats).

    The value is the mean of the medians of rounds, NaN without timings. The median ignores spikes, which come
    from the rest of the machine. The measurement variance, NaN where there is only one timing, is the
    variance between rounds over their number. With one round it is that of a median, pi/2 sigma^2/m, with
    sigma from the median absolute deviation; that is rather too small.
    """
    timings = np.asarray(log_latency, dtype=np.float64)
    by_round = median_of_known(timings)
    rounds = np.count_nonzero(~np.isnan(by_round), axis=-1)
    repeats = np.count_nonzero(~np.isnan(timings), axis=-1)
    least, most = (of.reduce(by_round, axis=-1) for of in (np.fmin, np.fmax))
    # The mean of equal rounds may be rounded, and would then look like noise of measuring.
    value = np.where(least == most, least, mean_of_known(by_round))
    # The mean square over rounds - 1 is s^2/rounds: the variance of the mean of the rounds.
    between = mean_of_known((by_round - value[..., np.newaxis]) ** 2) / np.maximum(rounds - 1, 1)
    deviation = _NORMAL_MAD * median_of_known(np.abs(timings - by_round[..., np.newaxis]))
    within = np.where(repeats > 1, np.pi / 2 * deviation**2 / np.maximum(repeats, 1), np.nan)
    return value, np.where(rounds > 1, between, mean_of_known(within))


def difference_variance(first: Floats, second: Floats) -> Floats:
    """Return the measurement variance of the difference of two winners, shape (...); NaN below two rounds.

    Log timings have the shape (..., rounds, repeats). What both share in a round, such as the clock, cancels.
    """
    differences = exact_differences(median_of_known(first), median_of_known(second))
    return seed_values(differences[..., np.newaxis])[1]


def timer_step(seconds: Floats) -> float:
    """Return the step that divides all timings, from shape (cells, timings); zero if unknown.

    It is unknown where few timings differ, which may be round by chance, and where the timings of each cell
    agree: a simulator has no noise to hide. Six digits are looked at. The step of fewer than five different
    timings is a power of ten, because they may be even by chance.
    """
    known = np.where(seconds > 0, seconds, np.nan)
    known = known[~np.isnan(known).all(axis=1)]
    timings = known[~np.isnan(known)]
    timings = np.unique(timings[:: max(len(timings) // 10_000, 1)])  # some are enough
    if len(timings) < _FEWEST_FOR_STEP or (np.nanmin(known, axis=1) == np.nanmax(known, axis=1)).all():
        return 0.0
    power = np.floor(np.log10(timings)).astype(np.int64) - 5  # of the sixth digit
    digits = np.rint(timings / 10.0**power).astype(np.int64)
    zeros = sum((digits % 10**count == 0).astype(np.int64) for count in range(1, 6))
    step = 10.0 ** np.min(power + zeros)
    # Beyond the digits of a float, multiples of the step are not whole numbers.
    if len(timings) >= _ENOUGH_FOR_STEP and timings[-1] < step / np.finfo(np.float64).eps:
        step *= np.gcd.reduce(np.rint(timings / step).astype(np.int64))
    return float(step)


def rounding_of(seconds: Floats, step: float) -> Floats:
    """Return how far a timer's step can move the mean log latency, shape (shapes,).

    Takes shape (shapes, seeds, rounds, repeats). Half a step where the medians of the rounds vary less: a
    median of rounded timings is rounded itself, however much they vary. Where medians vary more, rounding is
    part of their noise.
    """
    by_round = median_of_known(seconds).reshape(len(seconds), -1)
    mean = mean_of_known(by_round)
    spread = np.sqrt(mean_of_known((by_round - mean[:, np.newaxis]) ** 2))
    share = step / 2 / np.where(mean > 0, mean, np.inf)
    # Medians that are half at one step and half at the next vary by exactly half a step, but for rounding.
    less = spread < step / 2 * (1 - _TIE)
    return np.where(less & (share >= _LEAST_ROUNDING), share, 0.0)


def moments(values: npt.ArrayLike) -> Moments:
    """Return size, mean and variance of each row, without its NaN."""
    samples = ascending(values)
    n = sizes(samples)
    mean = mean_of_known(samples)
    largest = np.take_along_axis(samples, np.maximum(n - 1, 0)[:, np.newaxis], axis=1)[:, 0]
    # The mean of a constant sample is its value. Rounding would make two equal samples differ.
    mean = np.where(largest == samples[:, 0], largest, mean)
    # Two passes: sums of squares of logs near -9 would lose the digits of a small variance.
    known = ~np.isnan(samples)
    scatter = np.where(known, (samples - mean[:, np.newaxis]) ** 2, 0.0).sum(axis=1)
    variance = np.where(n > 1, scatter / np.maximum(n - 1, 1), np.nan)
    return Moments(n=n, mean=mean, variance=variance)


def floored(variance: Floats, floor: Floats) -> Floats:
    """Return variances of seed values raised to their measurement variance. NaN stands for no floor."""
    return np.where(np.isnan(floor), variance, np.maximum(variance, floor))


@functools.lru_cache(maxsize=4)  # one report asks for the same samples five times
def floored_moments(samples: TwoSample) -> tuple[Moments, Moments]:
    """Return the moments of both sides, with variances of at least the floor."""
    sides = moments(samples.first), moments(samples.second)
    one, two = (
        replace(side, variance=floored(side.variance, floor))
        for side, floor in zip(sides, samples.floor.T, strict=True)
    )
    return one, two


def welch_freedom(
    first: npt.ArrayLike, second: npt.ArrayLike, n_first: npt.ArrayLike, n_second: npt.ArrayLike
) -> Floats:
    """Return Welch's degrees of freedom (v1 + v2)^2/(v1^2/(n1 - 1) + v2^2/(n2 - 1)), v of the means.

    n1 + n2 - 2 if both are zero. DOI 10.1093/biomet/34.1-2.28.
    """
    v_one, v_two = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    n_one, n_two = np.asarray(n_first, dtype=np.float64), np.asarray(n_second, dtype=np.float64)
    total = v_one + v_two
    one, two = quotient(v_one, total), quotient(v_two, total)  # squares of tiny variances would underflow
    spread = one**2 / np.maximum(n_one - 1, 1) + two**2 / np.maximum(n_two - 1, 1)
    return np.where(np.isnan(total), np.nan, quotient(1.0, spread, n_one + n_two - 2))


def interval_freedom(
    first: npt.ArrayLike, second: npt.ArrayLike, n_first: npt.ArrayLike, n_second: npt.ArrayLike
) -> Floats:
    """Return Welch's degrees of freedom, or fewer for two or three seeds beside at least twice as many.

    Their variance may be far too small by chance. So the degrees of freedom are those of its upper 95 % limit
    (Berger and Boos 1994, DOI 10.1080/01621459.1994.10476836).
    """
    variances = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    own = np.subtract(n_first, 1.0), np.subtract(n_second, 1.0)
    few, many = np.minimum(*own), np.maximum(*own)
    fewer = fewest_freedom(variances, own, own[0] < own[1], SMALLER)
    return np.where(
        (few <= HARDLY_ANY) & (many - few > few), fewer, welch_freedom(*variances, n_first, n_second)
    )


def fewest_freedom(
    variances: tuple[Floats, Floats],
    own: tuple[Floats, Floats],
    raises_first: Booleans,
    share: Floats | float,
) -> Floats:
    """Return Welch's degrees of freedom, or those with one variance raised by a quantile of F if fewer.

    ``own`` are the degrees of freedom of the two variances.
    """
    # A side's own degrees of freedom come first. A strict confidence limit of the variance has them last, and
    # is larger for the side with fewer seeds.
    limits = special.fdtri(own[0], own[1], share), special.fdtri(own[1], own[0], share)
    worst = (
        np.where(raises_first, limits[0], 1.0) * variances[0],
        np.where(raises_first, 1.0, limits[1]) * variances[1],
    )
    # Welch's degrees of freedom have one maximum, so the fewest are at an end of the range.
    both = (welch_freedom(*pair, own[0] + 1, own[1] + 1) for pair in (variances, worst))
    return np.fmin(*both)


def residuals(values: Floats) -> Floats:
    """Return deviations from the mean over the last axis; exactly zero for a constant sample."""
    constant = values.max(axis=-1, keepdims=True) == values.min(axis=-1, keepdims=True)
    return np.where(constant, 0.0, values - values.mean(axis=-1, keepdims=True))


def median_of_known(values: Floats) -> Floats:
    """Return the median over the last axis without NaN. Unlike numpy's, it does not warn of empty rows."""
    ordered = np.sort(values, axis=-1)
    n = np.count_nonzero(~np.isnan(ordered), axis=-1)[..., np.newaxis]
    lower = np.take_along_axis(ordered, np.maximum(n - 1, 0) // 2, axis=-1)[..., 0]
    upper = np.take_along_axis(ordered, n // 2, axis=-1)[..., 0]
    return np.where(n[..., 0] % 2 == 1, lower, (lower + upper) / 2)


def mean_of_known(values: Floats) -> Floats:
    """Return the mean over the last axis without NaN; NaN for an empty row."""
    known = ~np.isnan(values)
    n = known.sum(axis=-1)
    # numpy.nansum gives the same, and takes twice as long for a few shapes.
    return np.where(n > 0, np.where(known, values, 0.0).sum(axis=-1) / np.maximum(n, 1), np.nan)


def quotient(numerator: Floats | float, denominator: Floats, otherwise: Floats | float = 0.0) -> Floats:
    """Return a quotient, and something else where the denominator is not above zero."""
    positive = denominator > 0
    return np.where(positive, numerator / np.where(positive, denominator, 1.0), otherwise)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteredVariance:
    """Variance of a weighted sum over shapes of their means over seeds, with its degrees of freedom."""

    variance: float
    freedom: float
    # the same variance, and the third central moment, if the runs of a seed shared nothing
    independent: float = 0.0
    third: float = 0.0


def clustered_variance(value: Floats, weight: Floats, floor: Floats | None = None) -> ClusteredVariance:
    """Return the variance of one side's weighted sum over shapes of their means, clustered by seed.

    Each seed contributes the sum over its shapes of weight (x - mean)/sqrt(k (k - 1)), for a shape with k
    seeds; the variance is their sum of squares (Bell and McCaffrey, Survey Methodology 28, 2002). The floor
    raises the variance of a shape. NaN if a shape with a weight has fewer than two seeds.
    """
    used = weight > 0
    value, weight = value[used], weight[used]
    known = ~np.isnan(value)
    counts = known.sum(axis=1)
    if not len(value) or (counts < 2).any():
        return ClusteredVariance(variance=math.nan, freedom=math.nan)
    own = moments(value).variance
    # The squares of one shape alone then sum to weight^2 s^2/k, the variance of its weighted mean.
    scale = weight / np.sqrt(counts * (counts - 1))
    means = np.where(known, value, 0.0).sum(axis=1, keepdims=True) / counts[:, np.newaxis]
    rest = np.where(known, value - means, 0.0)
    variance = float(((scale @ rest) ** 2).sum())
    raised = own if floor is None else floored(own, floor[used])
    # The third moment of a mean is that of its seeds over n^2, here without bias. Two seeds show none, and
    # those of a single shape too little of it.
    divisor = counts * np.maximum((counts - 1) * (counts - 2), 1)
    third = float((weight**3 * (rest**3).sum(axis=1) / divisor).sum()) if len(value) > 1 else 0.0
    return ClusteredVariance(
        variance=variance + float((weight**2 * (raised - own) / counts).sum()),
        freedom=_freedom(known, scale**2 * own),
        independent=float((weight**2 * raised / counts).sum()),
        third=third,
    )


def _freedom(known: Booleans, spread: Floats) -> float:
    """Return Satterthwaite's degrees of freedom tr(C)^2/tr(C^2); C is the covariance of the contributions."""
    present = known.astype(np.float64)
    counts = present.sum(axis=1)
    # With all seeds of every shape, the formula gives k - 1 whatever the spreads.
    if (counts == present.shape[1]).all() or not spread.any():
        return float(counts.min() - 1)
    spread = spread / spread.max()  # squares of tiny variances would underflow
    covariance = np.diag(spread @ present) - (present * (spread / counts)[:, np.newaxis]).T @ present
    return float(np.trace(covariance) ** 2 / (covariance**2).sum())


def shared_covariance(samples: TwoSample) -> ClusteredVariance:
    """Return the mean covariance of the boosts of two shapes; zero where negative or unknown."""
    covariance = float(shared_so_far(samples)[-1]) if len(samples) > 1 else 0.0
    if not covariance > 0:
        return ClusteredVariance(variance=0.0, freedom=1.0)
    even = np.full(len(samples), 1 / len(samples))
    sides = samples.first, samples.second
    freedom = min(clustered_variance(side, even).freedom for side in sides)
    return ClusteredVariance(variance=covariance, freedom=freedom)


def shared_so_far(samples: TwoSample) -> Floats:
    """Return the mean covariance of the boosts of two of the first k shapes, for each k; zero for one."""
    joint, single = np.zeros(len(samples)), np.zeros(len(samples))
    for side in (samples.first, samples.second):
        own = moments(side)
        # As in clustered_variance: the squares of one shape sum to the variance of its mean.
        scale = np.sqrt(np.maximum(own.n * (own.n - 1), 1))[:, np.newaxis]
        contribution = np.where(np.isnan(side), 0.0, side - own.mean[:, np.newaxis]) / scale
        joint += (np.cumsum(contribution, axis=0) ** 2).sum(axis=1)
        single += np.cumsum(own.of_mean)
    k = np.arange(1, len(samples) + 1)
    return (joint - single) / np.maximum(k * (k - 1), 1)


def both_variances(samples: TwoSample, weight: Floats) -> list[ClusteredVariance]:
    """Return the variance of each side's weighted sum over shapes; of pairs, all is the first side's."""
    return [
        clustered_variance(values, weight, floor)
        for values, floor in zip((samples.first, samples.second), samples.floor.T, strict=True)
    ]


def variance_of_both(first: ClusteredVariance, second: ClusteredVariance) -> ClusteredVariance:
    """Return the variance of a difference of two sides, with the degrees of freedom of intervals."""
    freedom = interval_freedom(first.variance, second.variance, first.freedom + 1, second.freedom + 1)
    return ClusteredVariance(
        variance=first.variance + second.variance,
        freedom=float(freedom),
        independent=first.independent + second.independent,
        third=first.third - second.third,
    )


def half_width(sides: Sequence[ClusteredVariance], level: float) -> float:
    """Return half of Welch's t interval of a difference or sum of two sides."""
    both = variance_of_both(*sides)
    return float(quantile(both.freedom, level)) * math.sqrt(both.variance)


def half_widths(sides: Sequence[ClusteredVariance], level: float) -> Floats:
    """Return how far an interval reaches below and above the difference of two sides, shape (2,).

    A skewed difference mostly lies on one side of its true value: away from its long tail. So the end towards
    that tail reaches farther, by (2 q^2 + 1)/6 times the skewness, in standard errors (Johnson 1978, JASA 73,
    536-544). q is Student's quantile.
    """
    both = variance_of_both(*sides)
    # The variance over seeds is uncertain, and a small one would make the skewness too large.
    spread = math.sqrt(np.fmax(both.variance, both.independent))
    skewness = both.third / spread**3 if spread > 0 else 0.0
    q = min(float(quantile(both.freedom, level)), _FARTHEST)
    farther = (2 * q * q + 1) / 6 * np.maximum([-skewness, skewness], 0.0)
    half: Floats = half_width(sides, level) + math.sqrt(both.variance) * farther
    return half


def quantile(freedom: npt.ArrayLike, level: float) -> Floats:
    """Return the upper two-sided quantile of Student's t."""
    return special.stdtrit(freedom, 0.5 + level / 2)


def best_of(values: Floats, k: int) -> Floats:
    """Return pseudo-values, shape (shapes, seeds), whose mean is the expected smallest of k values.

    NaN where a value is, and for shapes with fewer than k + 1 seeds. Their spread gives the jackknife's
    standard error. The mean of the smallest over all subsets of k is sum_i w_i x_(i), w_i = C(n - i, k -
    1)/C(n, k); the pseudo-value of a seed is n times this minus n - 1 times the same without the seed.
    """
    pseudo, counts = np.full(values.shape, np.nan), sizes(values)
    for n in np.unique(counts[counts > k]).tolist():
        rows = np.flatnonzero(counts == n)[:, np.newaxis]
        order = np.argsort(values[rows[:, 0]], axis=1)[:, :n]  # NaN is last
        # Above the least, so that those of equal values are equal and not apart by rounding.
        least = values[rows, order[:, :1]]
        ranked = values[rows, order] - least
        # Without the j-th smallest, the smaller ones keep their weight and the larger ones move up one rank.
        weights, fewer, none = _weights(n, k), _weights(n - 1, k), np.zeros((len(rows), 1))
        below = np.concatenate([none, np.cumsum(fewer * ranked[:, :-1], axis=1)], axis=1)
        above = np.concatenate([np.cumsum((fewer * ranked[:, 1:])[:, ::-1], axis=1)[:, ::-1], none], axis=1)
        pseudo[rows, order] = least + n * (ranked @ weights)[:, np.newaxis] - (n - 1) * (below + above)
    return pseudo


def best_of_floor(floor: Floats, n: Integers, k: int) -> Floats:
    """Return the least variance of the pseudo-values of n seeds with this measurement variance."""
    share = {m: m * float((_weights(m, k) ** 2).sum()) for m in np.unique(n[n >= k]).tolist()}
    return floor * np.array([share.get(m, np.nan) for m in n.tolist()])


def _weights(n: int, k: int) -> Floats:
    return special.binom(n - np.arange(1, n + 1), k - 1) / special.binom(n, k)
