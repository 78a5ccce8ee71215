"""From files to the dataset: every value is in its cell, and runs without a file are missing."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
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
from sweeping import ABOUT

import abtune
from abtune.dataset.schema import RunStatus, TransferStatus, TrialStatus
from abtune.measure.plan.plan import Plan
from abtune.measure.plan.records import WinnerTimes
from abtune.measure.store.store import Store


def keep_all(store: Store, plan: Plan, *, transfer: bool = False) -> None:
    """Keep every run of a plan, and its re-measured winner, perhaps under the other configuration, too."""
    for run in plan.runs:
        store.save_record(make_record(run))
    for shape in plan.shapes:
        times = [make_times(run, plan) for run in plan.runs if run.shape == shape]
        rounds = make_rounds(shape, *times)
        store.save_rounds(replace(rounds, transfers=tuple(map(make_transfer, times)) if transfer else ()))


def make_transfer(won: WinnerTimes) -> WinnerTimes:
    """Return a winner as the other configuration of a plan builds it."""
    other = "plain" if won.config == "new" else "new"
    ok = TransferStatus.OK
    return WinnerTimes(origin=won.config, seed=won.seed, config=other, status=ok, latency=won.latency)


def cell(dataset: xr.Dataset, shape: object, config: object, seed: int) -> xr.Dataset:
    return dataset.sel(shape=shape.label, config=config, seed=seed)  # type: ignore[attr-defined]


def test_a_whole_sweep(opened: Store, plan: Plan) -> None:
    """Every number of a run is in its cell, and the sweep's facts are attributes."""
    keep_all(opened, plan)
    dataset = opened.to_dataset(plan)
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
    assert dataset.attrs["title"] == "a sweep"
    assert json.loads(dataset.attrs["settings"])["trials"] == 4
    assert [config["name"] for config in json.loads(dataset.attrs["configurations"])] == ["plain", "new"]


def test_the_dataset_survives_its_file(opened: Store, plan: Plan) -> None:
    """The dataset is valid, can be written, and is read back the same."""
    keep_all(opened, plan)
    dataset = opened.to_dataset(plan)
    abtune.save_dataset(dataset, opened.dataset)
    xr.testing.assert_identical(abtune.open_dataset(opened.dataset), dataset)


def test_what_is_not_there_is_missing(opened: Store, plan: Plan) -> None:
    """Before the first run the dataset has the size of the plan and nothing in it."""
    dataset = opened.to_dataset(plan)
    assert (dataset["run_status"] == RunStatus.MISSING).all()
    assert dataset["latency"].isnull().all()
    assert dataset["latency"].shape == (2, 2, 2, 2, 3)
    assert dataset["started"].isnull().all()


def test_failed_runs_say_why(opened: Store, plan: Plan) -> None:
    """A failed run has its reason and keeps its trials."""
    keep_all(opened, plan)
    run = plan.runs[0]
    opened.save_record(make_failed_record(run))
    opened.save_rounds(make_rounds(run.shape))
    dataset = opened.to_dataset(plan)
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
    for finished in (run, other):
        opened.save_record(make_record(finished))
    wrong = make_lost(run, "a wrong result")
    opened.save_rounds(make_rounds(SMALL, wrong, make_times(other, plan)))
    dataset = opened.to_dataset(plan)
    one = cell(dataset, SMALL, run.config.name, run.seed)
    assert one["run_status"] == RunStatus.FAILED
    assert one["failure"] == "a wrong result"
    assert one["latency"].isnull().all()
    assert one["search_latency"] == 1e-3
    assert cell(dataset, SMALL, other.config.name, other.seed)["latency"].notnull().all()


def test_searches_of_different_length_are_padded(opened: Store, plan: Plan) -> None:
    """A search that ended early has trials that were not run, with no latency."""
    run, other = plan.runs[:2]
    opened.save_record(make_record(run, trial_latency=[1.0, 2.0, 3.0], trial_status=[TrialStatus.OK] * 3))
    opened.save_record(make_record(other, trial_latency=[1.0], trial_status=[TrialStatus.OK]))
    short = cell(opened.to_dataset(plan), other.shape, other.config.name, other.seed)
    assert short["trial_status"].values.tolist() == [TrialStatus.OK, TrialStatus.NOT_RUN, TrialStatus.NOT_RUN]
    assert np.isnan(short["trial_latency"].values).tolist() == [False, True, True]


def test_runs_of_an_earlier_plan_stay(store: Store) -> None:
    """A smaller plan keeps the seeds and shapes of earlier plans; its own shapes come first."""
    large, small = small_plan(SMALL, OTHER, seeds=3), small_plan(OTHER, seeds=1)
    with store.opened(large, ABOUT):
        keep_all(store, large)
    with store.opened(small, ABOUT):
        dataset = store.to_dataset(small)
        whole = store.to_dataset(large)
    assert dataset["shape"].values.tolist() == [OTHER.label, SMALL.label]
    xr.testing.assert_identical(dataset.sortby("shape"), whole.sortby("shape"))


def test_seeds_are_in_order(store: Store) -> None:
    """Seeds of the plan and of earlier ones are listed once each, in order."""
    plan = small_plan(seeds=12)
    with store.opened(plan, ABOUT):
        keep_all(store, small_plan(seeds=11))
        assert store.to_dataset(plan)["seed"].values.tolist() == list(range(12))


def test_times_of_a_removed_run_are_left_out(opened: Store, plan: Plan) -> None:
    """A run whose file was removed is missing, and its timings are left out."""
    keep_all(opened, plan)
    run = plan.runs[0]
    (opened.folder / "runs" / f"{run.key}.json").unlink()
    one = cell(opened.to_dataset(plan), run.shape, run.config.name, run.seed)
    assert one["run_status"] == RunStatus.MISSING
    assert one["latency"].isnull().all()


def test_times_of_a_removed_seed_are_left_out(store: Store) -> None:
    """Timings of a run that is neither on disk nor in the plan are left out."""
    large, small = small_plan(seeds=2), small_plan(seeds=1)
    with store.opened(large, ABOUT):
        keep_all(store, large, transfer=True)
        for path in (store.folder / "runs").glob("*0001.json"):
            path.unlink()
        dataset = store.to_dataset(small)
    assert dataset["seed"].values.tolist() == [0]
    assert dataset["latency"].notnull().all()
    assert dataset["transfer_latency"].notnull().all()


def test_times_of_another_winner_are_left_out(opened: Store, plan: Plan) -> None:
    """A run that was done again does not get the timings of its earlier winner."""
    keep_all(opened, plan, transfer=True)
    run = plan.runs[0]
    opened.save_record(make_record(run, winner=["another trace"]))
    dataset = opened.to_dataset(plan)
    one = cell(dataset, run.shape, run.config.name, run.seed)
    assert one["run_status"] == RunStatus.COMPLETE
    assert json.loads(str(one["winner"].values)) == ["another trace"]
    assert one["latency"].isnull().all()
    carried = cell(dataset, run.shape, slice(None), run.seed)["transfer_status"]
    missing = (carried == TransferStatus.MISSING).all("config")
    assert missing["origin"].values[missing.values].tolist() == [run.config.name]


def test_nan_is_the_only_gap(opened: Store, plan: Plan) -> None:
    """Cells without a run are NaN in every variable of numbers."""
    run = plan.runs[0]
    opened.save_record(make_record(run))
    dataset = opened.to_dataset(plan)
    absent = dataset["run_status"] == RunStatus.MISSING
    for name in ("search_latency", "tuning_time"):
        assert bool((dataset[name].isnull() == absent).all())
    assert math.isnan(float(dataset["latency"].mean()))
