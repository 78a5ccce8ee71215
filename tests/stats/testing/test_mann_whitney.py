"""The Mann-Whitney test."""

import numpy as np
import pytest
from noise_kinds import tied
from scipy import stats

from abtune.stats.testing.sign_flips import mann_whitney_test
from abtune.stats.two_sample import TwoSample

pair = TwoSample.without_floor


@pytest.mark.parametrize(("n", "m"), [(2, 2), (5, 5), (10, 10), (4, 9), (9, 4), (20, 25)])
def test_without_ties_it_agrees_with_scipy(n: int, m: int) -> None:
    """P agrees with scipy's exact test, in either order of the sides."""
    rng = np.random.default_rng([n, m])
    first, second = rng.normal(0, 1, (20, n)), rng.normal(0.5, 2, (20, m))
    oracle = stats.mannwhitneyu(first, second, axis=1, method="exact").pvalue
    np.testing.assert_allclose(mann_whitney_test(pair(first, second)), oracle, rtol=1e-10)
    np.testing.assert_allclose(mann_whitney_test(pair(second, first)), oracle, rtol=1e-10)


@pytest.mark.parametrize(("n", "m"), [(5, 5), (7, 6)])
def test_with_ties_it_agrees_with_enumeration(n: int, m: int) -> None:
    """P is the share of splits whose sum of midranks is as far from its mean."""
    rng = np.random.default_rng(2)
    first, second = tied(rng, (3, n)), tied(rng, (3, m)) + np.log(1.01) * (rng.random((3, 1)) < 0.5)
    pooled = stats.rankdata(np.concatenate([first, second], axis=1), axis=1)
    expected = n * (n + m + 1) / 2
    oracle = [
        stats.permutation_test(
            (ranks[:n], ranks[n:]),
            lambda x, y, axis: np.abs(x.sum(axis=axis) - expected),
            vectorized=True,
            n_resamples=np.inf,
            alternative="greater",
        ).pvalue
        for ranks in pooled
    ]
    np.testing.assert_allclose(mann_whitney_test(pair(first, second)), oracle, rtol=1e-10)


def test_many_seeds_are_approximated() -> None:
    """Beyond 120 seeds in all, p agrees with scipy's normal approximation, ties included."""
    rng = np.random.default_rng(3)
    first, second = tied(rng, (3, 70)), tied(rng, (3, 80)) + 0.001
    first[2], second[2] = first[2].round(1), second[2].round(1)
    oracle = stats.mannwhitneyu(first, second, axis=1, method="asymptotic").pvalue
    np.testing.assert_allclose(mann_whitney_test(pair(first, second)), oracle, rtol=1e-6)
    assert mann_whitney_test(pair(np.zeros((1, 70)), np.zeros((1, 70))))[0] == 1.0


def test_only_the_order_counts() -> None:
    """A failed search may be slow or very slow: p is the same, and constants have p = 1."""
    first = np.arange(6.0)[None]
    second = np.array([[0.5, 1.5, 7.0, 8.0, 9.0]])
    slower = np.array([[0.5, 1.5, 7.0, 8.0, 900.0]])
    assert mann_whitney_test(pair(first, second)) == mann_whitney_test(pair(first, slower))
    assert mann_whitney_test(pair(np.zeros((1, 5)), np.zeros((1, 5))))[0] == 1.0
    assert np.isnan(mann_whitney_test(pair([[1.0]], [[1.0, 2.0]]))[0])


def test_false_alarms_with_ties_and_without() -> None:
    """Exact means at most alpha, also with unequal numbers."""
    rng = np.random.default_rng(4)
    for noise in (tied, lambda rng, shape: rng.normal(0, 1, shape)):
        p = mann_whitney_test(pair(noise(rng, (2000, 7)), noise(rng, (2000, 11))))
        assert np.mean(p <= 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 2000)
