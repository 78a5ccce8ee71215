"""Pairs of searches that share what they find, and the order in which a sweep starts its searches."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from abtune.measure.plan.plan import Run
from abtune.measure.plan.trials import History, Trial


class Partners:
    """The searches of one shape and seed: each waits here for what the others offer in an exchange."""

    def __init__(self, histories: dict[str, History], finished: Iterable[str]) -> None:
        self._histories = histories  # by the name of the configuration
        self._finished = set(finished)
        self._stopped = False
        self._moved = asyncio.Condition()

    async def publish(self, config: str, history: History, *, finished: bool = False) -> None:
        """Tell the partner how far a search is."""
        async with self._moved:
            self._histories[config] = history
            if finished:
                self._finished.add(config)
            self._moved.notify_all()

    async def stop(self) -> None:
        """Tell the partner that a search goes on in a later session only."""
        async with self._moved:
            self._stopped = True
            self._moved.notify_all()

    async def offer_to(self, config: str, exchange: int) -> list[Trial] | None:
        """Wait for the partner's offer in an exchange, fastest first; None if it comes in a later session."""
        (partner,) = self._histories.keys() - {config}

        def is_ready() -> bool:
            return partner in self._finished or self._histories[partner].iterations > exchange

        async with self._moved:
            await self._moved.wait_for(lambda: is_ready() or self._stopped)
        return self._histories[partner].offer(exchange) if is_ready() else None

    @property
    def all_finished(self) -> bool:
        """Whether no search needs the histories any more."""
        return self._finished == self._histories.keys()


def grouped(runs: Sequence[Run], *, shared: bool) -> list[tuple[Run, ...]]:
    """Return the runs in groups that start together: pairs if they share what they find, else single runs."""
    groups: dict[object, list[Run]] = {}
    for run in runs:
        groups.setdefault((run.shape, run.seed) if shared else run.key, []).append(run)
    return [tuple(group) for group in groups.values()]
