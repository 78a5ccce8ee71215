"""The report for a terminal, in whatever width there is; it reads the same without colours."""

from __future__ import annotations

from dataclasses import replace
from typing import TextIO

from rich.console import Console
from rich.text import Text

from abtune.report.formats.characters import draw_dots
from abtune.report.formats.terminal_table import STYLES, fit_tables, mark, print_table
from abtune.report.page import Bullets, Dots, Folded, Grid, Heading, Page, Part, Prose, Report, Tally
from abtune.report.text.console import PROSE, print_lines, prose, shown, text_for, wrap


def render(report: Report, stream: TextIO | None) -> str:
    """Return a report as text for a stream, or for a file if there is none."""

    def draw(console: Console) -> None:
        pages = [section.page for section in report.sections if section.page]
        for number, page in enumerate(pages):
            if number:
                console.print()
            print_page(page, console)

    return text_for(stream, draw)


def print_page(page: Page, console: Console) -> None:
    """Print a page: an empty line before each part, but none below a heading."""
    page = [part for part in page if part != Bullets(())]  # it would leave an empty line
    fits = fit_tables(page, console)
    previous: Part | None = None
    for index, part in enumerate(page):
        if previous is not None and not isinstance(previous, Heading):
            console.print()
        if isinstance(part, Grid):
            print_table(part, fits[index], console)
        else:
            _print_part(part, console)
        previous = part


def _print_part(part: Part, console: Console) -> None:
    match part:
        case Heading():
            prose(console, part.text, style="bold")
        case Prose():
            prose(console, part.text, style="dim" if part.remark else "")
        case Tally():
            _print_tally(part, console)
        case Bullets():
            _print_bullets(part, console)
        case Dots():
            strips = tuple(replace(strip, name=shown(strip.name, console)) for strip in part.strips)
            print_lines(console, draw_dots(replace(part, strips=strips), min(console.width, PROSE)))
        case Folded(unfolded=True):
            print_page((Heading(part.summary, minor=True), *part.parts), console)
        case Folded():
            prose(console, f"{part.summary}: see {part.option}.", style="dim")


def _print_tally(tally: Tally, console: Console) -> None:
    """Print counts; a line never ends between a number and its word."""
    tied = [shown(cell.text, console).replace(" ", "\xa0") for cell in tally.cells]
    lines = wrap(", ".join(tied), min(console.width, PROSE))
    text = Text("\n".join(lines))
    for cell in tally.cells:
        text.highlight_words([shown(cell.text, console)], STYLES.get(cell.tone, ""))
    console.print(text)


def _print_bullets(bullets: Bullets, console: Console) -> None:
    ascii_only = console.options.ascii_only
    marks = ["-" if ascii_only else "•"] * len(bullets.items)
    marks += [
        mark([number], ascii_only=ascii_only).strip() for number in range(1, 1 + len(bullets.footnotes))
    ]
    margin = max(map(len, marks), default=0)
    for name, text in zip(marks, (*bullets.items, *bullets.footnotes), strict=True):
        prose(console, text, mark=f"{name:>{margin}} ")
