"""Tests of a difference and of equivalence: oracles, symmetries, ties."""

import itertools
import math
import tracemalloc
import warnings
from fractions import Fraction

import numpy as np
import pytest
from closed_forms import equivalence_test, welch_test
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from noise_kinds import ALIKE, Array, tied
from scipy import stats
from statsmodels.stats.weightstats import ttost_ind

from abtune.stats import splits
from abtune.stats.estimates import welch
from abtune.stats.splits import RESAMPLES, counted_in_blocks, counted_in_halves, is_exact, sampled
from abtune.stats.testing.significance import moderated_tests, permutation_test, split_share, welch_tests
from abtune.stats.testing.step_procedures import holm
from abtune.stats.two_sample import TwoSample

pair = TwoSample.without_floor


def generator() -> np.random.Generator:
    return np.random.default_rng(7)


def absolute_t(x: Array, y: Array, axis: int) -> Array:
    error = x.var(axis, ddof=1) / x.shape[axis] + y.var(axis, ddof=1) / y.shape[axis]
    return np.abs(x.mean(axis) - y.mean(axis)) / np.sqrt(error)


def absolute_difference(x: Array, y: Array, axis: int) -> Array:
    return np.abs(x.mean(axis) - y.mean(axis))


def scipy_p(first: Array, second: Array) -> float:
    statistic = absolute_difference if len(first) == len(second) else absolute_t
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # splits without variance
        result = stats.permutation_test(
            (first, second), statistic, alternative="greater", n_resamples=np.inf, vectorized=True
        )
    return float(result.pvalue)


@pytest.mark.parametrize(("n", "m"), [(2, 2), (3, 3), (5, 5), (7, 7), (4, 6), (6, 4), (2, 8), (7, 6)])
def test_exact_test_agrees_with_scipy(n: int, m: int) -> None:
    """p-values agree with full enumeration, with and without ties."""
    rng = np.random.default_rng(n * 100 + m)
    first, second = rng.normal(0, 1, (6, n)), rng.normal(0.5, 2, (6, m))
    first[3:], second[3:] = first[3:].round(), second[3:].round() + 0.5
    p = permutation_test(pair(first, second), rng=generator())
    np.testing.assert_allclose(p, [scipy_p(a, b) for a, b in zip(first, second, strict=True)], rtol=1e-9)


def rational_p(first: Array, second: Array) -> float:
    """Share of the splits of n + n values whose difference is as large, without rounding."""
    n = len(first)
    values = [Fraction(float(value)) for value in (*first, *second)]
    away = [abs(2 * sum(subset) - sum(values)) for subset in itertools.combinations(values, n)]
    return sum(distance >= away[0] for distance in away) / len(away)


@pytest.mark.parametrize("n", [4, 5])
@pytest.mark.parametrize("spread", [1e-2, 1e-3, 1e-4, 1e-5, 1e-6])
def test_little_scatter_loses_no_split(n: int, spread: float) -> None:
    """Logs of about -9 that hardly vary have the p of rational arithmetic, in any order and any unit."""
    rng = np.random.default_rng([n, round(1 / spread)])
    first, second = rng.normal(-9, spread, (30, n)), rng.normal(-9 + spread, spread, (30, n))
    p = permutation_test(pair(first, second), rng=generator())
    np.testing.assert_allclose(p, [rational_p(a, b) for a, b in zip(first, second, strict=True)], rtol=1e-12)
    assert np.array_equal(p, permutation_test(pair(second, first), rng=generator()))
    assert np.array_equal(
        p, permutation_test(pair(first + np.log(1e3), second + np.log(1e3)), rng=generator())
    )


@pytest.mark.parametrize(("n", "m"), [(4, 4), (5, 5), (4, 6)])
@pytest.mark.parametrize("step", [1e-3, 1e-5, 1e-7])
def test_timings_of_few_digits_tie_in_every_unit(n: int, m: int, step: float) -> None:
    """Means of whole clock ticks have the p of the ticks, in seconds and in milliseconds."""
    rng = np.random.default_rng([n, m])
    ticks = rng.normal(0, 5, (40, n)).round(), rng.normal(4, 5, (40, m)).round()
    p = permutation_test(pair(*ticks), rng=generator())
    for unit in (1.234e-4, 0.1234):
        times = [unit * (1 + step * side) for side in ticks]
        again = permutation_test(pair(*times), rng=generator())
        np.testing.assert_allclose(again, p, rtol=1e-12)


def test_ten_seeds_a_side_agree_with_scipy() -> None:
    """The usual design gives the p-value of all 184,756 splits."""
    rng = np.random.default_rng(3)
    first, second = tied(rng, (1, 10)), tied(rng, (1, 10)) + 0.02
    p = permutation_test(pair(first, second), rng=generator())
    assert p[0] == pytest.approx(scipy_p(first[0], second[0]), rel=1e-9)


@pytest.mark.parametrize(("n", "m"), [(20, 20), (12, 30)])
def test_sampled_splits_agree_with_the_t_test(n: int, m: int) -> None:
    """With many seeds of normal noise, random splits give what Welch's test gives."""
    rng = np.random.default_rng(4)
    assert not is_exact(n, m)
    first, second = rng.normal(0, 1, (5, n)), rng.normal(0.4, 1, (5, m))
    p = permutation_test(pair(first, second), rng=generator())
    oracle = stats.ttest_ind(first, second, axis=1, equal_var=False).pvalue
    np.testing.assert_allclose(p, oracle, atol=0.02)


def test_sampled_splits_depend_on_the_generator_alone() -> None:
    """The same generator gives the same p, in any company and order; its state moves by one draw."""
    rng = np.random.default_rng(4)
    first, second = rng.normal(0, 1, (5, 18)), rng.normal(0.4, 1, (5, 18))
    whole = permutation_test(pair(first, second), rng=generator())
    assert np.array_equal(whole, permutation_test(pair(first, second), rng=generator()))
    assert np.array_equal(whole[::-1], permutation_test(pair(first[::-1], second[::-1]), rng=generator()))
    assert np.array_equal(whole[2:3], permutation_test(pair(first[2:3], second[2:3]), rng=generator()))
    other = permutation_test(pair(first, second), rng=np.random.default_rng(8))
    np.testing.assert_allclose(other, whole, atol=6 * np.sqrt(0.25 / RESAMPLES))
    assert not np.array_equal(other, whole)


def test_the_global_random_state_is_not_used() -> None:
    """NumPy's global state is neither read nor moved."""
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    permutation_test(pair(np.arange(40.0)[None], np.arange(40.0)[None] + 1), rng=generator())
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


@pytest.mark.parametrize(("n", "m"), [(5, 5), (10, 10), (5, 9), (18, 18), (14, 16)])
def test_swapping_the_sides_keeps_every_p(n: int, m: int) -> None:
    """No test prefers a side; a one-sided test after choosing the better side would."""
    rng = np.random.default_rng(6)
    here = pair(rng.normal(0, 1, (8, n)), rng.gamma(1, 1, (8, m)))
    there = here.swapped()
    tests = (
        lambda samples: permutation_test(samples, rng=generator()),
        welch_test,
        lambda samples: equivalence_test(samples, margin=0.5),
    )
    for test in tests:
        assert np.array_equal(test(here), test(there))


@settings(max_examples=80)
@given(
    data=arrays.arrays(np.int64, (2, 6), elements=st.integers(-5, 5)),
    shift=st.integers(-8, 8),
    scale=st.sampled_from([0.25, 1.0, 64.0]),
)
def test_ties_and_units_do_not_change_the_permutation_p(data: Array, shift: int, scale: float) -> None:
    """P does not change when the integers are shifted and scaled, and lies in (0, 1]."""
    first, second = data[:1].astype(float), data[1:].astype(float)
    samples = pair(first, second)
    p = permutation_test(samples, rng=generator())[0]
    moved = pair((first + shift) * scale / 3, (second + shift) * scale / 3)
    assert 0 < p <= 1
    assert permutation_test(moved, rng=generator())[0] == pytest.approx(p, rel=1e-9)


@pytest.mark.parametrize(("n", "m"), [(2, 2), (6, 6), (3, 8), (17, 17), (10, 25)])
def test_equal_constants_have_p_one_and_complete_separation_the_smallest(n: int, m: int) -> None:
    """Degenerate samples get the p-value that counting gives them."""
    from abtune.stats.testing.attainable import smallest_p

    first, second = np.full((2, n), 0.1), np.full((2, m), 0.1)
    second[1] = 0.2
    p = permutation_test(pair(first, second), rng=generator())
    assert p[0] == 1.0
    assert p[1] == pytest.approx(smallest_p(n, m))
    assert welch_test(pair(first, second))[0] == 1.0


def test_too_few_seeds_are_no_test() -> None:
    """A single sample is never significant: its p is NaN."""
    samples = pair([[1.0], [np.nan]], [[5.0, 5.1, 5.2], [5.0, 5.1, 5.2]])
    assert np.isnan(permutation_test(samples, rng=generator())).all()
    assert np.isnan(welch_test(samples)).all()
    assert np.isnan(equivalence_test(samples, margin=0.1)).all()


def test_the_share_of_a_split() -> None:
    """One split among all of them, for any numbers of seeds."""
    samples = pair([[1.0, 2.0, 3.0], [1.0, np.nan, np.nan]], [[1.0, 2.0, np.nan], [3.0, 4.0, 5.0]])
    np.testing.assert_allclose(split_share(samples), [1 / 10, 1 / 4])


@pytest.mark.parametrize(("n", "m"), [(5, 5), (10, 10), (4, 11)])
def test_welch_test_agrees_with_scipy_and_its_interval(n: int, m: int) -> None:
    """P is scipy's, and at most alpha exactly where the interval excludes zero."""
    rng = np.random.default_rng(9)
    first, second = rng.normal(0, 1, (200, n)), rng.normal(0.8, 2, (200, m))
    samples = pair(first, second)
    p = welch_test(samples)
    np.testing.assert_allclose(p, stats.ttest_ind(first, second, axis=1, equal_var=False).pvalue, rtol=1e-9)
    interval = welch(samples, level=0.9)
    assert np.array_equal(p <= 0.1, (interval.low > 0) | (interval.high < 0))


@pytest.mark.parametrize(("n", "m"), [(5, 5), (10, 10), (4, 11)])
def test_equivalence_agrees_with_statsmodels_and_its_interval(n: int, m: int) -> None:
    """P agrees with two one-sided Welch tests, dual to the interval at 1 - 2 alpha."""
    rng = np.random.default_rng(10)
    here = pair(rng.normal(0, 0.02, (60, n)), rng.normal(0.005, 0.01, (60, m)))
    for samples in (here, here.swapped()):
        oracle = [
            ttost_ind(a, b, -0.02, 0.02, usevar="unequal")[0]
            for a, b in zip(samples.first, samples.second, strict=True)
        ]
        np.testing.assert_allclose(equivalence_test(samples, margin=0.02), oracle, rtol=1e-8)
    interval = welch(here, level=0.9)
    inside = (interval.low > -0.02) & (interval.high < 0.02)
    assert np.array_equal(equivalence_test(here, margin=0.02) <= 0.05, inside)


def test_equivalence_knows_the_measurement_variance() -> None:
    """Tied seeds are equivalent only as far as their measurement resolves the margin."""
    same = np.zeros((2, 10))
    samples = TwoSample(same, same, np.array([[1e-8, 1e-8], [1e-2, 1e-2]]))
    p = equivalence_test(samples, margin=0.02)
    assert p[0] < 1e-6
    assert p[1] > 0.1
    unknown = equivalence_test(pair(same[:1], same[:1]), margin=0.02)
    assert unknown[0] == pytest.approx(1 / 184_756)


def test_no_p_is_ever_zero() -> None:
    """Differences far beyond any noise keep a positive p-value in every test."""
    rng = np.random.default_rng(11)
    first, second = rng.normal(0, 1e-9, (3, 20)), rng.normal(5, 1e-9, (3, 20))
    samples = pair(first, second)
    assert (permutation_test(samples, rng=generator()) > 0).all()
    assert (welch_test(samples) > 0).all()
    assert (equivalence_test(pair(first, first), margin=5.0) > 0).all()


@pytest.mark.parametrize("name", ALIKE)
def test_exact_limits_are_met_from_both_sides(name: str) -> None:
    """Counted in halves, in blocks or sampled, the same data give the same answer."""
    noise = ALIKE[name]
    rng = np.random.default_rng(12)
    pooled = noise(rng, (3, 12))
    pooled -= pooled.mean(axis=1, keepdims=True)
    halves = counted_in_halves(pooled)
    np.testing.assert_allclose(counted_in_blocks(pooled, 6), halves, rtol=1e-9)
    np.testing.assert_allclose(sampled(pooled, 6, generator()), halves, atol=0.01)


def peak_memory(samples: TwoSample) -> int:
    """Return the most bytes that a permutation test of these samples takes."""
    tracemalloc.start()
    permutation_test(samples, rng=generator())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize(("n", "m"), [(12, 12), (5, 19)])
def test_memory_does_not_grow_with_the_shapes(n: int, m: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shapes are counted in blocks that bound the memory, and as one by one."""
    rng = np.random.default_rng(13)
    samples = pair(rng.normal(-9, 0.02, (500, n)), rng.normal(-9, 0.02, (500, m)))
    at_once, p = peak_memory(samples), permutation_test(samples, rng=generator())
    monkeypatch.setattr(splits, "_ELEMENTS", 20_000)
    assert peak_memory(samples) < 2.5e6 < 0.5 * at_once
    assert np.array_equal(p, permutation_test(samples, rng=generator()))
    alone = [permutation_test(samples.rows(slice(row, row + 1)), rng=generator())[0] for row in range(3)]
    assert np.array_equal(p[:3], alone)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "m", "shapes"), [(15, 15, 2000), (6, 30, 700)])
def test_memory_of_thousands_of_shapes(n: int, m: int, shapes: int) -> None:
    """Thousands of shapes, as calibration has them, are counted within 256 MB."""
    rng = np.random.default_rng(13)
    assert peak_memory(pair(rng.normal(-9, 0.02, (shapes, n)), rng.normal(-9, 0.02, (shapes, m)))) < 256e6


def test_variances_of_all_shapes_say_more_than_those_of_one() -> None:
    """Noise is never taken for less than a shape's own; where shapes agree, the same t has a smaller p."""
    rng = np.random.default_rng(0)
    samples = pair(rng.normal(0, 0.02, (29, 8)) + 0.03, rng.normal(0, 0.2, (29, 8)))
    alone, together = (test(samples) for test in (welch_tests, moderated_tests))
    assert (together.estimate.error >= alone.estimate.error).all()
    equal = np.isclose(together.estimate.error, alone.estimate.error)
    assert equal.any()
    assert (together.difference_p() < alone.difference_p())[equal].all()
    # They are no more than those of all shapes together.
    assert (together.estimate.freedom <= 2 * 29 * 7).all()


def test_shapes_that_show_no_common_variance_are_tested_alone() -> None:
    """Four shapes, and shapes without any noise, keep their own variances and degrees of freedom."""
    rng = np.random.default_rng(0)
    few = pair(rng.normal(0, 0.02, (4, 8)), rng.normal(0, 0.2, (4, 8)))
    assert moderated_tests(few).difference_p() == pytest.approx(welch_tests(few).difference_p())
    noisy = pair(rng.normal(0, 0.02, (9, 8)), rng.normal(0, 0.2, (9, 8)))
    noisy.first[0], noisy.second[0] = 0.01, 0.0
    assert moderated_tests(noisy).difference_p()[0] == welch_tests(noisy).difference_p()[0] == 2 / 12870


@pytest.mark.parametrize(
    ("shapes", "sizes", "spreads"),
    [
        (3, (4, 12), (0.3, 0.1)),
        (3, (2, 12), (0.3, 0.1)),
        (5, (3, 8), (0.3, 0.03)),
        (29, (8, 8), (0.2, 0.02)),
        (29, (5, 10), (0.08, 0.02)),
    ],
)
def test_shapes_that_agree_by_chance_make_no_false_difference(
    shapes: int, sizes: tuple[int, int], spreads: tuple[float, float]
) -> None:
    """With unequal noise, few shapes and few seeds, at most 5 % of reports have a false difference."""
    reports = 600
    rng = np.random.default_rng([shapes, *sizes])
    one = rng.normal(0, spreads[0], (reports * shapes, sizes[0]))
    two = rng.normal(0, spreads[1], (reports * shapes, sizes[1]))
    # One shape has three times the noise of the others.
    one[::shapes] *= 3
    samples = pair(one, two)
    rows = [samples.rows(slice(start, start + shapes)) for start in range(0, len(one), shapes)]
    confirming = np.concatenate([moderated_tests(report).difference_p() for report in rows])
    p = np.maximum(confirming, permutation_test(samples, rng=rng)).reshape(reports, shapes)
    wrong = np.mean([(holm(row) <= 0.05).any() for row in p])
    assert wrong <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / reports)
