"""Where tasks run: a dask cluster within this process, or one that the user already has.

Two dask resources limit how many tasks run at a time: ``search`` (a core that searches and builds) and
``device`` (a device that measures).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import dask
from distributed import Client, LocalCluster
from distributed.client import FutureCancelledError
from distributed.comm.core import CommClosedError
from distributed.scheduler import KilledWorker

from abtune.errors import TargetError
from abtune.measure.plan.target import TargetFacts, Workplace
from abtune.measure.workers.connect import DASK_CONFIG, connected, slots
from abtune.measure.workers.pool import ProcessPool, interrupt_pool, with_pool

# At its end a sweep waits this long for workers that do not answer.
PARTING_TIMEOUT = 5.0
# More threads in one search gain little: 16 make it 5 times as fast.
MOST_THREADS = 8


class Cluster:
    """A connection to workers that have pools."""

    def __init__(
        self, client: Client, pool: str, *, searchers: int, devices: int, shares_cores: bool
    ) -> None:
        self._client = client
        self._pool = pool
        self._shares_cores = shares_cores
        self.searchers = searchers
        self.devices = devices

    def threads(self, runs: int) -> int:
        """Return the number of threads per search with which no core idles."""
        # It is one where kernels are timed on these cores, because more threads would disturb them.
        if self._shares_cores:
            return 1
        return max(1, min(self.searchers // max(runs, 1), MOST_THREADS))

    async def search(self, task: Callable[..., Any], *args: Any, priority: int) -> Any:
        """Return the result of a task on a core that searches and builds; a higher priority goes first."""
        return await self._run(task, args, "search", priority)

    async def measure(self, task: Callable[..., Any], *args: Any, priority: int) -> Any:
        """Return the result of a task at a device; a higher priority goes first."""
        return await self._run(task, args, "device", priority)

    async def interrupt(self) -> None:
        """Kill the work of all workers that answer."""
        with contextlib.suppress(OSError):  # a timeout is one
            async with asyncio.timeout(PARTING_TIMEOUT):
                await self._client.run(interrupt_pool, self._pool, on_error="ignore")

    async def leave(self) -> None:
        """End the pools of all workers that answer."""
        with contextlib.suppress(OSError):  # a timeout is one
            async with asyncio.timeout(PARTING_TIMEOUT):
                await self._client.unregister_worker_plugin(self._pool)

    async def _run(self, task: Callable[..., Any], args: Sequence[Any], resource: str, priority: int) -> Any:
        future = self._client.submit(
            with_pool,
            self._pool,
            task,
            *args,
            resources={resource: 1},
            priority=priority,
            pure=False,
            retries=0,
        )
        try:
            return await future
        finally:
            future.release()


@contextlib.asynccontextmanager
async def open_cluster(workplace: Workplace) -> AsyncIterator[Cluster]:
    """Yield a connection to a cluster each of whose workers has a pool."""
    cluster = _remote(workplace.facts, workplace.scheduler) if workplace.scheduler else _local(workplace)
    try:
        async with cluster as opened:
            yield opened
    except (FutureCancelledError, CommClosedError):
        raise TargetError(
            "the connection to the dask cluster was lost; give the same command again"
        ) from None
    except KilledWorker as error:
        raise TargetError(f"worker after worker died ({error}); give the same command again") from None


@contextlib.asynccontextmanager
async def _local(workplace: Workplace) -> AsyncIterator[Cluster]:
    facts, cores, devices = workplace.facts, workplace.cores, len(workplace.facts.devices)
    # On this CPU measuring needs a core of its own, so not all slots can be busy at once.
    threads = cores if facts.shares_cores else cores + devices
    with dask.config.set(DASK_CONFIG):
        async with (
            LocalCluster(
                n_workers=1,
                threads_per_worker=max(threads, 1),
                processes=False,
                asynchronous=True,
                # dask always serves its metrics: here on a free port, and to this machine only.
                dashboard_address="127.0.0.1:0",
                scheduler_kwargs={"dashboard": False},
                memory_limit=0,
                silence_logs=logging.CRITICAL,
                resources={"search": cores, "device": devices},
            ) as local,
            Client(local, asynchronous=True, set_as_default=False) as client,
        ):
            yield await _with_pools(client, facts, [cores], [devices])


@contextlib.asynccontextmanager
async def _remote(facts: TargetFacts, scheduler: str) -> AsyncIterator[Cluster]:
    async with connected(scheduler) as (client, offers):
        cluster = await _with_pools(client, facts, slots(offers, "search"), slots(offers, "device"))
        try:
            yield cluster
        finally:  # otherwise the workers would keep their processes, and these their devices
            await cluster.leave()


async def _with_pools(
    client: Client, facts: TargetFacts, searchers: Sequence[int], devices: Sequence[int]
) -> Cluster:
    """Return the cluster after giving each worker a pool, as large as the largest worker needs."""
    pool = ProcessPool(facts, searchers=max(searchers), devices=max(devices))
    await client.register_plugin(pool)
    return Cluster(
        client,
        pool.name,
        searchers=sum(searchers),
        devices=sum(devices),
        shares_cores=facts.shares_cores,
    )
