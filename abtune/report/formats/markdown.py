"""The report as GitHub-flavoured markdown, with whole labels and columns whatever the width."""

from __future__ import annotations

import re
from collections.abc import Iterator

from abtune.report.formats.characters import axis_text, draw_dots, draw_interval, legend
from abtune.report.page import (
    SHAPE,
    Bullets,
    Cell,
    Column,
    Dots,
    Drawn,
    Folded,
    Grid,
    Heading,
    Page,
    Part,
    Prose,
    Report,
    Tally,
    last_drawn,
)
from abtune.text import printable

_STRONG = {"improved", "regressed", "invalid", "overall"}
_PLOT, _DRAWING = 80, 24


def render(report: Report) -> str:
    """Return a report as markdown; ends with a newline."""
    blocks: list[str] = []
    noted = 0
    for section in report.sections:
        noted += any(isinstance(part, Bullets) and part.footnotes for part in section.page)
        # Markdown has one list of footnotes for the whole text, so those of a second report are 2-1, 2-2, ...
        blocks += _blocks(section.page, f"{noted}-" if noted > 1 else "")
    return "\n\n".join(blocks) + "\n"


def _blocks(page: Page, prefix: str) -> Iterator[str]:
    last = last_drawn(page)
    for part in page:
        yield from filter(None, _part(part, prefix))
        if part is last and last is not None and last.drawn is not None:
            yield _escape(legend(last.drawn, ascii_only=False))


def _part(part: Part, prefix: str) -> Iterator[str]:
    match part:
        case Heading():
            yield f"{'###' if part.minor else '##'} {_escape(part.text)}"
        case Prose():
            yield _escape(part.text)
        case Tally():
            yield _escape(", ".join(cell.text for cell in part.cells))
        case Bullets():
            yield "\n".join(f"- {_escape(item)}" for item in part.items)
            numbered = enumerate(part.footnotes, start=1)
            yield "\n".join(f"[^{prefix}{number}]: {_escape(note)}" for number, note in numbered)
        case Grid():
            yield "\n".join(_table(part, prefix))
        case Dots():
            lines = map(_without_backticks, draw_dots(part, _PLOT))
            yield "\n".join(["```text", *lines, "```"])
        case Folded():
            opened = " open" if part.unfolded else ""
            yield f"<details{opened}><summary>{_escape(part.summary)}</summary>"
            yield from _blocks(part.parts, prefix)
            yield "</details>"


def _table(grid: Grid, prefix: str) -> Iterator[str]:
    """Yield the lines of a table; a label stands in each of its rows."""
    labels = [_code(label) if grid.stub == SHAPE else _escape(label) for label in grid.labels]
    columns = [
        _drawing(column) if isinstance(column, Drawn) else _cells(column, prefix) for column in grid.columns
    ]
    rows = zip([_escape(grid.stub), "---", *labels], *columns, strict=True)
    yield from (f"| {' | '.join(cells)} |" for cells in rows)


def _drawing(column: Drawn) -> list[str]:
    """Return the axis, the rule below it, and the intervals."""
    rows = (draw_interval(row, column.scale, _DRAWING, ascii_only=False) for row in column.intervals)
    texts = (axis_text(column.scale, _DRAWING), *rows)
    axis, *drawn = (_code(text.replace(" ", "\xa0")) for text in texts)  # markdown strips ordinary blanks
    return [axis, "---", *drawn]


def _cells(column: Column, prefix: str) -> list[str]:
    """Return the heading, the rule below it, and the cells."""
    rule = "--:" if column.kind == "number" else "---"
    return [_escape(column.heading), rule, *(_cell(cell, prefix) for cell in column.cells)]


def _cell(cell: Cell, prefix: str) -> str:
    text = _escape(" ".join(cell.text.split()))
    marks = "".join(f"[^{prefix}{number}]" for number in cell.notes)
    return (f"**{text}**" if text and cell.tone in _STRONG else text) + marks


def _escape(text: str) -> str:
    """Return text from names and messages that does not act as markdown."""
    return re.sub(r"([\\`*_|\[\]<>#&$~])", r"\\\1", printable(text))


def _code(text: str) -> str:
    """Return any text as code in a cell: ``|`` ends a cell even within code, so it is escaped."""
    return f"`{_without_backticks(text)}`".replace("|", r"\|")


def _without_backticks(text: str) -> str:
    """Return a text that does not end the code around it."""
    return printable(text).replace("`", "'")
