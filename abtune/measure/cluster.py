"""Where tasks run: a dask cluster within this process, or one that the user already has.

Two kinds of place limit what runs at a time, as dask resources: ``search`` (a core that searches and
builds) and ``device`` (something that measures).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import dask
from distributed import Client, LocalCluster, Worker
from distributed.client import FutureCancelledError
from distributed.comm.core import CommClosedError
from distributed.scheduler import KilledWorker
from distributed.utils import silence_logging_cmgr

from abtune.errors import TargetError
from abtune.measure import target
from abtune.measure.pool import ProcessPool, interrupt_pool, with_pool
from abtune.measure.target import TargetFacts

CONNECT_TIMEOUT = 10.0
# Workers that do not answer are not waited for when a sweep ends.
PARTING_TIMEOUT = 5.0
# More threads in one search gain little: 16 make it 5 times as fast.
MOST_THREADS = 8


class Cluster:
    """A connection to workers that hold pools.

    Parameters
    ----------
    client : distributed.Client
        An asynchronous client.
    pool : str
        Name of the pool that every worker holds for this sweep.
    searchers, devices : int
        Places of each kind, over all workers.
    shares_cores : bool
        Whether kernels are timed on the cores that search.
    """

    def __init__(
        self, client: Client, pool: str, *, searchers: int, devices: int, shares_cores: bool
    ) -> None:
        self._client = client
        self._pool = pool
        self._shares_cores = shares_cores
        self.searchers = searchers
        self.devices = devices

    def threads(self, runs: int) -> int:
        """Return how many threads a search may use when so many runs are left, so that no core idles.

        It is one where kernels are timed on these cores, which would disturb them.
        """
        if self._shares_cores:
            return 1
        return max(1, min(self.searchers // max(runs, 1), MOST_THREADS))

    async def search(self, task: Callable[..., Any], *args: Any, priority: int) -> Any:
        """Run a task on a core that searches and builds; a higher priority goes first."""
        return await self._run(task, args, "search", priority)

    async def measure(self, task: Callable[..., Any], *args: Any, priority: int) -> Any:
        """Run a task at a device."""
        return await self._run(task, args, "device", priority)

    async def interrupt(self) -> None:
        """Kill what the workers are doing, as far as they answer."""
        with contextlib.suppress(OSError):  # a timeout is one
            async with asyncio.timeout(PARTING_TIMEOUT):
                await self._client.run(interrupt_pool, self._pool, on_error="ignore")

    async def _run(self, task: Callable[..., Any], args: tuple[Any, ...], place: str, priority: int) -> Any:
        future = self._client.submit(
            with_pool, self._pool, task, *args, resources={place: 1}, priority=priority, pure=False, retries=0
        )
        try:
            return await future
        finally:
            future.release()


@contextlib.asynccontextmanager
async def open_cluster(facts: TargetFacts, *, scheduler: str, cores: int) -> AsyncIterator[Cluster]:
    """Connect to a cluster, and give each of its workers a pool.

    Parameters
    ----------
    facts : TargetFacts
        What is tuned for.
    scheduler : str
        Address of the scheduler, such as ``"tcp://host:8786"``; empty for a cluster within this process.
    cores : int
        Places for searches within this process.

    Raises
    ------
    TargetError
        If the cluster cannot be reached or offers no places, or is lost while it is used.
    """
    with dask.config.set(_CONFIG):
        try:
            async with _remote(facts, scheduler) if scheduler else _local(facts, cores) as cluster:
                yield cluster
        except (FutureCancelledError, CommClosedError):
            raise TargetError(
                "the connection to the dask cluster was lost; give the same command again"
            ) from None
        except KilledWorker as error:
            raise TargetError(f"worker after worker died ({error}); give the same command again") from None


# A sweep holds little data and its threads wait for processes: nothing here needs dask's guards.
_CONFIG = {
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.admin.tick.limit": "1h",
    "distributed.scheduler.worker-ttl": None,
    # Its logs for developers hold the last thousand messages whole, and a message a search with all its
    # trials: gigabytes.
    "distributed.admin.low-level-log-length": 10,
    "distributed.admin.large-graph-warning-threshold": "1 TB",  # a long history may be large
}


@contextlib.asynccontextmanager
async def _local(facts: TargetFacts, cores: int) -> AsyncIterator[Cluster]:
    # On this CPU measuring needs a core of its own: not all places can be busy at once.
    devices = len(facts.devices)
    threads = cores if facts.shares_cores else cores + devices
    async with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=max(threads, 1),
            processes=False,
            asynchronous=True,
            # dask serves its metrics whatever is asked; this way on no fixed port, and to nobody else.
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            memory_limit=0,
            silence_logs=logging.CRITICAL,
            resources={"search": cores, "device": devices},
        ) as local,
        Client(local, asynchronous=True, set_as_default=False) as client,
    ):
        pool = ProcessPool(facts, searchers=cores, devices=devices)
        await client.register_plugin(pool)
        yield Cluster(client, pool.name, searchers=cores, devices=devices, shares_cores=facts.shares_cores)


@contextlib.asynccontextmanager
async def _remote(facts: TargetFacts, scheduler: str) -> AsyncIterator[Cluster]:
    async with _connected(scheduler) as (client, places):
        searchers, devices = (
            [int(offered.get(name, 0)) for offered in places.values()] for name in ("search", "device")
        )
        pool = ProcessPool(facts, searchers=max(searchers), devices=max(devices))
        await client.register_plugin(pool)
        try:
            yield Cluster(
                client,
                pool.name,
                searchers=sum(searchers),
                devices=sum(devices),
                shares_cores=facts.shares_cores,
            )
        finally:  # else the workers would keep their processes, and these their devices
            with contextlib.suppress(OSError):  # a timeout is one
                async with asyncio.timeout(PARTING_TIMEOUT):
                    await client.unregister_worker_plugin(pool.name)


def find_target_at(scheduler: str, spec: str, remote: str = "") -> TargetFacts:
    """Resolve what the user asked for where a cluster measures; this machine need not have such a device.

    Parameters
    ----------
    scheduler : str
        Address of the scheduler.
    spec, remote
        As for :func:`abtune.measure.target.find_target`.

    Raises
    ------
    TargetError
        If the cluster cannot be reached or offers no places, or its first worker with a device has no such
        target.
    """

    async def ask() -> TargetFacts:
        with dask.config.set(_CONFIG):
            async with _connected(scheduler) as (client, places):
                measuring = [address for address, offered in places.items() if offered.get("device")]
                future = client.submit(_find_target, spec, remote, workers=measuring[:1], pure=False)
                facts: TargetFacts = await future
                return facts

    return asyncio.run(ask())


def _find_target(spec: str, remote: str) -> TargetFacts:
    return target.find_target(spec, remote)


@contextlib.asynccontextmanager
async def _connected(scheduler: str) -> AsyncIterator[tuple[Client, dict[str, dict[str, float]]]]:
    """Connect to a cluster; yield the client, and what each worker offers by its address."""
    with silence_logging_cmgr(logging.CRITICAL):  # of a connection that is lost we speak ourselves
        client = Client(scheduler, asynchronous=True, timeout=CONNECT_TIMEOUT, set_as_default=False)
        try:
            await client
        except (OSError, ValueError, TimeoutError) as error:
            await client.close()
            raise TargetError(f"no dask scheduler answers at {scheduler!r}: {error}") from None
        async with client:
            yield client, await _offered(client, scheduler)


async def _offered(client: Client, scheduler: str) -> dict[str, dict[str, float]]:
    # Asked of the workers: what the client knows of them is cut short in new versions of dask.
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT):
            places: dict[str, dict[str, float]] = await client.run(_places)
    except OSError:  # a timeout, or a connection that is lost
        raise TargetError(f"a worker of {scheduler} does not answer; end it, or mend it") from None
    except Exception as error:  # noqa: BLE001 - of what a worker cannot import dask raises a bare one
        raise TargetError(f"a worker of {scheduler} cannot use abtune ({error}); install this one") from None
    searchers, devices = (
        int(sum(offered.get(name, 0) for offered in places.values())) for name in ("search", "device")
    )
    if not searchers or not devices:
        raise TargetError(
            f"the workers of {scheduler} offer {searchers} places to search and {devices} devices; start "
            "them with: dask worker ADDRESS --nworkers 1 --nthreads 16 --resources 'search=16 device=1'"
        )
    return places


def _places(dask_worker: Worker) -> dict[str, float]:
    """Return what a worker offers; dask hands the worker to a function of this signature."""
    return dict(dask_worker.state.total_resources)
