"""The whole story of one shape: samples, every method, the gates of the verdict, what would change it.

Nothing here decides: verdicts come from the analysis, and from analyses of the same data with something
left out.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import xarray as xr

from abtune.compare.results import Analysis, Comparison, Gate
from abtune.compare.tests import run_tests
from abtune.errors import InputError
from abtune.samples.samples import Samples, extract, two_sample
from abtune.sections.explain.sensitivity import Sensitivity, what_would_change
from abtune.shapes import select_labels
from abtune.stats.boost import from_log
from abtune.stats.intervals.interval_methods import methods_for
from abtune.stats.testing.difference_tests import tests_for
from abtune.stats.two_sample import Floats, Integers


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedValue:
    """The latency of one seed's winner, seconds."""

    seed: int
    latency: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One side of a shape: its seeds, fastest first, and the geometric mean."""

    config: str
    seeds: tuple[SeedValue, ...]
    latency: float
    noise: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodInterval:
    """What one method gives as interval of the boost; `judged` marks the one that the verdict rests on."""

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
    """All that is known of one shape.

    Attributes
    ----------
    comparison : Comparison
        As in the report.
    shapes : int
        Shapes of the analysis.
    tested : int
        Those of them that have tests, which the correction covers.
    correction : str
        Its name.
    level, margin : float
        Of the analysis.
    baseline, candidate : Sample
        Both sides.
    intervals : tuple of MethodInterval
        Of every method for this estimand.
    tests : tuple of MethodTest
        Of every test.
    gates : tuple of Gate
        What a verdict asks, and what passed.
    sensitivity : Sensitivity
        What would change the verdict.
    """

    comparison: Comparison
    shapes: int
    tested: int
    correction: str
    level: float
    margin: float
    baseline: Sample
    candidate: Sample
    intervals: tuple[MethodInterval, ...]
    tests: tuple[MethodTest, ...]
    gates: tuple[Gate, ...]
    sensitivity: Sensitivity


def explain(dataset: xr.Dataset, analysis: Analysis, shape: str) -> Explanation:
    """Return the whole story of one shape.

    Parameters
    ----------
    dataset : xarray.Dataset
        The one that was analysed.
    analysis : Analysis
        Its analysis.
    shape : str
        A label, or a glob that matches one shape of the analysis.

    Raises
    ------
    InputError
        If there is no such shape in the analysis, or more than one.
    """
    index = _find(analysis, shape)
    dataset = dataset.sel(shape=[row.shape for row in analysis.comparisons])
    sides = extract(dataset, analysis.baseline), extract(dataset, analysis.candidate)
    row, seeds = analysis.comparisons[index], dataset["seed"].values
    return Explanation(
        comparison=row,
        shapes=len(analysis.comparisons),
        tested=analysis.tested,
        correction=analysis.settings.correction,
        level=analysis.level,
        margin=analysis.margin,
        baseline=_sample(sides[0], index, seeds),
        candidate=_sample(sides[1], index, seeds),
        intervals=tuple(_intervals(sides, index, analysis)),
        tests=tuple(_tests(sides, index, analysis)),
        gates=row.gates,
        sensitivity=what_would_change(dataset, analysis, sides, index),
    )


def _find(analysis: Analysis, shape: str) -> int:
    labels = [row.shape for row in analysis.comparisons]
    found = [shape] if shape in labels else select_labels([shape], labels)
    if len(found) > 1:
        raise InputError(f"one shape can be explained at a time; {shape!r} matches {len(found)}")
    return labels.index(found[0])


def _sample(side: Samples, at: int, seeds: Integers) -> Sample:
    order = [place for place in np.argsort(side.value[at]).tolist() if not math.isnan(side.value[at, place])]
    return Sample(
        config=side.config,
        seeds=tuple(
            SeedValue(seed=int(seeds[place]), latency=float(np.exp(side.value[at, place]))) for place in order
        ),
        latency=float(side.latency[at]),
        noise=float(side.noise[at]),
    )


def _intervals(sides: tuple[Samples, Samples], at: int, analysis: Analysis) -> Iterator[MethodInterval]:
    samples = two_sample(*sides).rows(slice(at, at + 1))
    for name, method in methods_for(analysis.settings.estimand).items():
        rng = np.random.default_rng(analysis.rng_seed)
        found = method.compute(samples, level=analysis.level, rng=rng)
        yield MethodInterval(
            method=name,
            boost=from_log(found.difference[0]),
            boost_low=from_log(found.low[0]),
            boost_high=from_log(found.high[0]),
            judged=name == analysis.settings.method,
        )


def _tests(sides: tuple[Samples, Samples], at: int, analysis: Analysis) -> Iterator[MethodTest]:
    """Every test of all shapes, corrected as the analysis is, of which this shape's are shown."""
    settings = analysis.settings
    made = {
        name: run_tests(
            two_sample(*sides),
            dataclasses.replace(settings, test=name, rank_test=True),
            np.random.default_rng(analysis.rng_seed),
        )
        for name, test in tests_for(settings.estimand).items()
        if settings.procedure.fits(test)
    }
    judging = made[settings.test]
    for name, found in made.items():
        judged = found is judging
        yield _test(name, found.p, found.p_adjusted, at, judged=judged)
        confirming = tests_for(settings.estimand)[name].confirmed_by
        if confirming and found.p_rank is not None and found.p_rank_adjusted is not None:
            yield _test(confirming, found.p_welch, found.p_welch_adjusted, at, judged=judged)
            yield _test("Mann-Whitney", found.p_rank, found.p_rank_adjusted, at, judged=False)
            equivalence = judging.p_equivalence, judging.p_equivalence_adjusted
            yield _test("equivalence", *equivalence, at, judged=True)


def _test(name: str, p: Floats, p_adjusted: Floats, at: int, *, judged: bool) -> MethodTest:
    return MethodTest(test=name, p=float(p[at]), p_adjusted=float(p_adjusted[at]), judged=judged)
