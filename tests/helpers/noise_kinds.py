"""Kinds of search noise with mean zero on logs: what tuners show, and what makes methods fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Noise = Callable[[np.random.Generator, tuple[int, ...]], Array]


def lognormal(spread: float) -> Noise:
    """Return normal noise of logs with this standard deviation."""
    return lambda rng, shape: rng.normal(0, spread, shape)


def skewed(shape_parameter: float, scale: float) -> Noise:
    """Return gamma noise with mean zero: most searches end near the best, few far from it."""
    return lambda rng, shape: rng.gamma(shape_parameter, scale, shape) - shape_parameter * scale


def bimodal(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return noise in which one search in five misses the fast schedule and is 10 % slower."""
    slow = np.where(rng.random(shape) < 0.2, np.log(1.1), 0.0)
    drawn: Array = slow - 0.2 * np.log(1.1) + rng.normal(0, 0.005, shape)
    return drawn


def tied(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return noise with four values: each search finds one of four schedules."""
    values, share = np.log1p([0.0, 0.01, 0.03, 0.08]), np.array([0.4, 0.3, 0.2, 0.1])
    drawn: Array = rng.choice(values, size=shape, p=share) - values @ share
    return drawn


# Kinds that both sides share.
ALIKE: Mapping[str, Noise] = {
    "lognormal 2 %": lognormal(0.02),
    "lognormal 8 %": lognormal(0.08),
    "exponential": skewed(1, 0.04),
    "gamma": skewed(2, 0.03),
    "bimodal": bimodal,
    "tied": tied,
}
