"""What the commands that print a page share: its format, and the dataset that is read without a name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from abtune.errors import DatasetError

if TYPE_CHECKING:
    from abtune.report.page import Part

DEFAULT_DATASET = "abtune.nc"


def default_dataset() -> str:
    """Return the dataset that a sweep has left here, or say how to get one."""
    if not Path(DEFAULT_DATASET).exists():
        raise DatasetError(
            f"no dataset named and no {DEFAULT_DATASET} here; make one with abtune sweep, "
            "or name one: abtune datasets lists the bundled ones"
        )
    return DEFAULT_DATASET


def page_as(format_: str, page: Sequence[Part], result: object, stream: TextIO) -> str:
    """Set a page as a table for a stream, as markdown, or its result as JSON."""
    if format_ == "json":
        from abtune.report.machine import render_result

        return render_result(result)
    if format_ == "markdown":
        from abtune.report.markdown_page import markdown_page

        return markdown_page(page)
    from abtune.report.terminal_page import page_text

    return page_text(page, stream)
