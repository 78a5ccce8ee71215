"""Boosts at an equal number of trials."""

from __future__ import annotations

import math

import numpy as np
import pytest
import xarray as xr
from compare_builders import NAN, make_sweep
from scipy import stats

import abtune
from abtune.dataset.build import add_variables
from abtune.dataset.schema import RunStatus, TrialStatus
from abtune.errors import InputError
from abtune.report.page import Grid
from abtune.sections.curve.curve import (
    OPTIMISTIC,
    best_so_far,
    boost_curve,
    curve_section,
    searches_so_far,
)


def with_histories(trials: int = 6, *, seeds: int = 5) -> xr.Dataset:
    """Two shapes whose candidates are times drawn anew in each trial, some of which fail."""
    rng = np.random.default_rng(1)
    dataset = make_sweep([0.1, 0.2], n=seeds)
    times = rng.uniform(1, 9, (2, 2, seeds, trials)) * 1e-4
    status = np.where(rng.random(times.shape) < 0.2, TrialStatus.RUN_FAILED, TrialStatus.OK)
    return add_variables(dataset, trial_latency=times, trial_status=status)


def at_trials(dataset: xr.Dataset, trials: int) -> xr.Dataset:
    """Return a dataset whose timings are the best of the first trials of each search."""
    times = dataset["trial_latency"].where(dataset["trial_status"] == TrialStatus.OK).values
    best = np.fmin.reduce(times[..., :trials], axis=-1)
    one_round = dataset.isel(round=[0], repeat=[0])
    return add_variables(one_round, latency=best[..., np.newaxis, np.newaxis])


def test_more_trials_are_never_slower() -> None:
    """The best so far only falls, and is the least of the trials that ran."""
    dataset = with_histories()
    best = best_so_far(dataset)
    assert (np.nan_to_num(best[..., 1:]) <= np.nan_to_num(best[..., :-1], nan=np.inf)).all()
    np.testing.assert_array_equal(best[..., 2], at_trials(dataset, 3)["latency"].values[..., 0, 0])


def test_failed_runs_stay_out() -> None:
    """The trials of a run that failed are not used, whatever they measured."""
    dataset = with_histories()
    dataset["run_status"][0, 0, 0] = RunStatus.FAILED
    assert np.isnan(best_so_far(dataset)[0, 0, 0]).all()


def test_searches_without_a_find_differ_from_those_that_were_not_made() -> None:
    """A failed run has found nothing all along, a missing one and one without a history are unknown."""
    dataset = with_histories()
    dataset["trial_status"][0, 0] = TrialStatus.RUN_FAILED
    dataset["trial_status"][0, 0, 3:] = TrialStatus.NOT_RUN
    dataset["run_status"][0, 0, :3] = [RunStatus.FAILED, RunStatus.MISSING, RunStatus.COMPLETE]
    dataset["run_status"][0, 0, 4] = RunStatus.FAILED
    so_far = searches_so_far(dataset)[0, 0]
    assert so_far[:, -1] == pytest.approx([math.inf, NAN, math.inf, NAN, math.inf], nan_ok=True)
    assert not np.isnan(searches_so_far(dataset)[1]).any()


def test_the_curve_ends_where_the_compared_searches_do() -> None:
    """Rows end where the shorter of two searches does, and a third configuration adds none."""
    long = with_histories(16)
    dataset = abtune.make_dataset(
        np.concatenate([long["latency"], long["latency"][:, :1]], axis=1),
        shapes=["shape0", "shape1"],
        configs=["mainline", "async", "third"],
    )
    histories = {
        name: np.concatenate([long[name], long[name][:, :1]], axis=1)
        for name in ("trial_latency", "trial_status")
    }
    histories["trial_status"][:, 0, :, 4:] = TrialStatus.NOT_RUN
    histories["trial_status"][:, 1, :, 8:] = TrialStatus.NOT_RUN
    dataset = add_variables(dataset, **histories)
    curve = boost_curve(abtune.analyze(dataset))
    assert [point.trials for point in curve.overall] == [1, 2, 4]


def test_the_curve_ends_in_the_report_at_all_trials() -> None:
    """Each point has the numbers of the report at so many trials; a mean over shapes takes two seeds each."""
    dataset = with_histories()
    curve = boost_curve(abtune.analyze(dataset))
    assert [point.trials for point in curve.overall] == [1, 2, 4, 6]
    for index, trials in enumerate((1, 2, 4, 6)):
        report = abtune.analyze(at_trials(dataset, trials))
        for shape, row in zip(curve.shapes, report.comparisons, strict=True):
            point = shape.points[index]
            assert (point.n_baseline, point.n_candidate) == (row.baseline.n, row.candidate.n)
            numbers = (point.boost, point.boost_low, point.boost_high)
            assert numbers == pytest.approx((row.boost, row.boost_low, row.boost_high), nan_ok=True)
        these = report.overall.these_shapes
        point = curve.overall[index]
        enough = min(min(row.baseline.n, row.candidate.n) for row in report.comparisons) >= 2
        assert enough == (trials > 1)
        expected = (these.boost, these.boost_high) if enough else (math.nan, math.nan)
        assert (point.boost, point.boost_high) == pytest.approx(expected, nan_ok=True)


def late_and_slow() -> xr.Dataset:
    """Three shapes: of the second, a slow one, one candidate finds nothing early; the third never has two."""
    rng = np.random.default_rng(2)
    scale = np.array([1e-4, 1e-2, 1e-4])[:, np.newaxis, np.newaxis, np.newaxis]
    times = scale * rng.uniform(1, 2, (3, 2, 5, 8))
    status = np.full(times.shape, TrialStatus.OK)
    status[1, 1, 1:, :2] = TrialStatus.BUILD_FAILED
    status[2, 0, 1:] = TrialStatus.RUN_FAILED
    return add_variables(make_sweep([0.1, 0.1, 0.1], n=5), trial_latency=times, trial_status=status)


def test_the_mean_over_shapes_is_one_over_the_same_shapes() -> None:
    """Before all shapes of the last point have two seeds a side there is none; from there times only fall."""
    dataset = late_and_slow()
    analysis = abtune.analyze(dataset)
    curve = boost_curve(analysis)
    assert [point.trials for point in curve.overall] == [1, 2, 4, 8]
    for early in curve.overall[:2]:
        numbers = early.boost, early.boost_low, early.latency_baseline, early.latency_candidate
        assert np.isnan(numbers).all()
    for point, by_shape in zip(
        curve.overall[2:],
        zip(*(shape.points[2:] for shape in curve.shapes[:2]), strict=True),
        strict=True,
    ):
        assert point.latency_baseline == pytest.approx(
            stats.gmean([one.latency_baseline for one in by_shape])
        )
        assert 1 + point.boost == pytest.approx(stats.gmean([1 + one.boost for one in by_shape]))
    latency = [(point.latency_baseline, point.latency_candidate) for point in curve.overall[2:]]
    assert np.diff(latency, axis=0).max() <= 0
    assert curve.caveats[1].startswith("Some searches find no candidate that runs in their first 2 trials")
    about = [note for note in curve.caveats if note.startswith("The table of these shapes")]
    assert [note[:38] for note in about] == ["The table of these shapes has 2 of 3: "]


def test_without_two_searches_per_side_there_is_no_mean() -> None:
    """Where no shape has two searches that found something, the table of shapes has no boost."""
    dataset = with_histories()
    dataset["trial_status"][:, 0] = TrialStatus.RUN_FAILED
    curve = boost_curve(abtune.analyze(dataset))
    assert np.isnan([point.boost for point in curve.overall]).all()
    assert not [note for note in curve.caveats if note.startswith("These shapes")]


def test_a_mean_over_all_shapes_from_the_first_trial_on_needs_no_words() -> None:
    """Where every shape has two seeds a side all along, nothing is said of which shapes there are."""
    dataset = abtune.open_dataset("h200-pilot")
    curve = boost_curve(abtune.analyze(dataset))
    assert curve.caveats == (OPTIMISTIC,)
    assert not np.isnan([point.boost for point in curve.overall]).any()


def test_swapping_the_sides_turns_the_curve_over() -> None:
    """The other way round, each boost is the inverse and bounds change places."""
    dataset = with_histories()
    here = boost_curve(abtune.analyze(dataset))
    there = boost_curve(abtune.analyze(dataset, baseline="async"))
    for one, two in zip(here.shapes[0].points, there.shapes[0].points, strict=True):
        assert 1 + one.boost == pytest.approx(1 / (1 + two.boost))
        assert 1 + one.boost_low == pytest.approx(1 / (1 + two.boost_high), nan_ok=True)
        assert one.latency_baseline == two.latency_candidate


def test_datasets_without_histories_are_refused() -> None:
    """Without histories, or with empty ones, there is one line."""
    with pytest.raises(InputError, match="no histories of trials"):
        boost_curve(abtune.analyze(make_sweep(0.1)))
    empty = with_histories()
    empty["trial_status"][:] = TrialStatus.NOT_RUN
    with pytest.raises(InputError, match="no histories of trials"):
        boost_curve(abtune.analyze(empty))


def test_the_pilot_at_all_its_trials_is_close_to_the_winners_measured_again() -> None:
    """In the pilot, 192 trials give boosts within a percent of the report."""
    dataset = abtune.open_dataset("h200-pilot")
    again = abtune.analyze(dataset)
    for row, shape in zip(again.comparisons, boost_curve(again).shapes, strict=True):
        assert shape.points[-1].boost == pytest.approx(row.boost, abs=0.01)


@pytest.mark.parametrize("estimand", ["geometric-mean", "best-of:3"])
def test_the_rows_are_of_geometric_means(estimand: str) -> None:
    """Whatever the report compares, each row is of geometric means, as its latencies show."""
    dataset = abtune.open_dataset("h200-pilot")
    page = curve_section(abtune.analyze(dataset, estimand=estimand)).page
    grids = [block for block in page if isinstance(block, Grid) and block.stub == "trials"][1:]
    assert len(grids) == 3
    for grid in grids:
        first, second, boost = (float(column.cells[-1].text) for column in grid.columns[:3])
        assert boost == pytest.approx(100 * (first / second - 1), abs=0.15)
