"""Intervals of single shapes that allow for rare slow runs, which only all shapes together show."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from noise_kinds import Array

from abtune.stats.estimates import Intervals
from abtune.stats.intervals.bootstrap import expanded_percentile
from abtune.stats.testing.common_noise import common_noise
from abtune.stats.testing.significance import OneSided, welch_tests
from abtune.stats.two_sample import TwoSample


def knowing(samples: TwoSample) -> OneSided:
    """Return tests that know the noise of all shapes."""
    noise = common_noise(samples, rng=np.random.default_rng(7))
    return replace(welch_tests(samples), common=noise, rounding=samples.rounding)


def both(samples: TwoSample, level: float = 0.95) -> tuple[Intervals, Intervals]:
    """Return the intervals of the shapes, each alone and with the noise of all."""
    alone = expanded_percentile(samples, level=level).widened(samples.rounding)
    return alone, knowing(samples).widened(alone, level=level)


def slow_runs(shapes: int = 29, n: int = 10, seed: int = 1) -> Array:
    """Return logs of two sides; 1 run in 15 of the second is 30 % slower, and its mean noise is zero."""
    rng = np.random.default_rng(seed)
    logs = rng.normal(0, 0.015, (2, shapes, n))
    logs[1] += np.log(1.3) * ((rng.random((shapes, n)) < 1 / 15) - 1 / 15)
    return logs


@pytest.mark.parametrize(("n", "most"), [(5, 0.85), (10, 0.75), (20, 0.85)])
def test_intervals_hold_where_shapes_hide_slow_runs(n: int, most: float) -> None:
    """Alone most intervals of shapes without a slow run miss; with the noise of all shapes few do."""
    held, width = np.zeros(2), np.zeros(2)
    for seed in range(20):
        intervals = both(TwoSample.without_floor(*slow_runs(n=n, seed=seed)))
        held += [np.mean((one.low <= 0) & (one.high >= 0)) / 20 for one in intervals]
        width += [np.mean(one.high - one.low) for one in intervals]
    assert held[0] < most
    assert held[1] > 0.93
    assert width[1] < 1.2 * width[0]


@pytest.mark.parametrize("spreads", [(0.02, 0.02), (0.005, 0.1)])
def test_normal_noise_costs_nothing(spreads: tuple[float, float]) -> None:
    """Of 29 shapes with equal spreads, or very different ones, hardly any report has a wider interval."""
    rng, wider = np.random.default_rng(3), 0
    for _ in range(30):
        scale = np.exp(rng.uniform(*np.log(spreads), (29, 1)))
        alone, known = both(TwoSample.without_floor(*(rng.normal(0, 1, (29, 10)) * scale for _ in range(2))))
        wider += not (np.array_equal(alone.low, known.low) and np.array_equal(alone.high, known.high))
    assert wider <= 1


def test_only_the_end_that_slow_runs_hide_moves() -> None:
    """Slow runs of the second side hide how slow it is: its differences may be too large, not too small."""
    samples = TwoSample.without_floor(*slow_runs())
    alone, known = both(samples)
    assert (known.low < alone.low).mean() > 0.3
    assert np.array_equal(known.high, alone.high)
    swapped = both(samples.swapped())[1]
    assert np.array_equal(swapped.high, -known.low)
    assert np.array_equal(swapped.low, -known.high)


def test_a_shape_that_shows_slow_runs_keeps_its_interval() -> None:
    """Its large error would make t move the end far beyond anything that the noise of all shapes does."""
    logs = slow_runs()
    logs[1, 0, :3] += 0.3
    samples = TwoSample.without_floor(*logs)
    alone, known = both(samples)
    tests = knowing(samples)
    widest = max(noise.half_width(tests.estimate.error, 0.025)[0] for noise in tests.common)
    assert widest > 1.2 * (alone.difference - alone.low)[0]
    assert known.low[0] == alone.low[0]
    most = 1.2 * tests.common[0].difference(0.025)
    moved = known.low < alone.low
    assert (known.difference - known.low <= most + 1e-12)[moved].all()


def test_pairs_know_it() -> None:
    """Now and then the second run of a pair is slow."""
    logs = slow_runs()
    alone, known = both(TwoSample.of_pairs(*logs, np.full((29, 2), np.nan)))
    assert (known.low < alone.low).mean() > 0.3
    assert np.array_equal(known.high, alone.high)


@pytest.mark.parametrize(("shapes", "n"), [(2, 20), (3, 14), (4, 10)])
def test_two_to_four_shapes_know_it_by_forty_runs(shapes: int, n: int) -> None:
    """Forty runs of each side show how often a run is slow."""
    held = np.zeros(2)
    for seed in range(100):
        intervals = both(TwoSample.without_floor(*slow_runs(shapes, n, seed)))
        held += [np.mean((one.low <= 0) & (one.high >= 0)) / 100 for one in intervals]
    assert held[0] < 0.8
    assert held[1] > 0.9


@pytest.mark.parametrize(("shapes", "n"), [(2, 19), (4, 9), (1, 100)])
def test_few_runs_and_lone_shapes_know_nothing(shapes: int, n: int) -> None:
    """They do not show how often a run is slow."""
    alone, known = both(TwoSample.without_floor(*slow_runs(shapes, n)))
    assert np.array_equal(known.low, alone.low)
    assert np.array_equal(known.high, alone.high)


def test_forty_runs_of_one_side_are_not_enough() -> None:
    """The other side may hide slow runs, too."""
    first, second = slow_runs(shapes=4, n=20)
    assert not common_noise(TwoSample.without_floor(first[:, :9], second), rng=np.random.default_rng(0))
    first[:2, 10:], second[2:, 10:] = np.nan, np.nan  # 60 of each side
    assert common_noise(TwoSample.without_floor(first, second), rng=np.random.default_rng(0))
    first, second = slow_runs(shapes=4, n=20)
    assert common_noise(TwoSample.without_floor(first[:, :10], second), rng=np.random.default_rng(0))


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_without_any_other_noise_ends_stay_finite(level: float) -> None:
    """There t is beyond all limits. The difference of the means is not."""
    rng = np.random.default_rng(2)
    slow = 0.3 * (rng.random((29, 20)) < 1 / 5)
    samples = TwoSample.without_floor(np.zeros((29, 20)), slow)
    alone, known = both(samples, level)
    assert np.isfinite(known.low).all()
    assert np.isfinite(known.high).all()
    assert (known.low <= alone.low).all()


def test_shapes_that_do_not_vary_know_the_slow_runs_of_others() -> None:
    """All seeds of such a shape agree, which other shapes show to be luck."""
    logs = slow_runs(n=5)
    logs[:, 5:8] = 0.0
    alone, known = both(TwoSample.without_floor(*logs))
    assert (alone.low[5:8] == 0).all()
    assert (known.low[5:8] < -0.005).all()


def test_a_coarse_timer_moves_the_end_once_more() -> None:
    """What the steps of a timer hide adds to what shapes hide."""
    samples = TwoSample.without_floor(*slow_runs())
    coarse = replace(samples, rounding=np.full(29, 0.001))
    known, wider = both(samples)[1], both(coarse)[1]
    np.testing.assert_allclose(wider.low, known.low - 0.001, atol=1e-12)
    np.testing.assert_allclose(wider.high, known.high + 0.001, atol=1e-12)
