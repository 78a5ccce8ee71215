"""Reading takes time linear in the text, also where the text was made to be hard.

Each text has a size. Ten times the size takes about ten times as long, and would take a hundred times as long
if some step were quadratic. Processor time is counted, so that a busy machine does not matter.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from abtune.errors import AbtuneError
from abtune.ingest.hints import hint_of
from abtune.ingest.importers import all_importers
from abtune.ingest.searches.logs import read_tasks
from abtune.ingest.timings.published import read_tables
from abtune.ingest.timings.timing_table import read_table
from abtune.ingest.timings.timings import read_printed
from abtune.ingest.units import UNITS, read_heading
from abtune.text import to_number

PATH = Path("x")
SIZES = (200, 2_000, 20_000, 200_000)
# Between the ratio of linear work from size to size, 10, and the ratio of quadratic work, 100.
MOST = 50


def recognise(text: str) -> None:
    for importer in all_importers():
        importer.recognises(PATH, text)


def hint(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.csv")
        path.write_text(text, encoding="utf-8")
        hint_of(path, lambda _: False)


def read_published(text: str) -> None:
    read_tables(text, "")


def read_log(text: str) -> None:
    read_tasks({PATH: text})


def read_number(text: str) -> None:
    with contextlib.suppress(ValueError):
        to_number(text)


def table(row: str) -> str:
    return f"| Shape | a (ms) | b (ms) |\n|---|---|---|\n| {row} | 1 | 2 |"


HARD: dict[str, tuple[Callable[[str], object], Callable[[int], str]]] = {
    "stars": (read_published, lambda n: table("*" * n + "x")),
    "stars at both ends": (read_published, lambda n: table("*" * n + "x" + "*" * (n // 2))),
    "underscores in prose": (read_published, lambda n: "_" * n + "x | y"),
    "many prints": (read_published, lambda n: "t:\n N  A (ms)  B (ms)\n0 1.0 2 3\n1 2.0:\n" * (n // 40)),
    "many sizes": (read_published, lambda n: f"|N|{'M|' * (n // 8)}\n|{'1.0|' * (n // 8)}1.0|\n" * 2),
    "ticks": (read_published, lambda n: table("`" * n)),
    "spaces in a heading": (read_published, lambda n: f"| Shape | a{' ' * n}b | c |\n"),
    "brackets in a heading": (lambda text: read_heading(text, UNITS), lambda n: "a" + "(" * n + ")"),
    "spaces in brackets": (lambda text: read_heading(text, UNITS), lambda n: f"a ({' ' * n}x)"),
    "words in a heading": (lambda text: read_heading(text, UNITS), lambda n: "geo_" * n),
    "digits": (read_number, lambda n: "1" * n + "x"),
    "a result without an end": (
        read_printed,
        lambda n: "t\nProfileResult(" + "1," * n,
    ),
    "spaces in a result": (
        read_printed,
        lambda n: f"t\nProfileResult(mean=1{' ' * n}",
    ),
    "many results": (
        read_printed,
        lambda n: "t\n" + "ProfileResult(mean=1.0, results=(1.0,))\n" * (n // 20),
    ),
    "tasks in a line": (read_log, lambda n: "[Task #1: a" * n),
    "tasks and trials in a line": (
        read_log,
        lambda n: "[Task #1: a] Trial #1: GFLOPs: " * (n // 4) + "x" * n,
    ),
    "buffers in a line": (read_log, lambda n: "  def f(" + "T.Buffer((1, " * n),
    "buffers that end": (read_log, lambda n: "  def f(" + "T.Buffer" * n + ")"),
    "bars in a log": (read_log, lambda n: " ID | Name | FLOP | Weight\n" + "|" * n),
    "quotes in a table": (lambda text: read_table(text, {}, ""), lambda n: '"' * n + "\n1"),
    "numbers in a line": (hint, lambda n: "".join(f"{i}," for i in range(n // 6))),
    "columns": (
        lambda text: read_table(text, {}, ""),
        lambda n: ",".join(f"c{i}" for i in range(n // 12)),
    ),
    "lines of go": (recognise, lambda n: "Benchmark \t1" * (n // 12) + "\n" + "BenchmarkA " * (n // 12)),
    "spaces in JSON": (recognise, lambda n: '{"i": [' + " " * n + "[" + " " * n),
    "wide tables": (
        lambda text: read_table(text, {}, ""),
        lambda n: "shape,a (ms),b (ms)\n" + "x,1,2\n" * (n // 8),
    ),
    "anything, recognised": (recognise, lambda n: '{"results": [' + "  " * n + "ProfileResult" * 9),
    "bars, recognised": (recognise, lambda n: "|" * n + "\n" + "shape" * (n // 5)),
    "brackets, recognised": (recognise, lambda n: "[" * n + "\n" + '[0, [[["' * (n // 8)),
}


def seconds(read: Callable[[str], object], text: str) -> float:
    """Return the processor time of the fastest of three readings."""
    times = []
    for _ in range(3):
        start = time.process_time_ns()
        with contextlib.suppress(AbtuneError):
            read(text)
        times.append(time.process_time_ns() - start)
    return max(min(times), 200_000) / 1e9  # below that the clock says nothing


@pytest.mark.parametrize("name", HARD)
def test_hard_texts_take_linear_time(name: str) -> None:
    """Ten times the text takes far less than a hundred times as long; the first larger step fails."""
    read, make = HARD[name]
    before = seconds(read, make(SIZES[0]))
    for size in SIZES[1:]:
        after = seconds(read, make(size))
        assert after < MOST * before, size
        before = after
