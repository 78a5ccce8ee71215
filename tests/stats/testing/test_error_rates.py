"""The bars that the default interval and test have to meet, by simulation.

Reduced from 5,000 replications; a bar is missed when the simulated rate is beyond it by more than three
binomial standard errors.
"""

import math

import numpy as np
import pytest
from closed_forms import equivalence_test, welch_test
from noise_kinds import ALIKE, Noise, lognormal, skewed

from abtune.compare.settings import Settings
from abtune.compare.statistics import run_tests
from abtune.stats.estimates import welch
from abtune.stats.intervals.bootstrap import expanded_percentile
from abtune.stats.testing.significance import permutation_test, welch_tests
from abtune.stats.testing.step_procedures import holm
from abtune.stats.two_sample import TwoSample

pair = TwoSample.without_floor

REPLICATIONS = 2000


def slow_case(*values: object) -> object:
    """Return a case that only the slow run has."""
    return pytest.param(*values, marks=pytest.mark.slow)


def slack(rate: float, replications: int = REPLICATIONS) -> float:
    return 3 * math.sqrt(rate * (1 - rate) / replications)


def coverage(method, first: Noise, second: Noise, n: int, m: int, *, seed: int) -> float:
    rng = np.random.default_rng([seed, n, m])
    one, two = first(rng, (REPLICATIONS, n)), second(rng, (REPLICATIONS, m))
    interval = method(pair(one, two), level=0.95)
    return float(np.mean((interval.low <= 1e-12) & (interval.high >= -1e-12)))


@pytest.mark.parametrize("name", ALIKE)
@pytest.mark.parametrize("n", [5, 10, pytest.param(20, marks=pytest.mark.slow)])
def test_the_default_interval_covers_what_it_promises(name: str, n: int) -> None:
    """Nominal 95 % is .935 to .975 at 10 and 20 seeds of the same shape, and at least .94 at 5."""
    share = coverage(expanded_percentile, ALIKE[name], ALIKE[name], n, n, seed=1)
    low, high = (0.94, 1.0) if n == 5 else (0.935, 0.975)
    assert low - slack(low) <= share <= high + slack(0.975)


@pytest.mark.parametrize("n", [10, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize("method", [expanded_percentile, welch])
def test_one_skewed_side_is_covered(method, n: int) -> None:
    """With one side skewed and the other tight, at least .90."""
    share = coverage(method, skewed(1, 0.06), lognormal(0.02), n, n, seed=2)
    assert share >= 0.90 - slack(0.90)


@pytest.mark.parametrize(("n", "m"), [(3, 3), (5, 5), (10, 10), (5, 15), (15, 5)])
def test_very_unequal_spread_is_covered(n: int, m: int) -> None:
    """One side of 20 % noise and one of 1 %, as a baseline and a candidate can be."""
    share = coverage(expanded_percentile, lognormal(0.2), lognormal(0.01), n, m, seed=3)
    assert 0.93 - slack(0.93) <= share <= 0.975 + slack(0.975)


@pytest.mark.parametrize("name", ALIKE)
@pytest.mark.parametrize(("n", "m"), [(10, 10), (7, 7), slow_case(5, 15), slow_case(10, 7)])
def test_false_alarms_of_one_shape(name: str, n: int, m: int) -> None:
    """The permutation test calls a difference in 3.5 to 5.5 % of null comparisons; ties make it rarer."""
    rng = np.random.default_rng([4, n, m])
    one, two = ALIKE[name](rng, (REPLICATIONS, n)), ALIKE[name](rng, (REPLICATIONS, m))
    share = float(np.mean(permutation_test(pair(one, two), rng=rng) <= 0.05))
    low = 0.0 if name == "tied" else 0.035
    assert low - slack(0.035) <= share <= 0.055 + slack(0.055)


@pytest.mark.parametrize("name", [name if name == "exponential" else slow_case(name) for name in ALIKE])
def test_false_alarms_over_29_shapes(name: str) -> None:
    """With Holm, any false alarm among 29 shapes comes in at most 5.5 % of analyses."""
    analyses = 600
    rng = np.random.default_rng(5)
    one, two = ALIKE[name](rng, (29 * analyses, 9)), ALIKE[name](rng, (29 * analyses, 9))
    p = permutation_test(pair(one, two), rng=rng).reshape(analyses, 29)
    share = np.mean([(holm(row) <= 0.05).any() for row in p])
    assert share <= 0.055 + slack(0.055, analyses)


@pytest.mark.parametrize("spread", [0.02, 0.2])
def test_false_alarms_with_unequal_spread_need_both_tests(spread: float) -> None:
    """If one side scatters more, the permutation test alone fails over many shapes; with Welch's it holds."""
    analyses = 600
    rng = np.random.default_rng(6)
    one, two = rng.normal(0, spread, (29 * analyses, 9)), rng.normal(0, spread / 20, (29 * analyses, 9))
    tests = permutation_test(pair(one, two), rng=rng), welch_test(pair(one, two))
    both = [[holm(row) <= 0.05 for row in p.reshape(analyses, 29)] for p in tests]
    assert np.any(both[0], axis=1).mean() > 0.1
    assert np.any(np.logical_and(*both), axis=1).mean() <= 0.055 + slack(0.055, analyses)


@pytest.mark.parametrize("name", ALIKE)
@pytest.mark.parametrize("n", [5, 10])
def test_false_equivalence(name: str, n: int) -> None:
    """A difference of exactly the margin is called equivalent in at most 5.5 % of comparisons."""
    rng = np.random.default_rng([7, n])
    one, two = ALIKE[name](rng, (REPLICATIONS, n)), ALIKE[name](rng, (REPLICATIONS, n)) + 0.1
    p = equivalence_test(pair(one, two), margin=0.1)
    assert np.mean(p <= 0.05) <= 0.055 + slack(0.055)


UNEVEN = [(5, 20, (0.02, 0.02)), (20, 5, (0.02, 0.02)), (5, 10, (0.08, 0.02)), (5, 5, (0.08, 0.02))]


@pytest.mark.parametrize(("n", "m", "spread"), UNEVEN, ids=str)
def test_false_equivalence_over_29_shapes(n: int, m: int, spread: tuple[float, float]) -> None:
    """Shapes that differ by exactly the margin are called equivalent in at most 5.5 % of analyses."""
    analyses = 1500
    rng = np.random.default_rng([8, n, m])
    one, two = rng.normal(0.2, spread[0], (29 * analyses, n)), rng.normal(0, spread[1], (29 * analyses, m))
    samples = pair(one, two)
    p = welch_tests(samples).equivalence_p(margin=0.2).reshape(analyses, 29)
    share = np.mean([(holm(row) <= 0.05).any() for row in p])
    assert share <= 0.055 + slack(0.055, analyses)


def test_equivalence_is_as_conservative_as_the_test_of_a_difference() -> None:
    """Tests of equivalence have the conservative degrees of freedom, too."""
    rng = np.random.default_rng(9)
    one, two = rng.normal(0.01, 0.001, (6, 5)), rng.normal(0, 0.001, (6, 20))
    settings = Settings(baseline="a", candidate="b")
    samples = pair(one, two)
    result = run_tests(samples, settings, rng)
    expected = welch_tests(samples).equivalence_p(margin=math.log(1.02))
    assert result.p_equivalence == pytest.approx(expected, rel=1e-12)
