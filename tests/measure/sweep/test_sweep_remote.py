"""Sweeps on a dask cluster of other processes, which die."""

from __future__ import annotations

import contextlib
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import processes
import pytest
import xarray as xr
from forked import Forked
from measure_builders import NEW, OTHER, PLAIN, SMALL, small_plan
from processes import children, wait_until
from sweeping import Steps, calls, config, run_sweep, without_circumstances

import abtune
from abtune.dataset.schema import RunStatus
from abtune.errors import AbtuneError, TargetError
from abtune.measure.store.store import Store
from abtune.measure.workers.find_target import find_target_at

FAKE = Path(processes.__file__).with_name("fake_abtune.py")
OK = RunStatus.COMPLETE
SLOW = tuple(config(name, time_candidate="slow") for name in ("plain", "new"))

pytestmark = [
    pytest.mark.slow,
    # The connections of processes that were killed are closed when somebody notices.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

Start = Callable[..., Forked]


@pytest.fixture
def start(tmp_path: Path, log: Path) -> Iterator[Start]:
    """Start processes of a cluster, and end them after the test."""
    with contextlib.ExitStack() as stack:

        def start_one(name: str, *words: str) -> Forked:
            module = f"distributed.cli.dask_{name.partition('-')[0]}"
            process = stack.enter_context(Forked(module, *words, output=tmp_path / f"{name}.out"))
            stack.callback(process.kill)
            return process

        yield start_one


@pytest.fixture
def scheduling(start: Start) -> Forked:
    """Start a scheduler."""
    return start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")


@pytest.fixture
def scheduler(scheduling: Forked) -> str:
    """Return the address of the scheduler."""

    def address() -> re.Match[str] | None:
        return re.search(r"tcp://127\.0\.0\.1:\d+", scheduling.said())

    wait_until(address, "the scheduler")
    match = address()
    assert match
    return match[0]


@pytest.fixture
def worker(start: Start, scheduler: str, tmp_path: Path) -> Start:
    """Start a worker of one process, with slots to search and a device."""

    def start_one(number: int, resources: str = "search=2 device=1", *options: str) -> Forked:
        process = start(
            f"worker-{number}",
            scheduler,
            *("--nworkers", "1", "--nthreads", "3", "--no-nanny", "--no-dashboard"),
            *("--local-directory", str(tmp_path / f"scratch-{number}")),
            *("--preload", str(FAKE), *options),
            *(("--resources", resources) if resources else ()),
        )
        wait_until(lambda: "Registered to" in process.said(), "a worker")
        return process

    return start_one


def test_a_cluster_gives_the_same_numbers(scheduler: str, worker: Start, store: Store, log: Path) -> None:
    """A sweep on a cluster is reproducible, and leaves no processes at the workers."""
    for number in (1, 2):
        worker(number)
    plan = small_plan(seeds=3)
    remote = run_sweep(plan, store, scheduler=scheduler).dataset
    assert (remote["run_status"] == OK).all()
    assert remote["latency"].notnull().all()
    wait_until(lambda: not children(str(log)), "the end of all children")
    # The same workers serve the next sweep.
    again = run_sweep(plan, Store(store.dataset.with_name("again.nc")), scheduler=scheduler).dataset
    xr.testing.assert_identical(without_circumstances(again), without_circumstances(remote))


def test_a_target_is_looked_for_where_it_is_measured(scheduler: str, worker: Start) -> None:
    """The target is found at a worker with a device; this machine need not have one."""
    worker(1, "search=2 device=0", "--name", "searcher")
    with pytest.raises(TargetError, match="offer 2 slots to search and 0 devices"):
        find_target_at(scheduler, "cuda")
    worker(2)
    assert find_target_at(scheduler, "cuda").devices == ("a device",)
    with pytest.raises(TargetError, match="no such device; use another"):
        find_target_at(scheduler, "refuse")


@pytest.mark.kills
def test_a_worker_that_dies_is_not_waited_for(scheduler: str, worker: Start, tmp_path: Path) -> None:
    """Another worker that measures says what the target is."""
    for number in (1, 2):
        worker(number)
    assert find_target_at(scheduler, f"die once {tmp_path / 'died'}").devices == ("a device",)
    assert (tmp_path / "died").exists()


@pytest.mark.kills
def test_a_scheduler_that_dies_while_the_target_is_found_is_one_line(
    scheduling: Forked, scheduler: str, worker: Start
) -> None:
    """The command that asked for the target ends with the line of a lost connection."""
    worker(1)
    with pytest.raises(TargetError, match="the connection to the dask cluster was lost"):
        find_target_at(scheduler, f"kill {scheduling.pid}")


@pytest.mark.kills
def test_a_worker_that_dies_costs_nothing(scheduler: str, worker: Start, store: Store, log: Path) -> None:
    """Another worker does the tasks of a worker that is killed."""
    first, _ = worker(1), worker(2)
    plan = small_plan(seeds=3, configs=SLOW)

    class KillFirst(Steps):
        def advance(self, steps: int) -> None:
            first.kill()  # of one that is gone, nothing happens

    outcome = run_sweep(plan, store, scheduler=scheduler, progress=KillFirst())
    assert first.wait() == -signal.SIGKILL
    assert (outcome.finished, outcome.stopped) == (12, "")
    assert (outcome.dataset["run_status"] == OK).all()
    assert outcome.dataset["latency"].notnull().all()
    assert len([call for call in calls(log) if call[0] == "propose"]) >= 24
    wait_until(lambda: not children(str(log)), "the end of all children")


def test_two_sweeps_share_a_cluster(scheduler: str, worker: Start, tmp_path: Path, log: Path) -> None:
    """Two sweeps on one scheduler end as they would alone, and a device times one kernel at a time."""
    for number in (1, 2):
        worker(number)
    command = ["sweep", "--scheduler", scheduler]
    command += ["--shapes", f"{SMALL.label},{OTHER.label}", "--seeds", "3"]
    command += ["--trials", "4", "--trials-per-iter", "2"]
    command += ["--baseline", "fake_configurations:PLAIN", "--candidate", "fake_configurations:NEW"]
    files = [tmp_path / "one.nc", tmp_path / "two.nc"]
    sweeps = [
        Forked("fake_abtune", *command, "--out", str(file), output=file.with_suffix(".out")) for file in files
    ]
    for sweep in sweeps:
        assert sweep.wait() == 0, sweep.said()
    datasets = [abtune.open_dataset(file) for file in files]
    assert all((dataset["run_status"] == OK).all() for dataset in datasets)
    assert all(dataset["latency"].notnull().all() for dataset in datasets)
    xr.testing.assert_identical(*(without_circumstances(dataset) for dataset in datasets))
    worker_of = {call[4]: call[3] for call in calls(log) if call[0] == "timed"}
    busy: dict[int, int] = {}
    for function, *_, pid, _ in calls(log):
        if function in ("time_candidate", "time_kernel"):
            assert worker_of[pid] not in busy, "two processes time on one device"
            busy[worker_of[pid]] = pid
        elif function == "timed":
            assert busy.pop(worker_of[pid]) == pid
    # Both workers were used, at least one of them by both sweeps.
    assert len(set(worker_of.values())) == 2
    assert len(worker_of) > 2
    wait_until(lambda: not children(str(log)), "the end of all children")


@pytest.mark.kills
def test_a_sweep_that_waits_for_a_worker_says_so(
    scheduler: str, worker: Start, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the last worker dies, dask waits without a word; the sweep goes on with the next worker."""
    monkeypatch.setattr("abtune.measure.workers.cluster.WATCH_INTERVAL", 0.2)
    workers = [worker(1)]

    class KillWorker(Steps):
        def advance(self, steps: int) -> None:
            super().advance(steps)
            workers[0].kill()

        def warn(self, line: str) -> None:
            super().warn(line)
            workers.append(worker(2))

    progress = KillWorker()
    outcome = run_sweep(small_plan(configs=SLOW), store, scheduler=scheduler, progress=progress)
    assert (outcome.dataset["run_status"] == OK).all()
    said = "no worker with search and device slots is left; the sweep waits, so start one"
    assert progress.news.count(said) == 1


@pytest.mark.kills
def test_a_scheduler_that_dies_is_one_line(
    scheduling: Forked, scheduler: str, worker: Start, store: Store, log: Path
) -> None:
    """A sweep ends with one line when its scheduler dies, and keeps its work."""
    worker(1)
    plan = small_plan(seeds=3, configs=SLOW)

    class KillScheduler(Steps):
        def advance(self, steps: int) -> None:
            scheduling.kill()

    with pytest.raises(TargetError, match="the connection to the dask cluster was lost"):
        run_sweep(plan, store, scheduler=scheduler, progress=KillScheduler())
    assert store.has_work
    assert store.dataset.exists()
    wait_until(lambda: not children(str(log)), "the end of all children")


def test_a_cluster_without_slots_is_one_line(scheduler: str, worker: Start, store: Store) -> None:
    """Workers that offer no slots, or none at all, are refused with how to start them."""
    for _ in range(2):
        with pytest.raises(
            TargetError, match=r"offer 0 slots to search and 0 devices; start them with: dask"
        ):
            run_sweep(small_plan(), store, scheduler=scheduler)
        worker(1, "")
    assert not store.dataset.exists()


@pytest.mark.kills
def test_a_task_that_kills_every_worker_is_one_line(
    scheduler: str, worker: Start, store: Store, tmp_path: Path
) -> None:
    """A winner that kills worker after worker ends the sweep with one line; the runs are kept."""
    for number in range(6):
        worker(number)
    bad = config("bad", check_kernel="kill_worker")
    with pytest.raises(AbtuneError, match="give the same command again"):
        run_sweep(small_plan(SMALL, seeds=1, configs=(PLAIN, bad)), store, scheduler=scheduler)
    assert len(store.records()) == 2
    assert {OTHER.label, NEW.name}.isdisjoint({record.shape for record in store.records()})
