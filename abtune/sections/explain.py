"""The whole story of one shape: samples, every method, the gates of the verdict, what would change it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import stdev

import numpy as np
import xarray as xr

from abtune.compare.compare import compare, verdict_of
from abtune.compare.results import Analysis, Comparison, Verdict
from abtune.compare.settings import Settings
from abtune.compare.statistics import compute, seeds_to_find
from abtune.dataset.check import check_list
from abtune.dataset.schema import RunStatus, labels_of
from abtune.report.columns import decimals_of, intervals
from abtune.report.page import Bullets, Grid, Heading, Part, Prose, Section, column, table
from abtune.report.stories import Sample, gate_sentences, sample_of, sample_parts
from abtune.samples import Sides, extract_both, keep_best, two_sample
from abtune.shapes import select_labels
from abtune.stats.estimates import EqualWithNaN, from_log
from abtune.stats.intervals.interval_methods import methods_for
from abtune.stats.skewness import may_be_chance
from abtune.stats.testing.attainable import MOST_SEEDS
from abtune.stats.testing.looks import LOOKS
from abtune.stats.two_sample import Integers
from abtune.text import listed, p_value, percent_cell, plain_percent, spread_percent

# With more seeds, each weighs little, and leaving out each in turn takes long.
_MOST_SEEDS = 30


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MethodInterval(EqualWithNaN):
    """The interval of the boost by one method; ``judged`` marks the one that the verdict rests on."""

    method: str
    boost: float
    boost_low: float
    boost_high: float
    judged: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MethodTest(EqualWithNaN):
    """What one of the tests of a verdict gives, raw and corrected over the shapes."""

    test: str
    p: float
    p_adjusted: float


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


def explain_all(analysis: Analysis, shapes: str | Sequence[str]) -> tuple[Explanation, ...]:
    """Return the whole story of every shape of the analysis that labels, globs or kinds name."""
    labels, kinds = zip(*((row.shape, row.workload) for row in analysis.comparisons), strict=True)
    named = [shapes] if isinstance(shapes, str) else shapes
    check_list("explain", named, [labels[0]])
    settings = analysis.settings
    # An interval depends on all shapes.
    by_method = {
        name: analysis
        if name == settings.method
        else compare(analysis.dataset, replace(settings, method=name))
        for name in methods_for(settings.estimand, paired=settings.paired)
    }
    return tuple(_explain(analysis, shape, by_method) for shape in select_labels(named, labels, kinds))


def _explain(analysis: Analysis, shape: str, by_method: Mapping[str, Analysis]) -> Explanation:
    index = [row.shape for row in analysis.comparisons].index(shape)
    dataset = analysis.dataset
    sides = extract_both(dataset, analysis.baseline, analysis.candidate)
    row, seeds = analysis.comparisons[index], dataset["seed"].values
    # With a seed fewer than the fewest, nothing is judged.
    has_spare = not 2 < analysis.settings.estimand.fewest_seeds == min(row.n)
    may_leave_out = row.verdict is not Verdict.INVALID and max(row.n) <= _MOST_SEEDS and has_spare
    return Explanation(
        comparison=row,
        shapes=len(analysis.comparisons),
        tested=analysis.tested,
        correction=analysis.settings.correction,
        level=analysis.level,
        margin=analysis.settings.margin,
        baseline=sample_of(sides[0], index, seeds),
        candidate=sample_of(sides[1], index, seeds),
        paired=analysis.settings.paired,
        pairs=tuple(_pairs(sides, index, seeds)) if analysis.settings.paired else (),
        intervals=tuple(
            MethodInterval(
                method=name,
                boost=other.comparisons[index].boost,
                boost_low=other.comparisons[index].boost_low,
                boost_high=other.comparisons[index].boost_high,
                judged=other is analysis,
            )
            for name, other in by_method.items()
        ),
        tests=tuple(_tests(row, analysis.settings)),
        sensitivity=Sensitivity(
            without_seed=tuple(_without_each(analysis, sides, index)) if may_leave_out else None,
            seeds_for_estimate=_seeds_for_estimate(analysis, sides, index),
        ),
    )


def _pairs(sides: Sides, index: int, seeds: Integers) -> Iterator[PairBoost]:
    """Yield the boosts of whole pairs, the smallest first."""
    difference = sides[0].value[index] - sides[1].value[index]
    for position in np.argsort(difference)[: sides[0].n[index]]:
        yield PairBoost(seed=int(seeds[position]), boost=from_log(difference[position]))


def _tests(row: Comparison, settings: Settings) -> Iterator[MethodTest]:
    test = settings.difference_test
    yield MethodTest(test=test.name, p=row.p, p_adjusted=row.p_adjusted)
    if test.confirmed_by:
        yield MethodTest(test=test.confirmed_by, p=row.p_welch, p_adjusted=row.p_welch_adjusted)
    p, adjusted = row.p_resampled, row.p_resampled_adjusted
    if p is not None and adjusted is not None and not math.isnan(p):
        yield MethodTest(test="bootstrap-t", p=p, p_adjusted=adjusted)
    yield MethodTest(test="equivalence", p=row.p_equivalence, p_adjusted=row.p_equivalence_adjusted)


def _without_each(analysis: Analysis, sides: Sides, index: int) -> Iterator[WithoutSeed]:
    """Yield the seeds of a shape whose absence changes its verdict."""
    # Weights name shapes that a part of the dataset may lack, and no verdict depends on them.
    dataset, settings = analysis.dataset, replace(analysis.settings, weights=None)

    def without(**runs: int) -> xr.Dataset:
        status = dataset["run_status"].copy()
        status[{"shape": index, **runs}] = RunStatus.MISSING
        return dataset.assign(run_status=status)

    has_looks, others = LOOKS in dataset.attrs, None
    if not has_looks:
        # The resamples of the other shapes: without any run of this shape, its own are not among them.
        rest = extract_both(without(), settings.baseline, settings.candidate)
        others = compute(keep_best(rest, settings.estimand), settings).tails
    configs = labels_of(dataset, "config")
    for side in sides[:1] if settings.paired else sides:
        for number in np.flatnonzero(~np.isnan(side.value[index])).tolist():
            changed = without(config=configs.index(side.config), seed=number)
            if has_looks:  # what becomes of a shape depends on the verdicts on all
                verdict = compare(changed, settings).comparisons[index].verdict
            else:  # the verdict among all shapes: corrected p-values and bounds depend on the others
                verdict = verdict_of(changed, settings, index, others)
            if verdict is not analysis.comparisons[index].verdict:
                seed = int(dataset["seed"].values[number])
                yield WithoutSeed(config="" if settings.paired else side.config, seed=seed, verdict=verdict)


def _seeds_for_estimate(analysis: Analysis, sides: Sides, index: int) -> int:
    """Return the seeds per side that find the estimated boost; 0 if unknown."""
    row, settings = analysis.comparisons[index], analysis.settings
    boost = row.boost
    if row.verdict is Verdict.INVALID or not boost or math.isnan(row.detectable):
        return 0
    # Plans do not cover bootstrap-t. Few shapes mostly make it, and it hardly matters if noise is normal.
    if row.p_resampled is not None and not may_be_chance(two_sample(*sides)):
        return 0
    return int(seeds_to_find(boost, sides, settings, tests=max(analysis.tested, 1))[index])


def explain_section(analysis: Analysis, shapes: str | Sequence[str]) -> Section:
    """Return the stories of the shapes that are named; the result of a single one is its story."""
    stories = explain_all(analysis, shapes)
    page = tuple(part for story in stories for part in explain_page(story))
    return Section(name="explain", page=page, result=stories if len(stories) > 1 else stories[0])


def explain_page(story: Explanation) -> tuple[Part, ...]:
    """Return the page."""
    row, tests = story.comparison, story.tests
    kind = f" ({row.workload})" if row.workload else ""
    over = f", corrected over {story.tested:,} shapes" if story.tested > 1 else ""
    changes = (*_what_would_change(story), *(note for note in row.caveats if note not in row.reason))
    return (
        Heading(f"{row.shape}{kind}: {row.verdict.words}"),
        Prose(row.reason),
        Heading("samples", minor=True),
        *sample_parts([story.baseline, story.candidate]),
        *([Bullets((_pairs_in_words(story),))] if story.pairs else []),
        Heading(f"boost, {plain_percent(story.level)} intervals", minor=True),
        _interval_table(story.intervals),
        Heading(f"tests{', not corrected' if story.correction == 'none' else over}", minor=True),
        table(
            "test",
            [test.test for test in tests],
            column("p", [p_value(test.p) for test in tests]),
            column("adj. p", [p_value(test.p_adjusted) for test in tests]),
        ),
        Heading("what a verdict requires", minor=True),
        Bullets(gate_sentences(row)),
        *((Heading("what would change it", minor=True), Bullets(changes)) if changes else ()),
    )


def _pairs_in_words(story: Explanation) -> str:
    decimals = decimals_of([(story.comparison.boost_low, story.comparison.boost_high)])
    listed = (f"{percent_cell(pair.boost, decimals)}\xa0({pair.seed})" for pair in story.pairs)
    logs = [math.log1p(pair.boost) for pair in story.pairs]
    noise = f"; noise {spread_percent(stdev(logs))}%" if len(logs) > 1 else ""
    return f"Boosts of the pairs, % (seed): {', '.join(listed)}{noise}."


def _interval_table(rows: Sequence[MethodInterval]) -> Grid:
    bounds = [(row.boost_low, row.boost_high) for row in rows]
    decimals = decimals_of(bounds)
    return table(
        "method",
        [row.method for row in rows],
        column("boost %", [percent_cell(row.boost, decimals) for row in rows]),
        column("interval", intervals(bounds, decimals)),
        column("used", ["yes" if row.judged else "" for row in rows], kind="word"),
    )


def _what_would_change(story: Explanation) -> Iterator[str]:
    row, sensitivity = story.comparison, story.sensitivity
    yield from _seeds_left_out(sensitivity, row.verdict, paired=story.paired)
    if row.verdict.more_seeds_help and sensitivity.seeds_for_estimate:
        decimals = decimals_of([(row.boost_low, row.boost_high)])
        seeds = f"{sensitivity.seeds_for_estimate:,} {'pairs' if story.paired else 'seeds per configuration'}"
        found_by = sensitivity.seeds_for_estimate < MOST_SEEDS
        find = f"about {seeds} find" if found_by else f"not even {seeds} find"
        yield (
            f"If the true boost is {percent_cell(row.boost, decimals)}%, as estimated, {find} it with 80% "
            "power."
        )
    if row.verdict is Verdict.INVALID:
        takes = "whole pairs" if story.paired else "seeds with a timing, of both configurations,"
        yield f"Only more {takes} can lead to a verdict."


def _seeds_left_out(sensitivity: Sensitivity, verdict: Verdict, *, paired: bool) -> Iterator[str]:
    if sensitivity.without_seed is None:
        return
    if not sensitivity.without_seed:
        kind = "pair" if paired else "seed"
        yield f"No single {kind} would: without any one the verdict stays {verdict.words}."
    groups: dict[tuple[Verdict, str], list[str]] = {}
    for seed in sensitivity.without_seed:
        groups.setdefault((seed.verdict, seed.config), []).append(str(seed.seed))
    for (changed, config), seeds in groups.items():
        kind, of = ("seed", f" of {config}") if config else ("pair", "")
        yield f"Without {kind} {listed(seeds, 'or')}{of}: {changed.words}."
