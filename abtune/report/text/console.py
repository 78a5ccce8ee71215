"""Writing for a console of any width and encoding: paragraphs, and the text for a stream or file."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable
from typing import Literal, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from abtune.report.text.layout import GAP
from abtune.report.text.wrap import wrap
from abtune.text import printable

# Wider prose is tiring to read, however wide the console is.
PROSE = 100
# As wide as any table; the width of everything that is not a terminal.
UNBOUNDED = 10_000
# In a narrower terminal the terminal wraps the lines: numbers cannot get any narrower.
NARROWEST_CONSOLE = 50


def text_for(stream: TextIO | None, draw: Callable[[Console], None]) -> str:
    """Return what a function draws, as text for a stream, or for a file if there is none."""
    # A terminal gets colours and its own width. Anything else gets plain text as wide as its tables, unless
    # the environment variable COLUMNS sets the width.
    terminal = stream is not None and stream.isatty()
    sheet = _Sheet(stream.encoding if stream else None)
    color_system: Literal["auto"] | None = None if stream is None else "auto"
    # Without a terminal the environment decides: FORCE_COLOR may ask for colours.
    console = Console(file=sheet, force_terminal=terminal or None, color_system=color_system)
    if not terminal and (stream is None or not os.environ.get("COLUMNS", "").isdigit()):
        console.width = UNBOUNDED
    console.width = max(console.width, NARROWEST_CONSOLE)
    draw(console)
    text = sheet.getvalue()
    return text if console.color_system else "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def prose(console: Console, text: str, *, style: str = "", mark: str = "") -> None:
    """Print a paragraph behind a mark; a label that the console can hold stays whole."""
    room = console.width - len(mark)
    lines = wrap(printable(text), min(room, PROSE - len(mark)), longest=room)
    indent = " " * len(mark)
    print_lines(console, [mark + lines[0], *(indent + line for line in lines[1:])], style=style)


def print_lines(console: Console, lines: Iterable[str], *, style: str = "") -> None:
    """Print lines as they are, each whole even if it is too long."""
    console.print(Text("\n".join(lines), style=style), no_wrap=True, overflow="ignore", crop=False)


def plain_table() -> Table:
    """Return a table without rules."""
    return Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style="dim")


class _Sheet(io.StringIO):
    """A text with the encoding of a stream, which rich asks for."""

    def __init__(self, encoding: str | None) -> None:
        super().__init__()
        self._encoding = encoding or "utf-8"

    @property
    def encoding(self) -> str:  # type: ignore[override]  # io.StringIO has none
        return self._encoding
