"""Coroutines side by side: all their results, or the one error or signal that ended them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Iterable, Iterator
from types import FrameType
from typing import Any, TypeVar

from distributed.client import FutureCancelledError

from abtune.files import handling_signals

T = TypeVar("T")


@contextlib.contextmanager
def heeding_signals() -> Iterator[None]:
    """Cancel this task on Ctrl-C, on SIGTERM, and on SIGHUP, unless ``nohup`` has them ignored."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def cancel() -> None:
        if task is not None and not task.cancelling():  # a second time would interrupt the end itself
            task.cancel()

    def end(number: int, frame: FrameType | None, handler: Any) -> None:
        loop.call_soon_threadsafe(cancel)
        if callable(handler):
            with contextlib.suppress(KeyboardInterrupt):  # it is in force at the end, and then knows of this
                handler(number, frame)

    # Not with loop.add_signal_handler: when it is removed, a signal at that moment ends the process.
    with handling_signals(end):
        yield


def run(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine, which may end what it began when a signal ends the program."""

    async def heeding() -> T:
        with heeding_signals():
            return await work

    try:
        return asyncio.run(heeding())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


async def gather(steps: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Return the results of all steps; if one fails, cancel the others and raise its error."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(step) for step in steps]
    except BaseExceptionGroup as group_error:
        raise first_error(group_error) from None
    return [task.result() for task in tasks]


def first_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the error that ended a group of tasks; the cancellations that followed it do not count."""
    errors = [error for error in group.exceptions if not isinstance(error, FutureCancelledError)]
    error = (errors or list(group.exceptions))[0]
    return first_error(error) if isinstance(error, BaseExceptionGroup) else error
