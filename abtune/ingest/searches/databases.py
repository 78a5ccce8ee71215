"""MetaSchedule's JSON databases: the ``work_dir`` of ``ms.tune_tir``, read without TVM.

Each folder is one run. A line of ``database_workload.json`` holds a structural hash and a module. A line of
``database_tuning_record.json`` holds the number of a workload and one trial, in the order of the search.
"""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from abtune.dataset.schema import TrialStatus
from abtune.errors import DatasetError
from abtune.ingest.importers import Importer, Inputs
from abtune.ingest.searches.logs import logs_in
from abtune.ingest.searches.searches import Search, Trial, search_reader
from abtune.ingest.searches.workloads import label_of
from abtune.ingest.texts import json_documents, naming, reading, well_formed
from abtune.ingest.units import MARKS_FAILURE, all_seconds

WORKLOADS = "database_workload.json"
RECORDS = "database_tuning_record.json"
# How the lines of the two files begin. No repetition is within another, so that matching is fast.
_LINES = re.compile(r'\s*(?:\[\d+, *\[\[\[\["|\["-?\d+", *")', re.ASCII)


@dataclass(frozen=True, slots=True)
class _Record:
    """One line of the tuning records."""

    workload: int  # number of the workload
    # A failure is always RUN_FAILED, because the file does not say why. The time is the mean, by which
    # MetaSchedule ranks, too.
    trial: Trial
    content: list[Any]  # trace, times, target, arguments


def _recognises(path: Path, text: str) -> bool:
    # With one of the two files alone, the error names the other one.
    return bool(_LINES.match(text)) or any((path / name).is_file() for name in (WORKLOADS, RECORDS))


def _files_of(path: Path) -> list[Path]:
    """Return the two files of a database; else say what to give."""
    with reading(path):
        missing = [name for name in (WORKLOADS, RECORDS) if not (path / name).is_file()]
    if missing:
        hint = "give the work_dir of the tuning"
        if path.name in {WORKLOADS, RECORDS}:
            hint = f"give its folder, {_files_of(path.parent)[0].parent}"
        elif logs_in(path):
            hint = "there are logs: abtune import logs"
        raise DatasetError(f"{path}: is no folder with {' and '.join(missing)}; {hint}")
    return [path / WORKLOADS, path / RECORDS]


def _searches(_: Path, texts: Mapping[Path, str]) -> list[Search]:
    (workloads_file, workloads_text), (records_file, records_text) = texts.items()
    with naming(workloads_file):
        workloads = _read_workloads(workloads_text)
    by_workload: dict[int, list[_Record]] = {}
    with naming(records_file):
        for number, record in enumerate(_read_records(records_text), start=1):
            if not 0 <= record.workload < len(workloads):
                has = f"but {WORKLOADS} has {len(workloads)}; the files are not of one run"
                raise DatasetError(f"record {number} is of workload {record.workload}, {has}")
            by_workload.setdefault(record.workload, []).append(record)
        return [_search(*workloads[workload], tried) for workload, tried in sorted(by_workload.items())]


def _read_records(text: str) -> list[_Record]:
    records: list[_Record] = []
    timed: dict[str, int] = {}
    for number, line in json_documents(text):
        with naming(f"line {number}"):
            records.append(_read_record(line))
            # Failures may be alike. A timed record that is there again shows that the file was appended
            # to itself.
            written = json.dumps(line)
            if records[-1].trial[0] is TrialStatus.OK and timed.setdefault(written, number) != number:
                raise DatasetError(f"is the same as line {timed[written]}; the file has a search twice")
    return records


def _read_record(value: Any) -> _Record:
    match value:
        case [int(workload), [list(), seconds, dict(), list()] as content]:
            pass
        case _:
            raise DatasetError("not a tuning record: [workload, [trace, times, target, arguments]]")
    if seconds is None:
        return _Record(workload, (TrialStatus.NOT_RUN, math.nan), content)
    if isinstance(seconds, list) and any(isinstance(t, int | float) and t >= MARKS_FAILURE for t in seconds):
        return _Record(workload, (TrialStatus.RUN_FAILED, math.nan), content)
    latency = statistics.fmean(all_seconds(seconds, "s", "times"))
    return _Record(workload, (TrialStatus.OK, latency), content)


def _read_workloads(text: str) -> list[tuple[str, str]]:
    """Return the hash and the module of each workload."""
    workloads = []
    for number, line in json_documents(text):
        match line:
            case [str(hash_text), str(module)]:
                workloads.append((hash_text, module))
            case _:
                raise DatasetError(f"line {number}: not a workload: [hash, module]")
    return workloads


def _search(hash_text: str, module: str, records: Sequence[_Record]) -> Search:
    arguments = records[0].content[3]
    with well_formed("an argument is not a tensor of fixed sizes"):
        dtypes = [dtype for _, dtype, _ in arguments]
        sizes = tuple(tuple(map(int, size)) for _, _, size in arguments)
    timed = [record for record in records if record.trial[0] is TrialStatus.OK]
    best = min(timed, key=lambda record: record.trial[1], default=None)
    return Search(
        label=label_of(module, hash_text, sizes, dtypes),
        trials=[record.trial for record in records],
        targets={json.dumps(record.content[2], sort_keys=True) for record in records},
        winner=json.dumps(best.content) if best else "",
    )


DATABASES = Importer(
    name="databases",
    kind="a MetaSchedule database",
    summary="""Read JSON databases of MetaSchedule, a folder for a run.

    A folder holds database_workload.json and database_tuning_record.json, as ms.tune_tir writes them into
    its work_dir. The workload tells the shape, every trial is kept in order, and TVM is not needed. Nobody
    measured the winners again, so each time is the search's own.
    """,
    recognises=_recognises,
    read=search_reader("MetaSchedule databases", _searches, files_of=_files_of, seed_unit="folder"),
    inputs=Inputs.RUNS,
    run_is="The work_dir of a tuning run",
    examples="""
  abtune import databases --run old='tuned/old-*' --run new='tuned/new-*' --out t.nc
  abtune import databases --pattern 'tuned/{config}/{shape}-{seed}' --out t.nc
""",
)
