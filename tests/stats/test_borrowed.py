"""One run per side: borrowed intervals and tipping points."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats
from single_run_tables import UNIT_NOISE, Lender, predictive_coverage

from abtune.stats.moderated import (
    LentVariance,
    fit_prior,
    lend_variance,
    moderate,
    predictive_interval,
    tipping_point,
)

S2 = np.array([1.0, 0.2, 3.0, 0.7, 9.0, 0.05])
NAN = math.nan


def lend(variance: object, freedom: object, place: object) -> LentVariance:
    return lend_variance(np.array(variance, dtype=float), np.array(freedom), np.array(place))


def test_own_runs_lend_the_posterior_and_others_the_prior() -> None:
    """A shape that was swept gets Smyth's posterior variance, any other the prior, with their freedoms."""
    d = np.full(6, 4)
    prior, (posterior, _) = fit_prior(S2, d), moderate(S2, d)
    found = lend(S2, d, [4, -1, 0])
    np.testing.assert_allclose(found.variance, [posterior[4], prior.variance, posterior[0]])
    np.testing.assert_allclose(found.freedom, [prior.freedom + 4, prior.freedom, prior.freedom + 4])


def test_no_variance_knows_more_than_all_together() -> None:
    """Shapes that agree lend no more degrees of freedom than they have in all."""
    found = lend([1.0, 1.0, 1.0, 1.0], [2, 2, 2, 2], [0, -1])
    assert math.isinf(found.prior.freedom)
    assert found.freedom.tolist() == [8, 8]


def test_few_lenders_lend_the_mean_with_the_fewest_degrees_of_freedom() -> None:
    """From two shapes it is not known how shapes differ: they keep their own, another gets the mean."""
    found = lend([1.0, 4.0], [3, 9], [0, 1, -1])
    np.testing.assert_allclose(found.variance, [1.0, 4.0, (3 * 1 + 9 * 4) / 12])
    assert found.freedom.tolist() == [3, 9, 3]


def test_no_noise_is_no_knowledge() -> None:
    """Runs that agree exactly, and shapes without runs, lend nothing, and the interval says so with NaN."""
    silent = lend([0.0, 0.0, NAN], [4, 4, 0], [0, 1, 2, -1])
    assert np.isnan(silent.variance).all()
    found = predictive_interval(np.zeros(4), silent, silent, level=0.95)
    assert np.isnan(found.low).all()
    among_others = lend([0.0, *S2], [4] * 7, [0])
    assert among_others.variance[0] > 0


def test_the_interval_is_that_of_the_formula() -> None:
    """The bounds are log r -+ t sqrt(sA^2 + sB^2), t of the side with fewer degrees of freedom."""
    first = lend([1.0, 4.0], [3, 9], [0, 1])
    second = lend([2.0, 1.0], [5, 5], [0, 1])
    found = predictive_interval([0.5, -1.0], first, second, level=0.9)
    half = [stats.t.ppf(0.95, 3) * math.sqrt(3), stats.t.ppf(0.95, 5) * math.sqrt(5)]
    np.testing.assert_allclose(found.high, np.array([0.5, -1.0]) + half)
    swapped = predictive_interval([-0.5, 1.0], second, first, level=0.9)
    np.testing.assert_allclose((swapped.low, swapped.high), (-found.high, -found.low))


@given(st.floats(-1, 1), st.floats(0.5, 0.999))
def test_a_boost_stands_out_below_its_tipping_point(log_ratio: float, level: float) -> None:
    """With noise known exactly, the interval excludes zero if and only if the noise is less."""
    point = tipping_point([log_ratio], level=level)[0]
    z = special.ndtri(0.5 + level / 2)
    assert z * math.sqrt(2) * point == pytest.approx(abs(log_ratio))
    assert point == tipping_point([-log_ratio], level=level)[0]


def test_published_tipping_points() -> None:
    """The first convolution of the published table tips at 2.15 %, at 1.34 % among 29."""
    logs = np.log1p([0.0614, 0.4066])
    np.testing.assert_allclose(100 * tipping_point(logs, level=0.95), [2.15, 12.31], atol=0.005)
    np.testing.assert_allclose(100 * tipping_point(logs, level=1 - 0.05 / 29), [1.34, 7.70], atol=0.01)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("seeds", [5, pytest.param(10, marks=pytest.mark.slow)])
@pytest.mark.parametrize("spread", [0.0, pytest.param(0.4, marks=pytest.mark.slow), 0.7])
def test_borrowed_intervals_hold(spread: float, seeds: int, known: bool) -> None:  # noqa: FBT001 (pytest's)
    """With normal noise 94 to 98 % of the intervals hold, however shapes differ; of the noisiest, fewer."""
    rng = np.random.default_rng([11, seeds])
    lender = Lender(shapes=29, seeds=seeds, known=known)
    held = predictive_coverage(UNIT_NOISE["normal"], spread, lender, replications=150, rng=rng)
    assert 0.94 <= held.every <= 0.98
    assert held.noisiest >= (0.76 if spread and not known else 0.87)
    assert spread == 0 or held.noisiest < held.every


@pytest.mark.parametrize("known", [True, False])
def test_skewed_noise_costs_little(known: bool) -> None:  # noqa: FBT001 (pytest's)
    """With exponential noise more than nine of ten intervals hold."""
    held = predictive_coverage(
        UNIT_NOISE["exponential"],
        0.4,
        Lender(shapes=29, seeds=5, known=known),
        replications=150,
        rng=np.random.default_rng(12),
    )
    assert 0.91 <= held.every <= 0.98
