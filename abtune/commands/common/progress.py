"""A bar that shows how far a sweep is, on a terminal; nothing elsewhere."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from abtune.measure.sweep.session import Progress as SweepProgress


# The time left is estimated from the steps of this many seconds.
WINDOW = 1800.0


class Bar:
    """A bar with the time left, by the steps of this session alone; without a display it shows nothing."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._task: TaskID | None = None

    def begin(self, phase: str, total: int, done: int) -> None:
        """Show a new phase in place of the last."""
        if self._progress is None:
            return
        if self._task is not None:
            self._progress.update(self._task, visible=False)
        self._task = self._progress.add_task(phase, total=total, completed=done, news="")

    def advance(self, steps: int) -> None:
        """Count steps done."""
        if self._progress is not None and self._task is not None:
            self._progress.advance(self._task, steps)

    def tell(self, news: str) -> None:
        """Show news beside the bar."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, news=news)


@contextlib.contextmanager
def progress_for(stream: TextIO) -> Iterator[SweepProgress]:
    """Yield a bar for a terminal, and for any other stream a display that shows nothing."""
    if not stream.isatty():
        yield Bar(None)
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
        TextColumn("{task.fields[news]}"),
    )
    # Rich would look at the last 30 s alone, in which a slow search reports at most once.
    with Progress(
        *columns, console=Console(file=stream), transient=True, speed_estimate_period=WINDOW
    ) as progress:
        yield Bar(progress)
