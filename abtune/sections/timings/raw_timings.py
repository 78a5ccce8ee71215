"""Raw timings of single processes, and the page about them: what each says of itself, nothing of a boost.

A process is one draw of all that differs between processes: memory layout, compiled code, the state of the
machine. However often it times itself, that part of the error stays unknown, so no verdict rests on this.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import xarray as xr

from abtune.dataset.schema import labels_of
from abtune.report.columns import interval_column
from abtune.report.page import SHAPE, Bullets, Column, Grid, Heading, Part, Prose, Section, column, table
from abtune.samples import complete_timings
from abtune.sections.section_registry import Context
from abtune.sections.timings.series import Pattern, Series, Timed, describe_series
from abtune.stats.estimates import from_log, t_interval
from abtune.stats.time_series import cosine_mean, mean_difference
from abtune.text import (
    NOTHING,
    boost_decimals,
    count,
    microseconds,
    p_value,
    percent,
    percent_cell,
    plain_percent,
)

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
class Timings:
    """What the single processes of a dataset say."""

    baseline: str
    level: float
    series: tuple[Series, ...]
    within: tuple[Within, ...]  # all series but the baseline's first, in shapes where it has one
    caveats: tuple[str, ...]


def describe_timings(dataset: xr.Dataset, *, baseline: str, level: float) -> Timings:
    """Return what the timings of every configuration that was run as one process say."""
    cells = list(_cells(dataset))
    rounds = [each for seeds, timed in cells if seeds == 1 for each in timed]
    timed = [each for each in rounds if len(each.logs) >= FEWEST]
    series = describe_series(timed, level=level)
    within = tuple(_within(timed, baseline, level))
    return Timings(
        baseline=baseline,
        level=level,
        series=series,
        within=within,
        caveats=(
            *_about_processes(series, within, baseline),
            *_about_what_is_left_out([seeds for seeds, _ in cells], len(rounds) - len(timed)),
        ),
    )


def _cells(dataset: xr.Dataset) -> Iterator[tuple[int, list[Timed]]]:
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
                if len(at := np.flatnonzero(~np.isnan(values))):
                    gaps = int(at[-1]) + 1 - len(at)
                    timed.append(Timed(shape=shape, config=config, round=number, logs=values[at], gaps=gaps))
            yield len(seeds), timed


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


def _about_processes(series: Sequence[Series], within: Sequence[Within], baseline: str) -> Iterator[str]:
    if series:
        yield (
            "No verdict follows from one process of each: these timings do not show how much two processes "
            "of one configuration differ. Run each at least 5 times and import a file for each. A file is "
            "a seed, and the report then judges the boosts."
        )
    groups = (list(group) for _, group in groupby(series, lambda row: (row.shape, row.config)))
    gaps = {_gap(group): group for group in groups if len(group) > 1}
    if gaps:  # the only sign of what differs between processes
        gap, rounds = max(gaps.items(), key=lambda found: found[0])
        reach = math.expm1(max(row.half_width for row in rounds))
        times = f"{gap / reach:.0f} times less" if gap > 2 * reach > 0 else "so they may agree"
        yield (
            f"Rounds hint at it: the means of {len(rounds)} rounds of {rounds[0].config} are "
            f"{percent(gap)} apart. Half of an interval within a round is {percent(reach)}, {times}."
        )
    if {baseline} < {row.config for row in within}:
        yield (
            f"Boosts here are against the first round of {baseline}. Another round would change them by the "
            "gap between the two. The report itself takes the mean of all rounds."
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
    "mean: geometric. +-: half of its {level} interval, which allows for timings that depend on each other "
    "(equally weighted cosines). if indep.: the same for independent timings. slowest: over the median. at: "
    "which timing that is. No timing is left out. Where slow ones pull the mean, the median is steadier."
)
_WITHIN = (
    "How much faster this process was than the process of the baseline, by geometric means and by medians. "
    "It is no test of the configurations: the interval leaves out what differs between processes."
)
_PATTERNS = (
    "lag 1: correlation of a timing with the one before. worth: how many independent timings would give the "
    "mean as precisely. dependent p: Ljung-Box test of independence, corrected for the number of series "
    "(Holm)."
)
_CAPPED = " worth >: the most that this number of timings can show; they may be worth more."


def timings_section(context: Context) -> Section:
    """Return the timings of the shapes of an analysis."""
    analysis = context.analysis
    return section_of_timings(analysis.analysed, baseline=analysis.baseline, level=analysis.level)


def section_of_timings(dataset: xr.Dataset, *, baseline: str, level: float) -> Section:
    """Return the timings of a dataset, which may have a single configuration."""
    timings = describe_timings(dataset, baseline=baseline, level=level)
    return Section(name="timings", page=tuple(_parts(timings)), result=timings)


def _parts(timings: Timings) -> Iterator[Part]:
    names = _Names(timings.series)
    yield Heading("timings of one process")
    if timings.series:
        yield Prose(_WHAT)
        yield _means(timings.series, names)
        yield Prose(_MEANS.format(level=plain_percent(timings.level)), remark=True)
    if timings.within:
        yield Heading(f"boost over {timings.baseline}, within these processes only", minor=True)
        yield _within_table(timings.within, names, timings.level)
        yield Prose(_WITHIN, remark=True)
    patterns = [row.pattern for row in timings.series if row.pattern is not None]
    if patterns:
        yield Heading("do the timings look independent?", minor=True)
        yield _patterns(timings.series, names)
        capped = any(pattern.effective_capped for pattern in patterns)
        yield Prose(_PATTERNS + (_CAPPED if capped else ""), remark=True)
    said = (f"{names.full(row)}: {caveat}" for row in timings.series for caveat in row.caveats)
    yield Bullets((*timings.caveats, *said))


class _Names:
    """Names of series, as short as telling them apart allows."""

    def __init__(self, series: Sequence[Series]) -> None:
        self.several_shapes = len({row.shape for row in series}) > 1
        self._rounds = Counter((row.shape, row.config) for row in series)

    def short(self, row: Series | Within) -> str:
        """Return the name of a series among those of its shape."""
        several = self._rounds[row.shape, row.config] > 1
        return f"{row.config}, round {row.round}" if several else row.config

    def full(self, row: Series | Within) -> str:
        """Return the name of a series among all."""
        return f"{row.shape}, {self.short(row)}" if self.several_shapes else self.short(row)


def _means(rows: Sequence[Series], names: _Names) -> Grid:
    decimals = boost_decimals(row.half_width for row in rows)

    def either_side(half: float) -> str:
        return percent_cell(math.expm1(half), decimals, signed=False)

    return _grid(
        rows,
        names,
        column("n", [str(row.n) for row in rows], gives_way=5),
        column("mean us", [microseconds(row.mean) for row in rows]),
        column("+- %", [either_side(row.half_width) for row in rows]),
        column("if indep.", [either_side(row.half_width_independent) for row in rows], gives_way=2),
        column("median us", [microseconds(row.median) for row in rows], gives_way=1),
        column("slowest %", [percent_cell(row.slowest, decimals) for row in rows], gives_way=3),
        column("at", [str(row.slowest_at) for row in rows], gives_way=4),
    )


def _within_table(rows: Sequence[Within], names: _Names, level: float) -> Grid:
    decimals = boost_decimals((row.high - row.low) / 2 for row in rows)
    return _grid(
        rows,
        names,
        column("boost %", [percent_cell(row.boost, decimals) for row in rows]),
        interval_column([(row.low, row.high) for row in rows], level=level, decimals=decimals),
        column("of medians", [percent_cell(row.boost_of_medians, decimals) for row in rows], gives_way=2),
    )


def _patterns(rows: Sequence[Series], names: _Names) -> Grid:
    def cells(heading: str, cell: Callable[[Pattern], str], gives_way: int) -> Column:
        texts = [NOTHING if row.pattern is None else cell(row.pattern) for row in rows]
        return column(heading, texts, gives_way=gives_way)

    return _grid(
        rows,
        names,
        cells("lag 1", lambda pattern: f"{pattern.autocorrelation[0]:+.2f}", 2),
        cells("worth", lambda pattern: f"{'>' * pattern.effective_capped}{pattern.effective:.0f}", 0),
        cells("dependent p", lambda pattern: p_value(pattern.dependence_p_adjusted), 1),
    )


def _grid(rows: Sequence[Series | Within], names: _Names, *columns: Column) -> Grid:
    labels = [names.short(row) for row in rows]
    if not names.several_shapes:
        return table("configuration", labels, *columns)
    return table(SHAPE, [row.shape for row in rows], column("configuration", labels, kind="word"), *columns)
