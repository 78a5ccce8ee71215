"""Text in the cells of a terminal, of which a Chinese character or an emoji takes two: its width, and lines.

Nothing is ever left out: what no line can hold is broken, or stands out beyond the line.
"""

from __future__ import annotations

import re

from rich.cells import cell_len, split_graphemes

# Where a word that has to be broken is best broken: behind one of these. The last one is a no-break space.
_JOINTS = "_-/,;\xa0"
_WORDS = re.compile(r"( *)([^ ]+)")


def cell_width(text: str) -> int:
    """Return how many cells a line of text takes."""
    return cell_len(text)


def padded(text: str, width: int) -> str:
    """Fill a line up with blanks; a longer one stays as it is."""
    return text + " " * (width - cell_width(text))


def wrap(text: str, width: int, *, indent: str = "", longest: int = 0) -> list[str]:
    """Break text into lines between words, and break words that are too long for any line.

    Parameters
    ----------
    text : str
        Without line breaks. What no-break spaces join is one word.
    width : int
        Cells of a line, at least 1.
    indent : str
        What further lines begin with.
    longest : int
        A word of up to so many cells stays whole, even if its line gets longer than the others.
    """
    lines: list[str] = []
    line = ""
    for gap, word in _WORDS.findall(text):
        before = line + gap
        whole = cell_width(indent + word) <= max(width, longest)
        fits = cell_width(before + word) <= width
        stays = fits or not line or (not whole and cell_width(before) <= width // 2)
        if not stays:
            lines.append(line)
            before = indent
        if whole or fits:
            line = before + word
        else:
            *full, line = _broken(before, word, width, indent)
            lines += full
    return [*lines, line] if line else lines


def _broken(before: str, word: str, width: int, indent: str) -> list[str]:
    """Break a word over lines; something stands before it in the first one."""
    lines = []
    while word and cell_width(before + word) > width:
        head, word = _split(word, width - cell_width(before))
        lines.append(before + head)
        before = indent
    return [*lines, before + word] if word else lines


def _split(word: str, room: int) -> tuple[str, str]:
    """Split off as much as there is room for, at least one character; behind a joint unless that is short."""
    used = end = 0
    for _, stop, cells in split_graphemes(word)[0]:
        if end and used + cells > room:
            break
        used += cells
        end = stop
    joint = max(word.rfind(joint, 0, end) for joint in _JOINTS) + 1
    end = joint if joint > end // 2 else end
    return word[:end], word[end:]
