"""Where the noise comes from, and the outcomes of the trials.

Nothing here judges a shape. More seeds average the noise between seeds out, and more timings do not.
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
from abtune.dataset.schema import labels_of
from abtune.report.page import SHAPE, Bullets, Grid, Heading, Part, Prose, Section, column, filled, table
from abtune.samples import Trials, complete_timings, count_trials, extract
from abtune.stats.estimates import EqualWithNaN
from abtune.stats.spread import Components, components, pooled_spread, spread_intervals
from abtune.stats.two_sample import Integers
from abtune.stats.variance import mean_of_known
from abtune.text import NOTHING, count, percent, percent_cell, plain_percent, shortened, spread_percent

_FEW = 10
# Timing is precise if its error is this share of the noise between seeds.
_PRECISE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConfigurationNoise(EqualWithNaN):
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """All that is known of the noise of both sides."""

    baseline: str
    candidate: str
    level: float
    pooled: tuple[ConfigurationNoise, ...]  # baseline and candidate, over all shapes
    by_shape: tuple[ConfigurationNoise, ...]  # each shape under the baseline, then under the candidate
    trials: tuple[Trials, ...]  # what became of the trials; empty without histories
    caveats: tuple[str, ...]


def describe_noise(analysis: Analysis) -> Noise:
    """Return the sources of the noise of an analysed dataset."""
    dataset, names = analysis.dataset, (analysis.baseline, analysis.candidate)
    by_side, pooled = zip(*(_sources(dataset, name, analysis.level) for name in names), strict=True)
    by_shape = tuple(itertools.chain.from_iterable(zip(*by_side, strict=True)))
    trials = [count_trials(dataset, name) for name in names]
    return Noise(
        baseline=names[0],
        candidate=names[1],
        level=analysis.level,
        pooled=pooled,
        by_shape=by_shape,
        trials=tuple(outcome for outcome in trials if outcome is not None and outcome.tried),
        caveats=(*_about_dataset(dataset, analysis), *_about_timing(by_shape), *_about_failures(trials)),
    )


def _sources(
    dataset: xr.Dataset, config: str, level: float
) -> tuple[tuple[ConfigurationNoise, ...], ConfigurationNoise]:
    """Return the noise of one configuration: in each shape, and pooled over shapes, variances averaged."""
    samples, parts = extract(dataset, config), components(np.log(complete_timings(dataset, config)))
    labels = labels_of(dataset, "shape")

    def source(shapes: Integers, spreads: tuple[float, float, float]) -> ConfigurationNoise:
        floor = float(mean_of_known(samples.floor[shapes]))
        kinds = ("search", "session", "timing")
        # Of all shapes, the mean counts negative estimates: without them, it would be too large.
        means = Components(
            **{kind: np.maximum(mean_of_known(getattr(parts, kind)[shapes]), 0.0) for kind in kinds}
        )
        least = 0.0 if math.isnan(floor) else floor
        # The spread of seed values includes the error of measuring each, which is taken off.
        search = [math.sqrt(max(spread**2 - least, 0.0)) for spread in spreads]
        if search[2] <= 0:  # seeds vary less than the error, which shows no limit of their noise
            search[1:] = [math.nan, math.nan]
        return ConfigurationNoise(
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
        )

    spreads = np.stack([samples.noise, *spread_intervals(samples.value, level=level)], axis=1).tolist()
    by_shape = tuple(source(np.array([index]), spread) for index, spread in enumerate(spreads))
    return by_shape, source(np.arange(len(labels)), pooled_spread(samples.value, level=level))


def _about_dataset(dataset: xr.Dataset, analysis: Analysis) -> Iterator[str]:
    fewest = min(min(row.n) for row in analysis.comparisons)
    if max(max(row.n) for row in analysis.comparisons) < 2:
        yield "No configuration has two seeds of a shape, so nothing is known of the noise."
    elif dataset.sizes["round"] == 1:
        what = "session noise" if dataset.sizes["repeat"] > 1 else "noise of sessions and of timing"
        yield f"With one round, {what} cannot be told from the noise between seeds."
    if 2 <= fewest < _FEW:
        # The upper limit of a 95 % interval over the estimate.
        times = np.sqrt((fewest - 1) / special.chdtri(fewest - 1, 0.975))
        yield (
            f"With {fewest} seeds of normal noise, the standard deviation may be {times:.2g} times as large. "
            "Where one seed in five is far slower, 70 to 90% of its 95% intervals hold."
        )


def _about_timing(by_shape: Sequence[ConfigurationNoise]) -> Iterator[str]:
    """Yield whether longer timing would help."""
    # Where all timings agree exactly, the report says so.
    known = [row for row in by_shape if row.measurement + row.search > 0]
    loud = [row for row in known if row.measurement > _PRECISE * row.search]
    if loud:
        worst = max(loud, key=lambda row: row.measurement - _PRECISE * row.search)
        yield (
            f"In {len(loud)} of {count(len(known), 'cell')} of shape and configuration the error exceeds a "
            f"tenth of the noise. The largest is in {worst.shape}, {worst.config}: "
            f"error {percent(worst.measurement)}, noise {percent(worst.search)}. More rounds, or a quieter "
            "machine, would help."
        )
    elif known:
        yield "The error is less than a tenth of the noise, so more timings would hardly help."


def _about_failures(trials: Sequence[Trials | None]) -> Iterator[str]:
    """Yield why the trials of each configuration failed."""
    for side in trials:
        if side is not None and side.reason:
            yield f"Trials of {side.config} failed most often with: {shortened(side.reason, 300)}"


_WHAT = (
    "Standard deviations of log latency. noise: between seeds, without the measurement error; its interval "
    "has the wider limits of chi-square and of Bonett, who allows for skewed noise. session: between "
    "rounds of one winner. timing: within a round. ICC: correlation of two timings of one winner. error: "
    "standard error of a seed's value. share: the error as a share of the noise."
)
_POOLED = "configuration"


def noise_section(analysis: Analysis) -> Section:
    """Return the sources of noise of the analysed dataset."""
    noise = describe_noise(analysis)
    return Section(name="noise", page=tuple(noise_page(noise)), result=noise)


def noise_page(noise: Noise) -> Iterator[Part]:
    """Yield the parts of the page."""
    yield Heading("noise")
    if not all(math.isnan(source.search) for source in noise.by_shape):
        if len(noise.by_shape) > 2:  # a lone shape is its pool
            yield _source_table(noise.pooled, noise.level)
        yield _source_table(noise.by_shape, noise.level)
        yield Prose(_WHAT, remark=True)
    if noise.trials:
        yield Heading("trials", minor=True)
        rows = noise.trials
        counts = (
            column(kind.replace("_", " "), [f"{row.by_status[kind]:,}" for row in rows], gives_way=position)
            for position, kind in enumerate(rows[0].by_status)
        )
        lost = column("lost %", [percent_cell(row.lost_share, 2, signed=False) for row in rows])
        yield table(_POOLED, [row.config for row in rows], *counts, lost)
    yield Bullets(noise.caveats)


def _source_table(rows: Sequence[ConfigurationNoise], level: float) -> Grid:
    """Return a table with a row for each configuration, or for each shape and configuration."""
    icc = [NOTHING if math.isnan(row.correlation) else f"{row.correlation:.3f}" for row in rows]
    columns = filled(
        (
            column("noise %", [spread_percent(row.search) for row in rows]),
            column(f"{plain_percent(level)} interval", map(_search_interval, rows), gives_way=1),
            column("session %", [spread_percent(row.session) for row in rows], gives_way=2),
            column("timing %", [spread_percent(row.timing) for row in rows], gives_way=3),
            column("ICC", icc, gives_way=4),
            column("error %", [spread_percent(row.measurement) for row in rows], gives_way=5),
            column("share", map(_error_share, rows), gives_way=6),
        )
    )
    configs, shapes = [row.config for row in rows], [row.shape for row in rows]
    if not any(shapes):  # pooled over them
        return table(_POOLED, configs, *columns)
    return table(SHAPE, shapes, column("config", configs, kind="word"), *columns)


def _search_interval(source: ConfigurationNoise) -> str:
    low, high = spread_percent(source.search_low), spread_percent(source.search_high)
    return NOTHING if NOTHING in {low, high} else f"{low} to {high}"


def _error_share(source: ConfigurationNoise) -> str:
    if math.isnan(source.measurement) or not source.search > 0:
        return NOTHING
    return f"{spread_percent(source.measurement / source.search)}%"
