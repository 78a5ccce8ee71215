"""From a dataset to an analysis: samples, statistics, verdicts. Nothing is read, written or printed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from abtune.analyse import caveats, failures, methods
from abtune.analyse.aggregate import overall
from abtune.analyse.arguments import check_numbers, choose_configs, choose_methods, restrict
from abtune.analyse.boost import definition, from_log, of_sides
from abtune.analyse.comparison import Analysis, Choices, Comparison, Side
from abtune.analyse.computation import Computed, compute, resolution
from abtune.analyse.samples import Samples, extract
from abtune.analyse.sequential import judge_at_looks, recorded_looks
from abtune.analyse.verdict import Evidence, decide
from abtune.analyse.weights import Weights
from abtune.analyse.wording import confirming_test, correction_words, test_words
from abtune.schema import validate


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
    method: str | None = None,
    estimand: str = "geometric-mean",
    test: str = "permutation",
    correction: str = "holm",
    rank_test: bool = False,
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
        Seed of the random splits that stand in for all of them beyond 15 + 15 seeds, and of the resamples
        of methods that cannot be computed without.
    shapes : sequence of str, optional
        Labels, globs or presets to restrict the analysis, and the correction, to.
    weights : Weights, optional
        How often a program calls each shape, for the boost of its whole time.
    method : str, optional
        The interval: expanded-percentile (the default), bootstrap-t, symmetric-bootstrap-t, percentile, bca,
        welch or permutation; of medians percentile (the default there) or price-bonett.
    estimand : str
        Whose ratio the boost of a shape is: geometric-mean, arithmetic-mean or median.
    test : str
        Of a difference: permutation, confirmed by Welch's t, or moderated, which takes the shapes' noise
        to be of one kind and so gets by with fewer seeds.
    correction : str
        Over the shapes: holm; max-t, for fewer than 7 seeds; bh, a screen; none.
    rank_test : bool
        Whether to add the Mann-Whitney test, which finds that the typical run is faster.

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
    choices = choose_methods(method=method, estimand=estimand, test=test, correction=correction)
    names = choose_configs(dataset, baseline, candidate)
    dataset = restrict(dataset, shapes)

    def judge(part: xr.Dataset, alpha: float) -> Analysis:
        return _judge(
            part,
            names,
            choices,
            level=level,
            alpha=alpha,
            margin=margin,
            rng_seed=rng_seed,
            rank_test=rank_test,
            weights=weights,
        )

    looks = recorded_looks(dataset, level=level)
    if looks:
        return judge_at_looks(dataset, looks, judge)
    return judge(dataset, round(1 - level, 12))  # a level of 0.9 means 0.1, not a rounding error less


def _judge(
    dataset: xr.Dataset,
    names: tuple[str, str],
    choices: Choices,
    *,
    level: float,
    alpha: float,
    margin: float,
    rng_seed: int,
    rank_test: bool,
    weights: Weights | None,
) -> Analysis:
    sides = extract(dataset, names[0]), extract(dataset, names[1])
    statistics = compute(
        *sides,
        choices=choices,
        level=level,
        alpha=alpha,
        margin=margin,
        rank_test=rank_test,
        rng=np.random.default_rng(rng_seed),
    )
    labels = tuple(str(label) for label in dataset["shape"].values.tolist())
    workloads = [str(name) for name in dataset["workload"].values.tolist()]
    comparisons = tuple(
        _compare(
            index, labels[index], workloads[index], sides, statistics, choices, alpha=alpha, margin=margin
        )
        for index in range(len(labels))
    )
    whole = overall(*sides, shapes=labels, log_boost=statistics.log_ratio, level=level, weights=weights)
    return Analysis(
        baseline=names[0],
        candidate=names[1],
        level=level,
        margin=margin,
        rng_seed=rng_seed,
        choices=choices,
        interval_method=statistics.interval.method,
        test_method=test_words(choices),
        correction=correction_words(choices),
        definition=definition(choices.estimand),
        comparisons=comparisons,
        overall=whole.overall,
        caveats=(
            *methods.of_choices(choices, comparisons, alpha),
            *caveats.of_design(*sides, comparisons, _needed(choices, comparisons, alpha), choices),
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
    choices: Choices,
    *,
    alpha: float,
    margin: float,
) -> Comparison:
    sides = [_side(part, index) for part in samples]
    tests, wide = statistics.tests, statistics.simultaneous
    alone = choices.test == "moderated"  # nothing has to confirm it
    p_welch = float(tests.p_welch_adjusted[index])
    evidence = Evidence(
        baseline=sides[0],
        candidate=sides[1],
        boost=of_sides(sides[0], sides[1], float(statistics.log_boost[index])),
        boost_low=from_log(statistics.interval.low[index]),
        boost_high=from_log(statistics.interval.high[index]),
        p_adjusted=float(tests.p_adjusted[index]),
        p_welch_adjusted=float(tests.p_adjusted[index]) if alone else p_welch,
        p_equivalence_adjusted=float(tests.p_equivalence_adjusted[index]),
        confirming=confirming_test(choices),
        alpha=alpha,
        margin=margin,
        detectable=float(statistics.plan.detectable[index]),
        seeds=int(statistics.plan.seeds[index]),
        fewest=statistics.plan.fewest,
    )
    decision = decide(evidence)
    notes = [note for part in samples for note in caveats.of_side(part, index)]
    notes += caveats.of_methods(statistics.interval, statistics.welch, index)
    notes += caveats.of_tests(evidence)
    return Comparison(
        shape=shape,
        workload=workload,
        baseline=sides[0],
        candidate=sides[1],
        boost=evidence.boost,
        boost_low=evidence.boost_low,
        boost_high=evidence.boost_high,
        boost_low_simultaneous=from_log(wide.low[index]),
        boost_high_simultaneous=from_log(wide.high[index]),
        p=float(tests.p[index]),
        p_adjusted=evidence.p_adjusted,
        p_welch=float(tests.p_welch[index]),
        p_welch_adjusted=p_welch,
        p_rank=None if tests.p_rank is None else float(tests.p_rank[index]),
        p_rank_adjusted=None if tests.p_rank_adjusted is None else float(tests.p_rank_adjusted[index]),
        p_equivalence=float(tests.p_equivalence[index]),
        p_equivalence_adjusted=evidence.p_equivalence_adjusted,
        verdict=decision.verdict,
        reason=decision.reason,
        caveats=tuple(notes),
    )


def _needed(choices: Choices, comparisons: tuple[Comparison, ...], alpha: float) -> float:
    """Return the level that the smallest p-value of the seeds has to reach."""
    tested = sum(not np.isnan(row.p) for row in comparisons)
    return resolution(choices, alpha, max(tested, 1))


def _side(samples: Samples, index: int) -> Side:
    return Side(
        config=samples.config,
        n=int(samples.n[index]),
        failed=int(samples.failed[index]),
        latency=float(samples.latency[index]),
        noise=float(samples.noise[index]),
    )
