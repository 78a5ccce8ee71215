"""Kinds of series of timings of one process, with mean zero and noise of unit standard deviation."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from noise_kinds import Array, Noise


def autoregressive(correlation: float) -> Noise:
    """Return series in which each value keeps this share of the one before, long after their start."""
    from scipy.signal import lfilter  # it imports scipy.stats, which takes half a second

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        shocks = rng.standard_normal((*shape[:-1], shape[-1] + 200))
        series: Array = lfilter([np.sqrt(1 - correlation**2)], [1.0, -correlation], shocks)[..., 200:]
        return series

    return draw


def periodic(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return series in which every eighth timing is slower by four standard deviations."""
    start = rng.integers(0, 8, (*shape[:-1], 1))
    slow = (np.arange(shape[-1]) + start) % 8 == 0
    return np.where(slow, 3.5, -0.5) + rng.standard_normal(shape)


def spikes(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return series in which one timing in twenty is slower, by eight standard deviations on average."""
    slower = np.where(rng.random(shape) < 0.05, rng.exponential(8.0, shape), 0.0)
    return slower - 0.4 + rng.standard_normal(shape)


def skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return independent exponential timings above a floor, as quiet machines give them."""
    return rng.exponential(1.0, shape) - 1.0


def drifting(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return series that slow down by two standard deviations from the first timing to the last."""
    return np.linspace(-1.0, 1.0, shape[-1]) + rng.standard_normal(shape)


def shifted(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return series that slow down by two standard deviations at once, in the middle."""
    return np.where(np.arange(shape[-1]) < shape[-1] // 2, -1.0, 1.0) + rng.standard_normal(shape)


SERIES: Mapping[str, Noise] = {
    "independent": autoregressive(0.0),
    "independent, skewed": skewed,
    "autoregression .3": autoregressive(0.3),
    "autoregression .6": autoregressive(0.6),
    "autoregression .9": autoregressive(0.9),
    "every 8th slower": periodic,
    "spikes, 1 in 20": spikes,
    "drift": drifting,
    "shift": shifted,
}
