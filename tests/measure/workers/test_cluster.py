"""Clusters whose workers do not answer, or have another abtune."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import threading
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import dask
import distributed.utils
import pytest
from distributed import Client, LocalCluster
from distributed.diagnostics import nvml
from measure_builders import make_facts, make_workplace

from abtune.errors import TargetError
from abtune.measure.workers import cluster, pool
from abtune.measure.workers.pool import ProcessPool

# A worker that searches on one core and has one device.
ONE = {"search": 1, "device": 1, "threads": 1}


class Silent:
    """A client none of whose workers answers."""

    status = "running"

    async def run(self, *args: Any, **kwargs: Any) -> None:
        await asyncio.Event().wait()


class Foreign:
    """A client whose workers have another abtune, or none."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def run(self, *args: Any, **kwargs: Any) -> None:
        raise self.error


class Submitting:
    """A client that notes what is submitted, and answers with its number."""

    def __init__(self) -> None:
        self.submitted: list[tuple[Any, ...]] = []
        self.futures: list[asyncio.Future[int]] = []

    def submit(self, *args: Any, **_: Any) -> asyncio.Future[int]:
        self.submitted.append(args)
        future: Any = asyncio.get_running_loop().create_future()
        future.release = lambda: self.futures.remove(future)
        future.set_result(len(self.submitted))
        self.futures.append(future)
        return cast("asyncio.Future[int]", future)


def test_kernels_stay_with_the_workers() -> None:
    """What is built is handed on as a future, which this process never reads, and released."""
    client = Submitting()
    of_client = cluster.Cluster(cast("Client", client), make_facts(), [ONE])
    run = of_client.search_and_measure(build, ("a problem",), time, "settings", priority=1)
    assert asyncio.run(run) == 2
    (_, _, built, problem), (_, _, timed, settings, handed) = client.submitted
    assert (built, problem, timed, settings) == (build, "a problem", time, "settings")
    assert isinstance(handed, asyncio.Future)
    assert client.futures == []


def test_the_connection_is_read_while_thousands_of_tasks_are_submitted() -> None:
    """The event loop passes between any two tasks, or the scheduler would take this process for dead."""
    client = Submitting()
    of_client = cluster.Cluster(cast("Client", client), make_facts(), [ONE])
    seen = []

    async def watch() -> None:
        while len(client.submitted) < 100:
            seen.append(len(client.submitted))
            await asyncio.sleep(0)

    async def submit() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(watch())
            for _ in range(100):
                group.create_task(of_client.run("search", build, "a problem", priority=1))

    asyncio.run(submit())
    assert set(range(100)) <= set(seen)


def build(problem: str) -> None:
    """Stand for a task that builds."""


def time(settings: str, built: str) -> None:
    """Stand for a task that times."""


def test_workers_that_do_not_answer_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep can end although its workers do not answer an interrupt."""
    monkeypatch.setattr(cluster, "PARTING_TIMEOUT", 0.05)
    silent = cluster.Cluster(cast("Client", Silent()), make_facts(), [ONE])
    asyncio.run(silent.interrupt())


def test_dask_does_not_look_at_what_threads_do() -> None:
    """Before Python 3.11.9 that hangs for ever where a thread ends in that moment."""

    async def callbacks() -> dict[str, set[str]]:
        async with cluster._local(make_workplace()) as (client, _):
            by_worker: dict[str, set[str]] = await client.run(
                lambda dask_worker: set(dask_worker.periodic_callbacks)
            )
            return by_worker

    (names,) = asyncio.run(callbacks()).values()
    assert "heartbeat" in names
    assert not names & {"profile", "profile-cycle"}


class Idle:
    """A child process, or the server that forks it, which does nothing."""

    is_ready = True

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def start(self) -> None:
        """Do nothing, as do all others."""

    close = interrupt = resume = start


ENOUGH = threading.Event()


def occupy(pool: ProcessPool, kind: str) -> None:
    """Use a core or a device until the test says that it is enough."""
    with pool.slot(kind):
        assert ENOUGH.wait(20)


def use(pool: ProcessPool, kind: str) -> str:
    """Use a core or a device for a moment."""
    with pool.slot(kind):
        return kind


@pytest.mark.parametrize("busy", ["device", "search"])
def test_tasks_that_wait_hold_up_no_others(busy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask has one queue, whose first task would hold up those that need what is free."""
    monkeypatch.setattr(pool, "Slot", Idle)
    monkeypatch.setattr(pool, "ForkServer", Idle)
    ENOUGH.clear()

    async def sweep() -> str:
        workplace = make_workplace(make_facts(kind="cuda"), cores=1)
        async with cluster.open_cluster(workplace) as opened, asyncio.TaskGroup() as group:
            (free,) = {"search", "device"} - {busy}
            for _ in range(3):
                group.create_task(opened.run(busy, occupy, busy, priority=0))
            await asyncio.sleep(0.1)  # until all of them are in the queue
            try:
                return await asyncio.wait_for(opened.run(free, use, free, priority=-1), 10)
            finally:
                ENOUGH.set()

    assert asyncio.run(sweep()) != busy


@pytest.mark.parametrize(
    ("offers", "threads"),
    [
        ([{"search": 16, "device": 1, "threads": 32}], 16),
        ([{"search": 16, "device": 4, "threads": 32}], 4),
        ([{"search": 16, "device": 1, "threads": 17}, {"search": 8, "device": 1, "threads": 16}], 1),
        ([{"search": 16, "threads": 16}, {"device": 1, "threads": 4}], 4),
        ([{"search": 16, "device": 1, "threads": 16}], 1),
    ],
)
def test_threads_beyond_the_searches_wait_for_devices(offers: list[dict[str, float]], threads: int) -> None:
    """The worker with the fewest threads to spare for a device counts, and one measures in any case."""
    assert cluster.device_threads(offers) == threads


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_connection_that_dask_has_closed_is_left(when: str) -> None:
    """Dask closes its connections when a scheduler stays away; what ended the sweep is still said."""

    async def leave_closed() -> None:
        async with LocalCluster(n_workers=0, asynchronous=True, dashboard_address=None) as local:
            client = await Client(local, asynchronous=True, set_as_default=False)
            closed = cluster.Cluster(client, make_facts(), [ONE])
            await (client.close() if when == "before" else client.rpc.close())
            with pytest.raises((AttributeError, RuntimeError)):
                await client.unregister_worker_plugin(closed.pool.name)
            await closed.leave()
            await closed.interrupt()
            await client.close()

    asyncio.run(leave_closed())


def test_a_task_for_a_connection_that_dask_has_closed_is_one_line() -> None:
    """A search may submit its next task before it hears that the connection is lost."""

    async def search() -> None:
        async with LocalCluster(n_workers=0, asynchronous=True, dashboard_address=None) as started:
            client = await Client(started, asynchronous=True, set_as_default=False)
            await client.close()
            with cluster.naming_losses():
                opened = cluster.Cluster(client, make_facts(), [ONE])
                await opened.run("search", build, "a problem", priority=1)

    with pytest.raises(TargetError, match="the connection to the dask cluster was lost"):
        asyncio.run(search())


@pytest.mark.parametrize(
    ("runs", "threads"), [(100, 1), (32, 1), (17, 1), (16, 2), (10, 3), (5, 6), (4, 8), (1, 8), (0, 8)]
)
def test_idle_cores_help_the_searches_that_are_left(runs: int, threads: int) -> None:
    """If fewer runs than cores are left, each uses up to eight threads, except where cores are measured."""
    for kind, expected in (("cuda", threads), ("llvm", 1)):
        of_32 = cluster.Cluster(cast("Client", Silent()), make_facts(kind=kind), [{**ONE, "search": 32}])
        assert of_32.threads(runs) == expected


def test_a_cluster_with_a_silent_worker_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster with a worker that does not answer is refused soon."""
    monkeypatch.setattr(cluster, "ANSWER_TIMEOUT", 0.05)
    with pytest.raises(TargetError, match=r"^a worker of tcp://host:1 does not answer; end it"):
        asyncio.run(cluster.offers_of(cast("Client", Silent()), "tcp://host:1"))


@pytest.mark.parametrize(
    "error", [Exception("ModuleNotFoundError(\"No module named 'abtune'\")"), AttributeError("no x")]
)
def test_workers_without_this_abtune_are_refused(error: Exception) -> None:
    """A worker without abtune, or with another one, is refused with that reason."""
    with pytest.raises(TargetError, match=r"^a worker of tcp://host:1 cannot use abtune"):
        asyncio.run(cluster.offers_of(cast("Client", Foreign(error)), "tcp://host:1"))


def listening() -> list[str]:
    """Return the addresses at which this process listens for TCP connections, as the kernel writes them."""
    own = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # that of the listing itself
            own.add(str(descriptor.readlink()))
    tables = (Path(f"/proc/self/net/{name}").read_text(encoding="utf-8") for name in ("tcp", "tcp6"))
    rows = [line.split() for table in tables for line in table.splitlines()[1:]]
    return [row[1].partition(":")[0] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in own]


def test_dask_does_not_ask_the_driver_of_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would do so in the thread that drives the sweep, which a driver that hangs would stop."""
    monkeypatch.setattr(nvml, "NVML_STATE", nvml.NVMLState.UNINITIALIZED)

    async def opened() -> None:
        async with cluster.open_cluster(make_workplace()):
            assert nvml.NVML_STATE == nvml.NVMLState.DISABLED_CONFIG

    asyncio.run(opened())


def test_a_local_cluster_serves_this_machine_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It listens at 127.0.0.1 alone, and leaves nothing in the folder for temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    async def addresses() -> list[str]:
        async with cluster.open_cluster(make_workplace()):
            return listening()

    hosts = asyncio.run(addresses())
    assert hosts
    assert set(hosts) == {"0100007F"}  # 127.0.0.1
    assert not list(tmp_path.iterdir())


def test_settings_of_dask_do_not_reach_a_local_cluster() -> None:
    """A lifetime of workers, in a file of the user, would leave a sweep without any: it waits for ever."""
    mine = {"distributed.worker.lifetime.duration": "1 s", "distributed.comm.require-encryption": True}

    async def answer() -> float:
        async with cluster.open_cluster(make_workplace()) as made:
            await asyncio.sleep(1.5)
            return await asyncio.wait_for(made.run("search", lambda _: 7, priority=0), 20)

    with dask.config.set(mine):
        assert asyncio.run(answer()) == 7


def test_a_machine_without_a_network_needs_no_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask warns where it finds no address by which other machines could reach it."""

    def no_network(*_: object, **__: object) -> str:
        warnings.warn("Couldn't detect a suitable IP address for reaching it", RuntimeWarning, stacklevel=2)
        return "127.0.0.1"

    monkeypatch.setattr(distributed.utils, "_get_ip", no_network)

    async def answer() -> int:
        async with cluster.open_cluster(make_workplace()) as made:
            return await asyncio.wait_for(made.run("search", lambda _: 7, priority=0), 20)

    assert asyncio.run(answer()) == 7


def test_what_is_lacking_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that search may leave after those that measure; both may come back and leave again."""
    monkeypatch.setattr(cluster, "WATCH_INTERVAL", 0.0)
    looks = iter([[], ["device"], ["search", "device"], ["device"], [], ["device"]])

    async def look(_: object) -> list[str]:
        try:
            return next(looks)
        except StopIteration:
            raise OSError from None  # as where the scheduler is gone

    watched = cluster.Cluster(cast("Client", SimpleNamespace(run_on_scheduler=look)), make_facts(), [ONE])
    told: list[str] = []
    asyncio.run(watched.watch(told.append))
    assert [line.removesuffix(" slots is left; the sweep waits, so start one") for line in told] == [
        "no worker with device",
        "no worker with search and device",
        "no worker with device",
    ]
