"""Markdown tables as cells, without what makes them bold; every step takes time linear in the text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from abtune.errors import DatasetError
from abtune.ingest.units import LONGEST_CELL

_RULE = re.compile(r":?-+:?")


def table_lines(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the bare cells of each line; no cells where it is not of a table."""
    for number, line in enumerate(lines, start=1):
        stripped = line.strip()
        cells = stripped.removeprefix("|").removesuffix("|").split("|") if "|" in stripped else []
        yield number, [bare(cell) for cell in cells]


def check_lengths(cells: Sequence[str], line: int) -> None:
    """Check that no cell is too long to be of a table that people read.

    Raises
    ------
    DatasetError
        If one is.
    """
    longest = max(map(len, cells), default=0)
    if longest > LONGEST_CELL:
        raise DatasetError(
            f"line {line}: a cell has {longest:,} characters, and the most is {LONGEST_CELL:,}; take the "
            "line out"
        )


def is_heading(cells: Sequence[str]) -> bool:
    """Return whether a line is the heading of a table of shapes."""
    return len(cells) > 1 and cells[0].casefold() == "shape"


def is_rule(cells: Sequence[str]) -> bool:
    """Return whether a line only divides a heading from its rows."""
    return all(map(_RULE.fullmatch, cells))


def bare(cell: str) -> str:
    """Return a cell without the marks around it that make it bold, italic or code: ``**a**``, ``_a_``."""
    cell = cell.strip()
    for mark in "*_`":
        before = len(cell) - len(cell.lstrip(mark))
        behind = len(cell) - len(cell.rstrip(mark))
        pairs = min(before, behind, len(cell) // 2)
        if pairs:
            return cell[pairs : len(cell) - pairs].strip()
    return cell
