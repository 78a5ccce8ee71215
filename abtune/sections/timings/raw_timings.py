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

from abtune.sections.noise.noise import log_timings
from abtune.sections.timings.series import Series, Timed, describe_series
from abtune.stats.boost import from_log
from abtune.stats.estimates import t_interval
from abtune.stats.time_series import cosine_mean, mean_difference
from abtune.stats.two_sample import Floats
from abtune.text import count, percent

# With fewer timings an interval would have one degree of freedom from two or three numbers.
FEWEST = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Within:
    """A series against the first one of the baseline, as far as these two processes go."""

    shape: str
    config: str
    round: int
    boost: float  # of geometric means; the interval leaves out what differs between processes
    low: float
    high: float
    boost_of_medians: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated:
    """A configuration that was timed in several rounds: the only sign of what differs between processes."""

    shape: str
    config: str
    rounds: int
    gap: float  # slowest geometric mean of a round over the fastest, minus 1
    half_width: float  # the widest half of the intervals within the rounds, on logs


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """What the single processes of a dataset say."""

    baseline: str
    level: float
    series: tuple[Series, ...]
    within: tuple[Within, ...]  # series of shapes whose baseline has one, but for its first
    repeated: tuple[Repeated, ...]  # configurations with several rounds
    caveats: tuple[str, ...]


def describe_timings(dataset: xr.Dataset, *, baseline: str, level: float) -> Timings:
    """Return what the timings of every configuration that was run as one process say."""
    cells = list(_cells(dataset))
    rounds = [each for seeds, timed in cells if seeds == 1 for each in timed]
    timed = [each for each in rounds if len(each.logs) >= FEWEST]
    series = describe_series(timed, level=level)
    within, repeated = tuple(_within(timed, baseline, level)), tuple(_repeated(series))
    several = sum(seeds > 1 for seeds, _ in cells)
    return Timings(
        baseline=baseline,
        level=level,
        series=series,
        within=within,
        repeated=repeated,
        caveats=(
            *_about_processes(series, repeated),
            *_about_boosts(within, baseline),
            *_about_what_is_left_out(several, len(rounds) - len(timed)),
            *(() if any(seeds for seeds, _ in cells) else ("There are no timings.",)),
        ),
    )


def _cells(dataset: xr.Dataset) -> Iterator[tuple[int, list[Timed]]]:
    """Yield for each shape and configuration how many seeds have timings, and the rounds of the first."""
    shapes, configs = ([str(name) for name in dataset[dim].values.tolist()] for dim in ("shape", "config"))
    rounds = dataset["round"].values.tolist()
    logs = {config: log_timings(dataset, config) for config in configs}
    for index, shape in enumerate(shapes):
        for config in configs:
            known = logs[config][index]
            seeds = np.flatnonzero((~np.isnan(known)).any(axis=(1, 2)))
            first = known[seeds[0]] if len(seeds) else known[:0].reshape(0, 0)
            timed = (_timed(shape, config, *each) for each in zip(rounds, first, strict=False))
            yield len(seeds), [each for each in timed if len(each.logs)]


def _timed(shape: str, config: str, number: int, values: Floats) -> Timed:
    """Return the timings of a round, whose row is filled up with NaN."""
    known = np.flatnonzero(~np.isnan(values))
    gaps = int(known[-1]) + 1 - len(known) if len(known) else 0
    return Timed(shape=shape, config=config, round=number, logs=values[known], gaps=gaps)


def _within(timed: Sequence[Timed], baseline: str, level: float) -> Iterator[Within]:
    """Yield every series against the first of the baseline in its shape."""
    # Reversed, so that the first round is the one that stays.
    first = {each.shape: each for each in reversed(timed) if each.config == baseline}
    for each in timed:
        against = first.get(each.shape, each)
        if against is not each:
            difference = mean_difference(cosine_mean(against.logs), cosine_mean(each.logs))
            interval = t_interval(difference, level=level)
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
    if series:
        yield (
            "No verdict follows from one process of each: these timings do not show how much two processes "
            "of one configuration differ. Run each at least 5 times and import a file for each. A file is "
            "a seed, and the report then judges the boosts."
        )
    if repeated:
        worst = max(repeated, key=lambda row: row.gap)
        reach = math.expm1(worst.half_width)
        times = f"{worst.gap / reach:.0f} times less" if worst.gap > 2 * reach > 0 else "so they may agree"
        others = f", the largest gap of {len(repeated)}" if len(repeated) > 1 else ""
        yield (
            f"Rounds hint at it: the means of {worst.rounds} rounds of {worst.config} are "
            f"{percent(worst.gap)} apart{others}. Half of an interval within a round is {percent(reach)}, "
            f"{times}."
        )


def _about_boosts(within: Sequence[Within], baseline: str) -> Iterator[str]:
    if {baseline} < {row.config for row in within}:
        yield (
            f"Boosts here are against the first round of {baseline}. Another round would change them by the "
            "gap between the two. The report itself takes the mean of all rounds."
        )


def _about_what_is_left_out(several: int, short: int) -> Iterator[str]:
    if several:
        yield (
            f"Left out: {count(several, 'cell')} of shape and configuration with several seeds. The report "
            "judges those, and --noise says where their noise comes from."
        )
    if short:
        yield f"Left out: {count(short, 'round')} of fewer than {FEWEST} timings, which say next to nothing."
