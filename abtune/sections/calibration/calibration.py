"""Error rates, coverage and power on the noise of a dataset, and the page about them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr

from abtune.compare.settings import Settings, make_settings
from abtune.dataset.check import validate
from abtune.dataset.schema import labels_of
from abtune.errors import InputError
from abtune.report.page import SHAPE, Bullets, Grid, Heading, Part, Prose, column, table
from abtune.report.summary import shared_level
from abtune.samples import Samples, extract_both, keep_best, two_sample, what_varies
from abtune.sections.calibration.simulation import Simulation, noise_pools
from abtune.stats.two_sample import Integers
from abtune.text import plain_percent

BOOSTS = (0.05, 0.1, 0.2)
_FEWEST = 3  # seeds per side
_FEWEST_SWEEPS = 10
_MOST_BOOST = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """One shape in simulated sweeps; shares of them."""

    shape: str
    n_baseline: int
    n_candidate: int
    coverage: float  # the interval includes the true boost
    false_alarm: float  # called different without a difference, uncorrected
    equivalent: float  # called equivalent without a difference, corrected
    power: tuple[float, ...]  # called different at each true boost, corrected


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Measured error rates and power of the method on a dataset; shares are fractions."""

    settings: Settings  # how the simulated sweeps are judged
    replications: int  # simulated sweeps for each true boost
    interval_method: str  # this and the next two are the methods in words
    test_method: str
    correction: str
    boosts: tuple[float, ...]  # true boosts at which power was measured, fractions
    simulated: tuple[Simulated, ...]  # shapes with at least three seeds per side
    any_false_alarm: float  # share of sweeps without a difference in which some shape is called different
    error: float  # standard error of a share of 5 %


def calibrate(
    dataset: xr.Dataset,
    *,
    boosts: Sequence[float] = BOOSTS,
    replications: int | None = None,
    **choices: Any,
) -> Calibration:
    """Measure false alarms, coverage and power of the method on the noise of a dataset.

    Parameters
    ----------
    dataset : xarray.Dataset
        A sweep with at least three seeds per configuration in some shape.
    boosts : sequence of float
        True boosts at which power is measured, fractions.
    replications : int, optional
        Simulated sweeps for each boost, at least 10; by default 2000, or 200 where a method takes long.
    **choices : object
        Configurations, level, margin, seed and methods, as :func:`abtune.analyze` takes them.

    Returns
    -------
    Calibration
        The same for the same arguments, bit for bit.

    Raises
    ------
    InputError
        If an argument cannot be used, or no shape has three seeds per configuration.
    DatasetError
        If the dataset is not valid.

    Notes
    -----
    Sweeps are drawn from a smoothed bootstrap of the seeds (Silverman and Young 1987, DOI
    10.1093/biomet/74.3.469) and judged as an analysis judges.

    Examples
    --------
    >>> import abtune
    >>> pilot = abtune.open_dataset("h200-pilot")
    >>> found = abtune.calibrate(pilot, boosts=[0.5], replications=100)
    >>> [round(row.power[0], 1) for row in found.simulated]
    [1.0, 1.0, 1.0]
    """
    validate(dataset)
    for boost in boosts:
        if not isinstance(boost, int | float | np.number) or not 0 < boost < _MOST_BOOST:
            raise InputError(f"boost is a fraction between 0 and {_MOST_BOOST}, not {boost}")
    if replications is not None and (
        not isinstance(replications, int | np.integer) or replications < _FEWEST_SWEEPS
    ):
        raise InputError(f"replications is a whole number from {_FEWEST_SWEEPS} on, not {replications}")
    given = {name: value for name, value in choices.items() if value is not None}
    settings = make_settings(dataset, **given)
    slow = settings.interval.slow or settings.difference_test.slow or settings.procedure.slow
    replications = replications or (200 if slow else 2000)
    true_boosts = tuple(sorted(set(boosts)))
    sides = extract_both(dataset, settings.baseline, settings.candidate)
    usable = _usable(sides, settings)
    simulation = Simulation(
        pools=[noise_pools(side, usable) for side in what_varies(*sides)],
        floor=two_sample(*keep_best(sides, settings.quantity)).floor[usable],
        # No rate here is that of the rank test, so no replication has to make it.
        settings=replace(settings, rank_test=False),
        replications=replications,
    )
    rng = np.random.default_rng(settings.rng_seed)
    none, *some = [simulation.run(boost, rng) for boost in (0.0, *true_boosts)]
    labels = labels_of(dataset, "shape")
    return Calibration(
        settings=settings,
        replications=replications,
        interval_method=settings.interval.words,
        test_method=settings.difference_test.words,
        correction=settings.procedure.words,
        boosts=true_boosts,
        simulated=tuple(
            Simulated(
                shape=labels[at],
                n_baseline=int(sides[0].n[at]),
                n_candidate=int(sides[1].n[at]),
                coverage=float(none.covered[row]),
                false_alarm=float(none.alone[row]),
                equivalent=float(none.equivalent[row]),
                power=tuple(float(run.called[row]) for run in some),
            )
            for row, at in enumerate(usable.tolist())
        ),
        any_false_alarm=none.any_called,
        error=math.sqrt(0.05 * 0.95 / replications),
    )


def _usable(sides: tuple[Samples, Samples], settings: Settings) -> Integers:
    """Return the positions of the shapes whose seeds tell their noise; InputError if there are none."""
    fewest = max(_FEWEST, settings.quantity.seeds)
    usable = np.flatnonzero(np.minimum(sides[0].n, sides[1].n) >= fewest).astype(np.int64)
    if not len(usable):
        seeds = "whole pairs" if settings.paired else "seeds per configuration"
        raise InputError(f"no shape has {fewest} {seeds}, so there is no noise to calibrate with")
    return usable


_SIMULATED = (
    "Each simulated sweep draws as many seeds as the dataset has, from a smoothed distribution around zero. "
    "The shapes of a configuration share its form, and their spreads are drawn towards each other. coverage: "
    "the interval includes the true boost. false alarm: a difference is called where there is none, without "
    "a correction. equivalent: equivalence is called where there is no difference. Last columns: a true "
    "boost of that size in every shape is found, with the correction over the shapes."
)


def calibration_page(found: Calibration) -> tuple[Part, ...]:
    """Return the page."""
    return (
        Heading("calibration"),
        Prose(_setting(found)),
        Heading("simulated with the noise of these data, % of sweeps", minor=True),
        _simulated(found),
        Prose(_SIMULATED, remark=True),
        Bullets(_notes(found)),
    )


def _setting(found: Calibration) -> str:
    settings = found.settings
    return (
        f"{settings.candidate} against {settings.baseline}; {plain_percent(settings.level)} confidence, "
        f"margin {plain_percent(settings.margin)}{shared_level(settings)}; "
        f"{found.replications:,} simulated sweeps for each column, resampling seed {settings.rng_seed}. "
        f"Interval: {found.interval_method}. Test: {found.test_method}. Adjusted p: {found.correction}."
    )


def _simulated(found: Calibration) -> Grid:
    rows, many = found.simulated, len(found.boosts)
    paired = found.settings.paired
    seeds = [f"{row.n_baseline}" if paired else f"{row.n_baseline}+{row.n_candidate}" for row in rows]
    return table(
        SHAPE,
        [row.shape for row in rows],
        column("pairs" if paired else "seeds", seeds, gives_way=many + 2),
        column("coverage", [_share(row.coverage) for row in rows]),
        column("false alarm", [_share(row.false_alarm) for row in rows]),
        column("equivalent", [_share(row.equivalent) for row in rows], gives_way=many + 1),
        *(
            column(plain_percent(boost), [_share(row.power[at]) for row in rows], gives_way=at + 1)
            for at, boost in enumerate(found.boosts)
        ),
    )


def _notes(found: Calibration) -> tuple[str, ...]:
    promise = found.settings.procedure.promise.format(alpha=plain_percent(found.settings.alpha))
    return (
        f"Where nothing differs, {_share(found.any_false_alarm)}% of simulated reports have a false alarm "
        f"(promised: {promise}).",
        f"With {found.replications} simulated sweeps, a share of 5% has a standard error of "
        f"{100 * found.error:.1f} points.",
        "No number here allows for a failure that no seed has shown.",
    )


def _share(share: float) -> str:
    return f"{100 * share:.1f}"
