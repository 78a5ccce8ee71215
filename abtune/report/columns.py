"""The columns of comparisons: boosts, their intervals in words and drawn, tests, verdicts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from abtune.compare.results import Aggregate, Analysis, Overall, Verdict, Weighted
from abtune.report.page import Cell, Column, Drawn, column
from abtune.report.scale import Interval, Scale, choose_scale
from abtune.text import (
    NOTHING,
    boost_decimals,
    bound_percent,
    count,
    limit_cell,
    p_value,
    percent_cell,
    plain_percent,
    spread_percent,
)

OVERALL = "overall"
_EMPTY = {NOTHING, f"{NOTHING}/{NOTHING}", "0+0"}


def shape_intervals(analysis: Analysis) -> list[Interval]:
    """Return the boosts of the shapes as they are drawn; the intervals of several have wider ones behind."""
    lone = len(analysis.comparisons) == 1
    return [
        Interval(
            low=row.boost_low,
            value=row.boost,
            high=row.boost_high,
            wide_low=math.nan if lone else row.boost_low_simultaneous,
            wide_high=math.nan if lone else row.boost_high_simultaneous,
            tone=row.verdict.value,
        )
        for row in analysis.comparisons
    ]


def overall_interval(line: Aggregate | Weighted) -> Interval:
    """Return a boost over shapes as it is drawn."""
    return Interval(low=line.boost_low, value=line.boost, high=line.boost_high, tone=OVERALL)


def overall_lines(overall: Overall) -> dict[str, Aggregate]:
    """Return the boost over these shapes, and those to expect of others, by name."""
    shapes, kinds = overall.these_shapes.shapes, overall.few_kinds
    # A lone shape has its own row, with the interval by which it is judged.
    lines = {f"these {count(shapes, 'shape')}": overall.these_shapes} if shapes > 1 else {}
    # Shapes of one kind may have something in common. The interval of a few kinds is then too narrow.
    if kinds:
        return lines | {f"other {kind.words}": kind.shapes_like_these for kind in kinds}
    if shapes < 2 and math.isnan(overall.shapes_like_these.boost_low):
        return lines  # one shape says nothing about others
    return lines | {"shapes like these": overall.shapes_like_these}


def analysis_scale(analysis: Analysis, further: Iterable[float] = ()) -> Scale:
    """Return the scale of all drawings of an analysis; further boosts are on it if that is possible."""
    overall = overall_lines(analysis.overall).values()
    drawn = [*shape_intervals(analysis), *map(overall_interval, overall)]
    return choose_scale(drawn, margin=analysis.settings.margin, further=further)


def decimals_of(bounds: Iterable[tuple[float, float]]) -> int:
    """Return how many decimals boosts with these intervals deserve, in percent."""
    return boost_decimals((high - low) / 2 for low, high in bounds)


def report_decimals(analysis: Analysis) -> int:
    """Return the decimals of the boosts of shapes."""
    return decimals_of((row.boost_low, row.boost_high) for row in analysis.comparisons)


def overall_decimals(analysis: Analysis) -> int:
    """Return the decimals of the boosts over shapes, which are known better."""
    return max(report_decimals(analysis), 2)


def drawn_boosts(
    rows: Iterable[Interval], scale: Scale, *, level: float, decimals: int
) -> tuple[Column, Column, Drawn]:
    """Return boosts and their intervals in percent, and drawn."""
    drawn = tuple(rows)
    boosts = [Cell(text=percent_cell(row.value, decimals), tone=row.tone) for row in drawn]
    bounds = interval_column([(row.low, row.high) for row in drawn], level=level, decimals=decimals)
    return column("boost %", boosts), bounds, Drawn(intervals=drawn, scale=scale, gives_way=2)


def overall_columns(
    analysis: Analysis, rows: Iterable[Interval], scale: Scale | None = None
) -> tuple[Column, Column, Drawn]:
    """Return boosts over shapes as :func:`drawn_boosts`, by default on the scale of all drawings."""
    scale, decimals = scale or analysis_scale(analysis), overall_decimals(analysis)
    return drawn_boosts(rows, scale, level=analysis.level, decimals=decimals)


def interval_column(
    bounds: Sequence[tuple[float, float]], *, level: float, decimals: int, gives_way: int = 1
) -> Column:
    """Return intervals in percent, below the level."""
    return column(f"{plain_percent(level)} interval", intervals(bounds, decimals), gives_way=gives_way)


def shape_columns(analysis: Analysis, notes: Sequence[tuple[int, ...]]) -> tuple[Column | Drawn, ...]:
    """Return the columns of the table of shapes that say something; ``notes`` are footnotes of verdicts."""
    rows = analysis.comparisons
    verdicts = [
        Cell(text=row.verdict.words, tone=row.verdict.value, notes=marks)
        for row, marks in zip(rows, notes, strict=True)
    ]
    at_least = [
        NOTHING if math.isnan(row.boost_at_least) else bound_percent(row.boost_at_least).rstrip("%")
        for row in rows
    ]
    paired = analysis.settings.paired
    # The noise that the interval and the tests have.
    noise = [
        spread_percent(row.noise_of_pairs)
        if paired
        else "/".join(spread_percent(side.noise) for side in row.sides)
        for row in rows
    ]
    seeds = [f"{row.baseline.n}" if paired else f"{row.baseline.n}+{row.candidate.n}" for row in rows]
    drawn, decimals = shape_intervals(analysis), report_decimals(analysis)
    columns = (
        column("verdict", verdicts, kind="word"),  # the answer; a phone shows no more than the first columns
        *drawn_boosts(drawn, analysis_scale(analysis), level=analysis.level, decimals=decimals),
        column("p", [p_value(row.p) for row in rows], gives_way=5),
        column("adj. p", [p_value(row.p_adjusted) for row in rows], gives_way=3),
        column("at least %", at_least, gives_way=5),
        column("noise %", noise, gives_way=6),
        column("pairs" if paired else "seeds", seeds, gives_way=4),
        column("failed", [f"{row.baseline.failed}+{row.candidate.failed}" for row in rows], gives_way=7),
    )
    # Where no shape has a verdict, all for the same reason, a general note says so.
    said = all(row.verdict is Verdict.INVALID for row in rows) and not any(notes)
    gone = {"adj. p"} if len(rows) == 1 else {"verdict"} if said else set()  # one p needs no correction
    return tuple(column for column in columns if not _empty(column) and column.heading not in gone)


def intervals(bounds: Sequence[tuple[float, float]], decimals: int) -> tuple[str, ...]:
    """Return intervals in percent, with lower and upper limits lined up below each other."""
    texts = [tuple(limit_cell(bound, decimals) for bound in ends) for ends in bounds]
    known = [(low, high) for low, high in texts if NOTHING not in {low, high}]
    low_width = max((len(low) for low, _ in known), default=0)
    high_width = max((len(high) for _, high in known), default=0)
    return tuple(
        f"{low:>{low_width}} to {high:>{high_width}}" if NOTHING not in {low, high} else NOTHING
        for low, high in texts
    )


def _empty(column: Column | Drawn) -> bool:
    if isinstance(column, Drawn):
        return all(math.isnan(row.value) for row in column.intervals)
    return bool(column.gives_way) and {cell.text for cell in column.cells} <= _EMPTY
