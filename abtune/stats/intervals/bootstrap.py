"""The default interval: an expanded percentile bootstrap of a difference of means, computed, not sampled.

A replicate of a mean is a sum of independent draws. Its distribution is a convolution power, which the
Fourier transform gives. There is no resampling noise.
"""

from __future__ import annotations

import numpy as np
from scipy import fft, special

from abtune.stats.estimates import FEWEST_FOR_BOOTSTRAP, Intervals, standard_error, t_interval
from abtune.stats.two_sample import Booleans, Floats, Group, TwoSample
from abtune.stats.variance import floored, moments, quantile, quotient, residuals

# With fewer seeds on either side the interval is at least as wide as Welch's.
_ENOUGH_FOR_BOOTSTRAP_ALONE = 10
_ENOUGH_PAIRS = 20  # which have about as many degrees of freedom
# The grid of a distribution: at least this many cells, or this many for each seed.
_CELLS = 2048
_CELLS_PER_SEED = 128
# Values of the arrays of a block of shapes: 4 MiB.
_ELEMENTS = 1 << 19
# A normal distribution has some 1e-15 of its mass beyond this number of standard deviations.
_REACH = 8.0


def expanded_percentile(samples: TwoSample, *, level: float) -> Intervals:
    """Return the default interval: the percentile bootstrap with its tails moved outwards.

    The percentiles are at Phi(-e t) instead of alpha/2 (Hesterberg 2015, DOI
    10.1080/00031305.2015.1089789). e is the ratio of Welch's standard error to the bootstrap's, and t has
    Welch's degrees of freedom. A normal error makes up for a sample that varies less than its
    measurement. With fewer than ten seeds on either side, or 20 pairs, it is the hull of this interval
    and Welch's; below five it is Welch's.
    """
    estimate = standard_error(samples)
    closed = t_interval(estimate, level=level)
    low, high = closed.low.copy(), closed.high.copy()
    enough = _ENOUGH_PAIRS if samples.paired else _ENOUGH_FOR_BOOTSTRAP_ALONE
    for group in samples.groups(at_least=FEWEST_FOR_BOOTSTRAP):
        index = group.index
        sides = smoothing(group.first, group.floor[:, 0]), smoothing(group.second, group.floor[:, 1])
        (one, smear), (two, another) = sides
        own = np.sqrt(one + two)
        expansion = quotient(estimate.error[index], own, 1.0)
        tail = special.ndtr(-expansion * quantile(estimate.freedom[index], level))
        # The smaller one first, so that swapped sides have the same bits.
        smear = np.hypot(np.minimum(smear, another), np.maximum(smear, another))
        errors = _error_quantiles(group, smear, tail)
        bounds = closed.difference[index] + errors[0], closed.difference[index] + errors[1]
        if min(group.first.shape[1], group.second.shape[1]) < enough:
            bounds = np.minimum(bounds[0], low[index]), np.maximum(bounds[1], high[index])
        low[index], high[index] = bounds
    return Intervals(difference=closed.difference, low=low, high=high)


def orientation(first: Floats, second: Floats) -> Floats:
    """Return 1 where the sides are to be exchanged, 0 where they are equal, else -1; takes residuals."""
    # Rounding and random draws would depend on the order of the sides. So the data fix it: the side with
    # fewer seeds first, else the one whose first differing residual is smaller.
    if first.shape[1] != second.shape[1]:
        return np.full(len(first), 1.0 if first.shape[1] > second.shape[1] else -1.0)
    difference = np.sign(first - second)
    leading = np.argmax(difference != 0, axis=1)
    return np.take_along_axis(difference, leading[:, np.newaxis], axis=1)[:, 0]


def exchanged(first: Floats, second: Floats, where: Booleans) -> tuple[Floats, Floats]:
    """Return both sides, exchanged in some shapes; in all or none if one side has more seeds."""
    if first.shape[1] != second.shape[1]:
        return (second, first) if where.all() else (first, second)
    turned = where[:, np.newaxis]
    return np.where(turned, second, first), np.where(turned, first, second)


def smoothing(samples: Floats, floor: Floats) -> tuple[Floats, Floats]:
    """Return the variance of the bootstrap mean of one side, and the smear that is part of it.

    The smear is the standard deviation of a normal error, which allows for a measurement variance above the
    seeds' own. It is 0 for the plain bootstrap.
    """
    n = samples.shape[1]
    variance = moments(samples).variance
    lacking = floored(variance, floor) - variance
    return (variance * (n - 1) / n + lacking) / n, np.sqrt(lacking / n)


def _error_quantiles(group: Group, smear: Floats, tail: Floats) -> tuple[Floats, Floats]:
    """Return the lower and upper quantile of (bootstrap difference - observed difference).

    ``tail`` is the probability below the lower one, and above the upper one. A finer grid moves the bounds by
    0.01 % of the interval's width, or by 0.4 % with heavy ties.
    """
    first, second = residuals(group.first), residuals(group.second)
    turn = orientation(first, second)
    first, second = exchanged(first, second, turn > 0)
    # A power of two in proportion to the seeds.
    cells = max(_CELLS, 1 << (_CELLS_PER_SEED * (first.shape[1] + second.shape[1]) - 1).bit_length())
    step = max(1, _ELEMENTS // cells)  # a block of shapes that stays in the cache
    blocks = (slice(start, start + step) for start in range(0, len(tail), step))
    ends = [_ends(first[rows], second[rows], smear[rows], tail[rows], cells) for rows in blocks]
    low, high = np.concatenate(ends, axis=1)
    # Turned back to the sides as given, and symmetric where both sides are the same.
    even = (high - low) / 2
    low, high = np.where(turn == 0, -even, low), np.where(turn == 0, even, high)
    return np.where(turn > 0, -high, low), np.where(turn > 0, -low, high)


@np.errstate(under="ignore")  # whatever the caller has set: tiny factors are zero
def _ends(first: Floats, second: Floats, smear: Floats, tail: Floats, cells: int) -> Floats:
    """Return both quantiles of some shapes, shape (2, shapes), from their distributions on a grid."""
    seeds = first.shape[1] + second.shape[1]
    origin = first[:, 0] - second[:, -1] - _REACH * smear
    support = np.ptp(first, axis=1) + np.ptp(second, axis=1) + 2 * _REACH * smear
    # The transform is circular. Free cells take what rounding to the grid adds, so nothing wraps around.
    step = np.where(support > 0, support, 1.0) / (cells - 2 * seeds)
    spectrum = _power(_transform(first - first[:, :1], step, cells), first.shape[1])
    spectrum *= _power(_transform(second[:, -1:] - second, step, cells), second.shape[1])
    if smear.any():  # the transform of a normal distribution around _REACH standard deviations
        phase = np.outer(smear / step, 2 * np.pi / cells * np.arange(cells // 2 + 1))
        spectrum *= np.exp(-0.5 * phase**2 - 1j * _REACH * phase)
    # Rounding leaves tiny negative masses, with which the cumulated mass would not ascend.
    mass = np.maximum(fft.irfft(spectrum, cells, axis=1), 0.0)
    # Each tail is summed from its own end: small sums round less, and mirrored samples get mirrored bounds.
    position = np.stack([_cell(mass, tail), cells - 1 - _cell(mass[:, ::-1], tail)])
    return np.where(support > 0, origin + step * position, 0.0)


def _transform(values: Floats, step: Floats, cells: int) -> Floats:
    """Return the Fourier transform of one draw's share of the mean, on the grid."""
    members, n = values.shape
    position = values / (n * step[:, np.newaxis])
    cell = np.floor(position)
    # A value between two cells is split among both, which keeps the mean exactly.
    share = position - cell
    flat = (cell + cells * np.arange(members)[:, np.newaxis]).astype(np.int64).ravel()
    size = members * cells
    mass = np.bincount(flat, weights=(1 - share).ravel() / n, minlength=size)
    mass += np.bincount(flat + 1, weights=share.ravel() / n, minlength=size)
    return fft.rfft(mass.reshape(members, cells), axis=1)


def _power(values: Floats, exponent: int) -> Floats:
    """Return an integer power by squaring. NumPy's own goes through logarithms of complex numbers."""
    result = np.ones_like(values)
    while exponent:
        if exponent & 1:
            result = result * values
        values = values * values
        exponent >>= 1
    return result


def _cell(mass: Floats, tail: Floats) -> Floats:
    """Return where the cumulated mass reaches the tail, in cells. A cell's mass is spread evenly over it."""
    cumulated = np.cumsum(mass, axis=1)
    cell = np.minimum(np.count_nonzero(cumulated < tail[:, np.newaxis], axis=1), mass.shape[1] - 1)
    own = np.take_along_axis(mass, cell[:, np.newaxis], axis=1)[:, 0]
    reached = np.take_along_axis(cumulated, cell[:, np.newaxis], axis=1)[:, 0]
    return cell + 0.5 - (reached - tail) / np.where(own > 0, own, 1.0)
