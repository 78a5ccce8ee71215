"""Lines of text for a terminal, where a Chinese character or an emoji takes two cells.

rich measures and wraps. Two rules are added: a name that is too long breaks behind its joints, and words
joined by a no-break space stay together. Nothing is ever left out.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

_CONSOLE = Console()
# Stand-ins while rich wraps: a break that takes no room, and a space that does not break. No name can hold
# them, because `printable` replaces both.
_BREAK, _TIE = "\x1f", "\ue000"
_BEHIND_JOINT = re.compile(rf"(?<=[_\-/,;{_TIE}])(?=.)")


def wrap(text: str, width: int, *, longest: int = 0) -> list[str]:
    """Return the lines of a text, at least one; a word of up to ``longest`` cells is not broken."""
    words = text.replace("\xa0", _TIE).split(" ")
    lines: list[str] = []
    for unbroken, run in itertools.groupby(words, lambda word: width < cell_len(word) <= longest):
        members = list(run)
        lines += members if unbroken else _wrap(members, width)
    return [line.replace(_BREAK, "").replace(_TIE, " ") for line in lines]


def _wrap(words: Iterable[str], width: int) -> list[str]:
    offered = (_BEHIND_JOINT.sub(_BREAK, word) if cell_len(word) > width else word for word in words)
    lines = Text(" ".join(offered)).wrap(_CONSOLE, width, overflow="fold")
    return [line.plain.rstrip() for line in lines]
