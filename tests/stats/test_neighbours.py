"""Whether runs with neighbouring seed numbers are alike."""

from __future__ import annotations

import numpy as np
import pytest
from compare_builders import make_sweep

import abtune
from abtune.compare.caveats import of_neighbours
from abtune.compare.sentence import of_dependent
from abtune.stats.time_series import compare_neighbours

ALIKE = "Runs with neighbouring seed numbers are alike"


def batches(rng: np.random.Generator, *, series: int, shared: float, size: int = 5) -> np.ndarray:
    """Return ten seeds of each series, in batches that share some of the variance."""
    common = rng.normal(0, np.sqrt(shared), (series, 10 // size, 1))
    return (common + rng.normal(0, np.sqrt(1 - shared), (series, 10 // size, size))).reshape(series, 10)


def test_the_correlation_is_that_of_neighbours() -> None:
    """An alternating series is the least alike, a step the most; the mean over all orders is taken off."""
    rng = np.random.default_rng(0)
    step = compare_neighbours(np.array([[1.0] * 5 + [3.0] * 5]), rng)
    zigzag = compare_neighbours(np.array([[1.0, 3.0] * 5]), rng)
    assert step[0] == pytest.approx(7 / 9 + 1 / 9, abs=0.05)
    assert zigzag[0] == pytest.approx(-1 + 1 / 9, abs=0.05)
    assert step[1] < 0.03
    assert zigzag[1] > 0.97


def test_constant_series_do_not_count() -> None:
    """Seeds that agree exactly have no neighbours that are alike, whatever their mean is rounded to."""
    rng = np.random.default_rng(0)
    series = rng.normal(-9, 0.05, (3, 10))
    constant = np.repeat(np.log(rng.uniform(1e-5, 1e-3, 20))[:, np.newaxis], 10, axis=1)
    result = compare_neighbours(np.concatenate([constant, series]), np.random.default_rng(1))
    assert result == compare_neighbours(series, np.random.default_rng(1))


@pytest.mark.parametrize("common", [0.0, 1.0])
def test_independent_seeds_are_rarely_called_alike(common: float) -> None:
    """Also where all shapes of a seed have something in common, which is no resemblance of neighbours."""
    rng = np.random.default_rng(1)
    p = []
    for _ in range(300):
        values = rng.normal(size=(20, 10))
        values += common * rng.normal(size=(1, 10))
        p.append(compare_neighbours(values, rng)[1])
    assert np.mean(np.array(p) <= 0.1) < 0.15
    assert 0.4 < np.mean(p) < 0.6


@pytest.mark.parametrize("size", [2, 5])
def test_batches_are_found(size: int) -> None:
    rng = np.random.default_rng(2)
    p = [compare_neighbours(batches(rng, series=58, shared=0.5, size=size), rng)[1] for _ in range(50)]
    assert np.mean(np.array(p) <= 0.02) > 0.7


@pytest.mark.parametrize(
    "values", [np.ones((2, 10)), np.full((2, 10), np.nan), np.ones((0, 10)), np.array([[1.0, 2.0, np.nan]])]
)
def test_without_a_series_nothing_is_said(values: np.ndarray) -> None:
    assert np.isnan(compare_neighbours(values, np.random.default_rng(0))[1])


def test_missing_seeds_may_leave_no_neighbours() -> None:
    """Four seeds of eight, of which no two are neighbours in some orders."""
    values = np.array([[1.0, np.nan, 2.0, np.nan, 4.0, np.nan, 3.0, np.nan]])
    assert 0 < compare_neighbours(values, np.random.default_rng(0))[1] <= 1


def test_reports_and_plans_say_that_seeds_share_batches() -> None:
    """The same numbers in another order of the seeds have no such caveat."""
    rng = np.random.default_rng(3)
    log = 0.1 * batches(rng, series=40, shared=0.6).reshape(20, 2, 10)
    shapes = [f"shape{index}" for index in range(20)]

    def caveats(values: np.ndarray, seeds: list[int] | None = None) -> list[str]:
        dataset = abtune.make_dataset(np.exp(values), shapes=shapes, configs=["a", "b"], seeds=seeds)
        analysis = abtune.analyze(dataset)
        notes = [note for note in analysis.caveats if note.startswith(ALIKE)]
        assert analysis.sentence.endswith("are alike, so these intervals may be too narrow.") == bool(notes)
        plan = abtune.power(dataset, boosts=[0.1], seeds=[10])
        planned = [note for note in plan.caveats if note.startswith(ALIKE)]
        assert [note.endswith("Then more seeds are needed than planned.") for note in planned] == [
            True
        ] * len(notes)
        return notes

    (note,) = caveats(log)
    assert "not independent" in note
    mixed = [0, 5, 1, 6, 2, 7, 3, 8, 4, 9]
    assert not caveats(log[..., mixed])
    assert caveats(log[..., mixed], seeds=mixed) == [note]  # numbers tell neighbours, not positions
    assert not [note for note in abtune.analyze(make_sweep(np.zeros(20))).caveats if note.startswith(ALIKE)]


def test_a_slight_resemblance_does_not_lead_the_report() -> None:
    """A correlation of 0.05 makes intervals 5 % too narrow, which a caveat says and the sentence does not."""
    noise = np.random.default_rng(4).normal(size=(200, 31))
    (caveat,) = of_neighbours([noise[:, 1:] + 0.07 * noise[:, :-1]], 0)
    assert "numbers are slightly alike (correlation 0.05, p 0.0033)" in caveat
    assert not [*of_dependent([caveat])]
    assert [*of_dependent(of_neighbours([noise[:, 1:] + 0.2 * noise[:, :-1]], 0))]
