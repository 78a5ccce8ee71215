"""Connections to a dask cluster that the user already has, and what its workers offer."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Mapping

import dask
from distributed import Client, Worker
from distributed.utils import silence_logging_cmgr

from abtune.errors import TargetError

CONNECT_TIMEOUT = 10.0

# A sweep has little data and its threads wait for processes, so it needs none of dask's guards.
DASK_CONFIG = {
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.admin.tick.limit": "1h",
    "distributed.scheduler.worker-ttl": None,
    # Its logs for developers keep the last thousand messages. Each message of a search holds all its trials,
    # so the logs would grow to gigabytes.
    "distributed.admin.low-level-log-length": 10,
    "distributed.admin.large-graph-warning-threshold": "1 TB",  # a long history may be large
}

# What one worker offers: slots by the name of their dask resource.
Offer = Mapping[str, float]


@contextlib.asynccontextmanager
async def connected(scheduler: str) -> AsyncIterator[tuple[Client, Mapping[str, Offer]]]:
    """Yield the client of a cluster, and the offers of its workers by their address."""
    # dask's own messages about a lost connection are silenced: the error says it in one line.
    with dask.config.set(DASK_CONFIG), silence_logging_cmgr(logging.CRITICAL):
        client = Client(scheduler, asynchronous=True, timeout=CONNECT_TIMEOUT, set_as_default=False)
        try:
            await client
        except (OSError, ValueError, TimeoutError) as error:
            await client.close()
            raise TargetError(f"no dask scheduler answers at {scheduler!r}: {error}") from None
        async with client:
            yield client, await offers_of(client, scheduler)


async def offers_of(client: Client, scheduler: str) -> Mapping[str, Offer]:
    """Return the offers of all workers by their address."""
    # The workers are asked, because new versions of dask cut short what the client knows of them.
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT):
            offers: dict[str, Offer] = await client.run(_offer)
    except OSError:  # a timeout, or a connection that is lost
        raise TargetError(f"a worker of {scheduler} does not answer; end it, or mend it") from None
    except Exception as error:  # noqa: BLE001 - dask raises a bare one where a worker cannot import
        raise TargetError(f"a worker of {scheduler} cannot use abtune ({error}); install this one") from None
    searchers, devices = (sum(slots(offers, name)) for name in ("search", "device"))
    if not searchers or not devices:
        raise TargetError(
            f"the workers of {scheduler} offer {searchers} slots to search and {devices} devices; start "
            "them with: dask worker ADDRESS --nworkers 1 --nthreads 16 --resources 'search=16 device=1'"
        )
    return offers


def slots(offers: Mapping[str, Offer], name: str) -> list[int]:
    """Return the number of slots of a kind (``search`` or ``device``) of each worker."""
    return [int(offer.get(name, 0)) for offer in offers.values()]


def _offer(dask_worker: Worker) -> dict[str, float]:
    """Return the offer of a worker; dask passes the worker to a function with this parameter."""
    return dict(dask_worker.state.total_resources)
