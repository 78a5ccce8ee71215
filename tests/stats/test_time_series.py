"""Means of series, and what is to be said of a series: published values, oracles, properties, coverage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from series_kinds import SERIES, autoregressive
from torchvision_dump import dumped_series

from abtune.stats.time_series import (
    autocorrelations,
    cosine_mean,
    default_lags,
    half_width,
    independent_mean,
    integrated_time,
    ljung_box,
    mean_difference,
)

# Of the published dump in seconds, computed without abtune: autocorrelation at lags 1, 2, 4, 8; p of Ljung
# and Box over 10 lags; integrated autocorrelation time; half of the 95 % interval by equally weighted
# cosines, in percent of the mean.
PUBLISHED = np.array(
    [
        (+0.15, -0.32, +0.11, -0.07, 0.00885, 1.30, 0.160),
        (+0.23, -0.08, -0.23, +0.40, 0.00583, 1.45, 0.360),
        (+0.25, +0.11, -0.13, +0.01, 0.255, 1.72, 0.396),
        (+0.07, -0.19, -0.00, -0.31, 0.184, 1.15, 0.263),
        (+0.32, +0.03, -0.36, +0.05, 4.42e-05, 1.63, 0.260),
        (+0.12, -0.27, +0.02, +0.05, 0.141, 1.23, 0.480),
        (+0.36, +0.10, -0.14, -0.08, 0.193, 1.91, 0.386),
        (-0.02, +0.09, -0.10, +0.22, 0.324, 1.71, 0.562),
    ]
).T
# Speedup over the first series, minus 1, with the interval by equally weighted cosines, in percent.
SPEEDUPS = np.array(
    [
        (+8.26, +7.84, +8.69),
        (-2.20, -2.62, -1.78),
        (+5.92, +5.59, +6.24),
        (+49.18, +48.73, +49.64),
        (+41.81, +41.09, +42.53),
        (+46.09, +45.48, +46.70),
        (+63.33, +62.38, +64.29),
    ]
).T


def series(seed: int, n: int = 40) -> np.ndarray:
    return autoregressive(0.4)(np.random.default_rng(seed), (3, n))


def test_the_published_dump() -> None:
    """Every diagnostic of the published dump, in seconds as it is, is the one computed elsewhere."""
    values = dumped_series()
    correlations = autocorrelations(values)
    np.testing.assert_allclose(correlations[:, [1, 2, 4, 8]].T, PUBLISHED[:4], atol=0.0051)
    np.testing.assert_allclose(ljung_box(correlations, lags=default_lags(50)), PUBLISHED[4], rtol=0.004)
    np.testing.assert_allclose(integrated_time(correlations), PUBLISHED[5], atol=0.0051)
    estimate = cosine_mean(values)
    half = 100 * half_width(estimate, level=0.95) / estimate.mean
    np.testing.assert_allclose(half, PUBLISHED[6], atol=0.00051)


def test_speedups_of_the_published_dump() -> None:
    """Ratios of geometric means agree with ratios of means in seconds within 0.03 points, intervals too.

    The published intervals have the 5 degrees of freedom of a single mean; Welch and Satterthwaite's are
    more.
    """
    logs = np.log(dumped_series())
    found = mean_difference(cosine_mean(logs[0]), cosine_mean(logs[1:]))
    assert ((found.freedom > 5) & (found.freedom <= 10)).all()
    half = stats.t(5).ppf(0.975) * found.error
    ours = [100 * np.expm1(found.difference + sign * half) for sign in (0, -1, 1)]
    np.testing.assert_allclose(ours, SPEEDUPS, atol=0.03)


@pytest.mark.parametrize("n", [2, 5, 9, 50, 51])
def test_cosines_are_those_of_the_paper(n: int) -> None:
    """The long-run variance is the mean of squared projections on cosines, each computed by its formula."""
    values = series(n, n)[0]
    found = cosine_mean(values)
    t = np.arange(1, n + 1)
    cosines = [
        np.sqrt(2 / n) * (np.cos(np.pi * j * (t - 0.5) / n) * (values - values.mean())).sum()
        for j in range(1, found.freedom + 1)
    ]
    assert found.error == pytest.approx(np.sqrt(np.mean(np.square(cosines)) / n))
    assert found.mean == pytest.approx(values.mean())


def test_two_values_have_the_usual_interval() -> None:
    """Of two values there is one way to make an interval, which both estimates are."""
    values = np.array([1.0, 1.4])
    oracle = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    for estimate in (cosine_mean(values), independent_mean(values)):
        assert half_width(estimate, level=0.95) == pytest.approx((oracle.high - oracle.low) / 2)


def test_independent_means_are_those_of_scipy() -> None:
    """Without dependence, mean and difference have Student's and Welch's intervals."""
    first, second = series(1)[0], series(2, 25)[0]
    estimate = independent_mean(first)
    oracle = stats.ttest_1samp(first, 0).confidence_interval(0.9)
    assert estimate.mean + half_width(estimate, level=0.9) == pytest.approx(oracle.high)
    found = mean_difference(estimate, independent_mean(second))
    welch = stats.ttest_ind(first, second, equal_var=False)
    assert found.freedom == pytest.approx(welch.df)
    assert found.difference / found.error == pytest.approx(welch.statistic)


@pytest.mark.parametrize("n", [7, 10, 50, 77])
def test_autocorrelations_and_ljung_box_are_their_definitions(n: int) -> None:
    """All lags, and the test over the default number of lags, each computed by its formula."""
    values = series(n, n)
    correlations, lags = autocorrelations(values), default_lags(n)
    p = ljung_box(correlations, lags=lags)
    for row in range(3):
        rest = values[row] - values[row].mean()
        products = [(rest[lag:] * rest[: n - lag]).sum() for lag in range(n)]
        np.testing.assert_allclose(correlations[row], np.array(products) / products[0], atol=1e-12)
        squares = [correlations[row, lag] ** 2 / (n - lag) for lag in range(1, lags + 1)]
        assert p[row] == pytest.approx(stats.chi2(lags).sf(n * (n + 2) * sum(squares)))


def test_ljung_box_by_hand() -> None:
    """Ten values around 3.15: squares sum to 0.825, products at lags 1 and 2 to 0.1575 and -0.525.

    Chi-square with two degrees of freedom is exponential, so p = exp(-Q/2).
    """
    correlations = autocorrelations(np.array([3.1, 2.9, 3.4, 3.6, 3.2, 2.8, 2.7, 3.3, 3.5, 3.0]))
    r = 0.1575 / 0.825, -0.525 / 0.825
    np.testing.assert_allclose(correlations[1:3], r, rtol=1e-9)
    q = 10 * 12 * (r[0] ** 2 / 9 + r[1] ** 2 / 8)
    assert float(ljung_box(correlations, lags=2)) == pytest.approx(np.exp(-q / 2), rel=1e-9)


def test_integrated_time_of_an_autoregression() -> None:
    """A long autoregression of .6 has (1 + .6)/(1 - .6) = 4, and independent values have 1."""
    rng = np.random.default_rng(3)
    for correlation, truth in ((0.6, 4.0), (0.0, 1.0)):
        times = integrated_time(autocorrelations(autoregressive(correlation)(rng, (50, 4000))))
        assert times.mean() == pytest.approx(truth, rel=0.08)


def test_integrated_time_stops_at_the_first_pair_that_is_not_positive() -> None:
    """Pairs 1.5, 0.1, 0.3 count as 1.5, 0.1, 0.1; what follows a negative pair does not count."""
    correlations = np.array([1.0, 0.5, 0.2, -0.1, 0.2, 0.1, -0.3, 0.1, 0.9, 0.9])
    assert integrated_time(correlations) == pytest.approx(-1 + 2 * (1.5 + 0.1 + 0.1))
    alternating = autocorrelations(np.tile([1.0, -1.0], 50))
    assert integrated_time(alternating) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("correlation", "n", "reported", "close"),
    [
        (-0.6, 50, 84.9, 0.0),
        (0.0, 50, 47.4, 0.78),
        (0.6, 50, 16.5, 0.61),
        (0.6, 200, 54.0, 0.86),
        (0.9, 50, 7.0, 0.20),
        (0.9, 200, 15.1, 0.54),
    ],
)
def test_worth(correlation: float, n: int, reported: float, close: float) -> None:
    """What series are worth comes out as often within a factor of 1.5 as docs/single-runs.md says."""
    values = autoregressive(correlation)(np.random.default_rng([9, n]), (4000, n))
    lag = np.arange(1, n)
    worth = n / (1 + 2 * ((1 - lag / n) * correlation**lag).sum())
    assert 1 / values.mean(axis=-1).var() == pytest.approx(worth, rel=0.1)
    found = n / integrated_time(autocorrelations(values))
    assert np.median(found) == pytest.approx(reported, rel=0.05)
    assert np.mean((found / worth < 1.5) & (found / worth > 1 / 1.5)) == pytest.approx(close, abs=0.03)


@given(seed=st.integers(0, 99), scale=st.floats(1e-6, 1e6), offset=st.floats(-20, 20))
def test_units_do_not_matter(seed: int, scale: float, offset: float) -> None:
    """Another unit scales the error, and changes nothing that is said of the series."""
    here = series(seed)
    there = scale * here + offset * scale
    assert cosine_mean(there).error == pytest.approx(scale * cosine_mean(here).error, rel=1e-6)
    np.testing.assert_allclose(autocorrelations(here), autocorrelations(there), atol=1e-6)


@given(seed=st.integers(0, 99), n=st.integers(2, 60))
def test_backwards_it_is_the_same(seed: int, n: int) -> None:
    """A series backwards has the same errors and correlations."""
    here = series(seed, n)
    there = here[:, ::-1]
    np.testing.assert_allclose(cosine_mean(here).error, cosine_mean(there).error)
    np.testing.assert_allclose(autocorrelations(here), autocorrelations(there), atol=1e-12)


def test_constant_series() -> None:
    """A constant has no error, and its correlations are unknown."""
    values = np.full((2, 30), 0.1)
    assert cosine_mean(values).error.tolist() == [0, 0]
    correlations = autocorrelations(values)
    unknown = integrated_time(correlations), ljung_box(correlations, lags=5)
    assert np.isnan(unknown).all()


@pytest.mark.parametrize(
    ("name", "n", "low", "high"),
    [
        ("independent", 5, 0.938, 0.962),
        ("independent", 50, 0.938, 0.962),
        ("autoregression .3", 50, 0.935, 0.96),
        ("autoregression .6", 50, 0.92, 0.95),
        ("autoregression .6", 200, 0.925, 0.955),
        ("autoregression .9", 50, 0.77, 0.82),
        ("every 8th slower", 50, 0.94, 0.965),
        ("spikes, 1 in 20", 50, 0.84, 0.89),
        ("drift", 50, 0.99, 1.0),
    ],
)
def test_coverage(name: str, n: int, low: float, high: float) -> None:
    """Nominal 95 % intervals hold as often as docs/single-runs.md says, and where dependence counts, more."""
    values = SERIES[name](np.random.default_rng([5, n]), (4000, n))
    estimate = cosine_mean(values)
    covered = np.mean(np.abs(estimate.mean) <= half_width(estimate, level=0.95))
    assert low <= covered <= high
    plain = independent_mean(values)
    naive = np.mean(np.abs(plain.mean) <= half_width(plain, level=0.95))
    assert covered > naive + 0.08 or not name.startswith("autoregression")


@pytest.mark.parametrize("n", [20, 50])
def test_false_flags(n: int) -> None:
    """Of independent series about 5 % are called dependent, normal or skewed."""
    for name, most in (("independent", 0.075), ("independent, skewed", 0.07)):
        values = SERIES[name](np.random.default_rng([6, n]), (4000, n))
        p = ljung_box(autocorrelations(values), lags=default_lags(n))
        assert np.mean(p <= 0.05) <= most


def test_dependence_is_found() -> None:
    """A period and a shift of two standard deviations make timings depend on those before them."""
    rng = np.random.default_rng(7)
    for name, n in (("every 8th slower", 200), ("shift", 50)):
        p = ljung_box(autocorrelations(SERIES[name](rng, (500, n))), lags=default_lags(n))
        assert np.mean(p <= 0.05) > 0.95
