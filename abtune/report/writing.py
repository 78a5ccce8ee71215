"""Writing for a console of any width and encoding: paragraphs, and the text for a stream or file."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Sequence
from typing import TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from abtune.report.cells import wrap
from abtune.report.labels import printable
from abtune.report.layout import GAP

# Prose wider than this is tiring to read, however wide the console is.
PROSE = 100
# As wide as any table; the width of what is not a terminal.
UNBOUNDED = 10_000
# Below this the terminal has to wrap lines; numbers cannot be made any narrower.
NARROWEST_CONSOLE = 50


def text_for(stream: TextIO | None, draw: Callable[[Console], None]) -> str:
    """Render for a stream, or for a file if there is none.

    A terminal gets colours and its own width. Anything else gets plain text as wide as its tables, so that
    no label is broken, unless the environment variable COLUMNS says how wide it shall be.

    Parameters
    ----------
    stream : TextIO or None
        Where the text will go.
    draw : callable
        Prints to the console that it is given.
    """
    file = _Likeness(stream)
    console = Console(file=file, color_system="auto" if stream is not None else None)
    if not file.isatty() and (stream is None or not os.environ.get("COLUMNS", "").isdigit()):
        console.width = UNBOUNDED
    console.width = max(console.width, NARROWEST_CONSOLE)
    draw(console)
    text = file.getvalue()
    return text if console.color_system else "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def prose(console: Console, text: str, *, style: str = "", indent: str = "") -> None:
    """Print a paragraph, its further lines indented.

    A label is a word, and so is what a no-break space joins; only one that the console cannot hold is broken.
    """
    wrapped = wrap(printable(text), min(console.width, PROSE), indent=indent, longest=console.width)
    print_lines(console, wrapped, style=style)


def print_lines(console: Console, lines: Sequence[str], *, style: str = "") -> None:
    """Print lines as they are, each whole even if it is too long."""
    text = "\n".join(lines).replace("\xa0", " ")
    console.print(Text(text, style=style), no_wrap=True, overflow="ignore", crop=False)


def bullets(console: Console, items: list[tuple[str, str]]) -> None:
    """Print sentences behind their marks."""
    margin = max(len(name) for name, _ in items)
    for name, text in items:
        prose(console, f"{name:>{margin}} {text}", indent=" " * (margin + 1))


def bullet(console: Console) -> str:
    """Return the mark of a sentence that has no number."""
    return "-" if console.options.ascii_only else "•"


def plain_table() -> Table:
    """Return a table without lines."""
    return Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style="dim")


class _Likeness(io.StringIO):
    """Takes the text for a stream and looks like it: rich asks for the encoding and for a terminal."""

    def __init__(self, stream: TextIO | None) -> None:
        super().__init__()
        self._encoding = (stream and stream.encoding) or "utf-8"
        self._terminal = stream is not None and stream.isatty()

    @property
    def encoding(self) -> str:  # type: ignore[override]  # io.StringIO has none
        return self._encoding

    def isatty(self) -> bool:
        return self._terminal
