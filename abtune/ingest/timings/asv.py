"""Results of asv with all their samples: ``results/MACHINE/COMMIT-ENVIRONMENT.json``."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from abtune.errors import DatasetError
from abtune.ingest.importer import Importer
from abtune.ingest.texts import parse_json
from abtune.ingest.timings.named import NAMES, SHAPE_OPTION, read_named
from abtune.ingest.timings.timing_cells import FileCell
from abtune.ingest.units import to_seconds


def _cells(text: str, path: Path) -> Iterator[FileCell]:
    """Yield the benchmarks that have samples: only times have, in seconds."""
    match parse_json(text, str(path)):
        case {"result_columns": [*columns], "results": dict(results), "version": 2}:
            pass
        case _:
            raise DatasetError(f"{path}: JSON, but not of asv: result_columns and results in version 2")
    for name, values in results.items():
        if not isinstance(values, list) or len(values) > len(columns):
            raise DatasetError(f"{path}: {name}: is no list of the result_columns; the file is damaged")
        row = dict(zip(map(str, columns), values, strict=False))
        if row.get("samples") is not None:
            yield from _benchmark(name, row, path)
        elif row.get("stats_repeat") is not None:
            raise DatasetError(f"{path}: {name}: has no samples; write it with asv run --record-samples")


def _benchmark(name: str, row: dict[str, Any], path: Path) -> Iterator[FileCell]:
    """Yield the parameters of a benchmark that were timed; asv names them like a call."""
    samples: Any = row["samples"]
    axes: Any = row.get("params")
    for lists in (samples, axes, *(axes if isinstance(axes, list) else ())):
        if not isinstance(lists, list):
            raise DatasetError(f"{path}: {name}: its samples or params are no lists; the file is damaged")
    if math.prod(map(len, axes)) != len(samples):
        raise DatasetError(f"{path}: {name}: has not one list of samples for each of its params")
    for index, (call, times) in enumerate(zip(itertools.product(*axes), samples, strict=True)):
        label = f"{name}({', '.join(map(str, call))})" if call else name
        if times is None:  # it failed
            continue
        if not isinstance(times, list) or not times:
            raise DatasetError(f"{path}: {label}: its samples are no list of times")
        seconds = tuple(to_seconds(time, "s", f"{path}: {label}") for time in times)
        yield FileCell(where=f"{name}[{index}]", name=label, rounds=(seconds,))


ASV = Importer(
    name="asv",
    kind="a result of asv",
    summary=f"""Read results of asv, written with --record-samples.

    Each of the FILES is results/MACHINE/COMMIT-ENVIRONMENT.json and a seed; its samples are repeats.
    Benchmarks that failed or that count something else than time are left out. {NAMES}
    """,
    recognises=lambda path, text: text.lstrip().startswith("{") and '"result_columns"' in text,  # noqa: ARG005
    read=read_named(_cells),
    run_is="A result of asv",
    options=(SHAPE_OPTION,),
    examples="""
  abtune import asv --run old=results/box/1a2b-env.json --run new=results/box/3c4d-env.json --out t.nc
""",
)
