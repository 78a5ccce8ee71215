"""Shape labels in whatever width there is: as published, without what all shapes share, or in lines.

A label such as ``N=1_H=56_W=56_C=64_K=64_R=3_S=3_STR=1_PAD=1_DIL=1`` is a list of fields. A label that is
too long first loses the fields that all shapes of its kind share. A line above names these. Then neighbours
of equal value become ``H=W=56``. Then labels are broken between fields. The rows of a kind break at the same
positions, so that they can be compared. Nothing is cut off.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from abtune.report.text.console import wrap

# A narrower label would be unreadable; other columns give way first.
NARROWEST = 16
# Other underlines are part of a name, such as `BM_Conv`, `layer_norm[batch=8]` or `mine:layer_norm:rows=8`.
_BEFORE_FIELD = re.compile(r"[_:](?=[^_:=,;()\[\]{}<>]+=)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """The labels of one group as they are shown."""

    shared: str  # what rows leave out, such as `all have N=1 DIL=1`; empty if they are complete
    lines: tuple[tuple[str, ...], ...]  # the lines of each label

    @property
    def width(self) -> int:
        """The longest line, in cells of a terminal."""
        return max((cell_len(line) for lines in self.lines for line in lines), default=0)


def fit_labels(labels: Sequence[str], width: int) -> Labels:
    """Return labels that fit a width, in as few lines as possible."""
    lines: dict[int, tuple[str, ...]] = {}
    shared: list[str] = []
    for form in _forms(labels):
        own = [labels[index] for index in form.members]
        if form.alone or max(map(cell_len, own)) <= width:
            broken: Sequence[tuple[str, ...]] = [
                (label,) if cell_len(label) <= width else tuple(wrap(" ".join(fields), width))
                for label, fields in zip(own, form.rows, strict=True)
            ]
        else:
            rows = form.rows if _widest(form.rows) <= width else _merged(form.rows)
            broken = _break_alike(rows, width)
            shared += [form.shared] * bool(form.shared)
        lines |= dict(zip(form.members, broken, strict=True))
    return Labels(shared="; ".join(shared), lines=tuple(lines[index] for index in range(len(labels))))


def width_of_one_line(labels: Sequence[str]) -> int:
    """Return the width in which every label takes one line."""
    forms = _forms(labels)
    return max((_widest(form.rows if form.alone else _merged(form.rows)) for form in forms), default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """Labels with the same names of fields."""

    members: tuple[int, ...]
    rows: Sequence[Sequence[str]]  # the fields of each label that differ
    shared: str  # the fields that all have, in words; empty for none
    alone: bool  # whether each label is set by itself


def _forms(labels: Sequence[str]) -> list[_Form]:
    fields = [_BEFORE_FIELD.split(label) for label in labels]
    places: dict[tuple[str, ...], list[int]] = {}
    for index, row in enumerate(fields):
        places.setdefault(tuple(field.rpartition("=")[0] for field in row), []).append(index)
    forms = []
    for names, members in places.items():
        rows = [fields[index] for index in members]
        several = len(places) > 1
        words = any(" " in name for name in names)  # such as `without N=1_H=7`
        alone = words or (several and ("" in names or len(rows) == 1))
        shared, kept = ("", rows) if alone else _without_shared(rows)
        if shared and not several:
            shared = f"all have {shared}"
        elif shared:
            # Fields that only some labels share are told by a field that no other label has.
            others = {name for other in places if other != names for name in other}
            own = [name for name in (field.rpartition("=")[0] for field in kept[0]) if name not in others]
            shared, kept = (f"all shapes with {own[0]} have {shared}", kept) if own else ("", rows)
        forms.append(_Form(members=tuple(members), rows=kept, shared=shared, alone=alone))
    return forms


def _widest(rows: Sequence[Sequence[str]]) -> int:
    return max(cell_len(" ".join(row)) for row in rows)


def _without_shared(rows: Sequence[Sequence[str]]) -> tuple[str, Sequence[Sequence[str]]]:
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
    narrowest = max((cell_len(field) for row in rows for field in row), default=0)
    if narrowest > width:
        return tuple(tuple(wrap(" ".join(row), width)) for row in rows)
    widths, fewest = range(narrowest, width), len(_filled(rows, width))
    # Wider lines are never more lines.
    spare = bisect_left(widths, -fewest, key=lambda most: -len(_filled(rows, most)))
    lines = [slice(*ends) for ends in itertools.pairwise(_filled(rows, narrowest + spare))]
    return tuple(tuple(" ".join(row[line]) for line in lines) for row in rows)


def _filled(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """Return the positions between fields at which lines of at most this width begin and end."""
    breaks = [0]
    for stop in range(2, len(rows[0]) + 1):
        if _widest([row[breaks[-1] : stop] for row in rows]) > width:
            breaks.append(stop - 1)
    return [*breaks, len(rows[0])]
