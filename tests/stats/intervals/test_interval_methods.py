"""Every interval by its name: oracles, symmetries, and what they owe to ties and few seeds."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from noise_kinds import ALIKE, Array

from abtune.stats.estimand import Estimand
from abtune.stats.estimates import Intervals
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
) -> Intervals:
    limits = np.full((len(first), 2), np.nan) if floor is None else floor
    method = methods_for(estimand)[name]
    return method.compute(TwoSample(first, second, limits), level=level)


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
