"""Drawings made of characters: every value has its place."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_builders import NAN

from abtune.report.formats.characters import axis_text, draw_dots, draw_interval, legend
from abtune.report.page import Dots, Drawn, Strip
from abtune.report.scale import Interval, Scale

VALUES = st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=30)
SCALE = Scale(low=-1.0, high=1.0, margin=0.02)


def dots(*samples: list[float]) -> Dots:
    strips = tuple(
        Strip(name=f"side{number}", values=tuple(values), marked=sum(values) / len(values), mark="mean")
        for number, values in enumerate(samples)
    )
    return Dots(strips=strips, low="low", high="high")


@given(one=VALUES, two=VALUES, width=st.integers(30, 120))
def test_every_value_is_drawn_and_fits(one: list[float], two: list[float], width: int) -> None:
    """A strip shows as many values as there are, in ASCII, within the width."""
    lines = draw_dots(dots(one, two), width)
    assert " ".join(lines[5:]).startswith("Drawing: o is a seed, 2 two, ")
    assert all(line.isascii() and len(line) <= width for line in lines)
    for values, line in ((one, lines[1]), (two, lines[3])):
        drawn = line[len("side0") :].replace(" ", "")
        if "#" not in drawn:
            assert sum(1 if cell == "o" else int(cell) for cell in drawn) == len(values)


def test_a_strip_looks_so() -> None:
    """Single values are o, several in one place a digit, and the mark points from below."""
    lines = draw_dots(dots([0.0, 10.0, 10.0], [5.0]), 7 + 11)[:5]
    assert lines == [
        "       low    high",
        "side0  o         2",
        "         mean ^",
        "side1       o",
        "            ^ mean",
    ]


def test_values_that_are_all_alike_are_in_the_middle() -> None:
    """Without any spread there is one place, and nothing divides by zero."""
    assert "3" in draw_dots(dots([1.0, 1.0, 1.0]), 40)[1]


@pytest.mark.parametrize(
    ("interval", "drawn"),
    [
        ((-0.5, 0.0, 0.5), "  [==o==]  "),
        ((0.2, 0.4, 0.6), "     |[o]  "),
        ((-2.0, 0.5, 2.0), "<====|==o=>"),
        ((NAN, 0.5, NAN), "     |  o  "),
        ((NAN, NAN, NAN), "     |     "),
        ((2.0, 3.0, 4.0), "     |    >"),
    ],
)
def test_intervals_are_drawn(interval: tuple[float, float, float], drawn: str) -> None:
    """Brackets are limits, arrows go on beyond, o is the boost and the bar zero."""
    low, value, high = interval
    assert draw_interval(Interval(low=low, value=value, high=high), SCALE, 11, ascii_only=True) == drawn


def test_the_wider_interval_is_a_thin_line_behind() -> None:
    """It reaches out of the other on both sides, with an arrow where it goes on beyond the edge."""
    interval = Interval(low=-0.2, value=0.2, high=0.4, wide_low=-0.6, wide_high=3.0)
    assert draw_interval(interval, SCALE, 11, ascii_only=True) == "  --[|o]-->"
    assert draw_interval(interval, SCALE, 11, ascii_only=False) == "  ──╞│●╡──>"


@given(low=st.floats(-2, 2), width=st.floats(0, 2), share=st.floats(0, 1), cells=st.integers(5, 50))
def test_drawings_keep_their_width(low: float, width: float, share: float, cells: int) -> None:
    """Whatever the interval, the drawing is as wide as it was told."""
    wide = {"wide_low": low - 0.1, "wide_high": low + width + 0.1}
    interval = Interval(low=low, value=low + share * width, high=low + width, **wide)
    drawing = draw_interval(interval, SCALE, cells, ascii_only=True)
    assert len(drawing) == cells
    assert set(drawing) <= set(" []<>-=|o")
    other = draw_interval(interval, SCALE, cells, ascii_only=False)
    assert [character == " " for character in other] == [character == " " for character in drawing]


def test_the_axis_has_both_ends() -> None:
    """The heading of drawings says from where to where they go, also where that takes more room."""
    assert axis_text(dataclasses.replace(SCALE, low=-0.25), 15) == "-25%      +100%"
    assert axis_text(SCALE, 5) == "-100% +100%"


def test_the_legend_names_what_is_drawn() -> None:
    """Every character is explained, and the thin line only where there is one."""
    row = Interval(low=-0.1, value=0.0, high=0.1)
    plain = Drawn(intervals=(row,), scale=SCALE, gives_way=1)
    wider = dataclasses.replace(row, wide_low=-0.2, wide_high=0.2)
    both = dataclasses.replace(plain, intervals=(row, wider))
    assert all(f" {mark} " in legend(plain, ascii_only=True) for mark in ("o", "[=]", "|", "<", ">"))
    assert "thin" not in legend(plain, ascii_only=True)
    assert "thin line ─ is" in legend(both, ascii_only=False)
