"""Searches that share what they find: exchanges, stops, faults, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import xarray as xr
from measure_builders import NEW, OTHER, PLAIN, SMALL, small_plan
from sweeping import calls, config, run_sweep, without_circumstances

import abtune
from abtune.dataset.schema import RunStatus, TrialOrigin
from abtune.errors import StoreError, TargetError
from abtune.measure.plan.plan import Plan
from abtune.measure.store.as_dataset import records_from_dataset
from abtune.measure.store.store import Store

pytestmark = pytest.mark.usefixtures("fake")

OWN, CARRIED = TrialOrigin.OWN, TrialOrigin.CARRIED_OVER


def shared_plan(**changes: Any) -> Plan:
    """Return a plan whose runs have two iterations: three candidates of their own, one of the partner."""
    return small_plan(**{"trials": 8, "trials_per_iteration": 4, "exchanged": 1, **changes})


def test_a_run_tries_its_own_schedules_and_those_of_its_partner(store: Store) -> None:
    """The dataset says that it is shared, and whose search found each schedule."""
    run_sweep(shared_plan(), store)
    dataset = abtune.open_dataset(store.dataset)
    assert dataset.attrs["design"] == "shared"
    assert (dataset["trial_origin"] == [OWN, OWN, OWN, CARRIED] * 2).all()
    assert dataset["trial_latency"].notnull().all()
    assert dataset["latency"].notnull().all()
    assert not list(store.folder.glob("searches/*"))


def test_an_exchange_offers_the_fastest_schedules_of_the_partner(store: Store, log: Path) -> None:
    """What the partner of the same seed found until then is offered, fastest first; what is known is not."""
    plan = small_plan(OTHER, seeds=1, trials=8, trials_per_iteration=4, exchanged=1)
    dataset = run_sweep(plan, store).dataset
    adopted = [call for call in calls(log) if call[0] == "adopt" and call[2] == "new"]
    offers = [call[3:5] for call in adopted if call[5] == 1 and len(call[3]) <= 6]  # the check has more
    iterations = [
        call[4] for call in calls(log) if call[0] == "propose" and call[2] == "plain" and call[4] != 1
    ]
    proposed = [f"trace {rng_seed}.{index}" for rng_seed in iterations for index in range(3)]
    latency = dataset["trial_latency"].sel(config="plain").values.ravel()[[0, 1, 2, 4, 5, 6]]
    ranked = sorted(range(6), key=lambda index: latency[index])
    assert [traces for traces, _ in offers] == [
        [proposed[index] for index in ranked if index < 3],
        [proposed[index] for index in ranked],
    ]
    assert {known for known in offers[1][1] if " as new" in known} == {f"{offers[0][0][0]} as new"}


def test_a_sweep_that_stops_at_any_moment_ends_the_same(
    store: Store, tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often a sweep breaks, each exchange has the same schedules and the dataset is the same."""
    whole = run_sweep(shared_plan(), Store(tmp_path / "whole.nc")).dataset
    save, steps = Store.save_history, 0

    def save_and_break(self: Store, *arguments: Any) -> None:
        nonlocal steps
        save(self, *arguments)
        steps += 1
        if steps % 3 == 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(Store, "save_history", save_and_break)
    stops = 0
    while True:
        try:
            outcome = run_sweep(shared_plan(), store)
            break
        except KeyboardInterrupt:
            stops += 1
    assert stops > 3
    xr.testing.assert_identical(without_circumstances(outcome.dataset), without_circumstances(whole))


@pytest.mark.parametrize(("trials", "carried_over"), [(8, 2), (16, 3)])
def test_a_partner_that_failed_is_done_without(store: Store, trials: int, carried_over: int) -> None:
    """A run whose partner fails goes on alone, with what the partner found before, to the last exchange."""
    failing = config("new", propose_later="raise")
    dataset = run_sweep(shared_plan(configs=(PLAIN, failing), seeds=1, trials=trials), store).dataset
    assert (dataset["run_status"].sel(config="plain") == RunStatus.COMPLETE).all()
    assert (dataset["run_status"].sel(config="new") == RunStatus.FAILED).all()
    carried = (dataset["trial_origin"].sel(config="plain") == CARRIED).sum("trial")
    assert (carried == carried_over).all()


def test_half_a_pair_without_files_is_made_anew(store: Store) -> None:
    """Where a finished run left nothing to exchange, both runs of the pair are searched again."""
    plan = shared_plan(seeds=2)
    whole = run_sweep(plan, store).dataset
    (store.folder / "runs" / f"{plan.runs[0].key}.json").unlink()
    again = run_sweep(plan, store).dataset
    xr.testing.assert_identical(without_circumstances(again), without_circumstances(whole))
    assert not list((store.folder / "searches").iterdir())


def test_a_failed_partner_without_files_is_done_without(store: Store) -> None:
    """Where a failed run left nothing to exchange, its partner goes on alone."""
    plan = shared_plan(configs=(PLAIN, config("new", propose_later="raise")), seeds=1)
    run_sweep(plan, store)
    plain = next(run for run in plan.runs if run.config.name == "plain")
    (store.folder / "runs" / f"{plain.key}.json").unlink()
    dataset = run_sweep(plan, store).dataset
    assert (dataset["run_status"].sel(config="plain") == RunStatus.COMPLETE).all()
    assert (dataset["run_status"].sel(config="new") == RunStatus.FAILED).all()
    assert CARRIED not in dataset["trial_origin"].sel(config="plain", shape=plain.shape.label)


def test_records_come_back_out_of_a_dataset(store: Store) -> None:
    """A sweep whose files are gone goes on with the origins of all trials."""
    dataset = run_sweep(shared_plan(), store).dataset
    assert {repr(record) for record in records_from_dataset(dataset)} == set(map(repr, store.records()))
    alone = Store(store.dataset)
    for path in sorted(store.folder.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    longer = run_sweep(shared_plan(seeds=3), alone).dataset
    assert (longer["trial_origin"] != TrialOrigin.MISSING).all()
    assert (longer["run_status"] == RunStatus.COMPLETE).all()


@pytest.mark.parametrize("exchanged", [0, 1])
def test_shared_and_independent_searches_do_not_mix(store: Store, exchanged: int) -> None:
    """A sweep goes on as it was begun; the error names the option."""
    run_sweep(shared_plan(seeds=1, exchanged=exchanged), store)
    before = store.dataset.read_bytes()
    told = "go on with --share" if exchanged else "go on without --share"
    with pytest.raises(StoreError, match=told):
        run_sweep(shared_plan(seeds=2, exchanged=1 - exchanged), store)
    assert store.dataset.read_bytes() == before


def test_configurations_without_a_common_schedule_are_refused(store: Store) -> None:
    """Before anything is searched, each configuration must be able to take over one schedule."""
    with pytest.raises(
        TargetError, match=r"^'new' can take over no schedule of 'plain'; sweep without --share$"
    ):
        run_sweep(shared_plan(configs=(PLAIN, config("new", variants="0"))), store)
    assert not store.dataset.exists()


def test_a_giver_that_proposes_nothing_is_named(store: Store) -> None:
    """The fault is then not that the other configuration cannot take schedules over."""
    nothing = config("plain", propose="nothing")
    with pytest.raises(TargetError, match=r"^the search of 'plain' proposed nothing for M=16_N=16_K=16$"):
        run_sweep(shared_plan(configs=(nothing, NEW)), store)


def test_a_function_that_fails_ends_it_in_one_line(store: Store, tmp_path: Path) -> None:
    """A configuration that fails to take schedules over is named, and the same command goes on."""
    plan = shared_plan(configs=(PLAIN, config("new", adopt=f"raise:once:{tmp_path / 'fault'}")))
    with pytest.raises(TargetError, match=r"configuration 'new' cannot take schedules over: .*asked for"):
        run_sweep(plan, store)
    assert (run_sweep(plan, store).dataset["run_status"] == RunStatus.COMPLETE).all()


@pytest.mark.parametrize(
    ("speed", "verdict"), [("0.5", "regressed"), ("1", "inconclusive"), ("2", "improved")]
)
def test_a_difference_by_construction_is_found(store: Store, speed: str, verdict: str) -> None:
    """Pairs show that all kernels of a configuration are slower or faster, and show nothing otherwise."""
    new = config("new", **{f"speed@{SMALL.label}": speed})
    dataset = run_sweep(
        small_plan(SMALL, configs=(PLAIN, new), seeds=8, trials=8, exchanged=1), store
    ).dataset
    (row,) = abtune.analyze(dataset).comparisons
    assert row.verdict.value == verdict


def test_independent_searches_know_nothing_of_sharing(store: Store) -> None:
    """Without --share the dataset has no origins and no design."""
    dataset = run_sweep(small_plan(SMALL, configs=(PLAIN, NEW)), store).dataset
    assert "trial_origin" not in dataset
    assert "design" not in dataset.attrs
