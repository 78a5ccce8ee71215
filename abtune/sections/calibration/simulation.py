"""Simulated sweeps with the noise of a dataset, judged as an analysis judges.

Values are drawn from the seeds of each side around their mean. They are smoothed, because ten points look
more skewed and uneven than their distribution. The simulation lacks a failure mode that no seed has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from abtune.compare.gates import differs
from abtune.compare.settings import Settings
from abtune.compare.statistics import Tests, run_tests
from abtune.samples import Samples
from abtune.stats.estimand import Estimand
from abtune.stats.moderated import moderate
from abtune.stats.two_sample import Floats, Integers, TwoSample
from abtune.stats.variance import best_of

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


def noise_pools(side: Samples, shapes: Integers) -> list[Pool]:
    """Return a pool per shape: all shapes share one form, and their spreads are drawn towards each other."""
    # Ten seeds do not determine the tails of the noise: simulated from the seeds of each shape alone, whole
    # reports have too many false alarms (docs/statistics.md).
    noise = side.noise[shapes]
    known = [row[~np.isnan(row)] for row in side.value[shapes]]
    scaled = [(row - row.mean()) / own for row, own in zip(known, noise, strict=True) if own > 0]
    # The empty array stands for no shape that varies: an empty list cannot be concatenated.
    form, width = _smoothed(np.concatenate([np.zeros(0), *scaled]))
    variance = moderate(noise**2, side.n[shapes] - 1)
    spread = np.where(noise > 0, np.sqrt(variance), 0.0)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedRates:
    """Shares of the simulated sweeps at one true boost; arrays over shapes."""

    covered: Floats  # the interval includes the true boost
    alone: Floats  # a difference is called, without the correction
    called: Floats
    equivalent: Floats
    any_called: float  # share of sweeps in which some difference is called


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """Sweeps drawn from pools and judged with chosen methods."""

    pools: Sequence[Sequence[Pool]]  # of both sides
    floor: Floats
    settings: Settings
    replications: int

    def run(self, boost: float, rng: np.random.Generator) -> SimulatedRates:
        """Return rates of simulated sweeps in which every shape has this true boost."""
        truth = math.log1p(boost)
        drawn = self._draw(0, truth, rng), self._draw(1, 0.0, rng)
        samples = TwoSample(*drawn, np.tile(self.floor, (self.replications, 1)), paired=self.settings.paired)
        interval = self.settings.interval.compute(samples, level=self.settings.level)
        tests = self._tests(samples, rng)
        confirmed = self.settings.difference_test.confirmed_by
        # A test that none has to confirm confirms itself.
        confirming = tests.p_welch_adjusted if confirmed else tests.p_adjusted
        called = differs(interval.low, interval.high, tests.p_adjusted, confirming, self.settings.alpha)
        plain = tests.p_welch if confirmed else tests.p
        return SimulatedRates(
            covered=self._share((interval.low <= truth) & (truth <= interval.high)),
            alone=self._share(differs(interval.low, interval.high, tests.p, plain, self.settings.alpha)),
            called=self._share(called),
            # The gates ask for a difference first, so a shape that is called different is not equivalent.
            equivalent=self._share(~called & (tests.p_equivalence_adjusted <= self.settings.alpha)),
            any_called=float(called.reshape(self.replications, -1).any(axis=1).mean()),
        )

    def _draw(self, side: int, shift: float, rng: np.random.Generator) -> Floats:
        """Return seeds of one side of every shape in every replication, a row each."""
        pools = self.pools[side]
        values = np.full((self.replications, len(pools), max(pool.n for pool in pools)), np.nan)
        for shape, pool in enumerate(pools):
            # So the simulated truth is exactly the shift, for every estimand.
            start = shift - pool.typical(self.settings.estimand)
            values[:, shape, : pool.n] = start + pool.draw((self.replications, pool.n), rng)
        rows: Floats = values.reshape(-1, values.shape[2])
        searches = self.settings.estimand.searches
        return rows if searches == 1 else best_of(rows, searches)

    def _tests(self, samples: TwoSample, rng: np.random.Generator) -> Tests:
        settings, shapes = self.settings, len(samples) // self.replications
        if settings.difference_test.resamples or settings.procedure.joint is not None:
            # Such tests use all shapes of a report, so one replication is tested at a time.
            starts = range(0, len(samples), shapes)
            tests = [run_tests(samples.rows(slice(start, start + shapes)), settings, rng) for start in starts]
            made = [field.name for field in fields(Tests) if getattr(tests[0], field.name) is not None]
            joined: Any = {name: np.concatenate([getattr(test, name) for test in tests]) for name in made}
            return replace(tests[0], **joined)
        # Here the rows are of many reports, so the correction goes through them one report at a time.
        plain = run_tests(samples, replace(settings, correction="none"), rng)

        def adjusted(p: Floats) -> Floats:
            return np.concatenate([settings.procedure.adjust(report) for report in p.reshape(-1, shapes)])

        return replace(
            plain,
            p_adjusted=adjusted(plain.p),
            p_welch_adjusted=adjusted(plain.p_welch),
            p_equivalence_adjusted=adjusted(plain.p_equivalence),
        )

    def _share(self, which: npt.NDArray[np.bool_]) -> Floats:
        return which.reshape(self.replications, -1).mean(axis=0)
