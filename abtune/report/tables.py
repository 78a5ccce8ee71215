"""Tables and words of GitHub-flavoured markdown."""

from __future__ import annotations

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
