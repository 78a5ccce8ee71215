"""Skewness of samples, and whether one side has more of it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from abtune.stats.spread import skewness, skewness_gap
from abtune.stats.two_sample import TwoSample


def test_it_is_the_third_moment_of_each_row() -> None:
    """Rows are those of scipy, without their NaN; short rows and constants have none."""
    values = np.random.default_rng(0).exponential(1.0, (4, 9))
    values[1, 5:] = np.nan
    values[2, 4:] = np.nan
    values[3] = 2.0
    found = skewness(values)
    assert found[0] == pytest.approx(stats.skew(values[0]))
    assert found[1] == pytest.approx(stats.skew(values[1, :5]))
    assert np.isnan(found[2:]).all()


def test_a_constant_row_has_none_whatever_its_mean_is_rounded_to() -> None:
    """Ten equal logs may sum to ten times another number, and still have no skewness."""
    logs = np.log(np.random.default_rng(0).uniform(1e-5, 1e-3, 20))
    values = np.repeat(logs[:, np.newaxis], 10, axis=1)
    assert (values.mean(axis=1) != logs).any()
    assert np.isnan(skewness(values)).all()


def drawn(skewed: bool, shapes: int, seed: int) -> np.ndarray:  # noqa: FBT001
    rng = np.random.default_rng(seed)
    return (rng.exponential if skewed else rng.normal)(1.0, size=(shapes, 10))


def test_a_gap_has_a_sign_and_a_size() -> None:
    """It is the mean difference over shapes, positive if the second side is more skewed."""
    first, second = drawn(skewed=False, shapes=29, seed=1), drawn(skewed=True, shapes=29, seed=2)
    gap = skewness_gap(TwoSample.without_floor(first, second))
    assert gap == pytest.approx(np.mean(stats.skew(second, axis=1) - stats.skew(first, axis=1)))
    assert gap > 0.5
    assert skewness_gap(TwoSample.without_floor(second, first)) == pytest.approx(-gap)


def test_chance_is_no_gap() -> None:
    """Of sides alike, 1 in 20 has a gap; four shapes never have one."""
    gaps = [
        skewness_gap(TwoSample.without_floor(*(drawn(skewed, 29, 2 * seed + side) for side in (0, 1))))
        for seed in range(200)
        for skewed in (False, True)
    ]
    assert np.mean(np.array(gaps) != 0) < 0.08
    few = TwoSample.without_floor(drawn(skewed=False, shapes=4, seed=1), drawn(skewed=True, shapes=4, seed=2))
    assert skewness_gap(few) == 0


@pytest.mark.parametrize(
    ("shapes", "seeds", "errors"), [(10, 10, 1.5), (19, 10, 1.5), (20, 10, 2), (29, 6, 1.5)]
)
def test_few_seeds_ask_for_less_evidence(shapes: int, seeds: int, errors: float) -> None:
    """Below 200 seeds over all shapes a gap counts from 1.5 standard errors on, and from 0.15 on."""
    rng, between = np.random.default_rng(shapes), 0
    for _ in range(200):
        first, second = rng.normal(size=(shapes, seeds)), rng.gamma(20.0, size=(shapes, seeds))
        gap = stats.skew(second, axis=1) - stats.skew(first, axis=1)
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
