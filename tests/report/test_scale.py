"""The scale of drawings: wide enough for most intervals, not ruined by a few."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_builders import NAN, make_analysis, make_comparison

from abtune.compare.settings import margin_ends
from abtune.report.columns import analysis_scale
from abtune.report.scale import (
    Interval,
    Scale,
    choose_scale,
    clipped,
    goes_on,
    ticks,
)

BOOSTS = st.floats(-0.99, 50) | st.just(NAN)


def rows(*bounds: tuple[float, float, float]) -> list[Interval]:
    return [Interval(low=low, value=value, high=high) for low, value, high in bounds]


def scale_of(*bounds: tuple[float, float, float], margin: float = 0.02) -> Scale:
    return choose_scale(rows(*bounds), margin=margin)


def test_ordinary_intervals_are_drawn_whole() -> None:
    """Intervals of like width all lie on the scale, with zero and the margin."""
    scale = scale_of((-0.3, 0.1, 0.6), (0.05, 0.1, 0.2))
    assert scale.low < -0.3
    assert scale.high > 0.6


def test_one_wild_interval_does_not_rule() -> None:
    """Where one of many intervals is far wider than the others, it is clipped."""
    many = [(0.0, 0.05, 0.1)] * 20
    scale = scale_of((-0.9, 0.1, 9.0), *many)
    assert scale.high < 1
    assert scale.low > -0.9


def test_a_large_boost_is_drawn_where_it_can_be() -> None:
    """A boost several times the others stays on the scale, its interval may leave it."""
    scale = scale_of((0.5, 0.6, 3.0), *[(0.0, 0.05, 0.1)] * 20)
    assert scale.holds(0.6)
    assert not scale.holds(3.0)


def test_no_numbers_give_a_scale_too() -> None:
    """Where nothing is known the scale holds zero and the margin."""
    assert choose_scale(rows((NAN, NAN, NAN)), margin=0.02, further=[NAN]).holds(0.0)
    nothing = choose_scale([], margin=0.0)
    assert nothing.low < 0 < nothing.high


def test_the_wider_interval_has_no_say() -> None:
    """It may go on beyond the scale, where it is clipped and has arrows."""
    wider = Interval(low=-0.1, value=0.1, high=0.2, wide_low=-0.9, wide_high=9.0)
    scale = choose_scale([wider], margin=0.02)
    assert scale == scale_of((-0.1, 0.1, 0.2))
    cut = clipped(wider, scale)
    assert (cut.wide_low, cut.wide_high) == (scale.low, scale.high)
    assert goes_on(wider, scale) == {"below": True, "above": True}


def test_the_scale_of_an_analysis_has_the_overall_boosts() -> None:
    """Shapes and overall boosts are drawn on one scale, and another dataset's boosts if they fit."""
    analysis = make_analysis(make_comparison(boost=0.01, boost_low=0.0, boost_high=0.02))
    scale = analysis_scale(analysis)
    assert scale.holds(analysis.overall.shapes_like_these.boost_high)
    assert scale.margin == 0.02
    assert analysis_scale(analysis, [0.6]).holds(0.6)
    assert not scale.holds(0.6)


@given(st.lists(st.tuples(BOOSTS, BOOSTS, BOOSTS), min_size=1, max_size=5), st.floats(0.001, 0.9))
def test_any_scale_is_sound(bounds: list[tuple[float, float, float]], margin: float) -> None:
    """Zero and the margin are on it, nothing is below -100 %, and what is cut lies on it."""
    scale = scale_of(*bounds, margin=margin)
    assert scale.holds(0)
    assert all(scale.holds(end) for end in margin_ends(margin))
    assert scale.low >= -1
    assert math.isfinite(scale.high)
    assert 0 in ticks(scale, 6)
    for row in rows(*bounds):
        cut = clipped(row, scale)
        assert all(math.isnan(end) or scale.holds(end) for end in (cut.low, cut.high, cut.value))
        assert goes_on(row, scale)["above"] or not row.high > scale.high


def test_the_margin_is_a_ratio() -> None:
    """Slower by the margin's ratio is as much as faster by it."""
    slow, fast = margin_ends(0.25)
    assert (slow, fast) == (pytest.approx(-0.2), 0.25)


@given(st.floats(-100, 100), st.floats(1e-6, 1e3), st.integers(5, 9))
def test_ticks_are_round_and_few(low: float, span: float, most: int) -> None:
    """There are at least two ticks and at most as many as asked for, on the scale."""
    marks = ticks(Scale(low=low, high=low + span, margin=0.0), most)
    assert 2 <= len(marks) <= most + 1
    assert all(low - 1e-9 <= number <= low + span + 1e-9 for number in marks)


def test_ticks_in_percent() -> None:
    """A scale of -20 to +60 % has ticks at whole tens."""
    assert ticks(Scale(low=-0.21, high=0.61, margin=0.02), 5) == (-0.2, 0.0, 0.2, 0.4, 0.6)
