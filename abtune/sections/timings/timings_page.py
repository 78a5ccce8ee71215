"""The page about timings of single processes: means, boosts within the processes, patterns."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import xarray as xr

from abtune.report.columns import interval_column
from abtune.report.page import SHAPE, Bullets, Column, Grid, Heading, Part, Prose, Section, column, table
from abtune.sections.section_registry import Context
from abtune.sections.timings.raw_timings import Timings, Within, describe_timings
from abtune.sections.timings.series import Pattern, Series
from abtune.text import NOTHING, boost_decimals, microseconds, p_value, percent_cell, plain_percent

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
    part = context.dataset.sel(shape=[row.shape for row in analysis.comparisons])
    return section_of_timings(part, baseline=analysis.baseline, level=analysis.level)


def section_of_timings(dataset: xr.Dataset, *, baseline: str, level: float) -> Section:
    """Return the timings of a dataset, which may have a single configuration."""
    timings = describe_timings(dataset, baseline=baseline, level=level)
    return Section(name="timings", page=tuple(_parts(timings)), result=timings)


def _parts(timings: Timings) -> Iterator[Part]:
    names = _Names(timings.series)
    yield Heading(text="timings of one process", minor=False)
    if timings.series:
        yield Prose(text=_WHAT, remark=False)
        yield _means(timings.series, names)
        yield Prose(text=_MEANS.format(level=plain_percent(timings.level)), remark=True)
    if timings.within:
        yield Heading(text=f"boost over {timings.baseline}, within these processes only", minor=True)
        yield _within(timings.within, names, timings.level)
        yield Prose(text=_WITHIN, remark=True)
    patterns = [row.pattern for row in timings.series if row.pattern is not None]
    if patterns:
        yield Heading(text="do the timings look independent?", minor=True)
        yield _patterns(timings.series, names)
        capped = any(pattern.effective_capped for pattern in patterns)
        yield Prose(text=_PATTERNS + (_CAPPED if capped else ""), remark=True)
    said = (f"{names.full(row)}: {caveat}" for row in timings.series for caveat in row.caveats)
    yield Bullets(items=(*timings.caveats, *said))


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


def _within(rows: Sequence[Within], names: _Names, level: float) -> Grid:
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
    """Return a grid with a row per series, grouped by shape if there are several."""
    labels = [names.short(row) for row in rows]
    if not names.several_shapes:
        return table("configuration", labels, *columns)
    return table(SHAPE, [row.shape for row in rows], column("configuration", labels, kind="word"), *columns)
