"""Pairs as differences and zeros: what takes two samples gives the paired methods."""

import math

import numpy as np
import pytest
from scipy import special, stats

from abtune.stats.estimand import Estimand
from abtune.stats.estimates import conservative_welch, welch
from abtune.stats.intervals.bootstrap import expanded_percentile
from abtune.stats.intervals.interval_methods import methods_for
from abtune.stats.testing.attainable import fewest_seeds, smallest_p
from abtune.stats.testing.design import Requirement, detectable_boost, power, seeds_needed
from abtune.stats.testing.looks import schedule
from abtune.stats.testing.significance import OneSided, split_share
from abtune.stats.testing.step_procedures import max_t
from abtune.stats.two_sample import TwoSample

NAN = float("nan")
PAIRED = methods_for(Estimand.GEOMETRIC_MEAN, paired=True)


def sides(shapes: int = 4, n: int = 6, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    shared = rng.normal(0, 0.1, (shapes, n))
    first, second = shared + rng.normal(0, 0.05, (2, shapes, n))
    return first + 0.04, second


def of_pairs(first: np.ndarray, second: np.ndarray, floor: float = NAN) -> TwoSample:
    return TwoSample.of_pairs(first, second, np.full((len(first), 2), floor))


def test_pairs_of_one_ratio_do_not_vary() -> None:
    """Logs round, so their differences are made equal; a pair without either side stays unknown."""
    first = np.log(np.random.default_rng(0).uniform(1e-4, 1e-3, (3, 8)))
    second = np.log(np.exp(first) / 1.1)
    second[0, 2] = NAN
    second[2, 3] += 1e-9
    samples = of_pairs(first, second)
    assert 0 < np.ptp(first[1] - second[1]) < 1e-14
    assert np.nanmax(samples.first, axis=1)[:2].tolist() == np.nanmin(samples.first, axis=1)[:2].tolist()
    assert np.isnan(samples.first[0, 2])
    np.testing.assert_allclose(samples.first, first - second, atol=1e-14)
    assert np.array_equal(samples.first[2], first[2] - second[2])


def test_it_is_the_paired_t_test() -> None:
    """Difference, interval and p are those of scipy's paired t-test, which the code does not use."""
    first, second = sides()
    oracle = stats.ttest_rel(first, second, axis=1)
    estimate = conservative_welch(of_pairs(first, second))
    assert estimate.freedom.tolist() == pytest.approx([5.0] * 4)
    p = OneSided(estimate=estimate, one_split=split_share(of_pairs(first, second))).difference_p()
    assert p.tolist() == pytest.approx(oracle.pvalue.tolist())
    bounds, interval = oracle.confidence_interval(0.95), welch(of_pairs(first, second), level=0.95)
    np.testing.assert_allclose([interval.low, interval.high], [bounds.low, bounds.high])


def test_an_incomplete_pair_drops_out() -> None:
    """A gap on either side is as if the pair had not been made."""
    first, second = sides(n=8)
    holes = first.copy(), second.copy()
    holes[0][:, 2], holes[1][:, 5] = NAN, NAN
    kept = np.delete(first, (2, 5), axis=1), np.delete(second, (2, 5), axis=1)
    for method in PAIRED.values():
        one, two = (method.compute(of_pairs(*pair), level=0.95) for pair in (holes, kept))
        np.testing.assert_allclose([one.low, one.high], [two.low, two.high], rtol=1e-12)
    assert of_pairs(*holes).sizes.tolist() == [[6, 6]] * 4


@pytest.mark.parametrize("name", PAIRED)
@pytest.mark.parametrize("n", [2, 4, 5, 9, 12])
def test_swapping_the_sides_negates_the_interval(name: str, n: int) -> None:
    """The same random numbers stand behind both; the order of the seeds does not matter either."""
    first, second = sides(n=n, seed=n)
    order = np.random.default_rng(n).permutation(n)
    intervals = [
        PAIRED[name].compute(of_pairs(*pair, floor=1e-4), level=0.9)
        for pair in ((first, second), (second, first), (first[:, order], second[:, order]))
    ]
    np.testing.assert_allclose(intervals[0].low, -intervals[1].high, rtol=1e-11)
    np.testing.assert_allclose(intervals[0].low, intervals[2].low, rtol=1e-12)


def test_the_default_is_widened_to_the_paired_t_below_twenty_pairs() -> None:
    """At nineteen pairs it is no narrower; below five it is the paired t."""
    for n in (3, 4, 7, 19):
        samples = of_pairs(*sides(n=n, seed=n))
        ours, closed = expanded_percentile(samples, level=0.95), welch(samples, level=0.95)
        assert (ours.low <= closed.low).all()
        assert (ours.high >= closed.high).all()
        if n < 5:
            np.testing.assert_array_equal(ours.low, closed.low)


def test_the_bootstrap_is_that_of_resampled_pairs() -> None:
    """Percentiles of the mean of resampled differences, expanded by Hesterberg's tails."""
    first, second = sides(shapes=1, n=20, seed=5)
    difference = (first - second)[0]
    rng = np.random.default_rng(0)
    means = rng.choice(difference, (200_000, 20)).mean(axis=1)
    tail = special.ndtr(-math.sqrt(20 / 19) * stats.t.ppf(0.975, 19))
    low, high = np.quantile(means, [tail, 1 - tail])
    interval = expanded_percentile(of_pairs(first, second), level=0.95)
    width = high - low
    assert [interval.low[0], interval.high[0]] == pytest.approx([low, high], abs=0.02 * width)


def test_the_floor_is_that_of_both_sides() -> None:
    """Differences cannot vary less than both measurements together; one that is unknown adds nothing."""
    first = np.full((1, 4), 0.1)
    both = TwoSample.of_pairs(first, 0 * first, np.array([[3e-4, 1e-4]]))
    one = TwoSample.of_pairs(first, 0 * first, np.array([[NAN, 1e-4]]))
    assert conservative_welch(both).error.tolist() == pytest.approx([math.sqrt(4e-4 / 4)])
    assert conservative_welch(one).error.tolist() == pytest.approx([math.sqrt(1e-4 / 4)])
    assert math.isnan(of_pairs(first, 0 * first).floor[0, 0])


def test_independent_sides_are_never_taken_for_pairs() -> None:
    """A second sample of other seeds has another interval, and ``paired`` is kept by rows and swaps."""
    first, second = sides()
    alone = TwoSample.without_floor(first, second)
    assert not alone.rows(slice(0, 2)).swapped().paired
    assert of_pairs(first, second).rows(slice(0, 2)).swapped().paired
    assert (welch(alone, level=0.95).high > welch(of_pairs(first, second), level=0.95).high).all()


def test_the_smallest_p_of_pairs() -> None:
    """2/2^n: 10 pairs do not pass Holm's first step over 29 shapes, and 11 do."""
    assert [smallest_p(n, n, paired=True) for n in (0, 1, 2, 10)] == [1.0, 1.0, 0.5, 2 / 1024]
    assert smallest_p(31, 31, paired=True) == smallest_p(1_000_000, 1_000_000, paired=True) == 1e-5
    assert smallest_p(10, 10, paired=True) > 0.05 / 29 >= smallest_p(11, 11, paired=True)
    assert fewest_seeds(smallest=0.05 / 29, paired=True) == 11
    assert fewest_seeds(smallest=0.05, paired=True) == 6
    assert [look.seeds for look in schedule(alpha=0.05, most=40, paired=True)] == [6, 15, 40]


@pytest.mark.parametrize("n", [6, 12, 20])
def test_power_is_that_of_the_paired_t_test(n: int) -> None:
    """The noncentral t at the level that the sign-flip test attains."""
    level = math.floor(0.05 / smallest_p(n, n, paired=True)) * smallest_p(n, n, paired=True)
    critical, effect = stats.t.ppf(1 - level / 2, n - 1), math.log1p(0.1) * math.sqrt(n) / 0.1
    oracle = stats.nct.sf(critical, n - 1, effect) + stats.nct.cdf(-critical, n - 1, effect)
    computed = power(0.1, (n, n), (0.1, 0.0), Requirement(level=0.05, paired=True))
    assert float(computed) == pytest.approx(oracle, abs=2e-3)


@pytest.mark.parametrize(("pairs", "boost"), [(6, 0.35), (7, 0.3), (8, 0.25), (12, 0.15)])
def test_power_where_shapes_share_the_flips(pairs: int, boost: float) -> None:
    """Max-T over 29 shapes finds what the plan says, also of few flips."""
    rng, hits, reports = np.random.default_rng(pairs), 0, 400
    for _ in range(reports):
        noise = rng.normal(0, 0.1, (29, pairs))
        noise[0] += math.log1p(boost)
        samples = of_pairs(noise, np.zeros((29, pairs)))
        hits += float(max_t(samples, rng=rng)[0]) <= 0.05
    goal = Requirement(level=0.05 / 29, resolution=0.05, paired=True)
    planned = float(power(boost, (pairs, pairs), (0.1, 0.0), goal))
    assert hits / reports == pytest.approx(planned, abs=0.03 + 3 * math.sqrt(0.25 / reports))


def test_seeds_needed_are_pairs() -> None:
    """At least the fewest that pass the correction, and as many as their own detectable boost takes."""
    wanted = Requirement(level=0.05 / 29, paired=True)
    assert int(seeds_needed(3.0, (0.01, 0.0), wanted)) == 11
    n = int(seeds_needed(0.1, (0.1, 0.0), wanted))
    for pairs, enough in ((n - 1, False), (n, True)):
        assert (float(detectable_boost((pairs, pairs), (0.1, 0.0), wanted)) <= 0.1) is enough
    assert math.isinf(detectable_boost((10, 10), (0.1, 0.0), wanted))
    assert int(seeds_needed(1e-4, (0.1, 0.0), Requirement(level=1e-7, paired=True))) == 1_000_000
