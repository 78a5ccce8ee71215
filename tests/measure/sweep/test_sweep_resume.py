"""Sweeps that are killed, interrupted or out of time or room: their work is kept, and they go on."""

from __future__ import annotations

import asyncio
import errno
import gzip
import itertools
import json
import math
import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import xarray as xr
from forked import Forked
from measure_builders import OTHER, PLAIN, SMALL, make_facts, make_history, make_record, small_plan
from processes import children, wait_until
from sweeping import calls, config, run_sweep, without_circumstances

import abtune
from abtune.cli import main
from abtune.dataset.schema import RunStatus, TrialStatus
from abtune.errors import StoreError
from abtune.measure.plan.plan import Plan
from abtune.measure.plan.records import SearchHistory
from abtune.measure.store import store as store_module
from abtune.measure.store.as_dataset import records_to_dataset
from abtune.measure.store.store import Store
from abtune.measure.sweep import session as sweep_session
from abtune.measure.sweep.candidates import CHUNK
from abtune.measure.sweep.session import BUILD_SECONDS, Session
from abtune.measure.workers.gathering import heeding_signals

OK = RunStatus.COMPLETE
SWEEP = ["sweep", "--shapes", f"{SMALL.label},{OTHER.label}", "--trials", "4", "--trials-per-iter", "2"]
PAIR = ["--baseline", "fake_configurations:PLAIN", "--candidate", "fake_configurations:NEW"]

Start = Callable[..., Forked]
SweepHere = Callable[..., tuple[int, list[str]]]


def words(*options: str, seeds: int = 3, out: str = "abtune.nc") -> list[str]:
    """Return the command of a sweep of the fake."""
    return [*SWEEP, *PAIR, "--seeds", str(seeds), "--out", out, "--cores", "2", *options]


@pytest.fixture
def start(empty_folder: Path, log: Path) -> Start:
    """Start a sweep of the fake as a process of its own, in an empty folder."""
    numbers = itertools.count()

    def start_one(*options: str, **changes: Any) -> Forked:
        output = log.with_name(f"sweep-{next(numbers)}.out")
        return Forked("fake_abtune", *words(*options, **changes), output=output)

    return start_one


@pytest.fixture
def sweep_here(fake: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> SweepHere:
    """Carry out the same command in this process; return the exit code and the lines that were printed."""
    facts = make_facts(versions={})
    monkeypatch.setattr("abtune.measure.workers.find_target.find_target", lambda *_: facts)

    def sweep(*options: str, **changes: Any) -> tuple[int, list[str]]:
        code = main(words(*options, **changes))
        return code, capsys.readouterr().out.splitlines()

    return sweep


def proposals(log: Path) -> int:
    """Return the number of iterations that began, without the trials of the machine."""
    return sum(call[0] == "propose" and call[1] in (SMALL.label, OTHER.label) for call in calls(log))


def wait_for_work(log: Path, process: Forked, lines: int) -> None:
    """Wait until a sweep has noted some more calls, or has ended."""
    wanted = len(calls(log)) + lines
    wait_until(lambda: len(calls(log)) >= wanted or process.poll() is not None, "work")


def finish(process: Forked) -> tuple[int | None, list[str]]:
    """Wait for the end; return the exit code and the lines that were printed."""
    return process.wait(), [line for line in process.said().splitlines() if line]


# Killed


def proposed_on_disk(store: Store) -> set[int]:
    """Return the random seeds of all iterations that searches in progress have on disk."""
    seeds = set()
    for path in store.folder.glob("searches/*.json.gz"):
        content = json.loads(gzip.decompress(path.read_bytes()))
        for candidate in [trial["candidate"] for trial in content["trials"]] + content["pending"]:
            seeds.add(int(candidate["module_hash"].partition(".")[0]))
    return seeds


@pytest.mark.kills
def test_a_sweep_says_where_it_is(start: Start, log: Path) -> None:
    """A sweep that hangs can be asked; one that does not goes on."""
    with start() as sweep:
        wait_until(lambda: log.exists() and calls(log), "the first call")
        os.kill(sweep.pid, signal.SIGUSR1)
        wait_until(lambda: "run_sweep.py" in sweep.said(), "the stack of the sweep")
    assert sweep.poll() == 0


@pytest.mark.parametrize(("kills", "seeds"), [(6, 3), pytest.param(12, 4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("share", [[], ["--share"]], ids=["alone", "shared"])
def test_a_sweep_that_is_killed_many_times_is_the_same(
    start: Start, sweep_here: SweepHere, log: Path, kills: int, seeds: int, share: list[str]
) -> None:
    """A sweep that is killed at random moments loses only steps in flight, and ends the same."""
    rng = np.random.default_rng(5)
    store, runs = Store(Path("abtune.nc")), 4 * seeds
    finished, kept = {}, set()
    for _ in range(kills):
        before = len(calls(log))
        with start(*share, seeds=seeds) as process:
            wait_for_work(log, process, int(rng.integers(1, 25)))
            assert process.poll() is None, "the sweep was over before it was killed often enough"
            process.kill()
        again = [call for call in calls(log)[before:] if call[0] == "propose" and call[4] in kept]
        assert not again
        assert unchanged(finished)
        finished = {path: path.stat().st_mtime_ns for path in (store.folder / "runs").glob("*.json")}
        kept |= proposed_on_disk(store)
        store.records()
        store.rounds()
    code, said = sweep_here(*share, seeds=seeds)
    assert (code, said[-1]) == (0, f"abtune.nc: {runs} of {runs} runs done")
    assert unchanged(finished)
    # Each run has 2 iterations; at most 5 runs are in flight at 2 cores and 1 device.
    assert 2 * runs <= proposals(log) <= 2 * runs + 5 * kills
    assert sweep_here(*share, seeds=seeds, out="whole.nc")[0] == 0
    whole, killed = (abtune.open_dataset(name) for name in ("whole.nc", "abtune.nc"))
    assert (killed["run_status"] == OK).all()
    xr.testing.assert_identical(without_circumstances(killed), without_circumstances(whole))
    wait_until(lambda: not children(str(log)), "the end of all children")


def unchanged(finished: dict[Path, int]) -> bool:
    """Tell whether files are as they were at the times given."""
    return all(path.stat().st_mtime_ns == changed for path, changed in finished.items())


@pytest.mark.kills
def test_a_search_that_is_killed_within_an_iteration_does_not_propose_again(
    start: Start, sweep_here: SweepHere, log: Path
) -> None:
    """Candidates that were proposed before a kill are tried later; nothing is proposed twice."""
    options = ("--candidate", "fake_configurations:UNBUILT")
    with start(*options, seeds=1) as process:
        wait_until(Path("hung").exists, "a build that hangs")
        process.kill()
    kept = proposed_on_disk(Store(Path("abtune.nc")))
    assert kept
    before = len(calls(log))
    assert sweep_here(*options, seeds=1)[0] == 0
    assert not [call for call in calls(log)[before:] if call[0] == "propose" and call[4] in kept]
    dataset = abtune.open_dataset("abtune.nc")
    assert (dataset["run_status"] == OK).all()
    assert (dataset["trial_status"] == TrialStatus.OK).all()


@pytest.mark.kills
def test_a_killed_sweep_leaves_no_processes(start: Start, log: Path) -> None:
    """The processes of a sweep end when the sweep is killed."""
    with start() as process:
        wait_for_work(log, process, 10)
        assert children(str(log))
        process.kill()
    wait_until(lambda: not children(str(log)), "the end of all children")


# Interrupted


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_does_not_interrupt_the_end(number: int) -> None:
    """Whoever is impatient does not interrupt what ends the processes: that waits for ever."""
    ended = []

    async def work() -> None:
        with heeding_signals():
            try:
                os.kill(os.getpid(), number)
                await asyncio.sleep(60)
            finally:
                os.kill(os.getpid(), number)
                await asyncio.sleep(0.1)
                ended.append(number)

    before = signal.signal(number, signal.default_int_handler)  # a shell's background job ignores SIGINT
    try:
        with pytest.raises((asyncio.CancelledError, KeyboardInterrupt)):  # asyncio makes the second of SIGINT
            asyncio.run(work())
    finally:
        signal.signal(number, before)
    assert ended == [number]


def test_a_signal_is_heeded_from_the_moment_of_its_handler(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that comes while the handlers are put in place is not lost, and no defect."""
    install = signal.signal

    def strike(number: int, handler: Any) -> Any:
        before = install(number, handler)
        if number == signal.SIGTERM:
            os.kill(os.getpid(), number)
        return before

    async def work() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(signal, "signal", strike)
            struck = heeding_signals()
            struck.__enter__()
        try:
            await asyncio.sleep(60)
        finally:
            struck.__exit__(None, None, None)

    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with pytest.raises(asyncio.CancelledError):
            asyncio.run(work())
        assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("ended", ["well", "by an error"])
@pytest.mark.usefixtures("fake")
def test_a_signal_while_the_dataset_is_built_waits_for_it(
    store: Store, monkeypatch: pytest.MonkeyPatch, number: int, ended: str
) -> None:
    """The finished runs are in the dataset, whenever the user grew impatient."""

    def interrupted(*args: Any) -> xr.Dataset:
        os.kill(os.getpid(), number)
        return records_to_dataset(*args)

    def broken(*_: Any) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr("abtune.measure.store.store.records_to_dataset", interrupted)
    if ended == "by an error":
        monkeypatch.setattr("abtune.measure.sweep.run_sweep.measure_all", broken)
    before = signal.signal(number, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run_sweep(small_plan(), store)
    finally:
        signal.signal(number, before)
    dataset = abtune.open_dataset(store.dataset)
    assert (dataset["run_status"] == OK).all()


@pytest.mark.kills
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_sweep_keeps_what_is_done(
    start: Start, sweep_here: SweepHere, log: Path, number: int
) -> None:
    """Ctrl-C, SIGTERM and a terminal that goes away end a sweep with a dataset, a word, and exit code 130."""
    with start(seeds=2) as process:
        wait_until(lambda: list(Path("abtune.nc.runs/runs").glob("*.json")), "a finished run")
        os.kill(process.pid, number)
        code, said = finish(process)
    assert code == 130
    assert said[-1:] == [
        "abtune: interrupted; what is done is kept in abtune.nc, and the same command goes on",
    ]
    dataset = abtune.open_dataset("abtune.nc")
    done = int((dataset["run_status"] == OK).sum())
    assert 0 < done <= 8
    assert done == len(Store(Path("abtune.nc")).records())
    assert not children(str(log))
    code, said = sweep_here(seeds=2)
    assert (code, said[-1]) == (0, "abtune.nc: 8 of 8 runs done")
    assert (abtune.open_dataset("abtune.nc")["run_status"] == OK).all()


@pytest.mark.kills
def test_an_interrupt_does_not_wait_for_a_hanging_kernel(start: Start, log: Path) -> None:
    """Ctrl-C ends a sweep at once although every kernel hangs."""
    with start("--candidate", "fake_configurations:STUCK") as process:
        wait_until(lambda: [call for call in calls(log) if call[2] == "stuck"], "a hanging kernel")
        os.kill(process.pid, signal.SIGINT)
        assert finish(process)[0] == 130
    assert not children(str(log))


# No room


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize("files", [0, 1, 7, 20, 43])
def test_a_full_disk_loses_nothing(store: Store, monkeypatch: pytest.MonkeyPatch, files: int) -> None:
    """A sweep ends with one line when the disk is full, at any file, and goes on when there is room."""
    plan, flush, left = small_plan(seeds=2), os.fsync, float(files)

    def run_full(handle: int) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        flush(handle)

    monkeypatch.setattr(os, "fsync", run_full)
    with pytest.raises(
        StoreError, match=r"^cannot write .*: No space left on device; .*the same command again$"
    ):
        run_sweep(plan, store)
    finished = {path: path.stat().st_mtime_ns for path in (store.folder / "runs").glob("*.json")}
    # One description; for each run two steps in each of two iterations, and a record; then the rounds.
    assert len(finished) == 8 if files == 43 else len(finished) < 4
    left = math.inf
    outcome = run_sweep(plan, store)
    assert (outcome.finished, outcome.stopped) == (8, "")
    assert (outcome.dataset["run_status"] == OK).all()
    assert outcome.dataset["latency"].notnull().all()
    assert all(path.stat().st_mtime_ns == changed for path, changed in finished.items())


@pytest.mark.usefixtures("fake")
def test_a_folder_that_is_removed_is_said(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep whose folder is removed ends with one line; the earlier dataset stays."""
    run_sweep(small_plan(seeds=1), store)
    save = Store.save_record

    def remove_and_save(*arguments: Any) -> None:
        shutil.rmtree(store.folder)
        save(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Store, "save_record", remove_and_save)
        with pytest.raises(StoreError, match="was removed or replaced while this sweep was writing it"):
            run_sweep(small_plan(seeds=2), store)
    assert run_sweep(small_plan(seeds=2), store).finished == 8


# Out of time


@pytest.mark.usefixtures("fake")
def test_a_time_limit_keeps_what_is_done(store: Store, tmp_path: Path) -> None:
    """When time is up the winners so far are re-measured, and the same call goes on later."""
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
def test_what_was_tried_when_time_is_up_is_kept(store: Store, tmp_path: Path, log: Path) -> None:
    """Trials of a batch that is given up are kept, and only its other candidates are tried later."""
    hangs = config("hangs", time_candidate=f"hang:once:{tmp_path / 'hung'}:{CHUNK}")
    trials = {"trials": CHUNK + 4, "trials_per_iteration": CHUNK + 4, "run_timeout": 600.0}
    plan = small_plan(SMALL, seeds=1, configs=(hangs,), **trials)
    outcome = run_sweep(plan, store, time_limit=6.0, cores=1)
    assert (outcome.stopped, outcome.finished) == ("the time limit", 0)
    history, _ = store.history(plan.runs[0])
    assert (len(history.trials), len(history.pending), history.iterations) == (CHUNK, 4, 0)
    before = len(calls(log))
    assert (run_sweep(plan, store).dataset["trial_status"] == TrialStatus.OK).all()
    timed = [call[3] for call in calls(log)[before:] if call[0] == "time_candidate"]
    assert timed == [candidate.record[0] for candidate in history.pending]


@pytest.mark.usefixtures("fake")
def test_when_time_is_up_winners_wait_to_be_measured(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Re-measuring waits until winners have grown by half, all of a shape are in, or it is quick."""
    run_sweep(small_plan(SMALL, seeds=4), store)
    record = store.records()[0]
    monkeypatch.setattr(Session, "reserve", lambda _: math.inf)  # no time to search
    monkeypatch.setattr(sweep_session, "QUICK_SHARE", 0.0)

    def measured(plan: Plan, new_seed: int, time_limit: float = 60.0) -> int:
        with store.opened(plan, {"created": ""}):
            store.save_record(replace(record, seed=new_seed))
        outcome = run_sweep(plan, store, time_limit=time_limit)
        assert outcome.stopped == "the time limit"
        return int(outcome.dataset["latency"].notnull().all(("round", "repeat")).sum())

    more = small_plan(SMALL, seeds=20)
    assert [measured(more, seed) for seed in (4, 5, 6)] == [8, 8, 8]
    assert measured(more, 7, time_limit=1e-3) == 8
    assert [measured(more, seed) for seed in (8, 9)] == [13, 13]
    # Now only the other shape has runs to come.
    assert measured(small_plan(SMALL, OTHER, seeds=4), 10) == 15
    monkeypatch.setattr(sweep_session, "QUICK_SHARE", 0.5)
    assert measured(more, 11) == 16


@pytest.mark.usefixtures("fake")
def test_searches_that_end_just_in_time_are_all_done(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the last run leaves no time to search, nothing was stopped, because nothing is left to search."""
    monkeypatch.setattr(Session, "reserve", lambda session: 0.0 if any(session._left.values()) else math.inf)
    plan = small_plan(SMALL, seeds=2)
    outcome = run_sweep(plan, store, time_limit=60.0)
    assert (outcome.stopped, outcome.finished) == ("", 4)
    assert len(store.rounds()) == 1


@pytest.mark.usefixtures("fake")
def test_a_time_limit_does_not_wait_for_a_batch(store: Store) -> None:
    """When time is up, a batch of hanging kernels is given up at once, not kernel by kernel."""
    stuck = config("stuck", time_candidate="hang")
    plan = small_plan(
        SMALL, configs=(stuck, config("other", build="hang")), run_timeout=600, build_timeout=600
    )
    outcome = run_sweep(plan, store, time_limit=3.0)
    assert (outcome.stopped, outcome.finished) == ("the time limit", 0)
    assert not store.records()


@pytest.mark.usefixtures("fake")
def test_a_time_limit_ends_measuring_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Re-measuring is given up when it takes longer than the time that is left."""

    async def wait(_: Session) -> None:
        """Measure nothing yet."""

    plan = small_plan(SMALL, seeds=1, configs=(config("stuck", time_kernel="hang"), PLAIN), run_timeout=600.0)
    with monkeypatch.context() as patch:
        patch.setattr("abtune.measure.sweep.run_sweep.measure_all", wait)
        run_sweep(plan, store)
    monkeypatch.setattr("abtune.measure.sweep.winners.SLACK", 0.5)
    outcome = run_sweep(plan, store, time_limit=0.5)
    assert (outcome.stopped, outcome.finished) == ("the time limit", 2)
    assert not store.rounds()


def searched(store: Store) -> Plan:
    """Return a plan whose searches are done, and whose winners are not measured again."""
    plan = small_plan(seeds=1)
    run_sweep(plan, store)
    for path in store.folder.glob("rounds/*.json"):
        path.unlink()
    return plan


@pytest.mark.usefixtures("fake")
def test_without_time_for_all_some_shapes_are_measured(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """After all searches the shapes that fit into the time are measured, and always one."""
    plan = searched(store)
    monkeypatch.setattr(Session, "seconds_to_measure", lambda *_: 100.0)
    outcome = run_sweep(plan, store, time_limit=90.0)
    assert (outcome.stopped, outcome.finished) == ("the time limit", 4)
    assert len(store.rounds()) == 1
    assert run_sweep(plan, store, time_limit=90.0).stopped == ""
    assert len(store.rounds()) == 2


@pytest.mark.usefixtures("fake")
def test_a_winner_that_failed_is_kept_when_time_is_up(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shape with a winner that fails is not measured anew in each session that another shape exceeds."""
    monkeypatch.setattr("abtune.measure.sweep.winners.SLACK", 0.5)
    faults = {f"check_kernel@{SMALL.label}": "raise", f"time_kernel@{OTHER.label}": "hang"}
    plan = small_plan(SMALL, OTHER, seeds=1, configs=(config("bad", **faults), PLAIN), run_timeout=600.0)
    with monkeypatch.context() as patch:
        patch.setattr("abtune.measure.sweep.winners.waiting_winners", lambda *_, **__: {})
        run_sweep(plan, store)
    monkeypatch.setattr(Session, "seconds_to_measure", lambda *_: 0.0)
    outcome = run_sweep(plan, store, time_limit=4.0)
    assert (outcome.stopped, outcome.finished) == ("the time limit", 4)
    assert store.rounds().keys() == {SMALL.label}


@pytest.mark.usefixtures("fake")
def test_time_that_is_left_is_used(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shapes that did not seem to fit are measured if the others took less time than expected."""
    plan = searched(store)
    monkeypatch.setattr(Session, "seconds_to_measure", lambda _, winners: 60.0 * len(winners))
    assert run_sweep(plan, store, time_limit=90.0).stopped == ""
    assert len(store.rounds()) == 2


@pytest.mark.usefixtures("fake")
def test_without_time_nothing_is_begun(store: Store, log: Path) -> None:
    """A sweep whose time is up before it begins says so and has nothing."""
    outcome = run_sweep(small_plan(configs=(config("a"), config("b"))), store, time_limit=1e-3)
    assert (outcome.stopped, outcome.finished) == ("the time limit", 0)
    assert (outcome.dataset["run_status"] == RunStatus.MISSING).all()
    assert not proposals(log)


def test_measuring_again_takes_all_builds(store: Store) -> None:
    """The estimate for winners has the builds of each core, and timing shared by devices."""
    plan = small_plan(rounds=5, repeats=5, repeat_ms=10)
    cluster = SimpleNamespace(searchers=4, devices=2, builds=[])
    session = Session(plan, store, cluster, math.inf, SimpleNamespace())
    timing = 2 * 5 * 5 * 0.01
    assert session.seconds_to_measure([]) == 0
    assert session.seconds_to_measure([[1e-5] * 3, [1e-5] * 2]) == pytest.approx(
        2 * BUILD_SECONDS + 5 * timing / 2
    )
    cluster.builds.append(3.0)
    assert session.seconds_to_measure([[1e-5] * 5]) == pytest.approx(2 * 3 + 5 * timing)


# Going on


@pytest.mark.usefixtures("fake")
def test_a_search_goes_on_from_its_last_iteration(store: Store, log: Path) -> None:
    """A search in progress keeps its trials, and proposes only the rest."""
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
    """A search that stopped within an iteration first tries the candidates that it had proposed."""
    plan = small_plan(SMALL, seeds=1)
    run = plan.runs[0]
    proposed = [trial.candidate for trial in make_history(1e-9, 1e-9).trials]
    faultless = tuple(
        replace(candidate, text=json.dumps([candidate.record[0], {"faults": {}, "place": number}]))
        for number, candidate in enumerate(proposed)
    )
    history = SearchHistory().proposed(faultless, cost_model=b"", seconds=2.5)
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
    """A search whose iterations are all done is recorded without another proposal."""
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
    """If the folder is gone the finished runs come out of the dataset, and only new ones are made."""
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


def everything(store: Store) -> set[str]:
    """Return all that is kept of finished runs, in no order."""
    winners = [times for rounds in store.rounds().values() for times in rounds.winners]
    return {str(kept) for kept in (*store.records(), *winners)}


class KilledError(BaseException):
    """An error that nothing catches, like a kill."""


@pytest.mark.usefixtures("fake")
def test_taking_over_a_dataset_can_be_killed_anywhere(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep that is killed at any file while it takes over a dataset takes it over again completely."""
    plan = small_plan(seeds=1)
    run_sweep(plan, store)
    whole = everything(store)
    write, left = store_module.write_json, 0

    def write_some(path: Path, content: object) -> None:
        nonlocal left
        if not left:
            path.with_name(f".{path.name}.77.tmp").write_bytes(b"half")
            raise KilledError
        left -= 1
        write(path, content)

    monkeypatch.setattr(store_module, "write_json", write_some)
    files = len(plan.runs) + len(plan.shapes) + 1
    for count in range(files):
        shutil.rmtree(store.folder)
        for allowed in (count, count // 2):  # and once more, over what is there
            left = allowed
            with pytest.raises(KilledError), store.opened(plan, {"created": ""}):
                raise AssertionError("opened")
        left = files
        with store.opened(plan, {"created": ""}):
            assert everything(store) == whole
            assert all(store.is_finished(run) for run in plan.runs)


@pytest.mark.usefixtures("fake")
def test_a_dataset_made_otherwise_is_not_gone_on_with(store: Store) -> None:
    """A sweep with other settings is refused, also without its folder."""
    run_sweep(small_plan(seeds=2), store)
    shutil.rmtree(store.folder)
    with pytest.raises(StoreError, match="begun with other settings"):
        run_sweep(small_plan(seeds=2, rounds=7), store)
