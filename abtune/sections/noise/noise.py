"""Where the scatter comes from, what timings counted as seeds would pretend, and what became of the trials.

Nothing here judges a shape. It says what a sweep has to fight: the noise between seeds, which more seeds
average out and more timings do not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from scipy import special

from abtune.compare.results import Analysis, Comparison
from abtune.dataset.provenance import of_searches
from abtune.samples.lost_trials import Trials, count_trials
from abtune.sections.noise.noise_sources import Source, Sources, log_timings
from abtune.stats.boost import from_log
from abtune.stats.intervals.interval import welch
from abtune.stats.two_sample import TwoSample
from abtune.text import count, percent

_FEW = 10
# Timing is precise if its error is this share of the noise of the search.
_PRECISE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Naive:
    """The interval from counting every timing as a replicate, beside the one over seeds.

    Attributes
    ----------
    shape : str
        Label.
    boost_low, boost_high : float
        Over seeds, as the report has it.
    naive_low, naive_high : float
        Welch's interval of all timings pooled.
    narrower : float
        How many times narrower the naive one is, on logs.
    """

    shape: str
    boost_low: float
    boost_high: float
    naive_low: float
    naive_high: float
    narrower: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """All that is known of the noise of both sides.

    Attributes
    ----------
    baseline, candidate : str
        Names of the configurations.
    level : float
        Of the intervals.
    pooled : tuple of Source
        Baseline and candidate, over all shapes.
    by_shape : tuple of Source
        Each shape under the baseline, then under the candidate.
    naive : tuple of Naive
        Shapes with an interval and several timings a seed that differ.
    trials : tuple of Trials
        What became of the trials; empty without histories.
    caveats : tuple of str
        What weakens these numbers.
    """

    baseline: str
    candidate: str
    level: float
    pooled: tuple[Source, ...]
    by_shape: tuple[Source, ...]
    naive: tuple[Naive, ...]
    trials: tuple[Trials, ...]
    caveats: tuple[str, ...]


def describe_noise(dataset: xr.Dataset, analysis: Analysis) -> Noise:
    """Split the scatter of an analysed dataset into its sources.

    Parameters
    ----------
    dataset : xarray.Dataset
        The one that was analysed.
    analysis : Analysis
        Its analysis, which says which shapes, sides and level.
    """
    dataset = dataset.sel(shape=[row.shape for row in analysis.comparisons])
    names = analysis.baseline, analysis.candidate
    sides = [Sources(dataset, name, analysis.level) for name in names]
    pairs = zip(*(side.by_shape() for side in sides), strict=True)
    by_shape = tuple(source for pair in pairs for source in pair)
    trials = [count_trials(dataset, name) for name in names]
    return Noise(
        baseline=names[0],
        candidate=names[1],
        level=analysis.level,
        pooled=tuple(side.pooled() for side in sides),
        by_shape=by_shape,
        naive=_naive(dataset, analysis),
        trials=tuple(found for found in trials if found is not None and found.tried),
        caveats=_caveats(dataset, analysis, by_shape),
    )


def _naive(dataset: xr.Dataset, analysis: Analysis) -> tuple[Naive, ...]:
    """Pool the timings of all seeds, as if each were a tuning run of its own."""
    if dataset.sizes["round"] * dataset.sizes["repeat"] < 2:
        return ()
    sides = [log_timings(dataset, name) for name in (analysis.baseline, analysis.candidate)]
    flat = [side.reshape(len(side), -1) for side in sides]
    pooled = welch(TwoSample.without_floor(*flat), level=analysis.level)
    return tuple(
        _beside(row, float(low), float(high))
        for row, low, high in zip(analysis.comparisons, pooled.low, pooled.high, strict=True)
        if not math.isnan(row.boost_low) and high > low
    )


def _beside(row: Comparison, low: float, high: float) -> Naive:
    width = math.log1p(row.boost_high) - math.log1p(row.boost_low)
    return Naive(
        shape=row.shape,
        boost_low=row.boost_low,
        boost_high=row.boost_high,
        naive_low=from_log(low),
        naive_high=from_log(high),
        narrower=width / (high - low),
    )


def _caveats(dataset: xr.Dataset, analysis: Analysis, by_shape: Sequence[Source]) -> tuple[str, ...]:
    n = [min(row.baseline.n, row.candidate.n) for row in analysis.comparisons]
    notes = []
    if max(max(row.baseline.n, row.candidate.n) for row in analysis.comparisons) < 2:
        notes.append("No configuration has two seeds of a shape, so nothing is known of the noise.")
    elif dataset.sizes["round"] == 1:
        notes.append("With one round, the noise of the session cannot be told from that of the search.")
    if dataset.sizes["round"] * dataset.sizes["repeat"] == 1:
        notes.append("Each winner was timed once, so the noise of timing is part of that of the search.")
    if 2 <= min(n) < _FEW:
        notes.append(
            f"From {min(n)} seeds little is known of a standard deviation: with normal noise it may be "
            f"{_times_as_large(min(n)):.2g} times as large; where one search in five goes wrong, its "
            "interval covers 70-90 % instead of 95 %."
        )
    if "search_latency" not in dataset:
        notes.append("The dataset does not say what the searches measured themselves.")
    elif of_searches(dataset):
        notes.append("The winners were not measured again: how optimistic their times are is not known.")
    return (*notes, *_about_timing(by_shape))


def _times_as_large(seeds: int) -> float:
    """Upper limit of a 95 % interval of a standard deviation, over its estimate, if the noise is normal."""
    return float(np.sqrt((seeds - 1) / special.chdtri(seeds - 1, 0.975)))


def _about_timing(by_shape: Sequence[Source]) -> list[str]:
    """Say whether timing longer would have told more."""
    known = [row for row in by_shape if row.measurement >= 0 and row.search >= 0]
    silent = [row for row in known if row.measurement == row.search == 0]
    loud = [row for row in known if row.measurement > _PRECISE * row.search]
    cells = f"{count(len(known), 'cell')} of shape and configuration"
    notes = []
    if silent:
        notes.append(
            f"In {len(silent)} of {cells} all seeds and all their rounds agree exactly; differences below "
            "the resolution are unseen."
        )
    if loud:
        worst = max(loud, key=lambda row: row.measurement - _PRECISE * row.search)
        notes.append(
            f"In {len(loud)} of {cells} the error of timing is more than a tenth of the noise of the search, "
            f"most of all in {worst.shape}, {worst.config} ({percent(worst.measurement)} against "
            f"{percent(worst.search)}); more rounds, or a quieter machine, would help."
        )
    elif len(known) > len(silent):
        where = "Elsewhere" if silent else "Everywhere"
        notes.append(f"{where} the error of timing is less than a tenth of the noise of the search.")
    return notes
