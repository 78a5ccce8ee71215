"""One number over all shapes."""

import math

import numpy as np
import pytest
from analyse_builders import NAN, make_sweep
from scipy import stats

import abtune
from abtune.analyse.comparison import Overall


def overall(dataset) -> Overall:
    return abtune.analyze(dataset).overall


def test_complete_blocks_give_welch_on_the_seeds_aggregates() -> None:
    """With every shape tuned for every seed, a seed's mean over shapes is one observation."""
    dataset = make_sweep([0.1, 0.0, 0.03], n=8, seed=1)
    aggregates = np.log(dataset["latency"].values[..., 0, 0]).mean(axis=0)
    oracle = stats.ttest_ind(*aggregates, equal_var=False).confidence_interval(0.95)
    found = overall(dataset).these_shapes
    assert math.log1p(found.boost) == pytest.approx(np.subtract(*aggregates.mean(axis=1)))
    np.testing.assert_allclose(np.log1p([found.boost_low, found.boost_high]), [oracle.low, oracle.high])


def test_shapes_like_these_have_the_t_interval_over_shapes() -> None:
    """The error of the second line comes from the spread of the shapes' log boosts."""
    analysis = abtune.analyze(make_sweep([0.1, 0.0, 0.03, -0.05], n=3))
    logs = np.log1p([row.boost for row in analysis.comparisons])
    oracle = stats.ttest_1samp(logs, 0).confidence_interval(0.95)
    found = analysis.overall.shapes_like_these
    np.testing.assert_allclose(np.log1p([found.boost_low, found.boost_high]), [oracle.low, oracle.high])


def test_unmatched_shapes_are_listed_and_left_out() -> None:
    """A shape that one side lacks does not enter the geometric mean (google/benchmark lets it)."""
    dataset = make_sweep([0.1, 5.0, 0.1], n=4, noise=1e-6)
    dataset["latency"][1, 1] = NAN
    found = overall(dataset)
    assert found.unmatched == ("shape1",)
    assert found.these_shapes.shapes == found.shapes_like_these.shapes == 2
    assert found.these_shapes.boost == pytest.approx(0.1, abs=1e-4)


def test_single_runs_have_no_error_from_seeds() -> None:
    """A table of one run a cell has a mean but no interval for its own shapes, and says so."""
    analysis = abtune.analyze(make_sweep([0.1, 0.2, 0.3], n=1))
    these = analysis.overall.these_shapes
    assert math.isnan(these.boost_low)
    assert these.boost == pytest.approx(analysis.overall.shapes_like_these.boost)
    assert any("no interval" in note for note in analysis.caveats)


def test_shapes_without_replicates_are_left_out_of_the_seeds_line_with_a_caveat() -> None:
    """Where some shapes have seeds and some have not, only the former have an error."""
    dataset = make_sweep([0.1, 0.1, 0.1], n=4)
    dataset["latency"][0, 0, 1:] = NAN
    analysis = abtune.analyze(dataset)
    assert analysis.overall.these_shapes.shapes == 2
    assert analysis.overall.shapes_like_these.shapes == 3
    assert "The boost over these shapes leaves out 1 with fewer than two seeds on a side." in analysis.caveats


def test_one_shape_says_nothing_of_others() -> None:
    """The population line of a single shape is unknown, with a caveat."""
    analysis = abtune.analyze(make_sweep(0.1))
    assert math.isnan(analysis.overall.shapes_like_these.boost_low)
    assert not math.isnan(analysis.overall.these_shapes.boost_low)
    assert "One shape says nothing of shapes like it." in analysis.caveats


@pytest.mark.parametrize("correlation", [0.0, 0.5])
@pytest.mark.parametrize("lost", [0.0, 0.15])
def test_the_overall_interval_covers_with_sessions_shared_by_shapes(correlation: float, lost: float) -> None:
    """Nominal 95 % holds whether or not the runs of a seed share their luck, with and without gaps."""
    from abtune.analyse.aggregate import _these_shapes
    from abtune.analyse.samples import Samples

    rng = np.random.default_rng(int(10 * correlation + 100 * lost))
    covered, repetitions, unused = 0, 2000, np.zeros(6, dtype=np.int64)
    for _ in range(repetitions):
        sides = []
        for config in ("a", "b"):
            shared = math.sqrt(correlation) * rng.normal(0, 1, (1, 8))
            value = shared + math.sqrt(1 - correlation) * rng.normal(0, 1, (6, 8))
            value[:, 2:][rng.random((6, 6)) < lost] = NAN
            sides.append(
                Samples(
                    config=config,
                    value=value,
                    n=(~np.isnan(value)).sum(axis=1),
                    latency=np.exp(np.nanmean(value, axis=1)),
                    noise=np.nanstd(value, axis=1, ddof=1),
                    floor=np.full(6, NAN),
                    failed=unused,
                    missing=unused,
                    untimed=unused,
                )
            )
        boost = np.nanmean(sides[0].value, axis=1) - np.nanmean(sides[1].value, axis=1)
        found = _these_shapes(*sides, np.ones(6, dtype=bool), boost, 0.95)
        covered += found.boost_low <= 0 <= found.boost_high
    assert covered / repetitions == pytest.approx(0.95, abs=0.02)
