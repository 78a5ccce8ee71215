"""Max-T of an analysis: with the floors of the measurement, in any unit of time, and never below p."""

import numpy as np
import pytest
from compare_builders import make_sweep

import abtune
from abtune.compare.settings import Settings
from abtune.compare.statistics import run_tests
from abtune.stats.testing.step_procedures import holm, max_t
from abtune.stats.two_sample import TwoSample


@pytest.mark.parametrize("unit", [1.0, 1e6])
def test_the_floor_of_the_measurement_counts(unit: float) -> None:
    """The report has max-T's p-values with the floors, in any unit of time."""
    rng = np.random.default_rng(1)
    logs = [rng.normal(-8, 0.1, (4, 6)), rng.normal(-8, 0.1, (4, 6))]
    logs[1][:2] += np.log(0.7)
    floor = np.tile([0.02, 0.02], (4, 1))
    settings = Settings(baseline="a", candidate="b", correction="max-t")
    samples = TwoSample(*logs, floor)
    tests = run_tests(samples, settings, rng)
    times = [side + np.log(unit) for side in logs]
    np.testing.assert_allclose(tests.p_adjusted, max_t(TwoSample(*times, floor), rng=rng))
    without = max_t(TwoSample.without_floor(*times), rng=rng)
    assert not np.allclose(tests.p_adjusted, without)


def test_random_splits_do_not_adjust_below_p() -> None:
    """Beyond 20,000 splits, where max-T draws some and the test counts all, adjusted p is at least p."""
    for seed in range(6):
        (row,) = abtune.analyze(make_sweep(0.02, n=10, noise=0.03, seed=seed), correction="max-t").comparisons
        assert row.p_adjusted >= row.p


def test_the_report_says_what_max_t_corrects() -> None:
    """Each other test is corrected by Holm, also the one that confirms a difference."""
    analysis = abtune.analyze(make_sweep([0.1, 0.0, 0.0], n=6, noise=0.03), correction="max-t")
    assert "max-T over the shapes, Holm for other tests." in " ".join(analysis.report().split())
    confirming = [row.p_welch for row in analysis.comparisons]
    assert [row.p_welch_adjusted for row in analysis.comparisons] == list(holm(confirming))
