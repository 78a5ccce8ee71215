"""Kinds of search noise with mean zero on logs: what tuners show, and what breaks methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Noise = Callable[[np.random.Generator, tuple[int, ...]], Array]


def lognormal(spread: float) -> Noise:
    """Draw normal logs of this standard deviation."""
    return lambda rng, shape: rng.normal(0, spread, shape)


def skewed(shape_parameter: float, scale: float) -> Noise:
    """Draw gamma variables, moved to mean zero: most searches end near the best, few far from it."""
    return lambda rng, shape: rng.gamma(shape_parameter, scale, shape) - shape_parameter * scale


def bimodal(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """One search in five fails to find the fast schedule and is 10 % slower."""
    slow = np.where(rng.random(shape) < 0.2, np.log(1.1), 0.0)
    return slow - 0.2 * np.log(1.1) + rng.normal(0, 0.005, shape)


def tied(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Four schedules, one of which each search finds."""
    values, share = np.log1p([0.0, 0.01, 0.03, 0.08]), np.array([0.4, 0.3, 0.2, 0.1])
    return rng.choice(values, size=shape, p=share) - values @ share


ALIKE: Mapping[str, Noise] = {
    "lognormal 2 %": lognormal(0.02),
    "lognormal 8 %": lognormal(0.08),
    "exponential": skewed(1, 0.04),
    "gamma": skewed(2, 0.03),
    "bimodal": bimodal,
    "tied": tied,
}


def unknown_floor(shapes: int) -> Array:
    """Floors of samples whose measurement variance nobody knows."""
    return np.full((shapes, 2), np.nan)
