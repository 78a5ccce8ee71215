"""Drawings made of characters: every value has its place."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abtune.report.drawing import draw_dots, span
from abtune.report.page import Dots, Strip

VALUES = st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=30)


def dots(*samples: list[float]) -> Dots:
    strips = tuple(
        Strip(name=f"side{at}", values=tuple(values), marked=sum(values) / len(values), mark="mean")
        for at, values in enumerate(samples)
    )
    return Dots(strips=strips, low="low", high="high")


@given(one=VALUES, two=VALUES, width=st.integers(30, 120))
def test_every_value_is_drawn_and_fits(one: list[float], two: list[float], width: int) -> None:
    """A strip shows as many values as there are, in ASCII, within the width."""
    lines = draw_dots(dots(one, two), width)
    assert len(lines) == 5
    assert all(line.isascii() and len(line) <= width for line in lines)
    for values, line in ((one, lines[1]), (two, lines[3])):
        drawn = line[len("side0") :].replace(" ", "")
        if "#" not in drawn:
            assert sum(1 if cell == "o" else int(cell) for cell in drawn) == len(values)


def test_a_strip_looks_so() -> None:
    """Single values are o, several in one place a digit, and the mark points from below."""
    found = draw_dots(dots([0.0, 10.0, 10.0], [5.0]), 7 + 11)
    assert found == [
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
        ((-0.5, 0.0, 0.5), "  [--o--]  "),
        ((0.2, 0.4, 0.6), "     |[o]  "),
        ((-2.0, 0.5, 2.0), "<----|--o->"),
        ((math.nan, 0.5, math.nan), "     |  o  "),
        ((math.nan, math.nan, math.nan), "     |     "),
        ((2.0, 3.0, 4.0), "     |    >"),
    ],
)
def test_spans(interval: tuple[float, float, float], drawn: str) -> None:
    """Brackets are ends, arrows go on beyond, o is the middle and the bar zero."""
    assert span(*interval, (-1.0, 1.0), 11) == drawn


@given(low=st.floats(-2, 2), width=st.floats(0, 2), share=st.floats(0, 1), cells=st.integers(5, 50))
def test_spans_keep_their_width(low: float, width: float, share: float, cells: int) -> None:
    """Whatever the interval, the drawing is as wide as it was told."""
    found = span(low, low + share * width, low + width, (-1.0, 1.0), cells)
    assert len(found) == cells
    assert set(found) <= set(" []<>-|o")
