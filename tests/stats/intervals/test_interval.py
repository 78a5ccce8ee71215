"""Intervals of a difference of means: oracles, symmetries, and samples that do not vary."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from noise_kinds import ALIKE, Array
from scipy import stats

from abtune.stats.estimates import Intervals, standard_error, welch
from abtune.stats.intervals.bootstrap import expanded_percentile
from abtune.stats.two_sample import TwoSample

METHODS = [expanded_percentile, welch]
SIZES = [(2, 2), (3, 7), (5, 5), (10, 10), (12, 6)]


def sample(n: int, m: int, *, shapes: int = 4, seed: int = 0) -> TwoSample:
    rng = np.random.default_rng(seed)
    return TwoSample.without_floor(rng.normal(0, 0.03, (shapes, n)), rng.gamma(1, 0.05, (shapes, m)))


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_welch_agrees_with_scipy(n: int, m: int) -> None:
    """Bounds agree with scipy's Welch t test, in either order of the sides."""
    for samples in (sample(n, m), sample(n, m).swapped()):
        ours = welch(samples, level=0.9)
        oracle = stats.ttest_ind(samples.first, samples.second, axis=1, equal_var=False)
        oracle = oracle.confidence_interval(0.9)
        np.testing.assert_allclose([ours.low, ours.high], [oracle.low, oracle.high], rtol=1e-10)


@pytest.mark.parametrize(("n", "m"), [(10, 10), (12, 25)])
def test_expanded_percentile_agrees_with_resampling(n: int, m: int) -> None:
    """The computed quantiles are those that a great many resamples approach."""
    samples = sample(n, m, shapes=1)
    ours, estimate = expanded_percentile(samples, level=0.95), standard_error(samples)
    first, second = samples.first, samples.second
    plug_in = np.sqrt(first.var() / n + second.var() / m)
    tail = stats.norm.cdf(-estimate.error / plug_in * stats.t.ppf(0.975, estimate.freedom))[0]
    rng = np.random.default_rng(1)
    draws = [rng.choice(side[0], (400_000, side.shape[1])).mean(axis=1) for side in (first, second)]
    sampled = np.quantile(draws[0] - draws[1], [tail, 1 - tail])
    width = ours.high[0] - ours.low[0]
    np.testing.assert_allclose([ours.low[0], ours.high[0]], sampled, atol=0.006 * width)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("n", "m"), [*SIZES, (20, 20), (11, 10)])
def test_swapping_the_sides_negates_the_interval_exactly(method, n: int, m: int) -> None:
    """No bit depends on which side is called first."""
    rng = np.random.default_rng(5)
    for noise in ALIKE.values():
        first, second = noise(rng, (30, n)), noise(rng, (30, m))
        if n == m:
            second[0] = first[0]
        floor = rng.choice([np.nan, 0.0, 1e-6, 1e-2], (30, 2))
        samples = TwoSample(first, second, floor)
        there, back = method(samples, level=0.95), method(samples.swapped(), level=0.95)
        assert np.array_equal(there.low, -back.high)
        assert np.array_equal(there.high, -back.low)
        assert np.array_equal(there.difference, -back.difference)


@settings(max_examples=60)
@given(
    data=arrays.arrays(np.float64, (2, 6), elements=st.floats(-1, 1, width=32)),
    shift=st.floats(-30, 30),
)
@pytest.mark.parametrize("method", METHODS)
def test_units_do_not_matter(method, data: Array, shift: float) -> None:
    """Multiplying all times by a constant, a shift of the logs, changes nothing but rounding."""
    plain = method(TwoSample.without_floor(data[:1], data[1:]), level=0.95)
    moved = method(TwoSample.without_floor(data[:1] + shift, data[1:] + shift), level=0.95)
    np.testing.assert_allclose([moved.low, moved.high], [plain.low, plain.high], atol=2e-6)


@pytest.mark.parametrize("method", METHODS)
def test_company_order_and_padding_do_not_matter(method) -> None:
    """A shape's interval is the same alone, among others, shuffled, and padded with NaN."""
    rng = np.random.default_rng(2)
    first, second = rng.normal(0, 1, (9, 14)), rng.normal(0, 1, (9, 12))
    first[:4, 9:], second[3:6, 5:] = np.nan, np.nan
    whole = method(TwoSample.without_floor(first, second), level=0.95)
    order = rng.permutation(9)
    pair = (rng.permuted(side[order], axis=1) for side in (first, second))
    shuffled = method(TwoSample.without_floor(*pair), level=0.95)
    np.testing.assert_allclose(shuffled.low, whole.low[order], rtol=1e-12)
    for row in range(9):
        known = first[row][None, ~np.isnan(first[row])]
        alone = method(TwoSample.without_floor(known, second[row][None]), level=0.95)
        np.testing.assert_allclose(
            [alone.low[0], alone.high[0]], [whole.low[row], whole.high[row]], rtol=1e-12
        )


@pytest.mark.parametrize("method", METHODS)
def test_the_interval_holds_the_difference_and_grows_with_the_level(method) -> None:
    """Bounds lie on both sides of the estimate and move outwards with the level."""
    samples = sample(10, 10, shapes=50)
    previous: Intervals | None = None
    for level in (0.5, 0.8, 0.95, 0.99):
        now = method(samples, level=level)
        assert (now.low < now.difference).all()
        assert (now.difference < now.high).all()
        if previous:
            assert (now.low < previous.low).all()
            assert (now.high > previous.high).all()
        previous = now


@pytest.mark.parametrize("method", METHODS)
def test_constant_samples_without_a_floor_have_a_point(method) -> None:
    """Seeds that agree exactly give their difference, not NaN."""
    first, second = np.full((2, 7), 0.3), np.full((2, 7), 0.3)
    second[1] = 0.1
    interval = method(TwoSample.without_floor(first, second), level=0.95)
    np.testing.assert_array_equal(interval.low, interval.high)
    np.testing.assert_allclose(interval.low, [0.0, 0.2], atol=1e-15)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [3, 5, 12])
def test_variance_never_falls_below_that_of_measurement(method, n: int) -> None:
    """With tied seeds the interval is as wide as measurement alone would make it."""
    samples = TwoSample(np.zeros((1, n)), np.zeros((1, n)), np.array([[1e-4, 4e-4]]))
    interval = method(samples, level=0.95)
    freedom = (5e-4) ** 2 / (((1e-4) ** 2 + (4e-4) ** 2) / (n - 1))
    half = stats.t.ppf(0.975, freedom) * np.sqrt(5e-4 / n)
    np.testing.assert_allclose([interval.low[0], interval.high[0]], [-half, half], rtol=2e-4)


@pytest.mark.parametrize("method", METHODS)
def test_a_floor_below_the_scatter_changes_nothing(method) -> None:
    """Seeds scatter by their measurement too, so the floor is not added on top."""
    samples = sample(10, 10)
    floor = np.full((4, 2), 1e-8)
    with_floor = method(TwoSample(samples.first, samples.second, floor), level=0.95)
    without = method(samples, level=0.95)
    assert np.array_equal(with_floor.low, without.low)


@pytest.mark.parametrize("method", METHODS)
def test_too_few_seeds_give_nan_in_place(method) -> None:
    """A side of one seed has a difference but no interval; an empty side has neither."""
    first = np.array([[1.0, np.nan], [np.nan, np.nan], [1.0, 2.0]])
    second = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    interval = method(TwoSample.without_floor(first, second), level=0.95)
    assert np.isnan(interval.low).tolist() == [True, True, False]
    assert np.isnan(interval.difference).tolist() == [False, True, False]
