"""The rows of a forest plot: what stands at the left, what at the right, and how high each is."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from abtune.analyse.comparison import Analysis, Verdict
from abtune.report.columns import intervals, report_columns, report_decimals
from abtune.report.labels import Group, fit_labels, group_by_workload
from abtune.report.notes import count_shapes, overall_lines
from abtune.report.numbers import NOTHING, percent, plain_percent
from abtune.report.scale import Bounded

_LABEL = 44  # characters of a line
_LINE = 0.75  # rows that a further line of a label takes
_BETWEEN = 0.4  # rows between groups


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row as it is drawn.

    Attributes
    ----------
    label : str
        What stands at its left; of several lines for long labels.
    y : float
        Where it is; 0 is the top, and a line of text takes 1.
    height : float
        How much room it takes.
    cells : tuple of str
        Its numbers, for the right.
    drawn : Bounded or None
        What is drawn; None for headings.
    verdict : Verdict or None
        None for overall boosts and headings.
    shape : str
        Whole label of the shape; empty for overall boosts and headings.
    """

    label: str
    y: float
    height: float
    cells: tuple[str, ...]
    drawn: Bounded | None
    verdict: Verdict | None
    shape: str


def forest_rows(analysis: Analysis) -> Sequence[Row]:
    """Lay out the rows: groups below their headings, then the overall boosts."""
    by_key = {column.key: column.cells for column in report_columns(analysis)}
    none = (NOTHING,) * len(analysis.comparisons)
    shown = [by_key.get(key, none) for key in ("boost", "interval", "verdict")]
    rows: list[Row] = []
    y = 0.0
    for group in group_by_workload(analysis.comparisons):
        labels = fit_labels(group.labels, _LABEL)
        rows.append(_heading(_group_name(group, labels.shared), y))
        y += rows[-1].height
        for place, comparison, lines in zip(group.places, group.comparisons, labels.lines, strict=True):
            height = 1 + _LINE * (len(lines) - 1)
            rows.append(
                Row(
                    label="\n".join(lines),
                    y=y + (height - 1) / 2,
                    height=height,
                    cells=tuple(" ".join(cells[place].split()) for cells in shown),
                    drawn=comparison,
                    verdict=comparison.verdict,
                    shape=comparison.shape,
                )
            )
            y += height
        y += _BETWEEN
    rows.append(_heading("overall", y))
    rows += _overall_rows(analysis, y + 1)
    return rows


def _group_name(group: Group, shared: str) -> str:
    named = f"{group.workload}, " if group.workload else ""
    return f"{named}{count_shapes(len(group.places))}{f'; all {shared}' if shared else ''}"


def _heading(text: str, y: float) -> Row:
    lines = textwrap.wrap(text, _LABEL)
    height = 1 + _LINE * (len(lines) - 1)
    middle = y + (height - 1) / 2
    return Row(label="\n".join(lines), y=middle, height=height, cells=(), drawn=None, verdict=None, shape="")


def _overall_rows(analysis: Analysis, y: float) -> list[Row]:
    lines = overall_lines(analysis.overall)
    decimals = max(report_decimals(analysis), 2)
    bounds = intervals([(line.boost_low, line.boost_high) for line in lines.values()], decimals)
    numbers = [
        (percent(line.boost, decimals), " ".join(bound.split()), "")
        for line, bound in zip(lines.values(), bounds, strict=True)
    ]
    return [
        Row(label=name, y=y + at, height=1.0, cells=cells, drawn=line, verdict=None, shape="")
        for at, ((name, line), cells) in enumerate(zip(lines.items(), numbers, strict=True))
    ]


def headed_cells(analysis: Analysis, rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return the headings of the numbers, and then the numbers of each row; all have as many."""
    headings = ("boost %", f"{plain_percent(analysis.level)} interval", "verdict")
    return [headings, *(row.cells or ("",) * len(headings) for row in rows)]
