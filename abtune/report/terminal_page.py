"""Pages for a terminal, in whatever width there is."""

from __future__ import annotations

from typing import TextIO

from rich.console import Console
from rich.text import Text

from abtune.report.drawing import draw_dots
from abtune.report.labels import fit_labels, printable
from abtune.report.layout import break_words, choose_layout, table_width
from abtune.report.page import Bullets, Dots, Grid, Heading, Page, Part, Prose
from abtune.report.writing import PROSE, bullet, bullets, plain_table, print_lines, prose, text_for


def page_text(page: Page, stream: TextIO | None) -> str:
    """Render a page for a stream, or for a file if there is none."""
    return text_for(stream, lambda console: render_page(page, console))


def render_page(page: Page, console: Console) -> None:
    """Print a page: an empty line before each part, but none below a heading."""
    previous: Part | None = None
    for part in page:
        if previous is not None and not isinstance(previous, Heading):
            console.print()
        _print_part(part, console)
        previous = part


def _print_part(part: Part, console: Console) -> None:
    match part:
        case Heading():
            prose(console, part.text, style="bold")
        case Prose():
            prose(console, part.text, style="dim" if part.remark else "")
        case Bullets():
            bullets(console, [(bullet(console), item) for item in part.items])
        case Grid():
            _print_grid(part, console)
        case Dots():
            lines = draw_dots(part, min(console.width, PROSE))
            print_lines(console, list(map(printable, lines)))


def _print_grid(grid: Grid, console: Console) -> None:
    columns = break_words(grid.columns, console.width)
    layout = choose_layout(columns, [grid], console.width, stub=grid.stub)
    labels = fit_labels(tuple(map(printable, grid.labels)), layout.label_width)
    if labels.shared:
        prose(console, f"all {labels.shared}", style="dim")
    width = layout.label_width
    table = plain_table()
    table.add_column(grid.stub, width=width, no_wrap=True)
    for column in layout.columns:
        table.add_column(
            column.heading, width=column.width, no_wrap=True, justify="right" if column.right else "left"
        )
    for place, lines in enumerate(labels.lines):
        cells = (column.cells[place] for column in layout.columns)
        table.add_row(Text("\n".join(lines)), *(Text(cell) for cell in cells))
    table.width = table_width(width, layout.columns)
    console.print(table, crop=False)
    if layout.left_out:
        names = ", ".join(name.replace(" ", "\xa0") for name in layout.left_out)
        prose(console, f"no room at this width for: {names}", style="dim")
