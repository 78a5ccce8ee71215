"""One search: what it leaves behind when it stops."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from abtune.measure.sweep.searching import Search
from abtune.measure.workers.fork_server import ChildError


def test_a_search_that_stops_closes_what_it_was_trying(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the candidates of a search that failed would hold their slots a little longer."""
    closed: list[bool] = []

    async def endless(*_: object, **__: object) -> AsyncGenerator[tuple[tuple[()], float], None]:
        try:
            while True:
                yield (), 0.0
        finally:
            closed.append(True)

    async def break_down(*, broken: bool) -> None:
        raise ChildError(f"the device is gone: {broken}")

    history: Any = SimpleNamespace(pending=())
    history.tried = lambda trials, *, seconds: history
    cluster = SimpleNamespace(threads=lambda runs: 1)
    search: Any = SimpleNamespace(history=history, cluster=cluster, settings=None, _problem=None, priority=0)
    search.session = SimpleNamespace(runs_left=1)
    search._prove, search._looks_broken = break_down, lambda history, *, hangs: hangs
    monkeypatch.setattr("abtune.measure.sweep.searching.try_candidates", endless)

    async def try_all() -> list[bool]:
        with pytest.raises(ChildError, match="the device is gone"):
            await Search._try(cast("Search", search))
        return [*closed]  # before the loop closes what is open at its end

    assert asyncio.run(try_all()) == [True]
