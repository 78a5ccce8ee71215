"""Pages as GitHub-flavoured markdown, whole whatever their width."""

from __future__ import annotations

from collections.abc import Iterator

from abtune.report.drawing import draw_dots
from abtune.report.labels import printable
from abtune.report.page import DRAWING, SHAPE, Bullets, Dots, Grid, Heading, Page, Part, Prose
from abtune.report.tables import code, escape, longest_fence, table

_PLOT = 80


def markdown_page(page: Page) -> str:
    """Write a page as markdown; ends with a newline."""
    return "\n\n".join(_part(part) for part in page) + "\n"


def _part(part: Part) -> str:
    match part:
        case Heading():
            return f"{'###' if part.minor else '##'} {escape(part.text)}"
        case Prose():
            return escape(part.text)
        case Bullets():
            return "\n".join(f"- {escape(item)}" for item in part.items)
        case Grid():
            columns = part.columns
            headings = [part.stub, *(escape(column.heading) for column in columns)]
            return table(headings, [column.right for column in columns], list(_rows(part)))
        case Dots():
            lines = "\n".join(map(printable, draw_dots(part, _PLOT)))
            fence = "`" * max(3, longest_fence(lines) + 1)
            return f"{fence}text\n{lines}\n{fence}"


def _rows(grid: Grid) -> Iterator[list[str]]:
    """Go through the lines of all rows: a cell of markdown has but one."""
    drawn = [column.key == DRAWING for column in grid.columns]
    for place, label in enumerate(grid.labels):
        lines = zip(*(column.cells[place].split("\n") for column in grid.columns), strict=True)
        for cells in lines:
            name = code(label, cell=True) if grid.stub == SHAPE else escape(label)
            yield [
                name,
                *(
                    code(cell, cell=True) if is_drawn else _cell(cell)
                    for cell, is_drawn in zip(cells, drawn, strict=True)
                ),
            ]


def _cell(text: str) -> str:
    return escape(" ".join(text.split()))
