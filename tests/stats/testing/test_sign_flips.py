"""The sign-flip test of pairs against its definition, and max-T over its flips."""

import itertools

import numpy as np
import pytest

from abtune.stats.splits import MOST_PAIRS
from abtune.stats.testing.significance import sign_flip_test, split_share
from abtune.stats.testing.step_procedures import max_t
from abtune.stats.two_sample import TwoSample

NAN = float("nan")


def pairs_of(differences: object) -> TwoSample:
    rows = np.atleast_2d(np.asarray(differences, dtype=float))
    return TwoSample.of_pairs(rows, np.zeros_like(rows), np.full((len(rows), 2), NAN))


def p_of(differences: object) -> list[float]:
    return sign_flip_test(pairs_of(differences), rng=np.random.default_rng(0)).tolist()


def enumerated(differences: np.ndarray) -> float:
    """Count every flip, as the test is defined."""
    sums = [np.dot(flip, differences) for flip in itertools.product((1, -1), repeat=len(differences))]
    return float(np.mean(np.abs(sums) >= abs(differences.sum()) - 1e-12))


@pytest.mark.parametrize("n", range(2, 13))
def test_p_is_the_share_of_all_flips(n: int) -> None:
    """By hand for every number of pairs that can be enumerated, also with ties and zeros."""
    rng = np.random.default_rng(n)
    rows = [rng.normal(0.3, 1, n), rng.integers(-2, 4, n).astype(float), np.r_[0.0, np.ones(n - 1)]]
    assert p_of(rows) == pytest.approx([enumerated(row) for row in rows], abs=1e-15)


def test_values_of_fisher() -> None:
    """Darwin's maize (Fisher 1935, section 21): 863 of 32,768 flips reach the sum of 314 on one side."""
    darwin = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
    assert p_of(darwin) == [pytest.approx(2 * 863 / 2**15)]


def test_few_pairs() -> None:
    """One pair has no test; of two, at most half of the flips are as extreme; equal sides have p = 1."""
    assert np.isnan(p_of([[1.0, NAN]])[0])
    assert p_of([[1.0, 2.0], [0.0, 0.0]]) == [0.5, 1.0]


def test_neither_order_nor_sign_nor_gaps_matter() -> None:
    """A row in another order, negated, or with an incomplete pair in between, has the same p exactly."""
    row = np.random.default_rng(1).normal(0.4, 1, 9)
    p = p_of(row)
    assert p_of(row[::-1]) == p == p_of(-row)
    assert p_of(np.insert(row, 4, NAN)) == p


def test_many_pairs_are_sampled_around_the_counted_value() -> None:
    """Up to 30 pairs are counted; one more is sampled, and near the value that the counting has."""
    row = np.random.default_rng(2).normal(0.35, 1, MOST_PAIRS)
    counted, sampled = p_of(row)[0], p_of(np.r_[row, 1e-12])[0]
    assert counted == pytest.approx(sampled, abs=4 * np.sqrt(counted / 99_999))
    assert p_of(np.ones(MOST_PAIRS)) == [2.0**-29]
    assert p_of(np.ones(MOST_PAIRS + 1)) == [1e-5]
    assert split_share(pairs_of(np.ones(10))).tolist() == [2.0**-10]


def test_max_t_counts_flips_of_whole_columns() -> None:
    """By its definition: step down over the largest squared t of the remaining shapes."""
    rng = np.random.default_rng(3)
    rows = rng.normal(0, 1, (3, 7)) + np.array([[2.0], [0.5], [0.0]])
    flips = np.array(list(itertools.product((1, -1), repeat=7)))

    def squared(values: np.ndarray) -> np.ndarray:
        return np.mean(values, axis=-1) ** 2 / (np.var(values, axis=-1, ddof=1) / values.shape[-1])

    t, observed = squared(flips[:, np.newaxis, :] * rows), squared(rows)
    order = np.argsort(-observed)
    expected, least = np.empty(3), 0.0
    for rank, shape in enumerate(order):
        largest = t[:, order[rank:]].max(axis=1)
        least = max(least, float(np.mean(largest >= observed[shape] * (1 - 1e-9))))
        expected[shape] = least
    assert max_t(pairs_of(rows), rng=rng).tolist() == pytest.approx(expected.tolist())


def test_max_t_beyond_what_is_counted() -> None:
    """Twenty pairs are sampled: a clear difference has the smallest p, and an untested shape has none."""
    rows = np.random.default_rng(4).normal(0, 1, (3, 20))
    rows[0] += 5
    rows[2, 1:] = NAN
    p = max_t(pairs_of(rows), rng=np.random.default_rng(0))
    assert p[0] == 1e-4
    assert p[1] > 0.01
    assert np.isnan(p[2])
    assert np.isnan(max_t(pairs_of(rows[2]), rng=np.random.default_rng(0))).all()


def test_max_t_is_not_hidden_by_a_shape_with_too_few_pairs() -> None:
    """Three pairs that agree have a huge t in a quarter of the flips, but no p of 0.05; their p stays."""
    rows = np.random.default_rng(5).normal(1, 0.2, (4, 8))
    rows[3] = [1.0, 1.001, 0.999, *[NAN] * 5]
    every, some = (
        max_t(pairs_of(rows), rng=np.random.default_rng(0), alpha=alpha).tolist() for alpha in (1, 0.05)
    )
    assert every == [0.25] * 4
    assert some == [*max_t(pairs_of(rows[:3]), rng=np.random.default_rng(0)), 0.25]
    assert max(some[:3]) < 0.05
