"""What many shapes with one log ratio each say together.

Values from R 4.2.2 and this script::

x <- c(0.061, 0.039, -0.012, 0.121, 0.094, 0.2, -0.031, 0.35, 0.011, 0.077)
b <- binom.test(8, 10); c(b$p.value, b$conf.int)
t <- t.test(x); c(t$p.value, t$conf.int)
sd(x) * sqrt(9 / qchisq(.05, 9)) / sqrt(2)
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from single_run_tables import shapes_covered

from abtune.stats.across_shapes import Estimate, noise_bound, sign, student

X = np.array([0.061, 0.039, -0.012, 0.121, 0.094, 0.2, -0.031, 0.35, 0.011, 0.077])
RATIOS = st.lists(st.floats(-0.5, 0.5).map(lambda ratio: round(ratio, 6)), min_size=1, max_size=30)


def numbers(estimate: Estimate) -> list[float]:
    return [estimate.value, estimate.low, estimate.high, estimate.p]


def test_agrees_with_r() -> None:
    """t.test and binom.test give the same estimates, intervals and p-values."""
    assert numbers(student(X, level=0.95)) == pytest.approx(
        [0.091, 0.00993884225171, 0.17206115774829, 0.03173584908478], rel=1e-9
    )
    assert numbers(sign(X, level=0.95)) == pytest.approx(
        [0.8, 0.443904537692, 0.974789273673, 0.109375], rel=1e-9
    )
    assert noise_bound(X, level=0.95)[2] == pytest.approx(0.13182357665, rel=1e-9)


@pytest.mark.parametrize("unit", [1.0, 1e3, 1e-9])
@pytest.mark.parametrize("inverse", [False, True])
def test_ratios_that_are_equal_but_for_rounding_tie(unit: float, inverse: bool) -> None:  # noqa: FBT001
    """Seven ratios of 1.1, one of 1/1.1 and one of 1 are 7 of 8, in any unit, as times and as throughputs."""
    base = unit * np.array([1.0, 3.0, 7.0, 0.1, 12.3, 0.7, 9.9, 5.5, 2.3])
    other = base * 1.1 ** np.array([1, 1, 1, 1, 1, 1, 1, -1, 0])
    pair = (1e9 / other, 1e9 / base) if inverse else (base, other)
    values = np.log(pair[1]) - np.log(pair[0])
    assert len(np.unique(np.abs(values))) > 2
    assert sign(values, level=0.95).value == 7 / 8


@given(RATIOS)
def test_swapped_sides_negate(ratios: list[float]) -> None:
    """With the sides swapped, estimates and intervals of the boost change their sign, p stays."""
    values = np.array(ratios)
    one, two = numbers(student(values, level=0.95)), numbers(student(-values, level=0.95))
    np.testing.assert_allclose(one[:3], [-two[0], -two[2], -two[1]], atol=1e-12)
    np.testing.assert_allclose(one[3], two[3], rtol=1e-9)
    one, two = numbers(sign(values, level=0.95)), numbers(sign(-values, level=0.95))
    np.testing.assert_allclose(one[:3], [1 - two[0], 1 - two[2], 1 - two[1]], atol=1e-12)
    one, two = repr(noise_bound(values, level=0.95)), repr(noise_bound(-values, level=0.95))
    assert one == two  # NaN is not equal to itself


@pytest.mark.parametrize("values", [[0.1], [0.1, 0.1, 0.1], [0.0, 0.0]])
def test_no_spread_gives_no_interval(values: list[float]) -> None:
    """One shape, or equal ratios, have a mean and nothing that says how well it is known."""
    estimate = student(values, level=0.95)
    assert estimate.value == pytest.approx(values[0])
    assert np.isnan([estimate.low, estimate.high, estimate.p]).all()
    assert math.isnan(noise_bound(values, level=0.95)[2])


def test_without_shapes_there_is_nothing() -> None:
    """No estimate, interval or p."""
    for estimate in (student, sign):
        assert np.isnan(numbers(estimate([], level=0.95))).all()


def test_equal_times_are_left_out_of_signs() -> None:
    """A ratio of exactly one counts neither way; nothing but such ratios has no share."""
    assert sign([0.1, 0.2, 0.0, -0.1], level=0.95).value == pytest.approx(2 / 3)
    assert math.isnan(sign([0.0, 0.0], level=0.95).p)


def test_coverage_is_what_the_notes_say() -> None:
    """The t interval covers with normal boosts, and little less with exponential ones."""
    normal, exponential = (shapes_covered(kind, 0.1, replications=600) for kind in ("normal", "exponential"))
    assert normal.student == pytest.approx(0.947, abs=0.03)
    assert exponential.student == pytest.approx(0.936, abs=0.03)
    assert normal.these >= 0.99
