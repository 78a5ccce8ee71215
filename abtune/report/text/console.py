"""Writing for a console of any width and encoding: lines, paragraphs, and the text for a stream or file.

A Chinese character or an emoji takes two cells of a console. rich measures and wraps. Two rules are added: a
name that is too long breaks behind its joints, and words joined by a no-break space stay together.
"""

from __future__ import annotations

import io
import itertools
import os
import re
from collections.abc import Callable, Iterable
from typing import Literal, TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from abtune.text import printable

# Wider prose is tiring to read, however wide the console is.
PROSE = 100
# As wide as any table; the width of everything that is not a terminal.
UNBOUNDED = 10_000
# In a narrower terminal the terminal wraps the lines: numbers cannot get any narrower.
NARROWEST_CONSOLE = 50
_ANY_CONSOLE = Console()
# Stand-ins while rich wraps: a break that takes no room, and a space that does not break. No name can hold
# them, because `printable` replaces both.
_BREAK, _TIE = "\x1f", "\ue000"
_BEHIND_JOINT = re.compile(rf"(?<=[_\-/,;{_TIE}])(?=.)")


def text_for(stream: TextIO | None, draw: Callable[[Console], None]) -> str:
    """Return what a function draws, as text for a stream, or for a file if there is none."""
    # A terminal gets colours and its own width; anything else plain text, as wide as its tables or COLUMNS.
    terminal = stream is not None and stream.isatty()
    color_system: Literal["auto"] | None = None if stream is None else "auto"
    # Without a terminal the environment decides: FORCE_COLOR may ask for colours.
    file = stream or io.StringIO()
    console = Console(file=file, force_terminal=terminal or None, color_system=color_system)
    if not terminal and (stream is None or not os.environ.get("COLUMNS", "").isdigit()):
        console.width = UNBOUNDED
    console.width = max(console.width, NARROWEST_CONSOLE)
    # In Jupyter, rich displays what nobody captures, and the file stays empty.
    with console.capture() as capture:
        draw(console)
    text = capture.get()
    return text if console.color_system else "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def shown(text: str, console: Console) -> str:
    """Return a text as it will be written, so that escapes of what the console cannot encode are measured."""
    name = console.encoding
    parts = printable(text).split("\xa0")  # ties, which become spaces in any encoding
    return "\xa0".join(piece.encode(name, "backslashreplace").decode(name) for piece in parts)


def prose(console: Console, text: str, *, style: str = "", mark: str = "") -> None:
    """Print a paragraph behind a mark; a label that the console can hold stays whole."""
    room = console.width - len(mark)
    lines = wrap(shown(text, console), min(room, PROSE - len(mark)), longest=room)
    indent = " " * len(mark)
    print_lines(console, [mark + lines[0], *(indent + line for line in lines[1:])], style=style)


def print_lines(console: Console, lines: Iterable[str], *, style: str = "") -> None:
    """Print lines as they are, each whole even if it is too long."""
    console.print(Text("\n".join(lines), style=style), no_wrap=True, overflow="ignore", crop=False)


def wrap(text: str, width: int, *, longest: int = 0) -> list[str]:
    """Return the lines of a text, at least one; a word of up to ``longest`` cells is not broken."""
    words = text.replace("\xa0", _TIE).split(" ")
    lines: list[str] = []
    for unbroken, run in itertools.groupby(words, lambda word: width < cell_len(word) <= longest):
        if unbroken:
            lines += run
            continue
        offered = (_BEHIND_JOINT.sub(_BREAK, word) if cell_len(word) > width else word for word in run)
        wrapped = Text(" ".join(offered)).wrap(_ANY_CONSOLE, width, overflow="fold")
        lines += (line.plain.rstrip() for line in wrapped)
    return [line.replace(_BREAK, "").replace(_TIE, " ") for line in lines]
