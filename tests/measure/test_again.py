"""Winners measured again from a dataset: new timings, the same searches."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from measure_builders import NEW, PLAIN, SMALL, make_facts, small_plan
from sweeping import Steps, config, run_sweep

import abtune
from abtune.errors import DatasetError, TargetError
from abtune.measure.again import measure_again, settings_of
from abtune.measure.store import Store
from abtune.measure.target import require_kind
from abtune.schema import RunStatus

pytestmark = pytest.mark.usefixtures("fake")


def again(dataset: xr.Dataset, **changes: object) -> xr.Dataset:
    """Measure the winners of a dataset again with other settings."""
    settings = replace(settings_of(dataset), **changes)
    return measure_again(dataset, make_facts(), settings, scheduler="", cores=2, progress=Steps())


def test_the_searches_stay_and_the_timings_are_new(store: Store) -> None:
    """Rounds and repeats are as asked for, every winner has them, and all else is as the sweep left it."""
    swept = run_sweep(small_plan(), store).dataset
    new = again(swept, rounds=4, repeats=2)
    assert dict(new.sizes) == {**swept.sizes, "round": 4, "repeat": 2}
    assert np.isfinite(new["latency"].values).all()
    kept = ["winner", "search_latency", "trial_latency", "trial_status", "tuning_time", "started"]
    xr.testing.assert_identical(new[kept].drop_attrs(deep=False), swept[kept].drop_attrs(deep=False))
    assert json.loads(new.attrs["settings"])["rounds"] == 4
    assert np.isfinite(swept["latency"].values).all()


def test_a_saved_dataset_can_be_measured_again(store: Store) -> None:
    """What is read from the file is enough: winners, settings and the meaning of the configurations."""
    run_sweep(small_plan(), store)
    new = again(abtune.open_dataset(store.dataset))
    abtune.save_dataset(new, store.dataset)
    assert (abtune.open_dataset(store.dataset)["run_status"] == RunStatus.COMPLETE).all()


def test_a_winner_that_is_wrong_now_fails_its_run(store: Store) -> None:
    """Its timings are gone, the reason is there, and the other configuration keeps its runs."""
    swept = run_sweep(small_plan(configs=(PLAIN, config("faulty"))), store).dataset
    meanings = json.loads(swept.attrs["configurations"])
    meanings[1]["pass_config"] = {"check_kernel": "wrong"}
    records = swept["winner"].copy()
    for cell in np.ndindex(records.shape):
        record = json.loads(records.values[cell])
        if cell[1] == 1:
            record[1]["faults"] = {"check_kernel": "wrong"}
        records.values[cell] = json.dumps(record)
    new = again(swept.assign(winner=records).assign_attrs(configurations=json.dumps(meanings)))
    assert (new["run_status"].sel(config="faulty") == RunStatus.FAILED).all()
    assert (new["run_status"].sel(config="plain") == RunStatus.COMPLETE).all()
    assert new["latency"].sel(config="faulty").isnull().all()
    assert all("wrong result" in reason for reason in new["failure"].sel(config="faulty").values.ravel())


def test_a_run_without_a_winner_stays_without(store: Store) -> None:
    """A search that failed has nothing to measure, and that does not stop the others."""
    swept = run_sweep(small_plan(configs=(PLAIN, config("faulty", build="raise"))), store).dataset
    new = again(swept)
    assert (new["run_status"].sel(config="faulty") == RunStatus.FAILED).all()
    assert np.isfinite(new["latency"].sel(config="plain").values).all()


def test_a_dataset_that_is_not_of_a_sweep_is_refused(store: Store) -> None:
    """Without winners, settings or configurations, one line says what is missing."""
    with pytest.raises(DatasetError, match="holds no winners"):
        settings_of(abtune.make_dataset([[[1.0], [2.0]]], shapes=["a"], configs=["x", "y"]))
    swept = run_sweep(small_plan(configs=(PLAIN, NEW)), store).dataset
    for name, what in (("settings", "with which settings"), ("configurations", "what its configurations")):
        bare = swept.copy()
        del bare.attrs[name]
        with pytest.raises(DatasetError, match=what):
            again(bare) if name == "configurations" else settings_of(bare)


def test_winners_are_not_built_for_another_kind_of_target() -> None:
    """A GPU's winners mean nothing on a CPU."""
    require_kind(make_facts(), '{"kind": "llvm"}')
    with pytest.raises(TargetError, match="tuned for cuda"):
        require_kind(make_facts(), '{"kind": "cuda"}')


def test_missing_runs_stay_missing(store: Store) -> None:
    """A part of a sweep is measured as the part that it is."""
    swept = run_sweep(small_plan(seeds=1), store).dataset
    wide = swept.reindex(seed=[0, 1], fill_value={"run_status": 2, "trial_status": 4, **_TEXTS})
    new = again(wide)
    assert (new["run_status"].sel(seed=1) == RunStatus.MISSING).all()
    assert not math.isnan(float(new["latency"].sel(seed=0).sum()))


_TEXTS = dict.fromkeys(("device", "host", "winner", "failure"), "")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda dataset: dataset.drop_vars("trial_latency"), "the dataset has no variable 'trial_latency'"),
        (lambda dataset: dataset.assign(winner=dataset["winner"] + "]"), "is no tuning record"),
    ],
)
def test_a_damaged_dataset_is_refused(
    store: Store, spoil: Callable[[xr.Dataset], xr.Dataset], said: str
) -> None:
    """A dataset without the variables of a sweep, or with winners that are none, is one line."""
    swept = run_sweep(small_plan(SMALL, seeds=1), store).dataset
    with pytest.raises(DatasetError, match=said):
        again(spoil(swept))


@pytest.mark.parametrize("target", ["llvm", "[]", "{}"])
def test_a_target_that_is_none_is_refused(target: str) -> None:
    """A dataset whose target nobody can read is told so."""
    with pytest.raises(TargetError, match="which is no target as JSON"):
        require_kind(make_facts(), target)
