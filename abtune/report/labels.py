"""Shape labels in whatever width there is: as published, without what all shapes share, or in lines.

A label such as ``N=1_H=56_W=56_C=64_K=64_R=3_S=3_STR=1_PAD=1_DIL=1`` is a list of parts. Too long for its
column, it first loses the parts that are the same for every shape of its group, which move to the group's
heading; then it is broken between parts, at the same places in every row, so that rows can be compared.
Nothing is cut off.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from abtune.analyse.comparison import Comparison
from abtune.report.cells import cell_width, wrap

# Below this a label would fall into crumbs; other columns give way first.
NARROWEST = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """The labels of one group as they are shown.

    Attributes
    ----------
    shared : str
        Parts that all shapes have and that the rows leave out; empty if the rows are complete.
    lines : tuple of tuple of str
        For each shape its lines.
    """

    shared: str
    lines: tuple[tuple[str, ...], ...]

    @property
    def width(self) -> int:
        """The longest line, in cells of a terminal."""
        return max(cell_width(line) for lines in self.lines for line in lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The comparisons of one kind of workload, with their places in the analysis."""

    workload: str
    places: tuple[int, ...]
    comparisons: tuple[Comparison, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the shapes."""
        return tuple(printable(comparison.shape) for comparison in self.comparisons)


def group_by_workload(comparisons: Sequence[Comparison]) -> tuple[Group, ...]:
    """Sort comparisons by workload, both workloads and shapes in order of first appearance."""
    places: dict[str, list[int]] = {}
    for place, comparison in enumerate(comparisons):
        places.setdefault(comparison.workload, []).append(place)
    return tuple(
        Group(
            workload=printable(workload),
            places=tuple(found),
            comparisons=tuple(comparisons[place] for place in found),
        )
        for workload, found in places.items()
    )


def printable(text: str) -> str:
    """Replace what would move the cursor or break a table; names come from files of any origin."""
    return "".join(character if character.isprintable() or character == "\xa0" else "?" for character in text)


def fit_labels(labels: Sequence[str], width: int) -> Labels:
    """Show labels within a width, in as few lines as possible.

    Parameters
    ----------
    labels : sequence of str
        The labels of one group.
    width : int
        Cells available, at least 1.
    """
    if max(map(cell_width, labels)) <= width:
        return Labels(shared="", lines=tuple((label,) for label in labels))
    rows = [label.split("_") for label in labels]
    if len({len(parts) for parts in rows}) > 1:
        return Labels(shared="", lines=tuple(_wrap(parts, width) for parts in rows))
    common = [len(set(column)) == 1 and len(rows) > 1 for column in zip(*rows, strict=True)]
    kept = [[part for part, same in zip(parts, common, strict=True) if not same] for parts in rows]
    shared = " ".join(part for part, same in zip(rows[0], common, strict=True) if same)
    return Labels(shared=shared, lines=_break_alike(kept, width))


def _break_alike(rows: Sequence[Sequence[str]], width: int) -> tuple[tuple[str, ...], ...]:
    """Break rows of equally many parts at the same places, in the fewest and then the evenest lines."""
    parts = len(rows[0])
    spans = itertools.combinations(range(parts + 1), 2)
    widths = {span: max(cell_width(_line(row, span)) for row in rows) for span in spans}
    for lines in range(1, min(parts, 6) + 1):
        places = _evenest(widths, parts, lines)
        if max(widths[span] for span in itertools.pairwise(places)) <= width:
            return tuple(tuple(_line(row, span) for span in itertools.pairwise(places)) for row in rows)
    return tuple(_wrap(row, width) for row in rows)


def _evenest(widths: Mapping[tuple[int, int], int], parts: int, lines: int) -> list[int]:
    """Find where so many lines begin and end if the widest is to be as narrow as can be.

    Of equals it is the one with the longest first lines.
    """

    @functools.cache
    def least(start: int, left: int) -> float:
        """Return the widest of the lines that are left."""
        if not left:
            return 0 if start == parts else math.inf
        stops = range(start + 1, parts - left + 2)
        return min((max(widths[start, stop], least(stop, left - 1)) for stop in stops), default=math.inf)

    best = least(0, lines)
    places = [0]
    for left in reversed(range(lines)):
        stops = range(places[-1] + 1, parts - left + 1)
        fine = (stop for stop in stops if max(widths[places[-1], stop], least(stop, left)) <= best)
        places.append(max(fine))
    return places


def _line(row: Sequence[str], span: tuple[int, int]) -> str:
    return " ".join(row[slice(*span)])


def _wrap(parts: Sequence[str], width: int) -> tuple[str, ...]:
    return tuple(wrap(" ".join(parts), width)) or ("",)
