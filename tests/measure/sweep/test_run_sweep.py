"""Whole sweeps with a fake in place of TVM: a fault costs the trial or run that it hits, and nothing else."""

from __future__ import annotations

import gc
import json
import math
import re
import resource
import shutil
import socket
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import xarray as xr
from distributed import Client, Scheduler
from distributed.scheduler import KilledWorker
from measure_builders import NEW, OTHER, PLAIN, SMALL, make_facts, small_plan
from processes import children
from running import Run
from sweeping import Steps, calls, config, run_sweep, without_circumstances

import abtune
from abtune.configurations import Configuration
from abtune.dataset.schema import RunStatus, TrialStatus
from abtune.errors import StoreError, TargetError
from abtune.measure.store.store import Store
from abtune.measure.sweep.health_check import SHAPE
from abtune.measure.workers.cluster import Cluster
from abtune.shapes import parse_shape

pytestmark = pytest.mark.usefixtures("fake")

GPU = make_facts(kind="cuda", arch=90)
OK, FAILED = RunStatus.COMPLETE, RunStatus.FAILED


def statuses(dataset: xr.Dataset, name: str) -> list[int]:
    """Return the status of every trial of a configuration, of all shapes and seeds."""
    return [int(status) for status in dataset["trial_status"].sel(config=name).values.ravel()]


def failures(dataset: xr.Dataset, name: str) -> set[str]:
    return {str(reason) for reason in dataset["failure"].sel(config=name).values.ravel()}


# Nothing goes wrong


def test_a_sweep_does_what_was_planned(store: Store, log: Path) -> None:
    """Every run gets its trials and its winner is re-measured; the dataset is the one on disk."""
    plan, steps = small_plan(), Steps()
    outcome = run_sweep(plan, store, progress=steps)
    dataset = outcome.dataset
    assert (outcome.finished, outcome.stopped) == (8, "")
    assert (dataset["run_status"] == OK).all()
    assert dataset["latency"].notnull().all()
    assert dataset["trial_latency"].notnull().all()
    assert dataset["search_latency"].equals(dataset["trial_latency"].min("trial").assign_attrs())
    xr.testing.assert_identical(abtune.open_dataset(store.dataset), dataset)
    assert steps.phases == [("trials", 32, 0), ("winners re-measured", 8, 0)]
    logs = np.log(dataset["search_latency"]).mean("seed")
    boost = np.expm1((logs.sel(config="plain") - logs.sel(config="new")).mean())
    assert steps.news[-1] == f"new {100 * float(boost):+.2g}% over 2 shapes, not final"
    assert steps.news[0] == ""  # one seed says nothing
    assert steps.done == [32, 8]
    assert not children(str(log))


def test_progress_tells_the_boost_of_each_candidate(store: Store) -> None:
    """The news have one boost over the baseline for each."""
    steps = Steps()
    plan = small_plan(configs=(PLAIN, NEW, replace(NEW, name="third")))
    dataset = run_sweep(plan, store, progress=steps).dataset
    logs = np.log(dataset["search_latency"]).mean("seed")
    boosts = np.expm1((logs.sel(config="plain") - logs).mean("shape"))
    assert steps.news[-1] == "; ".join(
        f"{name} {100 * float(boosts.sel(config=name)):+.2g}% over 2 shapes, not final"
        for name in ("new", "third")
    )


def test_a_search_learns_from_every_iteration(store: Store) -> None:
    """A search spends its budget exactly, with a last iteration that may be shorter."""
    run_sweep(small_plan(trials=5), store)
    assert all(len(record.trial_latency) == 5 for record in store.records())


def test_winners_are_measured_again_in_random_order(store: Store, log: Path) -> None:
    """All winners of a shape are checked, then timed once a round, in an order that differs by round."""
    run_sweep(small_plan(SMALL, seeds=4, rounds=3), store)
    made = [call[3] for call in calls(log) if call[0] == "time_kernel"]
    rounds = [made[start : start + 8] for start in range(0, 24, 8)]
    assert all(set(order) == set(made) and len(order) == 8 for order in rounds)
    assert rounds[0] != rounds[1]
    checked = [call[3] for call in calls(log) if call[0] == "check_kernel"]
    assert sorted(checked) == sorted(set(made))


@pytest.mark.parametrize("at_once", [1000, 1])
def test_nothing_is_built_while_winners_are_measured(
    store: Store, log: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    """Group by group, all winners of some shapes are built before the first of them is timed."""
    monkeypatch.setattr("abtune.measure.sweep.winners.KERNELS_PER_CORE", at_once)
    dataset = run_sweep(small_plan(), store).dataset
    assert (dataset["run_status"] == OK).all()
    assert dataset["latency"].notnull().all()
    made = calls(log)
    after = max(index for index, call in enumerate(made) if call[0] == "time_candidate")
    building = [call[0] == "build" for call in made[after + 1 :] if call[0] != "timed"]
    phases = [now for now, before in zip(building, [None, *building], strict=False) if now is not before]
    assert phases == [True, False] * (1 if at_once == 1000 else 2)


def test_a_finished_sweep_measures_nothing(store: Store, log: Path) -> None:
    """The same command over a finished sweep gives the same dataset without measuring anything."""
    first = run_sweep(small_plan(), store).dataset
    before = calls(log)
    steps = Steps()
    again = run_sweep(small_plan(), store, progress=steps).dataset
    assert calls(log) == before
    xr.testing.assert_identical(again, first)
    assert steps.phases == [("trials", 32, 32), ("winners re-measured", 8, 8)]


def test_more_seeds_keep_what_was_done(store: Store, log: Path) -> None:
    """With more seeds the earlier runs stay, and all winners of a shape are re-measured together."""
    first = run_sweep(small_plan(seeds=2), store).dataset
    before = len(calls(log))
    second = run_sweep(small_plan(seeds=3), store).dataset
    new = calls(log)[before:]
    kept = second.sel(seed=[0, 1])
    for name in ("winner", "search_latency", "trial_latency", "started", "finished", "tuning_time"):
        xr.testing.assert_identical(kept[name], first[name])
    assert {call[0] for call in new} >= {"propose", "time_kernel"}
    assert len([call for call in new if call[0] == "check_kernel"]) == 12
    assert (second["run_status"] == OK).all()
    whole = Store(store.dataset.with_name("whole.nc"))
    xr.testing.assert_identical(
        without_circumstances(run_sweep(small_plan(seeds=3), whole).dataset), without_circumstances(second)
    )


def test_more_shapes_leave_the_others_alone(store: Store, log: Path) -> None:
    """A shape without new winners is not re-measured when another shape is added."""
    run_sweep(small_plan(SMALL), store)
    before = len(calls(log))
    dataset = run_sweep(small_plan(SMALL, OTHER), store).dataset
    assert {call[1] for call in calls(log)[before:] if call[0] == "time_kernel"} == {OTHER.label}
    assert dataset["latency"].notnull().all()


def test_fewer_shapes_keep_the_others(store: Store) -> None:
    """A plan without a shape that was done before leaves it in the dataset."""
    run_sweep(small_plan(SMALL, OTHER), store)
    dataset = run_sweep(small_plan(OTHER), store).dataset
    assert dataset["shape"].values.tolist() == [OTHER.label, SMALL.label]
    assert dataset["latency"].notnull().all()


def test_a_run_that_is_done_again_is_measured_again(store: Store, log: Path) -> None:
    """When the file of a run is removed, the run is done again and its new winner measured."""
    plan = small_plan(SMALL)
    first = run_sweep(plan, store).dataset
    (store.folder / "runs" / f"{plan.runs[0].key}.json").unlink()
    before = len(calls(log))
    second = run_sweep(plan, store).dataset
    assert [call[0] for call in calls(log)[before:]].count("check_kernel") == 4
    xr.testing.assert_identical(without_circumstances(second), without_circumstances(first))


def test_a_damaged_run_is_kept_as_the_dataset_has_it(store: Store, log: Path) -> None:
    """Nothing is searched or timed again; without the dataset all damaged files are named."""
    plan = small_plan(SMALL)
    first = run_sweep(plan, store).dataset
    damaged = [store.folder / "runs" / f"{run.key}.json" for run in plan.runs[:2]]
    for path in damaged:
        path.write_bytes(b"damaged")
    before = len(calls(log))
    xr.testing.assert_identical(run_sweep(plan, store).dataset, first)
    assert {"propose", "time_kernel"}.isdisjoint(call[0] for call in calls(log)[before:])
    store.dataset.unlink()
    for path in damaged:
        path.write_bytes(b"damaged")
    named = ".*".join(re.escape(str(path)) for path in damaged)
    with pytest.raises(StoreError, match=f"{named}.*; remove them to have those parts done again"):
        run_sweep(plan, store)


def test_two_devices_share_the_work(store: Store, log: Path) -> None:
    """Each of several devices is measured by a process of its own that sees no other device."""
    facts = replace(GPU, devices=("a device", "a device"))
    dataset = run_sweep(small_plan(seeds=4), store, facts=facts, cores=2).dataset
    assert dataset["latency"].notnull().all()
    measured = {(pid, visible) for function, *_, pid, visible in calls(log) if function == "time_candidate"}
    assert sorted(visible for _, visible in measured) == ["0", "1"]
    searched = {visible for function, *_, visible in calls(log) if function == "propose"}
    assert searched == {""}


def test_the_last_runs_use_the_cores_that_idle(
    store: Store, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last searches use idle cores with several threads, but not where kernels are timed on them."""
    monkeypatch.setattr("abtune.measure.workers.tasks.cpu_count", lambda: 3)
    plan = small_plan(SMALL, seeds=1)
    assert len(plan.runs) == 2
    run_sweep(plan, store, facts=GPU, cores=4)
    threads = [words[5] for words in calls(log) if words[0] == "propose" and words[1] == SMALL.label]
    assert threads[0] == 2
    assert set(threads) <= {2, 3}
    log.write_text("", encoding="utf-8")
    run_sweep(plan, Store(store.dataset.with_name("cpu.nc")), cores=4)
    assert {words[5] for words in calls(log) if words[0] == "propose"} == {1}


def test_visible_devices_are_kept(store: Store, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the devices that CUDA_VISIBLE_DEVICES names are measured."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-abc,3")
    facts = replace(GPU, devices=("a device", "a device"))
    run_sweep(small_plan(seeds=4), store, facts=facts, cores=2)
    visible = {visible for function, *_, visible in calls(log) if function == "time_candidate"}
    assert visible == {"GPU-abc", "3"}


def test_runs_that_are_over_leave_nothing_behind(store: Store) -> None:
    """Memory, open files, and dask's tasks and futures do not grow between 20 and 60 runs."""
    held: dict[int, list[int]] = {}

    class Watch(Steps):
        def advance(self, steps: int) -> None:
            super().advance(steps)
            if len(self.done) == 1 and self.done[0] in (80, 240):
                gc.collect()
                files = len(list(Path("/proc/self/fd").iterdir()))
                pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
                tasks = sum(len(instance.tasks) for instance in Scheduler._instances)
                futures = sum(len(instance.futures) for instance in Client._instances)
                held[self.done[0]] = [pages * resource.getpagesize() >> 20, files, tasks, futures]

    large = tuple(config(name, size="20000") for name in ("plain", "new"))
    run_sweep(small_plan(seeds=16, configs=large), store, progress=Watch())
    growth = [late - early for early, late in zip(held[80], held[240], strict=True)]
    assert all(grown <= allowed for grown, allowed in zip(growth, (8, 2, 10, 10), strict=True)), held


# Candidates go wrong


def test_candidates_that_cannot_be_built_are_failed_trials(store: Store) -> None:
    """A build that raises, crashes, exits or hangs costs that trial, not the run, and is counted."""
    bad = [config(fault, build=f"{fault}:1") for fault in ("raise", "crash", "exit", "hang")]
    plan = small_plan(SMALL, seeds=1, configs=(PLAIN, *bad), build_timeout=1.0)
    dataset = run_sweep(plan, store).dataset
    for name in ("raise", "crash", "exit"):
        assert statuses(dataset, name) == [TrialStatus.OK, TrialStatus.BUILD_FAILED] * 2
    assert statuses(dataset, "hang") == [TrialStatus.OK, TrialStatus.TIMED_OUT] * 2
    assert statuses(dataset, "plain") == [TrialStatus.OK] * 4
    assert (dataset["run_status"] == OK).all()
    assert dataset["latency"].notnull().all()


def test_the_report_counts_failures_by_kind_and_configuration(store: Store, run: Run) -> None:
    """The report says which configuration lost how many trials to failures."""
    faulty = config("faulty", build="hang:0", time_candidate="killed:1")
    plan = small_plan(SMALL, configs=(PLAIN, faulty), trials_per_iteration=4, build_timeout=0.5)
    run_sweep(plan, store)
    said = " ".join(run("analyze", str(store.dataset)).out.split())
    assert "50% of faulty's trials failed (plain: none)" in said
    assert "Most often: build: no answer within 0.5 s" in said
    lines = run("analyze", str(store.dataset), "--section", "report,noise").out.splitlines()
    assert "• Trials of faulty failed most often with: build: no answer within 0.5 s" in lines
    counted = [line.split() for line in lines]
    assert ["configuration", "ok", "build", "failed", "run", "failed", "timed", "out", "lost", "%"] in counted
    assert ["plain", "8", "0", "0", "0", "0.00"] in counted
    assert ["faulty", "4", "0", "2", "2", "50.00"] in counted


@pytest.mark.parametrize("kind", ["llvm", "cuda"])
def test_candidates_that_cannot_be_timed_are_failed_trials(store: Store, kind: str) -> None:
    """A kernel that fails, kills or hangs its process, or poisons its device, costs that trial."""
    faults = ["raise", "killed", "hang", *(["poison"] if kind == "cuda" else [])]
    bad = [config(fault, time_candidate=f"{fault}:0") for fault in faults]
    plan = small_plan(SMALL, seeds=1, configs=(PLAIN, *bad), run_timeout=1.0)
    dataset = run_sweep(plan, store, facts=replace(GPU, kind=kind)).dataset
    for name in faults:
        status = TrialStatus.TIMED_OUT if name == "hang" else TrialStatus.RUN_FAILED
        assert statuses(dataset, name) == [status, TrialStatus.OK] * 2
    assert statuses(dataset, "plain") == [TrialStatus.OK] * 4
    assert dataset["latency"].notnull().all()


def test_a_poisoned_device_is_replaced_at_once(store: Store, log: Path) -> None:
    """After an error of the device the next kernel is timed in another process."""
    plan = small_plan(SMALL, seeds=1, configs=(PLAIN, config("bad", time_candidate="poison:0")))
    run_sweep(plan, store, facts=GPU, cores=1)
    timed = [call for call in calls(log) if call[0] == "time_candidate" and call[2] == "bad"]
    pids = [pid for *_, pid, _ in timed]
    assert len(pids) == 2 * len(set(pids[::2])) == 4
    assert all(first != second for first, second in zip(pids[::2], pids[1::2], strict=True))


def test_a_shape_of_which_nothing_works_fails_alone(store: Store) -> None:
    """If no candidate of a shape can be timed, its runs fail with the reason; other shapes are complete."""
    bad = config("bad", **{f"build@{SMALL.label}": "raise"})
    steps = Steps()
    dataset = run_sweep(small_plan(SMALL, OTHER, configs=(PLAIN, bad)), store, progress=steps).dataset
    assert steps.news[-1].startswith("2 runs failed; bad ")
    status = dataset["run_status"]
    assert (status.sel(config="bad", shape=SMALL.label) == FAILED).all()
    assert int((status == FAILED).sum()) == 2
    assert dataset["latency"].sel(shape=OTHER.label).notnull().all()
    assert dataset["latency"].sel(config="plain").notnull().all()
    (reason,) = failures(dataset.sel(shape=[SMALL.label]), "bad")
    assert reason.startswith("no candidate could be timed: build: RuntimeError: the fault")


def test_a_search_that_proposes_nothing_ends(store: Store) -> None:
    """A search that finds no candidate at all ends as a failed run and says so."""
    plan = small_plan(SMALL, seeds=1, configs=(PLAIN, config("bad", propose="nothing")))
    dataset = run_sweep(plan, store).dataset
    assert failures(dataset, "bad") == {"no candidate could be timed: the search found nothing"}
    assert (dataset["run_status"].sel(config="plain") == OK).all()


# The device runs full


def processes_of(log: Path, name: str) -> list[list[int]]:
    """Return the processes that timed the candidates of a configuration, iteration by iteration."""
    pids = [call[-2] for call in calls(log) if call[0] == "time_candidate" and call[2] == name]
    return [pids[start : start + 2] for start in range(0, len(pids), 2)]


def test_a_process_that_keeps_much_memory_of_its_device_is_replaced(store: Store, log: Path) -> None:
    """A process that keeps much device memory is replaced after its batch; one that keeps little is not."""
    shares = {"greedy": "0.2", "modest": "0.1", "unknown": "nan"}
    plan = small_plan(
        SMALL, seeds=2, configs=tuple(config(name, memory=share) for name, share in shares.items())
    )
    outcome = run_sweep(plan, store, facts=GPU, cores=1)
    assert (outcome.dataset["run_status"] == OK).all()
    batches = [
        (call[0], call[2], call[-2]) for call in calls(log) if call[0] in ("time_candidate", "memory_grown")
    ]
    timed = [(name, pid) for function, name, pid in batches if function == "time_candidate"]
    # Asked once after each batch of two, and once after the winners.
    assert [function for function, _, _ in batches].count("memory_grown") == len(timed) // 2 + 1
    for (name, pid), (_, next_pid) in zip(timed[1::2], timed[2::2], strict=False):
        assert (pid == next_pid) is (name != "greedy")
    assert all(len(set(pids)) == 1 for pids in processes_of(log, "greedy"))


def test_memory_that_is_not_a_devices_is_not_asked_for(store: Store, log: Path) -> None:
    """A sweep of a CPU does not ask for device memory."""
    run_sweep(small_plan(SMALL, seeds=1), store)
    assert "memory_grown" not in {call[0] for call in calls(log)}


# Searches go wrong


def test_searches_that_die_once_are_tried_again(store: Store, log: Path, tmp_path: Path) -> None:
    """One death of a search costs nothing: it is tried again with other random numbers."""
    faults = ("raise", "crash", "exit")
    bad = [config(fault, propose=f"{fault}:once:{tmp_path / fault}") for fault in faults]
    dataset = run_sweep(small_plan(SMALL, seeds=1, configs=(PLAIN, *bad)), store).dataset
    assert (dataset["run_status"] == OK).all()
    for fault in faults:
        assert (tmp_path / fault).exists()
        proposals = [call for call in calls(log) if call[:3] == ["propose", SMALL.label, fault]]
        assert [call[3] for call in proposals] == [0, 0, 1]
        assert len({call[4] for call in proposals}) == 3


def test_searches_that_always_die_fail_their_runs(store: Store) -> None:
    """A search that dies again and again is a failed run with the reason; the others go on."""
    bad = [config(fault, **{f"propose@{SMALL.label}": fault}) for fault in ("raise", "crash")]
    dataset = run_sweep(small_plan(SMALL, OTHER, configs=(PLAIN, *bad)), store).dataset
    assert int((dataset["run_status"] == FAILED).sum()) == 4
    for name, said in (("raise", "RuntimeError: the fault"), ("crash", "process killed by SIGSEGV")):
        (reason,) = failures(dataset.sel(shape=[SMALL.label]), name)
        assert reason.startswith(f"the search could not propose candidates, 3 times: propose: {said}")
    assert dataset["latency"].sel(config="plain").notnull().all()
    assert dataset["latency"].sel(shape=OTHER.label).notnull().all()


def test_a_search_that_fails_later_keeps_its_trials(store: Store) -> None:
    """A run that fails half-way has failed, and the dataset keeps its trials."""
    plan = small_plan(SMALL, seeds=1, configs=(PLAIN, config("bad", propose_later="raise")))
    dataset = run_sweep(plan, store).dataset
    assert statuses(dataset, "bad") == [TrialStatus.OK] * 2 + [TrialStatus.NOT_RUN] * 2
    assert (dataset["run_status"].sel(config="bad") == FAILED).all()
    assert dataset["latency"].sel(config="bad").isnull().all()
    assert (dataset["run_status"].sel(config="plain") == OK).all()


def test_a_search_that_failed_half_way_has_no_winner(store: Store) -> None:
    """The best of some trials is no winner, also not for a sweep that goes on from the dataset."""
    configs = (PLAIN, config("bad", propose_later="raise"))
    dataset = run_sweep(small_plan(SMALL, seeds=1, configs=configs), store).dataset
    assert (dataset["winner"].sel(config="bad") == "").all()
    shutil.rmtree(store.folder)
    dataset = run_sweep(small_plan(SMALL, seeds=2, configs=configs), store).dataset
    assert (dataset["run_status"].sel(config="bad") == FAILED).all()
    assert (dataset["run_status"].sel(config="plain") == OK).all()


def test_a_batch_that_its_worker_did_not_survive_is_tried_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch is tried again after its worker died; after three deaths the run has failed with the reason."""
    deaths = {"new": 2, "worse": 100}
    build = Cluster.search_and_measure

    async def build_or_die(cluster: Cluster, task: Any, args: Any, *rest: Any, priority: int) -> Any:
        name = args[0].config.name
        if deaths.get(name, 0):
            deaths[name] -= 1
            raise KilledWorker("build_batch", SimpleNamespace(address="tcp://gone"), 3)
        return await build(cluster, task, args, *rest, priority=priority)

    monkeypatch.setattr(Cluster, "search_and_measure", build_or_die)
    plan = small_plan(SMALL, seeds=1, configs=(PLAIN, config("new"), config("worse")))
    dataset = run_sweep(plan, store).dataset.isel(shape=0, seed=0)
    assert deaths["new"] == 0
    assert deaths["worse"] == 97
    assert dataset["run_status"].values.tolist() == [OK, OK, FAILED]
    assert statuses(dataset.expand_dims(["shape", "seed"]), "new") == [TrialStatus.OK] * 4
    assert str(dataset["failure"].sel(config="worse").item()).startswith(
        "the search could not try candidates, 3"
    )


def test_a_hanging_search_is_told_and_killed(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search that gives no answer for too long counts as dead; the sweep tells that it waits."""
    monkeypatch.setattr("abtune.measure.workers.tasks.SEARCH_TIMEOUT", 2.0)
    monkeypatch.setattr("abtune.measure.sweep.session.QUIET", 1.0)
    monkeypatch.setattr("abtune.measure.sweep.session.QUIET_INTERVAL", 0.1)
    bad = config("bad", propose=f"hang:once:{tmp_path / 'hung'}")
    progress = Steps()
    plan = small_plan(SMALL, seeds=1, configs=(PLAIN, bad))
    dataset = run_sweep(plan, store, progress=progress).dataset
    assert any(line.startswith("nothing has finished for 1 s:") for line in progress.news)
    assert (tmp_path / "hung").exists()
    assert (dataset["run_status"] == OK).all()


# Winners go wrong


def test_wrong_winners_fail_their_runs(store: Store) -> None:
    """A winner that is wrong, or fails when it is checked or timed, has no latency, and says why."""
    again = "the winner could not be run again: check_kernel: "
    rounds = "the winner could not be measured again: time_kernel: "
    said = {
        "check_kernel+wrong": "the winner computes a wrong result: relative error 0.5",
        "check_kernel+nan": "the winner computes a wrong result: relative error nan",
        "check_kernel+raise": f"{again}RuntimeError: the fault",
        "check_kernel+killed": f"{again}process killed by SIGKILL",
        "check_kernel+hang": f"{again}no answer within 1 s",
        "time_kernel+poison": f"{rounds}RuntimeError: CUDA",
        "time_kernel+killed": f"{rounds}process killed by SIGKILL",
        "time_kernel+hang": f"{rounds}no answer within 1.03 s",
    }
    bad = [config(name, **dict([name.split("+")])) for name in said]
    dataset = run_sweep(
        small_plan(SMALL, seeds=1, configs=(PLAIN, *bad), run_timeout=1.0), store, facts=GPU
    ).dataset
    for name, reason in said.items():
        assert (dataset["run_status"].sel(config=name) == FAILED).all()
        assert dataset["latency"].sel(config=name).isnull().all()
        assert all(failure.startswith(reason) for failure in failures(dataset, name)), name
    assert (dataset["run_status"].sel(config="plain") == OK).all()
    assert dataset["latency"].sel(config="plain").notnull().all()


def test_a_winner_that_cannot_be_built_again_fails_its_run(store: Store, tmp_path: Path) -> None:
    """A winner whose second build fails has failed with that reason, and the others are measured."""
    plan = small_plan(SMALL, seeds=1)
    run_sweep(plan, store)
    (store.folder / "rounds" / f"{SMALL.label}.json").unlink()
    record = next(record for record in store.records() if record.config == "new")
    broken = replace(record, winner=["trace", {"faults": {"build": "raise"}, "place": 0}])
    with store.opened(plan, {"created": ""}):
        store.save_record(broken)
    dataset = run_sweep(plan, store).dataset
    (reason,) = failures(dataset, "new")
    assert reason.startswith("the winner could not be built again: build: RuntimeError: the fault")
    assert dataset["latency"].sel(config="plain").notnull().all()


def test_a_winner_has_more_time_to_be_built_than_a_candidate(store: Store, tmp_path: Path) -> None:
    """A winner may take longer to build than a candidate of a search."""
    plan = small_plan(SMALL, seeds=1, build_timeout=1.0)
    run_sweep(plan, store)
    (store.folder / "rounds" / f"{SMALL.label}.json").unlink()
    record = next(record for record in store.records() if record.config == "new")
    slow = replace(record, winner=["trace", {"faults": {"build": "crawl"}, "place": 0}])
    with store.opened(plan, {"created": ""}):
        store.save_record(slow)
    assert (run_sweep(plan, store).dataset["run_status"] == OK).all()


@pytest.mark.parametrize("cache", ["warm", "cold"])
def test_a_round_has_the_time_that_its_calls_take(store: Store, cache: str) -> None:
    """The time limit of a round grows with the twenty calls that a cold cache needs."""
    slow = config("slow", time_kernel="crawl")
    plan = small_plan(SMALL, seeds=1, configs=(PLAIN, slow), run_timeout=1.0, rounds=1, cache=cache)
    dataset = run_sweep(plan, store).dataset
    assert (dataset["run_status"].sel(config="slow") == (OK if cache == "cold" else FAILED)).all()


def test_failed_winners_are_not_measured_again(store: Store, log: Path) -> None:
    """A wrong winner stays wrong: the same command does not re-measure its shape."""
    plan = small_plan(SMALL, configs=(PLAIN, config("bad", check_kernel="wrong")))
    first = run_sweep(plan, store).dataset
    before = len(calls(log))
    xr.testing.assert_identical(run_sweep(plan, store).dataset, first)
    assert len(calls(log)) == before


# The machine is not fit


def test_a_machine_that_builds_nothing_is_found_out_at_once(store: Store, log: Path) -> None:
    """If no small kernel can be built and timed, the sweep ends with the reason before it tries others."""
    plan = small_plan(configs=(PLAIN, replace(NEW, pass_config={"build": "raise"})))
    with pytest.raises(TargetError, match="cannot build and time kernels of 'new': build: RuntimeError: the"):
        run_sweep(plan, store)
    assert {call[0] for call in calls(log) if call[1] in (SMALL.label, OTHER.label)} <= {"propose"}
    assert not store.dataset.exists()
    assert not store.has_work


@pytest.mark.parametrize("fault", ["raise", "crash"])
@pytest.mark.parametrize("own", [{}, {"space": "", "cost_model": "mine:model"}], ids=["space", "cost model"])
def test_a_configuration_that_cannot_be_set_up_costs_no_run(
    store: Store, fault: str, own: dict[str, str]
) -> None:
    """A mistake in one's own design space, options or cost model is named before anything is kept."""
    plan = small_plan(configs=(PLAIN, replace(config("own", check=fault), **own)))  # type: ignore[arg-type]
    with pytest.raises(TargetError, match=r"^configuration 'own' cannot be used: (?!check)"):
        run_sweep(plan, store)
    assert not store.dataset.exists()
    assert not store.has_work


def test_workloads_of_the_user_are_set_up_first(store: Store, log: Path) -> None:
    """Each is tried under each configuration, and a mistake in it is named before anything is kept."""
    shapes = SMALL, parse_shape("mine:softmax"), parse_shape("mine:product:m=8")
    outcome = run_sweep(small_plan(*shapes), store)
    assert {call[1:3] for call in map(tuple, calls(log)) if call[0] == "check"} == {
        (shape.label, name) for shape in shapes[1:] for name in ("plain", "new")
    }
    dataset = outcome.dataset
    assert dataset["workload"].values.tolist() == ["gemm_nn", "mine:softmax", "mine:product"]
    assert dataset["flop"].notnull().values.tolist() == [True, False, False]
    assert dataset["latency"].notnull().all()
    faulty = Store(store.dataset.with_name("faulty.nc"))
    with pytest.raises(TargetError, match=r"^mine:softmax cannot be used: RuntimeError: the fault"):
        run_sweep(
            small_plan(*shapes, configs=(PLAIN, config("new", **{"check@mine:softmax": "raise"}))), faulty
        )
    assert not faulty.has_work


@pytest.mark.parametrize("left", ["files", "dataset"])
@pytest.mark.parametrize(
    ("changed", "said"),
    [("FAKE_PROGRAM", "mine:softmax is"), ("FAKE_SPACE", "the design space of 'own' for mine:softmax is")],
)
def test_a_sweep_does_not_go_on_with_changed_code(
    store: Store, monkeypatch: pytest.MonkeyPatch, left: str, changed: str, said: str
) -> None:
    """Its runs would be of another workload under the same label; also where only the dataset is left."""
    shape, configs = parse_shape("mine:softmax"), (PLAIN, Configuration(name="own", space="mine:space"))
    outcome = run_sweep(small_plan(shape, seeds=1, configs=configs), store)
    named = dict.fromkeys(("mine:softmax", "the design space of 'own' for mine:softmax"), "first")
    assert json.loads(outcome.dataset.attrs["own_code"]) == named
    if left == "dataset":
        shutil.rmtree(store.folder)
    with monkeypatch.context() as patch:
        patch.setenv(changed, "second")
        with pytest.raises(StoreError, match=rf"^{said} not what .* sweep anew with another --out$"):
            run_sweep(small_plan(shape, seeds=2, configs=configs), store)
    assert len(store.records()) == 2
    assert (abtune.open_dataset(store.dataset)["run_status"] == OK).sum() == 2
    grown = run_sweep(small_plan(shape, SMALL, seeds=2, configs=configs), store).dataset
    assert json.loads(grown.attrs["own_code"]) == named
    assert (grown["run_status"] == OK).all()


@pytest.mark.parametrize("other", [PLAIN, config("other")], ids=["abtune's", "own"])
def test_a_configuration_that_never_ends_is_named_soon(
    store: Store, monkeypatch: pytest.MonkeyPatch, other: Configuration
) -> None:
    """Its searches hang, too, and would keep all cores for an hour before the sweep tried to set it up."""
    monkeypatch.setattr("abtune.measure.workers.tasks.SET_UP_TIMEOUT", 1.0)
    plan = small_plan(seeds=4, configs=(other, config("own", check="hang", propose="hang")))
    with pytest.raises(TargetError, match=r"^configuration 'own' cannot be used: no answer within 1 s$"):
        run_sweep(plan, store, time_limit=30.0)
    assert not store.has_work


@pytest.mark.parametrize("fault", ["raise", "crash", "nothing"])
def test_a_machine_that_cannot_search_is_found_out_at_once(store: Store, fault: str) -> None:
    """If the search fails on a small kernel, the sweep names the configuration and does not begin."""
    plan = small_plan(configs=(PLAIN, replace(NEW, pass_config={"propose": fault})))
    with pytest.raises(TargetError, match=r"this machine cannot .*'new'"):
        run_sweep(plan, store)
    assert not store.dataset.exists()


@pytest.mark.parametrize("step", ["check", f"propose@{SHAPE.label}", "adopt"])
def test_a_process_that_is_killed_while_the_machine_is_checked_costs_nothing(
    store: Store, tmp_path: Path, step: str
) -> None:
    """Where memory is short, any process may be killed; its step is tried once more."""
    fault = {step: f"killed:once:{tmp_path / 'killed'}"}
    second = config("own", **fault) if step == "check" else replace(NEW, pass_config=fault)
    plan = small_plan(seeds=1, configs=(PLAIN, second), exchanged=int(step == "adopt"))
    assert run_sweep(plan, store).finished == len(plan.runs)
    assert (tmp_path / "killed").exists()


def test_no_scheduler_is_one_line(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """An address at which no scheduler answers is refused by name."""
    monkeypatch.setattr("abtune.measure.workers.cluster.CONNECT_TIMEOUT", 0.2)
    for address in ("tcp://127.0.0.1:9", "tls://127.0.0.1:9", "nonsense://x"):
        with pytest.raises(TargetError, match=f"no dask scheduler answers at '{address}'"):
            run_sweep(small_plan(), store, scheduler=address)
    assert not store.dataset.exists()


def test_a_web_server_is_no_scheduler(store: Store) -> None:
    """Its answer looks like a message of exabytes, as that of dask's own dashboard does."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                connection.recv(1 << 16)

        threading.Thread(target=answer, daemon=True).start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(TargetError, match=f"no dask scheduler answers at '{address}': it is something"):
            run_sweep(small_plan(), store, scheduler=address)


def test_numbers_are_the_same_on_every_machine(store: Store) -> None:
    """Cores and devices decide how fast a sweep is, not what it finds."""
    one = run_sweep(small_plan(), store, cores=1).dataset
    other = Store(store.dataset.with_name("other.nc"))
    facts = make_facts(devices=("a device", "a device"))
    two = run_sweep(small_plan(), other, cores=3, facts=facts).dataset
    xr.testing.assert_identical(without_circumstances(one), without_circumstances(two))
    assert not np.isnan(one["latency"].values).any()
    assert math.isfinite(float(one["latency"].sum()))


@pytest.mark.parametrize("function", ["time_candidate", "time_kernel"])
def test_a_time_of_zero_seconds_is_a_failure(store: Store, function: str) -> None:
    """Where a device's clock is too coarse, a kernel has no time; the next session can read the files."""
    plan = small_plan(SMALL, configs=(PLAIN, config("new", **{function: "zero"})))
    dataset = run_sweep(plan, store).dataset
    assert (dataset["run_status"].sel(config="plain") == OK).all()
    assert (dataset["run_status"].sel(config="new") == FAILED).all()
    assert all("a call took 0 s by the device's clock" in reason for reason in failures(dataset, "new"))
    assert run_sweep(plan, store).finished == len(plan.runs)
