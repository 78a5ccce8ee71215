"""Skewness of samples, and whether one side has more of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from abtune.stats.skewness import (
    is_skewed_both_ways,
    misled,
    more_skewed,
    skewness,
    skewness_gap,
    two_modes,
    with_noise_of_all,
)
from abtune.stats.two_sample import TwoSample


def test_it_is_the_third_moment_of_each_row() -> None:
    """Rows are those of scipy, without their NaN; short rows and constants have none."""
    values = np.random.default_rng(0).exponential(1.0, (4, 9))
    values[1, 5:] = np.nan
    values[2, 4:] = np.nan
    values[3] = 2.0
    computed = skewness(values)
    assert computed[0] == pytest.approx(stats.skew(values[0]))
    assert computed[1] == pytest.approx(stats.skew(values[1, :5]))
    assert np.isnan(computed[2:]).all()


def test_a_constant_row_has_none_whatever_its_mean_is_rounded_to() -> None:
    """Ten equal logs may sum to ten times another number, and still have no skewness."""
    logs = np.log(np.random.default_rng(0).uniform(1e-5, 1e-3, 20))
    values = np.repeat(logs[:, np.newaxis], 10, axis=1)
    assert (values.mean(axis=1) != logs).any()
    assert np.isnan(skewness(values)).all()


def drawn(skewed: bool, shapes: int, seed: int) -> np.ndarray:  # noqa: FBT001
    rng = np.random.default_rng(seed)
    return (rng.exponential if skewed else rng.normal)(1.0, size=(shapes, 10))


def of_means(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the skewness of the difference of two means of as many values, in units of a single side's."""
    third = stats.moment(second, 3, axis=1) - stats.moment(first, 3, axis=1)
    return 2**1.5 * third / (first.var(axis=1) + second.var(axis=1)) ** 1.5


def test_a_gap_has_a_sign_and_a_size() -> None:
    """It is the mean over shapes, positive if the second side is more skewed."""
    first, second = drawn(skewed=False, shapes=29, seed=1), drawn(skewed=True, shapes=29, seed=2)
    gap = skewness_gap(TwoSample.without_floor(first, second))
    assert gap == pytest.approx(of_means(first, second).mean())
    assert gap > 0.5
    assert skewness_gap(TwoSample.without_floor(second, first)) == pytest.approx(-gap)


@pytest.mark.parametrize("times", [0.25, 4.0])
def test_of_sides_that_are_skewed_alike_the_noisier_one_misleads(times: float) -> None:
    """The noisier side decides how skewed the difference of the means is."""
    first, second = drawn(skewed=True, shapes=29, seed=1), times * drawn(skewed=True, shapes=29, seed=2)
    assert skewness_gap(TwoSample.without_floor(first, second)) * (times - 1) > 1.0
    assert skewness_gap(TwoSample.without_floor(first, second / times)) == 0


def test_beside_a_side_whose_seeds_agree_the_skewness_of_the_other_counts() -> None:
    """A baseline without noise hides nothing of a skewed candidate; normal noise has no gap beside it."""
    constant = np.zeros((29, 10))
    for numbers in (10, 7):
        samples = TwoSample.without_floor(constant[:, :numbers], drawn(skewed=True, shapes=29, seed=2))
        assert misled(samples)[0]
        assert misled(samples.swapped())[1]
    normal = [drawn(skewed=False, shapes=29, seed=seed) for seed in range(100)]
    assert np.mean([any(misled(TwoSample.without_floor(constant, one))) for one in normal]) < 0.2
    assert not any(misled(TwoSample.without_floor(constant, constant)))


def test_chance_is_no_gap() -> None:
    """Of sides alike, 1 in 20 has a gap; a lone shape never has one."""
    gaps = [
        skewness_gap(TwoSample.without_floor(*(drawn(skewed, 29, 2 * seed + side) for side in (0, 1))))
        for seed in range(200)
        for skewed in (False, True)
    ]
    assert np.mean(np.array(gaps) != 0) < 0.08
    lone = TwoSample.without_floor(
        drawn(skewed=False, shapes=1, seed=1), drawn(skewed=True, shapes=1, seed=2)
    )
    assert skewness_gap(lone) == 0


@pytest.mark.parametrize("shapes", [2, 4])
def test_of_few_shapes_a_gap_counts_whatever_its_error(shapes: int) -> None:
    """Two to four shapes do not show the standard error of their mean gap; only its size counts."""
    for seed in range(20):
        first, second = (
            drawn(skewed=False, shapes=shapes, seed=seed),
            drawn(skewed=True, shapes=shapes, seed=100 + seed),
        )
        gap = of_means(first, second).mean()
        computed = skewness_gap(TwoSample.without_floor(first, second))
        assert computed == (pytest.approx(gap) if abs(gap) > 0.15 else 0)


@pytest.mark.parametrize(
    ("shapes", "seeds", "errors"), [(10, 10, 1.5), (19, 10, 1.5), (20, 10, 2), (29, 6, 1.5)]
)
def test_few_seeds_ask_for_less_evidence(shapes: int, seeds: int, errors: float) -> None:
    """Below 200 seeds over all shapes a gap counts from 1.5 standard errors on, and from 0.15 on."""
    rng, between = np.random.default_rng(shapes), 0
    for _ in range(200):
        first, second = rng.normal(size=(shapes, seeds)), rng.gamma(20.0, size=(shapes, seeds))
        gap = of_means(first, second)
        ratio = abs(gap.mean()) / stats.sem(gap)
        counts = abs(gap.mean()) > (0.3 if errors == 2 else 0.15) and ratio > errors
        assert bool(skewness_gap(TwoSample.without_floor(first, second))) == counts
        between += abs(gap.mean()) > 0.3 and 1.5 < ratio < 2.0
    assert between > 5


def test_of_pairs_the_differences_count() -> None:
    """If the candidate is now and then far slower, the differences are skewed; swapped, the other way."""
    baseline = drawn(skewed=False, shapes=29, seed=1)
    candidate = baseline + 0.1 * drawn(skewed=True, shapes=29, seed=2)
    pairs = TwoSample.of_pairs(baseline, candidate, np.full((29, 2), np.nan))
    assert skewness_gap(pairs) > 0.5
    assert skewness_gap(pairs.swapped()) == pytest.approx(-skewness_gap(pairs))


def missing(seed: int, losses: tuple[float, float]) -> TwoSample:
    """One search in five of either side ends slower, by these losses on average; eight pairs of 29 shapes."""
    rng = np.random.default_rng(seed)
    first, second = (
        loss * (rng.random((29, 8)) < 0.2) * rng.exponential(size=(29, 8)) + rng.normal(0, 0.003, (29, 8))
        for loss in losses
    )
    return TwoSample.of_pairs(first, second, np.full((29, 2), np.nan))


def test_of_sides_that_both_fail_the_one_that_fails_worse_misleads() -> None:
    """Means above medians show it more often than skewness. Sides that are alike seldom seem to differ."""
    worse, alike = ([missing(seed, (0.1, loss)) for seed in range(100)] for loss in (0.2, 0.1))
    assert np.mean([skewness_gap(pairs) > 0 for pairs in worse]) < 0.6
    assert np.mean([more_skewed(pairs) > 0 for pairs in worse]) > 0.8
    assert all(more_skewed(pairs.swapped()) == pytest.approx(-more_skewed(pairs)) for pairs in worse)
    assert np.mean([more_skewed(pairs) != 0 for pairs in alike]) < 0.25
    unpaired = [TwoSample.without_floor(pairs.first - pairs.second, 0 * pairs.first) for pairs in worse]
    assert np.mean([more_skewed(samples) > 0 for samples in unpaired]) > 0.8


def failing(rng: np.random.Generator, size: tuple[int, int]) -> np.ndarray:
    """Draw noise of 2 % in which one run in five is 30 % slower."""
    return rng.normal(0, 0.02, size) + np.log(1.3) * (rng.random(size) < 0.2)


def half_and_half(seed: int) -> TwoSample:
    """In 15 shapes the second side fails now and then, in 14 the first."""
    rng = np.random.default_rng(seed)
    good, bad = rng.normal(0, 0.02, (29, 10)), failing(rng, (29, 10))
    second = (np.arange(29) < 15)[:, np.newaxis]
    return TwoSample.without_floor(np.where(second, good, bad), np.where(second, bad, good))


def test_skewness_of_either_side_is_found_though_the_mean_gap_is_small() -> None:
    """Shapes in which the first side fails hide those in which the second does; both directions mislead."""
    detected = []
    for seed in range(10):
        samples = half_and_half(seed)
        assert is_skewed_both_ways(samples)
        assert is_skewed_both_ways(samples.swapped())
        assert misled(samples) == (True, True) or skewness_gap(samples) != 0
        pairs = TwoSample.of_pairs(samples.first, samples.second, np.full((29, 2), np.nan))
        detected.append(any(misled(pairs)))
    assert np.mean(detected) >= 0.6
    assert not is_skewed_both_ways(samples.rows(np.array([0, 1, 27, 28])))


def with_own_spreads(rng: np.random.Generator, *, skewed: bool) -> TwoSample:
    """Draw noise of two sides whose spread is another in each shape and side."""
    draw = rng.exponential if skewed else rng.normal
    sides = (draw(size=(29, 10)) * np.exp(rng.uniform(-4, -1.5, (29, 1))) for _ in range(2))
    return TwoSample.without_floor(*sides)


def test_sides_skewed_alike_mislead_both_ways_if_either_may_be_the_noisier() -> None:
    """The noisier side of a shape decides how skewed its difference of means is."""
    rng = np.random.default_rng(0)
    assert np.mean([is_skewed_both_ways(with_own_spreads(rng, skewed=True)) for _ in range(20)]) >= 0.9
    assert np.mean([is_skewed_both_ways(with_own_spreads(rng, skewed=False)) for _ in range(20)]) <= 0.1


def test_equal_values_are_no_skewness_of_either_side() -> None:
    """Searches that end at one of a few kernels repeat their times; some sides do not vary at all."""
    rng = np.random.default_rng(0)
    first, second = np.log1p(0.3 * (rng.random((2, 29, 10)) < 0.15))
    first[:5] = 0.0
    assert not is_skewed_both_ways(TwoSample.without_floor(first, second))
    failing_second = np.where(np.arange(29)[:, np.newaxis] < 15, 0.001 * rng.normal(size=(29, 10)), first)
    assert is_skewed_both_ways(TwoSample.without_floor(failing_second, second))


@pytest.mark.parametrize(
    ("noise", "most"),
    [
        (lambda rng, shape: rng.normal(size=shape), 0.05),
        (lambda rng, shape: rng.exponential(size=shape), 0.05),
        (lambda rng, shape: rng.standard_t(2, shape), 0.25),
        (failing, 0.3),
    ],
    ids=["normal", "exponential", "heavy tails", "failing"],
)
def test_sides_with_the_same_noise_are_rarely_skewed_both_ways(
    noise: Callable[[np.random.Generator, tuple[int, int]], np.ndarray], most: float
) -> None:
    """Heavy tails of both sides make gaps vary, too, but mislead nobody; of pairs they are symmetric."""
    rng = np.random.default_rng(0)
    sides = [(noise(rng, (29, 10)), noise(rng, (29, 10))) for _ in range(40)]
    assert np.mean([is_skewed_both_ways(TwoSample.without_floor(*both)) for both in sides]) <= most
    floor = np.full((29, 2), np.nan)
    assert np.mean([is_skewed_both_ways(TwoSample.of_pairs(*both, floor)) for both in sides]) <= 0.05


def two_schedules(rng: np.random.Generator, size: tuple[int, int]) -> np.ndarray:
    """Draw runs. Half of them are 22 % slower."""
    return rng.choice((-0.1, 0.1), size) + rng.normal(0, 0.01, size)


@pytest.mark.parametrize(("shapes", "seeds"), [(29, 5), (29, 6), (29, 7), (29, 10), (29, 20)])
@pytest.mark.parametrize(
    "noise", [np.random.Generator.normal, np.random.Generator.exponential, failing, two_schedules]
)
def test_two_modes_are_told_from_other_noise(
    noise: Callable[..., np.ndarray], shapes: int, seeds: int
) -> None:
    """A side whose searches end at one of two schedules is found, and hardly any other side."""
    rng, with_two = np.random.default_rng(seeds), []
    for _ in range(50):
        samples = TwoSample.without_floor(rng.normal(size=(shapes, seeds)), noise(rng, size=(shapes, seeds)))
        with_two.append(two_modes(samples))
    first, second = np.mean(with_two, axis=0)
    assert first <= 0.05
    assert second >= 0.7 if noise is two_schedules else second <= 0.2


def test_a_shape_that_shows_one_of_two_modes_has_the_noise_of_all() -> None:
    """The other side keeps its own. Without two modes, or of few shapes or pairs, the samples stay."""
    rng = np.random.default_rng(0)
    first, second = rng.normal(0, 0.05, (29, 7)), two_schedules(rng, (29, 7))
    second[0] = 0.1 + rng.normal(0, 0.01, 7)
    samples = TwoSample.without_floor(first, second)
    floor = with_noise_of_all(samples).floor
    assert np.isnan(floor[:, 0]).all()
    assert np.sqrt(floor[:, 1]) == pytest.approx(np.sqrt(second.var(axis=1, ddof=1).mean()))
    assert floor[0, 1] > 0.08**2
    few = samples.rows(slice(4))
    pairs = TwoSample.of_pairs(first, second, samples.floor)
    for same in (samples.swapped().rows(slice(4)), few, pairs, TwoSample.without_floor(first, first[::-1])):
        assert with_noise_of_all(same) is same


def test_a_side_of_single_runs_has_no_variance_to_pool() -> None:
    """Beside two modes of the other side it stays without one, and NumPy does not warn."""
    modes = two_schedules(np.random.default_rng(0), (29, 7))
    single = np.full_like(modes, np.nan)
    single[:, 0] = 0.0
    floor = with_noise_of_all(TwoSample.without_floor(single, modes)).floor
    assert np.isnan(floor[:, 0]).all()
    assert (floor[:, 1] > 0).all()
