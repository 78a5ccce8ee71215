"""Files that list the trials of a search in order: T4 of Kernel Tuner, records of TVM, and tables."""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from abtune.dataset.schema import TrialStatus
from abtune.errors import DatasetError, InputError, naming
from abtune.ingest.importers import Imported, Importer, Inputs, Option, Values
from abtune.ingest.searches.searches import Trial, TuningRun, search_reader
from abtune.ingest.sources import Source
from abtune.ingest.texts import is_json_of, json_documents, parse_json, well_formed
from abtune.ingest.timings.file_cells import FileCell
from abtune.ingest.timings.timing_table import read_table
from abtune.ingest.timings.timings import OPTIONS, read_columns
from abtune.ingest.units import PER_SECOND, to_seconds, unit_named
from abtune.text import shortened

# What Kernel Tuner's T4 files say of a trial.
_T4_STATUS: Mapping[str, TrialStatus] = {
    "correct": TrialStatus.OK,
    "compile": TrialStatus.BUILD_FAILED,
    "runtime": TrialStatus.RUN_FAILED,
    "correctness": TrialStatus.RUN_FAILED,
    "timeout": TrialStatus.TIMED_OUT,
    "constraints": TrialStatus.NOT_RUN,
}
# What stands in place of a time in its cache, in CSV of abtune or beside a time of KTT; no blanks and marks.
_WITHOUT_TIME = {
    **dict.fromkeys(
        ("compilationfailedconfig", "compilationfailed", "buildfailed"), TrialStatus.BUILD_FAILED
    ),
    **dict.fromkeys(("devicelimitsexceeded", "invalidconfig"), TrialStatus.NOT_RUN),
    **dict.fromkeys(("timeout", "timedout"), TrialStatus.TIMED_OUT),
}
# Python before 3.6 wrote the keys of AutoTVM in any order.
_TVM = re.compile(
    r'(?:#[^\n]*\n)*\s*\{\s*("input"\s*:\s*\[\s*"|"i"\s*:\s*\[\s*(?:\[\s*)?"|"(r|v)"\s*:[^\n]{1,999}"i"\s*:\s*\[)'
)
# The most seconds between the ends of two trials of one batch.
_LONGEST_PAUSE = 600
# MeasureErrorNo, which both tools share: instantiation, compilation, run, answer, time limits, unknown.
_TVM_STATUS = (
    TrialStatus.OK,
    *[TrialStatus.BUILD_FAILED] * 3,
    *[TrialStatus.RUN_FAILED] * 2,
    *[TrialStatus.TIMED_OUT] * 2,
    TrialStatus.RUN_FAILED,
)


def _kernel_tuner(path: Path, texts: Mapping[Path, str]) -> list[TuningRun]:
    """Return the one search of a T4 file, which does not name what was tuned."""
    with naming(path):
        match parse_json(texts[path]):
            case {"results": [_, *_] as results, "schema_version": str()} as document:
                metadata = document.get("metadata")
                unit = metadata.get("timeunit") if isinstance(metadata, dict) else ""
                trials = [_t4_trial(result, f"results[{i}]", unit) for i, result in enumerate(results)]
                return [TuningRun(label="", trials=trials)]
        raise DatasetError("JSON, but not of Kernel Tuner: results and schema_version")


def _t4_trial(result: Any, where: str, timeunit: Any) -> Trial:
    """Return the trial of an entry; ``timeunit`` is the unit of a time that names none."""
    invalidity = result.get("invalidity") if isinstance(result, dict) else None
    if not isinstance(invalidity, str) or invalidity not in _T4_STATUS:
        known = ", ".join(_T4_STATUS)
        raise DatasetError(f"{where}: invalidity is {shortened(repr(invalidity))}, none of {known}")
    if invalidity == "correct" and result.get("correctness") == 0:  # a wrong answer may be fast
        invalidity = "correctness"
    if invalidity != "correct":
        return _T4_STATUS[invalidity], math.nan
    with well_formed(f"{where}: has no measurement 'time' in {', '.join(PER_SECOND)}"):
        times = [measured for measured in result["measurements"] if measured["name"] == "time"]
        units = [unit_named(measured["unit"] or timeunit) for measured in times]
        ((time, unit),) = [both for both in zip(times, units, strict=True) if both[1] in PER_SECOND]
        return TrialStatus.OK, to_seconds(time["value"], unit, f"{where}: time")


class _Record(NamedTuple):
    """One line of AutoTVM or Ansor."""

    line: int
    task: str
    target: str
    trial: Trial
    config: int | None  # the number of its configuration in the space of AutoTVM
    finished: float  # when, in seconds


def _tvm_records(path: Path, texts: Mapping[Path, str]) -> list[TuningRun]:
    tasks: dict[str, list[_Record]] = {}
    with naming(path):
        for number, line in json_documents(texts[path]):
            record = _tvm_record(line, number)
            tasks.setdefault(record.task, []).append(record)
        for records in tasks.values():
            _check_one_search(records)
    return [
        TuningRun(label=task, trials=[record.trial for record in records], targets=[records[0].target])
        for task, records in tasks.items()
    ]


def _check_one_search(records: Sequence[_Record]) -> None:
    """Refuse the records of a second search, by its target or by a configuration that comes again."""
    first: dict[int, int] = {}
    lags: set[int] = set()
    in_row = 0
    for index, record in enumerate(records):
        if record.target != records[0].target:
            here = f"{shortened(record.task)} was tuned for {shortened(record.target, 200)}"
            remedy = "give each target a file of its own"
            above = f"in line {records[0].line} for {shortened(records[0].target, 200)}"
            raise DatasetError(f"line {record.line}: {here}, and {above}; {remedy}")
        lag = 0 if record.config is None else index - first.setdefault(record.config, index)
        if not lag:
            in_row = 0
            continue
        # Within a search only GATuner repeats any: it fills a batch with the first ones of its generation.
        in_row += 1
        lags.add(lag)
        pause = abs(record.finished - records[index - 1].finished)
        if len(lags) > 1 or in_row >= lag or pause > _LONGEST_PAUSE:
            again = f"configuration {record.config} was tried in line {records[index - lag].line} already"
            remedy = "if this is a second search, give each a file of its own"
            raise DatasetError(f"line {record.line}: {again}; {remedy}")


def _tvm_record(value: Any, line: int) -> _Record:
    """Return what a line says; the time of its trial is the mean of its times."""
    where = f"line {line}"
    match value:
        # AutoTVM, whose keys have one letter before TVM 0.7.
        case {
            "input": [str(target), str(name), list(arguments), *_],
            "result": [list(costs), int(code), *more],
        } | {"i": [str(target), str(name), list(arguments), *_], "r": [list(costs), int(code), *more]}:
            task = name + json.dumps(arguments, separators=(",", ":"))
        case {"i": [[str(task), str(target), *_], *_], "r": [list(costs), int(code), *more]}:
            pass
        case _:
            raise DatasetError(f"{where}: is no record of AutoTVM or Ansor; the file is damaged")
    if not 0 <= code < len(_TVM_STATUS) or "\0" in task or not task:
        raise DatasetError(f"{where}: error {code} of {shortened(task)!r} is none that abtune knows")
    seconds = math.nan
    if not code:
        if not costs:
            raise DatasetError(f"{where}: has no times, though it ended without an error")
        seconds = statistics.fmean(to_seconds(cost, "s", where) for cost in costs)
    config: int | None = None  # Ansor has none
    match value:
        case {"config": {"index": int(config)}} | {"i": [*_, {"i": int(config)}]}:
            pass
    finished = more[1] if len(more) > 1 and isinstance(more[1], int | float) else 0.0
    return _Record(line, task, target, (_TVM_STATUS[code], seconds), config, finished)


def _read_trials(sources: Sequence[Source], values: Values) -> Imported:
    notes: list[str] = []
    imported = search_reader("trials", partial(_trials, values, notes))(sources, values)
    return replace(imported, notes=(*imported.notes, *notes))


def _trials(values: Values, notes: list[str], path: Path, texts: Mapping[Path, str]) -> list[TuningRun]:
    """Return a search for each shape, with its trials in the order of their lines."""
    with naming(path):
        columns = read_columns(values["columns"])
        reading = read_table(texts[path], columns, values["unit"], "trial")
        if any((cell.config, cell.seed) != (None, None) or len(cell.rounds) > 1 for cell in reading.cells):
            has = "has a column config, seed or round, and a file of trials is one search"
            raise InputError(f"{has}; if its lines are repeats: abtune import timings")
        if reading.kind:
            raise InputError("holds throughputs; name the column of times by --columns time=NAME")
    notes += (f"{path}: {note}" for note in reading.notes)
    return [TuningRun(label=cell.shape or "", trials=list(_outcomes(cell))) for cell in reading.cells]


def _outcomes(cell: FileCell) -> Iterator[Trial]:
    words = (re.sub(r"[\W_]", "", word) for word in cell.failures)
    for time in cell.rounds[0]:
        failed = math.isnan(time)
        status = _WITHOUT_TIME.get(next(words), TrialStatus.RUN_FAILED) if failed else TrialStatus.OK
        yield status, time


KERNEL_TUNER = Importer(
    name="kernel-tuner",
    kind="a T4 file of Kernel Tuner",
    summary="""Read T4 files of Kernel Tuner, one for each search.

    PATH is what store_output_file wrote. It does not name what was tuned: give --shape, or {shape} in
    --pattern. Nobody measured the winners again, so each time is the search's own.
    """,
    recognises=lambda _, text: is_json_of(text, ["results", "invalidity"]),
    read=search_reader("Kernel Tuner", _kernel_tuner),
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
    read=search_reader("AutoTVM or Ansor", _tvm_records),
    inputs=Inputs.RUNS,
    run_is="A file of records",
    options=(Option(name="shape", metavar="LABEL", help="Label of the only task."),),
    examples="""
  abtune import tvm-records --run old='old-*.json' --run new='new-*.json' --out t.nc
""",
)
TRIALS = Importer(
    name="trials",
    kind="a table of trials",
    summary="""Read CSV or JSON with a line for each trial, one file for each search.

    The least time is the winner's. Kernel Tuner (its cache), KTT, CLTune, ATF and others write such files.
    --columns and --unit say which column has the time. A line without a time is a trial that failed. Nobody
    measured the winners again, so each time is the search's own.
    """,
    recognises=lambda *_: False,
    read=_read_trials,
    inputs=Inputs.RUNS,
    like="timings",
    run_is="A table of trials",
    options=OPTIONS,
    examples="""
  abtune import trials --run a='a-*.csv' --run b='b-*.csv' --unit ns --shape x --out t.nc
  abtune import trials --run a=cache-a.json --run b=cache-b.json --unit ms --shape conv --out t.nc
""",
)
