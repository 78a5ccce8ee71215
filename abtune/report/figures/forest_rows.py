"""The rows of a forest plot: the texts at the left and the right, the interval, and the height."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from abtune.compare.results import Analysis, Verdict
from abtune.report.columns import (
    boost_texts,
    overall_decimals,
    overall_interval,
    overall_lines,
    report_decimals,
    shape_interval,
)
from abtune.report.figures.figure import MOST, extremes
from abtune.report.scale import Interval
from abtune.report.summary import group_by_workload, group_heading
from abtune.report.text.labels import fit_labels
from abtune.text import count, plain_percent, printable

_LABEL = 44  # characters of a line
_LINE = 0.75  # rows that a further line of a label takes
_BETWEEN = 0.4  # rows between groups


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row as it is drawn."""

    label: str  # at the left; long labels have several lines
    y: float = 0.0  # its middle; 0 is the top, and a line of text takes 1
    cells: tuple[str, ...] = ()  # the texts at its right
    drawn: Interval | None = None  # None for headings
    shape: str = ""  # empty for overall boosts and headings

    @property
    def height(self) -> float:
        """The room it takes."""
        return 1 + _LINE * self.label.count("\n")

    @property
    def verdict(self) -> Verdict | None:
        """The verdict of a shape; None for overall boosts and headings."""
        return Verdict(self.drawn.tone) if self.drawn and self.shape else None


def forest_rows(analysis: Analysis, *, with_overall: bool = True) -> list[Row]:
    """Return the rows from top to bottom: the overall boosts, then groups below their headings."""
    rows: list[Row] = []
    top = 0.0
    has_overall = with_overall and analysis.overall.these_shapes.shapes
    for group in [*([_overall(analysis)] if has_overall else []), *_groups(analysis)]:
        for row in group:
            rows.append(replace(row, y=top + (row.height - 1) / 2))
            top += row.height
        top += _BETWEEN
    return rows


def headed_cells(analysis: Analysis, rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return the headings of the numbers, and then the numbers of each row, all of the same length."""
    headings = ("boost %", f"{plain_percent(analysis.level)} interval", "verdict")
    return [headings, *(row.cells or ("",) * len(headings) for row in rows)]


def _groups(analysis: Analysis) -> list[list[Row]]:
    """Return the shapes of each workload, the largest boost first, below a heading."""
    comparisons = analysis.comparisons
    drawn = [shape_interval(row) for row in comparisons]
    numbers = boost_texts(drawn, level=analysis.level, decimals=report_decimals(analysis))
    groups = []
    for workload, members in group_by_workload(comparisons).items():
        heading = printable(group_heading(workload, len(members)))
        # Each group gets its share of the rows of a page.
        share = MOST * len(members) // max(MOST, len(comparisons))
        shown = [members[at] for at in extremes([drawn[member].value for member in members], max(2, share))]
        labels = fit_labels([printable(comparisons[member].shape) for member in shown], _LABEL)
        shared = f"; {labels.shared}" if labels.shared else ""
        rows = [
            Row(
                label="\n".join(lines),
                cells=(*numbers[member], comparisons[member].verdict.words),
                drawn=drawn[member],
                shape=comparisons[member].shape,
            )
            for member, lines in zip(shown, labels.lines, strict=True)
        ]
        if rest := set(members) - set(shown):
            # Between the largest boosts and the least.
            rows.insert(-(len(rows) // 2), _left_out([comparisons[at].verdict.words for at in sorted(rest)]))
        groups.append([Row(label=textwrap.fill(heading + shared, _LABEL)), *rows])
    return groups


def _left_out(verdicts: Sequence[str]) -> Row:
    """Return the row that stands in place of shapes."""
    counts = ", ".join(f"{number} {verdict}" for verdict, number in Counter(verdicts).most_common())
    return Row(
        label=textwrap.fill(f"{count(len(verdicts), 'shape')} between, not drawn: {counts}", _LABEL // 2)
    )


def _overall(analysis: Analysis) -> list[Row]:
    lines = {name: overall_interval(line) for name, line in overall_lines(analysis.overall).items()}
    numbers = boost_texts(list(lines.values()), level=analysis.level, decimals=overall_decimals(analysis))
    rows = [
        Row(label=name, cells=(*cells, ""), drawn=drawn)
        for (name, drawn), cells in zip(lines.items(), numbers, strict=True)
    ]
    return [Row(label="overall"), *rows]
