"""Timings as the JSON of pytest-benchmark, Google Benchmark and hyperfine.

Which of them wrote a file is told by its structure. What they computed from the timings is left alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from abtune.errors import DatasetError
from abtune.ingest.timing_parts import PER_SECOND, Part, Reading, named, to_seconds

# How releases before 1.5, which have no run_type, call what they computed from the repetitions.
_COMPUTED = re.compile(r"_(mean|median|stddev|cv|BigO|RMS)$")


def read_json(document: Any, path: Path) -> Reading:
    """Read a file of one of the three.

    Raises
    ------
    DatasetError
        If it is of none of them, or has no single timings.
    """
    match document:
        case {"benchmarks": list(entries), "machine_info": _}:
            read, each_a_process = _pytest_benchmark, False
        case {"benchmarks": list(entries), "context": _}:
            read, each_a_process = _google_benchmark, False
        case {"results": list(entries)}:
            read, each_a_process = _hyperfine, True
        case _:
            raise DatasetError(
                f"{path}: JSON, but not that of pytest-benchmark, Google Benchmark or hyperfine; "
                "write the timings as CSV"
            )
    if not all(isinstance(entry, dict) for entry in entries):
        raise DatasetError(f"{path}: an entry of the list of results is no object; the file is damaged")
    parts, notes = read(entries, path)
    if not parts:
        raise DatasetError(f"{path}: has no timings")
    return Reading(parts=tuple(parts), each_a_process=each_a_process, notes=tuple(notes))


_Entries = Sequence[Mapping[str, Any]]
_Found = tuple[list[Part], list[str]]


def _pytest_benchmark(entries: _Entries, path: Path) -> _Found:
    parts = []
    for number, entry in enumerate(entries):
        place = f"benchmarks[{number}]"
        name = _name(entry, "fullname", f"{path}: {place}")
        data = _get(entry, "stats", f"{path}: {place}").get("data")
        if not data:
            raise DatasetError(
                f"{path}: {place}: {name} has no stats.data; write it with --benchmark-json, "
                "or with --benchmark-save-data"
            )
        parts.append(named(name, place, _times(data, "s", f"{path}: {place}.stats.data")))
    return parts, []


def _google_benchmark(entries: _Entries, path: Path) -> _Found:
    """Take ``real_time``; repetitions of one name are repeats, means and the like are left out."""
    timings: dict[str, list[float]] = {}
    places: dict[str, str] = {}
    labels: dict[str, Any] = {}
    notes = []
    computed = _computed(entries)
    for number, entry in enumerate(entries):
        place = f"benchmarks[{number}]"
        if computed[number]:
            continue
        name = _name(entry, "run_name" if "run_name" in entry else "name", f"{path}: {place}")
        if entry.get("error_occurred") or entry.get("skipped"):
            notes.append(f"{path}: {name} was skipped or failed, and is left out")
            continue
        unit = entry.get("time_unit")
        if not isinstance(unit, str) or unit not in PER_SECOND:
            raise DatasetError(f"{path}: {place}: time_unit is {unit!r}, none of {', '.join(PER_SECOND)}")
        if "real_time" not in entry:
            raise DatasetError(f"{path}: {place}: {name} has no real_time; the file is damaged")
        timings.setdefault(name, []).append(
            to_seconds(entry["real_time"], unit, f"{path}: {place}.real_time")
        )
        places.setdefault(name, place)
        label = entry.get("label", "")
        if labels.setdefault(name, label) != label:
            raise DatasetError(
                f"{path}: {place}: {name} has the label {label!r}, but {labels[name]!r} in {places[name]}; "
                "repeats are of one thing: put the label into the name, or take it out of the file"
            )
    if not timings and any(computed):
        raise DatasetError(f"{path}: has aggregates only; run without --benchmark_report_aggregates_only")
    return [named(name, places[name], tuple(times)) for name, times in timings.items()], notes


def _computed(entries: _Entries) -> list[bool]:
    """Tell which entries are means and the like: by run_type, and without it by names that share a stem."""
    names = [str(entry.get("name", "")) for entry in entries]
    stems = Counter(_COMPUTED.sub("", name) for name in names)
    return [
        entry["run_type"] == "aggregate"
        if "run_type" in entry
        else _COMPUTED.search(name) is not None and stems[_COMPUTED.sub("", name)] > 1
        for entry, name in zip(entries, names, strict=True)
    ]


def _hyperfine(entries: _Entries, path: Path) -> _Found:
    parts, notes = [], []
    for number, entry in enumerate(entries):
        place = f"results[{number}]"
        name = _name(entry, "command", f"{path}: {place}")
        if "times" not in entry:
            raise DatasetError(f"{path}: {place}: {name} has no times; write it with hyperfine --export-json")
        codes = entry.get("exit_codes")
        failed = sum(1 for code in codes if code != 0) if isinstance(codes, list) else 0
        if failed:
            runs, times = ("run", "its time is") if failed == 1 else ("runs", "their times are")
            notes.append(f"{path}: {failed} {runs} of {name!r} ended with an error; {times} counted")
        parts.append(named(name, place, _times(entry["times"], "s", f"{path}: {place}.times")))
    return parts, notes


def _times(values: Any, unit: str, place: str) -> tuple[float, ...]:
    if not isinstance(values, list) or not values:
        raise DatasetError(f"{place}: is not a list of times")
    return tuple(to_seconds(value, unit, f"{place}[{number}]") for number, value in enumerate(values))


def _name(entry: Mapping[str, Any], key: str, place: str) -> str:
    name = entry.get(key)
    if not isinstance(name, str) or not name:
        raise DatasetError(f"{place}: has no {key}; the file is damaged")
    return name


def _get(entry: Mapping[str, Any], key: str, place: str) -> Mapping[str, Any]:
    value = entry.get(key)
    if not isinstance(value, dict):
        raise DatasetError(f"{place}: has no {key}; the file is damaged")
    return value
