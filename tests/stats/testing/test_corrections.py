"""Corrections over many shapes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from abtune.stats.testing.difference_tests import CORRECTIONS
from abtune.stats.testing.step_procedures import benjamini_hochberg, holm

P_VALUES = st.lists(st.floats(1e-12, 1), min_size=1, max_size=40)


@settings(max_examples=20)  # a call of statsmodels takes 50 ms, because it collects garbage
@given(P_VALUES)
def test_holm_agrees_with_statsmodels(p: list[float]) -> None:
    """Adjusted p-values agree with statsmodels, to rounding."""
    np.testing.assert_allclose(holm(p), multipletests(p, method="holm")[1], rtol=1e-12)


@given(P_VALUES)
def test_holm_is_what_its_paper_says(p: list[float]) -> None:
    """The i-th smallest of m is the largest of min(1, (m - j + 1) p_(j)) over j up to i."""
    ordered, largest, expected = sorted(p), 0.0, []
    for j, value in enumerate(ordered):
        largest = max(largest, min(1.0, (len(p) - j) * value))
        expected.append(largest)
    np.testing.assert_allclose(np.sort(holm(p)), expected, rtol=1e-12)


@given(P_VALUES, st.randoms(use_true_random=False))
def test_holm_is_monotone_and_knows_no_order(p: list[float], random) -> None:
    """Adjusting never lowers a p-value, keeps their ranking, and follows a shuffle."""
    adjusted = holm(p)
    assert (adjusted >= np.asarray(p)).all()
    assert (np.diff(adjusted[np.argsort(p)]) >= 0).all()
    order = random.sample(range(len(p)), len(p))
    assert np.array_equal(holm(np.asarray(p)[order]), adjusted[order])


def test_what_was_not_tested_does_not_count() -> None:
    """NaN stay NaN and leave the size of the family alone."""
    adjusted = holm([0.01, np.nan, 0.04])
    assert adjusted[[0, 2]] == pytest.approx([0.02, 0.04])
    assert np.isnan(adjusted[1])
    assert np.isnan(holm([np.nan])).all()
    assert holm([]).size == 0


@given(P_VALUES)
def test_benjamini_hochberg_agrees_with_statsmodels(p: list[float]) -> None:
    """Adjusted p-values agree with statsmodels, and lie between p and Holm's."""
    adjusted = benjamini_hochberg(p)
    np.testing.assert_allclose(adjusted, multipletests(p, method="fdr_bh")[1], rtol=1e-12)
    assert (adjusted >= np.asarray(p) * (1 - 1e-12)).all()
    assert (adjusted <= holm(p) * (1 + 1e-12)).all()


def test_corrections_by_name() -> None:
    """NaN are no tests for any of them; what accompanies max-T is Holm's."""
    p = np.array([0.01, np.nan, 0.04])
    assert CORRECTIONS["bh"].adjust(p)[[0, 2]] == pytest.approx([0.02, 0.04])
    assert np.isnan(CORRECTIONS["bh"].adjust(p)[1])
    assert np.array_equal(CORRECTIONS["none"].adjust(p), p, equal_nan=True)
    assert np.array_equal(CORRECTIONS["max-t"].adjust(p), holm(p), equal_nan=True)


@pytest.mark.parametrize(
    ("name", "resolution", "planning_level"),
    [("holm", 0.01, 0.01), ("max-t", 0.05, 0.01), ("bh", 0.01, 0.01), ("none", 0.05, 0.05)],
)
def test_levels_over_five_shapes(name: str, resolution: float, planning_level: float) -> None:
    """What the smallest p must reach, and the level to plan with, at a family-wise level of 5 %."""
    correction = CORRECTIONS[name]
    assert correction.resolution(0.05, 5) == pytest.approx(resolution)
    assert correction.planning_level(0.05, 5) == pytest.approx(planning_level)


def test_holm_passes_at_its_resolution_and_not_above() -> None:
    """A lone p-value at alpha over the shapes is significant; one just above is not."""
    for name in ("holm", "bh"):
        correction, p = CORRECTIONS[name], np.ones(7)
        for factor, passes in ((1.0, True), (1.001, False)):
            p[3] = factor * correction.resolution(0.05, 7)
            assert (correction.adjust(p)[3] <= 0.05 * (1 + 1e-12)) == passes
