"""Simulated tables with one run per cell: intervals over their shapes, and with noise from other sweeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from noise_kinds import Array, Noise, lognormal, skewed

from abtune.stats.across_shapes import student
from abtune.stats.estimates import Interval
from abtune.stats.moderated import LentVariance, lend_variance, predictive_interval

SHAPES, LEVEL = 29, 0.95
# Noise of standard deviation 1, which each shape scales by its own.
UNIT_NOISE: dict[str, Noise] = {"normal": lognormal(1.0), "exponential": skewed(1, 1.0)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lender:
    """A sweep that lends its noise; ``known`` says whether the table has the same shapes."""

    shapes: int
    seeds: int
    known: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Shares of intervals that include the truth."""

    every: float
    noisiest: float  # of the noisiest fifth of the shapes
    all_shapes: float  # of tables in which every interval does, at a level divided by the number of shapes


def predictive_coverage(
    noise: Noise,
    spread: float,
    lender: Lender,
    *,
    replications: int,
    rng: np.random.Generator,
    interval: Callable[..., Interval] = predictive_interval,
) -> Coverage:
    """Return the coverage of intervals with borrowed noise, in simulated tables without boosts.

    ``noise`` has standard deviation 1; each shape scales it, with ``spread`` the standard deviation of the
    log.
    """
    covered = []
    for _ in range(replications):
        scale = np.exp(rng.normal(0, spread, lender.shapes))
        sides = [
            _lend(noise(rng, (lender.shapes, lender.seeds)) * scale[:, np.newaxis], known=lender.known)
            for _ in range(2)
        ]
        own = scale if lender.known else np.exp(rng.normal(0, spread, SHAPES))
        ratio = own * (noise(rng, own.shape) - noise(rng, own.shape))
        covers = [
            np.abs(ratio) <= borrowed.high - borrowed.difference
            for borrowed in (
                interval(ratio, *sides, level=level) for level in (LEVEL, 1 - (1 - LEVEL) / len(own))
            )
        ]
        noisiest = np.argsort(own)[-max(len(own) // 5, 1) :]
        covered.append((covers[0].mean(), covers[0][noisiest].mean(), covers[1].all()))
    every, worst, all_shapes = np.mean(covered, axis=0)
    return Coverage(every=float(every), noisiest=float(worst), all_shapes=float(all_shapes))


def _lend(values: Array, *, known: bool) -> LentVariance:
    shapes, seeds = values.shape
    position = np.arange(shapes) if known else np.full(SHAPES, -1)
    return lend_variance(values.var(axis=1, ddof=1), np.full(shapes, seeds - 1), position)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapesCovered:
    """Coverage of intervals over shapes."""

    student: float  # of the mean over a population of shapes, by Student's t
    these: float  # of the mean over exactly these shapes, by Student's t


def shapes_covered(kind: str, spread: float, *, replications: int) -> ShapesCovered:
    """Return the coverage of intervals over shapes, in simulated tables with 3 % search noise.

    ``kind`` is the distribution of the true log boosts, a name of ``UNIT_NOISE``; ``spread`` its standard
    deviation.
    """
    rng, centre = np.random.default_rng([10, round(100 * spread)]), 0.1
    covered = np.zeros(2)
    for _ in range(replications):
        true = centre + spread * UNIT_NOISE[kind](rng, (SHAPES,))
        observed = true + rng.normal(0, 0.03 * np.sqrt(2), SHAPES)
        mean = student(observed, level=LEVEL)
        covered += [
            mean.low <= centre <= mean.high,
            mean.low <= true.mean() <= mean.high,
        ]
    return ShapesCovered(**dict(zip(("student", "these"), covered / replications, strict=True)))
