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
from pathlib import Path
from typing import Any, TypeAlias

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


# The trial of a record, and its trace, times, target and arguments.
_Record: TypeAlias = tuple[Trial, list[Any]]


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
    with naming(records_file):
        records = _read_records(records_text, len(workloads))
        return [_search(*workloads[workload], tried) for workload, tried in sorted(records.items())]


def _read_records(text: str, workloads: int) -> dict[int, list[_Record]]:
    records: dict[int, list[_Record]] = {}
    timed: dict[str, int] = {}
    for number, line in json_documents(text):
        with naming(f"line {number}"):
            match line:
                case [int(workload), [list(), seconds, dict(), list()] as content]:
                    trial = _trial(seconds)
                case _:
                    raise DatasetError("not a tuning record: [workload, [trace, times, target, arguments]]")
            if not 0 <= workload < workloads:
                has = f"but {WORKLOADS} has {workloads}; the files are not of one run"
                raise DatasetError(f"is of workload {workload}, {has}")
            # Failures may be alike. A timed record that is there again shows that the file was appended
            # to itself.
            if trial[0] is TrialStatus.OK and (first := timed.setdefault(json.dumps(line), number)) != number:
                raise DatasetError(f"is the same as line {first}; the file has a search twice")
            records.setdefault(workload, []).append((trial, content))
    return records


def _trial(seconds: Any) -> Trial:
    """Return what a record says of its trial, by the mean of its times, by which MetaSchedule ranks, too."""
    if seconds is None:
        return TrialStatus.NOT_RUN, math.nan
    if isinstance(seconds, list) and any(isinstance(t, int | float) and t >= MARKS_FAILURE for t in seconds):
        return TrialStatus.RUN_FAILED, math.nan  # the file does not say why
    return TrialStatus.OK, statistics.fmean(all_seconds(seconds, "s", "times"))


def _read_workloads(text: str) -> list[tuple[str, str]]:
    workloads = []
    for number, line in json_documents(text):
        match line:
            case [str(hash_text), str(module)]:
                workloads.append((hash_text, module))
            case _:
                raise DatasetError(f"line {number}: not a workload: [hash, module]")
    return workloads


def _search(hash_text: str, module: str, records: Sequence[_Record]) -> Search:
    arguments = records[0][1][3]
    with well_formed("an argument is not a tensor of fixed sizes"):
        dtypes = [dtype for _, dtype, _ in arguments]
        sizes = tuple(tuple(map(int, size)) for _, _, size in arguments)
    timed = [record for record in records if record[0][0] is TrialStatus.OK]
    best = min(timed, key=lambda record: record[0][1], default=None)
    return Search(
        label=label_of(module, hash_text, sizes, dtypes),
        trials=[trial for trial, _ in records],
        targets={json.dumps(content[2], sort_keys=True) for _, content in records},
        winner=json.dumps(best[1]) if best else "",
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
