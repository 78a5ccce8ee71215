"""MetaSchedule's JSON databases: the folder that ``ms.tune_tir`` and its kin are given as ``work_dir``.

Each folder is one run. Its two files are read as they are, without TVM: a line of
``database_workload.json`` is a structural hash and a module, a line of ``database_tuning_record.json`` is
the number of a workload and what was tried: trace, times, target, arguments. Lines are in the order of the
search. A candidate that failed has a time of 1e10 s, whatever it failed of.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import xarray as xr

from abtune.errors import DatasetError
from abtune.ingest.reading import Contents, Source, parse_json, read_text, wrong_kind
from abtune.ingest.searches import Search, assemble_searches
from abtune.ingest.workloads import Sizes, label_of
from abtune.schema import TrialStatus
from abtune.shapes import Shape

WORKLOADS = "database_workload.json"
RECORDS = "database_tuning_record.json"

# MetaSchedule writes 1e10 for a candidate that failed; no kernel takes a year.
_FAILED = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One line of the tuning records.

    Attributes
    ----------
    workload : int
        Number of the workload.
    status : TrialStatus
        Failures are all ``RUN_FAILED``: the file does not tell why.
    latency : float
        Mean of its times, by which MetaSchedule itself ranks; NaN if it failed.
    content : list
        Trace, times, target, arguments.
    """

    workload: int
    status: TrialStatus
    latency: float
    content: list[Any]


def read_databases(sources: Sequence[Source]) -> xr.Dataset:
    """Read the folders of all runs into one dataset.

    Raises
    ------
    DatasetError
        With file, line and what to do, at the first thing that is wrong.
    """
    contents = Contents()
    runs: dict[Source, list[Search]] = {}
    targets: set[str] = set()
    for source in sources:
        folder = _folder(source.path)
        records, text = _read_records(folder / RECORDS)
        contents.add(source.path, text)
        runs[source] = _searches(folder, records)
        targets |= {json.dumps(record.content[2], sort_keys=True) for record in records}
    attrs: dict[str, Any] = {"title": "MetaSchedule databases", "targets": len(targets)}
    if len(targets) == 1:
        attrs["target"] = targets.pop()
    return assemble_searches(runs, attrs=attrs)


def _folder(path: Path) -> Path:
    if not path.exists():
        raise DatasetError(f"cannot read {path}: there is no such folder")
    if not path.is_dir():
        known = path.name in (WORKLOADS, RECORDS)
        hint = f"; give its folder, {path.parent}" if known else wrong_kind(read_text(path), "databases")
        raise DatasetError(f"{path}: a database is a folder with {WORKLOADS} and {RECORDS}{hint}")
    for name in (WORKLOADS, RECORDS):
        if not (path / name).is_file():
            logs = any(path.glob("*.log")) or any(path.glob("logs/*.log"))
            hint = "; there are logs: abtune import logs" if logs else "; give the work_dir of the tuning"
            raise DatasetError(f"{path}: has no {name}{hint}")
    return path


def _read_records(path: Path) -> tuple[list[Record], str]:
    text = read_text(path)
    records: list[Record] = []
    timed: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            place = f"{path}: line {number}"
            records.append(_read_record(parse_json(line, place), place))
            if records[-1].status is TrialStatus.OK and timed.setdefault(line, number) != number:
                raise DatasetError(
                    f"{place}: is the same as line {timed[line]}; the file was put together twice"
                )
    return records, text


def _read_record(value: Any, place: str) -> Record:
    match value:
        case [int(workload), [list(), seconds, dict(), list()] as content]:
            pass
        case _:
            raise DatasetError(f"{place}: not a tuning record: [workload, [trace, times, target, arguments]]")
    if seconds is None:
        return Record(workload=workload, status=TrialStatus.NOT_RUN, latency=math.nan, content=content)
    if not isinstance(seconds, list) or not seconds or not all(_is_time(each) for each in seconds):
        raise DatasetError(f"{place}: times are {_short(seconds)}; they must be positive seconds")
    latency = math.fsum(map(float, seconds)) / len(seconds)
    if latency >= _FAILED:
        return Record(workload=workload, status=TrialStatus.RUN_FAILED, latency=math.nan, content=content)
    return Record(workload=workload, status=TrialStatus.OK, latency=latency, content=content)


def _searches(folder: Path, records: Sequence[Record]) -> list[Search]:
    workloads = _read_workloads(folder / WORKLOADS)
    by_workload: dict[int, list[Record]] = {}
    for number, record in enumerate(records, start=1):
        if not 0 <= record.workload < len(workloads):
            raise DatasetError(
                f"{folder / RECORDS}: record {number} is of workload {record.workload}, but {WORKLOADS} has "
                f"{len(workloads)}; the files are not of one run"
            )
        by_workload.setdefault(record.workload, []).append(record)
    return [
        _search(workloads[workload], tried, folder / RECORDS)
        for workload, tried in sorted(by_workload.items())
    ]


def _read_workloads(path: Path) -> list[tuple[str, str]]:
    workloads = []
    for number, line in enumerate(read_text(path).rstrip().splitlines(), start=1):
        match parse_json(line, f"{path}: line {number}"):
            case [str(hash_text), str(module)]:
                workloads.append((hash_text, module))
            case _:
                raise DatasetError(f"{path}: line {number}: not a workload: [hash, module]")
    return workloads


def _search(workload: tuple[str, str], records: Sequence[Record], path: Path) -> Search:
    hash_text, module = workload
    sizes, dtypes = _arguments(records[0], path)
    label, shape = label_of(module, hash_text, sizes, dtypes)
    timed = [record for record in records if record.status is TrialStatus.OK]
    best = min(timed, key=lambda record: record.latency, default=None)
    return Search(
        label=label,
        shape=shape,
        flop=_flop(shape),
        latency=best.latency if best else math.nan,
        trial_latency=[record.latency for record in records],
        trial_status=[record.status for record in records],
        winner=json.dumps(best.content) if best else "",
    )


def _arguments(record: Record, path: Path) -> tuple[Sizes, list[str]]:
    sizes, dtypes = [], []
    for argument in record.content[3]:
        match argument:
            case ["TENSOR", str(dtype), list(size)] if all(isinstance(extent, int) for extent in size):
                sizes.append(tuple(size))
                dtypes.append(dtype)
            case _:
                raise DatasetError(f"{path}: argument {_short(argument)} is not a tensor of fixed sizes")
    return tuple(sizes), dtypes


def _flop(shape: Shape | None) -> float:
    return float(shape.flop) if shape else math.nan


def _is_time(value: Any) -> bool:
    # An integer of JSON may be too large for a float; one of a year would be a failure anyhow.
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e300


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
