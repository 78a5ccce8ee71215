"""Files that list the trials of a search in order: T4 of Kernel Tuner, records of AutoTVM and Ansor."""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from abtune.dataset.schema import TrialStatus
from abtune.errors import DatasetError
from abtune.ingest.importers import Imported, Importer, Inputs, Option, Values
from abtune.ingest.searches.searches import Search, Trial, import_searches
from abtune.ingest.sources import Source, read_once
from abtune.ingest.tables import PER_SECOND, to_seconds
from abtune.ingest.texts import json_lines, naming, parse_json, well_formed
from abtune.text import shortened

_T4 = re.compile(r'\s*\{\s*"results"\s*:\s*\[\s*\{\s*("timestamp"\s*:\s*"[^"]{0,80}"\s*,\s*)?"configuration"')
# Collections of T4 files have what describes them first.
_T4_DESCRIBED = re.compile(r'\s*\{\s*"(schema_version|metadata)"\s*:')
_T4_STATUS: Mapping[str, TrialStatus] = {
    "correct": TrialStatus.OK,
    "compile": TrialStatus.BUILD_FAILED,
    "runtime": TrialStatus.RUN_FAILED,
    "correctness": TrialStatus.RUN_FAILED,
    "timeout": TrialStatus.TIMED_OUT,
    "constraints": TrialStatus.NOT_RUN,
}
_TVM = re.compile(r'(?:#[^\n]*\n)*\s*\{\s*("input"\s*:\s*\[\s*"|"i"\s*:\s*\[\s*(?:\[\s*)?")')
# MeasureErrorNo, which both tools share: instantiation, compilation, run, answer, time limits, unknown.
_TVM_STATUS = (
    TrialStatus.OK,
    *[TrialStatus.BUILD_FAILED] * 3,
    *[TrialStatus.RUN_FAILED] * 2,
    *[TrialStatus.TIMED_OUT] * 2,
    TrialStatus.RUN_FAILED,
)


def _reader(
    title: str, read_tasks: Callable[[str], Mapping[str, Sequence[Trial]]]
) -> Callable[[Sequence[Source], Values], Imported]:
    """Return an importer's function; ``read_tasks`` returns trials by task, whose name may be empty."""

    def read(sources: Sequence[Source], values: Values) -> Imported:
        runs = {}
        for source, text in read_once(sources):
            with naming(source.path):
                tasks = read_tasks(text)
            runs[source] = [Search(label=task, trials=trials) for task, trials in tasks.items()]
        return import_searches(runs, each="file", shape=values["shape"], attrs={"title": title})

    return read


def _kernel_tuner(text: str) -> dict[str, list[Trial]]:
    """Return the one search of a T4 file, which does not name what was tuned."""
    match parse_json(text):
        case {"results": [_, *_] as results, "schema_version": str()}:
            return {"": [_t4_trial(result, f"results[{i}]") for i, result in enumerate(results)]}
    raise DatasetError("JSON, but not of Kernel Tuner: results and schema_version")


def _t4_trial(result: Any, where: str) -> Trial:
    invalidity = result.get("invalidity") if isinstance(result, dict) else None
    if not isinstance(invalidity, str) or invalidity not in _T4_STATUS:
        known = ", ".join(_T4_STATUS)
        raise DatasetError(f"{where}: invalidity is {shortened(repr(invalidity))}, none of {known}")
    if invalidity != "correct":
        return _T4_STATUS[invalidity], math.nan
    with well_formed(f"{where}: has no measurement 'time' in {', '.join(PER_SECOND)}"):
        times = [measured for measured in result["measurements"] if measured["name"] == "time"]
        (time,) = [measured for measured in times if measured["unit"] in PER_SECOND]
        return TrialStatus.OK, to_seconds(time["value"], time["unit"], f"{where}: time")


def _tvm_records(text: str) -> dict[str, list[Trial]]:
    tasks: dict[str, list[Trial]] = {}
    for number, record in json_lines(text):
        task, trial = _tvm_record(record, f"line {number}")
        tasks.setdefault(task, []).append(trial)
    return tasks


def _tvm_record(record: Any, where: str) -> tuple[str, Trial]:
    """Return the task of a record, and its outcome with the mean of its times."""
    match record:
        # AutoTVM, whose keys have one letter before TVM 0.7.
        case {"input": [_, str(name), list(arguments), *_], "result": [list(costs), int(code), *_]} | {
            "i": [_, str(name), list(arguments), *_],
            "r": [list(costs), int(code), *_],
        }:
            task = name + json.dumps(arguments, separators=(",", ":"))
        case {"i": [[str(task), *_], *_], "r": [list(costs), int(code), *_]}:
            pass
        case _:
            raise DatasetError(f"{where}: is no record of AutoTVM or Ansor; the file is damaged")
    if not 0 <= code < len(_TVM_STATUS) or "\0" in task or not task:
        raise DatasetError(f"{where}: error {code} of {shortened(task)!r} is none that abtune knows")
    if code:
        return task, (_TVM_STATUS[code], math.nan)
    if not costs:
        raise DatasetError(f"{where}: has no times, though it ended without an error")
    return task, (TrialStatus.OK, statistics.fmean(to_seconds(cost, "s", where) for cost in costs))


KERNEL_TUNER = Importer(
    name="kernel-tuner",
    kind="a T4 file of Kernel Tuner",
    summary="""Read T4 files of Kernel Tuner, one for each search.

    PATH is what store_output_file wrote. It does not name what was tuned: give --shape, or {shape} in
    --pattern. Nobody measured the winners again, so each time is the search's own.
    """,
    recognises=lambda _, text: bool(
        _T4.match(text) or (_T4_DESCRIBED.match(text) and '"results"' in text and '"invalidity"' in text)
    ),
    read=_reader("Kernel Tuner", _kernel_tuner),
    inputs=Inputs.RUNS,
    run_is="A T4 file",
    options=(Option(name="shape", metavar="LABEL", help="Label of what was tuned."),),
    examples="""
  abtune import kernel-tuner --run old='old-*.json' --run new='new-*.json' --shape add --out t.nc
""",
)
TVM_RECORDS = Importer(
    name="tvm-records",
    kind="a log of AutoTVM or Ansor",
    summary="""Read JSON records of AutoTVM and Ansor, one file for each run.

    PATH has a line for each trial. A task is labelled by its name and arguments, or by its workload key;
    --shape, or {shape} in --pattern, names the only task of a file. Nobody measured the winners again.
    """,
    recognises=lambda _, text: _TVM.match(text) is not None,
    read=_reader("AutoTVM or Ansor", _tvm_records),
    inputs=Inputs.RUNS,
    run_is="A file of records",
    options=(Option(name="shape", metavar="LABEL", help="Label of the only task."),),
    examples="""
  abtune import tvm-records --run old='old-*.json' --run new='new-*.json' --out t.nc
""",
)
