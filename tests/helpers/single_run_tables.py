"""Simulated tables with one run per cell: intervals over their shapes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from noise_kinds import Noise, lognormal, skewed

from abtune.stats.across_shapes import student

SHAPES, LEVEL = 29, 0.95
# Noise of standard deviation 1, which each shape scales by its own.
UNIT_NOISE: dict[str, Noise] = {"normal": lognormal(1.0), "exponential": skewed(1, 1.0)}


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
