"""Pages: set for any width and as markdown, with nothing lost."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from abtune.report.markdown_page import markdown_page
from abtune.report.page import SHAPE, Bullets, Dots, Grid, Heading, Page, Prose, Strip, column, drawing
from abtune.report.terminal_page import page_text, render_page
from abtune.shapes import PRESETS

LABELS = tuple(shape.label for shape in PRESETS["tvm14009"][:3])


def grid(stub: str = SHAPE) -> Grid:
    return Grid(
        stub=stub,
        labels=LABELS,
        columns=(
            column("side", ["a\nb"] * 3, right=False),
            column("number", ["1.5\n22.25", "-\n-", "3\n4"]),
            column("other", ["alpha\nbeta", "gamma\ndelta", "x\ny"], gives_way=1),
            drawing("drawn", ["[--o     |]\n<-----o---]"] * 3, gives_way=2),
        ),
    )


def page() -> Page:
    strip = Strip(name="mainline", values=(1.0, 2.0, 2.0), marked=1.6, mark="1.6 us")
    return (
        Heading(text="title", minor=False),
        Prose(text="Some words. " * 20, remark=True),
        Heading(text="less", minor=True),
        grid(),
        Bullets(items=("One thing is said.", "And <another> | thing.")),
        Dots(strips=(strip,), low="1.0 us", high="2.0 us"),
    )


def render(parts: Page, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    render_page(parts, console)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize("width", range(50, 130, 7))
def test_lines_fit_and_labels_are_whole(width: int) -> None:
    """At every width lines fit, numbers are whole, and every part of every label is there."""
    text = render(page(), width)
    assert max(map(len, text.splitlines())) <= width
    assert "22.25" in text
    assert {part for label in LABELS for part in label.split("_")} == set(re.findall(r"[A-Z]+=\d+", text))


def test_columns_that_give_way_are_named() -> None:
    """Where there is no room a column goes, and the page says which."""
    assert "no room" not in render(page(), 120)
    narrow = render((grid(),), 50)
    assert "no room at this width for: drawn" in narrow
    assert "[--o" not in narrow


def test_short_labels_need_little_room() -> None:
    """Labels of a few characters do not keep columns out."""
    small = Grid(stub="n", labels=("1", "2"), columns=(column("a", ["x" * 40] * 2, gives_way=1),))
    assert "x" * 40 in render((small,), 50)


def test_markdown_has_a_row_a_line_and_keeps_drawings() -> None:
    """Cells of several lines become rows, labels repeated; drawings keep their blanks and bars."""
    text = markdown_page(page())
    assert text.count(f"| `{LABELS[0]}` |") == 2
    assert "| `[--o     \\|]` |" in text
    assert "- And \\<another\\> \\| thing." in text
    assert "```text\n" in text
    assert "### less" in text


def test_labels_that_are_no_shapes_are_words_in_markdown() -> None:
    """Only labels of shapes are set as code."""
    assert "`" not in markdown_page((Grid(stub="n", labels=("a*b",), columns=(column("c", ["1"]),)),))


def test_a_file_gets_whole_labels() -> None:
    """What is not a terminal is as wide as its tables."""
    text = page_text(page(), None)
    assert all(label in text for label in LABELS)
