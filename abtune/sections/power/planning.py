"""Planning a sweep from Python: ``abtune.power``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from abtune.compare.settings import alpha_of, configurations
from abtune.dataset.check import validate
from abtune.errors import InputError
from abtune.sections.power.seed_plan import Goal, SeedPlan, plan_from_dataset, plan_from_noise

BOOSTS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
MOST = 10_000  # seeds per side
SEEDS = (5, 7, 10, 15, 20, 30, 50, 100)


def power(
    dataset: xr.Dataset | None = None,
    *,
    cv: float | None = None,
    correlation: float | None = None,
    baseline: str | None = None,
    candidate: str | None = None,
    shapes: int | None = None,
    boosts: Sequence[float] = BOOSTS,
    seeds: Sequence[int] = SEEDS,
    target: float = 0.8,
    level: float = 0.95,
    of_candidates: int = 1,
) -> SeedPlan:
    """Plan a sweep: how many seeds find a boost, what they cost, and what a number of seeds finds.

    Parameters
    ----------
    dataset : xarray.Dataset, optional
        A pilot or an earlier sweep, whose noise is pooled over its shapes.
    cv : float, optional
        Plan with this noise between seeds instead: the coefficient of variation, a fraction.
    correlation : float, optional
        Plan pairs, whose searches exchange schedules: the correlation of their runs, from 0 to below 1.
    baseline, candidate : str, optional
        Configurations of the dataset; by default its first two.
    shapes : int, optional
        Shapes of the sweep, for the correction and the cost. By default those of the dataset, or 1.
    boosts : sequence of float
        True boosts to plan for, fractions.
    seeds : sequence of int
        Seeds per side to look at.
    target : float
        Wanted chance to find a boost that is there, a fraction.
    level : float
        Confidence level of the analysis; its tests are at 1 - ``level``.
    of_candidates : int
        Candidates that the analysis judges against the same baseline, which share the level of its tests.

    Returns
    -------
    SeedPlan
        ``needs``: seeds for each boost, in increasing order. ``reaches``: what each number of seeds
        finds. Boosts, noise and power are fractions.

    Raises
    ------
    InputError
        Unless either a dataset or ``cv`` is given, or if a number is out of range.
    DatasetError
        If the dataset is not valid.

    Notes
    -----
    The power is that of both tests of a verdict at the first step of the correction, under normal noise of
    log latency. ``docs/power.md`` says how well plans hold.

    Examples
    --------
    >>> import abtune
    >>> [need.seeds for need in abtune.power(cv=0.03, boosts=[0.05]).needs]
    [8]
    """
    if (dataset is None) == (cv is None):
        raise InputError("a plan takes a dataset or cv, the noise as a fraction; give one of them")
    if dataset is not None:
        validate(dataset)
    if cv is not None and (baseline or candidate):
        raise InputError("baseline and candidate are those of a dataset; leave them out beside cv")
    _check(target=target, level=level)
    if cv is not None:
        _check(most=2.0, cv=cv)
    for boost in boosts:
        _check(most=10.0, boost=boost)
    if correlation is not None and not 0 <= correlation < 1:
        raise InputError(f"correlation is a fraction from 0 to below 1, such as 0.7, not {correlation}")
    for name, number in (("shapes", 1 if shapes is None else shapes), ("of_candidates", of_candidates)):
        if not isinstance(number, int | np.integer) or number < 1:
            raise InputError(f"{name} is a whole number from 1 on, not {number}")
    if not all(isinstance(n, int | np.integer) and 2 <= n <= MOST for n in seeds):
        raise InputError(f"seeds are whole numbers from 2 to {MOST:,}, not {list(seeds)}")
    goal = Goal(
        alpha=alpha_of(level) / of_candidates,
        of_candidates=of_candidates,
        target=target,
        shapes=shapes or (1 if dataset is None else dataset.sizes["shape"]),
        boosts=tuple(sorted(set(boosts))),
        seeds=tuple(sorted(set(seeds))),
        paired=correlation is not None,
        correlation=correlation,
    )
    if dataset is None:
        return plan_from_noise(cv or 0.0, goal)
    return plan_from_dataset(dataset, configurations(dataset, baseline, candidate), goal, level=level)


def _check(*, most: float = 1.0, **fractions: float) -> None:
    for name, value in fractions.items():
        if not isinstance(value, int | float | np.number) or not 0 < value < most:
            raise InputError(f"{name} is a fraction between 0 and {most:g}, not {value}")
