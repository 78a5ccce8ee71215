"""A page: the parts that every further report is composed of, whoever reads it.

The modules ``*_page`` turn results into parts; ``terminal_page``, ``markdown_page`` and ``html_page`` set
parts. A part holds finished words and numbers; only where lines break is left to the setting.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from abtune.report.columns import Column
from abtune.report.numbers import NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A title, of the page or, minor, of what follows in it."""

    text: str
    minor: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Prose:
    """A paragraph; remarks are set less loud."""

    text: str
    remark: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Bullets:
    """Sentences that stand for themselves."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A table whose rows have a label.

    Attributes
    ----------
    stub : str
        Heading of the labels.
    labels : tuple of str
        One for each row; long ones are wrapped, or stripped of the parts common to all rows.
    columns : tuple of Column
        A cell may have several lines, the same number in every column of a row.
    """

    stub: str
    labels: tuple[str, ...]
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """One sample of a dot plot: its name, its values, and the one that is marked below."""

    name: str
    values: tuple[float, ...]
    marked: float
    mark: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dots:
    """Samples above each other on one scale; a character a value, a digit where several meet."""

    strips: tuple[Strip, ...]
    low: str
    high: str


DRAWING = "drawing"
# The stub of grids whose labels are those of shapes.
SHAPE = "shape"

Part = Heading | Prose | Bullets | Grid | Dots
Page = Sequence[Part]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A further page of a report.

    Attributes
    ----------
    name : str
        Where its result stands in JSON.
    page : tuple
        For people.
    result : object
        For programs; None if the report has it already.
    """

    name: str
    page: tuple[Part, ...]
    result: object


def column(heading: str, cells: Sequence[str], *, right: bool = True, gives_way: int = 0) -> Column:
    """Build a column of a grid; its heading is its key."""
    return Column(key=heading, heading=heading, cells=tuple(cells), right=right, gives_way=gives_way)


def filled(columns: Iterable[Column]) -> tuple[Column, ...]:
    """Leave out columns that say nothing in any row."""
    return tuple(
        column
        for column in columns
        if {line for cell in column.cells for line in cell.split("\n")} != {NOTHING}
    )


def drawing(heading: str, cells: Sequence[str], *, gives_way: int) -> Column:
    """Build a column of drawings, whose blanks matter."""
    return Column(key=DRAWING, heading=heading, cells=tuple(cells), right=False, gives_way=gives_way)
