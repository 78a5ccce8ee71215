"""Words and numbers as people write them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abtune.errors import InputError
from abtune.text import (
    boost_decimals,
    bound_percent,
    one_line,
    p_value,
    percent,
    percent_cell,
    plain_percent,
    spread_percent,
    to_fraction,
)


@pytest.mark.parametrize(
    ("text", "fraction"), [("95", 0.95), ("99.9", 0.999), ("2%", 0.02), (" 5 ", 0.05), ("0.1", 0.001)]
)
def test_percentages_become_the_nearest_fraction(text: str, fraction: float) -> None:
    """The division by a hundred is decimal, so 99.9 % is the number 0.999."""
    assert to_fraction(text) == fraction


@given(thousandths=st.integers(1, 99_999))
def test_settings_are_shown_as_they_were_typed(thousandths: int) -> None:
    """Turning a percentage into a fraction and back gives what was typed."""
    typed = f"{thousandths / 1000:.6g}"
    assert plain_percent(to_fraction(typed)) == f"{typed}%"


@pytest.mark.parametrize(
    "text", ["", "abc", "nan", "inf", "1e999999999", "9 5", "%", "9_5", "\uff19\uff15", "\u0669"]
)
def test_what_is_no_number_is_refused(text: str) -> None:
    """Words, infinities and nothing at all are not percentages."""
    with pytest.raises(InputError):
        to_fraction(text)


@given(p=st.floats(0, 1))
def test_p_never_prints_as_zero(p: float) -> None:
    """However small a p-value is, it is not printed as 0."""
    text = p_value(p)
    assert text == "<0.0001" if p < 0.0001 else float(text) == pytest.approx(p, rel=0.051)
    assert text not in {"0", "0.0000"}


@pytest.mark.parametrize(
    ("fraction", "text"),
    [(0.0614, "+6.1"), (-0.0614, "-6.1"), (0.0, "0.0"), (-0.0001, "0.0"), (0.0001, "0.0"), (math.nan, "-")],
)
def test_boosts_have_a_sign_unless_they_are_zero(fraction: float, text: str) -> None:
    """A gain has a plus, a loss a minus, and what rounds to zero has neither."""
    assert percent_cell(fraction, 1) == text


@pytest.mark.parametrize(
    ("spread", "text"),
    [
        (0.3123, "31"),
        (0.0431, "4.3"),
        (0.0071, "0.71"),
        (0.00012, "0.01"),
        (0.0, "0.00"),
        (1.2, "120"),
        (4e39, ">1000"),
    ],
)
def test_noise_has_two_digits(spread: float, text: str) -> None:
    """A standard deviation from a few seeds is not worth more than two digits."""
    assert spread_percent(spread) == text


@pytest.mark.parametrize(
    ("widths", "decimals"), [([], 2), ([math.nan], 2), ([0.05, 0.002, 0.04], 1), ([0.005], 2), ([0.0004], 3)]
)
def test_decimals_follow_the_intervals(widths: list[float], decimals: int) -> None:
    """Wide intervals make decimals pointless; narrow ones, and none at all, keep them."""
    assert boost_decimals(widths) == decimals


@pytest.mark.parametrize(
    ("fraction", "plain", "signed"),
    [
        (0.02, "2%", "+2%"),
        (0.1234, "12%", "+12%"),
        (1.5, "150%", "+150%"),
        (-0.25, "-25%", "-25%"),
        (-0.997, "-100%", "-100%"),
        (269.0, "26900%", "+26900%"),
    ],
)
def test_percentages_are_written_out(fraction: float, plain: str, signed: str) -> None:
    """Two significant digits or all before the point, never a power of ten, on either side of zero."""
    assert percent(fraction) == plain
    assert percent(fraction, signed=True) == signed


def test_absurd_percentages_are_short() -> None:
    """Times of 1e308 s are read, and their ratios do not fill a line with digits."""
    assert (percent(1e299), percent_cell(-1e299, 1), bound_percent(1e299)) == (
        "1e+301%",
        "-1e+301",
        "+1e+07%",
    )
    assert (percent(9e4), percent_cell(9e4, 1), bound_percent(9e4)) == (
        "9000000%",
        "+9000000.0",
        "+8999999.9%",
    )


def test_a_message_is_one_line_of_bounded_length() -> None:
    """Escape sequences, line breaks and endless words never reach a terminal; beginning and end stay."""
    assert one_line("a\n  b\x1b[2J\u202e") == "a b?[2J?"
    assert one_line("x" * 400) == "x" * 400
    assert one_line(f"no {'x' * 9000}; do that") == f"no {'x' * 80}...{'x' * 39}; do that"
    words = one_line(f"first {'x ' * 9000} last")
    assert (len(words) < 2000, words[:5], words[-4:]) == (True, "first", "last")


def test_a_bound_is_never_below_what_there_can_be() -> None:
    """Rounding down ends at a loss of everything."""
    assert bound_percent(-1.0) == bound_percent(-0.99999) == "-100.0%"
