"""Simulated sweeps with the noise of a dataset, judged as an analysis judges.

Values are drawn from the seeds of each side around their mean. They are smoothed, because ten points look
more skewed and uneven than their distribution. The simulation lacks a failure mode that no seed has.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from scipy import special

from abtune.compare.compare import evidence_of
from abtune.compare.gates import judge
from abtune.compare.results import Comparison
from abtune.compare.settings import Settings
from abtune.compare.statistics import compute
from abtune.samples import Samples, extract_both, keep_best, what_varies
from abtune.stats.estimand import Estimand
from abtune.stats.moderated import moderate
from abtune.stats.two_sample import Floats

_STEPS = 100  # of the normal kernel, where the expected best of k is computed


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """A distribution of seeds around a mean of zero: a smoothed bootstrap."""

    residuals: Floats
    width: float  # standard deviation of the normal kernel around each residual
    n: int  # seeds of a sweep

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        """Return independent values."""
        return rng.choice(self.residuals, shape) + self.width * rng.standard_normal(shape)

    def typical(self, estimand: Estimand) -> float:
        """Return the log of the quantity that the estimand compares: a mean or an expected best."""
        if estimand is Estimand.GEOMETRIC_MEAN:
            return 0.0
        # Each residual is spread over 100 equally likely points of its kernel.
        steps = special.ndtri((np.arange(_STEPS) + 0.5) / _STEPS)
        values = np.sort(np.add.outer(self.residuals, self.width * steps).ravel())
        # The chance that all searches lie above this number of values.
        above = np.linspace(1, 0, len(values) + 1) ** estimand.searches
        return float(-np.diff(above) @ values)


def noise_pools(side: Samples) -> list[Pool]:
    """Return a pool per shape: all shapes share one form, and their spreads are drawn towards each other."""
    # Ten seeds do not determine the tails of the noise: simulated from the seeds of each shape alone, whole
    # reports have too many false alarms (docs/statistics.md).
    known = [row[~np.isnan(row)] for row in side.value]
    scaled = [(row - row.mean()) / own for row, own in zip(known, side.noise, strict=True) if own > 0]
    # The empty array stands for no shape that varies: an empty list cannot be concatenated.
    form, width = _smoothed(np.concatenate([np.zeros(0), *scaled]))
    variance = moderate(side.noise**2, side.n - 1)
    spread = np.where(side.noise > 0, np.sqrt(variance), 0.0)
    return [
        Pool(residuals=form * scale, width=width * scale, n=len(row))
        for row, scale in zip(known, spread.tolist(), strict=True)
    ]


def _smoothed(residuals: Floats) -> tuple[Floats, float]:
    """Return residuals and a kernel width whose smoothed bootstrap has a standard deviation of one."""
    # 0.9 min(s, IQR/1.34) n^(-1/5) keeps two modes apart. Shrinking keeps the variance (Silverman and Young
    # 1987, DOI 10.1093/biomet/74.3.469).
    if not len(residuals):  # no shape varies
        return np.zeros(1), 0.0
    quarters = np.quantile(residuals, (0.25, 0.75))
    width = 0.9 * min(1.0, float(quarters[1] - quarters[0]) / 1.34) * len(residuals) ** -0.2
    shrunk = math.sqrt(1 / ((residuals**2).mean() + width**2))
    return residuals * shrunk, width * shrunk


def simulate(
    dataset: xr.Dataset, settings: Settings, boosts: Sequence[float], replications: int
) -> Iterator[list[list[Comparison]]]:
    """Yield simulated sweeps with the same noise at each true boost: every shape as it is judged."""
    rng = np.random.default_rng(settings.rng_seed)
    sides = extract_both(dataset, settings.baseline, settings.candidate)
    baseline, candidate = (
        _draw(noise_pools(side), settings.estimand, replications, rng) for side in what_varies(*sides)
    )
    for first, second in zip(baseline, candidate, strict=True):
        rows, tails = [], None
        for boost in boosts:
            drawn = replace(sides[0], value=first + math.log1p(boost)), replace(sides[1], value=second)
            kept = keep_best(drawn, settings.estimand)
            # The resamples are of the noise, so they are the same at all boosts.
            statistics = compute(kept, settings, known=tails, bounds=False)
            tails = statistics.tails
            rows.append([judge(row, settings) for row in evidence_of(dataset, kept, statistics, None)])
        yield rows


def _draw(pools: Sequence[Pool], estimand: Estimand, replications: int, rng: np.random.Generator) -> Floats:
    """Return seeds of one side, shape (replications, shapes, seeds)."""
    values = np.full((replications, len(pools), max(pool.n for pool in pools)), np.nan)
    for shape, pool in enumerate(pools):
        # So the simulated truth is exactly the shift, for every estimand.
        values[:, shape, : pool.n] = pool.draw((replications, pool.n), rng) - pool.typical(estimand)
    return values
