"""Timings as the JSON of pytest-benchmark, Google Benchmark and hyperfine, without computed means."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from abtune.errors import DatasetError
from abtune.ingest.texts import well_formed
from abtune.ingest.timings.timing_cells import FileCell, Reading, named_cells
from abtune.ingest.units import PER_SECOND, all_seconds, to_seconds
from abtune.text import count, shortened

# How Google Benchmark before 1.5, which writes no run_type, names what it computed from repetitions.
_COMPUTED = re.compile(r"_(mean|median|stddev|cv|BigO|RMS)$")


def read_json(document: Any) -> Reading:
    """Return the timings in the file of any of the three."""
    notes: list[str] = []
    match document:
        case {"benchmarks": list(entries), "machine_info": _}:
            cells = _pytest_benchmark(entries)
        case {"benchmarks": list(entries), "context": _}:
            cells = _google_benchmark(entries, notes)
        # Results of Kernel Tuner, for one, have no commands.
        case {"results": list(entries)} if all("command" in e for e in entries if isinstance(e, dict)):
            cells = _hyperfine(entries)
        case _:
            known = "pytest-benchmark, Google Benchmark or hyperfine"
            raise DatasetError(f"JSON, but not of {known}; write the timings as CSV")
    with well_formed("an entry of the list of results is damaged"):
        named = tuple(named_cells(cells))
    return Reading(cells=named, notes=tuple(notes), each_a_process="results" in document)


_Entries = Sequence[Mapping[str, Any]]


def _pytest_benchmark(entries: _Entries) -> Iterator[FileCell]:
    for number, entry in enumerate(entries):
        where, name = f"benchmarks[{number}]", entry["fullname"]
        if not entry["stats"].get("data"):
            remedy = "write it with --benchmark-json, or with --benchmark-save-data"
            raise DatasetError(f"{where}: {name} has no stats.data; {remedy}")
        times = all_seconds(entry["stats"]["data"], "s", f"{where}.stats.data")
        yield FileCell(where=where, name=name, rounds=(times,))


def _hyperfine(entries: _Entries) -> Iterator[FileCell]:
    for number, entry in enumerate(entries):
        where, name = f"results[{number}]", entry["command"]
        if "times" not in entry:
            raise DatasetError(f"{where}: {name} has no times; write it with hyperfine --export-json")
        failed = sum(code != 0 for code in entry.get("exit_codes") or ())
        are = "its time is" if failed == 1 else "their times are"
        note = f"{count(failed, 'run')} of {name!r} ended with an error; {are} counted" if failed else ""
        times = all_seconds(entry["times"], "s", f"{where}.times")
        yield FileCell(where=where, name=name, rounds=(times,), note=note)


def _google_benchmark(entries: _Entries, notes: list[str]) -> Iterator[FileCell]:
    """Yield ``real_time``; repetitions of one name are repeats, means and the like are left out.

    A benchmark whose repetitions all ended with an error is a failed run.
    """
    timings: dict[str, list[float]] = {}
    first: dict[str, str] = {}
    labels: dict[str, tuple[Any, str]] = {}  # each with its place
    failed: set[str] = set()
    computed = _computed(entries)
    for number, entry in enumerate(entries):
        if computed[number]:
            continue
        where, label = f"benchmarks[{number}]", entry.get("label", "")
        name = entry["run_name"] if "run_name" in entry else entry["name"]
        if entry.get("skipped"):
            notes.append(f"{name} was skipped, and is left out")
            continue
        first.setdefault(name, where)
        times = timings.setdefault(name, [])
        if entry.get("error_occurred"):
            failed.add(name)
            continue
        unit, known = entry.get("time_unit"), list(PER_SECOND)
        if unit not in known:
            raise DatasetError(f"{where}: time_unit is {shortened(repr(unit))}, none of {', '.join(known)}")
        times.append(to_seconds(entry["real_time"], unit, f"{where}.real_time"))
        above, earlier = labels.setdefault(name, (label, where))
        if above != label:
            remedy = "repeats are of one thing: put the label into the name, or take it out of the file"
            raise DatasetError(
                f"{where}: {name} has the label {label!r}, but {above!r} in {earlier}; {remedy}"
            )
    if not timings and any(computed):
        raise DatasetError("has aggregates only; run without --benchmark_report_aggregates_only")
    for name, times in timings.items():
        note = f"some repetitions of {name} failed; its other times are counted" if name in failed else ""
        yield FileCell(
            where=first[name], name=name, rounds=(tuple(times),) if times else (), note=note if times else ""
        )


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
