"""Winners re-measured from a dataset: new timings, the same searches."""

from __future__ import annotations

import json
import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from measure_builders import NEW, PLAIN, SMALL, make_facts, make_workplace, small_plan
from sweeping import Steps, config, run_sweep

import abtune
from abtune.configurations import Configuration
from abtune.dataset.schema import RunStatus, TransferStatus
from abtune.errors import DatasetError
from abtune.measure.store.as_dataset import settings_from_dataset
from abtune.measure.store.store import Store
from abtune.measure.sweep.run_sweep import Outcome, about_new_timings, adopt_winners, remeasuring_plan, sweep

pytestmark = pytest.mark.usefixtures("fake")


def remeasured(dataset: xr.Dataset, *, transfer: bool = False, **changes: object) -> xr.Dataset:
    """Re-measure the winners of a dataset with other settings, trusting its configurations."""
    with tempfile.TemporaryDirectory() as folder:
        return remeasured_at(dataset, Store(Path(folder) / "again.nc"), transfer=transfer, **changes).dataset


def remeasured_at(
    dataset: xr.Dataset,
    store: Store,
    *,
    transfer: bool = False,
    time_limit: float = math.inf,
    launched_by: str = "stream",
    **changes: object,
) -> Outcome:
    """Re-measure the winners of a dataset into a store."""
    settings = replace(settings_from_dataset(dataset), **changes)
    meanings = json.loads(dataset.attrs.get("configurations", "[]"))
    own = tuple(Configuration(**meaning) for meaning in meanings)
    workplace = make_workplace(make_facts(launched_by=launched_by))
    plan = remeasuring_plan(dataset, settings, workplace.facts, own, transfer=transfer)
    about = about_new_timings(dataset, workplace.facts.devices[0], "2026-02-02T00:00:00+00:00")
    adopt_winners(dataset, plan, store, about)
    return sweep(plan, store, workplace, about=about, end=time.monotonic() + time_limit, progress=Steps())


def test_the_searches_stay_and_the_timings_are_new(store: Store) -> None:
    """Every winner has the new rounds and repeats; everything else stays as the sweep left it."""
    swept = run_sweep(small_plan(), store).dataset
    new = remeasured(swept, rounds=4, repeats=2)
    assert dict(new.sizes) == {**swept.sizes, "round": 4, "repeat": 2}
    assert np.isfinite(new["latency"].values).all()
    kept = ["winner", "search_latency", "trial_latency", "trial_status", "tuning_time", "started"]
    xr.testing.assert_identical(new[kept].drop_attrs(deep=False), swept[kept].drop_attrs(deep=False))
    assert json.loads(new.attrs["settings"])["rounds"] == 4
    assert np.isfinite(swept["latency"].values).all()


def test_a_saved_dataset_can_be_measured_again(store: Store) -> None:
    """The file has all that re-measuring needs: winners, settings and configurations."""
    run_sweep(small_plan(), store)
    new = remeasured(abtune.open_dataset(store.dataset))
    abtune.save_dataset(new, store.dataset)
    assert (abtune.open_dataset(store.dataset)["run_status"] == RunStatus.COMPLETE).all()


def test_a_winner_that_is_wrong_now_fails_its_run(store: Store) -> None:
    """A winner that is wrong now loses its timings and gets a reason; the other configuration is complete."""
    swept = run_sweep(small_plan(configs=(PLAIN, config("faulty"))), store).dataset
    meanings = json.loads(swept.attrs["configurations"])
    meanings[1]["pass_config"] = {"check_kernel": "wrong"}
    records = swept["winner"].copy()
    for cell in np.ndindex(records.shape):
        record = json.loads(records.values[cell])
        if cell[1] == 1:
            record[1]["faults"] = {"check_kernel": "wrong"}
        records.values[cell] = json.dumps(record)
    new = remeasured(swept.assign(winner=records).assign_attrs(configurations=json.dumps(meanings)))
    assert (new["run_status"].sel(config="faulty") == RunStatus.FAILED).all()
    assert (new["run_status"].sel(config="plain") == RunStatus.COMPLETE).all()
    assert new["latency"].sel(config="faulty").isnull().all()
    assert all("wrong result" in reason for reason in new["failure"].sel(config="faulty").values.ravel())


@pytest.mark.parametrize(
    ("step", "fault"), [("build", "killed"), ("carry_over", "killed"), ("build", "full")]
)
def test_a_fault_of_the_machine_while_winners_are_built_costs_nothing(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, fault: str
) -> None:
    """Where memory is short, any process may be killed, and a disk may be full; the winner is built again."""
    swept = run_sweep(small_plan(configs=(PLAIN, config("new"))), store).dataset
    monkeypatch.setenv("FAKE_FAULT", f"{step}@{SMALL.label}:{fault}:{tmp_path / 'met'}")
    new = remeasured(swept, transfer=True)
    assert (tmp_path / "met").exists()
    assert (new["run_status"] == RunStatus.COMPLETE).all()
    assert not (new["transfer_status"] == TransferStatus.FAILED).any()


def test_graphs_launch_all_winners_that_are_measured_again(store: Store, tmp_path: Path) -> None:
    """Whatever launched them in the sweep, this machine decides; a measurement that goes on keeps its way."""
    swept = run_sweep(small_plan(configs=(PLAIN, NEW)), store).dataset
    assert "launched_by" not in json.loads(swept.attrs["settings"])
    new = remeasured_at(swept, Store(tmp_path / "new.nc"), launched_by="graph").dataset
    assert json.loads(new.attrs["settings"])["launched_by"] == "graph"
    assert "launched_by" not in json.loads(remeasured(new).attrs["settings"])


def test_a_run_without_a_winner_stays_without(store: Store) -> None:
    """A failed search has no winner to measure, and the other winners are measured."""
    swept = run_sweep(small_plan(configs=(PLAIN, config("faulty", build="raise"))), store).dataset
    new = remeasured(swept)
    assert (new["run_status"].sel(config="faulty") == RunStatus.FAILED).all()
    assert np.isfinite(new["latency"].sel(config="plain").values).all()


def test_a_dataset_that_is_not_of_a_sweep_is_refused(store: Store) -> None:
    """Without winners, settings or configurations, one line says what is missing."""
    with pytest.raises(DatasetError, match="has no winners"):
        settings_from_dataset(abtune.make_dataset([[[1.0], [2.0]]], shapes=["a"], configs=["x", "y"]))
    swept = run_sweep(small_plan(configs=(PLAIN, NEW)), store).dataset
    for name, what in (("settings", "with which settings"), ("configurations", "what its configurations")):
        bare = swept.copy()
        del bare.attrs[name]
        with pytest.raises(DatasetError, match=what):
            remeasured(bare) if name == "configurations" else settings_from_dataset(bare)


def test_missing_runs_stay_missing(store: Store) -> None:
    """Runs that are missing in the dataset stay missing."""
    swept = run_sweep(small_plan(seeds=1), store).dataset
    wide = swept.reindex(seed=[0, 1], fill_value={"run_status": 2, "trial_status": 4, **_TEXTS})
    new = remeasured(wide)
    assert (new["run_status"].sel(seed=1) == RunStatus.MISSING).all()
    assert not math.isnan(float(new["latency"].sel(seed=0).sum()))


_TEXTS = dict.fromkeys(("device", "host", "winner", "failure"), "")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda dataset: dataset.drop_vars("trial_latency"), r"which runs it has \('trial_latency'\)"),
        (lambda dataset: dataset.drop_vars("host"), r"which runs it has \('host'\)"),
        (lambda dataset: dataset.assign(winner=dataset["winner"] + "]"), r"which runs it has \(Extra data"),
    ],
)
def test_a_damaged_dataset_is_refused(
    store: Store, spoil: Callable[[xr.Dataset], xr.Dataset], said: str
) -> None:
    """A dataset without a sweep's variables, or with damaged winners, is refused in one line."""
    swept = run_sweep(small_plan(SMALL, seeds=1), store).dataset
    with pytest.raises(DatasetError, match=said):
        remeasured(spoil(swept))


def test_attributes_of_the_user_stay(store: Store, tmp_path: Path) -> None:
    """A dataset may have lists as attributes; a measurement keeps them, also when it goes on."""
    swept = run_sweep(small_plan(SMALL, seeds=1), store).dataset.assign_attrs(cards=[0, 1], mine="note")
    later = Store(tmp_path / "later.nc")
    for _ in range(2):
        new = remeasured_at(swept, later).dataset
        assert (list(new.attrs["cards"]), new.attrs["mine"]) == ([0, 1], "note")
    assert abtune.open_dataset(later.dataset).attrs["cards"] == [0, 1]
