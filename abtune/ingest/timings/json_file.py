"""Timings as the JSON of pytest-benchmark, Google Benchmark and hyperfine, without computed means."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from abtune.errors import DatasetError
from abtune.ingest.texts import fields
from abtune.ingest.timings.timing_cells import FileCell, Reading
from abtune.ingest.units import PER_SECOND, to_seconds
from abtune.text import count, shortened

# How Google Benchmark before 1.5, which writes no run_type, names what it computed from repetitions.
_COMPUTED = re.compile(r"_(mean|median|stddev|cv|BigO|RMS)$")


def read_json(document: Any) -> Reading:
    """Return the timings in the file of any of the three."""
    match document:
        case {"benchmarks": list(entries), "machine_info": _}:
            read = _pytest_benchmark
        case {"benchmarks": list(entries), "context": _}:
            read = _google_benchmark
        # Results of Kernel Tuner, for one, have no commands.
        case {"results": list(entries)} if all("command" in e for e in entries if isinstance(e, dict)):
            read = _hyperfine
        case _:
            known = "pytest-benchmark, Google Benchmark or hyperfine"
            raise DatasetError(f"JSON, but not of {known}; write the timings as CSV")
    if not all(isinstance(entry, dict) for entry in entries):
        raise DatasetError("an entry of the list of results is no object; the file is damaged")
    if not (reading := read(entries)).cells:
        raise DatasetError("has no timings")
    return reading


_Entries = Sequence[Mapping[str, Any]]


def _pytest_benchmark(entries: _Entries) -> Reading:
    cells = []
    for number, entry in enumerate(entries):
        where = f"benchmarks[{number}]"
        name = _name(entry, "fullname", where)
        (stats,) = fields(entry, f"{where}: has no stats; the file is damaged", stats=dict)
        if not stats.get("data"):
            remedy = "write it with --benchmark-json, or with --benchmark-save-data"
            raise DatasetError(f"{where}: {name} has no stats.data; {remedy}")
        times = _times(stats["data"], f"{where}.stats.data")
        cells.append(FileCell(where=where, name=name, rounds=(times,)))
    return Reading(cells=tuple(cells))


def _hyperfine(entries: _Entries) -> Reading:
    cells = []
    for number, entry in enumerate(entries):
        where = f"results[{number}]"
        name = _name(entry, "command", where)
        if "times" not in entry:
            raise DatasetError(f"{where}: {name} has no times; write it with hyperfine --export-json")
        codes = entry.get("exit_codes")
        failed = sum(1 for code in codes if code != 0) if isinstance(codes, list) else 0
        are = "its time is" if failed == 1 else "their times are"
        note = f"{count(failed, 'run')} of {name!r} ended with an error; {are} counted" if failed else ""
        times = _times(entry["times"], f"{where}.times")
        cells.append(FileCell(where=where, name=name, rounds=(times,), note=note))
    return Reading(cells=tuple(cells), each_a_process=True)


def _google_benchmark(entries: _Entries) -> Reading:
    """Return ``real_time``; repetitions of one name are repeats, means and the like are left out.

    A benchmark whose repetitions all ended with an error is a failed run.
    """
    timings: dict[str, list[float]] = {}
    first: dict[str, tuple[str, Any]] = {}  # place and label
    failed: dict[str, str] = {}
    notes = []
    computed = _computed(entries)
    for number, entry in enumerate(entries):
        if computed[number]:
            continue
        where, label = f"benchmarks[{number}]", entry.get("label", "")
        name = _name(entry, "run_name" if "run_name" in entry else "name", where)
        if entry.get("error_occurred"):
            failed.setdefault(name, where)
            timings.setdefault(name, [])
            continue
        if entry.get("skipped"):
            notes.append(f"{name} was skipped, and is left out")
            continue
        unit = entry.get("time_unit")
        if not isinstance(unit, str) or unit not in PER_SECOND:
            known = ", ".join(PER_SECOND)
            raise DatasetError(f"{where}: time_unit is {shortened(repr(unit))}, none of {known}")
        if "real_time" not in entry:
            raise DatasetError(f"{where}: {name} has no real_time; the file is damaged")
        timings.setdefault(name, []).append(to_seconds(entry["real_time"], unit, f"{where}.real_time"))
        earlier, above = first.setdefault(name, (where, label))
        if above != label:
            remedy = "repeats are of one thing: put the label into the name, or take it out of the file"
            raise DatasetError(
                f"{where}: {name} has the label {label!r}, but {above!r} in {earlier}; {remedy}"
            )
    if not timings and any(computed):
        raise DatasetError("has aggregates only; run without --benchmark_report_aggregates_only")
    lost = "some repetitions of {} failed; its other times are counted"
    notes += [lost.format(name) for name, times in timings.items() if times and name in failed]
    cells = (
        FileCell(where=first[name][0], name=name, rounds=(tuple(times),))
        if times
        else FileCell(where=failed[name], name=name, rounds=())
        for name, times in timings.items()
    )
    return Reading(cells=tuple(cells), notes=tuple(notes))


def _computed(entries: _Entries) -> list[bool]:
    """Return which entries are means and the like, by run_type; without it, by names that share a stem."""
    names = [str(entry.get("name", "")) for entry in entries]
    stems = Counter(_COMPUTED.sub("", name) for name in names)
    return [
        entry["run_type"] == "aggregate"
        if "run_type" in entry
        else _COMPUTED.search(name) is not None and stems[_COMPUTED.sub("", name)] > 1
        for entry, name in zip(entries, names, strict=True)
    ]


def _times(values: Any, where: str) -> tuple[float, ...]:
    if not isinstance(values, list) or not values:
        raise DatasetError(f"{where}: is not a list of times")
    return tuple(to_seconds(value, "s", f"{where}[{number}]") for number, value in enumerate(values))


def _name(entry: Mapping[str, Any], key: str, where: str) -> str:
    name = entry.get(key)
    if not isinstance(name, str) or not name:
        raise DatasetError(f"{where}: has no {key}; the file is damaged")
    if "\0" in name:  # netCDF ends a text there
        raise DatasetError(f"{where}: {key} holds a zero byte; rename it")
    return name
