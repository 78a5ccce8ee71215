"""The whole story of one shape: samples, every method, the gates of the verdict, what would change it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property

import numpy as np
import xarray as xr

from abtune.compare.compare import compare, verdict_of
from abtune.compare.results import Analysis, Comparison, Verdict
from abtune.compare.statistics import Tests, compute, run_tests, seeds_to_find
from abtune.dataset.schema import RunStatus, labels_of
from abtune.errors import InputError
from abtune.report.stories import Sample, sample_of
from abtune.samples import Samples, extract_both, keep_best, two_sample
from abtune.shapes import select_labels
from abtune.stats.estimates import from_log
from abtune.stats.intervals.bootstrap_t import Tails
from abtune.stats.intervals.interval_methods import methods_for
from abtune.stats.testing.design import LOOKS
from abtune.stats.testing.difference_tests import tests_for
from abtune.stats.two_sample import Integers, TwoSample

# With more seeds, each weighs little, and leaving out each in turn takes long.
_MOST_SEEDS = 30
_MOST = 10  # shapes


@dataclass(frozen=True, slots=True, kw_only=True)
class WithoutSeed:
    """The verdict when one seed is left out."""

    config: str  # empty for a pair
    seed: int
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """What would change a verdict."""

    without_seed: tuple[WithoutSeed, ...] | None  # seeds whose absence changes it; None if that was not tried
    seeds_for_estimate: int  # per side, for 80 % power at the estimated boost; 0 if unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class PairBoost:
    """The boost of one pair, a fraction."""

    seed: int
    boost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodInterval:
    """The interval of the boost by one method; ``judged`` marks the one that the verdict rests on."""

    method: str
    boost: float
    boost_low: float
    boost_high: float
    judged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodTest:
    """What one test gives, raw and corrected over the shapes; `judged` as for intervals."""

    test: str
    p: float
    p_adjusted: float
    judged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """All that is known of one shape."""

    comparison: Comparison
    shapes: int
    tested: int  # shapes with tests, which the correction covers
    correction: str
    level: float
    margin: float
    baseline: Sample
    candidate: Sample
    paired: bool
    pairs: tuple[PairBoost, ...]  # empty where seeds are independent
    intervals: tuple[MethodInterval, ...]
    tests: tuple[MethodTest, ...]
    sensitivity: Sensitivity


def explain_all(dataset: xr.Dataset, analysis: Analysis, shapes: str) -> tuple[Explanation, ...]:
    """Return the whole story of every shape of the analysis that a label, glob or kind names."""
    labels = [row.shape for row in analysis.comparisons]
    of_kind = [row.shape for row in analysis.comparisons if fnmatchcase(row.workload, shapes)]
    # A label comes first: it may look like a glob or like a kind.
    found = [shapes] if shapes in labels else of_kind or select_labels([shapes], labels)
    if len(found) > _MOST:
        raise InputError(
            f"at most {_MOST} shapes are explained at a time; "
            f"{shapes!r} matches {len(found)}: {', '.join(found)}"
        )
    return tuple(explain(dataset, analysis, shape) for shape in found)


def explain(dataset: xr.Dataset, analysis: Analysis, shape: str) -> Explanation:
    """Return the whole story of the shape with this label."""
    index = [row.shape for row in analysis.comparisons].index(shape)
    dataset = dataset.sel(shape=[row.shape for row in analysis.comparisons])
    sides = extract_both(dataset, analysis.baseline, analysis.candidate)
    samples = two_sample(*keep_best(sides, analysis.settings.quantity))
    row, seeds = analysis.comparisons[index], dataset["seed"].values
    changes = _Changes(dataset, analysis, sides, index)
    return Explanation(
        comparison=row,
        shapes=len(analysis.comparisons),
        tested=analysis.tested,
        correction=analysis.settings.correction,
        level=analysis.level,
        margin=analysis.margin,
        baseline=sample_of(sides[0], index, seeds),
        candidate=sample_of(sides[1], index, seeds),
        paired=analysis.settings.paired,
        pairs=tuple(_pairs(sides, index, seeds)) if analysis.settings.paired else (),
        intervals=tuple(_intervals(samples.rows(slice(index, index + 1)), analysis)),
        tests=tuple(_tests(samples, index, analysis)),
        sensitivity=Sensitivity(
            without_seed=changes.without_each(),
            seeds_for_estimate=changes.seeds(),
        ),
    )


def _pairs(sides: tuple[Samples, Samples], index: int, seeds: Integers) -> Iterator[PairBoost]:
    """Yield the boosts of whole pairs, the smallest first."""
    difference = sides[0].value[index] - sides[1].value[index]
    for at in np.argsort(difference)[: sides[0].n[index]]:
        yield PairBoost(seed=int(seeds[at]), boost=from_log(difference[at]))


def _intervals(samples: TwoSample, analysis: Analysis) -> Iterator[MethodInterval]:
    settings = analysis.settings
    for name, method in methods_for(settings.estimand, paired=settings.paired).items():
        rng = np.random.default_rng(settings.rng_seed)
        found = method.compute(samples, level=settings.level, rng=rng)
        yield MethodInterval(
            method=name,
            boost=from_log(found.difference[0]),
            boost_low=from_log(found.low[0]),
            boost_high=from_log(found.high[0]),
            judged=name == settings.method,
        )


def _tests(samples: TwoSample, index: int, analysis: Analysis) -> Iterator[MethodTest]:
    """Yield every test of this shape, corrected over all shapes as the analysis is, or as its default."""
    single = not analysis.settings.paired and analysis.settings.quantity.searches == 1
    settings = replace(analysis.settings, rank_test=single)
    kinds, made = tests_for(settings.estimand, paired=settings.paired), {}
    for name, test in kinds.items():
        correction = settings.correction if settings.procedure.fits(test) else test.correction
        changed = replace(settings, test=name, correction=correction)
        made[name] = run_tests(samples, changed, np.random.default_rng(settings.rng_seed))
    judging, judged = made[settings.test], analysis.comparisons[index]

    def row(test: str, tests: Tests, name: str, *, judges: bool) -> MethodTest:
        both = name, f"{name}_adjusted"
        if judges:  # of several looks, the row has the numbers of the one that decided
            p, adjusted = (getattr(judged, kind) for kind in both)
        else:
            p, adjusted = (float(getattr(tests, kind)[index]) for kind in both)
        return MethodTest(test=test, p=p, p_adjusted=adjusted, judged=judges)

    for name, tests in made.items():
        yield row(name, tests, "p", judges=tests is judging)
        if confirming := kinds[name].confirmed_by:
            yield row(confirming, tests, "p_welch", judges=tests is judging)
            if settings.rank_test:
                yield row("Mann-Whitney", tests, "p_rank", judges=False)
        # These belong to the report, whichever test is listed, so they stand once.
        if name == next(iter(made)):
            if judged.p_resampled is not None and not math.isnan(judged.p_resampled):
                yield row("bootstrap-t", tests, "p_resampled", judges=True)
            yield row("equivalence", tests, "p_equivalence", judges=True)


class _Changes:
    """What the verdict on one shape would be if something were different."""

    def __init__(
        self, dataset: xr.Dataset, analysis: Analysis, sides: tuple[Samples, Samples], index: int
    ) -> None:
        self.dataset, self.analysis, self.sides, self.index = dataset, analysis, sides, index
        self.row = analysis.comparisons[index]
        # Weights name shapes that a part of the dataset may lack, and no verdict depends on them.
        self.settings = replace(analysis.settings, weights=None)

    def without_each(self) -> tuple[WithoutSeed, ...] | None:
        """Return the seeds whose absence changes the verdict; None where that is not tried."""
        row, dataset = self.row, self.dataset
        if row.verdict is Verdict.INVALID or max(row.baseline.n, row.candidate.n) > _MOST_SEEDS:
            return None
        if 2 < self.settings.quantity.seeds == min(row.baseline.n, row.candidate.n):
            return None  # with a seed fewer nothing is judged
        found = []
        configs = labels_of(dataset, "config")
        for side in self.sides[:1] if self.settings.paired else self.sides:
            for number in np.flatnonzero(~np.isnan(side.value[self.index])).tolist():
                verdict = self._verdict(self._without(config=configs.index(side.config), seed=number))
                if verdict is not row.verdict:
                    seed = int(dataset["seed"].values[number])
                    config = "" if self.settings.paired else side.config
                    found.append(WithoutSeed(config=config, seed=seed, verdict=verdict))
        return tuple(found)

    def _without(self, **runs: int) -> xr.Dataset:
        """Return the data without some runs of the shape."""
        status = self.dataset["run_status"].copy()
        status[{"shape": self.index, **runs}] = RunStatus.MISSING
        return self.dataset.assign(run_status=status)

    def _verdict(self, changed: xr.Dataset) -> Verdict:
        """Return the verdict on the shape among all: corrected p-values and bounds depend on the others."""
        if LOOKS in changed.attrs:  # what becomes of a shape depends on the verdicts on all
            return compare(changed, self.settings).comparisons[self.index].verdict
        return verdict_of(changed, self.settings, self.index, self._others)

    @cached_property
    def _others(self) -> Tails | None:
        """The resamples of the other shapes, which do not depend on this one."""
        # Without any run of this shape, so that its resamples are not among those of the others.
        sides = extract_both(self._without(), self.settings.baseline, self.settings.candidate)
        return compute(*keep_best(sides, self.settings.quantity), self.settings).tails

    def seeds(self) -> int:
        """Return the seeds per side that find the estimated boost; 0 if unknown."""
        boost, settings = self.row.boost, self.settings
        if self.row.verdict is Verdict.INVALID or not boost or math.isnan(self.row.detectable):
            return 0
        if self.row.p_resampled is not None:  # plans do not cover bootstrap-t
            return 0
        if settings.require_margin:  # the part beyond the margin, on logs, has to be found
            boost = math.expm1(abs(math.log1p(boost)) - math.log1p(settings.margin))
            if boost <= 0:
                return 0
        tests = max(self.analysis.tested, 1)
        return int(seeds_to_find(boost, *self.sides, settings, tests=tests)[self.index])
