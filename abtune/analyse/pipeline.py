"""From a dataset to an analysis: samples, statistics, verdicts. Nothing is read, written or printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from abtune.analyse import boost, caveats, failures, methods, throttling
from abtune.analyse.aggregate import overall
from abtune.analyse.arguments import check_numbers, choose_configs, choose_methods, restrict
from abtune.analyse.comparison import Analysis, Choices, Comparison, alpha_of
from abtune.analyse.computation import compute, resolution
from abtune.analyse.judging import Measured, compare
from abtune.analyse.samples import Samples, extract
from abtune.analyse.sequential import judge_at_looks, recorded_looks
from abtune.analyse.weights import Weights, as_weights
from abtune.analyse.wording import correction_words, test_words
from abtune.schema import validate
from abtune.stats.estimand import Estimand
from abtune.stats.methods import in_words


def analyze(
    dataset: xr.Dataset,
    *,
    baseline: str | None = None,
    candidate: str | None = None,
    level: float = 0.95,
    margin: float = 0.02,
    rng_seed: int = 0,
    shapes: Sequence[str] | None = None,
    weights: Weights | Mapping[str, float] | None = None,
    method: str | None = None,
    estimand: str = "geometric-mean",
    test: str = "permutation",
    correction: str = "holm",
    rank_test: bool = False,
    require_margin: bool = False,
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
    weights : Weights or mapping of str to float, optional
        How often a program calls each shape, for the boost of its whole time. A plain mapping is from labels
        of this dataset to numbers of calls.
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
    require_margin : bool
        Whether a difference is called one only if its interval lies beyond the margin.

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
    choices = choose_methods(
        method=method,
        estimand=estimand,
        test=test,
        correction=correction,
        require_margin=require_margin,
    )
    names = choose_configs(dataset, baseline, candidate)
    calls = None if weights is None else as_weights(weights)
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
            weights=calls,
        )

    looks = recorded_looks(dataset, level=level)
    if looks:
        return judge_at_looks(dataset, looks, judge)
    return judge(dataset, alpha_of(level))


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
    rng = np.random.default_rng(rng_seed)
    measured = _measure(
        dataset, sides, choices, level=level, alpha=alpha, margin=margin, rank_test=rank_test, rng=rng
    )
    comparisons = tuple(compare(measured, at) for at in range(len(measured.shapes)))
    differences = measured.statistics.log_ratio
    whole = overall(*sides, shapes=measured.shapes, log_boost=differences, level=level, weights=weights)
    return Analysis(
        baseline=names[0],
        candidate=names[1],
        level=level,
        margin=margin,
        rng_seed=rng_seed,
        choices=choices,
        interval_method=in_words(choices.method, Estimand(choices.estimand)),
        test_method=test_words(choices),
        correction=correction_words(choices),
        definition=boost.definition(choices.estimand, dataset),
        comparisons=comparisons,
        overall=whole.overall,
        caveats=(
            *methods.of_choices(choices, comparisons, alpha),
            *caveats.of_design(*sides, comparisons, _needed(choices, comparisons, alpha), choices),
            *boost.caveats(dataset),
            *failures.caveats(dataset, *names),
            *throttling.caveats(dataset, *names),
            *whole.caveats,
        ),
    )


def _measure(
    dataset: xr.Dataset,
    sides: tuple[Samples, Samples],
    choices: Choices,
    *,
    level: float,
    alpha: float,
    margin: float,
    rank_test: bool,
    rng: np.random.Generator,
) -> Measured:
    statistics = compute(
        *sides, choices=choices, level=level, alpha=alpha, margin=margin, rank_test=rank_test, rng=rng
    )
    return Measured(
        shapes=tuple(str(label) for label in dataset["shape"].values.tolist()),
        workloads=tuple(str(name) for name in dataset["workload"].values.tolist()),
        samples=sides,
        statistics=statistics,
        choices=choices,
        alpha=alpha,
        margin=margin,
    )


def _needed(choices: Choices, comparisons: tuple[Comparison, ...], alpha: float) -> float:
    """Return the level that the smallest p-value of the seeds has to reach."""
    tested = sum(not np.isnan(row.p) for row in comparisons)
    return resolution(choices, alpha, max(tested, 1))
