"""T4 files of Kernel Tuner: one file is one search, with every configuration that it tried, in order."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from abtune.dataset.schema import TrialStatus
from abtune.errors import DatasetError, InputError
from abtune.ingest.importer import Imported, Importer, Inputs, Option, Values
from abtune.ingest.searches.searches import Search, assemble_searches, notes_on_searches
from abtune.ingest.sources import Source, label_told, read_once
from abtune.ingest.texts import parse_json
from abtune.ingest.units import PER_SECOND, to_seconds
from abtune.shapes import shape_named
from abtune.text import shortened

_BEGINNING = re.compile(
    r'\s*\{\s*"results"\s*:\s*\[\s*\{\s*("timestamp"\s*:\s*"[^"]{0,80}"\s*,\s*)?"configuration"'
)
_STATUS: Mapping[str, TrialStatus] = {
    "correct": TrialStatus.OK,
    "compile": TrialStatus.BUILD_FAILED,
    "runtime": TrialStatus.RUN_FAILED,
    "correctness": TrialStatus.RUN_FAILED,
    "timeout": TrialStatus.TIMED_OUT,
    "constraints": TrialStatus.NOT_RUN,
}


def _read(sources: Sequence[Source], values: Values) -> Imported:
    runs = {}
    for source, text in read_once(sources):
        label = label_told(source, values["shape"])
        if not label:
            raise InputError(f"{source.path}: does not say what was tuned; give --shape LABEL, or --pattern")
        runs[source] = [_search(parse_json(text, str(source.path)), label, str(source.path))]
    dataset = assemble_searches(runs, attrs={"title": "Kernel Tuner"})
    return Imported(dataset=dataset, notes=notes_on_searches(dataset, "file"))


KERNEL_TUNER = Importer(
    name="kernel-tuner",
    kind="a T4 file of Kernel Tuner",
    summary="""Read T4 files of Kernel Tuner, one for each search.

    PATH is what store_output_file wrote. It does not name what was tuned: give --shape, or {shape} in
    --pattern. Nobody measured the winners again, so each time is the search's own.
    """,
    recognises=lambda path, text: _BEGINNING.match(text) is not None,  # noqa: ARG005 - the text tells
    read=_read,
    inputs=Inputs.RUNS,
    run_is="A T4 file",
    options=(Option(name="shape", metavar="LABEL", help="Label of what was tuned."),),
    examples="""
  abtune import kernel-tuner --run old='old-*.json' --run new='new-*.json' --shape add --out t.nc
""",
)


def _search(document: Any, label: str, path: str) -> Search:
    match document:
        case {"results": [_, *_] as results, "schema_version": str()}:
            trials = [_trial(result, f"{path}: results[{number}]") for number, result in enumerate(results)]
        case _:
            raise DatasetError(f"{path}: JSON, but not of Kernel Tuner: results and schema_version")
    return Search(
        label=label,
        shape=shape_named(label),
        latency=min((seconds for status, seconds in trials if status is TrialStatus.OK), default=math.nan),
        trial_latency=[seconds for _, seconds in trials],
        trial_status=[status for status, _ in trials],
    )


def _trial(result: Any, where: str) -> tuple[TrialStatus, float]:
    """Return the outcome of a configuration, and its time in seconds."""
    invalidity = result.get("invalidity") if isinstance(result, dict) else None
    if not isinstance(invalidity, str) or invalidity not in _STATUS:
        known = ", ".join(_STATUS)
        raise DatasetError(f"{where}: invalidity is {shortened(repr(invalidity))}, none of {known}")
    if invalidity != "correct":
        return _STATUS[invalidity], math.nan
    measurements = result.get("measurements")
    for measured in measurements if isinstance(measurements, list) else []:
        match measured:
            case {"name": "time", "value": value, "unit": str(unit)} if unit in PER_SECOND:
                return TrialStatus.OK, to_seconds(value, unit, f"{where}: time")
    raise DatasetError(f"{where}: has no measurement 'time' in {', '.join(PER_SECOND)}")
