"""Records of AutoTVM and Ansor: JSON in lines, one for each trial, in the order of the search."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence

from abtune.dataset.schema import TrialStatus
from abtune.errors import DatasetError
from abtune.ingest.importer import Imported, Importer, Inputs, Option, Values
from abtune.ingest.searches.searches import Search, assemble_searches, notes_on_searches
from abtune.ingest.sources import Source, label_told, read_once
from abtune.ingest.texts import parse_json
from abtune.ingest.units import to_seconds
from abtune.shapes import shape_named
from abtune.text import shortened

_BEGINNING = re.compile(r'\s*\{\s*("input"\s*:\s*\[\s*"|"i"\s*:\s*\[\s*\[\s*")')
# MeasureErrorNo, which both tools share: instantiation, compilation, run, answer, time limits, unknown.
_STATUS = (
    TrialStatus.OK,
    *[TrialStatus.BUILD_FAILED] * 3,
    *[TrialStatus.RUN_FAILED] * 2,
    *[TrialStatus.TIMED_OUT] * 2,
    TrialStatus.RUN_FAILED,
)


def _read(sources: Sequence[Source], values: Values) -> Imported:
    runs = {}
    for source, text in read_once(sources):
        tasks: dict[str, list[tuple[TrialStatus, float]]] = {}
        for number, line in enumerate(text.splitlines(), start=1):
            if line.strip():
                task, trial = _record(line, f"{source.path}: line {number}")
                tasks.setdefault(task, []).append(trial)
        label = label_told(source, values["shape"])
        if label and len(tasks) > 1:
            raise DatasetError(f"{source.path}: has {len(tasks)} tasks; a label can name only one")
        runs[source] = [_search(label or task, trials) for task, trials in tasks.items()]
    dataset = assemble_searches(runs, attrs={"title": "AutoTVM or Ansor"})
    return Imported(dataset=dataset, notes=notes_on_searches(dataset, "file"))


TVM_RECORDS = Importer(
    name="tvm-records",
    kind="a log of AutoTVM or Ansor",
    summary="""Read JSON records of AutoTVM and Ansor, one file for each run.

    PATH has a line for each trial. A task is labelled by its name and arguments, or by its workload key;
    --shape, or {shape} in --pattern, names the only task of a file. Nobody measured the winners again.
    """,
    recognises=lambda path, text: _BEGINNING.match(text) is not None,  # noqa: ARG005 - the text tells
    read=_read,
    inputs=Inputs.RUNS,
    run_is="A file of records",
    options=(Option(name="shape", metavar="LABEL", help="Label of the only task."),),
    examples="""
  abtune import tvm-records --run old='old-*.json' --run new='new-*.json' --out t.nc
""",
)


def _record(line: str, where: str) -> tuple[str, tuple[TrialStatus, float]]:
    """Return the task of a record, and its outcome with the mean of its times in seconds."""
    match parse_json(line, where):
        case {"input": [_, str(name), list(arguments), *_], "result": [list(costs), int(code), *_]}:
            task = name + json.dumps(arguments, separators=(",", ":"))
        case {"i": [[str(task), *_], *_], "r": [list(costs), int(code), *_]}:
            pass
        case _:
            raise DatasetError(f"{where}: is no record of AutoTVM or Ansor; the file is damaged")
    if not 0 <= code < len(_STATUS) or "\0" in task or not task:
        raise DatasetError(f"{where}: error {code} of {shortened(task)!r} is none that abtune knows")
    if code:
        return task, (_STATUS[code], math.nan)
    if not costs:
        raise DatasetError(f"{where}: has no times, though it ended without an error")
    return task, (TrialStatus.OK, math.fsum(to_seconds(cost, "s", where) for cost in costs) / len(costs))


def _search(label: str, trials: Sequence[tuple[TrialStatus, float]]) -> Search:
    return Search(
        label=label,
        shape=shape_named(label),
        latency=min((seconds for status, seconds in trials if status is TrialStatus.OK), default=math.nan),
        trial_latency=[seconds for _, seconds in trials],
        trial_status=[status for status, _ in trials],
    )
