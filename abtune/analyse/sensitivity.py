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

from abtune.analyse.comparison import Analysis, Comparison, Verdict, alpha_of
from abtune.analyse.computation import seeds_to_find
from abtune.analyse.gates import gates, verdict_of
from abtune.analyse.samples import Samples, extract, floors
from abtune.analyse.testing import judging_estimate, run_tests
from abtune.schema import RunStatus
from abtune.stats.multiplicity import Correction, adjust
from abtune.stats.significance import equivalence_p, rarest
from abtune.stats.spending import LOOKS

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
    dataset: xr.Dataset,
    analysis: Analysis,
    sides: tuple[Samples, Samples],
    at: int,
    judge: Callable[..., Analysis],
) -> Sensitivity:
    """Analyse the same data with something changed.

    Parameters
    ----------
    dataset : xarray.Dataset
        Restricted to the shapes of the analysis.
    analysis : Analysis
        As it is.
    sides : tuple of Samples
        Baseline and candidate, all shapes.
    at : int
        Place of the shape.
    judge : callable
        Analyses a dataset as the analysis was made; takes another ``margin``.
    """
    row = analysis.comparisons[at]
    return Sensitivity(
        without_seed=_without_each(dataset, analysis, sides, at, judge),
        alone=judge(dataset.isel(shape=[at])).comparisons[0].verdict,
        seeds_for_estimate=_seeds(analysis, sides, at),
        margin_for_equivalence=_margin(row, _with_margin(dataset, analysis, sides, at, judge)),
    )


def _without_each(
    dataset: xr.Dataset,
    analysis: Analysis,
    sides: tuple[Samples, Samples],
    at: int,
    judge: Callable[..., Analysis],
) -> tuple[WithoutSeed, ...] | None:
    row = analysis.comparisons[at]
    if row.verdict is Verdict.INVALID or max(row.baseline.n, row.candidate.n) > _MOST_SEEDS:
        return None
    changed = []
    configs = [str(name) for name in dataset["config"].values.tolist()]
    for side in sides:
        place = configs.index(side.config)
        for number in np.flatnonzero(~np.isnan(side.value[at])).tolist():
            found = _judged(_left_out(dataset, at, place, number), analysis, at, judge)
            if found is not row.verdict:
                seed = int(dataset["seed"].values[number])
                changed.append(WithoutSeed(config=side.config, seed=seed, verdict=found))
    return tuple(changed)


def _left_out(dataset: xr.Dataset, at: int, config: int, seed: int) -> xr.Dataset:
    """Return the dataset as if one run had never been made."""
    status = dataset["run_status"].copy()
    status[{"shape": at, "config": config, "seed": seed}] = RunStatus.MISSING
    return dataset.assign(run_status=status)


def _seeds(analysis: Analysis, sides: tuple[Samples, Samples], at: int) -> int:
    row = analysis.comparisons[at]
    if row.verdict is Verdict.INVALID or not row.boost:
        return 0
    tested = sum(not math.isnan(other.p) for other in analysis.comparisons)
    alpha = alpha_of(analysis.level)
    boost = row.boost
    if analysis.choices.require_margin:  # on logs, what there is beyond the margin has to be found
        boost = math.expm1(abs(math.log1p(boost)) - math.log1p(analysis.margin))
        if boost <= 0:
            return 0
    needed = seeds_to_find(boost, *sides, choices=analysis.choices, alpha=alpha, tests=max(tested, 1))
    return int(needed[at])


def _judged(changed: xr.Dataset, analysis: Analysis, at: int, judge: Callable[..., Analysis]) -> Verdict:
    """Return the verdict on the one shape that was changed, the others being as they were analysed."""
    choices = analysis.choices
    if LOOKS in changed.attrs or (choices.require_margin and choices.family_wise):
        return judge(changed).comparisons[at].verdict  # the others' verdicts, or intervals, enter this one
    row = judge(changed.isel(shape=[at])).comparisons[0]
    together = choices.test == "moderated" or choices.correction == Correction.MAX_T
    row = _tested_again(row, changed, analysis, at) if together else _corrected(row, analysis, at)
    return verdict_of(gates(row, analysis), row)


def _corrected(row: Comparison, analysis: Analysis, at: int) -> Comparison:
    """Correct the p-values of a shape over those that the other shapes have."""

    def corrected(name: str) -> float:
        p = [getattr(other, name) for other in analysis.comparisons]
        p[at] = getattr(row, name)
        return float(adjust(p, Correction(analysis.choices.correction))[at])

    return replace(
        row,
        p_adjusted=corrected("p"),
        p_welch_adjusted=corrected("p_welch"),
        p_equivalence_adjusted=corrected("p_equivalence"),
    )


def _tested_again(row: Comparison, changed: xr.Dataset, analysis: Analysis, at: int) -> Comparison:
    """Correct the p-values of a shape by tests that take all shapes together."""
    sides = extract(changed, analysis.baseline), extract(changed, analysis.candidate)
    tests = run_tests(
        *(side.value for side in sides),
        floor=floors(*sides),
        choices=analysis.choices,
        margin=analysis.margin,
        rank_test=False,
        rng=np.random.default_rng(analysis.rng_seed),
    )
    return replace(
        row,
        p_adjusted=float(tests.p_adjusted[at]),
        p_welch_adjusted=float(tests.p_welch_adjusted[at]),
        p_equivalence_adjusted=float(tests.p_equivalence_adjusted[at]),
    )


def _with_margin(
    dataset: xr.Dataset,
    analysis: Analysis,
    sides: tuple[Samples, Samples],
    at: int,
    judge: Callable[..., Analysis],
) -> Callable[[float], Verdict]:
    """Return the verdict as a function of the margin, on which only the tests of equivalence depend."""
    if LOOKS in dataset.attrs:
        return lambda margin: judge(dataset, margin=margin).comparisons[at].verdict
    row, pair = analysis.comparisons[at], (sides[0].value, sides[1].value)
    estimate = judging_estimate(*pair, floor=floors(*sides), choices=analysis.choices)
    one_split = rarest(*pair)

    def verdict(margin: float) -> Verdict:
        p = equivalence_p(estimate, one_split, margin=math.log1p(margin))
        adjusted = adjust(p, Correction(analysis.choices.correction))
        found = replace(row, p_equivalence_adjusted=float(adjusted[at]))
        return verdict_of(gates(found, replace(analysis, margin=margin)), found)

    return verdict


def _margin(row: Comparison, verdict: Callable[[float], Verdict]) -> float:
    """Find the margin at which the verdict becomes equivalent, which only an undecided one can.

    Bounds are halved by their ratio, so that small margins are found as precisely as large ones.
    """

    def is_equivalent(margin: float) -> bool:
        return verdict(margin) is Verdict.EQUIVALENT

    if row.verdict is not Verdict.INCONCLUSIVE or not is_equivalent(_LARGEST_MARGIN):
        return math.nan
    low, high = _SMALLEST_MARGIN, _LARGEST_MARGIN
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if is_equivalent(middle) else (middle, high)
    return high
