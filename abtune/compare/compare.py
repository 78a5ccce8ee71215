"""From a dataset to an analysis: samples, statistics, verdicts. Nothing is read, written or printed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import permutations
from typing import Any

import numpy as np
import xarray as xr

from abtune.compare import caveats, dataset_caveats
from abtune.compare.claims import find_worst, make_claims
from abtune.compare.gates import judge
from abtune.compare.overall import overall
from abtune.compare.results import Analysis, Evidence, Side, Verdict
from abtune.compare.sentence import make_sentence
from abtune.compare.sequential import compare_at_looks, recorded_looks
from abtune.compare.settings import Settings, Weights, as_weights, configurations, make_settings, restrict
from abtune.compare.statistics import Statistics, compute, design_power
from abtune.dataset.check import validate
from abtune.dataset.provenance import contains_space, how_timed, of_searches, of_throughputs
from abtune.dataset.schema import in_order, labels_of
from abtune.errors import InputError
from abtune.samples import Samples, Sides, extract_both, keep_best, two_sample, what_varies
from abtune.stats.estimand import Estimand
from abtune.stats.estimates import from_log
from abtune.stats.intervals.bootstrap_t import Tails
from abtune.stats.two_sample import Floats
from abtune.text import listed


def analyze(
    dataset: xr.Dataset,
    *,
    baseline: str | None = None,
    candidate: str | None = None,
    level: float = 0.95,
    margin: float = 0.02,
    tolerance: float = 0.05,
    rng_seed: int = 0,
    shapes: Sequence[str] | None = None,
    weights: Weights | Mapping[str, float] | None = None,
    method: str | None = None,
    estimand: str = "geometric-mean",
    correction: str | None = None,
    of_candidates: int = 1,
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
    tolerance : float
        The largest slowdown that is acceptable, a fraction: a shape that loses no more is not slower.
    rng_seed : int
        Seed of the random splits beyond 15 + 15 seeds, where not all can be counted, and of the methods
        that resample.
    shapes : sequence of str, optional
        Labels, kinds, globs or presets to restrict the analysis, and the correction, to.
    weights : Weights or mapping of str to float, optional
        How often a program calls each shape, for the boost of its whole time. A plain mapping is from labels
        of this dataset to numbers of calls.
    method : str, optional
        The interval, by its name in :mod:`abtune.stats.intervals.interval_methods`.
    estimand : str
        What the boost of a shape compares: geometric-mean, or best-of:K, the expected best of K
        searches. best-of:2 and best-of:3 take 10 seeds per configuration, best-of:4 and best-of:5 take 20.
    correction : str, optional
        Over the shapes: holm; max-t, for few seeds or pairs; bh, a screen; none. The default is max-t for
        pairs, and for many shapes whose five or six seeds are too few for holm; else holm.
    of_candidates : int
        Candidates that are judged against the same baseline. Each gets that share of the level of the tests.

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
    not-slower
    """
    validate(dataset)
    chosen = restrict(dataset, shapes)
    if weights is not None and {*(given := as_weights(weights)).calls} <= {*labels_of(dataset, "shape")}:
        weights = replace(given, strict=False)  # a shape that was not chosen is no mistake
    settings = make_settings(
        chosen,
        baseline=baseline,
        candidate=candidate,
        weights=weights,
        level=level,
        margin=margin,
        tolerance=tolerance,
        rng_seed=rng_seed,
        estimand=estimand,
        method="" if method is None else method,
        correction="" if correction is None else correction,
        of_candidates=of_candidates,
    )
    if weights is not None and of_throughputs(dataset):
        raise InputError("weights need times, and this dataset has throughputs, which add up to no time")
    analysis = compare(chosen, settings)
    _check_seeds(analysis)
    judged, in_dataset = len(analysis.comparisons), dataset.sizes["shape"]
    left_out = dataset_caveats.of_what_is_left_out(dataset, judged, settings)
    some = f" Judged: {judged} of the dataset's {in_dataset} shapes." if judged < in_dataset else ""
    return replace(
        analysis,
        sentence=analysis.sentence + some,
        shapes_in_dataset=in_dataset,
        caveats=(*left_out, *analysis.caveats),
    )


def analyze_all(dataset: xr.Dataset, *, baseline: str | None = None, **choices: Any) -> tuple[Analysis, ...]:
    """Judge every other configuration of a dataset against the baseline.

    Parameters
    ----------
    dataset : xarray.Dataset
        As :func:`abtune.open_dataset` or :func:`abtune.make_dataset` return it.
    baseline : str, optional
        By default the dataset's first configuration.
    **choices : object
        As :func:`analyze` takes them.

    Returns
    -------
    tuple of Analysis
        One for each candidate, in the dataset's order. Tests are corrected over the candidates, too: each
        candidate gets an equal share of their level (Bonferroni).

    Raises
    ------
    InputError
        If an argument cannot be used.
    DatasetError
        If the dataset is not valid.
    """
    validate(dataset)
    if "candidate" in choices:
        raise InputError("analyze_all judges every candidate; for one, use abtune.analyze")
    first, _ = configurations(dataset, baseline, None)
    others = [name for name in labels_of(dataset, "config") if name != first]
    choices["of_candidates"] = len(others)
    return tuple(analyze(dataset, baseline=first, candidate=name, **choices) for name in others)


def _check_seeds(analysis: Analysis) -> None:
    asked = analysis.settings.estimand
    # One shape with enough seeds is enough; the others are invalid, each with its reason.
    most = max(min(row.n) for row in analysis.comparisons)
    if asked.searches > 1 and most < asked.fewest_seeds:
        known = ", ".join(estimand for estimand in Estimand if estimand.fewest_seeds <= max(most, 2))
        raise InputError(
            f"{asked} takes {asked.fewest_seeds} seeds per configuration; no shape has more than {most} of "
            f"both {analysis.baseline} and {analysis.candidate}, which allows {known}"
        )


def compare(dataset: xr.Dataset, settings: Settings) -> Analysis:
    """Return the analysis of all shapes of a valid dataset; one that grew by looks is judged look by look."""
    configurations(dataset, settings.baseline, settings.candidate)  # refuses names that were replaced
    dataset = in_order(dataset)  # looks and neighbours are told by it
    looks = recorded_looks(dataset, level=settings.level)
    if looks:
        return replace(compare_at_looks(dataset, looks, settings, _compare_once), dataset=dataset)
    return _compare_once(dataset, settings)


def _compare_once(dataset: xr.Dataset, settings: Settings) -> Analysis:
    runs = extract_both(dataset, settings.baseline, settings.candidate)
    sides = keep_best(runs, settings.estimand)
    statistics = compute(sides, settings)
    plan = design_power(sides, settings, statistics)
    evidence = tuple(evidence_of(dataset, runs, statistics, plan))
    worst = find_worst(statistics.one_sided, evidence, settings)
    # Caveats, and parts of the overall result, are about single runs, whatever the estimand makes of them.
    rows = tuple(judge(row, settings, worst, _row_caveats(runs, index)) for index, row in enumerate(evidence))
    all_shapes, of_overall = overall(runs, sides, {row.shape: row.workload for row in rows}, settings)
    of_fairness = list(dataset_caveats.of_fairness(dataset, settings))
    of_design = caveats.of_design(sides, rows, settings, hidden=statistics.hidden)
    claims = make_claims(two_sample(*sides), statistics.one_sided, rows, worst, settings)
    return Analysis(
        settings=settings,
        definition=_definition(settings, dataset),
        comparisons=rows,
        overall=all_shapes,
        claims=claims,
        worst=worst,
        sentence=make_sentence(all_shapes, rows, claims, settings, [*of_fairness, *of_design]),
        caveats=(
            *of_fairness,
            *dataset_caveats.of_sources(dataset),
            *dataset_caveats.of_copies(dataset, settings),
            *of_design,
            *dataset_caveats.of_lost_trials(dataset, settings),
            *dataset_caveats.of_throttling(dataset, settings),
            *of_overall,
        ),
        shapes_in_dataset=len(rows),
        dataset=dataset,
    )


def verdict_of(dataset: xr.Dataset, settings: Settings, index: int, known: Tails | None) -> Verdict:
    """Return the verdict on one shape of a dataset without looks; ``known`` are tails of the other shapes."""
    runs = extract_both(dataset, settings.baseline, settings.candidate)
    statistics = compute(keep_best(runs, settings.estimand), settings, known=known)
    evidence = tuple(evidence_of(dataset, runs, statistics, None))  # no verdict depends on the plan
    worst = find_worst(statistics.one_sided, evidence, settings)
    return judge(evidence[index], settings, worst).verdict


def _definition(settings: Settings, dataset: xr.Dataset) -> str:
    name, times = "Boost at equal knowledge" if settings.equal_knowledge else "Boost", ""
    if of_searches(dataset):
        times = " Each winner has the time that its own search measured."
    elif "winner" in dataset:
        times = f" Each winner was measured again after its search{how_timed(dataset)}."
    kind = settings.estimand.words
    ratio = f"{name}: {kind} latency of the baseline, divided by the candidate's, minus 1.{times}"
    if settings.equal_knowledge:
        return f"{ratio} {_equal_knowledge(settings, dataset)}"
    return f"{ratio} Both runs of a pair were timed side by side." if settings.paired else ratio


def _equal_knowledge(settings: Settings, dataset: xr.Dataset) -> str:
    """Return what a boost at equal knowledge is, and what it is not."""
    contains = "A design space that contains the other one can hardly lose."
    for wider, narrower in permutations((settings.baseline, settings.candidate)):
        if contains_space(dataset, wider, narrower):
            spaces = f"The design space of {wider} contains {narrower}'s"
            contains = f"{spaces}, so {wider} can hardly lose."
    return (
        "The two searches of a seed exchanged their best schedules, so both sides know the same schedules. "
        f"This is not the boost of tuning alone. {contains}"
    )


def evidence_of(
    dataset: xr.Dataset, sides: Sides, statistics: Statistics, plan: tuple[Floats, int] | None
) -> Iterator[Evidence]:
    """Yield all numbers about each shape. Without a plan, what its seeds can detect is unknown."""
    labels, workloads = (labels_of(dataset, name) for name in ("shape", "workload"))
    interval, wide = statistics.interval, statistics.simultaneous
    detectable, fewest_seeds = plan or (np.full(len(labels), np.nan), 0)
    tests = {field.name: getattr(statistics.tests, field.name) for field in fields(statistics.tests)}
    varies, _ = what_varies(*sides)
    for index in range(len(labels)):
        baseline, candidate = (_side(side, index) for side in sides)
        p: Any = {name: None if values is None else float(values[index]) for name, values in tests.items()}
        boost = from_log(interval.difference[index])
        if baseline.n == candidate.n == 1:  # their ratio, without the rounding of a logarithm
            boost = baseline.latency / candidate.latency - 1
        yield Evidence(
            shape=labels[index],
            workload=workloads[index],
            baseline=baseline,
            candidate=candidate,
            boost=boost,
            boost_low=from_log(interval.low[index]),
            boost_high=from_log(interval.high[index]),
            boost_low_simultaneous=from_log(wide.low[index]),
            boost_high_simultaneous=from_log(wide.high[index]),
            boost_at_least=from_log(statistics.at_least[index]),
            **p,
            detectable=float(detectable[index]),
            fewest_seeds=fewest_seeds,
            noise_of_pairs=float(varies.noise[index]) if varies.paired else math.nan,
        )


def _row_caveats(sides: Sides, index: int) -> Iterator[str]:
    names: dict[str, list[str]] = {}
    for side in sides:
        for weakness in caveats.of_side(side, index):
            names.setdefault(weakness, []).append(side.config)
    if sides[0].paired:
        names |= {
            words: ["differences of pairs"] for words in caveats.of_noise(what_varies(*sides)[0], index)
        }
    for weakness, configs in names.items():
        yield f"{listed(configs)}: {weakness}"


def _side(samples: Samples, index: int) -> Side:
    names = (field.name for field in fields(Side) if field.name != "config")
    values: dict[str, Any] = {name: getattr(samples, name)[index].item() for name in names}
    return Side(config=samples.config, **values)
