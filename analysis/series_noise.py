"""Kinds of series that timings of one process are, with mean zero and noise of unit spread."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.signal import lfilter
from stats_noise import Array, Noise


def autoregressive(correlation: float) -> Noise:
    """Each value takes over this share of the one before; started long before the first."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        shocks = rng.standard_normal((*shape[:-1], shape[-1] + 200))
        series: Array = lfilter([np.sqrt(1 - correlation**2)], [1.0, -correlation], shocks)[..., 200:]
        return series

    return draw


def periodic(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Every eighth timing is slower by four standard deviations, the first of them anywhere."""
    start = rng.integers(0, 8, (*shape[:-1], 1))
    slow = (np.arange(shape[-1]) + start) % 8 == 0
    return np.where(slow, 3.5, -0.5) + rng.standard_normal(shape)


def spikes(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """One timing in twenty is slower by an exponential time of eight standard deviations in the mean."""
    slower = np.where(rng.random(shape) < 0.05, rng.exponential(8.0, shape), 0.0)
    return slower - 0.4 + rng.standard_normal(shape)


def skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Independent timings above a floor, as those of quiet machines are: exponential."""
    return rng.exponential(1.0, shape) - 1.0


def drifting(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Slow down by two standard deviations from the first timing to the last."""
    return np.linspace(-1.0, 1.0, shape[-1]) + rng.standard_normal(shape)


def shifted(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Slow down by two standard deviations at one moment, in the middle."""
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
