"""Machines that break during a sweep: no run fails for that, and no such failure is kept."""

from __future__ import annotations

import asyncio
import errno
import os
import subprocess
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest
from measure_builders import PLAIN, SMALL, make_settings, make_trial, small_plan
from sweeping import calls, config, run_sweep

from abtune.dataset.schema import RunStatus, TrialStatus
from abtune.errors import TargetError
from abtune.measure.plan.problem import Problem
from abtune.measure.store.store import Store
from abtune.measure.sweep.candidates import CHUNK, try_candidates
from abtune.measure.sweep.health_check import HealthCheck
from abtune.measure.sweep.run_sweep import measure_all
from abtune.measure.sweep.searching import SUSPICIOUS
from abtune.measure.workers.cluster import Cluster

pytestmark = pytest.mark.usefixtures("fake")

OK = RunStatus.COMPLETE


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """Return the file whose presence breaks the machine."""
    return tmp_path / "broken"


def breaking(broken: Path, function: Any) -> Any:
    """Return a function that first breaks the machine, and then does its work."""

    def break_and_call(*args: Any) -> Any:
        broken.touch()
        return function(*args)

    return break_and_call


@pytest.mark.parametrize("function", ["propose", "build", "time_candidate"])
def test_a_machine_that_breaks_costs_no_run(
    store: Store, broken: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    """A sweep ends with the reason when nothing works any more, and goes on once that is mended."""
    monkeypatch.setenv("FAKE_BROKEN", f"{function}:{broken}")
    with monkeypatch.context() as patch:
        patch.setattr(Store, "save_record", breaking(broken, Store.save_record))
        with pytest.raises(TargetError, match=r"^this machine cannot .* is broken; mend that, and the same "):
            run_sweep(small_plan(seeds=4), store)
    kept = store.records()
    assert kept
    assert all(record.status is OK for record in kept)
    broken.unlink()
    outcome = run_sweep(small_plan(seeds=4), store)
    assert (outcome.dataset["run_status"] == OK).all()
    failed = (outcome.dataset["trial_status"] != TrialStatus.OK).sum("trial")
    assert (failed < SUSPICIOUS).all()


def test_a_device_that_hangs_is_found_within_the_iteration(
    store: Store, broken: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each candidate takes its whole time limit then, so the machine is checked after the first chunk."""

    async def find_broken(health: HealthCheck) -> None:
        raise TargetError("the machine is checked")

    monkeypatch.setenv("FAKE_BROKEN", f"time_candidate:{broken}:hang")
    monkeypatch.setattr(Store, "save_history", breaking(broken, Store.save_history))
    monkeypatch.setattr(HealthCheck, "rerun", find_broken)
    plan = small_plan(SMALL, seeds=1, trials=64, trials_per_iteration=64, run_timeout=0.1)
    with pytest.raises(TargetError, match="the machine is checked"):
        run_sweep(plan, store)
    tried = [call for call in calls(log) if call[:2] == ["time_candidate", SMALL.label]]
    assert CHUNK <= len(tried) <= 6 * CHUNK  # other chunks go on meanwhile
    assert not store.records()


def test_a_machine_that_breaks_after_the_searches_fails_no_winner(
    store: Store, broken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Winners that fail on a broken machine are measured when the same command goes on."""
    monkeypatch.setenv("FAKE_BROKEN", f"build:{broken}")
    with monkeypatch.context() as patch:
        patch.setattr("abtune.measure.sweep.run_sweep.measure_all", breaking(broken, measure_all))
        with pytest.raises(TargetError, match="the same command goes on"):
            run_sweep(small_plan(), store)
    assert not store.rounds()
    broken.unlink()
    assert (run_sweep(small_plan(), store).dataset["run_status"] == OK).all()


def test_a_full_disk_for_temporary_files_says_what_to_do(
    store: Store, broken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The compiler and the loader name no folder, so the line of the sweep does."""
    monkeypatch.setenv("FAKE_BROKEN", f"build:{broken}:full")
    broken.touch()
    said = "No space left on device; make room for temporary files, or set TMPDIR$"
    with pytest.raises(TargetError, match=said):
        run_sweep(small_plan(), store)
    assert not store.has_work


def test_a_configuration_that_always_fails_is_not_the_machine(store: Store) -> None:
    """A sweep goes on if the machine proves fit again, and keeps the failed runs."""
    outcome = run_sweep(small_plan(configs=(PLAIN, config("bad", build="raise")), seeds=1), store)
    assert outcome.finished == 4
    assert (outcome.dataset["run_status"].sel(config="plain") == OK).all()
    assert (outcome.dataset["run_status"].sel(config="bad") == RunStatus.FAILED).all()


def test_a_system_without_room_for_processes_is_said_so(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sweep ends with one line if no process can be started, and fails no run."""

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(subprocess, "Popen", refuse)
    with pytest.raises(TargetError, match=r"cannot be started: Too many open files; raise ulimit -n$"):
        run_sweep(small_plan(), store)
    assert not store.has_work


@pytest.mark.parametrize(("cores", "size"), [(1, CHUNK), (3, CHUNK // 3), (2 * CHUNK, 1)])
def test_candidates_are_tried_in_their_order(cores: int, size: int) -> None:
    """The next chunk has a lower priority, but comes before the next run. More cores make smaller chunks."""
    asked = []

    class Noting:
        builds: ClassVar[list[float]] = []

        async def search_and_measure(self, *args: Any, priority: float) -> tuple[object, float, float]:
            asked.append((args[1][1], priority))
            return (), 0.0, 0.0

    async def drain() -> None:
        noting = cast("Cluster", Noting())
        problem = Problem(shape=SMALL, config=PLAIN, target="")
        tried = try_candidates(make_settings(), noting, problem, candidates, priority=-3, cores=cores)
        assert len([chunk async for chunk in tried]) == len(asked)

    candidates = [make_trial(number=number).candidate for number in range(3 * CHUNK + 1)]
    asyncio.run(drain())
    assert [candidate for chunk, _ in asked for candidate in chunk] == candidates
    assert {len(chunk) for chunk, _ in asked[:-1]} == {size}
    priorities = [priority for _, priority in asked]
    assert priorities == sorted({*priorities}, reverse=True)
    assert -4 < min(priorities) < max(priorities) == -3
