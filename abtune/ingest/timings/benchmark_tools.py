"""Files of BenchmarkDotNet, cargo bench, JMH, pyperf and others, which name each benchmark."""

from __future__ import annotations

import itertools
import math
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from abtune.errors import DatasetError, InputError, naming
from abtune.ingest.importers import Imported, Importer, Option, Values
from abtune.ingest.sources import Source, read_once
from abtune.ingest.texts import is_json_of, load_bytes, parse_json, read_text, well_formed
from abtune.ingest.timings.conditions import said_in
from abtune.ingest.timings.file_cells import (
    CONFIGS,
    SEED_IS,
    FileCell,
    FileContent,
    named_cells,
    read_configs,
    repeated,
)
from abtune.ingest.timings.timing_cells import import_readings
from abtune.ingest.units import PER_SECOND, all_seconds, to_seconds, unit_named
from abtune.text import shortened

_SHAPE = Option(name="shape", metavar="LABEL", help="What was timed, if names are configurations.")
_NAMES = """Files name each benchmark. With --run old=FILE a name is a shape, and
    old the configuration. With --shape a name is a configuration. With --configs it has both.
    """
_CRITERION = re.compile(r'\A\s*\{\s*"(sampling_mode"\s*:\s*"\w{1,20}"\s*,\s*"iters|iters)"\s*:\s*\[')
_GO_LINE = re.compile(r"^Benchmark\S*[ \t]+\d+[ \t]", re.M)
_GO_TIME = re.compile(_GO_LINE.pattern + ".* ns/op", re.M)
# A time that does not follow its name, because the benchmark printed something.
_GO_BROKEN = re.compile(r"(?!Benchmark\S*[ \t]+\d+[ \t])(.*[ \t])?\d+[ \t]+[\d.e+-]+ ns/op")
# A benchmark without a time: what ended its process may stand behind it.
_GO_BEGUN = re.compile(r"(Benchmark\S*)[ \t](?![ \t]*(\d+[ \t]|---))")
# What Go's format of benchmarks calls a configuration line; go test itself writes how much a test covers.
_GO_KEY = re.compile(r"(?!coverage:)([a-z][^\sA-Z:]*):[ \t]*(.*)")
_GO_FAILED = re.compile(r"--- FAIL: (Benchmark\S*)")
_NO_NAME = "has a time that does not follow its name; put each benchmark on its own line, or take it out"
_CARGO_LINE = re.compile(r"^test (\S.*?) +\.\.\. bench: +(\S+) (\S+)/iter", re.M)
_CARGO_TIME = re.compile(r"bench: +\S+ \S+/iter")
_CARGO_FAILED = re.compile(r"test (\S.*?) +\.\.\. FAILED")
# What changes the meaning of a score: with more threads, a throughput is of all of them.
_JMH_SETTINGS = ("threads", "mode", "measurementBatchSize")
# What a comparison may be about.
_JMH_OTHERS = ("jdkVersion", "vmName", "jvmArgs")
_DOT_NET_SETTINGS, _DOT_NET_OTHERS = ("Configuration", "HasAttachedDebugger"), ("RuntimeVersion", "OsVersion")
# Of a job without a name BenchmarkDotNet makes one up, such as Job-QWERTY(Runtime=.NET 8.0).
_DOT_NET_JOB = re.compile(r": (?:Job-[A-Z]+\((?P<settings>.*?)\)|(?P<name>[^(\[]*[^(\[ ]))")
_PYPERF_SETTINGS, _PYPERF_OTHERS = ("hostname",), ("python_version", "python_implementation")
_JMH_LONG = {"min": 60, "hr": 3_600, "day": 86_400}
_NVBENCH_MEAN, _NVBENCH_SAMPLES = "nv/cold/time/gpu/mean", "nv/json/bin:nv/cold/sample_times"
# Yields the cells of a file by its text, or the JSON in it, and its path.
_ReadCells: TypeAlias = Callable[[Any, Path], Iterator[FileCell]]
_NVBENCH_FILE = re.compile(r"(?:.*[/\\])?(?P<folder>[^/\\\0]+-bin)[/\\](?P<file>[0-9]+\.bin)", re.DOTALL)


def named_importer(
    name: str,
    kind: str,
    known_by: Sequence[str] | re.Pattern[str],
    *,
    files: str = "*.json",
    seed: str = "file",
    has_pairs: bool = False,
) -> Callable[[_ReadCells], Importer]:
    """Make an importer of a function that reads the text of one file; its docstring is the help.

    It takes the JSON of ``files`` called so. They are known by a pattern, or by values of these names.
    ``seed`` says what a seed is, ``has_pairs`` whether a file may have both configurations.
    """
    known = known_by.search if isinstance(known_by, re.Pattern) else partial(is_json_of, names=known_by)

    def importer(read_cells: _ReadCells) -> Importer:
        return Importer(
            name=name,
            kind=kind,
            summary=f"{(read_cells.__doc__ or '').rstrip()} {_NAMES}",
            recognises=lambda _, text: bool(known(text)),
            read=partial(_read, read_cells, kind, seed, files),
            run_is=kind[:1].upper() + kind[1:],
            options=(_SHAPE, CONFIGS, *[SEED_IS] * has_pairs),
            examples=f"\n  abtune import {name} --run old='old-{files}' --run new='new-{files}' --out t.nc\n",
        )

    return importer


def _read(
    read_cells: _ReadCells, kind: str, seed: str, files: str, sources: Sequence[Source], values: Values
) -> Imported:
    readings: dict[Source, FileContent] = {}
    seeds: Counter[tuple[str, str, str | None]] = Counter()
    for source, text in read_once(sources):
        if source.seed_in_path and seed != "file":
            raise InputError(f"each {seed} in {kind} is a seed; write * in place of {{seed}}")
        with naming(source.path), well_formed(f"is damaged, or is not {kind}"):
            document = parse_json(text) if files.endswith(".json") else text
            cells = list(named_cells(read_cells(document, source.path), text))
        for index, cell in enumerate(cells):
            # Criterion has a file for each benchmark, so seeds are counted by its name, too.
            key = (source.config, source.shape, cell.name)
            cells[index] = replace(cell, seed=None if source.seed_in_path else seeds[key])
            seeds[key] += 1
        readings[source] = FileContent(cells=tuple(cells))
    configs, seed_is = read_configs(values.get("configs", "")), values.get("seed-is", "file")
    return import_readings(readings, shape=values["shape"], configs=configs, seed_is=seed_is, seed=seed)


@named_importer("asv", "a result of asv", ["result_columns"], has_pairs=True)
def asv(document: Any, _path: Path) -> Iterator[FileCell]:
    """Read results of asv, written with --record-samples.

    Each of the FILES is results/MACHINE/COMMIT-ENVIRONMENT.json and a seed; its samples are repeats.
    Benchmarks that failed or that count something else than time are left out.
    """
    match document:
        case {"result_columns": list(columns), "results": dict(results), "version": 2}:
            pass
        case _:
            raise DatasetError("JSON, but no results of asv in version 2; asv update converts older ones")
    for name, values in results.items():
        with well_formed(f"{name}: its samples do not fit its params; the file is damaged"):
            # asv leaves out what a row lacks at its end, so rows are shorter than the columns.
            row = dict(zip(columns, values, strict=False))
            if row.get("samples") is None and row.get("stats_repeat") is not None:
                raise DatasetError(f"{name}: has no samples; write it with asv run --record-samples")
            calls = [*itertools.product(*row["params"])]  # asv names parameters like a call
            both = (row.get(column) or [None] * len(calls) for column in ("result", "samples"))
            for index, (call, result, times) in enumerate(zip(calls, *both, strict=True)):
                label = f"{name}({', '.join(map(str, call))})" if call else name
                if times is not None or result is None:  # else it is no time, or NaN, which asv skipped
                    rounds = () if times is None else (all_seconds(times, "s", label),)
                    yield FileCell(where=f"{name}[{index}]", name=label, rounds=rounds)


@named_importer("criterion", "a sample of criterion", _CRITERION, files="*/*/new/sample.json")
def criterion(document: Any, path: Path) -> Iterator[FileCell]:
    """Read target/criterion/*/new/sample.json of criterion.

    The file benchmark.json beside each sample has its name. Copy target/criterion after each run: a run is a
    seed, and its samples are repeats.
    """
    counts, times = document["iters"], all_seconds(document["times"], "ns", "times")
    if min(counts) < 1:
        raise DatasetError(f"iters: {min(counts)} is no number of iterations")
    seconds = tuple(time / count for time, count in zip(times, counts, strict=True))
    beside = path.with_name("benchmark.json")
    named = read_text(beside)
    said = "has no full_id, the name of the benchmark; copy criterion's folder whole"
    with naming(beside), well_formed(said):
        name = parse_json(named)["full_id"]
    note = "does not say its unit; times are nanoseconds unless the benchmark measures something else"
    yield FileCell(where="the file", name=name, rounds=(seconds,), note=note)


@named_importer("go-bench", "an output of go test -bench", _GO_TIME, files="*.txt", has_pairs=True)
def go_bench(text: str, _path: Path) -> Iterator[FileCell]:
    """Read what go test -bench printed.

    Each of the FILES is a seed, and the lines of -count are repeats, because one process made them.
    """
    timings: dict[tuple[str, str], list[float]] = {}  # by name and package
    first: dict[tuple[str, str], tuple[int, Mapping[str, str]]] = {}  # line and what stands above it
    above: dict[str, str] = {}
    runs: Counter[str] = Counter()
    # A benchmark that failed or ended its process, and has no time, is a failed run.
    begun: re.Match[str] | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        where = f"line {number}"
        if match := _GO_KEY.fullmatch(line):
            above[match[1]] = match[2]
            runs[line] += match[1] == "pkg"
        if _GO_BROKEN.match(line) or line.count(" ns/op") > 1:
            raise DatasetError(f"{where}: {_NO_NAME}")
        begun = _GO_BEGUN.match(line) or (None if line.startswith("Benchmark") else begun)
        if match := _GO_FAILED.search(line) or (begun if line.startswith("FAIL\t") else None):
            key = match[1], above.get("pkg", "")
            first.setdefault(key, (number, {**above}))
            timings.setdefault(key, []).append(math.nan)
        if not _GO_LINE.match(line):
            continue
        name, _, *measured = line.split()
        by_unit = dict(zip(measured[1::2], measured[::2], strict=False))
        if "ns/op" not in by_unit:
            raise DatasetError(f"{where}: {shortened(name)} has no ns/op; take the line out")
        key = name, above.get("pkg", "")
        earlier, before = first.setdefault(key, (number, {**above}))
        with naming(where):
            _check_go_keys(name, above, before, earlier)
        timings.setdefault(key, []).append(to_seconds(by_unit["ns/op"], "ns", where))
    packages = Counter(name for name, _ in timings)
    again = max(runs.values(), default=0)
    note = f"has {again} runs of go test, whose timings are repeats; a run is a seed if each has its own file"
    for (name, package), times in timings.items():
        label = name.removeprefix("Benchmark") or name
        if packages[name] > 1:
            label = f"{package} {label}"
        where = f"line {first[name, package][0]}"
        cell = repeated(where, label, times)
        yield replace(cell, note=note) if again > 1 and not cell.note else cell


def _check_go_keys(name: str, above: Mapping[str, str], before: Mapping[str, str], earlier: int) -> None:
    """Refuse a benchmark under other configuration lines than those ``before``, above line ``earlier``."""
    if differ := sorted(dict(before.items() ^ above.items())):
        here, there = (shortened(f"{differ[0]}: {lines.get(differ[0], '')}") for lines in (above, before))
        both = f"{here!r}, and in line {earlier} {there!r}"
        remedy = f"give each a file, or take such lines out: grep -v '^{differ[0]}:'"
        raise DatasetError(f"above {shortened(name)} stands {both}; {remedy}")


@named_importer("cargo-bench", "an output of cargo bench", _CARGO_LINE, files="*.txt", has_pairs=True)
def cargo_bench(text: str, _path: Path) -> Iterator[FileCell]:
    """Read what cargo bench printed, also for criterion.

    Each of the FILES is a seed, with one time of each benchmark. criterion prints the same with
    --output-format bencher.
    """
    for number, line in enumerate(text.split("\n"), start=1):
        where = f"line {number}"
        if match := _CARGO_FAILED.match(line):
            yield FileCell(where=where, name=match[1], rounds=())
        elif match := _CARGO_LINE.match(line):
            name, time, unit = match[1], match[2].replace(",", ""), unit_named(match[3])
            if unit not in PER_SECOND:
                raise DatasetError(
                    f"{where}: {name} is in {match[3]}/iter, which is no time; take the line out"
                )
            yield FileCell(where=where, name=name, rounds=((to_seconds(time, unit, where),),))
        elif _CARGO_TIME.search(line):
            raise DatasetError(f"{where}: {_NO_NAME}")


@named_importer("jmh", "a JSON of JMH", ["primaryMetric"], seed="fork")
def jmh(document: Any, _path: Path) -> Iterator[FileCell]:
    """Read the JSON of JMH (-rf json), whose forks are seeds.

    Each fork is a fresh process, so it is a seed, also over several files. Its iterations are repeats. A
    throughput becomes the time of an operation.
    """
    for number, entry in enumerate(document):
        where, metric = f"[{number}]", entry["primaryMetric"]
        params = ", ".join(f"{param}={value}" for param, value in entry.get("params", {}).items())
        name, unit = entry["benchmark"] + f"({params})" * bool(params), metric["scoreUnit"]
        is_rate, unit = unit.startswith("ops/"), unit.removeprefix("ops/").removesuffix("/op")
        unit, seconds = ("s", _JMH_LONG[unit]) if unit in _JMH_LONG else (unit, 1)
        if unit not in PER_SECOND:
            raise DatasetError(f"{where}: {name} is in {metric['scoreUnit']}; run JMH with -tu ns")
        if "rawData" not in metric:  # with -bm sample, JMH counts equal times
            raise DatasetError(f"{where}: {name} has a histogram, no single times; run JMH with -bm avgt")
        note = "throughputs are read as the time of an operation" if is_rate else ""
        settings = said_in(entry, _JMH_SETTINGS)
        others = said_in(entry, _JMH_OTHERS)
        cell = FileCell(where=where, name=name, rounds=(), note=note, settings=settings, others=others)
        for fork in metric["rawData"]:
            times = [seconds / score if is_rate and score else seconds * score for score in fork]
            yield replace(cell, rounds=(all_seconds(times, unit, where),))


@named_importer("benchmark-dotnet", "a JSON of BenchmarkDotNet", ["HostEnvironmentInfo"], seed="launch")
def benchmark_dotnet(document: Any, _path: Path) -> Iterator[FileCell]:
    """Read the JSON of BenchmarkDotNet (JsonExporter.Full).

    Each launch is a fresh process, so it is a seed, also over several files. Its results are repeats, in
    nanoseconds of an operation, as BenchmarkDotNet itself takes them.
    """
    host = document.get("HostEnvironmentInfo")
    settings, others = said_in(host, _DOT_NET_SETTINGS), said_in(host, _DOT_NET_OTHERS)
    jobs = Counter(entry.get("FullName") for entry in document["Benchmarks"])
    for number, entry in enumerate(document["Benchmarks"]):
        where, launches = f"Benchmarks[{number}]", dict[int, list[float]]()
        if "Measurements" not in entry:
            raise DatasetError(f"{where}: has no Measurements; export it with JsonExporter.Full")
        name = entry["FullName"]
        if jobs[name] > 1 and (job := _DOT_NET_JOB.search(entry.get("DisplayInfo", ""))):
            name += f" {job['name'] or job['settings']}"
        failed = FileCell(where=where, name=name, rounds=(), settings=settings, others=others)
        for measured in entry["Measurements"]:
            if "Result" in {measured["IterationMode"], measured.get("IterationStage")}:
                time = measured["Nanoseconds"] / measured["Operations"]
                launches.setdefault(measured["LaunchIndex"], []).append(time)
        for times in launches.values():
            yield replace(failed, rounds=(all_seconds(times, "ns", where),))
        if not launches and entry.get("Statistics"):
            raise DatasetError(f"{where}: its Measurements have no results; the file was cut")
        if not launches:
            yield failed


@named_importer("nvbench", "a JSON of nvbench", ["meta", "nvbench"], has_pairs=True)
def nvbench(document: Any, path: Path) -> Iterator[FileCell]:
    """Read the JSON of nvbench (--json or --jsonbin).

    Each of the FILES is a seed. With --jsonbin, the samples of isolated GPU times beside it are repeats;
    else a state has their mean. Skipped states are left out.
    """
    for number, benchmark in enumerate(document["benchmarks"]):
        for index, state in enumerate(benchmark["states"]):
            where = f"benchmarks[{number}].states[{index}]"
            is_skipped, why = state.get("is_skipped"), str(state.get("skip_reason"))
            if is_skipped and not why.startswith("Unexpected error"):  # else it threw
                continue
            name = f"{benchmark['name']} {state['name']}".strip()
            failed = FileCell(where=where, name=name, rounds=())
            yield failed if is_skipped else _nvbench_state(name, state, where, path)


def _nvbench_state(name: str, state: Mapping[str, Any], where: str, path: Path) -> FileCell:
    named = {
        summary["tag"]: {value["name"]: value["value"] for value in summary["data"]}
        for summary in state["summaries"]
        if "data" in summary
    }
    if "value" not in named.get(_NVBENCH_MEAN, {}):
        raise DatasetError(f"{where}: has no {_NVBENCH_MEAN}; abtune reads isolated GPU times only")
    mean = to_seconds(named[_NVBENCH_MEAN]["value"], "s", f"{where}: {_NVBENCH_MEAN}")
    alone = FileCell(where=where, name=name, rounds=((mean,),))
    written = named.get(_NVBENCH_SAMPLES, {}).get("filename")
    if written is None:
        return alone
    # Its folder lies beside the JSON. Older versions write the path as it was given on the command line.
    parts = _NVBENCH_FILE.fullmatch(str(written))
    if parts is None:
        raise DatasetError(f"{where}: {shortened(repr(written))} is no file of samples beside the JSON")
    sample_file = path.parent / parts["folder"] / parts["file"]
    if sample_file.is_file():
        return replace(alone, rounds=(_nvbench_samples(sample_file, mean, where),))
    note = f"the samples in {parts['folder']} are not beside it, so states have their mean alone"
    return replace(alone, note=note)


def _nvbench_samples(sample_file: Path, mean: float, where: str) -> tuple[float, ...]:
    """Return the samples that --jsonbin wrote, in float32; they have the mean that the JSON has."""
    written = load_bytes(sample_file)
    samples = np.frombuffer(written[: len(written) // 4 * 4], dtype="<f4").tolist()
    if len(written) % 4 or not samples or not math.isclose(statistics.fmean(samples), mean, rel_tol=1e-4):
        raise DatasetError(f"{where}: {sample_file} has other samples than the JSON; copy both from one run")
    return all_seconds(samples, "s", f"{where}: {sample_file.name}")


@named_importer("pyperf", "a file of pyperf", ["benchmarks", "metadata", "runs"], seed="process")
def pyperf(document: Any, _path: Path) -> Iterator[FileCell]:
    """Read the JSON of pyperf, whose processes are seeds.

    pyperf runs a benchmark in several fresh processes. Each of them is a seed, also over several files, and
    its values are repeats.
    """
    for number, benchmark in enumerate(document["benchmarks"]):
        where = f"benchmarks[{number}]"
        # What all benchmarks share stands in the metadata of the file.
        metadata = {**document.get("metadata", {}), **benchmark.get("metadata", {})}
        name, unit = metadata["name"], metadata.get("unit", "second")
        settings, others = said_in(metadata, _PYPERF_SETTINGS), said_in(metadata, _PYPERF_OTHERS)
        if unit != "second":
            raise DatasetError(f"{where}: {name} is in {shortened(repr(unit))}, which is no time")
        for index, run in enumerate(benchmark["runs"]):
            if values := run.get("values"):
                seconds = all_seconds(values, "s", f"{where}.runs[{index}].values")
                yield FileCell(where=where, name=name, rounds=(seconds,), settings=settings, others=others)
