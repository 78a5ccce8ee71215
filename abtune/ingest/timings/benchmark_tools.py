"""Files of asv, criterion, go test -bench, nvbench and pyperf, which name each benchmark."""

from __future__ import annotations

import itertools
import math
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from abtune.errors import DatasetError, InputError
from abtune.ingest.importers import Imported, Importer, Option, Values
from abtune.ingest.sources import Source, read_once
from abtune.ingest.texts import fields, load_bytes, load_text, naming, parse_json
from abtune.ingest.timings.timing_cells import FileCell, Reading, import_readings
from abtune.ingest.units import to_seconds
from abtune.text import shortened

_CRITERION = re.compile(r'\s*\{\s*"(sampling_mode"\s*:\s*"\w{1,20}"\s*,\s*"iters|iters)"\s*:\s*\[')
_GO_LINE = re.compile(r"^Benchmark\S*[ \t]+\d+[ \t]", re.M)
# What is left of a line if the benchmark printed something before its time.
_GO_BROKEN = re.compile(r"[ \t]*\d+[ \t]+[\d.e+-]+ ns/op")
_GO_FAILED = re.compile(r"--- FAIL: (Benchmark\S*)")
_NVBENCH = re.compile(r'"nvbench"\s*:\s*\{')
_NVBENCH_MEAN, _NVBENCH_SAMPLES = "nv/cold/time/gpu/mean", "nv/json/bin:nv/cold/sample_times"
_NVBENCH_FILE = re.compile(r"(?:.*[/\\])?(?P<folder>[^/\\\0]+-bin)[/\\](?P<file>[0-9]+\.bin)", re.DOTALL)
_PYPERF = re.compile(r'"benchmarks"\s*:\s*\[\s*\{\s*"(metadata|runs)"')


def _asv(text: str, _path: Path) -> Iterator[FileCell]:
    """Yield the benchmarks that have samples: only times have, in seconds."""
    said = "JSON, but not of asv: result_columns and results in version 2"
    columns, results, version = fields(parse_json(text), said, result_columns=list, results=dict, version=int)
    if version != 2:
        raise DatasetError(said)
    for name, values in results.items():
        if not isinstance(values, list) or len(values) > len(columns):
            raise DatasetError(f"{name}: is no list of the result_columns; the file is damaged")
        # asv leaves out what a row lacks at its end, so rows are shorter than the columns.
        row = dict(zip(map(str, columns), values, strict=False))
        if row.get("samples") is not None:
            yield from _asv_benchmark(name, row["samples"], row.get("params"))
        elif row.get("stats_repeat") is not None:
            raise DatasetError(f"{name}: has no samples; write it with asv run --record-samples")


def _asv_benchmark(name: str, samples: Any, axes: Any) -> Iterator[FileCell]:
    """Yield the parameters of a benchmark that were timed; asv names them like a call."""
    lists = (samples, axes, *(axes if isinstance(axes, list) else ()))
    if not all(isinstance(values, list) for values in lists):
        raise DatasetError(f"{name}: its samples or params are no lists; the file is damaged")
    if math.prod(map(len, axes)) != len(samples):
        raise DatasetError(f"{name}: has not one list of samples for each of its params")
    for index, (call, times) in enumerate(zip(itertools.product(*axes), samples, strict=True)):
        label = f"{name}({', '.join(map(str, call))})" if call else name
        if times is None:  # it failed
            continue
        if not isinstance(times, list) or not times:
            raise DatasetError(f"{label}: its samples are no list of times")
        seconds = tuple(to_seconds(time, "s", label) for time in times)
        yield FileCell(where=f"{name}[{index}]", name=label, rounds=(seconds,))


def _criterion(text: str, path: Path) -> Iterator[FileCell]:
    """Yield the one benchmark: a sample is the mean of its iterations, by the wall clock in nanoseconds."""
    said = "JSON, but not of criterion: as many iters as times"
    iterations, times = fields(parse_json(text), said, iters=list, times=list)
    if not len(iterations) == len(times) > 0:
        raise DatasetError(said)
    seconds = []
    for number, (count, time) in enumerate(zip(iterations, times, strict=True)):
        where = f"times[{number}]"
        if isinstance(count, bool) or not isinstance(count, int | float) or not 1 <= count < 2**53:
            raise DatasetError(f"{where}: iters is no number of iterations")
        seconds.append(to_seconds(time, "ns", where) / count)
    beside = path.with_name("benchmark.json")
    named = load_text(beside)
    with naming(beside):
        said = "has no full_id, the name of the benchmark; copy criterion's folder whole"
        (name,) = fields(parse_json(named), said, full_id=str)
    yield FileCell(where="the file", name=name, rounds=(tuple(seconds),))


def _go_bench(text: str, _path: Path) -> Iterator[FileCell]:
    """Yield a cell for each name; the lines of ``-count`` are repeats, because one process made them.

    A benchmark that failed and has no time is a failed run.
    """
    timings: dict[str, list[float]] = {}
    first: dict[str, tuple[int, str]] = {}  # line and package
    failed: set[str] = set()
    package = ""
    for number, line in enumerate(text.split("\n"), start=1):
        where = f"line {number}"
        if line.startswith("pkg: "):
            package = line.removeprefix("pkg: ").strip()
        if _GO_BROKEN.match(line):
            remedy = "join it with its name above, or let the benchmark print nothing"
            raise DatasetError(f"{where}: has a time and no name; {remedy}")
        if match := _GO_FAILED.search(line):
            failed.add(match[1])
            first.setdefault(match[1], (number, package))
            timings.setdefault(match[1], [])
        if not _GO_LINE.match(line):
            continue
        name, _, *measured = line.split()
        by_unit = dict(zip(measured[1::2], measured[::2], strict=False))
        if "ns/op" not in by_unit:
            raise DatasetError(f"{where}: {shortened(name)} has no ns/op; take the line out")
        _, home = first.setdefault(name, (number, package))
        if home != package:
            both = f"{home} and in {package}"
            raise DatasetError(f"{where}: {shortened(name)} is in {both}; give each package a file")
        timings.setdefault(name, []).append(to_seconds(by_unit["ns/op"], "ns", where))
    for name, times in timings.items():
        label = name.removeprefix("Benchmark") or name
        rounds = (tuple(times),) if times else ()
        note = f"some repetitions of {label} failed; its other times are counted" if name in failed else ""
        yield FileCell(where=f"line {first[name][0]}", name=label, rounds=rounds, note=note if times else "")


def _nvbench(text: str, path: Path) -> Iterator[FileCell]:
    """Yield the states that were measured, each with its isolated GPU times, or their mean."""
    said = "JSON, but not of nvbench: meta and benchmarks"
    _, benchmarks = fields(parse_json(text), said, meta=dict, benchmarks=list)
    for number, benchmark in enumerate(benchmarks):
        said = f"benchmarks[{number}]: has no name or no states; it is damaged"
        name, states = fields(benchmark, said, name=str, states=list)
        for index, state in enumerate(states):
            if not isinstance(state, dict) or not state.get("is_skipped"):
                yield _nvbench_state(name, state, f"benchmarks[{number}].states[{index}]", path)


def _nvbench_state(benchmark: str, state: Any, where: str, path: Path) -> FileCell:
    said = f"{where}: has no name or no summaries; the file is damaged"
    name, summaries = fields(state, said, name=str, summaries=list)
    named: dict[str, dict[str, Any]] = {}
    for summary in summaries:
        match summary:
            case {"tag": str(tag), "data": [*data]}:
                pairs = [value for value in data if isinstance(value, dict)]
                named[tag] = {str(value.get("name")): value.get("value") for value in pairs}
    if "value" not in named.get(_NVBENCH_MEAN, {}):
        raise DatasetError(f"{where}: has no {_NVBENCH_MEAN}; abtune reads isolated GPU times only")
    mean = to_seconds(named[_NVBENCH_MEAN]["value"], "s", f"{where}: {_NVBENCH_MEAN}")
    name, note = f"{benchmark} {name}".strip(), ""
    times: tuple[float, ...] = (mean,)
    if "filename" in (samples := named.get(_NVBENCH_SAMPLES, {})):
        # Its folder lies beside the JSON. Older versions write the path as it was given on the command line.
        parts = _NVBENCH_FILE.fullmatch(str(samples["filename"]))
        if parts is None:
            shown = shortened(repr(samples["filename"]))
            raise DatasetError(f"{where}: {shown} is no file of samples beside the JSON")
        place = path.parent / parts["folder"] / parts["file"]
        if place.is_file():
            times = _nvbench_samples(place, mean, where)
        else:
            note = f"the samples in {place.parent.name} are not beside it, so states have their mean alone"
    return FileCell(where=where, name=name, rounds=(times,), note=note)


def _nvbench_samples(place: Path, mean: float, where: str) -> tuple[float, ...]:
    """Return the samples that --jsonbin wrote, in float32; they have the mean that the JSON has."""
    written = load_bytes(place)
    samples = np.frombuffer(written[: len(written) // 4 * 4], dtype="<f4").tolist()
    times = tuple(to_seconds(sample, "s", f"{where}: {place.name}") for sample in samples)
    if len(written) % 4 or not times or not math.isclose(statistics.fmean(times), mean, rel_tol=1e-4):
        raise DatasetError(f"{where}: {place} has other samples than the JSON; copy both from one run")
    return times


def _pyperf(text: str, _path: Path) -> Iterator[FileCell]:
    """Yield a cell for each process of each benchmark; those that only calibrated have no values."""
    document = parse_json(text)
    said = "JSON, but not of pyperf: an object with benchmarks and version"
    benchmarks, _ = fields(document, said, benchmarks=list, version=str)
    for number, benchmark in enumerate(benchmarks):
        where = f"benchmarks[{number}]"
        said = f"{where}: has no name or no runs; the file is damaged"
        (runs,) = fields(benchmark, said, runs=list)
        # What all benchmarks share stands in the metadata of the file.
        shared, own = document.get("metadata", {}), benchmark.get("metadata", {})
        if not (runs and isinstance(shared, dict) and isinstance(own, dict)):
            raise DatasetError(said)
        metadata = {**shared, **own}
        (name,), unit = fields(metadata, said, name=str), metadata.get("unit", "second")
        if unit != "second":
            raise DatasetError(f"{where}: {name} is in {shortened(repr(unit))}, which is no time")
        for index, run in enumerate(runs):
            place = f"{where}.runs[{index}].values"
            values = run.get("values", []) if isinstance(run, dict) else []
            if not isinstance(values, list):
                raise DatasetError(f"{place}: is not a list of times")
            if values:
                seconds = tuple(to_seconds(value, "s", place) for value in values)
                yield FileCell(where=where, name=name, rounds=(seconds,))


def named_importer(
    name: str,
    kind: str,
    read_cells: Callable[[str, Path], Iterable[FileCell]],
    recognises: Callable[[str], bool],
    *,
    summary: str,
    example: str,
    seed: str = "file",
) -> Importer:
    """Return an importer; ``read_cells`` reads the text of one file, and ``seed`` says what a seed is."""

    def read(sources: Sequence[Source], values: Values) -> Imported:
        readings: dict[Source, Reading] = {}
        seeds: Counter[tuple[str, str, str | None]] = Counter()
        for source, text in read_once(sources):
            if source.seed_in_path and seed != "file":
                raise InputError(f"each {seed} in {kind} is a seed; write * in place of {{seed}}")
            with naming(source.path):
                cells = _checked(read_cells(text, source.path))
            for index, cell in enumerate(cells):
                # Criterion has a file for each benchmark, so seeds are counted by its name, too.
                known = (source.config, source.shape, cell.name)
                cells[index] = replace(cell, seed=None if source.seed_in_path else seeds[known])
                seeds[known] += 1
            readings[source] = Reading(cells=tuple(cells))
        return import_readings(readings, shape=values["shape"], seed=seed)

    return Importer(
        name=name,
        kind=kind,
        summary=f"{summary} With --run the name of a benchmark is a shape, and NAME is the\n"
        "    configuration; with --shape the name is a configuration.\n    ",
        recognises=lambda _, text: recognises(text),
        read=read,
        run_is=kind[:1].upper() + kind[1:],
        options=(Option(name="shape", metavar="LABEL", help="What was timed, if names are configurations."),),
        examples=f"\n  abtune import {name} {example} --out t.nc\n",
    )


def _checked(cells: Iterable[FileCell]) -> list[FileCell]:
    """Return the cells of a file that has timings, under names that a dataset can hold and tell apart."""
    checked = list(cells)
    if not checked:
        raise DatasetError("has no timings")
    first: dict[str | None, str] = {}
    for cell in checked:
        if not cell.name or "\0" in cell.name:
            raise DatasetError(f"{cell.where}: has no name that a dataset can hold")
        earlier = first.setdefault(cell.name, cell.where)
        if earlier != cell.where:
            again = f"{cell.where}: {cell.name!r} is already in {earlier}"
            raise DatasetError(f"{again}; give each a name or a file of its own")
    return checked


ASV = named_importer(
    "asv",
    "a result of asv",
    _asv,
    lambda text: text.lstrip().startswith("{") and '"result_columns"' in text,
    summary="""Read results of asv, written with --record-samples.

    Each of the FILES is results/MACHINE/COMMIT-ENVIRONMENT.json and a seed; its samples are repeats.
    Benchmarks that failed or that count something else than time are left out.""",
    example="--run old=results/box/1a2b-env.json --run new=results/box/3c4d-env.json",
)
CRITERION = named_importer(
    "criterion",
    "a sample of criterion",
    _criterion,
    lambda text: _CRITERION.match(text) is not None,
    summary="""Read target/criterion/*/new/sample.json of criterion.

    The file benchmark.json beside each sample has its name. Copy target/criterion after each run: a run is a
    seed, and its samples are repeats.""",
    example="--run old='old-*/*/new/sample.json' --run new='new-*/*/new/sample.json'",
)
GO_BENCH = named_importer(
    "go-bench",
    "an output of go test -bench",
    _go_bench,
    lambda text: _GO_LINE.search(text) is not None and "ns/op" in text,
    summary="""Read what go test -bench printed.

    Each of the FILES is a seed, and the lines of -count are repeats, because one process made them.""",
    example="--run old='old-*.txt' --run new='new-*.txt'",
)
NVBENCH = named_importer(
    "nvbench",
    "a JSON of nvbench",
    _nvbench,
    lambda text: (
        text.lstrip().startswith("{") and '"meta"' in text[:99] and bool(_NVBENCH.search(text[:9_999]))
    ),
    summary="""Read the JSON of nvbench, written with --json or --jsonbin.

    Each of the FILES is a seed. With --jsonbin, the samples of isolated GPU times beside it are repeats;
    else a state has their mean. Skipped states are left out.""",
    example="--run old='old-*.json' --run new='new-*.json'",
)
PYPERF = named_importer(
    "pyperf",
    "a file of pyperf",
    _pyperf,
    lambda text: text.lstrip().startswith("{") and _PYPERF.search(text) is not None,
    summary="""Read the JSON of pyperf, whose processes are seeds.

    pyperf runs a benchmark in several fresh processes. Each of them is a seed, also over several files, and
    its values are repeats.""",
    example="--run old=old.json --run new=new.json",
    seed="process",
)
