"""What fits a console: which columns of the table of shapes stay, and how much room their labels get."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from abtune.report.columns import Column
from abtune.report.labels import NARROWEST, fit_labels
from abtune.report.notes import Notes

# Columns of the console between columns of the table.
GAP = 2


class Labelled(Protocol):
    """What has a label for each row."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What fits: the columns that are kept, the room for labels, the names of the columns left out."""

    columns: tuple[Column, ...]
    label_width: int
    left_out: tuple[str, ...]


def choose_layout(columns: Sequence[Column], groups: Sequence[Labelled], width: int) -> Layout:
    """Keep as many columns as leave a readable label in a console of this width.

    Labels of two lines are worth more than every optional column but the last, which outlives even them.
    """
    kept = list(columns)
    left_out: list[str] = []
    longest = max((len(label) for group in groups for label in group.labels), default=NARROWEST)
    two_lines, narrowest = min(_two_line_width(groups), longest), min(NARROWEST, longest)
    while True:
        room = width - table_width(0, kept)
        optional = [column for column in kept if column.gives_way]
        if not optional or room >= (two_lines if len(optional) > 1 else narrowest):
            break
        last = max(optional, key=lambda column: column.gives_way)
        kept.remove(last)
        left_out.append(last.heading)
    room = max(room, narrowest)
    widest = max((fit_labels(group.labels, room).width for group in groups), default=1)
    return Layout(columns=tuple(kept), label_width=max(widest, len("shape")), left_out=tuple(left_out))


def table_width(label_width: int, columns: Sequence[Column]) -> int:
    """Return the width of a table with these columns and labels this wide."""
    return label_width + sum(GAP + column.width for column in columns)


def _two_line_width(groups: Sequence[Labelled]) -> int:
    """Return the width at which no label needs more than two lines, within reason."""
    for width in range(NARROWEST, 30):
        if all(len(lines) <= 2 for group in groups for lines in fit_labels(group.labels, width).lines):
            return width
    return NARROWEST


def with_marks(columns: Sequence[Column], notes: Notes, *, ascii_only: bool) -> tuple[Column, ...]:
    """Add the marks of the footnotes to the verdicts."""
    marks = [mark(numbers, ascii_only=ascii_only) for numbers in notes.marks]
    return tuple(
        replace(column, cells=tuple(map(str.__add__, column.cells, marks)))
        if column.key == "verdict"
        else column
        for column in columns
    )


def mark(numbers: Sequence[int], *, ascii_only: bool) -> str:
    """Write footnote numbers as a mark: superscripts, or numbers in brackets where there are none."""
    if not numbers:
        return ""
    text = ",".join(map(str, numbers))
    return f" [{text}]" if ascii_only else text.translate(str.maketrans("0123456789,", "⁰¹²³⁴⁵⁶⁷⁸⁹ "))
