"""The HTML report: well formed, complete, harmless, and with the numbers of the other formats."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import itertools
import json
import math
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from golden_files import assert_golden
from hypothesis import given, settings
from hypothesis import strategies as st
from report_builders import NAN, make_analysis, make_comparison, make_side, report_of, typical_analysis

import abtune
from abtune.compare.results import Analysis, Verdict
from abtune.report.columns import analysis_scale, overall_interval
from abtune.report.formats import html, machine
from abtune.report.formats.svg import Drawing, draw_axis, draw_interval, draw_samples, position
from abtune.report.page import (
    SHAPE,
    Bullets,
    Cell,
    Dots,
    Drawn,
    Grid,
    Heading,
    Page,
    Prose,
    Section,
    Strip,
    column,
    table,
)
from abtune.report.scale import Interval, Scale
from abtune.report.summary import View, analysis_report
from abtune.text import p_value, percent_cell

EMPTY = {"meta", "wbr", "input"}
SCALE = Scale(low=-0.5, high=1.0, margin=0.02)
EVIL = """<script>alert(1)</script> & "quotes" 'single' </style>"""


class Tree(HTMLParser):
    """Checks that elements are nested and closed, and collects what the tests look at."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.starts: list[tuple[str, dict[str, str]]] = []
        self.rows: list[list[str]] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names)
        self.starts.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in EMPTY:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in {"style", "script"}:
            self.text.append(data)
        if {"td", "th"} & set(self.open) and "title" not in self.open:
            self.rows[-1][-1] += data

    def attributes(self, *tags: str) -> Iterator[dict[str, str]]:
        yield from (attributes for tag, attributes in self.starts if tag in tags)


def parse(text: str) -> Tree:
    tree = Tree(text)
    assert tree.open == []
    return tree


def evil_analysis() -> Analysis:
    """Everything that has a name has one that would break a careless page."""
    row = make_comparison(
        EVIL,
        workload=EVIL,
        verdict=Verdict.INVALID,
        baseline=make_side(EVIL),
        candidate=make_side(EVIL),
        reason=EVIL,
        caveats=(EVIL, "$&<"),
    )
    analysis = make_analysis(row, make_comparison(), baseline=EVIL, candidate=EVIL, caveats=(EVIL,))
    return dataclasses.replace(analysis, overall=dataclasses.replace(analysis.overall, unmatched=(EVIL,)))


def page() -> Section:
    """Every kind of part that the main report does not have, and rows that share a label."""
    strip = Strip(name="main<line>", values=(1.0, 2.0, 2.0), marked=1.6, mark="1.6 us")
    grid = Grid(
        stub=SHAPE,
        labels=("M=1_N=2_K=3", "M=1_N=2_K=3", "b<c", "b<c"),
        columns=(
            column("side", ["a", "b", "c", "d"], kind="word"),
            column("number", ["1.5", "22.25", "-", "-"]),
            Drawn(intervals=(Interval(low=-0.1, value=0.1, high=2.0),) * 4, scale=SCALE, gives_way=1),
        ),
    )
    parts = (
        Heading(text="title & more", minor=False),
        Prose(text="Some words.", remark=True),
        Heading(text="less", minor=True),
        grid,
        Bullets(items=("One thing.", "Another <b>."), footnotes=("A note.",)),
        Dots(strips=(strip,), low="1.0 us", high="2.0 us"),
    )
    return Section(name="noise", page=parts, result=None)


def render_html(analysis: Analysis, *sections: Section, why: bool = False) -> str:
    return html.render(analysis_report(analysis, *sections, view=View(why=why)))


def written(*parts: Page) -> str:
    """Return what stands in a document that has only these parts."""
    text = html.render(report_of(*parts))
    return text.partition("<main>")[2].partition("</main>")[0]


def drawn(low: float, boost: float, high: float, **more: Any) -> Drawing:
    """Draw an interval on a scale from -50 to +100 %."""
    return draw_interval(Interval(low=low, value=boost, high=high, **more), SCALE)


def tracks(drawing: Drawing, kind: str) -> list[str]:
    """Return the paths of a kind."""
    return [stroke.track for stroke in drawing.strokes if kind in stroke.kind.split()]


def test_report_looks_as_its_golden_file_shows() -> None:
    """The whole document of an analysis with every verdict, and of a page below it, is kept as a file."""
    text = render_html(typical_analysis(), page())
    assert_golden("report.html", text)
    assert text == render_html(typical_analysis(), page())


@pytest.mark.parametrize("analysis", [typical_analysis(), evil_analysis(), make_analysis(make_comparison())])
def test_document_is_well_formed_and_needs_nothing_else(analysis: Analysis) -> None:
    """Elements nest, identifiers are unique, links lead somewhere, only our script runs."""
    text = render_html(analysis, page())
    assert text.startswith('<!DOCTYPE html>\n<html lang="en">\n')
    tree = parse(text)
    kinds = {tag for tag, _ in tree.starts}
    assert not kinds & {"link", "img", "iframe", "object", "base"}
    assert list(tree.attributes("script")) == [{}]
    (policy,) = (meta["content"] for meta in tree.attributes("meta") if "http-equiv" in meta)
    script = text.partition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    every = [attributes for _, attributes in tree.starts]
    assert not {name for attributes in every for name in attributes} & {"src", "onclick", "onload", "style"}
    assert "url(" not in text
    assert "@import" not in text
    identifiers = [attributes["id"] for attributes in every if "id" in attributes]
    assert len(set(identifiers)) == len(identifiers)
    assert {link["href"] for link in tree.attributes("a")} <= {f"#{name}" for name in identifiers}


def test_tables_and_drawings_are_accessible() -> None:
    """Headings of tables say what they head, drawings say what they show, and levels are not skipped."""
    text = render_html(typical_analysis(), page())
    tree = parse(text)
    assert {head["scope"] for head in tree.attributes("th")} == {"col", "row"}
    drawings = list(tree.attributes("svg"))
    titles = re.findall(r'role="img"><title>([^<]+)</title>', text)
    assert all(drawn["role"] == "img" for drawn in drawings)
    assert len(titles) == len(drawings)
    assert "boost +11.1 percent, interval +6.2 to +16.0; for all shapes at once +3.3 to +19.5" in titles
    levels = [int(tag[1]) for tag, _ in tree.starts if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(two <= one + 1 for one, two in itertools.pairwise(levels))


def test_verdicts_are_told_apart_without_colour() -> None:
    """Each verdict stands there as a word, and no two of its drawings have the same marker."""
    text = render_html(typical_analysis())
    markers = {
        (stroke.track, stroke.kind) for kind in Verdict for stroke in drawn(0.1, 0.2, 0.3, tone=kind).strokes
    }
    ground = {(stroke.track, stroke.kind) for stroke in drawn(0.1, NAN, 0.3).strokes}
    assert len(markers - ground) == len(Verdict)
    assert all(f"</span> {verdict.words}</span>" in text for verdict in Verdict)


def test_numbers_are_those_of_json() -> None:
    """Boost, interval, p-values and verdict of each row are those of the JSON report, rounded for people."""
    analysis = typical_analysis()
    folded = parse(render_html(analysis)).rows[-len(analysis.comparisons) :]
    tree = parse(render_html(analysis))
    rows = {row[0]: row for row in tree.rows if row not in folded}
    # A long label is short in the table; the cell has it whole for the filter, and for who points at it.
    whole = dict.fromkeys(head["data-word"] for head in tree.attributes("th") if "data-word" in head)
    assert [*whole][: len(analysis.comparisons)] == [row.shape for row in analysis.comparisons]
    rows |= dict(zip(whole, (row for row in tree.rows if len(row) > 9 and row[0] != "shape"), strict=False))
    for record in json.loads(machine.render_json(analysis_report(analysis)))["comparisons"]:
        row = rows[record["shape"]]
        boost, low, high = (
            percent_cell(NAN if record[name] is None else record[name], 1)
            for name in ("boost", "boost_low", "boost_high")
        )
        assert record["verdict"].replace("-", " ") in row[1]
        # A line never ends before "to".
        assert row[2:5] == [boost, f"{low}\xa0to {high}" if low != "-" else "-", ""]
        assert row[6] == p_value(math.nan if record["p_adjusted"] is None else record["p_adjusted"])
        assert row[9] == f"{record['n_baseline']}+{record['n_candidate']}"
    overall = rows["these 6 shapes"]
    assert overall[1:3] == ["+11.85", "+7.72\xa0to +16.13"]


def test_everything_that_is_said_elsewhere_is_said_here() -> None:
    """Title, design, counts, caveats, reasons, left-out shapes and method are in the text."""
    analysis = typical_analysis()
    said = re.sub(r"\s+", " ", "".join(parse(render_html(analysis)).text))
    for row in analysis.comparisons:
        assert row.reason in said
        assert all(caveat in said for caveat in row.caveats)
    for words in (
        "async against mainline",
        "95% confidence, margin 2%",
        "1 improved",
        "These seeds were recorded on two devices.",
        "Why, shape by shape",
        analysis.definition,
        "Resampling seed: 0.",
    ):
        assert words in said
    assert "leave out" not in said
    assert "leave out" in "".join(parse(render_html(evil_analysis())).text)


def test_names_cannot_act_as_html() -> None:
    """Names with brackets, ampersands and quotes are shown as they are, wherever they stand."""
    text = render_html(evil_analysis())
    assert text.count("<script") == 1
    tree = parse(text)
    assert "".join(tree.text).count(EVIL) >= 8
    assert [row[0] for row in tree.rows].count(EVIL) == 2  # of the comparisons, and of the reasons


@settings(max_examples=30)
@given(st.text(min_size=1), st.text(), st.text(st.characters(exclude_characters="\0")))  # NumPy strips NUL
def test_any_text_gives_a_document(shape: str, reason: str, config: str) -> None:
    """Whatever names and reasons hold, the document is well formed."""
    row = make_comparison(shape, reason=reason, caveats=(reason, config))
    parse(render_html(make_analysis(row, make_comparison("other"), baseline=config)))


@pytest.mark.parametrize("name", ["short", "long-name-" * 15, "基线配置" * 20])
def test_names_of_samples_leave_room_for_the_dots(name: str) -> None:
    """All dots are within the drawing, and lie in order, however long the names beside them are."""
    strip = Strip(name=name, values=(1.0, 2.0, 3.0), marked=2.0, mark="2 us")
    drawing = draw_samples(Dots(strips=(strip, strip), low="1", high="3"))
    dots = [(stroke.x, stroke.y) for stroke in drawing.strokes if stroke.kind == "dot"]
    first, second = dots[:3], dots[3:]
    assert all(0 < x < drawing.width and 0 < y < drawing.height for x, y in dots)
    assert first == sorted(first)
    assert [x for x, _ in first] == [x for x, _ in second]
    assert first[-1][0] - first[0][0] > drawing.width / 3
    assert "".join(words.text for words in drawing.words).count(name) == 2
    assert all(float(words.y) < drawing.height for words in drawing.words)


def test_long_names_in_tables_may_break_anywhere() -> None:
    """Names too long for a column are marked for the style sheet, others are as they were."""
    sides = column("side", ["short name", "y" * 30], kind="word")
    grid = Grid(stub="configuration", labels=("x" * 30, "N=1_H=56_W=56_C=64_K=64"), columns=(sides,))
    assert re.findall(r'<span class="long">(\w+)</span>', written((grid,))) == ["x" * 30, "y" * 30]
    assert "long" not in written((dataclasses.replace(grid, stub=SHAPE, columns=()),))
    assert re.search(r"tbody th code, \.long {[^}]*overflow-wrap: anywhere;", html.render(report_of()))


def test_rows_open_to_their_seeds() -> None:
    """Every row of the main table has its seeds below it, and names in them are as harmless as elsewhere."""
    latency = np.array([[[1.5, 2.5, 2.0], [1.0, 1.25, np.nan]]]) * 1e-6
    dataset = abtune.make_dataset(np.repeat(latency, 2, axis=0), shapes=[EVIL, "b"], configs=[EVIL, "new"])
    analysis = abtune.analyze(dataset)
    text = render_html(analysis)
    stories = [row[0] for row in parse(text).rows if len(row) == 1]
    assert text.count("<script") == 1
    assert len(stories) == 2
    for story, row in zip(stories, analysis.comparisons, strict=True):
        assert row.reason in story
        assert f"{EVIL}, us (seed): 1.500\xa0(0), 2.000\xa0(2), 2.500\xa0(1); geometric mean 1.957" in story
        assert "new, us (seed): 1.000\xa0(0), 1.250\xa0(1);" in story
        assert all(f"{gate.asks} ({gate.found})" in story for gate in row.gates)
    assert "story" not in written(page().page)


def test_contents_lead_to_every_heading() -> None:
    """The headings of the first page and the titles of others are listed."""
    text = html.render(report_of(page().page, page().page))
    anchors = re.findall(r'<a href="#([\w-]+)">([^<]+)</a>', text.partition("<nav")[2].partition("</nav>")[0])
    assert [words for _, words in anchors] == ["less", "title &amp; more"]
    headings = [heading["id"] for heading in Tree(text).attributes("h1", "h2", "h3")]
    assert headings == ["part-1-0", *(anchor for anchor, _ in anchors), "part-2-2"]
    assert "<nav" not in html.render(report_of(page().page))
    whole = html.render(analysis_report(typical_analysis()))
    assert re.search(r"<h1[^>]*>async against mainline</h1>\n<p>async is faster .*</p>\n<nav ", whole)


def test_a_second_title_of_a_page_begins_a_section() -> None:
    """Each of several explained shapes has a title of its own."""
    titles = [Heading("one"), Heading("samples", minor=True), Heading("two"), Heading("samples", minor=True)]
    text = html.render(report_of(tuple(block for title in titles for block in (title, Prose("words")))))
    assert re.findall(r"<h(\d)[^>]*>(\w+)", text) == [
        ("1", "one"),
        ("2", "samples"),
        ("2", "two"),
        ("3", "samples"),
    ]
    assert re.findall('<a href="#([^"]+)">', text) == ["part-1-2", "part-2-0"]


def test_reasons_are_folded_unless_asked_for() -> None:
    """The reasons are behind a line to click on, and open with --why."""
    folded, unfolded = (render_html(typical_analysis(), why=why) for why in (False, True))
    for text, wanted in ((folded, {}), (unfolded, {"open": ""})):
        assert list(parse(text).attributes("details")) == [wanted]


def test_pages_stand_alone_too() -> None:
    """Without an analysis the first page has the title of the document, and labels span their rows."""
    text = html.render(report_of(page().page, page().page))
    tree = parse(text)
    assert "<title>title &amp; more</title>" in text
    assert [tag for tag, _ in tree.starts if re.fullmatch(r"h\d", tag)] == ["h1", "h2", "h2", "h3"]
    assert ["M=1_N=2_K=3", "a", "1.5", ""] in tree.rows
    assert ["b", "22.25", ""] in tree.rows
    assert {"scope": "row", "rowspan": "2", "data-word": "M=1_N=2_K=3"} in tree.attributes("th")


def test_footnotes_belong_to_their_section() -> None:
    """Links lead to the note of the same section, although numbers begin anew in each."""
    cell = Cell(text="invalid", tone="invalid", notes=(1,))
    grid = Grid(stub="n", labels=("a",), columns=(column("verdict", [cell], kind="word"),))
    tree = parse(html.render(report_of(*[(grid, Bullets(items=(), footnotes=("So.",)))] * 2)))
    assert [link["href"] for link in tree.attributes("a")] == ["#note-1-1", "#note-2-1"]
    assert [item["id"] for item in tree.attributes("li")] == ["note-1-1", "note-2-1"]


def test_a_wide_table_can_be_scrolled_from_the_keyboard() -> None:
    """Each table stands in a box that can have the focus."""
    assert written((table(SHAPE, ["a"], column("x", ["1"])),)).count('role="region" tabindex="0"') == 1


def test_drawings_are_explained_below_the_last_table() -> None:
    """Band and thin line are named where they are drawn, and nothing where nothing is."""
    wide = Interval(low=0.1, value=0.2, high=0.3, wide_low=0.0, wide_high=0.5)
    grid = Grid(stub="n", labels=("a",), columns=(Drawn(intervals=(wide,), scale=SCALE, gives_way=1),))
    assert "the band the margin" in written((grid,))
    assert "thin line" in written((grid,))
    assert "thin line" not in written(page().page)
    assert "Drawn:" not in written((Prose(text="Nothing.", remark=False),))
    scale = dataclasses.replace(SCALE, margin=0.0)
    assert not tracks(draw_interval(wide, scale), "band")


def test_an_overall_boost_without_interval_is_hollow() -> None:
    """A small filled diamond would look like a narrow interval; the same boost with one is filled."""
    aggregate = make_analysis().overall.these_shapes
    scale = analysis_scale(make_analysis())
    lone = dataclasses.replace(aggregate, boost_low=NAN, boost_high=NAN)
    assert tracks(draw_interval(overall_interval(lone), scale), "hollow")
    known = draw_interval(overall_interval(aggregate), scale)
    (diamond,) = (stroke for stroke in known.strokes if stroke.kind == "marker")
    ends = [diamond.x + float(x) for x in re.findall(r"(\S+),0 ", diamond.track)]
    bounds = [position(end, scale) for end in (aggregate.boost_low, aggregate.boost_high)]
    assert ends == [pytest.approx(bound, abs=0.051) for bound in bounds]


def test_interval_is_drawn_where_it_is() -> None:
    """The ends of both lines and the marker are at the places of the numbers on the scale."""
    drawing = drawn(-0.1, 0.2, 0.6, wide_low=-0.2, wide_high=0.9)
    for kind, limits in (("line", (-0.1, 0.6)), ("thin", (-0.2, 0.9))):
        (track,) = tracks(drawing, kind)
        match = re.match(r"M([\d.]+) [\d.]+H([\d.]+)", track)
        assert match is not None
        assert [float(end) for end in match.groups()] == [
            pytest.approx(position(limit, SCALE), abs=0.051) for limit in limits
        ]
    assert drawing.strokes[-1].x == position(0.2, SCALE)
    assert tracks(drawing, "zero")[0].startswith(f"M{position(0, SCALE):.1f} ")
    assert not tracks(drawing, "arrow")


@pytest.mark.parametrize(
    ("bounds", "arrows", "markers"),
    [
        ((-0.9, 0.2, 0.6), 1, 1),
        ((-0.9, 0.2, 9.0), 2, 1),
        ((2.0, 3.0, 4.0), 1, 0),
        ((NAN, 0.2, NAN), 0, 1),
        ((NAN, 7.0, NAN), 1, 0),
        ((NAN, NAN, NAN), 0, 0),
    ],
)
def test_what_leaves_the_scale_has_arrows(
    bounds: tuple[float, float, float], arrows: int, markers: int
) -> None:
    """An interval that goes on has an arrow at that end; a boost beyond it has no marker."""
    drawing = drawn(*bounds)
    assert len(tracks(drawing, "arrow")) == arrows
    assert len(tracks(drawing, "marker")) == markers
    ends = re.findall(r"[MH](-?[\d.]+)", " ".join(tracks(drawing, "line") + tracks(drawing, "band")))
    assert all(
        0 <= x <= drawing.width for x in (*map(float, ends), *(stroke.x for stroke in drawing.strokes))
    )


def test_the_axis_has_round_numbers_within_the_drawing() -> None:
    """Zero is on it, and no number is cut by the edge."""
    axis = draw_axis(SCALE)
    assert "0" in [words.text for words in axis.words]
    assert all(4 < float(words.x) < axis.width - 4 for words in axis.words)
    assert axis.label == "scale from -50 to +100 percent"


def test_labels_break_behind_their_joints() -> None:
    """A narrow column breaks a label between fields, and not within a word or a number."""
    assert html.breakable("layer_norm[batch=8,dim=4/2], <all>") == (
        "layer_<wbr>norm[batch=8,<wbr>dim=4/<wbr>2], &lt;all&gt;"
    )
