"""Dumps of repeated timings: CSV, JSON of benchmark runners, and what TVM prints of a ``time_evaluator``.

Timings within one process are repeats, so **a file is a seed**, unless a column says otherwise. Only
hyperfine starts a process for every timing; there a timing can be a seed, if the user says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from abtune.errors import InputError, unknown_name
from abtune.ingest.importers import Imported, Importer, Option, Values
from abtune.ingest.sources import Source, read_once
from abtune.ingest.tables import FIELDS
from abtune.ingest.texts import naming, parse_json
from abtune.ingest.timings.csv_file import has_times, read_csv
from abtune.ingest.timings.json_file import read_json
from abtune.ingest.timings.printed import has_results, read_printed
from abtune.ingest.timings.timing_cells import Reading, import_readings
from abtune.ingest.units import PER_SECOND

# How the JSON of hyperfine begins.
_HYPERFINE = re.compile(r'\s*\{\s*"results"\s*:\s*\[\s*\{\s*"command"')


def _read(sources: Sequence[Source], values: Values) -> Imported:
    columns, each_a_seed = _columns(values["columns"]), values["seed-is"] == "timing"
    readings = {}
    for source, text in read_once(sources):
        with naming(source.path):
            readings[source] = _read_file(text, columns, values["unit"], each_a_seed=each_a_seed)
    in_column = any(cell.seed is not None for cell in readings[sources[0]].cells)
    seed = "timing" if each_a_seed else "number in the column seed" if in_column else ""
    return import_readings(readings, shape=values["shape"], each_a_seed=each_a_seed, seed=seed)


def _read_file(text: str, columns: Mapping[str, str], unit: str, *, each_a_seed: bool) -> Reading:
    if text.lstrip()[0] in "{[":
        reading = read_json(parse_json(text))
    elif has_results(text):
        reading = read_printed(text)
    else:
        reading = read_csv(text, columns, unit)
        if each_a_seed:
            raise InputError("for a table, give a column seed in place of --seed-is")
        return reading
    if unit or columns:
        raise InputError("--unit and --columns are for tables; this format has its own")
    if each_a_seed and not reading.each_a_process:
        remedy = "run the process several times, and give a file for each"
        raise InputError(f"its timings are repeats within one process, not seeds; {remedy}")
    return reading


def _recognises(_: Path, text: str) -> bool:
    if text.lstrip()[:1] in {"{", "["}:
        runner = '"benchmarks"' in text and ('"machine_info"' in text or '"context"' in text)
        return runner or _HYPERFINE.match(text) is not None
    return has_results(text) or has_times(text)


TIMINGS = Importer(
    name="timings",
    kind="a dump of timings",
    summary="""Read repeated timings: CSV, JSON of benchmark runners, results that TVM printed.

    Each of the FILES is a seed, and the timings in it are repeats. CSV has a line for each timing, with
    columns shape, config, perhaps seed and round, and time_s, time_ms, time_us or time_ns. Or each
    configuration has a column, such as old_ms, and a shape several lines or files. JSON comes from
    pytest-benchmark, Google Benchmark or hyperfine. Text has ProfileResult(...) or BenchmarkResult(...), each
    below a title. Some files give one name to each timing. With --run the name is a shape, and NAME is the
    configuration; with --shape the name is a configuration.
    """,
    recognises=_recognises,
    read=_read,
    run_is="A file of timings",
    options=(
        Option(name="shape", metavar="LABEL", help="What was timed, if the files do not say."),
        Option(name="unit", choices=tuple(PER_SECOND), help="Unit of the times in a table."),
        Option(
            name="columns",
            metavar="FIELD=NAME,...",
            help=f"Names of the columns of a table: {', '.join(FIELDS)}.",
            repeated=True,
        ),
        Option(
            name="seed-is",
            choices=("file", "timing"),
            default="file",
            help="What counts as a seed; a timing only where each was a process (hyperfine).",
        ),
    ),
    examples="""
  abtune import timings times.csv --out t.nc                       columns shape, config, seed, time_us
  abtune import timings --run old='old-*.json' --run new='new-*.json' --out t.nc   a file is a process
  abtune import timings results.txt --shape faster-rcnn --out t.nc names in it are configurations
  abtune import timings --pattern '{config}/{shape}-{seed}.csv' --unit us --out t.nc
""",
)


def _columns(text: str) -> dict[str, str]:
    """Return the columns that entries FIELD=NAME, separated by commas, name."""
    columns: dict[str, str] = {}
    for entry in text.split(",") if text else []:
        field, sign, name = (word.strip() for word in entry.partition("="))
        if not (sign and name):
            raise InputError(f"--columns {entry!r} is not FIELD=NAME, such as time=elapsed_ms")
        if field not in FIELDS:
            raise unknown_name("field", field, FIELDS)
        if columns.setdefault(field, name) != name:
            raise InputError(f"--columns has {field} twice, {columns[field]} and {name}; keep one of them")
    return columns
