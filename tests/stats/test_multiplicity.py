"""Corrections over many shapes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from abtune.stats.multiplicity import Correction, adjust, benjamini_hochberg, holm

P_VALUES = st.lists(st.floats(1e-12, 1), min_size=1, max_size=40)


@given(P_VALUES)
def test_holm_agrees_with_statsmodels(p: list[float]) -> None:
    """Adjusted p-values are those of statsmodels, to rounding."""
    np.testing.assert_allclose(holm(p), multipletests(p, method="holm")[1], rtol=1e-12)


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
    found = holm([0.01, np.nan, 0.04])
    assert found[[0, 2]] == pytest.approx([0.02, 0.04])
    assert np.isnan(found[1])
    assert np.isnan(holm([np.nan])).all()
    assert holm([]).size == 0


@given(P_VALUES)
def test_benjamini_hochberg_agrees_with_statsmodels(p: list[float]) -> None:
    """Adjusted p-values are those of statsmodels, at least p and at most Holm's."""
    adjusted = benjamini_hochberg(p)
    np.testing.assert_allclose(adjusted, multipletests(p, method="fdr_bh")[1], rtol=1e-12)
    assert (adjusted >= np.asarray(p) * (1 - 1e-12)).all()
    assert (adjusted <= holm(p) * (1 + 1e-12)).all()


def test_corrections_by_name() -> None:
    """NaN are no tests for any of them; what accompanies max-T is Holm's."""
    p = np.array([0.01, np.nan, 0.04])
    assert adjust(p, Correction.BH)[[0, 2]] == pytest.approx([0.02, 0.04])
    assert np.isnan(adjust(p, Correction.BH)[1])
    assert np.array_equal(adjust(p, Correction.NONE), p, equal_nan=True)
    assert np.array_equal(adjust(p, Correction.MAX_T), holm(p), equal_nan=True)
