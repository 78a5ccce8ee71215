"""Pages as parts of an HTML document, whole whatever their width: wide tables scroll by themselves."""

from __future__ import annotations

from collections.abc import Iterator

from abtune.report.columns import Column
from abtune.report.labels import printable
from abtune.report.markup import breakable, element, escaped, label, name, sentence
from abtune.report.page import DRAWING, SHAPE, Bullets, Dots, Grid, Heading, Page, Part, Prose
from abtune.report.svg import draw_samples


def html_page(page: Page, *, top: int) -> str:
    """Write a page as HTML, its title a heading of the level ``top``."""
    return element("section", "\n", *(f"{_part(part, top)}\n" for part in page))


def scrolling(wide: str, title: str) -> str:
    """Put something where it can be moved sideways if it is wider than the page, also by the keyboard."""
    return element("div", wide, class_="wide", role="region", tabindex="0", aria_label=title)


def headings(names: list[tuple[str, str]]) -> str:
    """Write the head of a table from texts and classes."""
    cells = (element("th", text, scope="col", class_=kind) for text, kind in names)
    return element("thead", element("tr", *cells))


def _part(part: Part, top: int) -> str:
    match part:
        case Heading():
            return element(f"h{top + part.minor}", breakable(part.text))
        case Prose():
            kind = {"class_": "remark"} if part.remark else {}
            return element("p", sentence(part.text), **kind)
        case Bullets():
            return element("ul", *(element("li", sentence(item)) for item in part.items))
        case Grid():
            return _grid(part)
        case Dots():
            return scrolling(draw_samples(part), "samples")


def _grid(grid: Grid) -> str:
    head = headings(
        [(escaped(grid.stub), ""), *((escaped(column.heading), _kind(column)) for column in grid.columns)]
    )
    body = element("tbody", "\n", *(f"{row}\n" for row in _rows(grid)))
    return scrolling(element("table", head, body), f"table by {printable(grid.stub)}")


def _rows(grid: Grid) -> Iterator[str]:
    """Go through the lines of all rows; the label stands before all lines of its row."""
    for place, text in enumerate(grid.labels):
        lines = list(zip(*(column.cells[place].split("\n") for column in grid.columns), strict=True))
        for number, cells in enumerate(lines):
            written = label(text) if grid.stub == SHAPE else name(text)
            span = {"rowspan": str(len(lines))} if len(lines) > 1 else {}
            first = "" if number else element("th", written, scope="row", **span)
            pairs = zip(grid.columns, cells, strict=True)
            yield element("tr", first, *(_cell(column, cell) for column, cell in pairs))


def _cell(column: Column, text: str) -> str:
    if column.key == DRAWING:  # the numbers beside it say the same
        return element("td", element("code", escaped(text), aria_hidden="true"), class_=_kind(column))
    words = " ".join(text.split())
    return element("td", escaped(words) if column.right else name(words), class_=_kind(column))


def _kind(column: Column) -> str:
    return "drawing" if column.key == DRAWING else "number" if column.right else "word"
