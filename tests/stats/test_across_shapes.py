"""Differences between shapes against other estimators."""

from __future__ import annotations

import numpy as np
import pytest
from noise_kinds import Array, Noise, bimodal, lognormal
from scipy import stats
from statsmodels.stats.meta_analysis import combine_effects
from statsmodels.stats.oneway import anova_oneway

from abtune.stats.across_shapes import heterogeneity, placements
from abtune.stats.estimates import standard_error
from abtune.stats.two_sample import TwoSample

EFFECT = np.array([0.02, 0.11, 0.07, 0.31, -0.05])
ERROR = np.array([0.03, 0.02, 0.05, 0.04, 0.06])


def test_agrees_with_a_random_effects_meta_analysis() -> None:
    """Q, tau (Paule-Mandel) and I2 agree with statsmodels."""
    result = heterogeneity(EFFECT, ERROR, np.full(5, 9))
    oracle = combine_effects(EFFECT, ERROR**2, method_re="iterated", atol=1e-14)
    assert result.q == pytest.approx(oracle.q)
    assert result.share == pytest.approx(oracle.i2)
    assert result.between**2 == pytest.approx(oracle.tau2, rel=1e-4)


def test_p_is_that_of_brown_and_forsythe() -> None:
    """For means of equally large samples, the test is Brown and Forsythe's, with Mehrotra's correction."""
    rng = np.random.default_rng(5)
    samples = [rng.normal(shift, spread, 7) for shift, spread in ((0, 1), (0.5, 2), (1, 0.5))]
    means = [sample.mean() for sample in samples]
    errors = [sample.std(ddof=1) / np.sqrt(7) for sample in samples]
    result = heterogeneity(means, errors, [6, 6, 6])
    assert result.p == pytest.approx(anova_oneway(samples, use_var="bf").pvalue)


def test_equal_effects_have_no_spread() -> None:
    """Equal estimates leave nothing to explain, and one shape cannot differ from others."""
    result = heterogeneity([0.1, 0.1, 0.1], [0.02, 0.01, 0.03], [9, 9, 9])
    assert (result.q, result.p, result.between, result.share) == pytest.approx((0, 1, 0, 0))
    assert np.isnan(heterogeneity([0.1], [0.1], [9]).q)


def one_in_five_is_slower(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return np.where(rng.random(shape) < 0.2, 0.26, 0.0) + rng.normal(0, 0.02, shape)


@pytest.mark.parametrize(
    ("first", "second", "seeds"),
    [
        (lognormal(0.1), lognormal(0.1), 3),
        (bimodal, bimodal, 3),
        (lognormal(0.02), one_in_five_is_slower, 10),
    ],
    ids=["normal", "bimodal", "one side fails"],
)
def test_shapes_with_equal_boosts_rarely_differ(first: Noise, second: Noise, seeds: int) -> None:
    """At most some 5 % of reports say that boosts differ. With Welch's F it was 10, 22 and 57 %."""
    rng, reports = np.random.default_rng(6), 300
    wrong = 0
    for _ in range(reports):
        samples = TwoSample.without_floor(first(rng, (29, seeds)), second(rng, (29, seeds)))
        boosts = standard_error(samples)
        wrong += heterogeneity(boosts.difference, boosts.error, boosts.freedom).p <= 0.05
    assert wrong / reports <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / reports)


def test_noise_that_differs_makes_no_boosts_differ() -> None:
    """With equal boosts and noise of up to 4:1, the test rejects in some 5 %."""
    rng = np.random.default_rng(6)
    values = rng.normal(0, 1, (1500, 8, 10)) * np.linspace(1, 4, 8)[:, np.newaxis]
    error = values.std(axis=2, ddof=1) / np.sqrt(10)
    rejected = [
        heterogeneity(y, e, np.full(8, 9)).p <= 0.05 for y, e in zip(values.mean(axis=2), error, strict=True)
    ]
    assert np.mean(rejected) == pytest.approx(0.05, abs=0.02)


def test_placements_average_to_mann_whitney() -> None:
    """The mean placement is U over the product of the sizes, ties half, padding ignored."""
    rng = np.random.default_rng(7)
    one, two = rng.integers(0, 6, (3, 7)).astype(float), rng.integers(0, 6, (3, 5)).astype(float)
    one[1, 4:] = np.nan
    samples = TwoSample.without_floor(one, two)
    means = np.nanmean(placements(samples), axis=1)
    for row in range(3):
        known = one[row][~np.isnan(one[row])]
        u = stats.mannwhitneyu(two[row], known).statistic
        assert means[row] == pytest.approx(u / known.size / 5)
    np.testing.assert_allclose(np.nanmean(placements(samples.swapped()), axis=1), 1 - means)
