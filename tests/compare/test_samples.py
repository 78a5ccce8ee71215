"""One value a seed, and what was lost on the way."""

import numpy as np
import pytest
from compare_builders import NAN

import abtune
from abtune.dataset.schema import RunStatus
from abtune.samples import extract


def test_a_seed_counts_once_however_often_it_was_timed() -> None:
    """Rounds and repeats are reduced within a seed: they are not replicates."""
    latency = np.full((1, 1, 2, 2, 3), 1.0)
    latency[0, 0, 1] = [[2.0, 2.0, 50.0], [8.0, 8.0, 8.0]]
    dataset = abtune.make_dataset(latency, shapes=["s"], configs=["a"])
    samples = extract(dataset, "a")
    np.testing.assert_allclose(samples.value, [[0.0, np.log(4.0)]], atol=1e-15)
    assert samples.n.tolist() == [2]
    assert samples.latency == pytest.approx([2.0])


def test_failed_missing_and_untimed_runs_are_counted_apart() -> None:
    """A failed run's timings are not used; a seed that nobody ran was not planned, and is no loss."""
    done, failed, missing = RunStatus
    status = [[[done, failed, missing, done, missing], [done, done, done, done, missing]]]
    latency = [[[1.0, 1.0, NAN, NAN, NAN], [1.0, 1.0, 1.0, 1.0, NAN]]]
    dataset = abtune.make_dataset(latency, shapes=["s"], configs=["a", "b"], run_status=status)
    samples = extract(dataset, "a")
    counts = (samples.n, samples.failed, samples.missing, samples.untimed)
    assert [int(count[0]) for count in counts] == [1, 1, 1, 1]


@pytest.mark.parametrize(("second", "missing"), [(3, [0, 1]), (2, [1, 2])])
def test_seeds_of_other_numbers_are_not_missing(second: int, missing: list[int]) -> None:
    """Runs that no two configurations share are counted; a configuration with as many as any lacks none."""
    latency = np.full((1, 2, 6), NAN)
    latency[0, 0, :3] = latency[0, 1, second : second + 2] = 1.0
    dataset = abtune.make_dataset(latency, shapes=["s"], configs=["a", "b"])
    assert [int(extract(dataset, config).missing[0]) for config in "ab"] == missing


def test_a_lone_timing_keeps_every_bit() -> None:
    """A published number does not pass through a logarithm."""
    latency = 1.7172469993408806e-05
    samples = extract(abtune.make_dataset([[[latency, NAN]]], shapes=["s"], configs=["a"]), "a")
    assert samples.latency[0] == latency
    assert np.isnan(samples.floor[0])


def test_the_floor_is_the_mean_measurement_variance_of_the_seeds() -> None:
    """Seeds with one timing do not take part in the floor."""
    latency = np.exp([[[[[0.0], [0.2]], [[1.0], [1.4]], [[2.0], [NAN]]]]])
    samples = extract(abtune.make_dataset(latency, shapes=["s"], configs=["a"]), "a")
    assert samples.floor[0] == pytest.approx((0.02 / 2 + 0.08 / 2) / 2)
