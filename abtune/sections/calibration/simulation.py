"""Simulated sweeps with the noise of a dataset, judged as an analysis judges.

The distribution of each side is taken to be that of its seeds around their mean, smoothed, because ten points
in themselves look more skewed and lumpy than what they were drawn from. Failure modes absent from the sample
are absent from the simulation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import special

from abtune.compare.gates import differs
from abtune.compare.settings import Settings
from abtune.compare.tests import Tests, run_tests
from abtune.samples.samples import Samples
from abtune.stats.difference.moderated import moderated
from abtune.stats.estimand import Estimand
from abtune.stats.two_sample import Floats, Integers, TwoSample
from abtune.stats.variance import moments


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """A distribution of seeds around a mean of zero: a smoothed bootstrap.

    Attributes
    ----------
    residuals : ndarray, shape (any,)
    width : float
        Standard deviation of the normal kernel around each.
    n : int
        Seeds of a sweep.
    """

    residuals: Floats
    width: float
    n: int

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        """Draw independent values."""
        drawn: Floats = rng.choice(self.residuals, shape) + self.width * rng.standard_normal(shape)
        return drawn

    def typical(self, estimand: Estimand) -> float:
        """Return the log of what the estimand is of."""
        if estimand is Estimand.GEOMETRIC_MEAN:
            return 0.0
        low, high = self.residuals.min(), self.residuals.max()
        for _ in range(60 if self.width > 0 else 0):
            middle = (low + high) / 2
            below = special.ndtr((middle - self.residuals) / self.width).mean() < 0.5
            low, high = (middle, high) if below else (low, middle)
        return float(high if self.width > 0 else np.median(self.residuals))


def own_noise(side: Samples, shapes: Integers) -> list[Pool]:
    """Return a pool for each shape, from nothing but its seeds."""
    found = []
    for at in shapes:
        values = _known(side, at)
        centred = values - moments(values[np.newaxis]).mean[0]
        found.append(_smoothed(centred, spread=float(side.noise[at]), n=len(values)))
    return found


def shared_noise(side: Samples, shapes: Integers) -> list[Pool]:
    """Return a pool for each shape of a form that all shapes share, and of a spread drawn towards theirs."""
    varying = [at for at in shapes if side.noise[at] > 0]
    if not varying:
        return own_noise(side, shapes)
    scaled = [(_known(side, at) - _known(side, at).mean()) / side.noise[at] for at in varying]
    spread = np.sqrt(moderated(side.noise[shapes] ** 2, side.n[shapes] - 1))
    form = _smoothed(np.concatenate(scaled), spread=1.0, n=0)
    return [
        Pool(residuals=form.residuals * scale, width=form.width * scale, n=int(side.n[at]))
        for at, scale in zip(shapes, np.where(side.noise[shapes] > 0, spread, 0.0).tolist(), strict=True)
    ]


def _known(side: Samples, at: int) -> Floats:
    values: Floats = side.value[at][~np.isnan(side.value[at])]
    return values


def _smoothed(centred: Floats, *, spread: float, n: int) -> Pool:
    """Smooth residuals with the bandwidth 0.9 min(s, IQR/1.34) n^(-1/5), which keeps two modes apart.

    The standard deviation of the pool is the given one [1]_.

    References
    ----------
    .. [1] B. W. Silverman and G. A. Young, The bootstrap: to smooth or not to smooth?, Biometrika 74, 469-479
       (1987). DOI 10.1093/biomet/74.3.469
    """
    quarters = np.quantile(centred, (0.25, 0.75))
    width = 0.9 * min(spread, float(quarters[1] - quarters[0]) / 1.34) * len(centred) ** -0.2
    total = (centred**2).mean() + width**2
    shrunk = math.sqrt(spread**2 / total) if total > 0 else 1.0
    return Pool(residuals=centred * shrunk, width=width * shrunk, n=n)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedRates:
    """Shares of the simulated sweeps at one true boost; arrays over shapes.

    Attributes
    ----------
    covered : ndarray
        The interval holds the true boost.
    alone, called : ndarray
        A difference is called without and with the correction.
    equivalent : ndarray
        Equivalence is called, with the correction.
    any_called : float
        Some difference is called.
    """

    covered: Floats
    alone: Floats
    called: Floats
    equivalent: Floats
    any_called: float


class Simulation:
    """Sweeps drawn from pools and judged with chosen methods."""

    __slots__ = ("_estimand", "_floor", "_pools", "_replications", "_settings")

    def __init__(
        self,
        pools: Sequence[Sequence[Pool]],
        floor: Floats,
        settings: Settings,
        *,
        replications: int,
    ) -> None:
        self._pools, self._estimand = pools, Estimand(settings.estimand)
        self._settings, self._replications = replace(settings, rank_test=False), replications
        self._floor: Floats = np.tile(floor, (replications, 1))

    def run(self, boost: float, rng: np.random.Generator) -> SimulatedRates:
        """Judge simulated sweeps in all of whose shapes the true boost is this."""
        truth = math.log1p(boost)
        samples = TwoSample(self._draw(0, truth, rng), self._draw(1, 0.0, rng), self._floor)
        interval = self._settings.interval.compute(samples, level=self._settings.level, rng=rng)
        tests = self._tests(samples, rng)
        confirmed = self._settings.difference_test.confirmed_by
        confirming = tests.p_welch_adjusted if confirmed else tests.p_adjusted
        called = differs(interval.low, interval.high, tests.p_adjusted, confirming, self._settings.alpha)
        plain = tests.p_welch if confirmed else tests.p
        return SimulatedRates(
            covered=self._share((interval.low <= truth) & (truth <= interval.high)),
            alone=self._share(differs(interval.low, interval.high, tests.p, plain, self._settings.alpha)),
            called=self._share(called),
            equivalent=self._share(~called & (tests.p_equivalence_adjusted <= self._settings.alpha)),
            any_called=float(called.reshape(self._replications, -1).any(axis=1).mean()),
        )

    def _draw(self, side: int, shift: float, rng: np.random.Generator) -> Floats:
        """Draw the seeds of one side of every shape in every replication, a row each."""
        pools = self._pools[side]
        values = np.full((self._replications, len(pools), max(pool.n for pool in pools)), np.nan)
        for place, pool in enumerate(pools):
            start = shift - pool.typical(self._estimand)
            values[:, place, : pool.n] = start + pool.draw((self._replications, pool.n), rng)
        return values.reshape(-1, values.shape[2])

    def _tests(self, samples: TwoSample, rng: np.random.Generator) -> Tests:
        """Test every replication and correct it by itself."""
        if self._settings.difference_test.across_shapes or self._settings.procedure.joint is not None:
            return self._one_by_one(samples, rng)
        return self._all_at_once(samples, rng)

    def _one_by_one(self, samples: TwoSample, rng: np.random.Generator) -> Tests:
        """Test a replication at a time, for tests that use several shapes at once."""
        shapes = len(samples) // self._replications
        found = [
            run_tests(samples.rows(slice(start, start + shapes)), self._settings, rng)
            for start in range(0, len(samples), shapes)
        ]
        return Tests(
            p=np.concatenate([part.p for part in found]),
            p_adjusted=np.concatenate([part.p_adjusted for part in found]),
            p_welch=np.concatenate([part.p_welch for part in found]),
            p_welch_adjusted=np.concatenate([part.p_welch_adjusted for part in found]),
            p_rank=None,
            p_rank_adjusted=None,
            p_equivalence=np.concatenate([part.p_equivalence for part in found]),
            p_equivalence_adjusted=np.concatenate([part.p_equivalence_adjusted for part in found]),
        )

    def _all_at_once(self, samples: TwoSample, rng: np.random.Generator) -> Tests:
        plain = run_tests(samples, uncorrected(self._settings), rng)
        correction = self._settings.procedure

        def corrected(p: Floats) -> Floats:
            return np.concatenate([correction.adjust(row) for row in p.reshape(self._replications, -1)])

        return replace(
            plain,
            p_adjusted=corrected(plain.p),
            p_welch_adjusted=corrected(plain.p_welch),
            p_equivalence_adjusted=corrected(plain.p_equivalence),
        )

    def _share(self, which: npt.NDArray[np.bool_]) -> Floats:
        share: Floats = which.reshape(self._replications, -1).mean(axis=0)
        return share


def uncorrected(settings: Settings) -> Settings:
    """Return settings for rows that are not the shapes of one report."""
    return replace(settings, correction="none")
