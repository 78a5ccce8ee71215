"""What a design can show."""

import math

import numpy as np
import pytest
from statsmodels.stats.power import TTestIndPower

from abtune.stats.testing.attainable import MOST_SEEDS, attainable_level, fewest_seeds, smallest_p
from abtune.stats.testing.design import (
    _SPLIT_SHARES,
    Requirement,
    Sides,
    _critical_of_splits,
    detectable_boost,
    power,
    seeds_needed,
)
from abtune.stats.testing.significance import moderated_tests, permutation_test, welch_tests
from abtune.stats.two_sample import TwoSample

ALONE, OF_29, OF_A_MILLION = (Requirement(level=0.05 / shapes) for shapes in (1, 29, 1_000_000))


def design(n: int, m: int | None = None, noise: Sides = (0.03, 0.03)) -> tuple[Sides, Sides]:
    return (n, m or n), noise


@pytest.mark.parametrize(
    ("n", "m"), [(2, 2), (3, 3), (5, 5), (7, 7), (3, 5), (6, 4), (15, 15), (16, 16), (12, 20)]
)
def test_smallest_p_is_attained(n: int, m: int) -> None:
    """Complete separation reaches the stated p-value, and nothing goes below it."""
    first, second = np.linspace(0, 0.1, n)[None], np.linspace(5, 5.1, m)[None]
    p = permutation_test(TwoSample.without_floor(first, second), rng=np.random.default_rng(0))
    assert p[0] == pytest.approx(smallest_p(n, m))


def test_smallest_p_of_the_usual_designs() -> None:
    """Five seeds per side cannot pass Holm over 29 shapes; seven can."""
    assert smallest_p(5, 5) == pytest.approx(2 / 252)
    assert smallest_p(1, 10) == 1.0
    assert smallest_p(20, 20) == pytest.approx(1e-5)
    assert smallest_p(2, 60) == pytest.approx(1 / 1891)
    assert fewest_seeds(smallest=OF_29.level) == 7
    assert fewest_seeds(smallest=ALONE.level) == 4
    assert fewest_seeds(smallest=1e-9) == MOST_SEEDS


@pytest.mark.parametrize("n", [30, 60])
@pytest.mark.parametrize("effect", [0.3, 0.6, 1.0])
def test_power_agrees_with_statsmodels(n: int, effect: float) -> None:
    """With many seeds of equal variance power is the power of Student's t test."""
    oracle = TTestIndPower().power(effect, n, 0.05)
    ours = power(np.expm1(0.03 * effect), *design(n), ALONE)
    assert ours == pytest.approx(oracle, abs=2e-3)


def test_power_at_large_noncentrality_is_a_number() -> None:
    """Where scipy's noncentral t is NaN, the power is as good as one."""
    assert power(10.0, *design(7), OF_29) == pytest.approx(1.0)
    assert power(10.0, *design(5), OF_29) == 0


def test_few_seeds_can_reject_at_certain_levels_only() -> None:
    """The levels that the permutation test can have are multiples of its smallest p-value."""
    assert attainable_level(smallest_p(7, 7), 0.05 / 29) == pytest.approx(2 * smallest_p(7, 7))
    assert attainable_level(smallest_p(5, 5), 0.05 / 29) == 0
    assert attainable_level(smallest_p(5, 5), 6 * smallest_p(5, 5)) == pytest.approx(6 * smallest_p(5, 5))
    assert attainable_level(smallest_p(400, 500), 0.001) == pytest.approx(0.001)


@pytest.mark.parametrize(
    ("n", "m", "shapes", "spread"),
    [
        (5, 5, 1, 1),
        (5, 5, 3, 1),
        (7, 7, 29, 1),
        (8, 8, 29, 2),
        (10, 10, 29, 1),
        (6, 9, 1, 4),
        (10, 5, 29, 0.1),
        (5, 10, 29, 1),
        (8, 4, 3, 1),
        pytest.param(9, 7, 10, 2, marks=pytest.mark.slow),
    ],
)
def test_power_is_that_of_the_rule(n: int, m: int, shapes: int, spread: float) -> None:
    """A plan for 80 % gets 77 to 83 % from both tests of a difference together, few seeds or many."""
    rows, alpha, rng = 3_000, 0.05 / shapes, np.random.default_rng([n, m])
    boost = detectable_boost(*design(n, m, (0.02 * spread, 0.02)), Requirement(level=alpha))
    first = rng.normal(np.log1p(boost), 0.02 * spread, (rows, n))
    second = rng.normal(0, 0.02, (rows, m))
    samples = TwoSample.without_floor(first, second)
    welch = welch_tests(samples).difference_p()
    p = np.maximum(welch, permutation_test(samples, rng=rng))
    assert np.mean(p <= alpha * (1 + 1e-12)) == pytest.approx(0.8, abs=0.03 + 3 * np.sqrt(0.16 / rows))


@pytest.mark.parametrize(
    ("n", "m", "agreement", "power"), [(7, 7, math.inf, 0.88), (10, 5, 10, 0.8), (5, 10, 10, 0.8)]
)
def test_a_plan_knows_what_a_moderated_test_gains(n: int, m: int, agreement: float, power: float) -> None:
    """Of 29 shapes with noise of 10:1, 75 to 93 % of sweeps find the boost; without the gain more would.

    Of unequal numbers, the permutation test is the limit if the larger side is noisier.
    """
    sweeps, rng = 300, np.random.default_rng(1)
    goal = Requirement(level=OF_29.level, agreement=agreement)
    first, second = (rng.normal(0, noise, (sweeps, 29, own)) for noise, own in ((0.2, n), (0.02, m)))
    first[:, 0] += np.log1p(detectable_boost(*design(n, m, (0.2, 0.02)), goal))
    sides = [TwoSample.without_floor(*sweep) for sweep in zip(first, second, strict=True)]
    confirming = [moderated_tests(sweep).difference_p()[0] for sweep in sides]
    permuted = permutation_test(TwoSample.without_floor(first[:, 0], second[:, 0]), rng=rng)
    assert np.mean(np.maximum(confirming, permuted) <= goal.level) == pytest.approx(power, abs=0.05)


@pytest.mark.parametrize(("number", "t"), [(0, 5.2), (3, 4.5), (6, 3.0)])
def test_half_of_normal_samples_pass_at_the_t_of_normal_scores(number: int, t: float) -> None:
    """The critical t of 5+10 seeds over 29 shapes depends on the share of the variance."""
    share, rng = _SPLIT_SHARES[number], np.random.default_rng(number)
    critical = _critical_of_splits(5, 10, OF_29.level)[number]
    sides = []
    for n, of_mean in ((5, share), (10, 1 - share)):
        values = rng.standard_normal((600, n))
        values -= values.mean(axis=1, keepdims=True)
        sides.append(values / values.std(axis=1, ddof=1, keepdims=True) * np.sqrt(n * of_mean))
    samples = TwoSample.without_floor(sides[0] + critical, sides[1])
    p = permutation_test(samples, rng=rng)
    assert critical == pytest.approx(t, abs=0.05)
    assert np.mean(p <= OF_29.level) == pytest.approx(0.5, abs=0.12)


def test_detectable_boost_and_seeds_needed_are_inverse() -> None:
    """The boost that n seeds detect takes n seeds to detect."""
    for n in (7, 10, 25):
        boost = detectable_boost(*design(n), OF_29)
        assert seeds_needed(boost * 1.0001, (0.03, 0.03), OF_29) == n
        assert power(boost, *design(n), OF_29) == pytest.approx(0.8, abs=1e-4)


def test_a_resolution_of_its_own_binds_the_seeds_and_not_the_level() -> None:
    """Where many shapes share the splits, five seeds are enough, at the level of the correction."""
    shared = Requirement(level=0.05 / 29, resolution=0.05)
    assert math.isinf(detectable_boost(*design(5), OF_29))
    boost = detectable_boost(*design(5), shared)
    assert np.isfinite(boost)
    assert seeds_needed(boost * 1.0001, (0.03, 0.03), shared) == 5
    assert detectable_boost(*design(25), shared) == pytest.approx(
        detectable_boost(*design(25), OF_29), rel=1e-3
    )


def test_known_sample_sizes() -> None:
    """Seeds for 80 % power at 3 % noise, alone and over 29 shapes, as tabulated elsewhere."""
    boosts = [0.01, 0.02, 0.03, 0.05]
    assert seeds_needed(boosts, (0.03, 0.03), ALONE).tolist() == [144, 38, 18, 8]
    assert seeds_needed(boosts, (0.03, 0.03), OF_29).tolist() == [290, 76, 36, 15]


def test_hopeless_and_noiseless_designs() -> None:
    """No boost is large enough where the correction is out of reach; without noise every one is."""
    assert math.isinf(detectable_boost(*design(5), OF_29))
    assert detectable_boost(*design(7, noise=(0, 0)), OF_29) == 0
    assert seeds_needed(0.02, (0, 0), OF_29) == 7
    assert np.isnan(detectable_boost(*design(5, noise=(np.nan, 0.1)), ALONE))
    assert seeds_needed(0.02, (np.nan, 0.1), ALONE) == 0
    assert seeds_needed(1e-9, (0.03, 0.03), ALONE) == MOST_SEEDS
    # Beyond 15 + 15 seeds splits are sampled, which never pass a correction over a million shapes.
    assert seeds_needed(0.5, (0.03, 0.03), OF_A_MILLION) == fewest_seeds(smallest=OF_A_MILLION.level) < 15
    assert seeds_needed(0.01, (0.03, 0.03), OF_A_MILLION) == MOST_SEEDS
