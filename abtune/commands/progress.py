"""How far a sweep is, on a terminal; silence elsewhere."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from abtune.measure.sitting import Progress as SweepProgress


# The time left is estimated from what was done in so many seconds.
WINDOW = 1800.0


class Bar:
    """A bar with the time left, which counts only what this sitting did when it estimates."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task: TaskID | None = None

    def begin(self, phase: str, total: int, done: int) -> None:
        """Show a new phase in place of the last."""
        if self._task is not None:
            self._progress.update(self._task, visible=False)
        self._task = self._progress.add_task(phase, total=total, completed=done)

    def advance(self, steps: int) -> None:
        """Count steps done."""
        if self._task is not None:
            self._progress.advance(self._task, steps)


class Silence:
    """Shows nothing."""

    def begin(self, phase: str, total: int, done: int) -> None:
        """Show nothing."""

    def advance(self, steps: int) -> None:
        """Show nothing."""


@contextlib.contextmanager
def progress_for(stream: TextIO) -> Iterator[SweepProgress]:
    """Choose between a bar, for a terminal, and silence."""
    if not stream.isatty():
        yield Silence()
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(elapsed_when_finished=False),
    )
    # Rich would judge by the last 30 s alone, within which slow searches report at most once.
    with Progress(
        *columns, console=Console(file=stream), transient=True, speed_estimate_period=WINDOW
    ) as progress:
        yield Bar(progress)
