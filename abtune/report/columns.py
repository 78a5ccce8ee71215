"""The columns of the table of shapes: headings, cells, and which give way when room is short."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from abtune.analyse.comparison import Analysis, Comparison
from abtune.report.cells import cell_width
from abtune.report.numbers import NOTHING, boost_decimals, p_value, percent, plain_percent, spread_percent


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column beside the label.

    Attributes
    ----------
    key, heading : str
        What it is called in code and on paper.
    cells : tuple of str
        One for each comparison.
    right : bool
        Whether it is set flush right, as numbers are.
    gives_way : int
        The column with the highest number is the first to go when there is no room; 0 never goes.
    """

    key: str
    heading: str
    cells: tuple[str, ...]
    right: bool
    gives_way: int

    @property
    def width(self) -> int:
        """The longest line of heading and cells, in cells of a terminal."""
        return max(cell_width(line) for text in (self.heading, *self.cells) for line in text.split("\n"))


def report_decimals(analysis: Analysis) -> int:
    """Decide on the decimals of every boost in the report."""
    return boost_decimals(
        (comparison.boost_high - comparison.boost_low) / 2 for comparison in analysis.comparisons
    )


def report_columns(analysis: Analysis) -> tuple[Column, ...]:
    """Build the columns of a report; those that would be empty in every row are left out."""
    rows = analysis.comparisons
    decimals = report_decimals(analysis)

    def column(key: str, heading: str, cell: Callable[[Comparison], str], gives_way: int) -> Column:
        cells = tuple(cell(row) for row in rows)
        return Column(
            key=key, heading=heading, cells=cells, right=key not in {"verdict"}, gives_way=gives_way
        )

    columns = (
        column("boost", "boost %", lambda row: percent(row.boost, decimals), 0),
        Column(
            key="interval",
            heading=f"{plain_percent(analysis.level)} interval",
            cells=intervals([(row.boost_low, row.boost_high) for row in rows], decimals),
            right=True,
            gives_way=1,
        ),
        column("p", "p", lambda row: p_value(row.p), 4),
        column("p_adjusted", "adj. p", lambda row: p_value(row.p_adjusted), 2),
        column("p_rank", "rank p", _rank, 3),
        column("verdict", "verdict", lambda row: row.verdict.value, 0),
        column("noise", "noise %", _noise, 5),
        column("seeds", "seeds", lambda row: f"{row.baseline.n}+{row.candidate.n}", 3),
        column("failed", "failed", lambda row: f"{row.baseline.failed}+{row.candidate.failed}", 6),
    )
    empty = {NOTHING, f"{NOTHING}/{NOTHING}", "0+0"}
    return tuple(
        column for column in columns if column.key in {"boost", "verdict"} or set(column.cells) - empty
    )


def intervals(bounds: Sequence[tuple[float, float]], decimals: int) -> tuple[str, ...]:
    """Write intervals in percent so that lower and upper ends line up, one below the other."""
    texts = [tuple(percent(bound, decimals) for bound in ends) for ends in bounds]
    known = [(low, high) for low, high in texts if NOTHING not in {low, high}]
    low_width = max((len(low) for low, _ in known), default=0)
    high_width = max((len(high) for _, high in known), default=0)
    return tuple(
        f"{low:>{low_width}} to {high:>{high_width}}" if NOTHING not in {low, high} else NOTHING
        for low, high in texts
    )


def _rank(row: Comparison) -> str:
    return NOTHING if row.p_rank_adjusted is None else p_value(row.p_rank_adjusted)


def _noise(row: Comparison) -> str:
    sides = (spread_percent(side.noise) for side in (row.baseline, row.candidate))
    return "/".join(sides)
