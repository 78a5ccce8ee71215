"""The HTML report: well formed, complete, harmless, and with the numbers of the other formats."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from golden_files import assert_golden
from hypothesis import given, settings
from hypothesis import strategies as st
from report_builders import NAN, make_analysis, make_comparison, make_side, typical_analysis

from abtune.analyse.comparison import Analysis, Verdict
from abtune.report.html_page import html_page
from abtune.report.html_report import render_html
from abtune.report.machine import render_json
from abtune.report.numbers import percent
from abtune.report.page import (
    SHAPE,
    Bullets,
    Dots,
    Grid,
    Heading,
    Prose,
    Section,
    Strip,
    column,
    drawing,
)
from abtune.report.scale import choose_scale
from abtune.report.svg import OVERALL, draw_interval, draw_samples, place

EMPTY = {"meta", "wbr"}
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
        if self.open and self.open[-1] != "style":
            self.text.append(data)
        if {"td", "th"} & set(self.open):
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
    strip = Strip(name="main<line>", values=(1.0, 2.0, 2.0), marked=1.6, mark="1.6 us")
    grid = Grid(
        stub=SHAPE,
        labels=("M=1_N=2_K=3", "b<c"),
        columns=(
            column("side", ["a\nb", "c\nd"], right=False),
            column("number", ["1.5\n22.25", "-\n-"]),
            drawing("drawn", ["[--o |]\n<-o-->"] * 2, gives_way=1),
        ),
    )
    parts = (
        Heading(text="title & more", minor=False),
        Prose(text="Some words.", remark=True),
        Heading(text="less", minor=True),
        grid,
        Bullets(items=("One thing.", "Another <b>.")),
        Dots(strips=(strip,), low="1.0 us", high="2.0 us"),
    )
    return Section(name="noise", page=parts, result=None)


def test_report_looks_as_its_golden_file_shows() -> None:
    """The whole document of an analysis with every verdict, and of a page below it, is kept as a file."""
    text = render_html(typical_analysis(), [page()])
    assert_golden("report.html", text)
    assert text == render_html(typical_analysis(), [page()])


@pytest.mark.parametrize("analysis", [typical_analysis(), evil_analysis(), make_analysis(make_comparison())])
def test_document_is_well_formed_and_needs_nothing_else(analysis: Analysis) -> None:
    """Elements nest, identifiers are unique, links lead somewhere, and nothing is loaded or run."""
    text = render_html(analysis, [page()])
    assert text.startswith('<!DOCTYPE html>\n<html lang="en">\n')
    tree = parse(text)
    kinds = {tag for tag, _ in tree.starts}
    assert not kinds & {"script", "link", "img", "iframe", "object", "base"}
    every = [attributes for _, attributes in tree.starts]
    assert not {name for attributes in every for name in attributes} & {"src", "onclick", "onload", "style"}
    assert "url(" not in text
    assert "@import" not in text
    identifiers = [attributes["id"] for attributes in every if "id" in attributes]
    assert len(set(identifiers)) == len(identifiers)
    assert {link["href"] for link in tree.attributes("a")} <= {f"#{name}" for name in identifiers}


def test_tables_and_drawings_are_accessible() -> None:
    """Headings of tables say what they head, drawings say what they show, and levels are not skipped."""
    tree = parse(render_html(typical_analysis(), [page()]))
    assert {head["scope"] for head in tree.attributes("th")} == {"col", "row"}
    drawings = list(tree.attributes("svg"))
    assert all(drawn["role"] == "img" and drawn["aria-label"] for drawn in drawings)
    assert "boost +11.1 percent, 95% interval +6.2 to +16.0" in {drawn["aria-label"] for drawn in drawings}
    levels = [int(tag[1]) for tag, _ in tree.starts if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(two <= one + 1 for one, two in itertools.pairwise(levels))


def test_verdicts_are_told_apart_without_colour() -> None:
    """Each verdict stands there as a word, and no two of its drawings have the same marker."""
    text = render_html(typical_analysis())
    row = make_comparison()
    scale = choose_scale(make_analysis(row))
    drawn = {draw_interval(row, scale, 0.02, kind.value, "").replace(kind.value, "") for kind in Verdict}
    assert len(drawn) == len(Verdict)
    assert all(f"{verdict.value}</span>" in text for verdict in Verdict)


def test_numbers_are_those_of_json() -> None:
    """Boost, interval, p-values and verdict of each row are those of the JSON report, rounded for people."""
    analysis = typical_analysis()
    rows = {row[0]: row for row in parse(render_html(analysis)).rows}
    for record in json.loads(render_json(analysis))["comparisons"]:
        row = rows[record["shape"]]
        boost, low, high = (
            percent(NAN if record[name] is None else record[name], 1)
            for name in ("boost", "boost_low", "boost_high")
        )
        assert row[1:4] == [boost, f"{low} to {high}" if low != "-" else "-", ""]
        assert record["verdict"] in row[6]
        assert row[5] == ("-" if record["p_adjusted"] is None else f"{record['p_adjusted']:.4f}")
        assert row[8] == f"{record['n_baseline']}+{record['n_candidate']}"
    overall = rows["these 5 shapes"]
    assert overall[1:3] == ["+11.85", "+7.72 to +16.13"]


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
    assert "Left out" not in said
    assert "Left out" in "".join(parse(render_html(evil_analysis())).text)


def test_names_cannot_act_as_html() -> None:
    """Names with brackets, ampersands and quotes are shown as they are, wherever they stand."""
    text = render_html(evil_analysis())
    assert "<script" not in text
    tree = parse(text)
    assert "".join(tree.text).count(EVIL) >= 8
    assert [row[0] for row in tree.rows].count(EVIL) == 1


@settings(max_examples=30, deadline=None)
@given(st.text(min_size=1), st.text(), st.text())
def test_any_text_gives_a_document(shape: str, reason: str, config: str) -> None:
    """Whatever names and reasons hold, the document is well formed."""
    row = make_comparison(shape, reason=reason, caveats=(reason, config))
    parse(render_html(make_analysis(row, make_comparison("other"), baseline=config)))


@pytest.mark.parametrize("name", ["short", "long-name-" * 15, "基线配置" * 20])
def test_names_of_samples_leave_room_for_the_dots(name: str) -> None:
    """All dots are within the drawing, and lie in order, however long the names beside them are."""
    strip = Strip(name=name, values=(1.0, 2.0, 3.0), marked=2.0, mark="2 us")
    text = draw_samples(Dots(strips=(strip, strip), low="1", high="3"))
    drawn = ElementTree.fromstring(text)  # noqa: S314 - it was just written here
    width, height = (float(number) for number in drawn.attrib["viewBox"].split()[2:])
    dots = [(float(dot.attrib["cx"]), float(dot.attrib["cy"])) for dot in drawn.iter() if "cx" in dot.attrib]
    first, second = dots[:3], dots[3:]
    assert all(0 < x < width and 0 < y < height for x, y in dots)
    assert first == sorted(first)
    assert [x for x, _ in first] == [x for x, _ in second]
    assert first[-1][0] - first[0][0] > width / 3
    texts = [text for text in drawn.iter() if text.tag.endswith("text")]
    assert "".join(text.text or "" for text in texts).count(name) == 2
    assert all(float(text.attrib["y"]) < height for text in texts)


@pytest.mark.parametrize("text", ["see --noise", "(--noise-from)", "--why says it", "a <b> --ci"])
def test_options_are_kept_in_one_piece(text: str) -> None:
    """A browser breaks lines behind hyphens; the name of an option in a sentence is kept together."""
    options = re.findall(r"--[a-z-]+", text)
    written = html_page([Prose(text=text, remark=False), Bullets(items=(text,))], top=1)
    assert all(written.count(f'<span class="option">{option}</span>') == 2 for option in options)
    assert "".join(Tree(written).text).count(text) == 2


def test_rules_and_names_with_hyphens_are_no_options() -> None:
    """Dashes within names, or names far too long for a line, may be broken."""
    text = "a--b ---- --" + "x" * 100
    assert "span" not in html_page([Prose(text=text, remark=False)], top=1)


def test_long_names_in_tables_may_break_anywhere() -> None:
    """Names too long for a column are marked for the style sheet, others are as they were."""
    sides = column("side", ["short name", "y" * 30], right=False)
    grid = Grid(stub="configuration", labels=("x" * 30, "N=1_H=56_W=56_C=64_K=64"), columns=(sides,))
    written = html_page([grid], top=1)
    assert re.findall(r'<span class="long">(\w+)</span>', written) == ["x" * 30, "y" * 30]
    assert "long" not in html_page([dataclasses.replace(grid, stub=SHAPE, columns=())], top=1)
    style = render_html(None, [])
    assert re.search(r"tbody th code, \.long {[^}]*overflow-wrap: anywhere;", style)


def test_reasons_are_folded_unless_asked_for() -> None:
    """The reasons are behind a line to click on, and open with --why."""
    folded, unfolded = (render_html(typical_analysis(), why=why) for why in (False, True))
    assert list(parse(folded).attributes("details")) == [{}]
    assert list(parse(unfolded).attributes("details")) == [{"open": ""}]


def test_pages_stand_alone_too() -> None:
    """Without an analysis the first page has the title of the document, and labels span their lines."""
    text = render_html(None, [page(), page()])
    tree = parse(text)
    assert "<title>title &amp; more</title>" in text
    assert [tag for tag, _ in tree.starts if re.fullmatch(r"h\d", tag)] == ["h1", "h2", "h2", "h3"]
    assert ["M=1_N=2_K=3", "a", "1.5", "[--o |]"] in tree.rows
    assert ["b", "22.25", "<-o-->"] in tree.rows
    assert {"scope": "row", "rowspan": "2"} in tree.attributes("th")


def drawn(low: float, boost: float, high: float) -> ElementTree.Element:
    """Draw an interval on a scale from -50 to +100 %."""
    scale = dataclasses.replace(choose_scale(make_analysis()), low=-0.5, high=1.0)
    row = make_comparison(boost=boost, boost_low=low, boost_high=high)
    text = draw_interval(row, scale, 0.02, "inconclusive", "x")
    return ElementTree.fromstring(text)  # noqa: S314 (written here)


def test_an_overall_boost_without_interval_is_hollow() -> None:
    """A small filled diamond would look like a narrow interval; the same boost with one is filled."""
    aggregate = make_analysis().overall.these_shapes
    scale = choose_scale(make_analysis())
    lone = dataclasses.replace(aggregate, boost_low=NAN, boost_high=NAN)
    assert 'class="marker hollow"' in draw_interval(lone, scale, 0.02, OVERALL, "")
    assert 'class="marker"' in draw_interval(aggregate, scale, 0.02, OVERALL, "")


def test_interval_is_drawn_where_it_is() -> None:
    """The ends of the line and the marker are at the places of the numbers on the scale."""
    scale = dataclasses.replace(choose_scale(make_analysis()), low=-0.5, high=1.0)
    root = drawn(-0.1, 0.2, 0.6)
    line = next(part for part in root.iter("path") if part.get("class") == "line")
    track = re.match(r"M([\d.]+) [\d.]+H([\d.]+)", line.get("d", ""))
    assert track is not None
    assert [float(end) for end in track.groups()] == [
        pytest.approx(place(end, scale), abs=0.051) for end in (-0.1, 0.6)
    ]
    circle = next(root.iter("circle"))
    assert float(circle.get("cx", "")) == pytest.approx(place(0.2, scale), abs=0.051)
    zero = next(part for part in root.iter("path") if part.get("class") == "zero")
    assert zero.get("d", "").startswith(f"M{place(0, scale):.1f} ")
    assert not [part for part in root.iter("polygon") if part.get("class") == "arrow"]


@pytest.mark.parametrize(
    ("bounds", "arrows", "circles"),
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
    bounds: tuple[float, float, float], arrows: int, circles: int
) -> None:
    """An interval that goes on has an arrow at that end; a boost beyond it has no marker."""
    root = drawn(*bounds)
    assert len([part for part in root.iter("polygon") if part.get("class") == "arrow"]) == arrows
    assert len(list(root.iter("circle"))) == circles
    numbers = re.findall(r"-?\d+\.\d", ElementTree.tostring(root, encoding="unicode"))
    assert all(-1 <= float(number) <= 241 for number in numbers)
