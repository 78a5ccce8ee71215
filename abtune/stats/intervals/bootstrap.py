"""The bootstrap distribution of a difference of means, computed instead of sampled.

A replicate of a mean is a sum of independent draws. Its distribution is a convolution power, which the
Fourier transform gives. There is no resampling noise.
"""

from __future__ import annotations

import numpy as np
from scipy import fft

from abtune.stats.two_sample import Booleans, Floats, Group
from abtune.stats.variance import floored, moments, residuals


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


def oriented_ends(low: Floats, high: Floats, turn: Floats) -> tuple[Floats, Floats]:
    """Return quantiles turned back to the sides as given; symmetric where both sides are the same."""
    even = (high - low) / 2
    low, high = np.where(turn == 0, -even, low), np.where(turn == 0, even, high)
    return np.where(turn > 0, -high, low), np.where(turn > 0, -low, high)


# The grid of a distribution: at least this many cells, or this many for each seed.
_CELLS = 2048
_CELLS_PER_SEED = 128
# Values of the arrays of a block of shapes: 4 MiB.
_ELEMENTS = 1 << 19
# A normal distribution has some 1e-15 of its mass beyond this number of standard deviations.
_REACH = 8.0


def smoothing(samples: Floats, floor: Floats) -> tuple[Floats, Floats]:
    """Return the variance of the bootstrap mean of one side, and the smear that is part of it.

    The smear is the standard deviation of a normal error, which allows for a measurement variance above the
    seeds' own. It is 0 for the plain bootstrap.
    """
    n = samples.shape[1]
    variance = moments(samples).variance
    lacking = floored(variance, floor) - variance
    return (variance * (n - 1) / n + lacking) / n, np.sqrt(lacking / n)


def both_smoothings(group: Group) -> tuple[Floats, Floats]:
    """Return the variances and the smears of both sides of a group, each of shape (2, members)."""
    sides = smoothing(group.first, group.floor[:, 0]), smoothing(group.second, group.floor[:, 1])
    variances, smears = np.stack(sides, axis=1)
    return variances, smears


def error_quantiles(group: Group, tails: Floats) -> tuple[Floats, Floats]:
    """Return the lower and upper quantile of (bootstrap difference - observed difference).

    ``tails``, shape (members, 2), is the probability below the lower and above the upper one. A finer
    grid moves the bounds by 0.01 % of the interval's width, or by 0.4 % with heavy ties.
    """
    first, second = residuals(group.first), residuals(group.second)
    turn = orientation(first, second)
    first, second = exchanged(first, second, turn > 0)
    tails = np.where((turn > 0)[:, np.newaxis], tails[:, ::-1], tails)
    _, smears = both_smoothings(group)
    # The smaller one first, so that swapped sides have the same bits.
    smear = np.hypot(np.minimum(*smears), np.maximum(*smears))
    # A power of two in proportion to the seeds.
    cells = max(_CELLS, 1 << (_CELLS_PER_SEED * (first.shape[1] + second.shape[1]) - 1).bit_length())
    step = max(1, _ELEMENTS // cells)  # a block of shapes that stays in the cache
    blocks = (slice(start, start + step) for start in range(0, len(tails), step))
    ends = [_ends(first[rows], second[rows], smear[rows], tails[rows], cells) for rows in blocks]
    low, high = np.concatenate(ends, axis=1)
    return oriented_ends(low, high, turn)


def _ends(first: Floats, second: Floats, smear: Floats, tails: Floats, cells: int) -> Floats:
    """Return both quantiles of some shapes, shape (2, shapes), from their distributions on a grid.

    Its transform is that of both samples, to the powers of their sizes, multiplied.
    """
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
    position = np.stack([_cell(mass, tails[:, 0]), cells - 1 - _cell(mass[:, ::-1], tails[:, 1])])
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
    result: Floats | None = None
    while exponent:
        if exponent & 1:
            result = values if result is None else result * values
        exponent >>= 1
        if exponent:
            values = values * values
    assert result is not None  # noqa: S101  # samples are never empty
    return result


def _cell(mass: Floats, tail: Floats) -> Floats:
    """Return where the cumulated mass reaches the tail, in cells. A cell's mass is spread evenly over it."""
    cumulated = np.cumsum(mass, axis=1)
    cell = np.minimum(np.count_nonzero(cumulated < tail[:, np.newaxis], axis=1), mass.shape[1] - 1)
    own = np.take_along_axis(mass, cell[:, np.newaxis], axis=1)[:, 0]
    reached = np.take_along_axis(cumulated, cell[:, np.newaxis], axis=1)[:, 0]
    return cell + 0.5 - (reached - tail) / np.where(own > 0, own, 1.0)
