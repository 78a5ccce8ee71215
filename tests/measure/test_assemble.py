"""From files to the dataset: what is there is in it, what is not is missing, and nothing is mixed up."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

import numpy as np
import pytest
import xarray as xr
from measure_builders import (
    OTHER,
    SMALL,
    make_failed_record,
    make_lost,
    make_record,
    make_rounds,
    make_times,
    small_plan,
)

import abtune
from abtune.measure.assemble import assemble, assemble_store
from abtune.measure.plan import Plan
from abtune.measure.restore import restore_records, restore_rounds
from abtune.measure.store import Store
from abtune.schema import RunStatus, TrialStatus

ABOUT = {
    "title": "a sweep",
    "created": "2026-01-01T00:00:00+00:00",
    "device": "a device",
    "tvm_version": "0.27",
}


@pytest.fixture
def plan() -> Plan:
    return small_plan()


@pytest.fixture
def opened(store: Store, plan: Plan) -> Iterator[Store]:
    with store.opened(plan, ABOUT):
        yield store


def keep_all(store: Store, plan: Plan) -> None:
    """Keep every run of a plan, measured again."""
    for run in plan.runs:
        store.save_record(run, make_record(run))
    for shape in plan.shapes:
        times = [make_times(run, plan) for run in plan.runs if run.shape == shape]
        store.save_rounds(make_rounds(shape, *times))


def cell(dataset: xr.Dataset, shape: object, config: str, seed: int) -> xr.Dataset:
    return dataset.sel(shape=shape.label, config=config, seed=seed)  # type: ignore[attr-defined]


def test_a_whole_sweep(opened: Store, plan: Plan) -> None:
    """Every number of a run is in its cell, and the sweep's facts are attributes."""
    keep_all(opened, plan)
    dataset = assemble_store(plan, opened)
    assert dict(dataset.sizes) == {"shape": 2, "config": 2, "seed": 2, "round": 2, "repeat": 3, "trial": 2}
    assert (dataset["run_status"] == RunStatus.COMPLETE).all()
    assert dataset["flop"].values.tolist() == [SMALL.flop, OTHER.flop]
    assert dataset["workload"].values.tolist() == ["gemm_nn", "gemm_nn"]
    run = plan.runs[3]
    one, record, times = (
        cell(dataset, run.shape, run.config.name, run.seed),
        make_record(run),
        make_times(run, plan),
    )
    assert one["latency"].values.tolist() == times.latency
    assert one["sm_clock"].values.tolist() == times.sm_clock
    assert np.isnan(one["temperature"].values).all()
    assert one["search_latency"] == record.search_latency
    assert one["tuning_time"] == record.tuning_time
    assert one["started"].values == np.datetime64(record.started)
    assert one["finished"].values == np.datetime64(record.finished)
    assert json.loads(str(one["winner"].values)) == record.winner
    assert (str(one["device"].values), str(one["host"].values)) == ("a device", "there")
    assert one["trial_status"].values.tolist() == [TrialStatus.OK, TrialStatus.RUN_FAILED]
    assert dataset.attrs["title"] == "a sweep, 2 shapes"
    assert json.loads(dataset.attrs["settings"])["trials"] == 4
    assert [config["name"] for config in json.loads(dataset.attrs["configurations"])] == ["plain", "new"]


def test_the_title_counts_the_shapes_of_earlier_plans(opened: Store, plan: Plan) -> None:
    """It says how many there are, not how many the last plan had."""
    assert assemble_store(plan.restricted(shapes=[OTHER]), opened).attrs["title"] == "a sweep, 1 shape"
    keep_all(opened, plan)
    assert assemble_store(plan.restricted(shapes=[OTHER]), opened).attrs["title"] == "a sweep, 2 shapes"


def test_the_dataset_survives_its_file(opened: Store, plan: Plan) -> None:
    """What is assembled is valid, can be written, and is read back the same."""
    keep_all(opened, plan)
    dataset = assemble_store(plan, opened)
    abtune.save_dataset(dataset, opened.dataset)
    xr.testing.assert_identical(abtune.open_dataset(opened.dataset), dataset)


def test_what_is_not_there_is_missing(opened: Store, plan: Plan) -> None:
    """Before the first run the dataset has the size of the plan and nothing in it."""
    dataset = assemble_store(plan, opened)
    assert (dataset["run_status"] == RunStatus.MISSING).all()
    assert dataset["latency"].isnull().all()
    assert dataset["latency"].shape == (2, 2, 2, 2, 3)
    assert dataset["started"].isnull().all()


def test_failed_runs_say_why(opened: Store, plan: Plan) -> None:
    """A failed run is failed and not missing, with its reason; its trials are kept."""
    keep_all(opened, plan)
    run = plan.runs[0]
    opened.save_record(run, make_failed_record(run))
    opened.save_rounds(make_rounds(run.shape))
    dataset = assemble_store(plan, opened)
    one = cell(dataset, run.shape, run.config.name, run.seed)
    assert one["run_status"] == RunStatus.FAILED
    assert one["failure"] == "the search failed"
    assert one["winner"] == ""
    assert one["latency"].isnull().all()
    assert one["trial_latency"][0] == 1e-3
    assert int((dataset["run_status"] == RunStatus.FAILED).sum()) == 1


def test_a_winner_that_is_wrong_fails_its_run(opened: Store, plan: Plan) -> None:
    """A winner that computes a wrong result has no latency, and its run has failed for that reason."""
    run, other = [run for run in plan.runs if run.shape == SMALL][:2]
    for each in (run, other):
        opened.save_record(each, make_record(each))
    wrong = make_lost(run, "a wrong result")
    opened.save_rounds(make_rounds(SMALL, wrong, make_times(other, plan)))
    dataset = assemble_store(plan, opened)
    one = cell(dataset, SMALL, run.config.name, run.seed)
    assert one["run_status"] == RunStatus.FAILED
    assert one["failure"] == "a wrong result"
    assert one["latency"].isnull().all()
    assert one["search_latency"] == 1e-3
    assert cell(dataset, SMALL, other.config.name, other.seed)["latency"].notnull().all()


def test_searches_of_different_length_are_padded(opened: Store, plan: Plan) -> None:
    """A search that ended early has trials that were not run, with no latency."""
    run, other = plan.runs[:2]
    opened.save_record(
        run, make_record(run, trial_latency=[1.0, 2.0, 3.0], trial_status=[TrialStatus.OK] * 3)
    )
    opened.save_record(other, make_record(other, trial_latency=[1.0], trial_status=[TrialStatus.OK]))
    short = cell(assemble_store(plan, opened), other.shape, other.config.name, other.seed)
    assert short["trial_status"].values.tolist() == [TrialStatus.OK, TrialStatus.NOT_RUN, TrialStatus.NOT_RUN]
    assert np.isnan(short["trial_latency"].values).tolist() == [False, True, True]


def test_runs_of_an_earlier_plan_stay(store: Store) -> None:
    """A smaller plan does not take away seeds and shapes that were measured before; its shapes come first."""
    large, small = small_plan(SMALL, OTHER, seeds=3), small_plan(OTHER, seeds=1)
    with store.opened(large, ABOUT):
        keep_all(store, large)
    with store.opened(small, ABOUT):
        dataset = assemble_store(small, store)
        whole = assemble_store(large, store)
    assert dataset["shape"].values.tolist() == [OTHER.label, SMALL.label]
    xr.testing.assert_identical(dataset.sortby("shape"), whole.sortby("shape"))


def test_seeds_are_in_order(store: Store) -> None:
    """Seeds of the plan and of earlier ones are listed once each, in order."""
    plan = small_plan(seeds=12)
    with store.opened(plan, ABOUT):
        keep_all(store, small_plan(seeds=11))
        assert assemble_store(plan, store)["seed"].values.tolist() == list(range(12))


def test_times_of_a_removed_run_are_left_out(opened: Store, plan: Plan) -> None:
    """Times of a run whose own file was removed are nobody's: the run is missing."""
    keep_all(opened, plan)
    run = plan.runs[0]
    (opened.folder / "runs" / f"{run.key}.json").unlink()
    one = cell(assemble_store(plan, opened), run.shape, run.config.name, run.seed)
    assert one["run_status"] == RunStatus.MISSING
    assert one["latency"].isnull().all()


def test_times_of_a_removed_seed_are_left_out(store: Store) -> None:
    """Times of a run that is neither on disk nor in the plan do not stop the others."""
    large, small = small_plan(seeds=2), small_plan(seeds=1)
    with store.opened(large, ABOUT):
        keep_all(store, large)
        for path in (store.folder / "runs").glob("*0001.json"):
            path.unlink()
        dataset = assemble_store(small, store)
    assert dataset["seed"].values.tolist() == [0]
    assert dataset["latency"].notnull().all()


def test_times_of_another_winner_are_left_out(opened: Store, plan: Plan) -> None:
    """When a run was done again, the times of its earlier winner are not the new one's."""
    keep_all(opened, plan)
    run = plan.runs[0]
    opened.save_record(run, make_record(run, winner=["another trace"]))
    one = cell(assemble_store(plan, opened), run.shape, run.config.name, run.seed)
    assert one["run_status"] == RunStatus.COMPLETE
    assert json.loads(str(one["winner"].values)) == ["another trace"]
    assert one["latency"].isnull().all()


def test_nan_is_the_only_gap(opened: Store, plan: Plan) -> None:
    """Cells without a run have no number at all, in every variable of numbers."""
    run = plan.runs[0]
    opened.save_record(run, make_record(run))
    dataset = assemble_store(plan, opened)
    absent = dataset["run_status"] == RunStatus.MISSING
    for name in ("search_latency", "tuning_time"):
        assert bool((dataset[name].isnull() == absent).all())
    assert math.isnan(float(dataset["latency"].mean()))


# And back


def test_a_dataset_gives_its_runs_back(opened: Store, plan: Plan) -> None:
    """Runs that are complete, failed, not measured again or wrong come out of a dataset and go in again."""
    runs = plan.runs
    for run in runs[:3]:
        opened.save_record(run, make_record(run))
    opened.save_record(runs[3], make_failed_record(runs[3]))
    of_first = [run for run in runs[:3] if run.shape == runs[0].shape]
    times = [make_times(run, plan) for run in of_first[1:]]
    opened.save_rounds(make_rounds(runs[0].shape, make_lost(of_first[0], "wrong"), *times))
    dataset = assemble_store(plan, opened)
    records, rounds = restore_records(dataset), restore_rounds(dataset)
    assert len(records) == 4
    again = assemble(plan, records, rounds, dataset.attrs)
    xr.testing.assert_identical(again, dataset)
    assert {winner.failure for winner in rounds[0].winners} >= {"wrong"}


def test_searches_of_different_length_come_back_as_long_as_they_were(opened: Store, plan: Plan) -> None:
    """What pads a search to the longest is none of its trials: every record comes back as it went in."""
    lengths = (3, 1, 0, 2)
    records = [
        make_record(run, trial_latency=[1e-3] * length, trial_status=[TrialStatus.OK] * length)
        for run, length in zip(plan.runs[: len(lengths)], lengths, strict=True)
    ]
    found = restore_records(assemble(plan, records, (), opened.about()["about"]))
    assert sorted(map(repr, found)) == sorted(map(repr, records))
