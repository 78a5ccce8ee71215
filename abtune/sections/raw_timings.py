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

from abtune.dataset.schema import labels_of
from abtune.report.page import SHAPE, Bullets, Grid, Heading, Part, Prose, Section, column, table
from abtune.samples import complete_timings
from abtune.sections.section_registry import Context
from abtune.stats.time_series import cosine_mean, half_width, independent_worth
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
    cells = list(_cells(dataset))
    rounds = [timing for seeds, timed in cells if seeds == 1 for timing in timed]
    series = tuple(_described(timing, level) for timing in rounds if len(timing.logs) >= FEWEST)
    left_out = _about_what_is_left_out([seeds for seeds, _ in cells], len(rounds) - len(series))
    return Timings(level=level, series=series, caveats=(*_about_processes(series), *left_out))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Timed:
    """What was measured in one round of one process."""

    shape: str
    config: str
    round: int
    logs: Floats  # log seconds in the order of time
    gaps: int  # timings that are missing between others


def _cells(dataset: xr.Dataset) -> Iterator[tuple[int, list[_Timed]]]:
    """Yield for each shape and configuration how many seeds have timings, and the rounds of the first."""
    shapes, configs = labels_of(dataset, "shape"), labels_of(dataset, "config")
    rounds = dataset["round"].values.tolist()
    logs = {config: np.log(complete_timings(dataset, config)) for config in configs}
    for index, shape in enumerate(shapes):
        for config in configs:
            known = logs[config][index]
            seeds = np.flatnonzero((~np.isnan(known)).any(axis=(1, 2)))
            timed = []
            for number, values in zip(rounds, known[seeds[0]], strict=True) if len(seeds) else ():
                # The row of a round is filled up with NaN.
                if len(present := np.flatnonzero(~np.isnan(values))):
                    gaps = int(present[-1]) + 1 - len(present)
                    timed.append(
                        _Timed(shape=shape, config=config, round=number, logs=values[present], gaps=gaps)
                    )
            yield len(seeds), timed


def _described(timed: _Timed, level: float) -> Series:
    estimate = cosine_mean(timed.logs)
    mean, median = float(estimate.mean), float(np.median(timed.logs))
    half = float(half_width(estimate, level=level))
    return Series(
        shape=timed.shape,
        config=timed.config,
        round=timed.round,
        n=len(timed.logs),
        mean=math.exp(mean),
        low=math.exp(mean - half),
        high=math.exp(mean + half),
        median=math.exp(median),
        half_width=half,
        freedom=estimate.freedom,
        slowest=math.expm1(timed.logs.max() - median),
        slowest_at=int(timed.logs.argmax()) + 1,
        caveats=tuple(_about_series(timed, estimate.freedom)),
    )


def _about_series(timed: _Timed, freedom: int) -> Iterator[str]:
    n, different = len(timed.logs), len(np.unique(timed.logs))
    over_median = timed.logs - np.median(timed.logs)
    if n < _ENOUGH:
        yield f"{n} timings are few, so the interval has {count(freedom, 'degree')} of freedom."
    if timed.gaps:
        yield f"{count(timed.gaps, 'timing')} missing between others, which count as consecutive."
    if different == 1:
        yield f"All {n} timings agree exactly. Differences below the resolution of the clock are not seen."
        return
    if different <= n / 2:
        yield f"Only {different} values among {n} timings: the interval ignores the resolution of the clock."
    if n < _ENOUGH:
        return
    if (over_median[1:] < over_median[0]).all():
        slow = percent(math.expm1(over_median[0]))
        yield f"The first timing is the slowest, {slow} over the median: perhaps not warmed up. It counts."
    if (worth := independent_worth(timed.logs)) < WORTH_TOO_LITTLE:
        yield (
            f"{n} timings are worth {worth:.0f} independent ones. With so much dependence, 95% intervals "
            "cover about 80%."
        )


def _about_processes(series: Sequence[Series]) -> Iterator[str]:
    if series:
        yield (
            "No verdict follows from one process of each: these timings do not show how much two processes "
            "of one configuration differ. Run each ten times and import a file for each. A file is "
            "a seed, and the report then judges the boosts."
        )
    groups = (list(group) for _, group in groupby(series, lambda row: (row.shape, row.config)))
    gaps = {_gap(group): group for group in groups if len(group) > 1}
    if gaps:  # the only sign of what differs between processes
        gap, rounds = max(gaps.items(), key=lambda item: item[0])
        reach = math.expm1(max(row.half_width for row in rounds))
        times = f"{gap / reach:.0f} times less" if gap > 2 * reach > 0 else "so they may agree"
        yield (
            f"Rounds hint at it: the means of {len(rounds)} rounds of {rounds[0].config} are "
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
    "weighted cosines). slowest: over the median. at: which timing that is. No timing is left out. Where "
    "slow ones pull the mean, the median is steadier."
)


def timings_section(context: Context) -> Section:
    """Return the timings of the shapes of an analysis."""
    return section_of_timings(context.analysis.analysed, level=context.analysis.level)


def section_of_timings(dataset: xr.Dataset, *, level: float) -> Section:
    """Return the timings of a dataset, which may have a single configuration."""
    timings = describe_timings(dataset, level=level)
    return Section(name="timings", page=tuple(_parts(timings)), result=timings)


def _parts(timings: Timings) -> Iterator[Part]:
    names = _Names(timings.series)
    yield Heading("timings of one process")
    if timings.series:
        yield Prose(_WHAT)
        yield _means(timings.series, names)
        yield Prose(_MEANS.format(level=plain_percent(timings.level)), remark=True)
    yield Bullets((*timings.caveats, *_about_rows(timings.series, names)))


def _about_rows(rows: Sequence[Series], names: _Names) -> Iterator[str]:
    """Yield each caveat once, with the rows that have it."""
    having: dict[str, list[str]] = {}
    for row in rows:
        for caveat in row.caveats:
            having.setdefault(caveat, []).append(names.full(row))
    for caveat, which in having.items():
        some = which[:_NAMED] + [f"{len(which) - _NAMED} more"] * (len(which) > _NAMED)
        yield f"{'Every row' if len(which) == len(rows) > 1 else '; '.join(some)}: {caveat}"


class _Names:
    """Names of series, as short as telling them apart allows."""

    def __init__(self, series: Sequence[Series]) -> None:
        self.several_shapes = len({row.shape for row in series}) > 1
        self._rounds = Counter((row.shape, row.config) for row in series)

    def short(self, row: Series) -> str:
        """Return the name of a series among those of its shape."""
        several = self._rounds[row.shape, row.config] > 1
        return f"{row.config}, round {row.round}" if several else row.config

    def full(self, row: Series) -> str:
        """Return the name of a series among all."""
        return f"{row.shape}, {self.short(row)}" if self.several_shapes else self.short(row)


def _means(rows: Sequence[Series], names: _Names) -> Grid:
    decimals, labels = boost_decimals(row.half_width for row in rows), [names.short(row) for row in rows]
    half = [percent_cell(math.expm1(row.half_width), decimals, signed=False) for row in rows]
    columns = (
        column("n", [str(row.n) for row in rows], gives_way=5),
        column("mean us", [microseconds(row.mean) for row in rows]),
        column("+- %", half),
        column("median us", [microseconds(row.median) for row in rows], gives_way=1),
        column("slowest %", [percent_cell(row.slowest, decimals) for row in rows], gives_way=3),
        column("at", [str(row.slowest_at) for row in rows], gives_way=4),
    )
    if not names.several_shapes:
        return table("configuration", labels, *columns)
    return table(SHAPE, [row.shape for row in rows], column("configuration", labels, kind="word"), *columns)
