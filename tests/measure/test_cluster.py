"""The connection to a cluster whose workers do not answer, or not as they should."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from distributed import Client

from abtune.errors import TargetError
from abtune.measure import cluster


class Silent:
    """A client none of whose workers answers."""

    async def run(self, *args: Any, **kwargs: Any) -> None:
        await asyncio.Event().wait()


class Foreign:
    """A client whose workers have another abtune, or none."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def run(self, *args: Any, **kwargs: Any) -> None:
        raise self.error


def test_workers_that_do_not_answer_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep that ends does so although what its workers do cannot be interrupted."""
    monkeypatch.setattr(cluster, "PARTING_TIMEOUT", 0.05)
    silent = cluster.Cluster(cast("Client", Silent()), "pool", searchers=1, devices=1, shares_cores=True)
    asyncio.run(silent.interrupt())


@pytest.mark.parametrize(
    ("runs", "threads"), [(100, 1), (32, 1), (17, 1), (16, 2), (10, 3), (5, 6), (4, 8), (1, 8), (0, 8)]
)
def test_idle_cores_help_the_searches_that_are_left(runs: int, threads: int) -> None:
    """Where there are fewer runs than cores each uses several, up to eight; not where cores are measured."""
    for shares_cores, expected in ((False, threads), (True, 1)):
        of_32 = cluster.Cluster(
            cast("Client", Silent()), "pool", searchers=32, devices=1, shares_cores=shares_cores
        )
        assert of_32.threads(runs) == expected


def test_a_cluster_with_a_silent_worker_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a worker does not answer at the beginning, that is said soon."""
    monkeypatch.setattr(cluster, "CONNECT_TIMEOUT", 0.05)
    with pytest.raises(TargetError, match=r"^a worker of tcp://host:1 does not answer; end it"):
        asyncio.run(cluster._offered(cast("Client", Silent()), "tcp://host:1"))


@pytest.mark.parametrize(
    "error", [Exception("ModuleNotFoundError(\"No module named 'abtune'\")"), AttributeError("no x")]
)
def test_workers_without_this_abtune_are_refused(error: Exception) -> None:
    """A worker that has no abtune, or another one, is told from a fault of the sweep."""
    with pytest.raises(TargetError, match=r"^a worker of tcp://host:1 cannot use abtune"):
        asyncio.run(cluster._offered(cast("Client", Foreign(error)), "tcp://host:1"))
