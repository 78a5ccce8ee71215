"""Where tasks run: a dask cluster within this process, or one that the user already has.

Two dask resources limit how many tasks run at a time: ``search`` (a core that searches and builds) and
``device`` (a device that measures). A dask worker keeps all tasks that need a resource in one queue. While
the first has to wait, so have all others (https://github.com/dask/distributed/issues/6136). So a worker has
threads to spare. They take tasks for a device out of the queue first, and wait for the device.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import warnings
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import dask
from distributed import Client, Future, LocalCluster, Worker
from distributed.client import ClosedClientError, FutureCancelledError
from distributed.comm.core import CommClosedError
from distributed.scheduler import KilledWorker
from distributed.utils import silence_logging_cmgr

from abtune.errors import TargetError
from abtune.measure.plan.workplace import TargetFacts, Workplace
from abtune.measure.workers.pool import ProcessPool, interrupt_pool, scratch_folder, with_pool
from abtune.text import listed

CONNECT_TIMEOUT = 10.0
# A thousand workers take longer to answer than one.
ANSWER_TIMEOUT = 60.0

# A sweep has little data and its threads wait for processes, so it needs none of dask's guards.
DASK_CONFIG = {
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.admin.tick.limit": "1h",
    "distributed.scheduler.worker-ttl": None,
    # Its logs for developers keep a thousand messages, each with all trials of a search: gigabytes.
    "distributed.admin.low-level-log-length": 10,
    "distributed.admin.large-graph-warning-threshold": "1 TB",  # a long history may be large
    # dask would ask the driver about GPUs in the thread that drives the sweep. If it hangs, so would that.
    "distributed.diagnostics.nvml": False,
    # A hundred times a second dask would look at what each thread does. Before Python 3.11.9 this hangs for
    # ever where a thread ends in that moment: https://github.com/python/cpython/issues/106883
    "distributed.worker.profile.enabled": False,
}

# A function that gets the pool of its worker as first argument.
Task: TypeAlias = Callable[..., Any]

# What one worker offers: slots by the name of their dask resource, and its number of threads.
Offer = Mapping[str, float]
THREADS = "threads"
# One of these threads measures at a device, and the others wait with the kernels that it measures next. They
# hold enough for the time in which further kernels are built.
DEVICE_THREADS = 16


@contextlib.asynccontextmanager
async def connected(scheduler: str) -> AsyncIterator[tuple[Client, Mapping[str, Offer]]]:
    """Yield the client of a cluster, and the offers of its workers by their address."""
    # dask's own messages about a lost connection are silenced: the error says it in one line.
    with dask.config.set(DASK_CONFIG), silence_logging_cmgr(logging.CRITICAL):
        # Else dask takes even a client that could not connect as the default, and writing a dataset fails.
        client = Client(scheduler, asynchronous=True, timeout=CONNECT_TIMEOUT, set_as_default=False)
        try:
            await client
        # The third without the keys of tls://, the last where a web server's answer is taken for a length.
        except (OSError, ValueError, TypeError, MemoryError) as error:
            await client.close()
            reason = "it is something else" if isinstance(error, MemoryError) else error
            raise TargetError(
                f"no dask scheduler answers at {scheduler!r}: {reason}; give the address of one that runs"
            ) from None
        async with client:
            yield client, await offers_of(client, scheduler)


async def offers_of(client: Client, scheduler: str) -> Mapping[str, Offer]:
    """Return the offers of all workers by their address."""
    # The workers are asked, because new versions of dask cut short what the client knows of them.
    try:
        async with asyncio.timeout(ANSWER_TIMEOUT):
            offers: dict[str, Offer] = await client.run(_offer)
    except OSError:  # a timeout, or a connection that is lost
        raise TargetError(f"a worker of {scheduler} does not answer; end it, or mend it") from None
    except Exception as error:  # noqa: BLE001 - dask raises a bare one where a worker cannot import
        raise TargetError(f"a worker of {scheduler} cannot use abtune ({error}); install this one") from None
    searchers, devices = (sum(slots(offers.values(), name)) for name in ("search", "device"))
    if not searchers or not devices:
        raise TargetError(
            f"the workers of {scheduler} offer {searchers} slots to search and {devices} devices; start "
            f"them with: dask worker ADDRESS --nworkers 1 --nthreads {16 + DEVICE_THREADS} "
            "--resources 'search=16 device=1'"
        )
    return offers


def slots(offers: Iterable[Offer], name: str) -> list[int]:
    """Return the number of slots of a kind (``search`` or ``device``) of each worker."""
    return [int(offer.get(name, 0)) for offer in offers]


def _offer(dask_worker: Worker) -> dict[str, float]:
    """Return the offer of a worker; dask passes the worker to a function with this parameter."""
    return {**dask_worker.state.total_resources, THREADS: dask_worker.state.nthreads}


# Added to priorities. Those of runs are no larger than their number.
DEVICE_FIRST = 1e9
# At its end a sweep waits this long for workers that do not answer.
PARTING_TIMEOUT = 5.0
# Seconds between two looks at whether workers are left.
WATCH_INTERVAL = 30.0
# More threads in one search gain little: 16 make it 5 times as fast.
MOST_THREADS = 8


class Cluster:
    """A connection to workers that have pools."""

    def __init__(self, client: Client, facts: TargetFacts, offers: Sequence[Offer]) -> None:
        searchers, devices = (slots(offers, name) for name in ("search", "device"))
        threads = device_threads(offers)
        self._client = client
        self._shares_cores = facts.shares_cores
        # Each worker has a pool that is as large as the largest worker needs.
        self.pool = ProcessPool(facts, searchers=max(searchers), devices=max(devices))
        # As many tasks of a device as it has threads leave the queue. Its pool lets one at a time measure.
        self._needs = {"search": 1.0, "device": 1 / threads}
        # Where they would wait in the queue, they must not come first.
        self._added_priority = {"search": 0.0, "device": DEVICE_FIRST if threads > 1 else 0.0}
        self.searchers = sum(searchers)
        self.devices = sum(devices)
        # Seconds that building a kernel took the last times, without the wait for its turn.
        self.builds: deque[float] = deque(maxlen=99)
        self._submitting = asyncio.Lock()

    def threads(self, runs: int) -> int:
        """Return the number of threads per search with which no core idles."""
        # It is one where kernels are timed on these cores, because more threads would disturb them.
        if self._shares_cores:
            return 1
        return max(1, min(self.searchers // max(runs, 1), MOST_THREADS))

    async def run(self, resource: str, task: Task, *args: Any, priority: float) -> Any:
        """Return the result of a task that takes ``search`` or ``device``; a higher priority goes first."""
        future = await self._submit(task, args, resource, priority)
        try:
            return await future
        finally:
            future.release()

    async def search_and_measure(
        self, search: Task, search_args: Sequence[Any], measure: Task, *args: Any, priority: float
    ) -> Any:
        """Return the result of a task at a device, whose last argument is the result of a search task."""
        # It stays with the workers: many kernels would fill the memory of this process and the scheduler.
        searched = await self._submit(search, search_args, "search", priority)
        try:
            return await self.run("device", measure, *args, searched, priority=priority)
        finally:
            searched.release()

    async def watch(self, tell: Callable[[str], None]) -> None:
        """Tell when no worker is left that searches or measures; dask waits for another without a word."""

        # In here, so that dask sends it: the scheduler needs no abtune.
        def lacking(dask_scheduler: Any) -> list[str]:
            offered = dask_scheduler.resources
            return [kind for kind in ("search", "device") if not sum(offered.get(kind, {}).values())]

        told: list[str] = []
        with contextlib.suppress(OSError, RuntimeError):  # a scheduler that is gone ends the sweep elsewhere
            while True:
                await asyncio.sleep(WATCH_INTERVAL)
                missing = await self._client.run_on_scheduler(lacking)
                if not set(missing) <= set(told):
                    tell(f"no worker with {listed(missing)} slots is left; the sweep waits, so start one")
                told = missing

    async def interrupt(self) -> None:
        """Kill the work of all workers that answer."""
        await self._ask_workers(lambda: self._client.run(interrupt_pool, self.pool.name, on_error="ignore"))

    async def leave(self) -> None:
        """End the pools of all workers that answer."""
        await self._ask_workers(lambda: self._client.unregister_worker_plugin(self.pool.name))

    async def _ask_workers(self, request: Callable[[], Awaitable[Any]]) -> None:
        # Where the scheduler stays away, dask closes its connections itself. That may be now, or meanwhile.
        if self._client.status == "running":
            with contextlib.suppress(OSError, RuntimeError):  # a timeout is an OSError
                async with asyncio.timeout(PARTING_TIMEOUT):
                    await request()

    async def _submit(self, task: Task, args: Sequence[Any], resource: str, priority: float) -> Future[Any]:
        # The event loop reads between two tasks. Otherwise it would read nothing for half a minute when a
        # thousand searches answer together, and the scheduler would close the connection.
        async with self._submitting:
            await asyncio.sleep(0)
            return self._client.submit(
                with_pool,
                self.pool.name,
                task,
                *args,
                resources={resource: self._needs[resource]},
                priority=priority + self._added_priority[resource],
                # Else dask takes two calls with equal arguments for one, and keeps the first result.
                pure=False,
                retries=0,
            )


@contextlib.asynccontextmanager
async def open_cluster(workplace: Workplace) -> AsyncIterator[Cluster]:
    """Yield a connection to a cluster whose workers all have a pool."""
    source = connected(workplace.scheduler) if workplace.scheduler else _local(workplace)
    with naming_losses():
        async with source as (client, offers):
            cluster = Cluster(client, workplace.facts, [*offers.values()])
            await client.register_plugin(cluster.pool)
            try:
                yield cluster
            finally:  # otherwise the workers of others would keep their processes, and these their devices
                if workplace.scheduler:
                    await cluster.leave()


@contextlib.contextmanager
def naming_losses() -> Iterator[None]:
    """Turn the loss of a cluster into a line that says what to do."""
    try:
        yield
    except (FutureCancelledError, ClosedClientError, CommClosedError):
        raise TargetError(
            "the connection to the dask cluster was lost; give the same command again"
        ) from None
    except KilledWorker as error:
        raise TargetError(f"worker after worker died ({error}); give the same command again") from None


@contextlib.asynccontextmanager
async def _local(workplace: Workplace) -> AsyncIterator[tuple[Client, Mapping[str, Offer]]]:
    facts, cores, devices = workplace.facts, workplace.cores, len(workplace.facts.devices)
    # On this CPU measuring needs a core of its own, so not all slots can be busy at once.
    threads = cores if facts.shares_cores else cores + DEVICE_THREADS * devices
    dask.config.refresh(paths=[], env={})  # a user's settings are for clusters, as a lifetime of workers
    with (
        scratch_folder() as scratch,
        dask.config.set({**DASK_CONFIG, "temporary-directory": scratch}),
        warnings.catch_warnings(),
    ):
        # dask looks for an address that other machines reach, which a local sweep does not need.
        warnings.filterwarnings("ignore", "Couldn't detect a suitable IP", RuntimeWarning)
        async with (
            LocalCluster(
                n_workers=1,
                threads_per_worker=max(threads, 1),
                processes=False,
                asynchronous=True,
                # dask always serves its metrics: here on free ports, and to this machine only.
                dashboard_address="127.0.0.1:0",
                worker_dashboard_address="127.0.0.1:0",
                scheduler_kwargs={"dashboard": False},
                memory_limit=0,
                silence_logs=logging.CRITICAL,
                resources={"search": cores, "device": devices},
            ) as local,
            connected(local.scheduler_address) as made,
        ):
            yield made


def device_threads(offers: Sequence[Offer]) -> int:
    """Return the number of threads that every worker has for each of its devices, beside its searches."""
    measuring = [offer for offer in offers if offer.get("device")]
    spare = min((offer[THREADS] - offer.get("search", 0)) // offer["device"] for offer in measuring)
    return max(1, int(spare))
