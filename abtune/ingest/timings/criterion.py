"""Samples of criterion: ``target/criterion/*/new/sample.json``, with ``benchmark.json`` beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from abtune.errors import DatasetError
from abtune.ingest.importer import Importer
from abtune.ingest.texts import load_text, parse_json
from abtune.ingest.timings.named import NAMES, SHAPE_OPTION, read_named
from abtune.ingest.timings.timing_cells import FileCell
from abtune.ingest.units import to_seconds

_BEGINNING = re.compile(r'\s*\{\s*"(sampling_mode"\s*:\s*"\w{1,20}"\s*,\s*"iters|iters)"\s*:\s*\[')


def _cells(text: str, path: Path) -> Iterator[FileCell]:
    """Yield the one benchmark: a sample is the mean of its iterations, by the wall clock in nanoseconds."""
    match parse_json(text, str(path)):
        case {"iters": [*iterations], "times": [*times]} if len(iterations) == len(times) > 0:
            pass
        case _:
            raise DatasetError(f"{path}: JSON, but not of criterion: as many iters as times")
    seconds = []
    for number, (count, time) in enumerate(zip(iterations, times, strict=True)):
        where = f"{path}: times[{number}]"
        if isinstance(count, bool) or not isinstance(count, int | float) or not 1 <= count < 2**53:
            raise DatasetError(f"{where}: iters is no number of iterations")
        seconds.append(to_seconds(time, "ns", where) / count)
    yield FileCell(where="the file", name=_name(path.with_name("benchmark.json")), rounds=(tuple(seconds),))


def _name(path: Path) -> str:
    """Return the whole name of a benchmark, with its group and its parameter."""
    match parse_json(load_text(path), str(path)):
        case {"full_id": str(name)} if name:
            return name
    raise DatasetError(f"{path}: has no full_id, the name of the benchmark; copy criterion's folder whole")


CRITERION = Importer(
    name="criterion",
    kind="a sample of criterion",
    summary=f"""Read target/criterion/*/new/sample.json of criterion.

    The file benchmark.json beside each sample has its name. Copy target/criterion after each run: a run is a
    seed, and its samples are repeats. {NAMES}
    """,
    recognises=lambda path, text: _BEGINNING.match(text) is not None,  # noqa: ARG005 - the text tells
    read=read_named(_cells),
    run_is="A sample.json",
    options=(SHAPE_OPTION,),
    examples="""
  abtune import criterion --run old='old-*/*/new/sample.json' --run new='new-*/*/new/sample.json' --out t.nc
""",
)
