"""The permutation test of medians."""

import numpy as np
import pytest
from noise_kinds import Array
from scipy import stats

from abtune.stats.estimates import median_error
from abtune.stats.testing.sign_flips import median_permutation_test
from abtune.stats.two_sample import TwoSample


def generator() -> np.random.Generator:
    return np.random.default_rng(11)


@pytest.mark.parametrize(("n", "m"), [(5, 5), (4, 7), (7, 4)])
def test_the_test_of_medians_agrees_with_scipy(n: int, m: int) -> None:
    """P agrees with full enumeration of the studentised difference of medians."""
    rng = np.random.default_rng([n, m])
    first, second = rng.normal(0, 0.03, (2, n)), rng.gamma(1, 0.05, (2, m))

    def statistic(x: Array, y: Array) -> float:
        estimate = median_error(TwoSample.without_floor(x[None], y[None]))
        return abs(estimate.difference[0]) / estimate.error[0]

    oracle = [
        stats.permutation_test(
            (x, y), statistic, vectorized=False, alternative="greater", n_resamples=np.inf
        ).pvalue
        for x, y in zip(first, second, strict=True)
    ]
    samples = TwoSample.without_floor(first, second)
    np.testing.assert_allclose(median_permutation_test(samples, rng=generator()), oracle)


@pytest.mark.parametrize(("n", "m"), [(6, 6), (12, 12), (5, 20)])
def test_the_test_of_medians_is_fair_and_never_zero(n: int, m: int) -> None:
    """False alarms are at most 5.5 %, swapping changes nothing, and certainty is not p = 0."""
    rng = np.random.default_rng(8)
    samples = TwoSample.without_floor(rng.gamma(1, 1, (600, n)), rng.gamma(1, 1, (600, m)))
    p = median_permutation_test(samples, rng=generator())
    assert np.mean(p <= 0.05) <= 0.055 + 3 * np.sqrt(0.05 * 0.95 / 600)
    back = median_permutation_test(samples.rows(slice(9)).swapped(), rng=generator())
    np.testing.assert_allclose(back, p[:9], atol=0.01)
    apart = TwoSample.without_floor(samples.first[:1], samples.second[:1] + 99)
    assert 0 < median_permutation_test(apart, rng=generator())[0] < 0.05
    lone = TwoSample.without_floor([[1.0]], [[1.0, 2.0]])
    assert np.isnan(median_permutation_test(lone, rng=generator())[0])
