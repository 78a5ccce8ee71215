"""Every interval by its name: oracles, symmetries, and what they owe to ties and few seeds."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from noise_kinds import ALIKE, Array
from scipy import stats

from abtune.stats.estimand import Estimand
from abtune.stats.estimates import Interval, median_error
from abtune.stats.intervals.interval_methods import METHODS, methods_for
from abtune.stats.two_sample import TwoSample

NAMES = [(name, estimand) for (estimand, name), method in METHODS.items() if not method.paired]


def interval(
    name: str,
    first: Array,
    second: Array,
    *,
    estimand: Estimand = Estimand.GEOMETRIC_MEAN,
    floor: Array | None = None,
    level: float = 0.95,
) -> Interval:
    limits = np.full((len(first), 2), np.nan) if floor is None else floor
    method = methods_for(estimand)[name]
    return method.compute(TwoSample(first, second, limits), level=level)


def sample(n: int, m: int, *, shapes: int = 3) -> tuple[Array, Array]:
    rng = np.random.default_rng([n, m])
    return rng.normal(0, 0.03, (shapes, n)), rng.gamma(1, 0.05, (shapes, m))


@pytest.mark.parametrize(("n", "m"), [(5, 5), (6, 6), (10, 10), (7, 12)])
def test_medians_agree_with_scipy(n: int, m: int) -> None:
    """The computed distribution of the median gives the bounds of resampling."""
    first, second = sample(n, m, shapes=1)
    ours = interval("percentile", first, second, estimand=Estimand.MEDIAN)
    oracle = stats.bootstrap(
        (first[0], second[0]),
        lambda x, y, axis: np.median(x, axis=axis) - np.median(y, axis=axis),
        n_resamples=99_999,
        method="percentile",
        rng=np.random.default_rng(11),
    ).confidence_interval
    np.testing.assert_allclose([ours.low[0], ours.high[0]], oracle, atol=0.02 * np.ptp(oracle))


def test_the_error_of_a_median_agrees_with_published_code() -> None:
    """Price and Bonett's standard error, as statpsych::ci.ratio.median2 in R computes it.

    y <- sort(log(c(21, 24, 28, 30, 35, 41, 44))); n <- 7; c <- round((n + 1)/2 - sqrt(n))
    p <- pbinom(c - 1, n, .5); z <- qnorm(1 - p); (y[n - c + 1] - y[c])/(2*z)
    """
    first = np.log([[21.0, 24, 28, 30, 35, 41, 44]])
    estimate = median_error(TwoSample.without_floor(first, np.zeros((1, 7))))
    z = stats.norm.ppf(1 - stats.binom.cdf(0, 7, 0.5))
    assert estimate.error[0] == pytest.approx((np.log(44) - np.log(21)) / (2 * z))
    assert estimate.difference[0] == pytest.approx(np.log(30))


def swapped_cases() -> Iterator[object]:
    """Every method with equal and unequal numbers of seeds."""
    for (name, estimand), (n, m) in itertools.product(NAMES, [(3, 7), (5, 5), (10, 10), (12, 6), (11, 11)]):
        yield pytest.param(name, estimand, n, m)


@pytest.mark.parametrize(("name", "estimand", "n", "m"), list(swapped_cases()))
def test_swapping_the_sides_negates_the_interval_exactly(
    name: str, estimand: Estimand, n: int, m: int
) -> None:
    """No bit depends on which side is called first, also with ties and floors."""
    rng = np.random.default_rng(5)
    for noise in ALIKE.values():
        first, second = noise(rng, (6, n)), noise(rng, (6, m))
        if n == m:
            second[0] = first[0]
        floor = rng.choice([np.nan, 0.0, 1e-6, 1e-2], (6, 2))
        there = interval(name, first, second, estimand=estimand, floor=floor)
        back = interval(name, second, first, estimand=estimand, floor=floor[:, ::-1])
        assert np.array_equal(there.low, -back.high)
        assert np.array_equal(there.high, -back.low)


@pytest.mark.parametrize(("name", "estimand"), NAMES)
def test_units_company_and_padding_do_not_matter(name: str, estimand: Estimand) -> None:
    """A shape's interval is the same alone, among others, padded, and in other units."""
    rng = np.random.default_rng(2)
    first, second = rng.normal(0, 0.1, (4, 8)), rng.normal(0, 0.1, (4, 7))
    first[:2, 6:] = np.nan
    whole = interval(name, first, second, estimand=estimand)
    for row, shift in itertools.product(range(4), (0.0, -9.0)):
        one = first[row][None, ~np.isnan(first[row])] + shift
        alone = interval(name, one, second[row][None] + shift, estimand=estimand)
        np.testing.assert_allclose(
            [alone.low[0], alone.high[0]], [whole.low[row], whole.high[row]], atol=1e-7
        )


@pytest.mark.parametrize(("name", "estimand"), NAMES)
@pytest.mark.parametrize("n", [2, 4, 5, 10])
def test_intervals_are_bounded_whatever_ties(name: str, estimand: Estimand, n: int) -> None:
    """Constant and tied samples have finite bounds on both sides of the estimate."""
    first, second = np.zeros((3, n)), np.zeros((3, n))
    first[1] = 0.2
    first[2, 0] = second[2, -1] = 0.1
    for floor in (np.full((3, 2), np.nan), np.full((3, 2), 1e-4)):
        bounds = interval(name, first, second, estimand=estimand, floor=floor)
        assert np.isfinite([bounds.low, bounds.high]).all()
        assert (bounds.low <= bounds.difference).all()
        assert (bounds.difference <= bounds.high).all()
        if not np.isnan(floor).any():
            assert (bounds.high - bounds.low > 1e-4).all()


@pytest.mark.parametrize(("name", "estimand"), NAMES)
def test_too_few_seeds_give_nan_in_place(name: str, estimand: Estimand) -> None:
    """A side of one seed has a difference but no interval; an empty side has neither."""
    first = np.array([[1.0, np.nan], [np.nan, np.nan], [1.0, 2.0]])
    second = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    bounds = interval(name, first, second, estimand=estimand)
    assert np.isnan(bounds.low).tolist() == [True, True, False]
    assert np.isnan(bounds.difference).tolist() == [False, True, False]


def test_medians_of_more_than_a_thousand_values_have_an_interval() -> None:
    """An even number of values for which binomial coefficients overflow gives about what one less gives."""
    values = stats.norm.ppf((np.arange(1100) + 0.5) / 1100)[np.newaxis]
    width = []
    for n in (1100, 1099):
        bounds = interval("percentile", values[:, :n], np.zeros((1, 5)), estimand=Estimand.MEDIAN)
        width.append(bounds.high[0] - bounds.low[0])
    assert width[0] == pytest.approx(width[1], rel=0.05)
    assert width[0] == pytest.approx(2 * 1.96 * np.sqrt(np.pi / 2 / 1100), rel=0.05)
