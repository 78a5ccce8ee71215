"""Step-down max-T: an oracle by plain enumeration, and what missing seeds do."""

import itertools

import numpy as np
import pytest
from noise_kinds import ALIKE, Array

from abtune.stats.testing.step_procedures import max_t
from abtune.stats.two_sample import TwoSample

pair = TwoSample.without_floor


def generator() -> np.random.Generator:
    return np.random.default_rng(3)


def welch_t(x: Array, y: Array) -> Array:
    error = x.var(axis=1, ddof=1) / x.shape[1] + y.var(axis=1, ddof=1) / y.shape[1]
    return np.abs(x.mean(axis=1) - y.mean(axis=1)) / np.sqrt(error)


def enumerated(first: Array, second: Array) -> Array:
    """Step down over all splits, written as the book has it."""
    n, pooled = first.shape[1], np.concatenate([first, second], axis=1)
    observed = welch_t(first, second)
    order = np.argsort(-observed)
    rows = []
    for chosen in itertools.combinations(range(pooled.shape[1]), n):
        rest = [column for column in range(pooled.shape[1]) if column not in chosen]
        rows.append(welch_t(pooled[:, list(chosen)], pooled[:, rest]))
    t, p, last = np.array(rows), np.empty(len(first)), 0.0
    for step, shape in enumerate(order):
        share = np.mean(t[:, order[step:]].max(axis=1) >= observed[shape] * (1 - 1e-9))
        last = p[shape] = max(last, share)
    return p


@pytest.mark.parametrize(("n", "m"), [(3, 3), (4, 5), (5, 4), (5, 5)])
def test_it_is_what_the_book_says(n: int, m: int) -> None:
    """Adjusted p-values agree with plain enumeration, whichever side comes first."""
    rng = np.random.default_rng([n, m])
    first, second = rng.normal(0, 1, (6, n)), rng.normal(0, 1, (6, m)) + np.arange(6)[:, np.newaxis]
    adjusted = max_t(pair(first, second), rng=generator())
    np.testing.assert_allclose(adjusted, enumerated(first, second), rtol=1e-9)
    back = max_t(pair(second, first), rng=generator())
    np.testing.assert_allclose(back, adjusted, rtol=1e-9)


def test_random_splits_agree_with_all_of_them() -> None:
    """At 10 + 10 seeds 9,999 random splits give about what enumeration gives at 8 + 8."""
    rng = np.random.default_rng(1)
    first, second = rng.normal(0, 1, (8, 10)), rng.normal(0.3, 1, (8, 10))
    p = [max_t(pair(first, second), rng=np.random.default_rng(seed)) for seed in range(2)]
    np.testing.assert_allclose(p[0], p[1], atol=0.03)
    assert not np.array_equal(p[0], p[1])
    certain = max_t(pair(first, second + 99), rng=generator())
    np.testing.assert_allclose(certain, 1e-4, atol=3e-4)
    assert (certain > 0).all()


def test_five_seeds_can_show_something() -> None:
    """29 shapes at 5 + 5 seeds: the smallest adjusted p is 2 in 252, where Holm's would be 29 times that."""
    rng = np.random.default_rng(2)
    first, second = rng.normal(0, 0.01, (29, 5)), rng.normal(0.5, 0.01, (29, 5))
    adjusted = max_t(pair(first, second), rng=generator())
    np.testing.assert_allclose(adjusted, 2 / 252)


def test_missing_seeds_travel_with_their_columns() -> None:
    """Gaps, empty columns and shapes with one empty side neither break nor count."""
    rng = np.random.default_rng(4)
    first, second = rng.normal(0, 1, (5, 6)), rng.normal(0, 1, (5, 6))
    second[0] += 9
    first[1, 3:], second[2, 1:], second[4] = np.nan, np.nan, np.nan
    adjusted = max_t(pair(first, second), rng=generator())
    assert np.isnan(adjusted).tolist() == [False, False, True, False, True]
    assert adjusted[0] < 0.05
    padded = np.concatenate([first, np.full((5, 2), np.nan)], axis=1)
    again = max_t(pair(padded, second), rng=generator())
    np.testing.assert_allclose(again, adjusted)
    nothing = max_t(pair(first[2:3], second[2:3]), rng=generator())
    assert np.isnan(nothing).all()


def test_constant_samples_count_as_what_they_are() -> None:
    """Equal constants have p = 1, different ones the smallest p, and a floor takes that away."""
    first, second = np.zeros((2, 5)), np.zeros((2, 5))
    second[1] = 0.1
    adjusted = max_t(pair(first, second), rng=generator())
    np.testing.assert_allclose(adjusted, [1.0, 2 / 252])
    floored = max_t(TwoSample(first, second, np.full((2, 2), 1.0)), rng=generator())
    np.testing.assert_allclose(floored, [1.0, 2 / 252])


@pytest.mark.parametrize("name", ALIKE)
def test_any_false_alarm_is_rare(name: str) -> None:
    """With sides alike the family-wise rate is at most 5.5 %, at five seeds too."""
    analyses, rng = 400, np.random.default_rng(6)
    hits = 0
    for _ in range(analyses):
        first, second = ALIKE[name](rng, (29, 5)), ALIKE[name](rng, (29, 5))
        adjusted = max_t(pair(first, second), rng=rng)
        hits += bool((adjusted <= 0.05).any())
    assert hits / analyses <= 0.055 + 3 * np.sqrt(0.05 * 0.95 / analyses)


def test_random_splits_do_not_depend_on_which_side_is_first() -> None:
    """Exchanged sides are the same splits, so p is the same bit for bit."""
    rng = np.random.default_rng(5)
    first, second = rng.normal(0, 1, (4, 10)), rng.normal(0.5, 1, (4, 10))
    here, there = (max_t(pair(*sides), rng=generator()) for sides in ((first, second), (second, first)))
    assert np.array_equal(here, there)
