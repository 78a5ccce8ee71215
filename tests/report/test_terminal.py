"""The report for a terminal: readable at any width, plain where it must be, and never short of a digit."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from golden_files import assert_golden
from report_builders import (
    NAN,
    fields_in,
    make_analysis,
    make_comparison,
    make_side,
    printed,
    typical_analysis,
)
from running import Terminal

import abtune
from abtune.compare.results import Analysis, Verdict
from abtune.report.formats import terminal
from abtune.report.formats.terminal_table import mark
from abtune.report.page import Grid, column
from abtune.report.summary import View, analysis_report, analysis_section
from abtune.sections.same_schedule.same_schedule_page import same_schedule_page

ANSI = re.compile(r"\x1b\[[0-9;]*m")


class Ascii(io.StringIO):
    """A stream that can take ASCII only."""

    encoding = "ascii"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


def render(analysis: Analysis, width: int, *, why: bool = False) -> str:
    return printed(analysis_section(analysis, View(why=why)).page, width)


def text_for(stream: io.StringIO) -> str:
    return terminal.render(analysis_report(typical_analysis()), stream)


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_layout(width: int) -> None:
    """The report is laid out as its golden file shows."""
    assert_golden(f"report-{width}.txt", render(typical_analysis(), width))


def test_long_names_above_boosts_break_where_the_table_has_no_room() -> None:
    """A history of two nights with long names fits into 60 characters, and into 120 without a break."""
    names = ("nightly-2026-11-20-h100-winners", "nightly-2026-11-21-h100-winners")
    table = Grid(
        stub="shape",
        labels=("M=512_N=256_K=640",),
        columns=(*(column(name, ["+10.6"]) for name in names), column("change %", ["-0.1"])),
    )
    narrow, wide = printed((table,), 60).splitlines(), printed((table,), 120).splitlines()
    assert max(map(len, narrow)) <= 60
    assert all(piece in " ".join(narrow) for piece in ("nightly-", "2026-11-", "20-h100-", "winners"))
    assert all(name in wide[0] for name in names)


def test_many_shapes_left_out_are_counted() -> None:
    """Boosts over shapes name the few that they leave out, and an example of many."""
    for few, said in ((3, "leave out a, b and c."), (13, "leave out 13 shapes, such as a.")):
        latency = np.ones((few + 2, 2, 2, 1, 1))
        latency[:few, 1] = NAN
        dataset = abtune.make_dataset(
            latency, shapes=list("abcdefghijklmnopq")[: few + 2], configs=["old", "new"]
        )
        assert said in " ".join(render(abtune.analyze(dataset), 100).split())


def test_thousands_of_shapes_have_a_comma() -> None:
    """Counts of shapes are written alike in the sentence, the tally and the table."""
    latency = np.random.default_rng(1).lognormal(0.0, 0.01, (1000, 2, 4)) / [[1.0], [1.5]]
    dataset = abtune.make_dataset(latency, shapes=[f"s{i}" for i in range(1000)], configs=["old", "new"])
    text = " ".join(render(abtune.analyze(dataset), 100).split())
    for said in ("All 1,000 are", "all 1,000 lose", " 1,000 not slower ", "1,000 of 1,000"):
        assert said in text
    assert "1000" not in text


@pytest.mark.parametrize("width", range(50, 160, 5))
def test_no_line_is_too_long_and_no_number_is_broken(width: int) -> None:
    """At every width the lines fit, and every boost and verdict stands whole in a line."""
    text = render(typical_analysis(), width)
    assert max(map(len, text.splitlines())) <= width
    for whole in (" +11.1", " -6.9", " +3.1", "improved", "regressed", "inconclusive", "+7.72 to +16.13"):
        assert whole in text
    assert "…" not in text


@pytest.mark.parametrize("width", [60, 100])
def test_every_part_of_every_label_is_there(width: int) -> None:
    """Labels are broken between their parts, and what all share is in the heading; nothing is lost."""
    analysis = typical_analysis()
    words = set(fields_in(render(analysis, width)))
    assert words == {field for row in analysis.comparisons for field in row.shape.split("_")}


def test_rows_take_two_lines_at_60_columns() -> None:
    """A convolution takes two lines, a matrix product one, whatever the order."""
    analysis = abtune.analyze(abtune.open_dataset("h200-tvm14009"))
    for rows in (None, tuple(range(28, -1, -1))):
        text = printed(analysis_section(analysis, View(rows=rows)).page, 60)
        assert len(re.findall("^H=W=", text, re.M)) == len(re.findall("^R=S=", text, re.M)) == 17
        assert len(re.findall(r"^M=\d+_N=\d+_K=\d+ .* to ", text, re.M)) == 12


def test_words_break_where_labels_need_the_room() -> None:
    """A reading of several words gets no wider than its lines need, so that labels stay whole."""
    result = abtune.describe(abtune.analyze(abtune.open_dataset("h200-deep")), "same_schedule")
    text = printed(tuple(same_schedule_page(result)), 60)
    assert len(re.findall(r"^M=\d+_N=\d+_K=\d+ +depends on ", text, re.M)) == 3


def test_convolutions_take_one_line_at_100_columns() -> None:
    """Each row has its label, boost, interval, drawing and verdict; without colours, too."""
    text = render(abtune.analyze(abtune.open_dataset("h200-tvm14009")), 100)
    rows = [line for line in text.splitlines() if line.startswith("H=W=")]
    assert len(rows) == 17
    assert all("●" in row and " to " in row for row in rows)
    assert all(re.search(r"STR=\d PAD=\d ", row) for row in rows)


def test_columns_go_in_order_of_importance() -> None:
    """With less room the failures go first and the interval last; what went is said."""
    widths: dict[str, int] = {}
    for width in range(50, 170):
        text = render(typical_analysis(), width).partition("gemm_nn")[2]
        words = " ".join(text.split()).partition("No room at this width for: ")[2].partition(". Other")[0]
        for name in words.split(", "):
            widths[name] = width
    assert sorted(filter(None, widths), key=lambda name: -widths[name]) == [
        *("failed", "noise %", "at least %", "p", "seeds", "adj. p", "drawing", "95% interval"),
    ]


def test_a_terminal_gets_colours_and_others_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal gets colours, NO_COLOR takes them away, and a pipe gets neither colours nor styles."""
    monkeypatch.setenv("COLUMNS", "100")
    coloured = text_for(Terminal())
    assert "\x1b[1;32mimproved" in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search(r"\x1b\[[0-9;]*3[1-6]m", text_for(Terminal()))
    assert "\x1b" not in text_for(io.StringIO())


def test_colours_change_nothing_but_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """The words of a coloured report are those of a plain one."""
    monkeypatch.setenv("COLUMNS", "100")
    coloured = ANSI.sub("", text_for(Terminal()))
    plain = text_for(io.StringIO())
    assert [line.rstrip() for line in coloured.splitlines()] == plain.splitlines()


def test_a_pipe_gets_whole_labels_and_every_column() -> None:
    """What is not a terminal gets every label in one piece and every column, whatever the width."""
    text = text_for(io.StringIO())
    for comparison in typical_analysis().comparisons:
        assert comparison.shape in text
    assert "noise" in text
    assert "No room" not in text


def test_ascii_where_there_is_nothing_else() -> None:
    """A stream that takes ASCII only gets marks in brackets and dashes for bullets."""
    text = text_for(Ascii())
    assert text.isascii()
    assert "inconclusive [2,3]" in text
    assert re.search(r"-\[=+o=+\]-", text)
    assert "\n[4] All runs of async failed." in text


def test_escapes_keep_their_columns() -> None:
    """Of a label that the stream cannot encode, the escape is what the column is as wide as."""
    page = analysis_report(make_analysis(make_comparison("größe"), make_comparison("size")))
    rows = [line for line in terminal.render(page, Ascii()).splitlines() if line.endswith("10+10")]
    assert rows[0].startswith(r"gr\xf6\xdfe")
    assert len({row.index(" to ") for row in rows}) == 1


def test_marks_are_short() -> None:
    """Footnote marks are superscripts, or numbers in brackets."""
    assert mark([1, 12], ascii_only=False) == "¹ ¹²"
    assert mark([1, 12], ascii_only=True) == " [1,12]"
    assert mark([], ascii_only=True) == ""


def test_columns_that_say_nothing_are_left_out() -> None:
    """One run a cell has no interval, no p and no noise, so there are no such columns."""
    nothing = dict.fromkeys(("boost_low", "boost_high", "p", "p_adjusted", "boost_at_least"), NAN)
    side = make_side(n=1, noise=NAN)
    row = make_comparison(verdict=Verdict.INVALID, baseline=side, candidate=side, **nothing)
    heading = next(line for line in render(make_analysis(row), 100).splitlines() if "verdict" in line)
    assert heading.split() == ["shape", "verdict", "boost", "%", "-3%", "+26%", "seeds"]


@pytest.mark.parametrize("width", [60, 100])
def test_reasons_on_request(width: int) -> None:
    """With reasons, every shape has its verdict and why, and nothing points to them any more."""
    analysis = typical_analysis()
    with_reasons, without = (render(analysis, width, why=why) for why in (True, False))
    assert "--why" in without
    assert "--why" not in with_reasons
    reasons = " ".join(with_reasons.partition("\nWhy, shape by shape\n")[2].split())
    for row in analysis.comparisons:
        assert row.verdict.words in reasons
        assert set(row.reason.split()) <= set(reasons.split())


def test_names_cannot_play_tricks() -> None:
    """Names with markup, escape sequences and line breaks are shown as text and keep to their line."""
    row = make_comparison("[bold]x\x1b[31m\ny[/bold]", workload="[red]w")
    text = render(make_analysis(row, candidate="[blink]c"), 100)
    assert "[bold]x?[31m?y[/bold]" in text
    assert "[red]w" in text
    assert "[blink]c against mainline" in text


def test_a_label_without_parts_is_folded() -> None:
    """A long label without parts to break between is folded, and nothing of it is lost."""
    label = "a" * 150
    text = render(make_analysis(make_comparison(label)), 60)
    assert sum(line.count("a" * 10) for line in text.splitlines()) >= 5
    assert max(map(len, text.splitlines())) <= 60


def test_a_notebook_gets_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a notebook rich would display what it prints; the report is returned as everywhere."""
    usual = typical_analysis().report()
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    assert typical_analysis().report() == usual


def test_nothing_is_drawn_where_nothing_is_known() -> None:
    """If all runs of the candidate failed, there is no boost over `0 shapes` and no empty drawing."""
    times = np.full((2, 2, 5), 1e-3)
    times[:, 1] = NAN
    dataset = abtune.make_dataset(times, shapes=["a", "b"], configs=["mainline", "async"])
    text = render(abtune.analyze(dataset), 100)
    assert "There is no timing of async." in text
    assert not re.search("0 shapes|Drawing|[│●]", text)


def test_the_slowest_shape_is_named_as_such() -> None:
    """A shape that is shown slower is not the least certain one."""
    text = render(typical_analysis(), 140)
    assert "No shape is slower by more than 12.1%. The largest loss is possible in" in text
