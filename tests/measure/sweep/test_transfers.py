"""Winners rebuilt under the other configuration: what is timed, what is not, and what goes on."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from measure_builders import OTHER, PLAIN, SMALL, small_plan
from sweeping import calls, config, run_sweep
from test_remeasure import remeasured, remeasured_at

import abtune
from abtune.configurations import Configuration
from abtune.dataset.schema import RunStatus, TransferStatus
from abtune.errors import DatasetError, InputError, StoreError, TargetError
from abtune.measure.store.as_dataset import (
    plan_from_dataset,
    rounds_from_dataset,
    settings_from_dataset,
    trusted_code,
)
from abtune.measure.store.store import Store
from abtune.samples import extract_transfers
from abtune.shapes import parse_shape

pytestmark = pytest.mark.usefixtures("fake")

BOTH = ("plain", "new")


def swept_with(store: Store, new: Configuration, **how: object) -> xr.Dataset:
    """Sweep the fake with a candidate that takes schedules over in its own way."""
    return run_sweep(small_plan(configs=(PLAIN, new), **how), store).dataset


def statuses(dataset: xr.Dataset, *, origin: str, config: str) -> set[TransferStatus]:
    values = dataset["transfer_status"].sel(origin=origin, config=config).values
    return {TransferStatus(int(value)) for value in values.ravel()}


def test_every_winner_is_timed_under_both(store: Store) -> None:
    """A transfer has the rounds of its winner; a winner as its own configuration builds it is one, too."""
    swept = swept_with(store, config("new", variants="1"))
    both = remeasured(swept, transfer=True)
    assert both["transfer_latency"].dims == ("shape", "config", "origin", "seed", "round", "repeat")
    assert statuses(both, origin="plain", config="new") == {TransferStatus.OK}
    assert both["transfer_latency"].sel(origin="plain", config="new").notnull().all()
    for name in BOTH:
        own = both["transfer_latency"].sel(origin=name, config=name)
        np.testing.assert_array_equal(own.values, both["latency"].sel(config=name).values)
    kernels = both["transfer_kernel"].sel(origin="plain")
    assert (kernels.sel(config="plain") != kernels.sel(config="new")).all()
    assert set(np.char.str_len(kernels.values.astype(str)).ravel()) == {16}


def test_a_kernel_that_stays_the_same_is_timed_once(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where both configurations build the same kernel, the timings of the winner count for both."""
    swept = swept_with(store, config("new"))
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log"))
    both = remeasured(swept, transfer=True, rounds=1)
    timed = [words for words in calls(tmp_path / "log") if words[0] == "time_kernel"]
    assert len(timed) == swept["winner"].size
    assert statuses(both, origin="plain", config="new") == {TransferStatus.SAME_KERNEL}
    values = both["transfer_latency"].sel(origin="plain")
    np.testing.assert_array_equal(values.sel(config="plain").values, values.sel(config="new").values)


def test_schedules_that_do_not_fit_are_counted(store: Store) -> None:
    """A schedule that the other configuration refuses has a status and no timing."""
    both = remeasured(swept_with(store, config("new", variants="0")), transfer=True)
    assert statuses(both, origin="plain", config="new") == {TransferStatus.DOES_NOT_FIT}
    assert both["transfer_latency"].sel(origin="plain", config="new").isnull().all()
    assert statuses(both, origin="new", config="plain") == {TransferStatus.SAME_KERNEL}


@pytest.mark.parametrize("function", ["build", "check_kernel", "time_kernel"])
def test_a_transfer_that_fails_leaves_its_winner_alone(store: Store, function: str) -> None:
    """A transfer that cannot be built or timed, or is wrong, has a status; its winner keeps its timings."""
    fault = "wrong" if function == "check_kernel" else "raise"
    swept = swept_with(store, config("new", variants="1"))
    meanings = json.loads(swept.attrs["configurations"])
    meanings[1]["pass_config"][function] = fault  # now, and not when it was searched
    both = remeasured(swept.assign_attrs(configurations=json.dumps(meanings)), transfer=True)
    assert statuses(both, origin="plain", config="new") == {TransferStatus.FAILED}
    assert (both["run_status"] == RunStatus.COMPLETE).all()
    assert both["latency"].notnull().all()


def test_the_fastest_variant_is_chosen_in_rounds_of_its_own(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All variants are timed in two rounds that are not kept; then only the chosen one is timed."""
    swept = swept_with(store, config("new", variants="3"), seeds=1)
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log"))
    both = remeasured(swept, transfer=True, rounds=5)
    timed = [
        words[3] for words in calls(tmp_path / "log") if words[0] == "time_kernel" and words[1] == SMALL.label
    ]
    counts = {trace: timed.count(trace) for trace in timed if " as new" in trace}
    assert sorted(counts.values()) == [2, 2, 7]
    assert both.sizes["round"] == 5
    chosen = max(counts, key=lambda trace: counts[trace])
    medians = {trace: _latency(trace) for trace in counts}
    assert chosen == min(medians, key=lambda trace: medians[trace])


def _latency(trace: str) -> float:
    """Return the latency that the fake gives a kernel of the small shape."""
    import hashlib

    seed = hashlib.sha256(f"time_kernel {SMALL.label} {trace}".encode()).digest()
    return float(np.random.default_rng(int.from_bytes(seed[:8], "big")).uniform(1e-4, 2e-4))


def test_a_function_that_fails_ends_it_in_one_line(store: Store, tmp_path: Path) -> None:
    """A configuration that cannot take schedules over is named, and what was measured is kept."""
    swept = swept_with(store, config("new", carry_over=f"raise:once:{tmp_path / 'fault'}"))
    again = Store(tmp_path / "again.nc")
    with pytest.raises(TargetError, match=r"configuration 'new' cannot take schedules over: .*asked for"):
        remeasured_at(swept, again, transfer=True)
    both = remeasured_at(swept, again, transfer=True).dataset
    assert both["latency"].notnull().all()


def test_it_goes_on_where_it_stopped(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A measurement that ran out of time goes on, also from its dataset alone, and measures nothing twice."""
    swept = swept_with(store, config("new", variants="2"))
    again = Store(tmp_path / "again.nc")
    with monkeypatch.context() as patched:
        patched.setattr("abtune.measure.sweep.session.Session.seconds_to_measure", lambda *_: 1e9)
        first = remeasured_at(swept, again, transfer=True, time_limit=30.0)
    assert first.stopped == "the time limit"
    assert list(again.rounds()) == [SMALL.label]  # one is tried however short the time
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log"))
    second = remeasured_at(swept, again, transfer=True)
    assert second.stopped == ""
    assert {words[1] for words in calls(tmp_path / "log")} == {OTHER.label}
    assert second.dataset["transfer_latency"].sel(origin="plain").notnull().all()


def test_rounds_come_back_out_of_a_dataset(store: Store, tmp_path: Path) -> None:
    """A dataset has all that the files have of transfers."""
    swept = swept_with(store, config("new", variants="1"))
    again = Store(tmp_path / "again.nc")
    both = remeasured_at(swept, again, transfer=True).dataset
    known = {rounds.shape: set(map(repr, rounds.transfers)) for rounds in again.rounds().values()}
    assert {rounds.shape: set(map(repr, rounds.transfers)) for rounds in rounds_from_dataset(both)} == known


def test_a_sweep_ends_with_transfers_and_keeps_to_them(store: Store) -> None:
    """A sweep that was asked for transfers once has them also for the seeds of a later session."""
    from dataclasses import replace

    new = config("new", variants="1")
    first = replace(small_plan(configs=(PLAIN, new), seeds=1), transfer=True)
    assert "transfer_latency" in run_sweep(first, store).dataset
    more = run_sweep(small_plan(configs=(PLAIN, new), seeds=3), store).dataset
    assert statuses(more, origin="plain", config="new") == {TransferStatus.OK}


def test_what_an_analysis_reads(store: Store) -> None:
    """The samples of an analysis have the log times under both configurations."""
    both = remeasured(swept_with(store, config("new", variants="1")), transfer=True)
    side = extract_transfers(both, "plain", *BOTH)
    assert np.isfinite(side.candidate).all()
    assert (side.error >= 0).all()
    assert len(set(side.schedule.ravel())) == side.schedule.size


def test_other_winners_and_other_files_are_refused(store: Store, tmp_path: Path) -> None:
    """A file that a sweep made, or that has the winners of another dataset, is not written over."""
    swept = swept_with(store, config("new"))
    with pytest.raises(StoreError, match="was not made by abtune measure; give another --out"):
        remeasured_at(swept, store)
    again = Store(tmp_path / "again.nc")
    remeasured_at(swept, again)
    with pytest.raises(StoreError, match="has the winners of another dataset; give another --out"):
        remeasured_at(swept.assign_attrs(created="2025-12-31T00:00:00+00:00"), again)
    longer = json.dumps({**json.loads(swept.attrs["settings"]), "trials": 9})
    with pytest.raises(StoreError, match="has the winners of another dataset; give another --out"):
        remeasured_at(swept.assign_attrs(created="2025-12-31T00:00:00+00:00", settings=longer), again)
    with pytest.raises(StoreError, match="has the winners of another dataset; give another --out"):
        remeasured_at(swept.assign_coords(seed=swept["seed"][::-1].values), again)


def test_a_dataset_names_no_code(store: Store) -> None:
    """A stored design space is not imported unless the user names its configuration."""
    swept = swept_with(store, config("new"))
    settings = settings_from_dataset(swept)
    with pytest.raises(DatasetError, match=r"from 'module:function'.*such as --trust module:NEW"):
        plan_from_dataset(swept, settings)
    with pytest.raises(InputError, match=r"another one in the dataset \(strategy"):
        plan_from_dataset(swept, settings, [Configuration(name="new", strategy="replay-trace")])
    plan = plan_from_dataset(swept, settings, [config("new")])
    assert [one.name for one in plan.configs] == ["plain", "new"]
    stored = [
        {**one, "space": "", "transfer": "evil:code"} for one in json.loads(swept.attrs["configurations"])
    ]
    plan = plan_from_dataset(swept.assign_attrs(configurations=json.dumps(stored)), settings)
    assert [one.transfer for one in plan.configs] == ["", ""]


def test_a_dataset_names_no_workload(store: Store) -> None:
    """Nor is a workload imported. Where it is trusted, only the processes that build it import it."""
    swept = run_sweep(small_plan(SMALL, parse_shape("mine:softmax")), store).dataset
    settings = settings_from_dataset(swept)
    with pytest.raises(DatasetError, match=r"a workload from 'mine:softmax'; .* add --trust mine:softmax$"):
        plan_from_dataset(swept, settings, trusted_code(swept, []))
    plan = plan_from_dataset(swept, settings, trusted_code(swept, ["mine:softmax"]))
    assert [shape.label for shape in plan.shapes] == [SMALL.label, "mine:softmax"]
    with pytest.raises(InputError, match="cannot import 'mine:other'"):
        trusted_code(swept, ["mine:other"])


def test_the_configurations_of_abtune_are_known_by_what_they_do() -> None:
    """An older dataset says nothing of transfers; its configurations are recognised by their settings."""
    dataset = abtune.open_dataset("h200-tvm14009")
    configs = plan_from_dataset(dataset, settings_from_dataset(dataset)).configs
    assert [one.transfer.rpartition(":")[2] for one in configs] == ["synchronous", "asynchronous"]
    assert not math.isnan(configs[0].minimum_arch)
