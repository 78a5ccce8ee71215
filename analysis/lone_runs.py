"""Simulated tables with one run a cell: their shapes together, and with noise learnt from other sweeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from stats_noise import Array, Noise, lognormal, skewed

from abtune.stats.interval import Interval
from abtune.stats.shape_sample import signed_rank, student
from abtune.stats.single_run import LentVariance, lend_variance, predictive_interval

SHAPES, LEVEL = 29, 0.95
# Noise of standard deviation 1, which each shape scales by its own.
UNIT_NOISE: dict[str, Noise] = {"normal": lognormal(1.0), "exponential": skewed(1, 1.0)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Shares of intervals that hold the truth: of all, of the noisiest fifth, and of whole tables at once."""

    every: float
    noisiest: float
    together: float


def predictive_coverage(
    noise: Noise,
    spread: float,
    *,
    lenders: int,
    seeds: int,
    known: bool,
    replications: int,
    rng: np.random.Generator,
    interval: Callable[..., Interval] = predictive_interval,
) -> Coverage:
    """Simulate tables without boosts whose shapes differ in their noise, alike on both sides.

    ``spread`` is the standard deviation of the log of a shape's noise; ``known`` says whether the other
    sweep has the shapes of the table.
    """
    found = []
    for _ in range(replications):
        scale = np.exp(rng.normal(0, spread, lenders))
        sides = [_lend(noise(rng, (lenders, seeds)) * scale[:, np.newaxis], known=known) for _ in range(2)]
        own = scale if known else np.exp(rng.normal(0, spread, SHAPES))
        ratio = own * (noise(rng, own.shape) - noise(rng, own.shape))
        held = [
            np.abs(ratio) <= borrowed.high - borrowed.difference
            for borrowed in (
                interval(ratio, *sides, level=level) for level in (LEVEL, 1 - (1 - LEVEL) / len(own))
            )
        ]
        noisiest = np.argsort(own)[-max(len(own) // 5, 1) :]
        found.append((held[0].mean(), held[0][noisiest].mean(), held[1].all()))
    every, worst, together = np.mean(found, axis=0)
    return Coverage(every=float(every), noisiest=float(worst), together=float(together))


def _lend(values: Array, *, known: bool) -> LentVariance:
    shapes, seeds = values.shape
    place = np.arange(shapes) if known else np.full(SHAPES, -1)
    return lend_variance(values.var(axis=1, ddof=1), np.full(shapes, seeds - 1), place)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapesCovered:
    """Coverage of intervals over shapes: of the mean of many shapes, by ranks likewise, of these shapes."""

    student: float
    ranks: float
    these: float


def shapes_covered(kind: str, spread: float, *, replications: int) -> ShapesCovered:
    """Simulate tables of shapes whose true log boosts have this distribution, with 3 % search noise."""
    rng, centre = np.random.default_rng([10, round(100 * spread)]), 0.1
    held = np.zeros(3)
    for _ in range(replications):
        true = centre + spread * UNIT_NOISE[kind](rng, (SHAPES,))
        found = true + rng.normal(0, 0.03 * np.sqrt(2), SHAPES)
        mean, typical = student(found, level=LEVEL), signed_rank(found, level=LEVEL)
        held += [
            mean.low <= centre <= mean.high,
            typical.low <= centre <= typical.high,
            mean.low <= true.mean() <= mean.high,
        ]
    return ShapesCovered(**dict(zip(("student", "ranks", "these"), held / replications, strict=True)))
