"""What the method does on data like these: false alarms, coverage and power, measured instead of promised."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import xarray as xr

from abtune.compare.settings import Settings
from abtune.errors import InputError
from abtune.samples.samples import Samples, extract, two_sample
from abtune.sections.calibration.aa_splits import Resplit, resplit
from abtune.sections.calibration.simulation import SimulatedRates, Simulation, own_noise, shared_noise
from abtune.stats.two_sample import Integers

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
    settings : Settings
        Those of the analysis; its ``rng_seed`` is that of the simulation.
    replications : int
        Simulated sweeps for each true boost.
    interval_method, test_method, correction : str
        The same in words.
    boosts : tuple of float
        True boosts at which power was measured.
    resplits : tuple of Resplit
        A/A comparisons, each shape under the baseline, then each under the candidate; none for the moderated
        test, which takes all shapes at once.
    simulated : tuple of Simulated
        Shapes with at least three seeds on both sides.
    any_false_alarm : float
        Share of simulated sweeps without any difference in which some shape is called different, with the
        correction, if the noise of a side has one form in all shapes.
    any_false_alarm_own : float
        The same if the noise of each shape and side has the form that its own seeds show.
    error : float
        Standard error of a share of five percent by the number of replications.
    """

    settings: Settings
    replications: int
    interval_method: str
    test_method: str
    correction: str
    boosts: tuple[float, ...]
    resplits: tuple[Resplit, ...]
    simulated: tuple[Simulated, ...]
    any_false_alarm: float
    any_false_alarm_own: float
    error: float


def calibrate(
    dataset: xr.Dataset, settings: Settings, *, boosts: tuple[float, ...], replications: int
) -> Calibration:
    """Return how a method performs on data like these.

    Parameters
    ----------
    dataset : xarray.Dataset
        Valid by the schema.
    settings : Settings
        How the simulated sweeps are judged.
    boosts : tuple of float
        True boosts at which to measure power.
    replications : int
        Simulated sweeps for each boost, and for none.

    Raises
    ------
    InputError
        If no shape has three seeds on both sides.

    Notes
    -----
    The rate of false alarms in whole reports is a rate of rare events: it depends on the tails of the noise,
    and on whether both sides have the same tails. Ten seeds do not determine that: simulated from ten seeds a
    side, sides that are alike in truth differ in form and spread, and the rate comes out too high. Sharing
    the form over shapes, and drawing their spreads together, removes most of that bias; docs/statistics.md
    has both beside the truth.
    """
    sides = extract(dataset, settings.baseline), extract(dataset, settings.candidate)
    labels = tuple(str(label) for label in dataset["shape"].values.tolist())
    usable = np.flatnonzero(np.minimum(sides[0].n, sides[1].n) >= _FEWEST).astype(np.int64)
    if not len(usable):
        raise InputError("no shape has three seeds per configuration, so there is no noise to calibrate with")
    rng = np.random.default_rng(settings.rng_seed)
    floor = two_sample(*sides).floor[usable]
    own, shared = (
        Simulation([noise(side, usable) for side in sides], floor, settings, replications=replications)
        for noise in (own_noise, shared_noise)
    )
    none, *some = [own.run(boost, rng) for boost in (0.0, *boosts)]
    joint = settings.difference_test.across_shapes
    return Calibration(
        settings=settings,
        replications=replications,
        interval_method=settings.interval.words,
        test_method=settings.difference_test.words,
        correction=settings.procedure.words,
        boosts=boosts,
        resplits=()
        if joint
        else tuple(row for side in sides for row in resplit(side, labels, settings, rng=rng)),
        simulated=_by_shape(sides, labels, usable, none, some),
        any_false_alarm=shared.run(0.0, rng).any_called,
        any_false_alarm_own=none.any_called,
        error=math.sqrt(0.05 * 0.95 / replications),
    )


def _by_shape(
    sides: tuple[Samples, Samples],
    labels: tuple[str, ...],
    usable: Integers,
    none: SimulatedRates,
    some: list[SimulatedRates],
) -> tuple[Simulated, ...]:
    return tuple(
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
    )
