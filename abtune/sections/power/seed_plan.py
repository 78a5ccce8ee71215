"""How many seeds a sweep needs, what they cost, and what it could find with those that it has.

The noise is pooled over shapes, because five seeds of one shape misjudge its own noise too often.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from abtune.compare.caveats import of_neighbours, of_outliers
from abtune.compare.settings import alpha_of, check_fraction, check_whole, configurations
from abtune.compare.statistics import shape_agreement
from abtune.dataset.check import check_list, validate
from abtune.dataset.provenance import of_searches, parsed, settings
from abtune.dataset.schema import RunStatus, TrialStatus, in_order, is_paired, labels_of
from abtune.errors import InputError
from abtune.samples import Sides, extract_both, two_sample, what_varies
from abtune.stats.estimates import EqualWithNaN
from abtune.stats.skewness import FEWEST_SHAPES, may_be_chance, misled
from abtune.stats.spread import pooled_spread
from abtune.stats.testing import attainable, design
from abtune.stats.testing.difference_tests import CORRECTIONS, default_correction
from abtune.stats.two_sample import Floats
from abtune.text import count, percent

DIFFERENCES = "differences of pairs"
BOOSTS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
MOST = 10_000  # seeds per side
SEEDS = (5, 7, 10, 15, 20, 30, 50, 100)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SideNoise(EqualWithNaN):
    """Noise to plan with: standard deviation of log latency over seeds; the interval NaN if it was given."""

    config: str
    spread: float
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What is asked of a design."""

    alpha: float  # family-wise level of a candidate
    target: float  # wanted power
    shapes: int  # that the correction covers
    boosts: tuple[float, ...]  # true boosts to plan for, fractions
    seeds: tuple[int, ...]  # numbers per side to look at
    paired: bool = False  # seeds are pairs, as they are in a dataset of pairs and with a correlation
    correlation: float | None = None  # of the runs of a pair, to plan pairs with the noise of separate runs
    of_candidates: int = 1  # candidates that share the level
    agreement: float = math.inf  # degrees of freedom that a moderated test gains; infinite for equal noise

    @property
    def requirement(self) -> design.Requirement:
        """The level of one shape, at the first step of the correction, and the power."""
        return design.Requirement(
            level=self.alpha / self.shapes,
            target=self.target,
            resolution=CORRECTIONS["max-t"].resolution(self.alpha, self.shapes),
            paired=self.paired,
            agreement=0.0 if self.paired or self.shapes < FEWEST_SHAPES else self.agreement,
            holm_first=self.shapes > 1 and default_correction(paired=self.paired).joint is None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCost:
    """Mean cost of one seed of one shape: a run of the baseline and a run of the candidate."""

    core_seconds: float  # each run on one core
    gpu_seconds: float  # at least, by the settings; NaN of a CPU, of cold caches, or if they do not say


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Need(EqualWithNaN):
    """Seeds per side that find a boost, and what they cost in all; NaN where the cost is unknown."""

    boost: float
    seeds: int | None  # None if fewer than a million do not find it
    core_hours: float
    gpu_hours: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reach(EqualWithNaN):
    """What a number of seeds per side can find."""

    seeds: int
    detectable: float  # smallest boost found with the wanted power; infinite for none
    power: tuple[float, ...]  # probability to find each boost of the goal
    core_hours: float  # of all shapes, both sides; NaN where unknown
    gpu_hours: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedPlan:
    """What a design needs and reaches.

    Attributes
    ----------
    baseline, candidate : SideNoise
        Standard deviation of log latency over seeds, with its interval. Of pairs, both are of differences.
    goal : Goal
        What was asked: boosts, seeds, power and shapes.
    fewest : int
        Seeds per side below which no difference can pass the correction.
    needs : tuple of Need
        For each boost: seeds per side and their cost in hours.
    reaches : tuple of Reach
        For each number of seeds: the power for each boost, the smallest boost found, and the cost.
    cost : RunCost or None
        Of a seed of a shape, both sides.
    caveats : tuple of str
        Weaknesses of the plan.
    """

    baseline: SideNoise
    candidate: SideNoise
    goal: Goal
    fewest: int
    needs: tuple[Need, ...]
    reaches: tuple[Reach, ...]
    cost: RunCost | None
    caveats: tuple[str, ...]


def plan_from_noise(noise: float, goal: Goal) -> SeedPlan:
    """Return a plan for a coefficient of variation of both sides; the variance of logs is log(1 + cv^2)."""
    spread = math.sqrt(math.log1p(noise**2))
    return _plan([SideNoise(config=name, spread=spread) for name in ("baseline", "candidate")], goal)


def plan_from_dataset(dataset: xr.Dataset, configs: tuple[str, str], goal: Goal, *, level: float) -> SeedPlan:
    """Return a plan for the noise of a dataset, pooled over its shapes."""
    runs = extract_both(in_order(dataset), *configs)
    labels = labels_of(dataset, "shape")
    outliers = itertools.chain.from_iterable(of_outliers(side, labels, "plan") for side in runs)
    sides, noise = what_varies(*runs), []
    alike = of_neighbours([side.value for side in sides], 0, so="Then more seeds are needed than planned.")
    caveats = [*outliers, *_about_skew(runs), *alike, *_about_failed(runs)]
    goal = replace(goal, agreement=shape_agreement(runs))
    if has_pairs := is_paired(dataset):
        if goal.correlation is not None:
            raise InputError("the dataset has pairs, which show their own correlation; leave it out")
        goal = replace(goal, paired=True)
        sides = replace(sides[0], config=DIFFERENCES), sides[1]
    for side in sides[:1] if has_pairs else sides:
        spread, low, high = pooled_spread(side.value, level=level)
        if math.isnan(spread):
            what = "whole pairs" if has_pairs else f"seeds of {side.config}"
            raise InputError(f"no shape has two {what}, so its noise is unknown; use abtune power --cv")
        noise.append(SideNoise(config=side.config, spread=spread, low=low, high=high))
        if agree := int(np.count_nonzero(side.noise == 0)):
            caveats.append(
                f"{side.config}: all {'pairs' if has_pairs else 'seeds'} agree exactly in {agree} of "
                f"{count(int(np.count_nonzero(side.n >= 2)), 'shape')}. Differences below the resolution are "
                "not seen, so more seeds may be needed."
            )
    return _plan(noise, goal, cost_of_a_seed(dataset, configs), tuple(caveats))


def _plan(
    sides: Sequence[SideNoise], goal: Goal, cost: RunCost | None = None, caveats: tuple[str, ...] = ()
) -> SeedPlan:
    if goal.correlation is not None:
        one, two = (side.spread for side in sides)
        spread = math.sqrt(one**2 + two**2 - 2 * goal.correlation * one * two)
        sides = [SideNoise(config=DIFFERENCES, spread=spread)]
    # Pairs are planned as their differences against zeros, which have no noise.
    noise = sides[0].spread, 0.0 if goal.paired else sides[1].spread
    needed = design.seeds_needed(goal.boosts, noise, goal.requirement)

    def hours(seeds: int) -> dict[str, float]:
        known = cost if seeds < attainable.MOST_SEEDS else None  # no number of seeds is enough
        core, gpu = (math.nan, math.nan) if known is None else (known.core_seconds, known.gpu_seconds)
        runs = seeds * goal.shapes
        return {"core_hours": core * runs / 3600, "gpu_hours": gpu * runs / 3600}

    def reach(n: int) -> Reach:
        powers = design.power(goal.boosts, (n, n), noise, goal.requirement)
        return Reach(
            seeds=n,
            detectable=float(design.detectable_boost((n, n), noise, goal.requirement)),
            power=tuple(powers.tolist()),
            **hours(n),
        )

    return SeedPlan(
        baseline=sides[0],
        candidate=sides[-1],
        goal=goal,
        fewest=design.fewest_that_find(goal.requirement),
        needs=tuple(
            Need(boost=boost, seeds=n if n < attainable.MOST_SEEDS else None, **hours(n))
            for boost, n in zip(goal.boosts, needed.tolist(), strict=True)
        ),
        reaches=tuple(map(reach, goal.seeds)),
        cost=cost,
        caveats=caveats,
    )


def cost_of_a_seed(dataset: xr.Dataset, configs: tuple[str, str]) -> RunCost | None:
    """Return what a seed of a shape has cost on average; None if the dataset has no times of runs."""
    if "tuning_time" not in dataset or of_searches(dataset):  # a log tells time by the clock, not of a core
        return None
    chosen = dataset.sel(config=list(configs))
    complete = chosen["run_status"].values == RunStatus.COMPLETE
    core = _sum_of_sides(np.where(complete, chosen["tuning_time"].values, np.nan))
    if math.isnan(core):
        return None
    return RunCost(core_seconds=core, gpu_seconds=_gpu_seconds(chosen))


def _gpu_seconds(dataset: xr.Dataset) -> float:
    known = settings(dataset.attrs)
    names = ("search_repeats", "search_repeat_ms", "rounds", "repeats", "repeat_ms")
    is_known = all(isinstance(known.get(name), int | float) for name in names) and "trial_latency" in dataset
    # With cold caches, timings are of single calls, and may take less than the set time.
    is_cold = known.get("cache") == "cold"
    if not is_known or is_cold or parsed(dataset.attrs, "target", dict).get("kind") == "llvm":
        return math.nan
    searching, again = known["search_repeat_ms"] / 1000, known["repeat_ms"] / 1000
    ran = dataset["trial_status"].values == TrialStatus.OK
    # A repeat calls the kernel for the set time, or once if one call takes longer.
    times = np.where(ran, np.fmax(dataset["trial_latency"].values, searching), 0.0)
    search = known["search_repeats"] * times.sum(axis=-1)
    # Of both sides; warming up and loading are not known, so this is the least.
    winners: float = 2 * known["rounds"] * known["repeats"] * again
    return _sum_of_sides(np.where(ran.any(axis=-1), search, np.nan)) + winners


def _sum_of_sides(values: Floats) -> float:
    """Return the sum over sides of the mean over shapes and seeds; values of shape (shape, config, seed)."""
    sides = [values[:, side][~np.isnan(values[:, side])] for side in range(values.shape[1])]
    return sum(float(side.mean()) if len(side) else math.nan for side in sides)


def _about_skew(runs: Sides) -> Iterator[str]:
    """Yield a caveat if a report would ask one more test of a boost, which no plan knows."""
    samples = two_sample(*runs)
    faster, _ = misled(samples)
    # A pilot of few shapes does not show it.
    if faster and not may_be_chance(samples):
        yield (
            f"The noise is skewed: {runs[1].config} may look faster than it is. A verdict of improved must "
            "also pass a bootstrap-t test. This plan leaves it out, so a sweep finds far fewer boosts."
        )


def _about_failed(runs: Sides) -> Iterator[str]:
    """Yield a caveat if runs failed: a plan counts seeds with a time."""
    lost = [("run", side.failed, side.n, f" of {side.config}") for side in runs]
    if runs[0].paired:
        lost = [("pair", runs[0].failed_pairs, runs[0].n, "")]
    for unit, failed, timed, whose in lost:
        some, rest = int(failed.sum()), int(timed.sum())
        if some and rest:
            every, more = count(some + rest, unit), percent(some / rest)
            yield f"{some:,} of {every}{whose} failed. A plan counts seeds with a time, so run {more} more."


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
        Plan pairs: the correlation of their two runs, from 0 to below 1.
    baseline, candidate : str, optional
        Configurations of the dataset; by default its first two.
    shapes : int, optional
        Shapes of the sweep. The correction and the cost depend on it. By default those of the dataset, or 1.
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
    target, level = check_fraction("target", target, 0.8), check_fraction("level", level, 0.95)
    if cv is not None:
        cv = check_fraction("cv", cv, 0.05, most=2)
    wanted = [check_fraction("boost", boost, 0.05, most=10) for boost in check_list("boosts", boosts, [0.05])]
    numbers = [check_whole("each of seeds", number, 2, MOST) for number in check_list("seeds", seeds, [10])]
    if correlation not in (None, 0):
        correlation = check_fraction("correlation", correlation, 0.7)
    check_whole("shapes", 1 if shapes is None else shapes, 1)
    check_whole("of_candidates", of_candidates, 1)
    goal = Goal(
        alpha=alpha_of(level) / of_candidates,
        of_candidates=of_candidates,
        target=target,
        shapes=shapes or (1 if dataset is None else dataset.sizes["shape"]),
        boosts=tuple(sorted(set(wanted))),
        seeds=tuple(sorted(set(numbers))),
        paired=correlation is not None,
        correlation=correlation,
    )
    if dataset is None:
        return plan_from_noise(cv or 0.0, goal)
    return plan_from_dataset(dataset, configurations(dataset, baseline, candidate), goal, level=level)
