"""Markdown as a parser reads it: names of any characters stay in their cells, whole."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from markdown_it import MarkdownIt
from report_builders import make_analysis, make_comparison, report_of

from abtune.report.formats.markdown import render
from abtune.report.page import SHAPE, Dots, Drawn, Grid, Report, Strip, column
from abtune.report.scale import Interval, Scale
from abtune.report.summary import analysis_report, analysis_section

ODD = ["c|d", "a`b", "`a``b|c", "ends`", "|", "``", "plain"]


def rows(text: str) -> Iterator[list[str]]:
    """Yield the texts of the cells of every row of every table, those of code too."""
    cells: list[str] = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "tr_open":
            cells = []
        elif token.type == "inline":
            cells.append("".join(child.content for child in token.children or []))
        elif token.type == "tr_close":
            yield list(cells)


@pytest.mark.parametrize("label", ODD)
def test_labels_stay_in_their_cells(label: str) -> None:
    """A row has its label and its numbers, whatever the label holds; so has the table of reasons."""
    analysis = make_analysis(make_comparison(label), make_comparison("other"))
    text, shown = render(analysis_report(analysis)), label.replace("`", "'")
    first, second = (row for row in rows(text.partition("<details>")[0]) if row[0] in {shown, "other"})
    assert first == [shown, *second[1:]]
    reasons = [row for row in rows(text.partition("<details>")[2]) if row[0] in {shown, "other"}]
    assert reasons == [
        [name, row.verdict.value, row.reason]
        for name, row in zip((shown, "other"), analysis.comparisons, strict=True)
    ]


@pytest.mark.parametrize("label", ODD)
@pytest.mark.parametrize("stub", [SHAPE, "configuration"])
def test_pages_keep_labels_in_their_cells(stub: str, label: str) -> None:
    """Grids of pages do so too, with their drawings, whose blanks are kept."""
    drawn = Drawn(
        intervals=(Interval(low=-0.5, value=0.0, high=0.5),),
        scale=Scale(low=-1.0, high=1.0, margin=0.0),
        gives_way=1,
    )
    grid = Grid(stub=stub, labels=(label,), columns=(column("side|s", [label], kind="word"), drawn))
    shown = label.replace("`", "'") if stub == SHAPE else label  # a shape is set as code
    bar = "╞═════●════╡".center(24, "\xa0")
    assert list(rows(render(report_of([grid])))) == [
        [stub, "side|s", "-100%" + "\xa0" * 14 + "+100%"],
        [shown, label, bar],
    ]


def test_each_candidate_has_footnotes_of_its_own() -> None:
    """Markdown numbers footnotes over the whole text, so no two reports may define the same one."""
    analyses = [
        make_analysis(make_comparison("a", caveats=(f"about {name}",)), make_comparison("b"), candidate=name)
        for name in ("one", "two")
    ]
    text = render(Report(sections=tuple(map(analysis_section, analyses))))
    defined = dict(re.findall(r"^\[\^([^]]+)\]: (.*)$", text, flags=re.MULTILINE))
    used = re.findall(r"\[\^([^]]+)\](?!:)", text)
    assert [defined[number] for number in used] == ["about one", "about two"]


def test_backticks_do_not_end_a_drawing() -> None:
    """A dot plot stays one block of code, whatever its samples are called."""
    strip = Strip(name="```", values=(1.0, 2.0), marked=1.5, mark="mean")
    tokens = MarkdownIt("commonmark").parse(render(report_of([Dots(strips=(strip,), low="1", high="2")])))
    assert [token.type for token in tokens] == ["fence"]
    assert "'''" in tokens[0].content
