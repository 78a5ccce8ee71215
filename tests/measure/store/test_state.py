"""How far a sweep is, by its files."""

from __future__ import annotations

import math
import os
import shutil
from dataclasses import replace

import pytest
from measure_builders import (
    make_failed_record,
    make_history,
    make_lost,
    make_record,
    make_rounds,
    make_times,
    small_plan,
)
from sweeping import ABOUT

from abtune.errors import StoreError
from abtune.measure.plan.plan import Plan
from abtune.measure.store.state import read_state
from abtune.measure.store.store import Store


def test_the_state_counts_what_is_on_disk(kept: Store, plan: Plan) -> None:
    """One run is over, one search has two trials, and a shape was measured again."""
    state = read_state(kept)
    assert (state.planned, state.finished, state.failed) == (len(plan.runs), 1, 0)
    assert (state.searching, state.measured) == (1, 1)
    assert state.configs == tuple(config.name for config in plan.configs)
    run = plan.runs[0]
    first, *others = sorted(state.shapes, key=lambda shape: shape.shape != run.shape.label)
    own = state.configs.index(run.config.name)
    assert [shape.shape for shape in state.shapes] == [shape.label for shape in plan.shapes]
    assert (first.finished[own], sum(first.finished)) == (1, 1)
    assert first.best[own] == pytest.approx(1e-3)
    assert math.isnan(first.best[1 - own])
    assert all(shape.finished == (0, 0) for shape in others)
    assert math.isnan(state.boost)


def test_the_boost_is_of_shapes_with_two_winners_of_each_side(store: Store) -> None:
    """Failed runs count as over and have no latency."""
    plan = small_plan(seeds=3)
    baseline = plan.configs[0].name
    shape = plan.shapes[0]
    with store.opened(plan, ABOUT):
        for run in plan.runs:
            if run.shape == shape and run.seed < 2:
                latency = 2e-3 if run.config.name == baseline else 1e-3
                store.save_record(make_record(run, search_latency=latency))
            elif run.shape == shape:
                store.save_record(make_failed_record(run))
    state = read_state(store)
    assert state.boost == pytest.approx(1.0)
    assert state.compared == 1
    assert (state.finished, state.failed) == (6, 2)
    assert state.shapes[0].finished == (3, 3)
    assert state.shapes[0].boost == pytest.approx(1.0)


def test_the_time_left_is_by_the_speed_so_far(store: Store) -> None:
    """Trials of this session count, those of earlier sessions do not."""
    plan = small_plan(seeds=1)
    trials = plan.settings.trials
    with store.opened(plan, ABOUT):
        for number, run in enumerate(plan.runs[:2]):
            store.save_record(make_record(run, trial_latency=[1e-3] * trials, trial_status=[0] * trials))
            path = store.folder / "runs" / f"{run.key}.json"
            os.utime(path, (1000.0 + 200 * number,) * 2)  # the first is of an earlier session
    for path in [*store.folder.iterdir(), store.folder]:
        os.utime(path, (1100.0, 1100.0))  # the session began
    left = (len(plan.runs) - 2) * trials
    assert read_state(store).seconds_left == pytest.approx(left / trials * 100.0)


def test_the_speed_leaves_out_what_earlier_sessions_tried(kept: Store, plan: Plan) -> None:
    """A search that goes on counts with its new trials, also once it is over."""
    run, trials = plan.runs[1], plan.settings.trials
    with kept.opened(plan, ABOUT):
        kept.note_begun(sum(kept.trials_in_progress().values()))
    for path in [*kept.folder.rglob("*"), kept.folder]:
        os.utime(path, (1000.0, 1000.0))
    assert math.isnan(read_state(kept).seconds_left)
    kept.save_history(run, make_history(1e-3, 2e-3, 3e-3), "2026-01-01T00:00:00.000")
    for path in [kept.folder / "searches" / f"{run.key}.json.gz", kept.folder / "searches", kept.folder]:
        os.utime(path, (1100.0, 1100.0))
    left = (len(plan.runs) - 1) * trials - 3
    assert read_state(kept).seconds_left == pytest.approx(left * 100.0)


def test_a_search_that_goes_on_is_counted_anew(kept: Store, plan: Plan) -> None:
    """Files are read again when they change, and a search whose run is over does not count."""
    before = kept.trials_in_progress()
    run = plan.runs[1]
    assert before == {run.key: 2}
    kept.save_history(run, make_history(1e-3, 2e-3, 3e-3), "2026-01-01T00:00:00.000")
    assert kept.trials_in_progress() == {run.key: 3}
    kept.save_record(make_record(run))
    assert kept.trials_in_progress() == {}


def test_where_no_sweep_is_it_says_so(store: Store) -> None:
    with pytest.raises(StoreError, match="no sweep is at work on"):
        read_state(store)


def test_a_folder_of_runs_that_became_a_file_is_read(store: Store, plan: Plan) -> None:
    """The runs then come out of the dataset, and none counts as new."""
    with store.opened(plan, ABOUT | {"device": "a device", "tvm_version": "0.27"}):
        store.save_record(make_record(plan.runs[0]))
        store.save_dataset(store.to_dataset(plan))
    shutil.rmtree(store.folder / "runs")
    (store.folder / "runs").touch()
    assert math.isnan(read_state(store).seconds_left)


def test_files_of_an_earlier_version_have_no_plan(kept: Store) -> None:
    """The runs that are there count as all that is planned."""
    content = kept.about()
    del content["planned"]
    kept.save_about(content)
    assert read_state(kept).planned == 1


def test_a_look_that_plans_fewer_shapes_does_not_forget_the_others(store: Store) -> None:
    """Runs of shapes that are settled count, beside those that the look still plans."""
    first, second = small_plan(seeds=1), small_plan(seeds=2)
    with store.opened(first, ABOUT):
        for run in first.runs:
            store.save_record(make_record(run))
    with store.opened(replace(second, shapes=second.shapes[:1]), ABOUT):
        state = read_state(store)
    assert (state.finished, state.planned) == (4, 6)


@pytest.mark.parametrize("planned", [5, {}, {"shapes": [], "seeds": 2}, {"shapes": ["a"], "seeds": ["x"]}])
def test_a_damaged_plan_is_one_line(kept: Store, planned: object) -> None:
    kept.save_about({**kept.about(), "planned": planned})
    with pytest.raises(StoreError, match=r"sweep\.json cannot be read"):
        read_state(kept)


@pytest.mark.parametrize(
    "changes",
    [
        {"configs": []},
        {"configs": [7]},
        {"configs": "ab"},
        {"settings": {}},
        {"settings": {"trials": 1e400}},
        {"settings": {"trials": "many"}},
    ],
)
def test_a_stranger_s_description_is_one_line(kept: Store, changes: dict[str, object]) -> None:
    content = kept.about()
    kept.save_about({**content, "identity": {**content["identity"], **changes}})
    with pytest.raises(StoreError, match=r"sweep\.json cannot be read"):
        read_state(kept)


def test_a_shape_counts_as_measured_once_all_its_winners_are(kept: Store, plan: Plan) -> None:
    """Timings of an earlier session do not count while a new winner waits for its own."""
    first, other = (run for run in plan.runs if run.shape == plan.runs[0].shape and run.seed == 0)
    kept.save_rounds(make_rounds(first.shape, make_times(plan.runs[0], plan)))
    assert read_state(kept).measured == 1
    kept.save_record(make_record(other if plan.runs[0] == first else first))
    assert read_state(kept).measured == 0


def test_runs_that_ended_early_leave_no_trials(store: Store) -> None:
    """The time left is that of the runs that are not over, also where a run failed at once."""
    plan = small_plan(seeds=1)
    trials = plan.settings.trials
    first, failed, *left = plan.runs
    with store.opened(plan, ABOUT):
        store.save_record(make_failed_record(failed, trial_latency=[], trial_status=[]))
        store.save_record(make_record(first, trial_latency=[1e-3] * trials, trial_status=[0] * trials))
    for path in [*store.folder.rglob("*"), store.folder]:
        os.utime(path, (1100.0, 1100.0) if path.parent.name == "runs" else (1000.0, 1000.0))
    assert read_state(store).seconds_left == pytest.approx(len(left) * 100.0)


def test_winners_that_are_only_measured_are_all_that_is_planned(store: Store, plan: Plan) -> None:
    """Where nothing is searched, runs that a dataset lacks are not planned."""
    with store.opened(replace(plan, is_searched=False), ABOUT):
        store.save_record(make_record(plan.runs[0]))
    state = read_state(store)
    assert (state.finished, state.planned) == (1, 1)


def test_a_winner_that_failed_when_it_was_measured_is_a_failed_run(kept: Store, plan: Plan) -> None:
    """The dataset calls such a run failed, and so does the state."""
    run = plan.runs[0]
    kept.save_rounds(make_rounds(run.shape, make_lost(run, "the winner computes a wrong result")))
    state = read_state(kept)
    assert (state.failed, sum(shape.failed for shape in state.shapes)) == (1, 1)


def test_a_sweep_is_not_done_before_its_transfers(store: Store, plan: Plan) -> None:
    """Winners that were timed without transfers wait for them if the sweep has planned some."""
    with store.opened(replace(plan, transfer=True), ABOUT):
        for run in plan.runs:
            store.save_record(make_record(run))
        for shape in plan.shapes:
            times = [make_times(run, plan) for run in plan.runs if run.shape == shape]
            store.save_rounds(make_rounds(shape, *times))
    state = read_state(store)
    assert (state.measured, state.is_done) == (0, False)
