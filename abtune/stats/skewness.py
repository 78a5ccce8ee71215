"""How skewed the noise is, whether one side is more skewed than the other, and whether a side has two modes.

If only one side is skewed, as where now and then a search fails, its mean and its variance err together. A
few seeds then often look too good and too certain, and a t-test calls too many differences in its favour. It
calls too few against it.

If searches end at one of two schedules, a few seeds of a shape may all end at the same one. Then their noise
looks far too small. The other shapes show it.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from abtune.stats.splits import centred
from abtune.stats.two_sample import Booleans, Floats, Group, Integers, TwoSample, sizes
from abtune.stats.variance import mean_of_known, median_of_known, moments

_FEWEST_SEEDS = 5
FEWEST_SHAPES = 5
PERHAPS_CHANCE = f"With fewer than {FEWEST_SHAPES} shapes, that may be chance."
# A gap counts from this size on, if it is this many standard errors away from zero.
_GAP, _ERRORS = 0.3, 2.0
# Fewer seeds than this over all shapes show a gap less clearly, so less evidence is asked for
# (docs/statistics.md, `one side skewed`).
_MANY, _GAP_OF_FEW, _ERRORS_OF_FEW = 200, 0.15, 1.5
_WIDEST = 4.0  # times the typical spread: a shape with more counts as one with this
_EXCHANGES = 99
_MOST_OF_ONE = 5.0  # one bad seed of one shape says nothing of the others
# The kurtosis is 1 for two equally frequent values, 1.8 for uniform noise, and 3 for normal noise. Few seeds
# of two modes fall 5:2 or 8:2 now and then, which has more. So not each shape has to be below this.
_TWO_MODES, _SHAPES_WITH_TWO = 1.6, 0.45
# Seeds and shapes. Ten shapes of five normal seeds would often seem to have two modes, too.
_ENOUGH_FOR_MODES = ((6, 10), (5, 25))


def skewness(values: Floats) -> Floats:
    """Return the skewness of each row without its NaN, shape (shapes,); NaN below five, and for constants.

    ``scipy.stats.skew`` gives the same numbers, and its import takes half a second.
    """
    return _standard_moment(values, 3)


def _standard_moment(values: Floats, power: int) -> Floats:
    residual = values - mean_of_known(values)[:, np.newaxis]
    square, moment = mean_of_known(residual**2), mean_of_known(residual**power)
    # Of a constant row, the residuals may be the rounding of its mean; its variance is exactly zero.
    known = (sizes(values) >= _FEWEST_SEEDS) & (moments(values).variance > 0)
    return np.where(known, moment / np.where(known, square, 1.0) ** (power / 2), np.nan)


def two_modes(samples: TwoSample) -> Booleans:
    """Return whether each side shows two modes, about equally frequent, shape (2,); False for pairs."""
    shown = np.zeros(2, dtype=bool)
    sides = () if samples.paired else (samples.first, samples.second)
    for number, side in enumerate(sides):
        kurtosis, n = _standard_moment(side, 4), sizes(side)
        for seeds, shapes in _ENOUGH_FOR_MODES:
            known = kurtosis[(n >= seeds) & ~np.isnan(kurtosis)]
            share = np.count_nonzero(known < _TWO_MODES) / max(len(known), 1)
            shown[number] |= len(known) >= shapes and share >= _SHAPES_WITH_TWO
    return shown


def with_noise_of_all(samples: TwoSample) -> TwoSample:
    """Return samples in which a side with two modes has at least the pooled variance of all shapes."""
    modes = two_modes(samples)
    if not modes.any():
        return samples
    sides = moments(samples.first), moments(samples.second)
    # A shape may have far less noise by itself. But one that shows a single mode would pull a mean of logs
    # down, and with it what moderated variances add.
    pooled = [np.nansum(own.variance * (own.n - 1)) / ((own.n[own.n > 1] - 1).sum() or 1) for own in sides]
    return replace(samples, floor=np.fmax(samples.floor, np.where(modes, pooled, np.nan)))


def misled(samples: TwoSample) -> tuple[bool, bool]:
    """Return whether skewness makes too many claims that the second side is faster, and that it is slower."""
    gap = skewness_gap(samples)
    side = gap or _tail(samples)
    # If both sides are skewed alike, the one with more seeds looks more skewed, and the other one misleads.
    unequal = side != 0 and bool((samples.sizes[:, 0] != samples.sizes[:, 1]).any())
    both = unequal or (gap == 0 and is_skewed_both_ways(samples))
    return side > 0 or both, side < 0 or both


def more_skewed(samples: TwoSample) -> float:
    """Return a number above 0 if the second side looks more skewed, and below 0 if the first does; else 0."""
    return skewness_gap(samples) or _tail(samples)


def _tail(samples: TwoSample) -> float:
    """Return by how many standard errors the second side's means exceed its medians, beyond the first's.

    0 if they are few. Runs that fail pull means away from medians. Where both sides fail, and one worse, this
    shows it more often than skewness, which one run of a shape decides.
    """
    known = samples.sizes.min(axis=1) >= _FEWEST_SEEDS
    first, second = samples.first[known], samples.second[known]
    sides = [second - first] if samples.paired else [second, -first]
    apart = [side - median_of_known(side)[:, np.newaxis] for side in sides]
    spread = np.sum([mean_of_known(np.abs(values)) for values in apart], axis=0)
    if np.count_nonzero(spread) < FEWEST_SHAPES:
        return 0.0
    most = _WIDEST * np.median(spread[spread > 0])
    tails = np.sum([*map(mean_of_known, apart)], axis=0) / np.maximum(spread / most, 1)
    error = math.sqrt(float(tails @ tails))
    tail = float(tails.sum()) / error if error else 0.0
    return tail if abs(tail) > _ERRORS_OF_FEW else 0.0


def skewness_gap(samples: TwoSample) -> float:
    """Return how much more skewed the second side is, mean over shapes; 0 if that is not shown.

    It takes two shapes with five seeds per side: the resamples of one show no failure that its seeds do not.
    Of pairs, it is minus the skewness of their differences.
    """
    if samples.paired:
        return _mean_gap(samples, _gaps(samples))
    # The skewness of the difference of the means misleads: the noisier of two sides skewed alike decides it.
    gap = _mean_gap(samples, _gaps_of_means(samples)[0])
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
    gap, expected = _gaps(samples), _of_normal(samples.sizes[:, 0])
    # Whether a side varies at all is no sign of its skewness: searches end at one of a few kernels.
    known = ~np.isnan(gap if samples.paired else skewness(samples.first) + skewness(samples.second))
    shapes = int(np.count_nonzero(known))
    if shapes < FEWEST_SHAPES:
        return False
    if not samples.paired:  # of sides that are skewed alike, the noisier one decides, shape by shape
        gap, expected = _gaps_of_means(samples)
    excess = np.minimum(gap[known] ** 2 / expected[known], _MOST_OF_ONE)
    if np.mean(excess) <= 1 + _ERRORS * math.sqrt(2 / shapes):
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


def _of_normal(n: Integers) -> Floats:
    """Return the variance of the skewness of normal samples."""
    return 6 * (n - 2) / ((n + 1) * (n + 3.0))


def _gaps_of_means(samples: TwoSample) -> tuple[Floats, Floats]:
    """Return the skewness of the difference of the means, and its variance if the noise is normal.

    It has the unit of :func:`_gaps`, and is NaN where that is. Equal variances and numbers make both equal.
    """
    sides = samples.first, samples.second
    n = [np.maximum(sizes(side), 1) for side in sides]
    rest = [side - mean_of_known(side)[:, np.newaxis] for side in sides]
    one, two = (mean_of_known(values**2) / size for values, size in zip(rest, n, strict=True))
    minus, plus = (mean_of_known(values**3) / size**2 for values, size in zip(rest, n, strict=True))
    variance = np.where(one + two > 0, one + two, 1.0)
    unit = 4 / (np.sqrt(1 / n[0] + 1 / n[1]) * variance**1.5)
    shares = (own**3 / size * _of_normal(size) for own, size in zip((one, two), n, strict=True))
    of_normal = unit**2 * sum(shares)
    return np.where(np.isnan(_gaps(samples)), np.nan, unit * (plus - minus)), of_normal


def _unlike(group: Group, rng: np.random.Generator, *, paired: bool) -> Floats:
    """Return how unlike the sides of shapes are, summed; first as they are, then after each exchange."""
    if paired:  # differences that are alike in both directions may change their signs
        rest = group.first - group.second
        rest = rest - np.median(rest, axis=1, keepdims=True)  # of a mean, one outlier would be a part
        flipped = (rest * rng.choice((-1.0, 1.0), rest.shape) for _ in range(_EXCHANGES))
        return np.array([np.nansum(skewness(rows) ** 2) for rows in (rest, *flipped)])
    small, large = map(centred, group.by_size)
    rest = np.concatenate([small, large], axis=1)
    ordered = np.sort(rest, axis=1)
    moved = (rng.permuted(ordered, axis=1) for _ in range(_EXCHANGES))
    sides = (np.split(rows, [small.shape[1]], axis=1) for rows in (rest, *moved))
    least = 1e-6 * rest.var(axis=1)  # of equal values, an exchange may leave a side without any variance
    spreads = ([np.log(np.maximum(side.var(axis=1), least)) for side in both] for both in sides)
    return np.array([np.abs(one - two).sum() for one, two in spreads])
