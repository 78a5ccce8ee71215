"""Output of ``go test -bench``: one line for each run of a benchmark, in ns/op."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from abtune.errors import DatasetError
from abtune.ingest.importer import Importer
from abtune.ingest.timings.named import NAMES, SHAPE_OPTION, read_named
from abtune.ingest.timings.timing_cells import FileCell
from abtune.ingest.units import to_seconds
from abtune.text import shortened

_LINE = re.compile(r"^Benchmark\S*[ \t]+\d+[ \t]", re.M)


def _cells(text: str, path: Path) -> Iterator[FileCell]:
    """Yield a cell for each name; the lines of ``-count`` are repeats, because one process made them."""
    timings: dict[str, list[float]] = {}
    first: dict[str, int] = {}
    home: dict[str, str] = {}
    package = ""
    for number, line in enumerate(text.splitlines(), start=1):
        where = f"{path}: line {number}"
        if line.startswith("pkg: "):
            package = line.removeprefix("pkg: ").strip()
        if not _LINE.match(line):
            continue
        name, _, *measured = line.split()
        by_unit = dict(zip(measured[1::2], measured[::2], strict=False))
        if "ns/op" not in by_unit:
            raise DatasetError(f"{where}: {shortened(name)} has no ns/op; take the line out")
        if home.setdefault(name, package) != package:
            raise DatasetError(
                f"{where}: {shortened(name)} is in {home[name]} and in {package}; give each package a file"
            )
        first.setdefault(name, number)
        timings.setdefault(name, []).append(to_seconds(by_unit["ns/op"], "ns", where))
    for name, times in timings.items():
        label = name.removeprefix("Benchmark") or name
        yield FileCell(where=f"line {first[name]}", name=label, rounds=(tuple(times),))


GO_BENCH = Importer(
    name="go-bench",
    kind="an output of go test -bench",
    summary=f"""Read what go test -bench printed.

    Each of the FILES is a seed, and the lines of -count are repeats, because one process made them. {NAMES}
    """,
    recognises=lambda path, text: _LINE.search(text) is not None and "ns/op" in text,  # noqa: ARG005
    read=read_named(_cells),
    run_is="An output of go test -bench",
    options=(SHAPE_OPTION,),
    examples="""
  abtune import go-bench --run old='old-*.txt' --run new='new-*.txt' --out t.nc
""",
)
