"""Welch's test at strict levels."""

from dataclasses import replace

import numpy as np
import pytest

from abtune.stats.estimates import conservative_welch, standard_error
from abtune.stats.testing.significance import OneSided, split_share, welch_tests
from abtune.stats.two_sample import TwoSample
from abtune.stats.variance import welch_freedom


@pytest.mark.parametrize(("n", "m", "plain_fails"), [(5, 10, True), (5, 5, True), (10, 10, False)])
def test_a_noisy_side_does_not_raise_false_alarms(n: int, m: int, *, plain_fails: bool) -> None:
    """With four times the spread on the smaller side, strict levels nearly hold; Welch's own do not."""
    rng, rows, alpha = np.random.default_rng(7), 60_000, 0.05 / 29
    samples = TwoSample.without_floor(rng.normal(0, 0.08, (rows, n)), rng.normal(0, 0.02, (rows, m)))
    one_split = split_share(samples)
    plain = OneSided(estimate=standard_error(samples), one_split=one_split).difference_p()
    conservative = welch_tests(samples).difference_p()
    assert np.mean(plain <= alpha) > (1.4 if plain_fails else 1.0) * alpha
    assert np.mean(conservative <= alpha) < 1.4 * alpha
    assert (conservative >= plain * (1 - 1e-12)).all()
    assert np.mean(plain <= 0.05) - np.mean(conservative <= 0.05) < 0.01


@pytest.mark.parametrize(("n", "m"), [(5, 5), (5, 9), (12, 3)])
def test_degrees_of_freedom_stay_between_those_of_one_side_and_welchs(n: int, m: int) -> None:
    """They are never more than Welch's nor fewer than the smaller side's, and swapping changes nothing."""
    rng = np.random.default_rng(8)
    samples = TwoSample.without_floor(rng.normal(0, 1, (40, n)), rng.normal(0, 3, (40, m)))
    plain, conservative = standard_error(samples).freedom, conservative_welch(samples).freedom
    assert (conservative <= plain).all()
    assert (conservative >= min(n, m) - 1 - 1e-9).all()
    assert (conservative < plain).mean() > 0.3
    np.testing.assert_allclose(conservative_welch(samples.swapped()).freedom, conservative)
    lone = conservative_welch(TwoSample.without_floor(samples.first[:, :1], samples.second))
    assert np.isnan(lone.freedom).all()


@pytest.mark.parametrize(("n", "m"), [(2, 20), (40, 2), (3, 20), (2, 4)])
def test_two_or_three_seeds_beside_many_keep_strict_levels(n: int, m: int) -> None:
    """They may agree by chance; a quantile of F is then too small, at the level of one of 29 shapes."""
    rng, rows, alpha = np.random.default_rng(9), 60_000, 0.05 / 29
    spread = 4 if (n, m) == (2, 4) else 1
    samples = TwoSample.without_floor(rng.normal(0, spread, (rows, n)), rng.normal(0, 1, (rows, m)))
    p = welch_tests(samples).difference_p()
    assert np.mean(p <= alpha) < alpha
    of_mean = samples.first.var(axis=1, ddof=1) / n, samples.second.var(axis=1, ddof=1) / m
    own = welch_freedom(*of_mean, n, m)
    estimate = replace(standard_error(samples), freedom=own)
    plain = OneSided(estimate=estimate, one_split=split_share(samples)).difference_p()
    assert np.mean(plain <= alpha) > 5 * alpha
