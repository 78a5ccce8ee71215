"""What would change the verdict on a shape: a seed less, no other shapes, more seeds, another margin.

What is changed is one shape, or the margin, and most of an analysis stays as it was. Only the rest is
computed again: a whole analysis of hundreds of shapes for each seed would take minutes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from abtune.compare.compare import compare
from abtune.compare.gates import judge
from abtune.compare.results import Analysis, Comparison, Verdict
from abtune.compare.statistics import seeds_to_find
from abtune.compare.tests import run_tests
from abtune.dataset.schema import RunStatus
from abtune.samples.samples import Samples, extract, two_sample
from abtune.stats.design.looks import LOOKS
from abtune.stats.testing.significance import equivalence_p, split_share

# Beyond, a single seed weighs little, and leaving out each in turn takes long.
_MOST_SEEDS = 30
_SMALLEST_MARGIN, _LARGEST_MARGIN = 1e-5, 0.99
_HALVINGS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class WithoutSeed:
    """The verdict when one seed is left out."""

    config: str
    seed: int
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """What would change a verdict.

    Attributes
    ----------
    without_seed : tuple of WithoutSeed or None
        Seeds whose absence changes it; None if that was not tried.
    alone : Verdict
        If this were the only shape, so that nothing had to be corrected.
    seeds_for_estimate : int
        Seeds a side that would find a true boost as large as the estimate with 80 % power, with the test and
        the correction of the analysis; 0 if unknown, and where a boost within the margin is none.
    margin_for_equivalence : float
        Smallest margin within which the shape counts as equivalent, if it does not differ; NaN if none.
    """

    without_seed: tuple[WithoutSeed, ...] | None
    alone: Verdict
    seeds_for_estimate: int
    margin_for_equivalence: float


def what_would_change(
    dataset: xr.Dataset, analysis: Analysis, sides: tuple[Samples, Samples], index: int
) -> Sensitivity:
    """Return what the verdict would be if something were different.

    Parameters
    ----------
    dataset : xarray.Dataset
        Restricted to the shapes of the analysis.
    analysis : Analysis
        As it is.
    sides : tuple of Samples
        Baseline and candidate, all shapes.
    index : int
        Place of the shape.
    """
    row, settings = analysis.comparisons[index], replace(analysis.settings, weights=None)
    alone = compare(dataset.isel(shape=[index]), settings).comparisons[0]
    return Sensitivity(
        without_seed=_without_each(dataset, analysis, sides, index),
        alone=alone.verdict,
        seeds_for_estimate=_seeds(analysis, sides, index),
        margin_for_equivalence=_margin(row, _with_margin(dataset, analysis, sides, index)),
    )


def _without_each(
    dataset: xr.Dataset, analysis: Analysis, sides: tuple[Samples, Samples], index: int
) -> tuple[WithoutSeed, ...] | None:
    row = analysis.comparisons[index]
    if row.verdict is Verdict.INVALID or max(row.baseline.n, row.candidate.n) > _MOST_SEEDS:
        return None
    changed = []
    configs = [str(name) for name in dataset["config"].values.tolist()]
    for side in sides:
        config = configs.index(side.config)
        for number in np.flatnonzero(~np.isnan(side.value[index])).tolist():
            verdict = _judged(_left_out(dataset, index, config, number), analysis, index)
            if verdict is not row.verdict:
                seed = int(dataset["seed"].values[number])
                changed.append(WithoutSeed(config=side.config, seed=seed, verdict=verdict))
    return tuple(changed)


def _left_out(dataset: xr.Dataset, at: int, config: int, seed: int) -> xr.Dataset:
    """Return the dataset as if one run had never been made."""
    status = dataset["run_status"].copy()
    status[{"shape": at, "config": config, "seed": seed}] = RunStatus.MISSING
    return dataset.assign(run_status=status)


def _seeds(analysis: Analysis, sides: tuple[Samples, Samples], index: int) -> int:
    row, settings = analysis.comparisons[index], analysis.settings
    if row.verdict is Verdict.INVALID or not row.boost:
        return 0
    boost = row.boost
    if settings.require_margin:  # on logs, what there is beyond the margin has to be found
        boost = math.expm1(abs(math.log1p(boost)) - math.log1p(settings.margin))
        if boost <= 0:
            return 0
    return int(seeds_to_find(boost, *sides, settings, tests=max(analysis.tested, 1))[index])


def _judged(changed: xr.Dataset, analysis: Analysis, index: int) -> Verdict:
    """Return the verdict on the one shape that was changed, the others being as they were analysed."""
    settings = replace(analysis.settings, weights=None)
    if LOOKS in changed.attrs or (settings.require_margin and settings.family_wise):
        # The verdicts or intervals of the other shapes enter this one.
        return compare(changed, settings).comparisons[index].verdict
    row = compare(changed.isel(shape=[index]), settings).comparisons[0]
    joint = settings.difference_test.across_shapes or settings.procedure.joint is not None
    row = _tested_again(row, changed, analysis, index) if joint else _corrected(row, analysis, index)
    return judge(row, settings).verdict


def _corrected(row: Comparison, analysis: Analysis, index: int) -> Comparison:
    """Correct the p-values of a shape over those that the other shapes have."""

    def corrected(name: str) -> float:
        p = [getattr(other, name) for other in analysis.comparisons]
        p[index] = getattr(row, name)
        return float(analysis.settings.procedure.adjust(p)[index])

    return replace(
        row,
        p_adjusted=corrected("p"),
        p_welch_adjusted=corrected("p_welch"),
        p_equivalence_adjusted=corrected("p_equivalence"),
    )


def _tested_again(row: Comparison, changed: xr.Dataset, analysis: Analysis, index: int) -> Comparison:
    """Correct the p-values of a shape by tests that take all shapes together."""
    sides = extract(changed, analysis.baseline), extract(changed, analysis.candidate)
    settings = replace(analysis.settings, rank_test=False)
    tests = run_tests(two_sample(*sides), settings, np.random.default_rng(analysis.rng_seed))
    return replace(
        row,
        p_adjusted=float(tests.p_adjusted[index]),
        p_welch_adjusted=float(tests.p_welch_adjusted[index]),
        p_equivalence_adjusted=float(tests.p_equivalence_adjusted[index]),
    )


def _with_margin(
    dataset: xr.Dataset, analysis: Analysis, sides: tuple[Samples, Samples], index: int
) -> Callable[[float], Verdict]:
    """Return the verdict as a function of the margin, on which only the tests of equivalence depend."""
    settings = replace(analysis.settings, weights=None)
    if LOOKS in dataset.attrs:
        return lambda margin: compare(dataset, replace(settings, margin=margin)).comparisons[index].verdict
    row, samples = analysis.comparisons[index], two_sample(*sides)
    estimate = settings.difference_test.standard_error(samples)
    one_split = split_share(samples)

    def verdict(margin: float) -> Verdict:
        p = equivalence_p(estimate, one_split, margin=math.log1p(margin))
        adjusted = settings.procedure.adjust(p)
        changed = replace(row, p_equivalence_adjusted=float(adjusted[index]))
        return judge(changed, replace(settings, margin=margin)).verdict

    return verdict


def _margin(row: Comparison, verdict: Callable[[float], Verdict]) -> float:
    """Find the margin at which the verdict becomes equivalent, which only an undecided one can.

    Bounds are halved by their ratio, so that small margins are found as precisely as large ones.
    """

    def is_equivalent(margin: float) -> bool:
        return verdict(margin) is Verdict.EQUIVALENT

    if not row.verdict.more_seeds_help or not is_equivalent(_LARGEST_MARGIN):
        return math.nan
    low, high = _SMALLEST_MARGIN, _LARGEST_MARGIN
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if is_equivalent(middle) else (middle, high)
    return high
