"""Sweeps that are stopped, in every way there is: what is done is kept, and the same command goes on."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from measure_builders import OTHER, PLAIN, SMALL, make_history, make_record, small_plan
from processes import servants, wait_until
from sweeping import calls, config, run_sweep, without_circumstances

import abtune
from abtune.errors import StoreError
from abtune.measure.sitting import Clock
from abtune.measure.store import Store
from abtune.measure.trials import History
from abtune.schema import RunStatus, TrialStatus

OK = RunStatus.COMPLETE
FAKE = Path(__file__).with_name("fake_abtune.py")
SWEEP = ["sweep", "--shapes", f"{SMALL.label},{OTHER.label}", "--trials", "4", "--trials-per-iter", "2"]
PAIR = ["--baseline", "fake_configurations:PLAIN", "--candidate", "fake_configurations:NEW"]

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(empty_folder: Path, log: Path) -> Start:
    """Start a sweep of the fake as a process of its own, in an empty folder."""

    def start_one(*options: str, seeds: int = 3, out: str = "abtune.nc") -> subprocess.Popen[str]:
        command = [
            sys.executable,
            str(FAKE),
            *SWEEP,
            *PAIR,
            "--seeds",
            str(seeds),
            "--out",
            out,
            "--cores",
            "2",
        ]
        return subprocess.Popen(
            [*command, *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=heed_interrupts,  # noqa: PLW1509 - no threads here that a fork could hurt
        )

    return start_one


def heed_interrupts() -> None:
    """Undo what a shell does to the tests when it runs them in the background: ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def proposals(log: Path) -> int:
    """Count iterations of searches that were begun, those that try out the machine aside."""
    return sum(call[0] == "propose" and call[1] in (SMALL.label, OTHER.label) for call in calls(log))


def wait_for_work(log: Path, process: subprocess.Popen[str], lines: int) -> None:
    """Wait until a sweep has done so much more, or has ended."""
    wanted = len(calls(log)) + lines
    wait_until(lambda: len(calls(log)) >= wanted or process.poll() is not None, "work")


def finish(process: subprocess.Popen[str]) -> tuple[int, list[str]]:
    """Wait for the end; return the exit code and the lines that were printed."""
    said, _ = process.communicate()
    return process.returncode, [line for line in said.splitlines() if line]


# Killed


@pytest.mark.slow
def test_a_sweep_that_is_killed_again_and_again_is_the_same(start: Start, log: Path) -> None:
    """Killed outright at random moments, a sweep loses only iterations in flight and ends equal."""
    rng = np.random.default_rng(5)
    kills, finished = 0, {}
    for _ in range(6):
        with start() as process:
            wait_for_work(log, process, int(rng.integers(5, 45)))
            kills += process.poll() is None
            process.kill()
        store = Store(Path("abtune.nc"))
        for path, changed in finished.items():
            assert path.stat().st_mtime_ns == changed
        finished = {path: path.stat().st_mtime_ns for path in (store.folder / "runs").glob("*.json")}
        store.records()
        store.rounds()
    assert kills >= 3
    code, said = finish(start())
    assert code == 0
    assert said[-2:] == ["abtune.nc: 12 of 12 runs done", "next: abtune analyze"]
    for path, changed in finished.items():
        assert path.stat().st_mtime_ns == changed
    # 12 runs of 2 iterations; at most 4 runs are in flight at 2 cores and 1 device.
    assert 24 <= proposals(log) <= 24 + 4 * kills
    assert finish(start(out="whole.nc"))[0] == 0
    whole, killed = (abtune.open_dataset(name) for name in ("whole.nc", "abtune.nc"))
    assert (killed["run_status"] == OK).all()
    xr.testing.assert_identical(without_circumstances(killed), without_circumstances(whole))
    wait_until(lambda: not servants(str(log)), "the end of all servants")


def test_a_killed_sweep_leaves_no_processes(start: Start, log: Path) -> None:
    """When a sweep is killed outright, the processes that search and measure for it end too."""
    with start() as process:
        wait_for_work(log, process, 10)
        assert servants(str(log))
        process.kill()
    wait_until(lambda: not servants(str(log)), "the end of all servants")


# Interrupted


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_sweep_keeps_what_is_done(start: Start, log: Path, number: int) -> None:
    """Ctrl-C and SIGTERM end a sweep with a dataset of what is done, a word, and exit code 130."""
    with start() as process:
        wait_until(lambda: list(Path("abtune.nc.runs/runs").glob("*.json")), "a finished run")
        os.kill(process.pid, number)
        code, said = finish(process)
    assert code == 130
    assert said[-2:] == [
        "abtune.nc: what is done is kept; the same command goes on",
        "abtune: interrupted",
    ]
    dataset = abtune.open_dataset("abtune.nc")
    done = int((dataset["run_status"] == OK).sum())
    assert 0 < done <= 12
    assert done == len(Store(Path("abtune.nc")).records())
    assert not servants(str(log))
    code, said = finish(start())
    assert code == 0
    assert "abtune.nc: 12 of 12 runs done" in said
    assert (abtune.open_dataset("abtune.nc")["run_status"] == OK).all()


def test_an_interrupt_does_not_wait_for_a_hanging_kernel(start: Start, log: Path) -> None:
    """Ctrl-C ends a sweep at once although every kernel hangs."""
    with start("--candidate", "fake_configurations:STUCK") as process:
        wait_until(lambda: [call for call in calls(log) if call[2] == "stuck"], "a hanging kernel")
        os.kill(process.pid, signal.SIGINT)
        assert finish(process)[0] == 130
    assert not servants(str(log))


# Out of time


@pytest.mark.usefixtures("fake")
def test_a_time_limit_keeps_what_is_done(store: Store, tmp_path: Path) -> None:
    """When time is up the winners so far are measured again, and the same call goes on later."""
    stuck = config("stuck", time_candidate=f"hang:once:{tmp_path / 'hung'}")
    plan = small_plan(SMALL, configs=(PLAIN, stuck), run_timeout=600.0)
    outcome = run_sweep(plan, store, time_limit=6.0)
    assert outcome.stopped == "the time limit"
    assert outcome.finished < 4
    complete = outcome.dataset["run_status"] == OK
    assert int(complete.sum()) == outcome.finished
    assert (outcome.dataset["latency"].notnull().all(("round", "repeat")) == complete).all()
    later = run_sweep(plan, store)
    assert (later.finished, later.stopped) == (4, "")
    assert (later.dataset["run_status"] == OK).all()
    assert later.dataset["latency"].notnull().all()
    assert (later.dataset["trial_status"] == TrialStatus.OK).all()


@pytest.mark.usefixtures("fake")
def test_a_time_limit_does_not_wait_for_a_batch(store: Store) -> None:
    """When time is up a batch of which every kernel hangs is given up whole, not kernel by kernel."""
    stuck = config("stuck", time_candidate="hang")
    plan = small_plan(
        SMALL, configs=(stuck, config("other", build="hang")), run_timeout=600, build_timeout=600
    )
    outcome = run_sweep(plan, store, time_limit=3.0)
    assert (outcome.stopped, outcome.finished) == ("the time limit", 0)
    assert not store.records()


@pytest.mark.usefixtures("fake")
def test_without_time_nothing_is_begun(store: Store, log: Path) -> None:
    """A sweep whose time is up before it begins says so and has nothing."""
    outcome = run_sweep(small_plan(configs=(config("a"), config("b"))), store, time_limit=1e-3)
    assert (outcome.stopped, outcome.finished) == ("the time limit", 0)
    assert (outcome.dataset["run_status"] == RunStatus.MISSING).all()
    assert not proposals(log)


def test_no_step_is_begun_that_cannot_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """With so many seconds left, a step begins only if a typical one of its kind and the reserve fit."""
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    clock = Clock(60.0)
    clock._start = now
    assert clock.left() == 60.0
    assert clock.allows("search", 59.0)
    assert not clock.allows("search", 60.0)
    for seconds in (10.0, 20.0, 90.0):
        clock.note("search", seconds)
    assert clock.allows("search", 39.0)
    assert not clock.allows("search", 40.0)
    assert clock.allows("another", 59.0)
    now = 130.0
    assert clock.left() == 30.0
    assert not clock.allows("search", 10.0)


# Going on


@pytest.mark.usefixtures("fake")
def test_a_search_goes_on_from_its_last_iteration(store: Store, log: Path) -> None:
    """A search in progress is not begun again: its trials are kept and only the rest is proposed."""
    plan = small_plan(SMALL, seeds=1)
    run = plan.runs[0]
    with store.opened(plan, {"created": ""}):
        store.save_history(run, make_history(1e-9, float("nan")), "2026-01-01T00:00:00.000")
    dataset = run_sweep(plan, store).dataset
    one = dataset.sel(shape=SMALL.label, config=run.config.name, seed=0)
    assert one["trial_latency"].values[0] == 1e-9
    assert one["trial_status"].values.tolist() == [0, TrialStatus.RUN_FAILED, 0, 0]
    assert one["started"].values == np.datetime64("2026-01-01")
    assert float(one["tuning_time"]) > 2.5
    iterations = [call[3] for call in calls(log) if call[:3] == ["propose", SMALL.label, run.config.name]]
    assert iterations == [1]


@pytest.mark.usefixtures("fake")
def test_what_was_proposed_is_tried_first(store: Store, log: Path) -> None:
    """A search that stopped within an iteration tries what it had proposed, and does not propose again."""
    plan = small_plan(SMALL, seeds=1)
    run = plan.runs[0]
    proposed = [trial.candidate for trial in make_history(1e-9, 1e-9).trials]
    faultless = tuple(
        replace(candidate, record=[candidate.record[0], {"faults": {}, "place": place}])
        for place, candidate in enumerate(proposed)
    )
    history = History.empty().proposed(faultless, cost_model=b"", seconds=2.5)
    with store.opened(plan, {"created": ""}):
        store.save_history(run, history, "2026-01-01T00:00:00.000")
    run_sweep(plan, store)
    made = [call for call in calls(log) if call[1:3] == [SMALL.label, run.config.name]]
    assert [call[3] for call in made if call[0] == "propose"] == [1]
    timed = [call[3] for call in made if call[0] == "time_candidate"]
    assert {record[0] for record in (candidate.record for candidate in faultless)} < set(timed)
    assert len(timed) == plan.settings.trials


@pytest.mark.usefixtures("fake")
def test_a_search_that_was_over_is_only_recorded(store: Store, log: Path) -> None:
    """A sweep killed between a search's last iteration and its record proposes nothing more for it."""
    plan = small_plan(SMALL, seeds=1)
    run = plan.runs[0]
    winner = make_record(run).winner
    history = make_history(1e-9, 2e-9, 3e-9, 4e-9)
    with store.opened(plan, {"created": ""}):
        store.save_history(run, history, "2026-01-01T00:00:00.000")
    assert winner is not None
    run_sweep(plan, store)
    assert not [call for call in calls(log) if call[:3] == ["propose", SMALL.label, run.config.name]]
    record = next(record for record in store.records() if record.config == run.config.name)
    assert (record.search_latency, record.winner) == (1e-9, history.trials[0].candidate.record)


# With nothing but the dataset


@pytest.mark.usefixtures("fake")
def test_a_dataset_alone_can_be_gone_on_with(store: Store, log: Path) -> None:
    """Where the folder is gone the finished runs come out of the dataset, and only new ones are made."""
    first = run_sweep(small_plan(seeds=2), store).dataset
    shutil.rmtree(store.folder)
    before = proposals(log)
    both = run_sweep(small_plan(seeds=3), store).dataset
    assert proposals(log) == before * 3 // 2
    kept = ["winner", "search_latency", "trial_latency", "trial_status", "tuning_time", "started", "finished"]
    xr.testing.assert_identical(
        both[kept].sel(seed=[0, 1]).drop_attrs(deep=False), first[kept].drop_attrs(deep=False)
    )
    assert both.attrs["created"] == first.attrs["created"]
    assert (both["run_status"] == OK).all()


@pytest.mark.usefixtures("fake")
def test_taking_over_a_dataset_can_be_killed(store: Store) -> None:
    """What was taken over in part is taken over again, whole."""
    run_sweep(small_plan(seeds=2), store)
    for path in [store.folder / "sweep.json", *sorted((store.folder / "runs").glob("*"))[1:]]:
        path.unlink()
    assert run_sweep(small_plan(seeds=2), store).finished == len(small_plan(seeds=2).runs)


@pytest.mark.usefixtures("fake")
def test_a_dataset_made_otherwise_is_not_gone_on_with(store: Store) -> None:
    """Without its folder, too, a sweep with other settings is refused."""
    run_sweep(small_plan(seeds=2), store)
    shutil.rmtree(store.folder)
    with pytest.raises(StoreError, match="begun with other settings"):
        run_sweep(small_plan(seeds=2, rounds=7), store)
