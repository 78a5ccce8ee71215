"""Intervals by name: which there are, what they are for, and how often they hold the truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from abtune.stats import interval as closed
from abtune.stats.estimand import Estimand, linearised
from abtune.stats.interval import Interval
from abtune.stats.inversion import permutation_inversion
from abtune.stats.medians import median_percentile, price_bonett
from abtune.stats.percentile import bca, percentile
from abtune.stats.ragged import Floats
from abtune.stats.studentised import bootstrap_t

_Compute = Callable[[Floats, Floats, float, Floats, np.random.Generator], Interval]
SEEDS = (5, 10, 20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A way to make an interval.

    Attributes
    ----------
    words : str
        What it is; the braces stand for what it is of, see :func:`in_words`.
    coverage : tuple of float
        Simulated coverage of nominal 95 % at 5, 10 and 20 seeds a side, mean over six kinds of noise that
        both sides share; ``analysis/calibrate_methods.py`` makes these numbers anew.
    keeps_its_promise : bool
        Whether that is close enough to 95 % to go without a word.
    compute : callable
        Takes both samples, level, floor and generator.
    """

    words: str
    coverage: tuple[float, float, float]
    keeps_its_promise: bool
    compute: _Compute


MEANS: Mapping[str, Method] = MappingProxyType(
    {
        "expanded-percentile": Method(
            words="expanded percentile bootstrap of {}, with Welch's t below 10 seeds a side",
            coverage=(0.972, 0.949, 0.948),
            keeps_its_promise=True,
            compute=lambda x, y, level, floor, _: closed.expanded_percentile(x, y, level=level, floor=floor),
        ),
        "bootstrap-t": Method(
            words="bootstrap-t of {}",
            coverage=(0.968, 0.941, 0.940),
            keeps_its_promise=True,
            compute=lambda x, y, level, floor, rng: bootstrap_t(
                x, y, level=level, floor=floor, rng=rng, symmetric=False
            ),
        ),
        "symmetric-bootstrap-t": Method(
            words="symmetric bootstrap-t of {}",
            coverage=(0.983, 0.969, 0.957),
            keeps_its_promise=True,
            compute=lambda x, y, level, floor, rng: bootstrap_t(
                x, y, level=level, floor=floor, rng=rng, symmetric=True
            ),
        ),
        "percentile": Method(
            words="percentile bootstrap of {}",
            coverage=(0.865, 0.915, 0.932),
            keeps_its_promise=False,
            compute=lambda x, y, level, floor, _: percentile(x, y, level=level, floor=floor),
        ),
        "bca": Method(
            words="BCa bootstrap of {}",
            coverage=(0.850, 0.897, 0.924),
            keeps_its_promise=False,
            compute=lambda x, y, level, floor, _: bca(x, y, level=level, floor=floor),
        ),
        "welch": Method(
            words="Welch's t of {}",
            coverage=(0.970, 0.962, 0.952),
            keeps_its_promise=True,
            compute=lambda x, y, level, floor, _: closed.welch(x, y, level=level, floor=floor),
        ),
        "permutation": Method(
            words="inverted permutation test of {}",
            coverage=(0.954, 0.954, 0.948),
            keeps_its_promise=True,
            compute=lambda x, y, level, floor, rng: permutation_inversion(
                x, y, level=level, floor=floor, rng=rng
            ),
        ),
    }
)
MEDIANS: Mapping[str, Method] = MappingProxyType(
    {
        "percentile": Method(
            words="percentile bootstrap of {}",
            coverage=(0.970, 0.971, 0.969),
            keeps_its_promise=True,
            compute=lambda x, y, level, floor, _: median_percentile(x, y, level=level, floor=floor),
        ),
        "price-bonett": Method(
            words="Price-Bonett's normal interval of {}",
            coverage=(0.946, 0.968, 0.954),
            keeps_its_promise=True,
            compute=lambda x, y, level, floor, _: price_bonett(x, y, level=level, floor=floor),
        ),
    }
)
WHAT: Mapping[Estimand, str] = MappingProxyType(
    {
        Estimand.GEOMETRIC_MEAN: "mean log latency",
        Estimand.ARITHMETIC_MEAN: "mean latency",
        Estimand.MEDIAN: "median latency",
    }
)


def methods_for(estimand: Estimand) -> Mapping[str, Method]:
    """Return the intervals of an estimand by name, the default first."""
    return MEDIANS if estimand is Estimand.MEDIAN else MEANS


def in_words(name: str, estimand: Estimand) -> str:
    """Return what the interval of this name is, and of what.

    Parameters
    ----------
    name : str
        One of :func:`methods_for` the estimand.
    estimand : Estimand
        Whose log ratio the interval is of.
    """
    return methods_for(estimand)[name].words.format(WHAT[estimand])


def compute_interval(
    name: str,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    estimand: Estimand,
    level: float,
    floor: npt.ArrayLike,
    rng: np.random.Generator,
) -> Interval:
    """Compute the interval of this name for all shapes.

    Parameters
    ----------
    name : str
        One of :func:`methods_for` the estimand.
    first, second : array_like, shape (shapes, seeds)
        Samples, padded with NaN; log seconds.
    estimand : Estimand
        Whose log ratio the interval is of.
    level : float
        Confidence level, a fraction.
    floor : array_like, shape (shapes, 2)
        Measurement variance of a seed value of each side; NaN where unknown.
    rng : numpy.random.Generator
        For the methods that resample.
    """
    method = methods_for(estimand)[name]
    pair = [np.asarray(side, dtype=np.float64) for side in (first, second)]
    if estimand is not Estimand.MEDIAN:
        pair = [linearised(side, estimand) for side in pair]
    return method.compute(pair[0], pair[1], level, np.asarray(floor, dtype=np.float64), rng)


def coverage_at(method: Method, n: int) -> tuple[int, float]:
    """Return the largest simulated number of seeds up to n (at least 5), and the coverage there."""
    place = max((i for i, seeds in enumerate(SEEDS) if seeds <= n), default=0)
    return SEEDS[place], method.coverage[place]
