"""JSON of pyperf, which runs every benchmark in several fresh processes: each process is a seed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from abtune.errors import DatasetError, InputError
from abtune.ingest.importer import Imported, Importer, Option, Values
from abtune.ingest.sources import Source, read_once
from abtune.ingest.texts import parse_json
from abtune.ingest.timings.timing_cells import FileCell, Reading, import_readings
from abtune.ingest.units import to_seconds
from abtune.text import shortened

_BEGINNING = re.compile(r'\s*\{\s*"benchmarks"\s*:\s*\[\s*\{\s*"(metadata|runs)"')


def _read(sources: Sequence[Source], values: Values) -> Imported:
    readings: dict[Source, Reading] = {}
    seeds: Counter[tuple[str, str, str]] = Counter()
    for source, text in read_once(sources):
        if source.seed_in_path:
            raise InputError("each process in a file of pyperf is a seed; write * in place of {seed}")
        cells = []
        for name, where, seconds in _processes(parse_json(text, str(source.path)), source.path):
            known = (source.config, source.shape, name)
            cells.append(FileCell(where=where, name=name, seed=seeds[known], rounds=(seconds,)))
            seeds[known] += 1
        if not cells:
            raise DatasetError(f"{source.path}: has no timings")
        readings[source] = Reading(cells=tuple(cells))
    return import_readings(readings, shape=values["shape"], seed="process")


PYPERF = Importer(
    name="pyperf",
    kind="a file of pyperf",
    summary="""Read the JSON of pyperf, whose processes are seeds.

    pyperf runs a benchmark in several fresh processes. Each of them is a seed, also over several files, and
    its values are repeats. With --run the name of a benchmark is a shape, and NAME is the configuration; with
    --shape the name is a configuration.
    """,
    recognises=lambda path, text: _BEGINNING.match(text) is not None,  # noqa: ARG005 - the text tells
    read=_read,
    run_is="A file of pyperf",
    options=(Option(name="shape", metavar="LABEL", help="What was timed, if names are configurations."),),
    examples="""
  abtune import pyperf --run old=old.json --run new=new.json --out t.nc
""",
)


def _processes(document: Any, path: Path) -> Iterator[tuple[str, str, tuple[float, ...]]]:
    """Yield benchmark, place and seconds of each process; those that only calibrated have no values."""
    match document:
        case {"benchmarks": [*benchmarks], "version": str()}:
            pass
        case _:
            raise DatasetError(f"{path}: JSON, but not of pyperf: an object with benchmarks and version")
    names: set[str] = set()
    for number, benchmark in enumerate(benchmarks):
        where = f"benchmarks[{number}]"
        metadata = {**_object(document, "metadata"), **_object(benchmark, "metadata")}
        name, unit = metadata.get("name"), metadata.get("unit", "second")
        runs = benchmark.get("runs") if isinstance(benchmark, dict) else None
        if not isinstance(name, str) or not name or "\0" in name or not isinstance(runs, list):
            raise DatasetError(f"{path}: {where}: has no name or no runs; the file is damaged")
        if unit != "second":
            raise DatasetError(f"{path}: {where}: {name} is in {shortened(repr(unit))}, which is no time")
        if name in names:
            raise DatasetError(f"{path}: {where}: a second benchmark {name!r}; give each its own file")
        names.add(name)
        for index, run in enumerate(runs):
            place = f"{where}.runs[{index}]"
            values = _object({"run": run}, "run").get("values", [])
            if not isinstance(values, list):
                raise DatasetError(f"{path}: {place}.values: is not a list of times")
            if values:
                times = (to_seconds(value, "s", f"{path}: {place}.values") for value in values)
                yield name, place, tuple(times)


def _object(value: Any, key: str) -> Mapping[str, Any]:
    """Return the object below a key; empty if there is none."""
    below = value.get(key) if isinstance(value, dict) else None
    return below if isinstance(below, dict) else {}
