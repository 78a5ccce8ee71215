"""Means of series, and what a series is worth: published values, oracles, properties, coverage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from series_kinds import SERIES, autoregressive
from torchvision_dump import dumped_series

from abtune.stats.time_series import (
    cosine_mean,
    independent_worth,
)

# Of the published dump in seconds, computed without abtune: autocorrelation at lag 1; half of the
# 95 % interval by equally weighted cosines, in percent of the mean.
PUBLISHED = np.array(
    [
        (+0.15, 0.160),
        (+0.23, 0.360),
        (+0.25, 0.396),
        (+0.07, 0.263),
        (+0.32, 0.260),
        (+0.12, 0.480),
        (+0.36, 0.386),
        (-0.02, 0.562),
    ]
).T


def series(seed: int, n: int = 40) -> np.ndarray:
    return autoregressive(0.4)(np.random.default_rng(seed), (3, n))


def test_the_published_dump() -> None:
    """Intervals and correlations of the published dump, in seconds as it is, are those computed elsewhere."""
    values = dumped_series()
    worth = 50 * (1 - PUBLISHED[0]) / (1 + PUBLISHED[0])
    np.testing.assert_allclose([independent_worth(one) for one in values], worth, rtol=0.011)
    estimate = cosine_mean(values)
    half = 100 * estimate.half_width(0.95) / estimate.difference
    np.testing.assert_allclose(half, PUBLISHED[1], atol=0.00051)


@pytest.mark.parametrize("n", [2, 5, 9, 50, 51])
def test_cosines_are_those_of_the_paper(n: int) -> None:
    """The long-run variance is the mean of squared projections on cosines, each computed by its formula."""
    values = series(n, n)[0]
    estimate = cosine_mean(values)
    t = np.arange(1, n + 1)
    cosines = [
        np.sqrt(2 / n) * (np.cos(np.pi * j * (t - 0.5) / n) * (values - values.mean())).sum()
        for j in range(1, int(estimate.freedom) + 1)
    ]
    assert estimate.error == pytest.approx(np.sqrt(np.mean(np.square(cosines)) / n))
    assert estimate.difference == pytest.approx(values.mean())


def test_two_values_have_the_usual_interval() -> None:
    """Of two values there is one way to make an interval."""
    values = np.array([1.0, 1.4])
    oracle = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert cosine_mean(values).half_width(0.95) == pytest.approx((oracle.high - oracle.low) / 2)


@pytest.mark.parametrize(("correlation", "n"), [(0.0, 4000), (0.6, 4000), (-0.3, 4000)])
def test_worth_of_an_autoregression(correlation: float, n: int) -> None:
    """A long series is worth n (1 - r)/(1 + r), as the variance of its mean says."""
    values = autoregressive(correlation)(np.random.default_rng(3), (2000, n))
    assert independent_worth(values[0]) == pytest.approx(1 / values.mean(axis=-1).var(), rel=0.15)


@given(seed=st.integers(0, 99), scale=st.floats(1e-6, 1e6), offset=st.floats(-20, 20))
def test_units_do_not_matter(seed: int, scale: float, offset: float) -> None:
    """Another unit scales the error, and changes nothing that is said of the series."""
    here = series(seed)
    there = scale * here + offset * scale
    assert cosine_mean(there).error == pytest.approx(scale * cosine_mean(here).error, rel=1e-6)
    assert independent_worth(there[0]) == pytest.approx(independent_worth(here[0]), rel=1e-6)


@given(seed=st.integers(0, 99), n=st.integers(2, 60))
def test_backwards_it_is_the_same(seed: int, n: int) -> None:
    """A series backwards has the same errors and correlations."""
    here = series(seed, n)
    there = here[:, ::-1]
    np.testing.assert_allclose(cosine_mean(here).error, cosine_mean(there).error)


def test_constant_series() -> None:
    """A constant has no error."""
    assert cosine_mean(np.full((2, 30), 0.1)).error.tolist() == [0, 0]


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
def test_intervals_of_series_cover_as_often_as_the_document_says(
    name: str, n: int, low: float, high: float
) -> None:
    """Nominal 95 % intervals hold as often as docs/single-runs.md says, and where dependence counts, more."""
    values = SERIES[name](np.random.default_rng([5, n]), (4000, n))
    estimate = cosine_mean(values)
    covered = np.mean(np.abs(estimate.difference) <= estimate.half_width(0.95))
    assert low <= covered <= high
    naive = np.mean(stats.ttest_1samp(values, 0, axis=-1).pvalue > 0.05)
    assert covered > naive + 0.08 or not name.startswith("autoregression")


@pytest.mark.parametrize(
    ("name", "n", "low", "high"),
    [
        ("independent", 20, 0.0, 0.06),
        ("independent", 50, 0.0, 0.01),
        ("shift", 50, 0.0, 0.05),
        ("autoregression .9", 50, 0.8, 1.0),
    ],
)
def test_what_is_worth_too_little(name: str, n: int, low: float, high: float) -> None:
    """The warning tells intervals that fail from those that hold although timings depend."""
    values = SERIES[name](np.random.default_rng([6, n]), (400, n))
    assert low <= np.mean([independent_worth(one) < 10 for one in values]) <= high
