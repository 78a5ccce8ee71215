"""Coroutines side by side: all their results, or the one error that ended them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

from distributed.client import FutureCancelledError

T = TypeVar("T")


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
