"""What fits a console: which columns of the table of shapes stay, and how much room their labels get."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from abtune.report.cells import cell_width, wrap
from abtune.report.columns import Column
from abtune.report.labels import NARROWEST, fit_labels
from abtune.report.notes import Notes
from abtune.report.page import DRAWING

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


def choose_layout(
    columns: Sequence[Column], groups: Sequence[Labelled], width: int, *, stub: str = "shape"
) -> Layout:
    """Keep as many columns as leave a readable label, and its heading, in a console of this width.

    Labels of two lines are worth more than every optional column but the last, which outlives even them.
    """
    kept = list(columns)
    left_out: list[str] = []
    longest = max((cell_width(label) for group in groups for label in group.labels), default=NARROWEST)
    two_lines, narrowest = (
        max(min(room, longest), len(stub)) for room in (_two_line_width(groups), NARROWEST)
    )
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
    return Layout(columns=tuple(kept), label_width=max(widest, len(stub)), left_out=tuple(left_out))


def table_width(label_width: int, columns: Sequence[Column]) -> int:
    """Return the width of a table with these columns and labels this wide."""
    return label_width + sum(GAP + column.width for column in columns)


def _wrap(text: str, width: int) -> list[str]:
    return wrap(text, width) or [""]


def _two_line_width(groups: Sequence[Labelled]) -> int:
    """Return the width at which no label needs more than two lines, within reason."""
    for width in range(NARROWEST, 30):
        if all(len(lines) <= 2 for group in groups for lines in fit_labels(group.labels, width).lines):
            return width
    return NARROWEST


def break_words(columns: Sequence[Column], width: int) -> tuple[Column, ...]:
    """Break names that are wider than a third of the console; beside their further lines there is nothing.

    Drawings are not words, and numbers are never broken.
    """
    most = max(NARROWEST, width // 3)
    wide = [not column.right and column.key != DRAWING and column.width > most for column in columns]
    if not any(wide):
        return tuple(columns)
    cells: list[list[str]] = [[] for _ in columns]
    for row in zip(*(column.cells for column in columns), strict=True):
        broken: list[list[str]] = [[] for _ in columns]
        for lines in zip(*(cell.split("\n") for cell in row), strict=True):
            pieces = [_wrap(line, most) if name else [line] for line, name in zip(lines, wide, strict=True)]
            height = max(map(len, pieces))
            for found, parts in zip(broken, pieces, strict=True):
                found.extend(parts + [""] * (height - len(parts)))
        for column, found in zip(cells, broken, strict=True):
            column.append("\n".join(found))
    return tuple(replace(column, cells=tuple(found)) for column, found in zip(columns, cells, strict=True))


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
