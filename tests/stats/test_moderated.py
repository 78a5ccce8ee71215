"""Variances that shapes lend each other."""

import numpy as np
import pytest

from abtune.stats.estimates import conservative_welch
from abtune.stats.moderated import fit_prior, moderate, moderated_error
from abtune.stats.testing.significance import moderated_test
from abtune.stats.testing.step_procedures import holm
from abtune.stats.two_sample import TwoSample

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
    variance, freedom = moderate(s2, np.full(6, d), widening=0.0)
    _, careful = moderate(s2, np.full(6, d), widening=1.0)
    assert (careful < freedom).all()
    np.testing.assert_allclose(freedom, d + d0)
    np.testing.assert_allclose(variance, (d0 * s0 + d * s2) / (d0 + d))


def test_agreeing_variances_have_limmas_common_one() -> None:
    """Where d0 is infinite, fitFDist takes mean(s2), and eBayes sum(df.residual) degrees of freedom.

    R: s2 <- c(1, 1.3, 0.8, 1.1); squeezeVar(s2, df = 4)$var.post; with eBayes, df.total <- pmin(df + Inf, 16)
    """
    s2 = np.array([1.0, 1.3, 0.8, 1.1])
    variance, freedom = moderate(s2, np.full(4, 4), widening=0.0)
    np.testing.assert_allclose(variance, 1.05)
    np.testing.assert_allclose(freedom, 16)
    unequal, _ = moderate(s2, np.array([4, 4, 4, 9]), widening=0.0)
    np.testing.assert_allclose(unequal, (4 * (1.0 + 1.3 + 0.8) + 9 * 1.1) / 21)


@pytest.mark.parametrize("shapes", [3, pytest.param(29, marks=pytest.mark.slow)])
def test_the_common_variance_is_unbiased(shapes: int) -> None:
    """Over samples whose variances agree, the common one is right on average, within 3 %."""
    rng, found = np.random.default_rng(7), []
    for _ in range(4000):
        prior = fit_prior(rng.chisquare(4, shapes) / 4, np.full(shapes, 4), widening=1.0)
        if np.isinf(prior.freedom):
            found.append(prior.variance)
    assert np.mean(found) == pytest.approx(1.0, abs=0.03)


def test_moderation_pools_what_agrees_and_leaves_what_does_not() -> None:
    """Variances of one common level become nearly equal; variances of many levels hardly change."""
    rng = np.random.default_rng(1)
    common = rng.chisquare(4, 200) / 4
    assert np.ptp(moderate(common, np.full(200, 4), widening=0.0)[0]) < 0.2 * np.ptp(common)
    spread = common * np.exp(rng.normal(0, 3, 200))
    assert np.median(np.abs(np.log(moderate(spread, np.full(200, 4), widening=0.0)[0] / spread))) < 0.3


def test_moderation_is_closer_to_the_truth() -> None:
    """Shrunken variances err less, on logs, than the samples' own."""
    rng = np.random.default_rng(2)
    truth = np.exp(rng.normal(0, 0.7, 300))
    sample = truth * rng.chisquare(4, 300) / 4
    error = [
        np.mean(np.log(estimate / truth) ** 2)
        for estimate in (moderate(sample, np.full(300, 4), widening=0.0)[0], sample)
    ]
    assert error[0] < 0.7 * error[1]


def test_moderation_needs_company() -> None:
    """With fewer than three shapes, or NaN, variances stay as they are."""
    assert moderate(np.array([1.0, 2.0]), np.array([4, 4]), widening=0.0)[0].tolist() == [1.0, 2.0]
    assert np.isnan(moderate(np.array([1.0, NAN, 3.0, 2.0]), np.array([4, -1, 4, 4]), widening=0.0)[0][1])


def test_the_moderated_error_is_the_conservative_one_where_there_is_no_company() -> None:
    """With one shape nothing is lent, and a side of one seed has no error."""
    rng = np.random.default_rng(3)
    samples = TwoSample.without_floor(rng.normal(0, 1, (1, 5)), rng.normal(0, 2, (1, 7)))
    ours, plain = moderated_error(samples), conservative_welch(samples)
    np.testing.assert_allclose(ours.error, plain.error)
    np.testing.assert_allclose(ours.freedom, plain.freedom)
    lone = moderated_error(TwoSample.without_floor(samples.first[:, :1], samples.second))
    assert np.isnan(lone.freedom[0])
    assert np.isnan(lone.error[0])


@pytest.mark.slow
def test_few_shapes_lend_no_more_than_they_know() -> None:
    """With Holm over three shapes of one noise at five seeds, about 6 % of analyses claim something."""
    analyses, rng, hits = 3000, np.random.default_rng(6), 0
    for _ in range(analyses):
        samples = TwoSample.without_floor(rng.normal(0, 0.02, (3, 5)), rng.normal(0, 0.02, (3, 5)))
        hits += bool((holm(moderated_test(samples)) <= 0.05).any())
    assert hits / analyses <= 0.066


@pytest.mark.parametrize("spread", [pytest.param(0.02, marks=pytest.mark.slow), 0.08])
@pytest.mark.parametrize("n", [5, pytest.param(7, marks=pytest.mark.slow)])
def test_any_false_alarm_of_the_moderated_test_is_rare(n: int, spread: float) -> None:
    """With Holm over 29 shapes at most 5.5 % of analyses, also where one side scatters four times as much."""
    analyses, rng = 400, np.random.default_rng(6)
    hits = 0
    for _ in range(analyses):
        scale = np.exp(rng.normal(0, 0.7, (29, 1)))
        first, second = rng.normal(0, spread, (29, n)) * scale, rng.normal(0, 0.02, (29, n)) * scale
        hits += bool((holm(moderated_test(TwoSample.without_floor(first, second))) <= 0.05).any())
    assert hits / analyses <= 0.055 + 3 * np.sqrt(0.05 * 0.95 / analyses)
