"""Shape labels in whatever width there is: as published, without what all shapes share, or in lines.

A label such as ``N=1_H=56_W=56_C=64_K=64_R=3_S=3_STR=1_PAD=1_DIL=1`` is a list of fields. A label that is
too long first loses the fields that all shapes of its group share; the heading names them instead. Neighbours
of equal value become ``H=W=56`` if the label then fits. Otherwise it is broken between fields, at the same
positions in every row, so that rows can be compared. Nothing is cut off.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from abtune.report.text.wrap import wrap

# A narrower label would be unreadable; other columns give way first.
NARROWEST = 16
# The positions of breaks are searched exhaustively, which takes too long for more fields.
_MOST_FIELDS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """The labels of one group as they are shown."""

    shared: str  # fields that all shapes share and that the rows leave out; empty if the rows are complete
    lines: tuple[tuple[str, ...], ...]  # the lines of each label

    @property
    def width(self) -> int:
        """The longest line, in cells of a terminal."""
        return max((cell_len(line) for lines in self.lines for line in lines), default=0)


def fit_labels(labels: Sequence[str], width: int) -> Labels:
    """Return labels that fit a width, in as few lines as possible."""
    if all(cell_len(label) <= width for label in labels):
        return Labels(shared="", lines=tuple((label,) for label in labels))
    rows = [label.split("_") for label in labels]
    if not _alike(rows):
        lines = (
            (label,) if cell_len(label) <= width else tuple(wrap(" ".join(fields), width))
            for label, fields in zip(labels, rows, strict=True)
        )
        return Labels(shared="", lines=tuple(lines))
    shared, kept = _without_shared(rows)
    for fields in (kept, _merged(kept)):
        whole = [" ".join(row) for row in fields]
        if max(map(cell_len, whole)) <= width:
            return Labels(shared=shared, lines=tuple((line,) for line in whole))
    return Labels(shared=shared, lines=_break_alike(kept, width))


def one_line(labels: Sequence[str]) -> int:
    """Return the width in which every label takes one line."""
    rows = [label.split("_") for label in labels]
    shown = _merged(_without_shared(rows)[1]) if _alike(rows) else rows
    return max((cell_len(" ".join(row)) for row in shown), default=0)


def _alike(rows: Sequence[Sequence[str]]) -> bool:
    """Tell whether all labels have as many fields, and few enough."""
    return len({len(fields) for fields in rows}) == 1 and len(rows[0]) <= _MOST_FIELDS


def _without_shared(rows: Sequence[Sequence[str]]) -> tuple[str, list[list[str]]]:
    """Return the fields that all rows share, and the others of each row."""
    common = [len(set(column)) == 1 and len(rows) > 1 for column in zip(*rows, strict=True)]
    kept = [list(itertools.compress(fields, (not same for same in common))) for fields in rows]
    return " ".join(itertools.compress(rows[0], common)), kept


def _merged(rows: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
    """Write neighbours of equal value in every row as one field: ``H=56`` and ``W=56`` as ``H=W=56``."""
    columns: list[list[str]] = []
    for column in zip(*rows, strict=True):
        before = columns[-1] if columns and len(rows) > 1 else [""] * len(rows)
        both = zip(before, column, strict=True)
        pairs = [(*one.rpartition("="), *two.rpartition("=")) for one, two in both]
        if all(first and second and value == other for first, _, value, second, _, other in pairs):
            columns[-1] = [f"{first}={second}={value}" for first, _, value, second, _, _ in pairs]
        else:
            columns.append(list(column))
    return list(zip(*columns, strict=True))


def _break_alike(rows: Sequence[Sequence[str]], width: int) -> tuple[tuple[str, ...], ...]:
    """Break rows at the same positions: in the fewest lines, then the narrowest, then the longest first."""
    fields = len(rows[0])
    spans = itertools.combinations(range(fields + 1), 2)
    widths = {span: max(cell_len(_line(row, span)) for row in rows) for span in spans}
    for inner in range(fields):
        choices = ([0, *breaks, fields] for breaks in itertools.combinations(range(1, fields), inner))
        widest, breaks = min(
            (max(widths[span] for span in itertools.pairwise(choice)), [-position for position in choice])
            for choice in choices
        )
        if widest <= width:
            ends = list(itertools.pairwise(-position for position in breaks))
            return tuple(tuple(_line(row, span) for span in ends) for row in rows)
    return tuple(tuple(wrap(" ".join(row), width)) for row in rows)


def _line(row: Sequence[str], span: tuple[int, int]) -> str:
    return " ".join(row[slice(*span)])
