"""Raw timings of single processes, and the page about them: what each says of itself, nothing of a boost.

A process is one draw of all that differs between processes: memory layout, compiled code, the state of the
machine. However often it times itself, that part of the error stays unknown, so no verdict rests on this.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import xarray as xr

from abtune.compare.results import Analysis
from abtune.dataset.schema import labels_of
from abtune.report.page import SHAPE, Bullets, Grid, Heading, Part, Prose, Section, column, table
from abtune.samples import complete_timings
from abtune.stats.time_series import cosine_mean, independent_worth
from abtune.stats.two_sample import Floats
from abtune.text import boost_decimals, count, microseconds, percent, percent_cell, plain_percent

# With fewer timings an interval would have one degree of freedom from two or three numbers.
FEWEST = 5
# With fewer, an interval has few degrees of freedom, and a slow start does not stand out.
_ENOUGH = 20
# Autoregressive series worth fewer independent timings have intervals that hold in some 80 of 100 cases.
WORTH_TOO_LITTLE = 10
# A caveat names this many of the rows that have it.
_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """The timings of one process in one round, described."""

    shape: str
    config: str
    round: int
    n: int
    mean: float  # geometric, seconds; low and high are its interval for this process
    low: float
    high: float
    median: float
    half_width: float  # of the interval on logs
    freedom: int  # degrees of freedom of the interval
    slowest: float  # the slowest timing over the median, minus 1
    slowest_at: int  # which timing that is, from 1
    caveats: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """What the single processes of a dataset say."""

    level: float
    series: tuple[Series, ...]
    caveats: tuple[str, ...]


def describe_timings(dataset: xr.Dataset, *, level: float) -> Timings:
    """Return what the timings of every configuration that was run as one process say."""
    logs = {config: np.log(complete_timings(dataset, config)) for config in labels_of(dataset, "config")}
    rounds = dataset["round"].values.tolist()
    seeds, series, short = list[int](), list[Series](), 0
    for index, shape in enumerate(labels_of(dataset, "shape")):
        for config, own in logs.items():
            timed = own[index][~np.isnan(own[index]).all(axis=(1, 2))]
            seeds.append(len(timed))
            for number, timings in zip(rounds, timed[0], strict=True) if len(timed) == 1 else ():
                n = int(np.count_nonzero(~np.isnan(timings)))
                if n >= FEWEST:
                    series.append(_described(shape, config, number, timings, level))
                elif n:
                    short += 1
    left_out = _about_what_is_left_out(seeds, short)
    return Timings(level=level, series=tuple(series), caveats=(*_about_processes(series), *left_out))


def _described(shape: str, config: str, number: int, timings: Floats, level: float) -> Series:
    """Return the description of a round, whose log timings are filled up with NaN."""
    present = np.flatnonzero(~np.isnan(timings))
    logs, gaps = timings[present], int(present[-1]) + 1 - len(present)
    estimate = cosine_mean(logs)
    mean, median = float(estimate.difference), float(np.median(logs))
    half, freedom = float(estimate.half_width(level)), int(estimate.freedom)
    return Series(
        shape=shape,
        config=config,
        round=number,
        n=len(logs),
        mean=math.exp(mean),
        low=math.exp(mean - half),
        high=math.exp(mean + half),
        median=math.exp(median),
        half_width=half,
        freedom=freedom,
        slowest=math.expm1(logs.max() - median),
        slowest_at=int(logs.argmax()) + 1,
        caveats=tuple(_about_series(logs, gaps, freedom)),
    )


def _about_series(logs: Floats, gaps: int, freedom: int) -> Iterator[str]:
    n, different = len(logs), len(np.unique(logs))
    over_median = logs - np.median(logs)
    if n < _ENOUGH:
        yield f"{n} timings are few, so the interval has {count(freedom, 'degree')} of freedom."
    if gaps:
        yield f"{count(gaps, 'timing')} missing. Those before and after a gap count as consecutive."
    if different == 1:
        yield f"All {n} timings agree exactly. Differences below the resolution of the clock are not seen."
        return
    if different <= n / 2:
        yield f"Only {different} values among {n} timings: the interval ignores the resolution of the clock."
    if n < _ENOUGH:
        return
    if (over_median[1:] < over_median[0]).all():
        yield "The first timing is the slowest, perhaps because nothing was warmed up. It counts."
    if (worth := independent_worth(logs)) < WORTH_TOO_LITTLE:
        yield (
            f"{n} dependent timings are worth {worth:.0f} independent ones. Then about 80% of 95% intervals "
            "hold."
        )


def _about_processes(series: Sequence[Series]) -> Iterator[str]:
    if series:
        yield (
            "No verdict follows from one process of each: these timings do not show how much two processes "
            "of one configuration differ. Run each ten times and import a file for each. A file is "
            "a seed, and the report then judges the boosts."
        )
    processes = (list(rounds) for _, rounds in groupby(series, lambda row: (row.shape, row.config)))
    repeated = [rounds for rounds in processes if len(rounds) > 1]
    if repeated:  # the only sign of what differs between processes
        rounds = max(repeated, key=_gap)
        gap, reach = _gap(rounds), math.expm1(max(row.half_width for row in rounds))
        times = f"{gap / reach:.0f} times less" if gap > 2 * reach > 0 else "so they may agree"
        yield (
            f"Rounds hint at such differences: the means of {len(rounds)} rounds of {rounds[0].config} are "
            f"{percent(gap)} apart. An interval within a round has a half-width of {percent(reach)}, {times}."
        )


def _gap(rounds: Sequence[Series]) -> float:
    """Return the slowest mean of some rounds over the fastest, minus 1."""
    means = [row.mean for row in rounds]
    return max(means) / min(means) - 1


def _about_what_is_left_out(seeds: Sequence[int], short: int) -> Iterator[str]:
    if several := sum(number > 1 for number in seeds):
        yield (
            f"Left out: {count(several, 'cell')} of shape and configuration with several seeds. The report "
            "judges those, and --section noise says where their noise comes from."
        )
    if short:
        yield f"Left out: {count(short, 'round')} of fewer than {FEWEST} timings, which say next to nothing."
    if not any(seeds):
        yield "There are no timings."


_WHAT = (
    "Every row is one process, or one round of it, that timed the same thing again and again. Its numbers "
    "describe these timings only. Another process of the same configuration may differ by more than any "
    "interval here."
)
_MEANS = (
    "mean: geometric. +-: half-width of its {level} interval, which allows for dependent timings (equally "
    "weighted cosines). slowest: above the median. at: its number. No timing is left out. Where slow ones "
    "pull the mean, the median is steadier."
)


def timings_section(analysis: Analysis) -> Section:
    """Return the timings of the shapes of an analysis."""
    return section_of_timings(analysis.dataset, level=analysis.level)


def section_of_timings(dataset: xr.Dataset, *, level: float) -> Section:
    """Return the timings of a dataset, which may have a single configuration."""
    timings = describe_timings(dataset, level=level)
    return Section(name="timings", page=tuple(_parts(timings)), result=timings)


def _parts(timings: Timings) -> Iterator[Part]:
    yield Heading("timings of one process")
    if timings.series:
        yield Prose(_WHAT)
        yield _means(timings.series)
        yield Prose(_MEANS.format(level=plain_percent(timings.level)), remark=True)
    yield Bullets((*timings.caveats, *_about_rows(timings.series)))


def _about_rows(rows: Sequence[Series]) -> Iterator[str]:
    having: dict[str, list[str]] = {}
    several_shapes = len({row.shape for row in rows}) > 1
    for row, label in zip(rows, _labels(rows), strict=True):
        for caveat in row.caveats:
            having.setdefault(caveat, []).append(f"{row.shape}, {label}" if several_shapes else label)
    for caveat, which in having.items():
        some = which[:_NAMED] + [f"{len(which) - _NAMED} more"] * (len(which) > _NAMED)
        yield f"{'Every row' if len(which) == len(rows) > 1 else '; '.join(some)}: {caveat}"


def _labels(rows: Sequence[Series]) -> list[str]:
    """Return the configuration of each row, with the round where a process has several."""
    rounds = Counter((row.shape, row.config) for row in rows)
    several = [rounds[row.shape, row.config] > 1 for row in rows]
    return [row.config + f", round {row.round}" * more for row, more in zip(rows, several, strict=True)]


def _means(rows: Sequence[Series]) -> Grid:
    decimals, labels = boost_decimals(row.half_width for row in rows), _labels(rows)
    shapes = [row.shape for row in rows]
    half = [percent_cell(math.expm1(row.half_width), decimals, signed=False) for row in rows]
    columns = (
        column("n", [str(row.n) for row in rows], gives_way=5),
        column("mean us", [microseconds(row.mean) for row in rows]),
        column("+- %", half),
        column("median us", [microseconds(row.median) for row in rows], gives_way=1),
        column("slowest %", [percent_cell(row.slowest, decimals) for row in rows], gives_way=3),
        column("at", [str(row.slowest_at) for row in rows], gives_way=4),
    )
    if len(set(shapes)) == 1:
        return table("configuration", labels, *columns)
    return table(SHAPE, shapes, column("configuration", labels, kind="word"), *columns)
