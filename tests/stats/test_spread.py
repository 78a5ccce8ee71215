"""How well a standard deviation is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from noise_kinds import Noise, bimodal, lognormal, skewed
from scipy import stats

from abtune.stats.spread import pooled_spread, spread_intervals

SPREADS = np.array([1.0, 1.0, 2.0, 2.0, 5.0, 5.0])


def test_normal_samples_are_never_narrower_than_chi_square() -> None:
    """The interval holds the one that is exact for normal noise."""
    values = np.random.default_rng(0).normal(0, 1, (4, 9))
    low, high = spread_intervals(values, level=0.9)
    variance = values.var(axis=1, ddof=1)
    exact = np.sqrt(8 * variance / stats.chi2(8).ppf([[0.95], [0.05]]))
    assert (low <= exact[0] * (1 + 1e-12)).all()
    assert (high >= exact[1] * (1 - 1e-12)).all()


def test_bonett_example() -> None:
    """One sample has Bonett's interval, computed here from the formula of the paper, or a wider one."""
    values = np.random.default_rng(7).exponential(1, 20)
    n, z = 20, stats.norm.ppf(0.975)
    centre = stats.trim_mean(values, 1 / (2 * np.sqrt(n - 4)))
    kurtosis = n * ((values - centre) ** 4).sum() / ((values - values.mean()) ** 2).sum() ** 2
    factor = n / (n - z)
    error = factor * np.sqrt((kurtosis - (n - 3) / n) / (n - 1))
    bonett = np.sqrt(np.exp(np.log(factor * values.var(ddof=1)) + np.array([-z, z]) * error))
    low, high = spread_intervals(values[np.newaxis], level=0.95)
    assert high[0] == pytest.approx(bonett[1])
    assert low[0] <= bonett[0]


@pytest.mark.parametrize(
    ("noise", "scale", "n", "at_least"),
    [
        (lognormal(1), 1, 5, 0.95),
        (lognormal(1), 1, 10, 0.95),
        (skewed(1, 1), 1, 10, 0.91),
        (skewed(1, 1), 1, 20, 0.89),
        (skewed(2, 1), 2**0.5, 10, 0.93),
        (bimodal, 0.038450, 10, 0.87),
    ],
)
def test_spread_intervals_cover_as_often_as_their_notes_say(
    noise: Noise, scale: float, n: int, at_least: float
) -> None:
    """Nominal 95 % intervals cover as often as their notes say, for skewed noise as well."""
    rng = np.random.default_rng(n)
    covered = pooled = 0.0
    for _ in range(600):
        values = noise(rng, (6, n)) / scale * SPREADS[:, np.newaxis]
        low, high = spread_intervals(values, level=0.95)
        covered += ((low <= SPREADS) & (high >= SPREADS)).mean() / 600
        _, low_of_all, high_of_all = pooled_spread(values, level=0.95)
        pooled += (low_of_all <= np.sqrt(np.mean(SPREADS**2)) <= high_of_all) / 600
    assert covered >= at_least
    assert pooled >= at_least - 0.02


@given(seed=st.integers(0, 99), unit=st.floats(1e-6, 1e6), n=st.integers(2, 12))
def test_units_scale(seed: int, unit: float, n: int) -> None:
    """Samples in another unit have intervals in that unit, each around its standard deviation."""
    values = np.random.default_rng(seed).normal(0, 1, (3, n))
    low, high = spread_intervals(values, level=0.95)
    np.testing.assert_allclose(spread_intervals(unit * values, level=0.95)[1], unit * high)
    spread = values.std(axis=1, ddof=1)
    assert ((low <= spread) & (spread <= high)).all()


def test_small_and_constant_samples() -> None:
    """One value has no interval, constant ones have zero, and padding changes nothing."""
    values = np.array([[1.0, np.nan, np.nan], [2.0, 2.0, 2.0], [1.0, 2.0, np.nan]])
    low, high = spread_intervals(values, level=0.95)
    assert np.isnan([low[0], high[0]]).all()
    assert (low[1], high[1]) == (0, 0)
    assert high[2] > 1
    spread, _, _ = pooled_spread(values, level=0.95)
    assert spread == pytest.approx(np.sqrt(0.5 / 3))
    assert np.isnan(pooled_spread(values[:1], level=0.95)[0])
