"""Intervals that hold all shapes at once."""

import tracemalloc

import numpy as np
import pytest
from noise_kinds import ALIKE, Array, lognormal, skewed
from scipy import stats

from abtune.stats.estimates import conservative_welch, standard_error
from abtune.stats.intervals import bootstrap_t
from abtune.stats.intervals.bootstrap_t import (
    critical_value,
    resample_tails,
    resampled,
    simultaneous,
)
from abtune.stats.two_sample import TwoSample
from abtune.stats.variance import quantile

SHAPES = 29


def computed(samples: TwoSample, level: float = 0.95) -> tuple[Array, Array]:
    tails = resample_tails(samples, level=level, rng=np.random.default_rng(0))
    interval = simultaneous(samples, tails, level=level)
    return interval.low, interval.high


def drawn(shapes: int = 6, n: int = 8, m: int = 8) -> TwoSample:
    rng = np.random.default_rng([shapes, n, m])
    return TwoSample.without_floor(rng.normal(0, 0.03, (shapes, n)), rng.normal(0, 0.02, (shapes, m)))


def test_resamples_have_the_measurement_variance_that_seeds_lack() -> None:
    """Seeds that agree by chance are no surer than their timings. Larger variances stay as they are."""
    seeds = drawn(n=8, m=8)
    observed = np.stack([seeds.first.var(axis=1, ddof=1), seeds.second.var(axis=1, ddof=1)], axis=1)
    (own,) = resampled(seeds, rng=np.random.default_rng(0))
    for times, more in ((0.5, 0.0), (3.0, 2.0)):
        floored = TwoSample(seeds.first, seeds.second, times * observed)
        (group,) = resampled(floored, rng=np.random.default_rng(0))
        lacking = more * observed.sum(axis=1) / 8
        np.testing.assert_allclose(group.scale**2, own.scale**2 + lacking[group.index], rtol=1e-9)


def test_the_critical_value_is_that_of_independent_shapes() -> None:
    """For normal tails the product of the shapes' distributions gives the quantile of their maximum."""
    share = (np.arange(bootstrap_t.RESAMPLES) + 0.5) / bootstrap_t.RESAMPLES
    one = np.sort(np.abs(stats.norm.ppf(share)))[-600:]
    for shapes in (1, 5, SHAPES):
        critical = critical_value(np.repeat(one[:, np.newaxis], shapes, axis=1), level=0.95)
        assert critical == pytest.approx(stats.norm.isf((1 - 0.95 ** (1 / shapes)) / 2), rel=0.02)


@pytest.mark.parametrize("n", [8, 9, 100, 101, 300])
def test_each_value_is_drawn_as_often_as_by_chance(n: int) -> None:
    """Whatever the method: n draws, each value once on average, with the variance of a multinomial count."""
    rows = 20_000
    counts = bootstrap_t._draw_counts(rows, n, np.random.default_rng(0)).astype(float)
    assert (counts.sum(axis=1) == n).all()
    spread = np.sqrt((1 - 1 / n) / rows)  # standard error of the mean count of a value
    assert np.abs(counts.mean(axis=0) - 1).max() < 5 * spread
    np.testing.assert_allclose(counts.var(axis=0).mean(), 1 - 1 / n, rtol=0.01)
    # Neighbours compete for the draws, and are independent otherwise.
    shifted = (counts[:, 1:] - 1) * (counts[:, :-1] - 1)
    assert shifted.mean() == pytest.approx(-1 / n, abs=5 / np.sqrt(shifted.size))


@pytest.mark.parametrize(("n", "kept"), [(9, True), (201, False)])
def test_only_draws_of_few_seeds_stay_in_memory(n: int, *, kept: bool) -> None:
    """Draws of thousands of seeds take gigabytes."""
    bootstrap_t._kept_draws.cache_clear()
    rows = [next(resampled(drawn(1, n, n), rng=np.random.default_rng(0))).t for _ in range(2)]
    assert (rows[0] == rows[1]).all()
    assert bootstrap_t._kept_draws.cache_info().hits == kept


def test_only_the_tails_of_many_shapes_stay_in_memory() -> None:
    """All resamples of a shape take 320 kB, and those of 10,000 shapes 3 GB."""
    samples = drawn(1000, 5, 5)
    tracemalloc.start()
    resample_tails(samples, level=0.95, rng=np.random.default_rng(0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40e6


def test_it_is_the_quantile_of_the_largest_t_of_joint_resamples() -> None:
    """Drawing the shapes together, which the product avoids, gives the same critical value."""
    samples = drawn()
    (resamples,) = resampled(samples, rng=np.random.default_rng(0))
    rng = np.random.default_rng(1)
    joint = np.abs(np.stack([rng.permutation(column) for column in resamples.t.T]))
    low, high = computed(samples)
    critical = (high - low) / 2 / standard_error(samples).error
    np.testing.assert_allclose(critical, critical[0])
    assert critical[0] == pytest.approx(np.quantile(joint.max(axis=0), 0.95), rel=0.04)


@pytest.mark.parametrize("n", [5, 6])
def test_resamples_of_few_seeds_come_as_often_as_their_probability_says(n: int) -> None:
    """All resamples of pairs, n to the power of n, have the same t; freely drawn ones would miss by more."""
    values = np.random.default_rng(n).normal(0.01, 0.03, n)
    every = values[np.indices((n,) * n).reshape(n, -1)]
    variance = np.maximum(every.var(axis=0, ddof=1), 0.01 * values.var(ddof=1))
    exact = np.sort((every.mean(axis=0) - values.mean()) / np.sqrt(variance / n))
    limits = np.quantile(exact, [0.02, 0.05, 0.3, 0.7, 0.95, 0.98]) + 1e-9
    shares = np.searchsorted(exact, limits) / exact.size
    pairs = TwoSample.of_pairs(values[np.newaxis], np.zeros((1, n)), np.full((1, 2), np.nan))
    for seed in range(5):
        (resamples,) = resampled(pairs, rng=np.random.default_rng(seed))
        attained = (resamples.t <= limits).mean(axis=0)
        np.testing.assert_allclose(attained, shares, atol=0.0012)


@pytest.mark.parametrize(("n", "m"), [(8, 8), (6, 9)])
def test_swapping_the_sides_negates_the_bounds(n: int, m: int) -> None:
    """Bit for bit; and units do not matter."""
    samples = drawn(6, n, m)
    low, high = computed(samples)
    back_low, back_high = computed(samples.swapped())
    assert np.array_equal(low, -back_high)
    assert np.array_equal(high, -back_low)
    moved = TwoSample.without_floor(samples.first + 3, samples.second + 3)
    np.testing.assert_allclose(computed(moved), (low, high), rtol=1e-6)


@pytest.mark.parametrize("paired", [False, True])
def test_swapping_sides_without_noise_mirrors_their_resamples(*, paired: bool) -> None:
    """Only the noise of measuring is left, and it changes its sign with the sides."""
    constant = np.full((1, 6), 0.1), np.zeros((1, 6))
    floor = np.array([[1e-4, np.nan]])
    samples = (TwoSample.of_pairs if paired else TwoSample)(*constant, floor)
    (here,), (there,) = (
        resampled(sides, rng=np.random.default_rng(0)) for sides in (samples, samples.swapped())
    )
    assert np.array_equal(here.error, -there.error)


def test_more_shapes_and_a_higher_level_are_wider() -> None:
    """The bounds of a shape widen with the level and with the number of shapes beside it."""
    samples = drawn(SHAPES, 10, 10)
    width = [
        np.ptp(computed(samples.rows(slice(shapes)), level), axis=0)[0]
        for shapes, level in ((1, 0.95), (5, 0.95), (SHAPES, 0.95), (SHAPES, 0.99))
    ]
    assert np.all(np.diff(width) > 0)


def test_few_seeds_take_students_t() -> None:
    """Below five seeds per side nothing is resampled; other shapes share the rest of the level."""
    samples = drawn(4)
    samples.first[0, 3:] = np.nan
    low, high = computed(samples)
    estimate = conservative_welch(samples)
    half = quantile(estimate.freedom, 0.95 ** (1 / 4)) * estimate.error
    assert high[0] - low[0] == pytest.approx(2 * half[0])
    others = np.ptp(computed(samples.rows(slice(1, None)), 0.95 ** (3 / 4)), axis=0)
    np.testing.assert_allclose(high[1:] - low[1:], others)


def test_what_cannot_be_resampled_has_an_answer() -> None:
    """Constant samples have no width, single seeds no bounds, and both leave the others alone."""
    samples = drawn(3)
    samples.first[0], samples.second[0], samples.first[1, 1:] = 0.5, 0.2, np.nan
    low, high = computed(samples)
    assert (low[0], high[0]) == pytest.approx((0.3, 0.3))
    assert np.isnan([low[1], high[1]]).all()
    assert low[2] < high[2]
    nothing = computed(samples.rows(slice(1, 2)))
    assert np.isnan(nothing).all()


def test_known_tails_give_the_same_as_new_ones() -> None:
    """Resampling the one shape that changed completes the tails of the others."""
    samples = drawn(4)
    others = drawn(4)
    others.first[1] = np.nan
    known, whole = (
        resample_tails(sample, level=0.95, rng=np.random.default_rng(0)) for sample in (others, samples)
    )
    again = resample_tails(samples, level=0.95, rng=np.random.default_rng(0), known=known)
    assert (known.index.tolist(), again.index.tolist()) == ([0, 2, 3], [0, 2, 3, 1])
    assert np.array_equal(again.pool.counts, whole.pool.counts)
    low, high = computed(samples)
    bounds = simultaneous(samples, again, level=0.95)
    np.testing.assert_allclose((bounds.low, bounds.high), (low, high))


@pytest.mark.slow
@pytest.mark.parametrize(
    "pair",
    [
        *((noise, noise) for noise in ALIKE.values()),
        (lognormal(0.08), lognormal(0.02)),
        (skewed(1, 0.06), lognormal(0.02)),
    ],
    ids=[*ALIKE, "spread 4:1", "one side skewed"],
)
@pytest.mark.parametrize("n", [5, 10])
def test_all_shapes_are_held_at_once(pair: tuple, n: int) -> None:
    """In 95 of 100 reports every one of 29 shapes lies within its bounds, under skew too."""
    rng, held, reports = np.random.default_rng([4, n]), 0, 100
    for _ in range(reports):
        low, high = computed(TwoSample.without_floor(*(noise(rng, (SHAPES, n)) for noise in pair)))
        held += bool(((low <= 1e-12) & (high >= -1e-12)).all())
    assert held / reports >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / reports)
