"""Raw timings of single processes: what each says of itself, and nothing about which is faster.

A process is one draw of all that differs between processes: memory layout, compiled code, the state of the
machine. However often it times itself, that part of the error stays unknown, so nothing here is a test of a
boost, and no verdict rests on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from abtune.sections.noise.noise_sources import log_timings
from abtune.sections.timings.series import Series, Timed, describe_series
from abtune.stats.boost import from_log
from abtune.stats.intervals.interval import t_interval
from abtune.stats.series.long_run import cosine_mean, mean_difference
from abtune.stats.two_sample import Floats
from abtune.text import count, percent

# With fewer timings an interval would have one degree of freedom from two or three numbers.
FEWEST = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Within:
    """A series against the first one of the baseline, as far as these two processes go.

    Attributes
    ----------
    shape, config : str
        What was timed.
    round : int
        Its number in the dataset.
    boost, low, high : float
        Geometric mean of the baseline's series over this one's, minus 1, with an interval that leaves out
        what differs between processes.
    boost_of_medians : float
        The same of medians.
    """

    shape: str
    config: str
    round: int
    boost: float
    low: float
    high: float
    boost_of_medians: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated:
    """A configuration that was timed in several rounds: the only sign of what differs between processes.

    Attributes
    ----------
    shape, config : str
        What was timed.
    rounds : int
        How often.
    gap : float
        Slowest geometric mean of a round over the fastest, minus 1.
    half_width : float
        The widest half of the intervals within the rounds, on logs.
    """

    shape: str
    config: str
    rounds: int
    gap: float
    half_width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """What the single processes of a dataset say.

    Attributes
    ----------
    baseline : str
        The configuration that others are set against.
    level : float
        Of the intervals.
    series : tuple of Series
        By shape, configuration and round.
    within : tuple of Within
        Series of shapes whose baseline has one, but for its first.
    repeated : tuple of Repeated
        Configurations with several rounds.
    caveats : tuple of str
        What these numbers cannot say, and what was left out.
    """

    baseline: str
    level: float
    series: tuple[Series, ...]
    within: tuple[Within, ...]
    repeated: tuple[Repeated, ...]
    caveats: tuple[str, ...]


def describe_timings(dataset: xr.Dataset, *, baseline: str, level: float) -> Timings:
    """Describe the timings of every configuration that was run as one process.

    Parameters
    ----------
    dataset : xarray.Dataset
        Valid by the schema, restricted to the wanted shapes.
    baseline : str
        The configuration that others are set against.
    level : float
        Confidence level of the intervals; series are flagged at 1 - level.
    """
    cells = list(_cells(dataset))
    timed = [each for cell in cells for each in cell.timed if cell.seeds == 1 and len(each.logs) >= FEWEST]
    series = describe_series(timed, level=level)
    within = tuple(_within(timed, baseline, level))
    repeated = tuple(_repeated(series))
    return Timings(
        baseline=baseline,
        level=level,
        series=series,
        within=within,
        repeated=repeated,
        caveats=(
            *_about_processes(series, repeated),
            *_about_boosts(within, baseline),
            *_about_what_is_left_out(cells),
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cell:
    """One configuration of one shape: how many seeds have timings, and the rounds of the first of them."""

    seeds: int
    timed: tuple[Timed, ...]


def _cells(dataset: xr.Dataset) -> Iterator[_Cell]:
    shapes, configs = ([str(name) for name in dataset[dim].values.tolist()] for dim in ("shape", "config"))
    rounds = dataset["round"].values.tolist()
    logs = {config: log_timings(dataset, config) for config in configs}
    for at, shape in enumerate(shapes):
        for config in configs:
            known = logs[config][at]
            seeds = np.flatnonzero((~np.isnan(known)).any(axis=(1, 2)))
            first = known[seeds[0]] if len(seeds) else known[:0].reshape(0, 0)
            timed = (_timed(shape, config, *each) for each in zip(rounds, first, strict=False))
            yield _Cell(seeds=len(seeds), timed=tuple(each for each in timed if len(each.logs)))


def _timed(shape: str, config: str, number: int, values: Floats) -> Timed:
    """Take the timings of a round, whose row is filled up with NaN."""
    known = np.flatnonzero(~np.isnan(values))
    gaps = int(known[-1]) + 1 - len(known) if len(known) else 0
    return Timed(shape=shape, config=config, round=number, logs=values[known], gaps=gaps)


def _within(timed: Sequence[Timed], baseline: str, level: float) -> Iterator[Within]:
    """Set every series against the first of the baseline in its shape."""
    first: dict[str, Timed] = {}
    for each in timed:
        if each.config == baseline:
            first.setdefault(each.shape, each)
    for each in timed:
        against = first.get(each.shape)
        if against is None or against is each:
            continue
        found = mean_difference(cosine_mean(against.logs), cosine_mean(each.logs))
        interval = t_interval(found, level=level)
        yield Within(
            shape=each.shape,
            config=each.config,
            round=each.round,
            boost=from_log(float(interval.difference)),
            low=from_log(float(interval.low)),
            high=from_log(float(interval.high)),
            boost_of_medians=from_log(float(np.median(against.logs) - np.median(each.logs))),
        )


def _repeated(series: Sequence[Series]) -> Iterator[Repeated]:
    groups: dict[tuple[str, str], list[Series]] = {}
    for row in series:
        groups.setdefault((row.shape, row.config), []).append(row)
    for (shape, config), rows in groups.items():
        if len(rows) > 1:
            means = [row.mean for row in rows]
            yield Repeated(
                shape=shape,
                config=config,
                rounds=len(rows),
                gap=max(means) / min(means) - 1,
                half_width=max(row.half_width for row in rows),
            )


def _about_processes(series: Sequence[Series], repeated: Sequence[Repeated]) -> Iterator[str]:
    """Say what the timings of one process cannot know, and what sign of it there is."""
    if series:
        yield (
            "No verdict follows from one process of each: how much two processes of the same configuration "
            "differ is not in these timings. Run each at least 5 times and import a file for each: a file is "
            "a seed, and the report then judges the boosts."
        )
    if repeated:
        yield _largest_gap(repeated)


def _largest_gap(repeated: Sequence[Repeated]) -> str:
    worst = max(repeated, key=lambda row: row.gap)
    reach = math.expm1(worst.half_width)
    times = f"{worst.gap / reach:.0f} times less" if worst.gap > 2 * reach > 0 else "so that they may agree"
    others = f", the most of {len(repeated)} such cases" if len(repeated) > 1 else ""
    return (
        f"A sign of it: {worst.config} was timed in {worst.rounds} rounds, whose means are "
        f"{percent(worst.gap)} apart{others}. The intervals within them reach {percent(reach)} either side, "
        f"{times}."
    )


def _about_boosts(within: Sequence[Within], baseline: str) -> Iterator[str]:
    """Say what the baseline was where it was timed in several rounds."""
    if {baseline} < {row.config for row in within}:
        yield (
            f"Boosts here are against the first round of {baseline}. Against another they differ by the gap "
            "between the two; the report itself takes the mean of all rounds."
        )


def _about_what_is_left_out(cells: Sequence[_Cell]) -> Iterator[str]:
    several = sum(cell.seeds > 1 for cell in cells)
    short = sum(len(each.logs) < FEWEST for cell in cells for each in cell.timed if cell.seeds == 1)
    if several:
        yield (
            f"Left out: {count(several, 'cell')} of shape and configuration with several seeds. The report "
            "judges those, and --noise says where their noise comes from."
        )
    if short:
        yield (
            f"Left out: {count(short, 'round')} of fewer than {FEWEST} timings, which say next to nothing of "
            "the process that they come from."
        )
    if not any(cell.seeds for cell in cells):
        yield "There are no timings."
