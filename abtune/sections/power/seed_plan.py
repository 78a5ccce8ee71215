"""How many seeds a sweep needs, and what it could find with those that it has.

The noise is pooled over shapes: planned with the noise of one shape's five seeds, a sweep meant for 80 %
power has 34-45 % in one case of ten; pooled, it has 71-77 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from abtune.compare.statistics import lent_noise
from abtune.errors import InputError
from abtune.samples.samples import Samples, extract
from abtune.sections.power.cost import RunCost, cost_of_a_seed
from abtune.stats.design.detect import (
    MOST_SEEDS,
    Design,
    Requirement,
    detectable_boost,
    fewest_seeds,
    power,
    seeds_needed,
    smallest_p,
)
from abtune.stats.noise.spread import PooledSpread, pooled_spread
from abtune.text import count


@dataclass(frozen=True, slots=True, kw_only=True)
class SideNoise:
    """Noise to plan with: standard deviation of log latency over seeds; the interval NaN if it was given."""

    config: str
    spread: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What is asked of a design.

    Attributes
    ----------
    alpha : float
        Family-wise level.
    target : float
        Wanted power.
    shapes : int
        Shapes that the correction covers.
    boosts : tuple of float
        True boosts to plan for, fractions.
    seeds : tuple of int
        Seeds a side to look at.
    """

    alpha: float
    target: float
    shapes: int
    boosts: tuple[float, ...]
    seeds: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """Seeds a side that find a boost, and what they cost in all; NaN where the cost is unknown."""

    boost: float
    seeds: int
    core_hours: float
    gpu_hours: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What so many seeds a side can find.

    Attributes
    ----------
    seeds : int
    detectable : float
        Smallest boost found with the wanted power; infinite if no p-value passes the correction.
    power : tuple of float
        Chance to find each boost of the goal.
    core_hours, gpu_hours : float
        Cost of all shapes, both sides; NaN where unknown.
    """

    seeds: int
    detectable: float
    power: tuple[float, ...]
    core_hours: float
    gpu_hours: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeNeed:
    """The same for the noise of one shape, drawn towards that of all: seeds for each boost of the goal."""

    shape: str
    baseline: float
    candidate: float
    seeds: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedPlan:
    """What a design needs and reaches.

    Attributes
    ----------
    baseline, candidate : SideNoise
        Noise of both sides.
    goal : Goal
        What was asked.
    fewest : int
        Seeds a side below which no difference can pass the correction.
    needs : tuple of Need
        For each boost.
    reaches : tuple of Reach
        For each number of seeds.
    shapes : tuple of ShapeNeed
        Shape by shape; empty if the noise was given.
    cost : RunCost or None
        Of a seed of a shape, both sides.
    caveats : tuple of str
        What weakens the plan.
    """

    baseline: SideNoise
    candidate: SideNoise
    goal: Goal
    fewest: int
    needs: tuple[Need, ...]
    reaches: tuple[Reach, ...]
    shapes: tuple[ShapeNeed, ...]
    cost: RunCost | None
    caveats: tuple[str, ...]


def plan_from_noise(noise: float, goal: Goal) -> SeedPlan:
    """Plan with a given noise of both sides.

    Parameters
    ----------
    noise : float
        Coefficient of variation over seeds, a fraction; log(1 + cv^2) is the variance of logs.
    goal : Goal
        What is asked.
    """
    spread = math.sqrt(math.log1p(noise**2))
    sides = [
        SideNoise(config=name, spread=spread, low=math.nan, high=math.nan)
        for name in ("baseline", "candidate")
    ]
    return _plan(sides, goal, shapes=(), cost=None, caveats=())


def plan_from_dataset(dataset: xr.Dataset, configs: tuple[str, str], goal: Goal, *, level: float) -> SeedPlan:
    """Plan with the noise of a dataset, pooled over its shapes.

    Parameters
    ----------
    dataset : xarray.Dataset
        Valid by the schema.
    configs : tuple of str
        Baseline and candidate.
    goal : Goal
        What is asked.
    level : float
        Of the intervals of the noise.

    Raises
    ------
    InputError
        If a side has no shape with two seeds.
    """
    sides = [extract(dataset, config) for config in configs]
    pooled = [pooled_spread(side.value, level=level) for side in sides]
    for side, found in zip(sides, pooled, strict=True):
        if math.isnan(found.spread):
            raise InputError(f"no shape has two seeds of {side.config}, so its noise is unknown; give --cv")
    labels = [str(label) for label in dataset["shape"].values.tolist()]
    return _plan(
        [_side_noise(side, found) for side, found in zip(sides, pooled, strict=True)],
        goal,
        shapes=_by_shape(sides, labels, goal),
        cost=cost_of_a_seed(dataset, configs),
        caveats=tuple(_without_noise(sides)),
    )


def _without_noise(sides: Sequence[Samples]) -> Iterator[str]:
    """Say where the noise to plan with is zero because no seed differs from another."""
    for side in sides:
        known, agree = int(np.count_nonzero(side.n >= 2)), int(np.count_nonzero(side.noise == 0))
        if agree:
            yield (
                f"{side.config}: all seeds agree exactly in {agree} of {count(known, 'shape')}; differences "
                "below the resolution are unseen, and it may take more seeds than this says."
            )


def _plan(
    sides: Sequence[SideNoise],
    goal: Goal,
    *,
    shapes: tuple[ShapeNeed, ...],
    cost: RunCost | None,
    caveats: tuple[str, ...],
) -> SeedPlan:
    noise = sides[0].spread, sides[1].spread
    needed = seeds_needed(goal.boosts, *noise, _requirement(goal))
    return SeedPlan(
        baseline=sides[0],
        candidate=sides[1],
        goal=goal,
        fewest=fewest_seeds(alpha=goal.alpha, shapes=goal.shapes),
        needs=tuple(_need(boost, int(n), goal, cost) for boost, n in zip(goal.boosts, needed, strict=True)),
        reaches=tuple(_reach(n, noise, goal, cost) for n in goal.seeds),
        shapes=shapes,
        cost=cost,
        caveats=(*caveats, *_about_splits(goal)),
    )


def _about_splits(goal: Goal) -> Iterator[str]:
    if goal.alpha / goal.shapes < smallest_p(MOST_SEEDS, MOST_SEEDS):
        yield (
            "Where seeds are too many to count their splits, random ones stand in, which cannot resolve so "
            "strict a level: only designs that are counted find anything."
        )


def _requirement(goal: Goal) -> Requirement:
    return Requirement(level=goal.alpha / goal.shapes, target=goal.target)


def _need(boost: float, seeds: int, goal: Goal, cost: RunCost | None) -> Need:
    core, gpu = _hours(cost, seeds * goal.shapes)
    return Need(boost=boost, seeds=seeds, core_hours=core, gpu_hours=gpu)


def _reach(n: int, noise: tuple[float, float], goal: Goal, cost: RunCost | None) -> Reach:
    design = Design(n_first=n, n_second=n, noise_first=noise[0], noise_second=noise[1])
    chances = power(goal.boosts, design, level=goal.alpha / goal.shapes)
    detectable = detectable_boost(design, _requirement(goal))
    core, gpu = _hours(cost, n * goal.shapes)
    return Reach(
        seeds=n,
        detectable=float(detectable),
        power=tuple(float(chance) for chance in chances),
        core_hours=core,
        gpu_hours=gpu,
    )


def _by_shape(sides: Sequence[Samples], labels: Sequence[str], goal: Goal) -> tuple[ShapeNeed, ...]:
    noise = [lent_noise(side) for side in sides]
    boosts = np.array(goal.boosts)[np.newaxis]
    columns = noise[0][:, np.newaxis], noise[1][:, np.newaxis]
    seeds = seeds_needed(boosts, *columns, _requirement(goal))
    return tuple(
        ShapeNeed(
            shape=label,
            baseline=float(noise[0][at]),
            candidate=float(noise[1][at]),
            seeds=tuple(int(n) for n in seeds[at]),
        )
        for at, label in enumerate(labels)
    )


def _side_noise(side: Samples, found: PooledSpread) -> SideNoise:
    return SideNoise(config=side.config, spread=found.spread, low=found.low, high=found.high)


def _hours(cost: RunCost | None, seeds: int) -> tuple[float, float]:
    """Hours of cores and of the device for so many seeds of a shape."""
    if cost is None:
        return math.nan, math.nan
    return cost.core_seconds * seeds / 3600, cost.gpu_seconds * seeds / 3600
