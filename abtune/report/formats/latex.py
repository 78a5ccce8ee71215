r"""The report as LaTeX, to be read by ``\input``: tables with booktabs, and the sentences around them.

A table that is wider than the line is made smaller. Drawings are left out, and so is what HTML folds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from abtune.report.page import SHAPE, Bullets, Cell, Column, Grid, Heading, Part, Prose, Report, Tally
from abtune.text import NOTHING, printable

_ALIGNED = {"number": "r", "word": "l", "text": r"p{.4\linewidth}"}
_SPECIAL = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_SPECIAL |= {character: f"\\{character}" for character in "&%$#_{}"}
_SPECIAL |= {character: f"${character}$" for character in "<>|"} | {"\xa0": "~"}
_SPECIAL |= {character: f"{{{character}}}" for character in "[*"}  # options of a line break
_HYPHEN = re.compile(r"-(?=-)")  # of an option, which two hyphens would turn into a dash
_MINUS = re.compile(r"(?<![\w-])-(?=\d)")


def render(report: Report) -> str:
    """Return a report as LaTeX; ends with a newline."""
    blocks = [r"% \usepackage{booktabs,graphicx}"]
    for section in report.sections:
        caption = ""
        for part in section.page:
            caption = part.text if isinstance(part, Heading) else caption
            blocks += filter(None, ["\n".join(_part(part, caption))])
    return "\n\n".join(blocks) + "\n"


def _part(part: Part, caption: str) -> Iterator[str]:
    match part:
        case Prose():
            yield _prose(part.text)
        case Tally():
            yield _escape(f"{', '.join(cell.text for cell in part.cells)}.")
        case Bullets():
            yield from _list("itemize", part.items)
            yield from _list("enumerate", part.footnotes)
        case Grid():
            yield from _table(part, caption if part.stub == SHAPE else f"{caption}: {part.stub}")


def _list(kind: str, items: Iterable[str]) -> Iterator[str]:
    lines = [rf"\item {_prose(item)}" for item in items]
    if lines:
        yield from (rf"\begin{{{kind}}}", *lines, rf"\end{{{kind}}}")


def _table(grid: Grid, caption: str) -> Iterator[str]:
    columns = [column for column in grid.columns if isinstance(column, Column)]
    aligned = "".join(_ALIGNED[column.kind] for column in columns)
    yield from (r"\begin{table}", r"\centering", rf"\caption{{{_escape(caption)}}}")
    yield r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
    yield from (rf"\begin{{tabular}}{{l{aligned}}}", r"\toprule")
    yield _row([_escape(grid.stub), *(_escape(column.heading) for column in columns)])
    yield r"\midrule"
    for row, label in enumerate(grid.labels):
        name = rf"\texttt{{{_escape(label)}}}" if grid.stub == SHAPE else _escape(label)
        yield _row([name, *(_cell(column.cells[row]) for column in columns)])
    yield from (r"\bottomrule", r"\end{tabular}", "}", r"\end{table}")


def _row(cells: Iterable[str]) -> str:
    return rf"{' & '.join(cells)} \\"


def _cell(cell: Cell) -> str:
    text = "--" if cell.text == NOTHING else _escape(re.sub(" +", " ", cell.text.strip(" ")))
    marks = ",".join(map(str, cell.notes))
    return rf"{text}\textsuperscript{{{marks}}}" if marks else text


def _prose(text: str) -> str:
    """Return a sentence in which long labels may break."""
    return _escape(text).replace(r"\_", r"\_\allowbreak{}")


def _escape(text: str) -> str:
    """Return a text as LaTeX prints it; a hyphen before a number is a minus."""
    words = "".join(_SPECIAL.get(character, character) for character in printable(text))
    return _HYPHEN.sub("-{}", _MINUS.sub("$-$", words))
