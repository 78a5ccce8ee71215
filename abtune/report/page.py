"""A report as a value: sections of pages, and the parts that a page is made of.

Sections turn results into parts; every format renders the same parts. A part holds finished words and
numbers, and intervals as data. Line breaks and drawings are left to the format.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, TypeAlias

from abtune.report.scale import Interval, Scale
from abtune.text import NOTHING

# The stub of grids whose labels are those of shapes; these are set as code.
SHAPE = "shape"
Kind: TypeAlias = Literal["number", "word", "text"]
# More shapes have a row each at first sight.
FEW_SHAPES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Words in a table or a tally."""

    text: str  # one line
    tone: str = ""  # a verdict or overall, which formats show in colour or bold
    notes: tuple[int, ...] = ()  # numbers of the footnotes


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column beside the labels of a grid."""

    heading: str
    cells: tuple[Cell, ...]
    kind: Kind  # numbers are set flush right; text is prose, which wraps
    gives_way: int  # without room, the highest number goes first; 0 never goes

    def take(self, rows: Sequence[int]) -> Column:
        """Return some rows of the column."""
        return replace(self, cells=tuple(self.cells[row] for row in rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A column of intervals, which each format draws in its own way."""

    intervals: tuple[Interval, ...]
    scale: Scale  # the axis of all rows
    gives_way: int
    heading: ClassVar[str] = "drawing"

    def take(self, rows: Sequence[int]) -> Drawn:
        """Return some rows of the column."""
        return replace(self, intervals=tuple(self.intervals[row] for row in rows))

    @property
    def wide(self) -> bool:
        """Whether a row has a wider interval."""
        return any(row.wide for row in self.intervals)


@dataclass(frozen=True, slots=True)
class Heading:
    """The title of a page, or a minor one of what follows in it."""

    text: str
    minor: bool = False


@dataclass(frozen=True, slots=True)
class Prose:
    """A paragraph; remarks are set less loud."""

    text: str
    remark: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Counts in one line, such as those of the verdicts."""

    cells: tuple[Cell, ...]
    words: tuple[str, ...]  # what each cell counts, as the tables below have it


@dataclass(frozen=True, slots=True)
class Bullets:
    """Sentences one below the other, then footnotes 1, 2, ..., which cells refer to."""

    items: tuple[str, ...]
    footnotes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A table."""

    stub: str  # heading of the labels
    labels: tuple[str, ...]  # a label that repeats the one above it is shown once for both rows
    columns: tuple[Column | Drawn, ...]  # what stands beside the labels
    details: tuple[tuple[Part, ...], ...] = ()  # what each row opens to in HTML; empty if rows do not open

    @property
    def drawn(self) -> Drawn | None:
        """The column of intervals, if there is one."""
        return next((column for column in self.columns if isinstance(column, Drawn)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """One sample of a dot plot: its name, its values with a text for each, and a mark below one value."""

    name: str
    values: tuple[float, ...]
    marked: float
    mark: str
    tips: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dots:
    """Samples above each other on one scale, whose ends are given in words."""

    strips: tuple[Strip, ...]
    low: str
    high: str

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest value on the scale, those of marks included."""
        values = [value for strip in self.strips for value in (*strip.values, strip.marked)]
        return min(values), max(values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """Parts behind a line to click on."""

    summary: str
    option: str  # the option that unfolds the parts; a terminal names it, because it has nothing to click on
    unfolded: bool  # whether the parts are shown from the start
    parts: tuple[Part, ...]


Part: TypeAlias = Heading | Prose | Tally | Bullets | Grid | Dots | Folded
Page: TypeAlias = Sequence[Part]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One result, for people and for programs."""

    name: str  # the field of its result in JSON; empty to put the fields of the result at the top level
    page: tuple[Part, ...]  # for people; empty if they are shown other sections instead
    result: object  # for JSON; None if another section has it already
    # For CSV and for checks, by heading; None if the result has no rows.
    rows: tuple[Mapping[str, object], ...] | None = None
    shown: tuple[int, ...] | None = None  # positions of the rows that people chose to see; None for all
    sentence: str = ""  # the result in a few sentences; empty if it has none
    unasked: bool = False  # the data brought it; a format without a place for it may leave it out

    @property
    def shown_rows(self) -> tuple[Mapping[str, object], ...]:
        """The rows that people chose to see, in their order."""
        rows = self.rows or ()
        return rows if self.shown is None else tuple(rows[index] for index in self.shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Sections one below the other: all that a format renders."""

    sections: tuple[Section, ...]

    @property
    def title(self) -> str:
        """The first heading."""
        parts = (part for section in self.sections for part in section.page)
        return next((part.text for part in parts if isinstance(part, Heading)), "abtune")


def fields_of(sections: Iterable[Section]) -> dict[str, Any]:
    """Return the results of sections for JSON: under their names, or at the top level without a name."""
    fields: dict[str, Any] = {}
    for section in sections:
        result: Any = section.result
        if result is not None:
            fields |= {section.name: result} if section.name else result
    return fields


def column(heading: str, cells: Iterable[str | Cell], *, kind: Kind = "number", gives_way: int = 0) -> Column:
    """Return a column of a grid, from texts or cells."""
    written = tuple(Cell(text=cell) if isinstance(cell, str) else cell for cell in cells)
    return Column(heading=heading, cells=written, kind=kind, gives_way=gives_way)


def table(stub: str, labels: Iterable[str], *columns: Column | Drawn) -> Grid:
    """Return a table with a row for each label."""
    return Grid(stub=stub, labels=tuple(labels), columns=columns)


def filled(columns: Iterable[Column]) -> tuple[Column, ...]:
    """Return the columns without those that say nothing in any row."""
    return tuple(column for column in columns if {cell.text for cell in column.cells} != {NOTHING})


def spans(labels: Sequence[str]) -> Iterator[list[int]]:
    """Yield the rows that share a label: equal labels directly below each other."""
    for _, rows in itertools.groupby(range(len(labels)), lambda row: labels[row]):
        yield list(rows)


def last_drawn(page: Page) -> Grid | None:
    """Return the last grid that has a column of intervals; formats explain drawings below it."""
    grids = (part for part in reversed(page) if isinstance(part, Grid) and part.drawn)
    return next(grids, None)
