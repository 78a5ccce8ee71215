"""Intervals of a difference of means: oracles, symmetries, and samples that do not vary."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats
from stats_noise import ALIKE, Array, unknown_floor

from abtune.stats.interval import Interval, expanded_percentile, standard_error, welch

METHODS = [expanded_percentile, welch]
SIZES = [(2, 2), (3, 7), (5, 5), (10, 10), (12, 6)]


def sample(n: int, m: int, *, shapes: int = 4, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return rng.normal(0, 0.03, (shapes, n)), rng.gamma(1, 0.05, (shapes, m))


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_welch_agrees_with_scipy(n: int, m: int) -> None:
    """Bounds are those of scipy's Welch t test, in either order of the sides."""
    for first, second in (sample(n, m), sample(n, m)[::-1]):
        ours = welch(first, second, level=0.9, floor=unknown_floor(4))
        oracle = stats.ttest_ind(first, second, axis=1, equal_var=False).confidence_interval(0.9)
        np.testing.assert_allclose([ours.low, ours.high], [oracle.low, oracle.high], rtol=1e-10)


@pytest.mark.parametrize(("n", "m"), [(10, 10), (12, 25)])
def test_expanded_percentile_agrees_with_resampling(n: int, m: int) -> None:
    """The computed quantiles are those that a great many resamples approach."""
    first, second = sample(n, m, shapes=1)
    ours = expanded_percentile(first, second, level=0.95, floor=unknown_floor(1))
    estimate = standard_error(first, second, unknown_floor(1))
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
        there = method(first, second, level=0.95, floor=floor)
        back = method(second, first, level=0.95, floor=floor[:, ::-1])
        assert np.array_equal(there.low, -back.high)
        assert np.array_equal(there.high, -back.low)
        assert np.array_equal(there.difference, -back.difference)


@settings(max_examples=60, deadline=None)
@given(
    data=arrays.arrays(np.float64, (2, 6), elements=st.floats(-1, 1, width=32)),
    shift=st.floats(-30, 30),
)
@pytest.mark.parametrize("method", METHODS)
def test_units_do_not_matter(method, data: Array, shift: float) -> None:
    """Multiplying all times by a constant, a shift of the logs, changes nothing but rounding."""
    plain = method(data[:1], data[1:], level=0.95, floor=unknown_floor(1))
    moved = method(data[:1] + shift, data[1:] + shift, level=0.95, floor=unknown_floor(1))
    np.testing.assert_allclose([moved.low, moved.high], [plain.low, plain.high], atol=2e-6)


@pytest.mark.parametrize("method", METHODS)
def test_company_order_and_padding_do_not_matter(method) -> None:
    """A shape's interval is the same alone, among others, shuffled, and padded with NaN."""
    rng = np.random.default_rng(2)
    first, second = rng.normal(0, 1, (9, 14)), rng.normal(0, 1, (9, 12))
    first[:4, 9:], second[3:6, 5:] = np.nan, np.nan
    whole = method(first, second, level=0.95, floor=unknown_floor(9))
    order = rng.permutation(9)
    shuffled = method(
        rng.permuted(first[order], axis=1),
        rng.permuted(second[order], axis=1),
        level=0.95,
        floor=unknown_floor(9),
    )
    np.testing.assert_allclose(shuffled.low, whole.low[order], rtol=1e-12)
    for row in range(9):
        alone = method(
            first[row][None, ~np.isnan(first[row])], second[row][None], level=0.95, floor=unknown_floor(1)
        )
        np.testing.assert_allclose(
            [alone.low[0], alone.high[0]], [whole.low[row], whole.high[row]], rtol=1e-12
        )


@pytest.mark.parametrize("method", METHODS)
def test_the_interval_holds_the_difference_and_grows_with_the_level(method) -> None:
    """Bounds lie on both sides of the estimate and move outwards with the level."""
    first, second = sample(10, 10, shapes=50)
    previous: Interval | None = None
    for level in (0.5, 0.8, 0.95, 0.99):
        now = method(first, second, level=level, floor=unknown_floor(50))
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
    found = method(first, second, level=0.95, floor=unknown_floor(2))
    np.testing.assert_array_equal(found.low, found.high)
    np.testing.assert_allclose(found.low, [0.0, 0.2], atol=1e-15)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [3, 5, 12])
def test_variance_never_falls_below_that_of_measurement(method, n: int) -> None:
    """With tied seeds the interval is as wide as measurement alone would make it."""
    first, second = np.zeros((1, n)), np.zeros((1, n))
    found = method(first, second, level=0.95, floor=np.array([[1e-4, 4e-4]]))
    freedom = (5e-4) ** 2 / (((1e-4) ** 2 + (4e-4) ** 2) / (n - 1))
    half = stats.t.ppf(0.975, freedom) * np.sqrt(5e-4 / n)
    np.testing.assert_allclose([found.low[0], found.high[0]], [-half, half], rtol=2e-4)


@pytest.mark.parametrize("method", METHODS)
def test_a_floor_below_the_scatter_changes_nothing(method) -> None:
    """Seeds scatter by their measurement too, so the floor is not added on top."""
    first, second = sample(10, 10)
    with_floor = method(first, second, level=0.95, floor=np.full((4, 2), 1e-8))
    without = method(first, second, level=0.95, floor=unknown_floor(4))
    assert np.array_equal(with_floor.low, without.low)


@pytest.mark.parametrize("method", METHODS)
def test_too_few_seeds_give_nan_in_place(method) -> None:
    """A side of one seed has a difference but no interval; an empty side has neither."""
    first = np.array([[1.0, np.nan], [np.nan, np.nan], [1.0, 2.0]])
    second = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    found = method(first, second, level=0.95, floor=unknown_floor(3))
    assert np.isnan(found.low).tolist() == [True, True, False]
    assert np.isnan(found.difference).tolist() == [False, True, False]
