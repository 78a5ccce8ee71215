"""Welch's test at strict levels."""

import numpy as np
import pytest
from stats_noise import unknown_floor

from abtune.stats.caution import cautious_error
from abtune.stats.interval import standard_error
from abtune.stats.significance import difference_p, rarest


@pytest.mark.parametrize(("n", "m", "plain_fails"), [(5, 10, True), (5, 5, True), (10, 10, False)])
def test_a_noisy_side_does_not_raise_false_alarms(n: int, m: int, *, plain_fails: bool) -> None:
    """With four times the spread on the smaller side, strict levels nearly hold; Welch's own do not."""
    rng, rows, alpha = np.random.default_rng(7), 60_000, 0.05 / 29
    first, second = rng.normal(0, 0.08, (rows, n)), rng.normal(0, 0.02, (rows, m))
    one_split = rarest(first, second)
    plain = difference_p(standard_error(first, second, unknown_floor(rows)), one_split)
    cautious = difference_p(cautious_error(first, second, unknown_floor(rows)), one_split)
    assert np.mean(plain <= alpha) > (1.4 if plain_fails else 1.0) * alpha
    assert np.mean(cautious <= alpha) < 1.4 * alpha
    assert (cautious >= plain * (1 - 1e-12)).all()
    assert np.mean(plain <= 0.05) - np.mean(cautious <= 0.05) < 0.01


@pytest.mark.parametrize(("n", "m"), [(5, 5), (5, 9), (12, 3)])
def test_degrees_of_freedom_stay_between_those_of_one_side_and_welchs(n: int, m: int) -> None:
    """They are never more than Welch's nor fewer than the smaller side's, and swapping changes nothing."""
    rng = np.random.default_rng(8)
    first, second = rng.normal(0, 1, (40, n)), rng.normal(0, 3, (40, m))
    plain = standard_error(first, second, unknown_floor(40)).freedom
    found = cautious_error(first, second, unknown_floor(40)).freedom
    assert (found <= plain).all()
    assert (found >= min(n, m) - 1 - 1e-9).all()
    assert (found < plain).mean() > 0.3
    back = cautious_error(second, first, unknown_floor(40)).freedom
    np.testing.assert_allclose(back, found)
    lone = cautious_error(first[:, :1], second, unknown_floor(40))
    assert np.isnan(lone.freedom).all()
