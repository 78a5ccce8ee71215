"""Tables and words of GitHub-flavoured markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from abtune.report.labels import printable


def table(headings: Sequence[str], right: Sequence[bool], rows: Iterable[Sequence[str]]) -> str:
    """Lay out a table whose first column is set left and whose others are set as told."""
    rule = ["---", *("--:" if flush else "---" for flush in right)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (headings, rule, *rows))


def escape(text: str) -> str:
    """Keep text from names and messages from acting as markdown."""
    return "".join(
        f"\\{character}" if character in r"\`*_|[]<>#" else character for character in printable(text)
    )


def code(text: str, *, cell: bool) -> str:
    r"""Set a text as code, whatever is in it; in a cell, ``|`` would end the cell also within code.

    The fence is longer than any run of backticks within, as CommonMark asks.
    """
    shown = printable(text)
    fence = "`" * (longest_fence(shown) + 1)
    air = " " if shown.startswith("`") or shown.endswith("`") else ""
    span = f"{fence}{air}{shown}{air}{fence}"
    return span.replace("|", r"\|") if cell else span


def longest_fence(text: str) -> int:
    """Return the length of the longest run of backticks."""
    return max(map(len, re.findall("`+", text)), default=0)
