"""Max-T of an analysis: with floors in the units of what is exchanged, and never below p."""

import numpy as np
import pytest
from analyse_builders import make_sweep

import abtune
from abtune.analyse.arguments import choose_methods
from abtune.analyse.testing import run_tests
from abtune.stats.stepdown import max_t


@pytest.mark.parametrize("unit", [1.0, 1e6])
def test_a_floor_of_logs_is_one_of_times(unit: float) -> None:
    """Arithmetic means are tested as their times in any unit are, with floors of that unit squared."""
    rng = np.random.default_rng(1)
    logs = [rng.normal(-8, 0.1, (4, 6)), rng.normal(-8, 0.1, (4, 6))]
    logs[1][:2] += np.log(0.7)
    floor = np.tile([0.02, 0.02], (4, 1))
    choices = choose_methods(method=None, estimand="arithmetic-mean", test="permutation", correction="max-t")
    found = run_tests(*logs, floor=floor, choices=choices, margin=0.02, rank_test=False, rng=rng)
    times = [unit * np.exp(side) for side in logs]
    squared = floor * np.stack([side.mean(axis=1) for side in times], axis=1) ** 2
    np.testing.assert_allclose(found.p_adjusted, max_t(*times, floor=squared, rng=rng))


def test_random_splits_do_not_adjust_below_p() -> None:
    """Beyond 20,000 splits, where max-T draws some and the test counts all, adjusted p is at least p."""
    for seed in range(6):
        (row,) = abtune.analyze(make_sweep(0.02, n=10, noise=0.03, seed=seed), correction="max-t").comparisons
        assert row.p_adjusted >= row.p
