"""The tuning records of a MetaSchedule database: one line per trial, in the order of the search."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from abtune.dataset.schema import TrialStatus
from abtune.errors import DatasetError
from abtune.ingest.texts import parse_json, read_text
from abtune.ingest.units import shortened

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
        Every failure is ``RUN_FAILED``, because the file does not say why.
    latency : float
        Mean of its times, by which MetaSchedule itself ranks, seconds; NaN if it failed.
    content : list
        Trace, times, target, arguments.
    """

    workload: int
    status: TrialStatus
    latency: float
    content: list[Any]


def read_records(path: Path) -> tuple[list[Record], str]:
    """Return the records of a file, and its text.

    Raises
    ------
    DatasetError
        With file and line, at the first line that is no record or comes twice.
    """
    text = read_text(path)
    records: list[Record] = []
    timed: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            where = f"{path}: line {number}"
            records.append(_read_record(parse_json(line, where), where))
            if records[-1].status is TrialStatus.OK and timed.setdefault(line, number) != number:
                raise DatasetError(
                    f"{where}: is the same as line {timed[line]}; the file holds one search twice"
                )
    return records, text


def _read_record(value: Any, where: str) -> Record:
    match value:
        case [int(workload), [list(), seconds, dict(), list()] as content]:
            pass
        case _:
            raise DatasetError(f"{where}: not a tuning record: [workload, [trace, times, target, arguments]]")
    if seconds is None:
        return Record(workload=workload, status=TrialStatus.NOT_RUN, latency=math.nan, content=content)
    if not isinstance(seconds, list) or not seconds or not all(map(_is_time, seconds)):
        raise DatasetError(
            f"{where}: times are {shortened(json.dumps(seconds))}; they must be positive seconds"
        )
    latency = math.fsum(map(float, seconds)) / len(seconds)
    if latency >= _FAILED:
        return Record(workload=workload, status=TrialStatus.RUN_FAILED, latency=math.nan, content=content)
    return Record(workload=workload, status=TrialStatus.OK, latency=latency, content=content)


def _is_time(value: Any) -> bool:
    # An integer of JSON may be too large for a float.
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e300
