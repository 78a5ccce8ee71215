"""What TVM prints of timings: ``ProfileResult(...)`` of old versions, ``BenchmarkResult(...)`` of new ones.

Such results are pasted into issues and notes, each under a line that says what was timed; lines may have
been wrapped, even within a number. The printed mean has to follow from the results, so that a wrap or a cut
that changes a number is noticed. Results under one title are rounds: nothing says that more than the call
was repeated.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

from abtune.errors import DatasetError
from abtune.ingest.timing_parts import Part, Reading, named, to_seconds

_RESULT = re.compile(r"\b(?:Profile|Benchmark)Result\(")
_CLOSED = re.compile(
    r"(?:Profile|Benchmark)Result\((?P<statistics>[^()]*?),?\s*results=[(\[](?P<results>[^()\[\]]*)[)\]]\s*\)"
)
_MEAN = re.compile(r"mean=([^,\s]+)")
_SUMMARY = "Execution time summary:"


def has_results(text: str) -> bool:
    """Tell whether a text holds a printed result."""
    return bool(_RESULT.search(text)) or _SUMMARY in text


def read_printed(text: str, path: Path) -> Reading:
    """Read all results of a text, each under the last line of text above it.

    Raises
    ------
    DatasetError
        If a result is cut short, has no title, or its mean does not follow from its timings.
    """
    if _SUMMARY in text:
        raise DatasetError(
            f"{path}: line {_line(text, text.index(_SUMMARY))}: a summary has no single timings; "
            "print repr(result) and not str(result)"
        )
    found: dict[str, list[tuple[float, ...]]] = {}
    places: dict[str, int] = {}
    notes: list[str] = []
    end, title = 0, ""
    for start in _RESULT.finditer(text):
        line = _line(text, start.start())
        match = _CLOSED.match(text, start.start())
        if match is None:
            raise DatasetError(f"{path}: line {line}: the result is cut short; it ends with '))'")
        titles = _titles(text[end : start.start()], _line(text, end), path, notes)
        title = titles or title
        if not title:
            raise DatasetError(
                f"{path}: line {line}: nothing above the result says what was timed; add a title"
            )
        if titles and title in found:
            raise DatasetError(
                f"{path}: line {line}: {title!r} was in line {places[title]} already; give each its own title"
            )
        places.setdefault(title, line)
        found.setdefault(title, []).append(_timings(match, f"{path}: line {line}"))
        end = match.end()
    _titles(f"{text[end:]}\n ", _line(text, end), path, notes, last=True)
    parts: Sequence[Part] = [named(name, f"line {places[name]}", *rounds) for name, rounds in found.items()]
    notes += [
        f"{path}: {len(rounds)} results under {name!r} are rounds of one seed"
        for name, rounds in found.items()
        if len(rounds) > 1
    ]
    return Reading(parts=tuple(parts), each_a_process=False, notes=tuple(notes))


def _titles(text: str, line: int, path: Path, notes: list[str], *, last: bool = False) -> str:
    """Return the last line of a text between results, and note the others as left out."""
    lines = [(line + at, each.strip()) for at, each in enumerate(text.splitlines()) if each.strip()]
    kept = [] if last else lines[-1:]
    notes += [
        f"{path}: line {number} left out: {each[:60]!r}" for number, each in lines[: len(lines) - len(kept)]
    ]
    return kept[0][1].rstrip(":= ").strip() if kept else ""


def _timings(match: re.Match[str], place: str) -> tuple[float, ...]:
    """Join wrapped lines, convert, and check against the printed mean."""
    numbers = [re.sub(r"\s+", "", part) for part in match["results"].split(",")]
    timings = tuple(to_seconds(number, "s", f"{place}: results") for number in numbers if number)
    if not timings:
        raise DatasetError(f"{place}: the result has no timings")
    printed = _MEAN.search(match["statistics"])
    if printed is None:
        return timings
    mean = to_seconds(printed[1], "s", f"{place}: mean")
    computed = math.fsum(timings) / len(timings)
    if not math.isclose(mean, computed, rel_tol=1e-9):
        raise DatasetError(
            f"{place}: the mean is printed as {printed[1]}, but the {len(timings)} timings give "
            f"{computed:.9g}; the text was changed or cut"
        )
    return timings


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
