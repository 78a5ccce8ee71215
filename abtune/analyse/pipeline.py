"""From a dataset to an analysis: samples, statistics, verdicts. Nothing is read, written or printed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from abtune.analyse import caveats
from abtune.analyse.aggregate import overall
from abtune.analyse.boost import DEFINITION, from_log, of_sides
from abtune.analyse.comparison import Analysis, Comparison, Side
from abtune.analyse.samples import Samples, extract
from abtune.analyse.verdict import Evidence, decide
from abtune.errors import InputError, unknown_name
from abtune.schema import validate
from abtune.shapes import select_labels
from abtune.stats.interval import Interval, expanded_percentile, welch
from abtune.stats.multiplicity import holm
from abtune.stats.power import detectable_boost, fewest_seeds, seeds_needed
from abtune.stats.ragged import Floats, Integers
from abtune.stats.significance import equivalence_test, permutation_test, welch_test
from abtune.stats.variance import floored, moderated

TEST_METHOD = "permutation test of mean log latency, confirmed by Welch's t"
CORRECTION = "Holm over the shapes, separately for difference and equivalence"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Statistics:
    """Everything computed of all shapes at once; each array has shape (shapes,)."""

    log_boost: Floats
    interval: Interval
    welch: Interval
    p: Floats
    p_adjusted: Floats
    p_welch_adjusted: Floats
    p_equivalence: Floats
    p_equivalence_adjusted: Floats
    detectable: Floats
    seeds: Integers
    fewest: int


def analyze(
    dataset: xr.Dataset,
    *,
    baseline: str | None = None,
    candidate: str | None = None,
    level: float = 0.95,
    margin: float = 0.02,
    rng_seed: int = 0,
    shapes: Sequence[str] | None = None,
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
    _check_numbers(level, margin, rng_seed)
    names = _check_configs(dataset, baseline, candidate)
    dataset = _restrict(dataset, shapes)
    sides = extract(dataset, names[0]), extract(dataset, names[1])
    alpha = 1 - level
    statistics = _compute(*sides, level=level, margin=margin, rng=np.random.default_rng(rng_seed))
    labels = tuple(str(label) for label in dataset["shape"].values.tolist())
    workloads = [str(name) for name in dataset["workload"].values.tolist()]
    comparisons = tuple(
        _compare(index, labels[index], workloads[index], sides, statistics, alpha=alpha, margin=margin)
        for index in range(len(labels))
    )
    whole = overall(*sides, shapes=labels, log_boost=statistics.log_boost, level=level)
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
        caveats=(*caveats.of_design(*sides, comparisons, alpha), *whole.caveats),
    )


def _check_numbers(level: float, margin: float, rng_seed: int) -> None:
    if not 0 < level < 1:
        raise InputError(f"level is a fraction between 0 and 1, such as 0.95, not {level:g}")
    if not 0 < margin < 1:
        raise InputError(f"margin is a fraction between 0 and 1, such as 0.02, not {margin:g}")
    if rng_seed < 0:
        raise InputError(f"rng_seed must not be negative, as {rng_seed} is")


def _check_configs(dataset: xr.Dataset, baseline: str | None, candidate: str | None) -> tuple[str, str]:
    known = [str(name) for name in dataset["config"].values.tolist()]
    if len(known) < 2:
        raise InputError(
            f"a comparison takes two configurations; the dataset has {', '.join(known) or 'none'}"
        )
    for name in (baseline, candidate):
        if name is not None and name not in known:
            raise unknown_name("configuration", name, known)
    first = baseline if baseline is not None else next(name for name in known if name != candidate)
    second = candidate if candidate is not None else next(name for name in known if name != first)
    if first == second:
        raise InputError(f"baseline and candidate are both {first!r}; name two configurations")
    return first, second


def _restrict(dataset: xr.Dataset, shapes: Sequence[str] | None) -> xr.Dataset:
    if shapes is not None:
        labels = [str(label) for label in dataset["shape"].values.tolist()]
        wanted = [shapes] if isinstance(shapes, str) else shapes
        dataset = dataset.sel(shape=list(select_labels(wanted, labels)))
    if not dataset.sizes["shape"]:
        raise InputError("no shape to analyse: the dataset has none, or none was chosen")
    return dataset


def _compute(
    baseline: Samples, candidate: Samples, *, level: float, margin: float, rng: np.random.Generator
) -> _Statistics:
    pair = baseline.value, candidate.value
    floor = np.stack([baseline.floor, candidate.floor], axis=1)
    interval = expanded_percentile(*pair, level=level, floor=floor)
    p = permutation_test(*pair, rng=rng)
    p_equivalence = equivalence_test(*pair, margin=math.log1p(margin), floor=floor)
    tested = max(int(np.count_nonzero(~np.isnan(p))), 1)
    noise = [
        np.sqrt(moderated(floored(side.noise**2, side.floor), side.n - 1)) for side in (baseline, candidate)
    ]
    return _Statistics(
        log_boost=interval.difference,
        interval=interval,
        welch=welch(*pair, level=level, floor=floor),
        p=p,
        p_adjusted=holm(p),
        p_welch_adjusted=holm(welch_test(*pair, floor=floor)),
        p_equivalence=p_equivalence,
        p_equivalence_adjusted=holm(p_equivalence),
        detectable=detectable_boost(
            n_first=baseline.n,
            n_second=candidate.n,
            noise_first=noise[0],
            noise_second=noise[1],
            alpha=1 - level,
            shapes=tested,
        ),
        seeds=seeds_needed(
            margin, noise_first=noise[0], noise_second=noise[1], alpha=1 - level, shapes=tested
        ),
        fewest=fewest_seeds(alpha=1 - level, shapes=tested),
    )


def _compare(
    index: int,
    shape: str,
    workload: str,
    samples: tuple[Samples, Samples],
    statistics: _Statistics,
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
        detectable=float(statistics.detectable[index]),
        seeds=int(statistics.seeds[index]),
        fewest=statistics.fewest,
    )
    decision = decide(evidence)
    notes = [note for part in samples for note in caveats.of_side(part, index)]
    notes += caveats.of_methods(statistics.interval, statistics.welch, index)
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
