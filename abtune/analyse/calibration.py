"""What the method does on data like these: false alarms, coverage and power, measured instead of promised.

Simulated sweeps draw their seeds from the seeds of the dataset: the distribution of each side is taken to
be that of its seeds around their mean, smoothed, because ten points in themselves look more skewed and
lumpy than what they were drawn from. What no seed has shown, no simulation shows either.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import xarray as xr

from abtune.analyse.resplits import UNCORRECTED, Resplit, resplit
from abtune.analyse.samples import Samples, extract
from abtune.analyse.testing import run_tests
from abtune.analyse.verdict import differs
from abtune.errors import InputError
from abtune.stats.interval import expanded_percentile
from abtune.stats.multiplicity import holm
from abtune.stats.ragged import Floats, Integers
from abtune.stats.variance import moments

_FEWEST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """One shape in simulated sweeps; shares of them.

    Attributes
    ----------
    shape : str
    n_baseline, n_candidate : int
        Seeds, as in the dataset.
    coverage : float
        The interval holds the true boost.
    false_alarm : float
        A difference is called where there is none, without a correction over the shapes.
    equivalent : float
        Equivalence is called where there is no difference, with the correction.
    power : tuple of float
        A difference is called at each true boost, with the correction.
    """

    shape: str
    n_baseline: int
    n_candidate: int
    coverage: float
    false_alarm: float
    equivalent: float
    power: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Measured error rates and power of the method on a dataset.

    Attributes
    ----------
    baseline, candidate : str
        Names of the configurations.
    level, margin : float
        Settings of the analysis.
    rng_seed, replications : int
        Seed of the simulation, and simulated sweeps for each true boost.
    boosts : tuple of float
        True boosts at which power was measured.
    resplits : tuple of Resplit
        A/A comparisons, each shape under the baseline, then each under the candidate.
    simulated : tuple of Simulated
        Shapes with at least three seeds on both sides.
    any_false_alarm : float
        Share of simulated sweeps without any difference in which some shape is called different, with the
        correction.
    error : float
        Standard error of a share of five percent by the number of replications.
    """

    baseline: str
    candidate: str
    level: float
    margin: float
    rng_seed: int
    replications: int
    boosts: tuple[float, ...]
    resplits: tuple[Resplit, ...]
    simulated: tuple[Simulated, ...]
    any_false_alarm: float
    error: float


def calibrate(
    dataset: xr.Dataset,
    configs: tuple[str, str],
    *,
    level: float,
    margin: float,
    boosts: tuple[float, ...],
    replications: int,
    rng_seed: int,
) -> Calibration:
    """Measure what the default method does on data like these.

    Parameters
    ----------
    dataset : xarray.Dataset
        Valid by the schema.
    configs : tuple of str
        Baseline and candidate.
    level, margin : float
        Settings of the analysis, fractions.
    boosts : tuple of float
        True boosts at which to measure power.
    replications : int
        Simulated sweeps for each boost, and for none.
    rng_seed : int
        The same seed gives the same shares.

    Raises
    ------
    InputError
        If no shape has three seeds on both sides.
    """
    sides = [extract(dataset, config) for config in configs]
    labels = tuple(str(label) for label in dataset["shape"].values.tolist())
    usable = np.flatnonzero(np.minimum(sides[0].n, sides[1].n) >= _FEWEST).astype(np.int64)
    if not len(usable):
        raise InputError("no shape has three seeds on both sides, so there is no noise to calibrate with")
    rng = np.random.default_rng(rng_seed)
    simulation = _Simulation(sides, usable, level=level, margin=margin, replications=replications)
    none, *some = [simulation.run(boost, rng) for boost in (0.0, *boosts)]
    return Calibration(
        baseline=configs[0],
        candidate=configs[1],
        level=level,
        margin=margin,
        rng_seed=rng_seed,
        replications=replications,
        boosts=boosts,
        resplits=tuple(row for side in sides for row in resplit(side, labels, level=level, rng=rng)),
        simulated=tuple(
            Simulated(
                shape=labels[at],
                n_baseline=int(sides[0].n[at]),
                n_candidate=int(sides[1].n[at]),
                coverage=float(none.covered[place]),
                false_alarm=float(none.alone[place]),
                equivalent=float(none.equivalent[place]),
                power=tuple(float(run.called[place]) for run in some),
            )
            for place, at in enumerate(usable.tolist())
        ),
        any_false_alarm=none.any_called,
        error=math.sqrt(0.05 * 0.95 / replications),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """Shares of the simulated sweeps at one true boost; arrays over shapes."""

    covered: Floats
    alone: Floats
    called: Floats
    equivalent: Floats
    any_called: float


class _Simulation:
    """Sweeps drawn from the residuals of the seeds, judged as :func:`abtune.analyze` does by default."""

    __slots__ = ("_alpha", "_floor", "_level", "_margin", "_pools", "_replications", "_shapes")

    def __init__(
        self, sides: list[Samples], usable: Integers, *, level: float, margin: float, replications: int
    ) -> None:
        self._level, self._margin, self._replications = level, margin, replications
        self._alpha = round(1 - level, 12)
        self._shapes = len(usable)
        self._pools = [[_Pool(side.value[at]) for at in usable] for side in sides]
        floor = np.stack([side.floor[usable] for side in sides], axis=1)
        self._floor: Floats = np.tile(floor, (replications, 1))

    def run(self, boost: float, rng: np.random.Generator) -> _Run:
        """Judge simulated sweeps in all of whose shapes the true boost is this."""
        truth = math.log1p(boost)
        first, second = self._draw(0, truth, rng), self._draw(1, 0.0, rng)
        interval = expanded_percentile(first, second, level=self._level, floor=self._floor)
        tests = run_tests(
            first,
            second,
            floor=self._floor,
            choices=UNCORRECTED,
            alpha=self._alpha,
            margin=self._margin,
            rank_test=False,
            rng=rng,
        )
        ends = interval.low, interval.high
        corrected = self._corrected(tests.p), self._corrected(tests.p_welch)
        called = differs(*ends, *corrected, self._alpha)
        alone = differs(*ends, tests.p, tests.p_welch, self._alpha)
        same = ~called & (self._corrected(tests.p_equivalence) <= self._alpha)
        covered = (interval.low <= truth) & (truth <= interval.high)
        return _Run(
            covered=self._share(covered),
            alone=self._share(alone),
            called=self._share(called),
            equivalent=self._share(same),
            any_called=float(called.reshape(-1, self._shapes).any(axis=1).mean()),
        )

    def _draw(self, side: int, shift: float, rng: np.random.Generator) -> Floats:
        """Draw the seeds of one side of every shape in every replication, a row each."""
        pools = self._pools[side]
        values = np.full((self._replications, self._shapes, max(pool.n for pool in pools)), np.nan)
        for place, pool in enumerate(pools):
            values[:, place, : pool.n] = shift + pool.draw((self._replications, pool.n), rng)
        return values.reshape(-1, values.shape[2])

    def _corrected(self, p: Floats) -> Floats:
        """Correct each replication by itself."""
        return np.concatenate([holm(row) for row in p.reshape(-1, self._shapes)])

    def _share(self, which: npt.NDArray[np.bool_]) -> Floats:
        share: Floats = which.reshape(-1, self._shapes).mean(axis=0)
        return share


class _Pool:
    """The distribution of one side's seeds around their mean: a smoothed bootstrap of their own variance.

    Silverman and Young, The bootstrap: to smooth or not to smooth?, Biometrika 74, 469-479 (1987), with the
    bandwidth 0.9 min(s, IQR/1.34) n^(-1/5), which keeps two modes apart.
    """

    __slots__ = ("_residuals", "_width", "n")

    def __init__(self, values: Floats) -> None:
        known = values[~np.isnan(values)]
        self.n = len(known)
        centred = known - moments(known[np.newaxis]).mean[0]
        variance = float((centred**2).sum()) / (self.n - 1)
        quarters = np.quantile(centred, (0.25, 0.75))
        width = 0.9 * min(math.sqrt(variance), float(quarters[1] - quarters[0]) / 1.34) * self.n**-0.2
        spread = (centred**2).mean() + width**2
        shrunk = math.sqrt(variance / spread) if spread > 0 else 1.0
        self._residuals: Floats = centred * shrunk
        self._width = width * shrunk

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        """Draw independent values with mean zero and the unbiased variance of the seeds."""
        drawn: Floats = rng.choice(self._residuals, shape) + self._width * rng.standard_normal(shape)
        return drawn
