"""JSON of nvbench: the mean GPU time of each state of each benchmark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from abtune.errors import DatasetError
from abtune.ingest.importer import Importer
from abtune.ingest.texts import parse_json
from abtune.ingest.timings.named import NAMES, SHAPE_OPTION, read_named
from abtune.ingest.timings.timing_cells import FileCell
from abtune.ingest.units import to_seconds

_MEAN = "nv/cold/time/gpu/mean"
_VERSION = re.compile(r'"nvbench"\s*:\s*\{')


def _cells(text: str, path: Path) -> Iterator[FileCell]:
    """Yield the states that were measured."""
    match parse_json(text, str(path)):
        case {"meta": dict(), "benchmarks": [*benchmarks]}:
            pass
        case _:
            raise DatasetError(f"{path}: JSON, but not of nvbench: meta and benchmarks")
    for number, benchmark in enumerate(benchmarks):
        match benchmark:
            case {"name": str(name), "states": [*states]}:
                for index, state in enumerate(states):
                    yield from _state(name, state, f"benchmarks[{number}].states[{index}]", path)
            case _:
                raise DatasetError(f"{path}: benchmarks[{number}]: has no name or no states; it is damaged")


def _state(benchmark: str, state: Any, where: str, path: Path) -> Iterator[FileCell]:
    match state:
        case {"is_skipped": True}:
            return
        case {"name": str(name), "summaries": [*summaries]}:
            pass
        case _:
            raise DatasetError(f"{path}: {where}: has no name or no summaries; the file is damaged")
    for summary in summaries:
        match summary:
            case {"tag": tag, "data": [{"name": "value", "value": value}, *_]} if tag == _MEAN:
                seconds = to_seconds(value, "s", f"{path}: {where}: {_MEAN}")
                yield FileCell(where=where, name=f"{benchmark} {name}".strip(), rounds=((seconds,),))
                return
    raise DatasetError(f"{path}: {where}: has no {_MEAN}; abtune reads isolated GPU times only")


NVBENCH = Importer(
    name="nvbench",
    kind="a JSON of nvbench",
    summary=f"""Read the JSON of nvbench, written with --json.

    Each of the FILES is a seed. It has one time for each state: the mean of its isolated GPU times. Skipped
    states are left out. {NAMES}
    """,
    recognises=lambda path, text: (  # noqa: ARG005 - the text tells
        text.lstrip().startswith("{") and '"meta"' in text[:99] and bool(_VERSION.search(text[:9_999]))
    ),
    read=read_named(_cells),
    run_is="A JSON of nvbench",
    options=(SHAPE_OPTION,),
    examples="""
  abtune import nvbench --run old='old-*.json' --run new='new-*.json' --out t.nc
""",
)
