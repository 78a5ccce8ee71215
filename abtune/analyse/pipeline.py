"""From a dataset to an analysis: samples, statistics, verdicts. Nothing is read, written or printed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from abtune.analyse import caveats, failures
from abtune.analyse.aggregate import overall
from abtune.analyse.arguments import check_numbers, choose_configs, restrict
from abtune.analyse.boost import DEFINITION, from_log, of_sides
from abtune.analyse.comparison import Analysis, Comparison, Side
from abtune.analyse.computation import Computed, compute
from abtune.analyse.samples import Samples, extract
from abtune.analyse.verdict import Evidence, decide
from abtune.analyse.weights import Weights
from abtune.schema import validate

TEST_METHOD = "permutation test of mean log latency, confirmed by Welch's t"
CORRECTION = "Holm over the shapes, separately for difference and equivalence"


def analyze(
    dataset: xr.Dataset,
    *,
    baseline: str | None = None,
    candidate: str | None = None,
    level: float = 0.95,
    margin: float = 0.02,
    rng_seed: int = 0,
    shapes: Sequence[str] | None = None,
    weights: Weights | None = None,
) -> Analysis:
    """Judge a candidate configuration against a baseline, shape by shape and over all shapes.

    Parameters
    ----------
    dataset : xarray.Dataset
        As :func:`abtune.open_dataset` or :func:`abtune.make_dataset` return it.
    baseline, candidate : str, optional
        Configurations; by default the dataset's first, and the first other than the baseline.
    level : float
        Confidence level of the intervals, a fraction; tests are at 1 - level.
    margin : float
        The smallest boost that matters, a fraction. A slowdown by the same ratio counts as equally large.
    rng_seed : int
        Seed of the random splits that stand in for all of them beyond 15 + 15 seeds.
    shapes : sequence of str, optional
        Labels, globs or presets to restrict the analysis, and the correction, to.
    weights : Weights, optional
        How often a program calls each shape, for the boost of its whole time.

    Returns
    -------
    Analysis
        The same for the same arguments, bit for bit.

    Raises
    ------
    InputError
        If an argument cannot be used.
    DatasetError
        If the dataset is not valid.

    Examples
    --------
    >>> import abtune
    >>> dataset = abtune.make_dataset([[[2.0, 2.1], [1.0, 1.1]]], shapes=["s"], configs=["old", "new"])
    >>> print(abtune.analyze(dataset).comparisons[0].verdict)
    inconclusive
    """
    validate(dataset)
    check_numbers(level, margin, rng_seed)
    names = choose_configs(dataset, baseline, candidate)
    dataset = restrict(dataset, shapes)
    sides = extract(dataset, names[0]), extract(dataset, names[1])
    alpha = round(1 - level, 12)  # a level of 0.9 means 0.1, not a rounding error less
    statistics = compute(*sides, level=level, alpha=alpha, margin=margin, rng=np.random.default_rng(rng_seed))
    labels = tuple(str(label) for label in dataset["shape"].values.tolist())
    workloads = [str(name) for name in dataset["workload"].values.tolist()]
    comparisons = tuple(
        _compare(index, labels[index], workloads[index], sides, statistics, alpha=alpha, margin=margin)
        for index in range(len(labels))
    )
    whole = overall(*sides, shapes=labels, log_boost=statistics.log_boost, level=level, weights=weights)
    return Analysis(
        baseline=names[0],
        candidate=names[1],
        level=level,
        margin=margin,
        rng_seed=rng_seed,
        interval_method=statistics.interval.method,
        test_method=TEST_METHOD,
        correction=CORRECTION,
        definition=DEFINITION,
        comparisons=comparisons,
        overall=whole.overall,
        caveats=(
            *caveats.of_design(*sides, comparisons, alpha),
            *failures.caveats(dataset, *names),
            *whole.caveats,
        ),
    )


def _compare(
    index: int,
    shape: str,
    workload: str,
    samples: tuple[Samples, Samples],
    statistics: Computed,
    *,
    alpha: float,
    margin: float,
) -> Comparison:
    sides = [_side(part, index) for part in samples]
    evidence = Evidence(
        baseline=sides[0],
        candidate=sides[1],
        boost=of_sides(sides[0], sides[1], float(statistics.log_boost[index])),
        boost_low=from_log(statistics.interval.low[index]),
        boost_high=from_log(statistics.interval.high[index]),
        p_adjusted=float(statistics.p_adjusted[index]),
        p_welch_adjusted=float(statistics.p_welch_adjusted[index]),
        p_equivalence_adjusted=float(statistics.p_equivalence_adjusted[index]),
        alpha=alpha,
        margin=margin,
        detectable=float(statistics.plan.detectable[index]),
        seeds=int(statistics.plan.seeds[index]),
        fewest=statistics.plan.fewest,
    )
    decision = decide(evidence)
    notes = [note for part in samples for note in caveats.of_side(part, index)]
    notes += caveats.of_methods(statistics.interval, statistics.welch, index)
    notes += caveats.of_tests(evidence.p_adjusted, evidence.p_welch_adjusted, alpha)
    return Comparison(
        shape=shape,
        workload=workload,
        baseline=sides[0],
        candidate=sides[1],
        boost=evidence.boost,
        boost_low=evidence.boost_low,
        boost_high=evidence.boost_high,
        p=float(statistics.p[index]),
        p_adjusted=evidence.p_adjusted,
        p_equivalence=float(statistics.p_equivalence[index]),
        p_equivalence_adjusted=evidence.p_equivalence_adjusted,
        verdict=decision.verdict,
        reason=decision.reason,
        caveats=tuple(notes),
    )


def _side(samples: Samples, index: int) -> Side:
    return Side(
        config=samples.config,
        n=int(samples.n[index]),
        failed=int(samples.failed[index]),
        latency=float(samples.latency[index]),
        noise=float(samples.noise[index]),
    )
