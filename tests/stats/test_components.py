"""Where the scatter comes from: variance components against other estimators."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.regression.mixed_linear_model import MixedLM

from abtune.stats.spread import components


def timings(
    rng: np.random.Generator, shape: tuple[int, ...], spread: tuple[float, float, float]
) -> np.ndarray:
    """Draw nested noise of seeds, rounds and timings."""
    parts = [
        rng.normal(0, sd, (*shape[: -level or None], *[1] * level))
        for sd, level in zip(spread, (2, 1, 0), strict=True)
    ]
    return parts[0] + parts[1] + parts[2] - 9


def test_balanced_components_are_those_of_restricted_likelihood() -> None:
    """With equal numbers, the three components agree with the mixed model of statsmodels."""
    values = timings(np.random.default_rng(1), (8, 4, 3), (0.05, 0.02, 0.01))
    result = components(values)
    seed, session = (np.broadcast_to(index, values.shape).ravel() for index in np.indices(values.shape)[:2])
    frame = pd.DataFrame({"y": 100 * values.ravel(), "one": 1.0, "session": session, "seed": seed})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = MixedLM.from_formula(
            "y ~ 1", groups="seed", re_formula="1", vc_formula={"session": "0 + C(session)"}, data=frame
        ).fit(reml=True)
    oracle = float(fit.cov_re.iloc[0, 0]), float(fit.vcomp[0]), float(fit.scale)
    np.testing.assert_allclose(
        1e4 * np.array([result.search, result.session, result.timing]), oracle, rtol=1e-3
    )


@pytest.mark.parametrize("session", [0.04, 0.0])
def test_unequal_numbers_leave_the_components_unbiased(session: float) -> None:
    """With rounds and timings lost at random, the mean estimate is the truth, also where that is zero."""
    rng = np.random.default_rng(2)
    values = timings(rng, (4000, 7, 4, 3), (0.05, session, 0.03))
    values[:, rng.random((7, 4, 3)) < 0.3] = np.nan
    result = components(values)
    for variance, truth in ((result.search, 0.05), (result.session, session), (result.timing, 0.03)):
        assert variance.mean() == pytest.approx(truth**2, rel=0.04, abs=2e-5)


@pytest.mark.parametrize(
    ("shape", "known"),
    [
        ((5, 1, 1), (True, False, False)),
        ((5, 3, 1), (True, True, False)),
        ((5, 1, 3), (True, False, True)),
        ((1, 3, 3), (False, True, True)),
        ((0, 3, 3), (False, False, False)),
    ],
)
def test_what_cannot_be_told_apart_is_not_known(shape: tuple[int, ...], known: tuple[bool, ...]) -> None:
    """Without a second round, timing or seed there is no such component, and no number for it."""
    result = components(timings(np.random.default_rng(3), shape, (1, 1, 1)))
    assert (~np.isnan([result.search, result.session, result.timing])).tolist() == list(known)


@given(seed=st.integers(0, 99), offset=st.floats(-20, 20))
def test_units_do_not_matter(seed: int, offset: float) -> None:
    """Another unit of time moves all logs and changes no component."""
    values = timings(np.random.default_rng(seed), (6, 3, 3), (0.05, 0.02, 0.01))
    here, there = components(values), components(values + offset)
    np.testing.assert_allclose(here.search, there.search, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(here.timing, there.timing, rtol=1e-6, atol=1e-12)


def test_constant_timings_have_no_noise_and_no_correlation() -> None:
    """Where nothing varies, every component is zero and the correlation unknown."""
    result = components(np.full((4, 3, 2), -9.0))
    assert (result.search, result.session, result.timing) == (0, 0, 0)
    assert np.isnan(result.correlation)


def test_correlation_is_the_share_of_the_search() -> None:
    """The intraclass correlation is one if only searches differ, zero if only timings do."""
    rng = np.random.default_rng(4)
    assert components(timings(rng, (6, 3, 3), (1, 0, 1e-9))).correlation == pytest.approx(1)
    noise = components(timings(rng, (300, 3, 3), (0, 0, 1)))
    assert noise.correlation < 0.1
    assert np.isnan(components(timings(rng, (1, 3, 3), (1, 1, 1))).correlation), "of one seed it is unknown"
