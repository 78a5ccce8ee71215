"""Dumps of repeated timings: CSV, JSON of benchmark runners, and what TVM prints of a ``time_evaluator``.

Timings within one process are repeats, so **a file is a seed**, unless a column says otherwise. Hyperfine
starts a process for every timing, and a table may hold such timings. There each is a seed if users say so.
"""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from abtune.errors import DatasetError, InputError, naming, unknown_name
from abtune.ingest.importers import Imported, Importer, Option, Values
from abtune.ingest.sources import Source, read_once
from abtune.ingest.table_columns import FIELDS
from abtune.ingest.texts import parse_json, well_formed
from abtune.ingest.timings.conditions import said_in
from abtune.ingest.timings.file_cells import (
    CONFIGS,
    PAIR,
    SEED_IS,
    FileCell,
    FileContent,
    named_cells,
    read_configs,
    repeated,
)
from abtune.ingest.timings.timing_cells import import_readings
from abtune.ingest.timings.timing_table import has_times, read_table
from abtune.ingest.units import PER_SECOND, UNITS, all_seconds, to_seconds
from abtune.text import count, shortened

# How the JSON of hyperfine begins.
_HYPERFINE = re.compile(r'\s*\{\s*"results"\s*:\s*\[\s*\{\s*"command"')
# What both sides should have alike, by the context that Google Benchmark writes.
_GOOGLE_SETTINGS = ("host_name", "num_cpus", "library_build_type", "cpu_scaling_enabled")
# What a comparison may be about, by the machine_info of pytest-benchmark.
_PYTEST_OTHERS = ("python_version", "python_implementation", "release")
# How Google Benchmark before 1.5, which writes no run_type, names what it computed from repetitions.
_COMPUTED = re.compile(r"_(mean|median|stddev|cv|BigO|RMS)$")


def _read(sources: Sequence[Source], values: Values) -> Imported:
    columns, seed_is = read_columns(values["columns"]), values["seed-is"]
    each_a_seed = seed_is == "timing"
    each_line = "seed" if each_a_seed else PAIR if seed_is == PAIR and len(sources) == 1 else "repeat"
    readings = {}
    for source, text in read_once(sources):
        with naming(source.path):
            readings[source] = _read_file(text, columns, values["unit"], each_line)
    # Where all processes ended with one error, hyperfine was told to ignore it.
    codes = {code for reading in readings.values() for cell in reading.cells for code in cell.exit_codes}
    counted = len(codes) == 1 and None not in codes
    for source, reading in readings.items():
        cells = (_without_failed(cell, counted=counted, each_a_seed=each_a_seed) for cell in reading.cells)
        readings[source] = replace(reading, cells=tuple(cells))
    in_column = any(cell.seed is not None for cell in readings[sources[0]].cells)
    in_its_column = f"number in the column {columns.get('seed', 'seed')}" if in_column else ""
    seed = "timing" if each_a_seed else in_its_column
    configs = read_configs(values.get("configs", ""))
    return import_readings(readings, shape=values["shape"], configs=configs, seed_is=seed_is, seed=seed)


def _read_file(text: str, columns: Mapping[str, str], unit: str, counted: str) -> FileContent:
    reading = _read_json(text) if _is_of_runner(text) else read_printed(text) if has_results(text) else None
    if reading is None:
        return read_table(text, columns, unit, counted)
    if unit or columns:
        raise InputError("--unit and --columns are for tables; this format has its own")
    if counted == "seed" and not reading.each_a_process:
        remedy = "run the process several times, and give a file for each"
        raise InputError(f"its timings are repeats within one process, not seeds; {remedy}")
    return reading


def _read_json(text: str) -> FileContent | None:
    """Return the timings in the file of any of the three; None if it is of none."""
    document = parse_json(text)
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
            return None
    with well_formed("an entry of the list of results is damaged"):
        settings = said_in(document.get("context"), _GOOGLE_SETTINGS)
        others = said_in(document.get("machine_info"), _PYTEST_OTHERS)
        named = tuple(
            replace(cell, settings={**settings, **cell.settings}, others=others)
            for cell in named_cells(cells, text)
        )
    return FileContent(cells=named, notes=tuple(notes), each_a_process="results" in document)


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
        times = all_seconds(entry["times"], "s", f"{where}.times")
        codes = tuple(entry.get("exit_codes") or [0] * len(times))  # older versions have none
        if len(codes) != len(times):
            raise DatasetError(f"{where}: {name} has {len(times)} times and {len(codes)} exit_codes")
        if strange := [code for code in codes if not isinstance(code, int | None)]:
            raise DatasetError(f"{where}: {name} has the exit code {shortened(repr(strange[0]))}")
        yield FileCell(where=where, name=name, rounds=(times,), exit_codes=codes)


def _without_failed(cell: FileCell, *, counted: bool, each_a_seed: bool) -> FileCell:
    """Return a cell without the times of processes that failed, unless they are counted; NaN for seeds."""
    failed = sum(code != 0 for code in cell.exit_codes)
    if not failed:
        return cell
    runs = f"{count(failed, 'run')} of {cell.name!r} ended with an error"
    if counted:
        are = "its time is" if failed == 1 else "their times are"
        return replace(cell, note=f"{runs}; {are} counted")
    if failed == len(cell.exit_codes):
        return replace(cell, rounds=())
    then = ", which counts" if each_a_seed else "; its other times are counted"
    known = zip(cell.rounds[0], cell.exit_codes, strict=True)
    times = tuple(time if code == 0 else math.nan for time, code in known if code == 0 or each_a_seed)
    return replace(cell, rounds=(times,), note=f"{runs}{then}")


def _google_benchmark(entries: _Entries, notes: list[str]) -> Iterator[FileCell]:
    """Yield ``real_time``; repetitions of one name are repeats, means and the like are left out."""
    timings: dict[str, list[float]] = {}
    first: dict[str, str] = {}
    labels: dict[str, tuple[str, Any]] = {}  # each behind its place
    skipped: Counter[str] = Counter()
    computed = _computed(entries)
    for number, entry in enumerate(entries):
        if computed[number]:
            continue
        where, label = f"benchmarks[{number}]", entry.get("label", "")
        name = entry["run_name"] if "run_name" in entry else entry["name"]
        if entry.get("skipped"):
            skipped[name] += 1
            continue
        first.setdefault(name, where)
        times = timings.setdefault(name, [])
        if entry.get("error_occurred"):
            times.append(math.nan)  # if all of a benchmark are, its run has failed
            continue
        if (unit := entry.get("time_unit")) not in [*PER_SECOND]:
            known = ", ".join(PER_SECOND)
            raise DatasetError(f"{where}: time_unit is {shortened(repr(unit))}, none of {known}")
        times.append(to_seconds(entry["real_time"], unit, f"{where}.real_time"))
        earlier, above = labels.setdefault(name, (where, label))
        if above != label:
            remedy = "repeats are of one thing: put the label into the name, or take it out of the file"
            raise DatasetError(
                f"{where}: {name} has the label {label!r}, but {above!r} in {earlier}; {remedy}"
            )
    if not timings and any(computed):
        raise DatasetError("has aggregates only; run without --benchmark_report_aggregates_only")
    for name, number in skipped.items():
        some = f"{count(number, 'repetition')} of {name} {'was' if number == 1 else 'were'} skipped"
        notes.append(some if name in timings else f"{name} was skipped, and is left out")
    for name, times in timings.items():
        yield repeated(first[name], name, times)


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


def _is_of_runner(text: str) -> bool:
    runner = '"benchmarks"' in text and ('"machine_info"' in text or '"context"' in text)
    is_other = '"layout"' in text[:99]  # of mitata
    return text.lstrip()[:1] == "{" and ((runner and not is_other) or _HYPERFINE.match(text) is not None)


# What says which column of a table holds what.
OPTIONS = (
    Option(name="shape", metavar="LABEL", help="What was timed, if the files do not say."),
    Option(name="unit", choices=UNITS, help="Unit of the times or throughputs in a table."),
    Option(
        name="columns",
        metavar="FIELD=NAME,...",
        help=f"Columns by other names: config=build says that the column build has the configuration. "
        f"FIELD is one of {', '.join(FIELDS)}. shape=A+B joins columns.",
        repeated=True,
    ),
)
TIMINGS = Importer(
    name="timings",
    kind="a dump of timings",
    summary="""Read timings: CSV, JSON of benchmarks, prints of TVM.

    Each of the FILES is a seed, and the timings in it are repeats. CSV has a line for each timing, with
    columns shape, config, perhaps seed and round, and time_s, time_ms, time_us or time_ns. Or each
    configuration has a column, such as old_ms, and each shape several lines or files. JSON comes from
    pytest-benchmark, Google Benchmark or hyperfine. Text has ProfileResult(...) or BenchmarkResult(...), each
    below a title. Files of benchmark runners name each benchmark. With --run old=FILE a
    name is a shape, and old the configuration. With --shape a name is a configuration. With --configs it
    has both.
    """,
    recognises=lambda _, text: _is_of_runner(text) or has_results(text) or has_times(text),
    read=_read,
    run_is="A file of timings",
    options=(
        *OPTIONS,
        CONFIGS,
        replace(
            SEED_IS,
            choices=("file", "timing", PAIR),
            help="What counts as a seed: a file; a timing, only if each comes from its own process (tables, "
            "hyperfine); or a pair, which is a file, or a line of one table, with both configurations.",
        ),
    ),
    examples="""
  abtune import timings times.csv --out t.nc                       by shape, config, seed, time_us
  abtune import timings --run old='old-*.json' --run new='new-*.json' --out t.nc   files: seeds
  abtune import timings runs.csv --columns config=build --shape saxpy --seed-is timing --out t.nc
  abtune import timings results.txt --shape faster-rcnn --out t.nc   with named configurations
  abtune import timings --pattern '{config}/{shape}-{seed}.csv' --unit us --out t.nc
""",
)


def read_columns(text: str) -> dict[str, str]:
    """Return the columns that entries FIELD=NAME, separated by commas, name; a NAME may have commas, too."""
    columns: dict[str, str] = {}
    for entry in re.split(r",(?=\s*\w+\s*=)", text) if text else []:
        field, _, name = (word.strip() for word in entry.partition("="))
        if not name:
            raise InputError(f"--columns {entry!r} is not FIELD=NAME, such as time=elapsed_ms")
        if field not in FIELDS:
            raise unknown_name("field", field, FIELDS)
        if columns.setdefault(field, name) != name:
            raise InputError(f"--columns has {field} twice, {columns[field]} and {name}; keep one of them")
    return columns


_RESULT = re.compile(r"\b(?:Profile|Benchmark)Result\(")
_INSIDE = re.compile(
    r"(?P<printed>[^()\[\]]*)results=(?:\((?P<tuple>[^()\[\]]*)\)|\[(?P<list>[^()\[\]]*)\])\s*\)"
)
_SUMMARY = "Execution time summary:"
# What is printed beside the timings, and how it follows from them.
_STATISTICS: Mapping[str, Callable[[tuple[float, ...]], float]] = {
    "mean": statistics.fmean,
    "median": statistics.median,
    "min": min,
    "max": max,
}


def has_results(text: str) -> bool:
    """Return whether a text holds a printed result."""
    return ("Result(" in text and _RESULT.search(text) is not None) or _SUMMARY in text


def read_printed(text: str) -> FileContent:
    """Return all results of a text, each under the last line of text above it.

    People paste what ``ProfileResult`` of old versions or ``BenchmarkResult`` of new ones prints under a line
    that says what was timed. Lines may have been wrapped, so the printed mean, median and extremes have to
    follow from the timings. Results under one title are rounds.
    """
    if _SUMMARY in text:
        number = 1 + text.count("\n", 0, text.index(_SUMMARY))
        raise DatasetError(f"line {number}: a summary has no single timings; print repr(result), not str")
    rounds: dict[str, list[tuple[float, ...]]] = {}
    first: dict[str, int] = {}
    notes: list[str] = []
    title, number, end = "", 1, 0  # ``end`` lies in line ``number``
    for start in _RESULT.finditer(text):
        above = _lines(text[end : start.start()], number)
        number += text.count("\n", end, start.start())
        where = f"line {number}"
        notes += map(_left_out, above[:-1])
        own = above[-1][1].rstrip(":= [") if above else ""
        if own in rounds:
            raise DatasetError(f"{where}: {own!r} was in line {first[own]} already; give each its own title")
        title = own or title
        if not title:
            raise DatasetError(f"{where}: nothing above the result says what was timed; add a title")
        timings, end = _read_result(text, start.end(), where)
        first.setdefault(title, number)
        rounds.setdefault(title, []).append(timings)
        number += text.count("\n", start.start(), end)
    notes += map(_left_out, _lines(text[end:], number))
    notes += [
        f"{len(timings)} results under {name!r} are rounds of one seed"
        for name, timings in rounds.items()
        if len(timings) > 1
    ]
    cells = (
        FileCell(where=f"line {first[name]}", name=name, rounds=tuple(timings))
        for name, timings in rounds.items()
    )
    return FileContent(cells=tuple(cells), notes=tuple(notes))


def _lines(text: str, first: int) -> list[tuple[int, str]]:
    """Return the lines with words, each with its number; the first line has the number ``first``."""
    lines = enumerate(map(str.strip, text.split("\n")), start=first)
    return [(number, line) for number, line in lines if any(map(str.isalnum, line))]


def _left_out(line: tuple[int, str]) -> str:
    return f"line {line[0]} left out: {line[1][:60]!r}"


def _read_result(text: str, start: int, where: str) -> tuple[tuple[float, ...], int]:
    match = _INSIDE.match(text, start)
    if match is None:
        raise DatasetError(f"{where}: the result is cut short; it ends with '))'")
    timings = tuple(
        to_seconds("".join(number.split()), "s", f"{where}: results")  # a line may break within a number
        for number in (match["tuple"] or match["list"] or "").split(",")
        if number.strip()
    )
    if not timings:
        raise DatasetError(f"{where}: the result has no timings")
    _check_statistics(match["printed"], timings, where)
    return timings, match.end()


def _check_statistics(printed: str, timings: tuple[float, ...], where: str) -> None:
    """Check what is printed beside timings: mean, median and extremes follow from them."""
    for entry in printed.split(","):
        name, _, value = ("".join(text.split()) for text in entry.partition("="))
        if name not in _STATISTICS:
            continue
        stated = to_seconds(value, "s", f"{where}: {name}")
        computed = _STATISTICS[name](timings)
        if not math.isclose(stated, computed, rel_tol=1e-9):
            differ = f"printed as {shortened(value)}, but the {len(timings)} timings give {computed:.9g}"
            raise DatasetError(f"{where}: the {name} is {differ}; the text was changed or cut")
