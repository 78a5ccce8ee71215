"""Variances that shapes lend each other, and the noise that makes a single ratio luck."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from abtune.stats.moderated import fit_prior, moderate, tipping_point

NAN = np.nan


def test_moderation_agrees_with_limma() -> None:
    """Posterior variances and prior degrees of freedom agree with limma::squeezeVar in R.

    The moments of log s^2 are solved here by brute force, as limma's fitFDist does by Newton:
    e <- log(s2) - digamma(d/2) + log(d/2); trigamma(d0/2) = var(e) - trigamma(d/2)
    """
    from scipy import optimize, special

    s2, d = np.array([1.0, 0.2, 3.0, 0.7, 9.0, 0.05]), 4.0
    e = np.log(s2) - special.digamma(d / 2) + np.log(d / 2)
    target = e.var(ddof=1) - special.polygamma(1, d / 2)
    d0 = 2 * optimize.brentq(lambda half: special.polygamma(1, half) - target, 1e-3, 1e3)
    s0 = np.exp(e.mean() + special.digamma(d0 / 2) - np.log(d0 / 2))
    assert fit_prior(s2, np.full(6, d)) == pytest.approx((s0, d0))
    np.testing.assert_allclose(moderate(s2, np.full(6, d)), (d0 * s0 + d * s2) / (d0 + d))


def test_agreeing_variances_have_limmas_common_one() -> None:
    """Where d0 is infinite, fitFDist takes mean(s2).

    R: s2 <- c(1, 1.3, 0.8, 1.1); squeezeVar(s2, df = 4)$var.post
    """
    s2 = np.array([1.0, 1.3, 0.8, 1.1])
    np.testing.assert_allclose(moderate(s2, np.full(4, 4)), 1.05)
    unequal = moderate(s2, np.array([4, 4, 4, 9]))
    np.testing.assert_allclose(unequal, (4 * (1.0 + 1.3 + 0.8) + 9 * 1.1) / 21)


@pytest.mark.parametrize("shapes", [3, pytest.param(29, marks=pytest.mark.slow)])
def test_the_common_variance_is_unbiased(shapes: int) -> None:
    """Over samples whose variances agree, the common one is right on average, within 3 %."""
    rng, variances = np.random.default_rng(7), []
    for _ in range(4000):
        level, agreement = fit_prior(rng.chisquare(4, shapes) / 4, np.full(shapes, 4))
        if np.isinf(agreement):
            variances.append(level)
    assert np.mean(variances) == pytest.approx(1.0, abs=0.03)


def test_the_limit_of_agreement_is_below_the_truth() -> None:
    """Whether few shapes agree by chance or many do, about nine of ten limits are below the true d0."""
    rng, d0 = np.random.default_rng(3), 10
    for shapes in (3, 29):
        truth = d0 / rng.chisquare(d0, (1000, shapes))
        samples = truth * rng.chisquare(7, (1000, shapes)) / 7
        limits = [fit_prior(row, np.full(shapes, 7), limit=0.9)[1] for row in samples]
        assert np.mean(np.array(limits) <= d0) == pytest.approx(0.9, abs=0.04)


def test_moderation_pools_what_agrees_and_leaves_what_does_not() -> None:
    """Variances of one common level become nearly equal; variances of many levels hardly change."""
    rng = np.random.default_rng(1)
    common = rng.chisquare(4, 200) / 4
    assert np.ptp(moderate(common, np.full(200, 4))) < 0.2 * np.ptp(common)
    spread = common * np.exp(rng.normal(0, 3, 200))
    assert np.median(np.abs(np.log(moderate(spread, np.full(200, 4)) / spread))) < 0.3


def test_moderation_is_closer_to_the_truth() -> None:
    """Shrunken variances err less, on logs, than the samples' own."""
    rng = np.random.default_rng(2)
    truth = np.exp(rng.normal(0, 0.7, 300))
    sample = truth * rng.chisquare(4, 300) / 4
    error = [
        np.mean(np.log(estimate / truth) ** 2) for estimate in (moderate(sample, np.full(300, 4)), sample)
    ]
    assert error[0] < 0.7 * error[1]


def test_moderation_needs_company() -> None:
    """With fewer than three shapes, or NaN, variances stay as they are."""
    assert moderate(np.array([1.0, 2.0]), np.array([4, 4])).tolist() == [1.0, 2.0]
    assert np.isnan(moderate(np.array([1.0, NAN, 3.0, 2.0]), np.array([4, -1, 4, 4]))[1])


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
