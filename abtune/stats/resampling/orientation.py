"""An order of the two sides that the data fix, so that exchanging the sides negates a result bit for bit.

A resampling method computes in this order and turns its result back. Otherwise rounding, or the random
numbers of each side, would depend on which side is called first.
"""

from __future__ import annotations

import numpy as np

from abtune.stats.two_sample import Floats


def residuals(samples: Floats) -> Floats:
    """Return deviations from the mean; exactly zero for a constant sample."""
    constant = samples[:, :1] == samples[:, -1:]
    residuals: Floats = np.where(constant, 0.0, samples - samples.mean(axis=1, keepdims=True))
    return residuals


def orientation(first: Floats, second: Floats) -> Floats:
    """Return 1 where the sides are to be exchanged, 0 where they are equal, else -1.

    Parameters
    ----------
    first, second : ndarray, shape (members, seeds)
        Residuals in ascending order.
    """
    if first.shape[1] != second.shape[1]:
        return np.full(len(first), 1.0 if first.shape[1] > second.shape[1] else -1.0)
    difference = np.sign(first - second)
    leading = np.argmax(difference != 0, axis=1)
    sign: Floats = np.take_along_axis(difference, leading[:, np.newaxis], axis=1)[:, 0]
    return sign


def oriented_ends(low: Floats, high: Floats, turn: Floats) -> tuple[Floats, Floats]:
    """Return quantiles turned back to the sides as they were given.

    Parameters
    ----------
    low, high : ndarray, shape (members,)
        Quantiles in the orientation that the data fix.
    turn : ndarray, shape (members,)
        As :func:`orientation` returns it. Where both sides are the same, the distribution is symmetric.
    """
    even = (high - low) / 2
    low, high = np.where(turn == 0, -even, low), np.where(turn == 0, even, high)
    return np.where(turn > 0, -high, low), np.where(turn > 0, -low, high)
