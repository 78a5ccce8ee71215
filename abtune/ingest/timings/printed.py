"""What TVM prints of timings: ``ProfileResult(...)`` of old versions, ``BenchmarkResult(...)`` of new ones.

People paste such results under a line that says what was timed. Lines may have been wrapped, so the printed
mean, median and extremes have to follow from the timings. Results under one title are rounds.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Mapping

from abtune.errors import DatasetError
from abtune.ingest.tables import to_seconds
from abtune.ingest.timings.timing_cells import FileCell, Reading
from abtune.text import shortened

_RESULT = re.compile(r"\b(?:Profile|Benchmark)Result\(")
_INSIDE = re.compile(
    r"(?P<printed>[^()\[\]]*)results=(?:\((?P<tuple>[^()\[\]]*)\)|\[(?P<list>[^()\[\]]*)\])\s*\)"
)
_SUMMARY = "Execution time summary:"
# What is printed beside the timings, and how it follows from them.
_STATISTICS: Mapping[str, Callable[[tuple[float, ...]], float]] = {
    "mean": statistics.fmean,
    "median": statistics.median,
    "min": min,
    "max": max,
}


def has_results(text: str) -> bool:
    """Return whether a text holds a printed result."""
    return bool(_RESULT.search(text)) or _SUMMARY in text


def read_printed(text: str) -> Reading:
    """Return all results of a text, each under the last line of text above it."""
    if _SUMMARY in text:
        number = 1 + text.count("\n", 0, text.index(_SUMMARY))
        raise DatasetError(f"line {number}: a summary has no single timings; print repr(result), not str")
    rounds: dict[str, list[tuple[float, ...]]] = {}
    first: dict[str, int] = {}
    notes: list[str] = []
    title, number, end = "", 1, 0  # ``end`` lies in line ``number``
    for start in _RESULT.finditer(text):
        above = _lines(text[end : start.start()], number)
        number += text.count("\n", end, start.start())
        where = f"line {number}"
        notes += map(_left_out, above[:-1])
        own = above[-1][1].rstrip(":= [") if above else ""
        if own in rounds:
            raise DatasetError(f"{where}: {own!r} was in line {first[own]} already; give each its own title")
        title = own or title
        if not title:
            raise DatasetError(f"{where}: nothing above the result says what was timed; add a title")
        timings, end = _read_result(text, start.end(), where)
        first.setdefault(title, number)
        rounds.setdefault(title, []).append(timings)
        number += text.count("\n", start.start(), end)
    notes += map(_left_out, _lines(text[end:], number))
    notes += [
        f"{len(timings)} results under {name!r} are rounds of one seed"
        for name, timings in rounds.items()
        if len(timings) > 1
    ]
    cells = (
        FileCell(where=f"line {first[name]}", name=name, rounds=tuple(timings))
        for name, timings in rounds.items()
    )
    return Reading(cells=tuple(cells), notes=tuple(notes))


def _lines(text: str, first: int) -> list[tuple[int, str]]:
    """Return the lines with words, each with its number; the first line has the number ``first``."""
    lines = enumerate(map(str.strip, text.split("\n")), start=first)
    return [(number, line) for number, line in lines if any(map(str.isalnum, line))]


def _left_out(line: tuple[int, str]) -> str:
    return f"line {line[0]} left out: {line[1][:60]!r}"


def _read_result(text: str, start: int, where: str) -> tuple[tuple[float, ...], int]:
    """Return the timings of a result that begins there, and its end."""
    match = _INSIDE.match(text, start)
    if match is None:
        raise DatasetError(f"{where}: the result is cut short; it ends with '))'")
    timings = tuple(
        to_seconds("".join(number.split()), "s", f"{where}: results")  # a line may break within a number
        for number in (match["tuple"] or match["list"] or "").split(",")
        if number.strip()
    )
    if not timings:
        raise DatasetError(f"{where}: the result has no timings")
    _check(match["printed"], timings, where)
    return timings, match.end()


def _check(printed: str, timings: tuple[float, ...], where: str) -> None:
    """Check what is printed beside timings: mean, median and extremes follow from them."""
    for entry in printed.split(","):
        name, _, value = ("".join(text.split()) for text in entry.partition("="))
        if name not in _STATISTICS:
            continue
        stated = to_seconds(value, "s", f"{where}: {name}")
        computed = _STATISTICS[name](timings)
        if not math.isclose(stated, computed, rel_tol=1e-9):
            differ = f"printed as {shortened(value)}, but the {len(timings)} timings give {computed:.9g}"
            raise DatasetError(f"{where}: the {name} is {differ}; the text was changed or cut")
