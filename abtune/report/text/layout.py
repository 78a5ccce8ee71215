"""Which columns of a table fit a console, and how much room their labels get."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from abtune.report.text.labels import NARROWEST, fit_labels

# Cells of the console between two columns.
GAP = 2
# Only the most important optional column may leave labels less room than this. Most need two lines then.
_PREFERRED = 22
_IMPORTANT = 2  # optional columns that matter more than labels in one line


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What a column takes, and how soon it gives way: the highest number first, 0 never."""

    width: int
    gives_way: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The positions of the columns that fit, and the width of the labels."""

    kept: tuple[int, ...]
    label_width: int


def choose_layout(
    columns: Sequence[Room], groups: Sequence[Sequence[str]], width: int, *, stub: str, whole: int
) -> Layout:
    """Return the columns that leave readable labels in a console; all groups get the same columns.

    The two most important optional columns may break labels. A further one may not, if labels have room for
    ``whole`` cells without it.
    """
    longest = max((cell_len(label) for labels in groups for label in labels), default=0)
    preferred, least = (max(min(room, longest), len(stub)) for room in (_PREFERRED, NARROWEST))
    kept = {index for index, column in enumerate(columns) if not column.gives_way}
    optional = sorted(set(range(len(columns))) - kept, key=lambda index: columns[index].gives_way)
    for rank, candidate in enumerate(optional):
        needed = preferred if rank else least
        if rank >= _IMPORTANT and whole + _taken([columns[index] for index in kept]) <= width:
            needed = max(needed, whole)
        if needed + _taken([columns[index] for index in (*kept, candidate)]) <= width:
            kept.add(candidate)
    room = max(width - _taken([columns[index] for index in kept]), least)
    widest = max((fit_labels(labels, room).width for labels in groups), default=0)
    return Layout(kept=tuple(sorted(kept)), label_width=max(widest, len(stub)))


def width_left(columns: Sequence[Room], width: int) -> int:
    """Return the width that the columns which matter most leave to labels."""
    optional = sorted(filter(None, (column.gives_way for column in columns)))
    least = optional[_IMPORTANT - 1] if len(optional) >= _IMPORTANT else width
    return width - _taken([column for column in columns if column.gives_way <= least])


def _taken(columns: Sequence[Room]) -> int:
    return sum(GAP + column.width for column in columns)
