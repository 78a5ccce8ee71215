"""Where the noise comes from, and the outcomes of the trials.

Nothing here judges a shape. It says what a sweep has to fight: the noise between seeds, which more seeds
average out and more timings do not.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from scipy import special

from abtune.compare.results import Analysis
from abtune.dataset.provenance import of_searches
from abtune.dataset.schema import labels_of, runs_of
from abtune.samples import AT_TRIALS, Samples, Trials, complete_timings, count_trials, extract
from abtune.stats.estimates import from_log
from abtune.stats.spread import Components, components, pooled_spread, spread_intervals
from abtune.stats.two_sample import Floats, Integers
from abtune.stats.variance import clustered_variance, mean_of_known, t_quantile
from abtune.text import count, percent

_FEW = 10
# Timing is precise if its error is this share of the noise between seeds.
_PRECISE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Noise of one configuration, in one shape or pooled over shapes; log scale, so about fractions."""

    config: str
    shape: str  # empty where shapes are pooled
    n: int  # seeds with a timing; the most of any shape where shapes are pooled
    search: float  # standard deviation between seeds without the measurement error
    search_low: float
    search_high: float
    session: float  # standard deviation between rounds of one winner; NaN with one round
    timing: float  # within a round; NaN with one timing
    correlation: float  # of two timings of one winner in different rounds (intraclass correlation)
    measurement: float  # standard error of a seed's value by repeated measurement; NaN with one timing
    optimism: float  # the search's time of its winner over the one measured again, minus 1
    optimism_low: float
    optimism_high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """All that is known of the noise of both sides."""

    baseline: str
    candidate: str
    level: float
    pooled: tuple[Source, ...]  # baseline and candidate, over all shapes
    by_shape: tuple[Source, ...]  # each shape under the baseline, then under the candidate
    trials: tuple[Trials, ...]  # what became of the trials; empty without histories
    caveats: tuple[str, ...]


def describe_noise(dataset: xr.Dataset, analysis: Analysis) -> Noise:
    """Return the sources of the noise of an analysed dataset."""
    dataset = dataset.sel(shape=[row.shape for row in analysis.comparisons])
    names = analysis.baseline, analysis.candidate
    by_side, pooled = zip(*(_sources(dataset, name, analysis.level) for name in names), strict=True)
    by_shape = tuple(itertools.chain.from_iterable(zip(*by_side, strict=True)))
    trials = [count_trials(dataset, name) for name in names]
    return Noise(
        baseline=names[0],
        candidate=names[1],
        level=analysis.level,
        pooled=pooled,
        by_shape=by_shape,
        trials=tuple(found for found in trials if found is not None and found.tried),
        caveats=(*_about_dataset(dataset, analysis), *_about_timing(by_shape)),
    )


def _sources(dataset: xr.Dataset, config: str, level: float) -> tuple[tuple[Source, ...], Source]:
    """Return the noise of one configuration: in each shape, and pooled over shapes, variances averaged."""
    samples, parts = extract(dataset, config), components(np.log(complete_timings(dataset, config)))
    optimism = _optimism(dataset, config, samples)
    labels = labels_of(dataset, "shape")

    def source(shapes: Integers, spreads: tuple[float, float, float]) -> Source:
        floor = float(mean_of_known(samples.floor[shapes]))
        means = Components(
            search=mean_of_known(parts.search[shapes]),
            session=mean_of_known(parts.session[shapes]),
            timing=mean_of_known(parts.timing[shapes]),
        )
        least = 0.0 if math.isnan(floor) else floor
        # The spread of seed values includes the error of measuring each, which is taken off.
        search = [math.sqrt(max(spread**2 - least, 0.0)) for spread in spreads]
        value = optimism[shapes][(~np.isnan(optimism[shapes])).any(axis=1)]
        error = clustered_variance(value, np.full(len(value), 1 / max(len(value), 1)))
        half = t_quantile(error.freedom, level) * math.sqrt(error.variance)
        mean = float(mean_of_known(mean_of_known(value)))
        return Source(
            config=config,
            shape=labels[shapes[0]] if len(shapes) == 1 else "",
            n=int(samples.n[shapes].max()),
            search=search[0],
            search_low=search[1],
            search_high=search[2],
            session=float(np.sqrt(means.session)),
            timing=float(np.sqrt(means.timing)),
            correlation=float(means.correlation),
            measurement=math.sqrt(floor),
            optimism=from_log(mean),
            optimism_low=from_log(mean - half),
            optimism_high=from_log(mean + half),
        )

    spreads = np.stack([samples.noise, *spread_intervals(samples.value, level=level)], axis=1).tolist()
    by_shape = tuple(source(np.array([index]), spread) for index, spread in enumerate(spreads))
    return by_shape, source(np.arange(len(labels)), pooled_spread(samples.value, level=level))


def _optimism(dataset: xr.Dataset, config: str, samples: Samples) -> Floats:
    """Return the log of the search's own time of each winner over the one measured again; NaN for none."""
    if "search_latency" not in dataset or of_searches(dataset):
        return np.full(samples.value.shape, np.nan)
    own = runs_of(dataset, "search_latency", config).astype(np.float64)
    ratio: Floats = np.log(np.where(own > 0, own, np.nan)) - samples.value
    return ratio


def _about_dataset(dataset: xr.Dataset, analysis: Analysis) -> Iterator[str]:
    fewest = min(min(row.baseline.n, row.candidate.n) for row in analysis.comparisons)
    if max(max(row.baseline.n, row.candidate.n) for row in analysis.comparisons) < 2:
        yield "No configuration has two seeds of a shape, so nothing is known of the noise."
    elif dataset.sizes["round"] == 1:
        yield "With one round, the noise of the session cannot be told from that between seeds."
    if dataset.sizes["round"] * dataset.sizes["repeat"] == 1:
        yield "Each seed was timed once, so the noise of timing is part of that between seeds."
    if 2 <= fewest < _FEW:
        # The upper limit of a 95 % interval over the estimate.
        times = np.sqrt((fewest - 1) / special.chdtri(fewest - 1, 0.975))
        yield (
            f"{fewest} seeds say little of a standard deviation. With normal noise it may be {times:.2g} "
            "times as large. Where one seed in five goes wrong, its interval covers 70 to 90% instead of "
            "95%."
        )
    if of_searches(dataset) or AT_TRIALS in dataset.attrs:
        which = "best of the first trials" if AT_TRIALS in dataset.attrs else "winners"
        yield f"The {which} were not measured again: how optimistic their times are is not known."
    elif "search_latency" not in dataset:
        yield "The dataset does not say what the searches measured themselves."


def _about_timing(by_shape: Sequence[Source]) -> Iterator[str]:
    """Yield whether longer timing would help."""
    known = [row for row in by_shape if row.measurement >= 0 and row.search >= 0]
    silent = [row for row in known if row.measurement == row.search == 0]
    loud = [row for row in known if row.measurement > _PRECISE * row.search]
    cells = f"{count(len(known), 'cell')} of shape and configuration"
    if silent:
        yield (
            f"In {len(silent)} of {cells} all seeds and rounds agree exactly. Differences below the "
            "resolution are not seen."
        )
    if loud:
        worst = max(loud, key=lambda row: row.measurement - _PRECISE * row.search)
        yield (
            f"In {len(loud)} of {cells} the timing error exceeds a tenth of the noise between seeds. The "
            f"largest is in {worst.shape}, {worst.config}: {percent(worst.measurement)} against "
            f"{percent(worst.search)}. More rounds, or a quieter machine, would help."
        )
    elif len(known) > len(silent):
        where = "Elsewhere" if silent else "Everywhere"
        yield f"{where} the timing error is less than a tenth of the noise between seeds."
