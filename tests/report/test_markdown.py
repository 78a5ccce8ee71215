"""Markdown as a parser reads it: names of any characters stay in their cells, whole."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from markdown_it import MarkdownIt
from report_builders import make_analysis, make_comparison

from abtune.report.markdown import render_markdown
from abtune.report.markdown_page import markdown_page
from abtune.report.page import SHAPE, Dots, Grid, Strip, column, drawing

ODD = ["c|d", "a`b", "`a``b|c", "ends`", "|", "``", "plain"]


def rows(text: str) -> Iterator[list[str]]:
    """Yield the texts of the cells of every row of every table, those of code too."""
    cells: list[str] = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "tr_open":
            cells = []
        elif token.type == "inline":
            cells.append("".join(part.content for part in token.children or []))
        elif token.type == "tr_close":
            yield list(cells)


@pytest.mark.parametrize("label", ODD)
def test_labels_stay_in_their_cells(label: str) -> None:
    """A row has its label and its numbers, whatever the label holds; so has the list below."""
    analysis = make_analysis(make_comparison(label), make_comparison("other"))
    text = render_markdown(analysis)
    first, second = (row for row in rows(text) if row[0] in {label, "other"})
    assert first == [label, *second[1:]]
    spans = [
        part.content
        for token in MarkdownIt("commonmark").parse(text.partition("<details>")[2])
        for part in token.children or []
        if part.type == "code_inline"
    ]
    assert label in spans


@pytest.mark.parametrize("label", ODD)
@pytest.mark.parametrize("stub", [SHAPE, "configuration"])
def test_pages_keep_labels_in_their_cells(stub: str, label: str) -> None:
    """Grids of pages do so too, with their drawings."""
    part = Grid(
        stub=stub,
        labels=(label,),
        columns=(column("side|s", [label], right=False), drawing("drawn", ["[-|-o-]"], gives_way=1)),
    )
    assert list(rows(markdown_page([part]))) == [
        [stub, "side|s", "drawn"],
        [label, label, "[-|-o-]"],
    ]


def test_backticks_do_not_end_a_drawing() -> None:
    """A dot plot stays one block of code, whatever its samples are called."""
    strip = Strip(name="```", values=(1.0, 2.0), marked=1.5, mark="mean")
    tokens = MarkdownIt("commonmark").parse(markdown_page([Dots(strips=(strip,), low="1", high="2")]))
    assert [token.type for token in tokens] == ["fence"]
    assert "```" in tokens[0].content
