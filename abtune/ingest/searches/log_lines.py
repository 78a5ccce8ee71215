"""The lines of tuning logs, where each is, and when it was printed.

Every pattern here takes time linear in the length of a line: modules are printed into logs, and a line of a
module may be of any length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from abtune.errors import DatasetError
from abtune.ingest.texts import read_text

_STAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(?= \[)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line and where it is."""

    file: Path
    number: int
    text: str

    @property
    def where(self) -> str:
        """File and line, for messages."""
        return f"{self.file}: line {self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """When a log began and ended, by the clock of the machine that wrote it.

    Attributes
    ----------
    started, finished : datetime or None
        None if its lines have no dates.
    seconds : float
        Between these two; NaN if unknown.
    """

    started: datetime | None
    finished: datetime | None
    seconds: float


def log_lines(path: Path) -> Iterator[Line]:
    """Yield the lines of a file, or of all logs of a folder.

    Raises
    ------
    DatasetError
        If there is no log, or if one cannot be read.
    """
    try:
        files = sorted(path.glob("*.log")) or sorted(path.glob("logs/*.log")) if path.is_dir() else [path]
    except OSError as error:
        raise DatasetError(f"cannot read {path}: {error.strerror}") from None
    if not files:
        raise DatasetError(f"{path}: has no *.log, and neither has its folder logs")
    for file in files:
        for number, text in enumerate(read_text(file).splitlines(), start=1):
            yield Line(file=file, number=number, text=text)


def span_of(lines: Sequence[Line]) -> Span:
    """Return when the first and the last dated line was printed."""
    stamps = [stamp for line in lines if (stamp := _stamp(line.text))]
    if not stamps:
        return Span(started=None, finished=None, seconds=float("nan"))
    # The files of a folder overlap in time: the first line of a later file may be older.
    started, finished = min(stamps), max(stamps)
    return Span(started=started, finished=finished, seconds=(finished - started).total_seconds())


def _stamp(text: str) -> datetime | None:
    match = _STAMP.match(text)
    try:
        return datetime.fromisoformat(match[0]) if match else None
    except ValueError:  # such as the 31st of February
        return None
