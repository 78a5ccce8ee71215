"""The page about timings of single processes: means, boosts within the processes, patterns."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from abtune.analyse.patterns import Pattern
from abtune.analyse.series import Series
from abtune.analyse.timings import Timings, Within
from abtune.report.columns import Column, intervals
from abtune.report.labels import printable
from abtune.report.numbers import NOTHING, boost_decimals, microseconds, p_value, percent, plain_percent
from abtune.report.page import SHAPE, Bullets, Grid, Heading, Part, Prose, column

_WHAT = (
    "Every row is one process, or one round of it, that timed the same thing again and again. Its numbers "
    "are about these timings: another process of the same configuration may differ by more than any interval "
    "here."
)
_MEANS = (
    "mean: geometric. +-: half of its {level} interval, which allows for timings that depend on each other "
    "(equally weighted cosines). if indep.: the same if they did not. slowest: over the median; at: which "
    "timing that was. No timing is left out; where slow ones pull the mean, the median is steadier."
)
_WITHIN = (
    "How much faster this process was than that of the baseline, by geometric means and by medians. Not a "
    "test of the configurations: the interval leaves out what differs between processes."
)
_PATTERNS = (
    "lag 1: correlation of a timing with the one before. worth: about how many independent timings would "
    "give the mean as precisely. The p-values are about the series themselves, corrected for their number "
    "(Holm, each column by itself): how often independent timings would look as dependent (Ljung-Box), have "
    "as strong a period (Fisher's g) or as large a shift of their level (Pettitt). One cause can show in all "
    "three."
)
_CAPPED = " Worth >: the most that so many timings can show; they may be worth more."


def timings_page(timings: Timings) -> tuple[Part, ...]:
    """Compose the page."""
    return tuple(_parts(timings))


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
    """Names of series, no longer than telling them apart takes."""

    def __init__(self, series: Sequence[Series]) -> None:
        self.several_shapes = len({row.shape for row in series}) > 1
        self._rounds = Counter((row.shape, row.config) for row in series)

    def short(self, row: Series | Within) -> str:
        """Name a series among those of its shape."""
        several = self._rounds[row.shape, row.config] > 1
        return f"{row.config}, round {row.round}" if several else row.config

    def full(self, row: Series | Within) -> str:
        """Name a series among all."""
        return f"{row.shape}, {self.short(row)}" if self.several_shapes else self.short(row)


def _means(rows: Sequence[Series], names: _Names) -> Grid:
    decimals = boost_decimals(row.half_width for row in rows)

    def either_side(half: float) -> str:
        return percent(math.expm1(half), decimals, signed=False)

    return _grid(
        rows,
        names,
        column("n", [str(row.n) for row in rows], gives_way=5),
        column("mean us", [microseconds(row.mean) for row in rows]),
        column("+- %", [either_side(row.half_width) for row in rows]),
        column("if indep.", [either_side(row.half_width_independent) for row in rows], gives_way=2),
        column("median us", [microseconds(row.median) for row in rows], gives_way=1),
        column("slowest %", [percent(row.slowest, decimals) for row in rows], gives_way=3),
        column("at", [str(row.slowest_at) for row in rows], gives_way=4),
    )


def _within(rows: Sequence[Within], names: _Names, level: float) -> Grid:
    decimals = boost_decimals((row.high - row.low) / 2 for row in rows)
    return _grid(
        rows,
        names,
        column("boost %", [percent(row.boost, decimals) for row in rows]),
        column(
            f"{plain_percent(level)} interval",
            intervals([(row.low, row.high) for row in rows], decimals),
            gives_way=1,
        ),
        column("of medians", [percent(row.boost_of_medians, decimals) for row in rows], gives_way=2),
    )


def _patterns(rows: Sequence[Series], names: _Names) -> Grid:
    def cells(heading: str, cell: Callable[[Pattern], str], gives_way: int) -> Column:
        texts = [NOTHING if row.pattern is None else cell(row.pattern) for row in rows]
        return column(heading, texts, gives_way=gives_way)

    return _grid(
        rows,
        names,
        cells("lag 1", lambda pattern: f"{pattern.autocorrelation[0]:+.2f}", 4),
        cells("worth", _worth, 0),
        cells("dependent p", lambda pattern: p_value(pattern.dependence_p_adjusted), 1),
        cells("period p", lambda pattern: p_value(pattern.period_p_adjusted), 3),
        cells("shift p", lambda pattern: p_value(pattern.shift_p_adjusted), 2),
    )


def _worth(pattern: Pattern) -> str:
    return f"{'>' if pattern.effective_capped else ''}{pattern.effective:.0f}"


def _grid(rows: Sequence[Series | Within], names: _Names, *columns: Column) -> Grid:
    """Lay series out, a row each; where there are several shapes, a line each in the row of their shape."""
    labels = [names.short(row) for row in rows]
    if not names.several_shapes:
        return Grid(stub="configuration", labels=tuple(labels), columns=columns)
    sizes = Counter(row.shape for row in rows)  # in the order of the rows, in which shapes stand together

    def grouped(flat: Column) -> Column:
        cells = iter(flat.cells)
        return replace(flat, cells=tuple("\n".join(next(cells) for _ in range(n)) for n in sizes.values()))

    whole = (column("configuration", list(map(printable, labels)), right=False), *columns)
    return Grid(stub=SHAPE, labels=tuple(sizes), columns=tuple(map(grouped, whole)))
