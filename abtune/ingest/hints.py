"""What to do with a file that no importer recognises, by how it begins and by its heading."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from abtune.errors import DatasetError
from abtune.ingest.table_columns import (
    FIELDS,
    NAMES_FIRST,
    ONLY_QUOTIENTS,
    SHAPES,
    check_names,
    have_units,
    known_heading,
    lacks_names,
    listed_columns,
    measured,
    sizes,
)
from abtune.ingest.tables import delimiter_of, first_line, has_records, table_rows
from abtune.ingest.texts import read_text
from abtune.ingest.units import PER_SECOND, UNITS, has_unit, plainly, split_unit
from abtune.text import import_command, listed, shell_path, shortened

# What to do with results that no importer reads.
AS_CSV = "write its timings as CSV with columns shape, config, seed and time_ms"
_SUMS_UP = f"it has statistics and no single timings; {AS_CSV}"
# What files hold that cannot be used, without blanks, and what to do; ^ stands for the beginning.
_TELLING = {
    '^{"Time":': "if go test -bench wrote it, run that without -json",
    "^command,mean,": "it has no single timings; write them: hyperfine --export-json FILE",
    '^{"device_name":': "if it is a cache of Kernel Tuner: abtune import trials --run NAME=FILE --unit ms "
    "--shape LABEL --out t.nc",
    "^name,min,max,mean,": "it has no single timings; write them: pytest --benchmark-json FILE",
    "^group,function,value,": "give the files of criterion beside it: */new/sample.json",
    '^{"group_id":': "give the file sample.json of criterion beside it",
    '"Benchmark","Mode","Threads"': "write JSON: -rf json -rff FILE",
    '^{"mean":{"confidence_interval"': "give the file sample.json of criterion beside it",
    "^:::MLLOG": _SUMS_UP,
    "WeightedLatency(us)|": "each line of its tables of tasks begins with something else, such as a date; "
    "cut that off: sed 's/^[^ ]* //' FILE",
    **dict.fromkeys(
        ("BenchmarkTimeCPUIterations", "name,iterations,real_time,"),
        "write JSON: --benchmark_out=FILE --benchmark_out_format=json",
    ),
    **dict.fromkeys(
        ("oldtime/op", "sec/opvsbase", ",sec/op,CI", "\u2502sec/op\u2502"),
        "it has no single timings; give the outputs of go test -bench that benchstat compared",
    ),
    "|Command|Mean[": "it has no single timings; write them: hyperfine --export-json FILE",
    "TaskDescription|Latency(ms)|": "give the file of records that Ansor wrote: RecordToFile",
    "time:[": "give the files that criterion wrote: target/criterion/*/new/sample.json",
    "benchmarknamesamplesiterations": "it has means and no single timings; run Catch2 several times, and "
    "write the means as CSV with columns shape, config, seed and time_ms",
    "utils.common.Measurement": "it has medians and no single timings; write the times of each Measurement "
    "of PyTorch as CSV with columns shape, config, seed and time_s",
    "ModeCntScore": "write JSON: -rf json -rff FILE",  # with columns of parameters before it
    **dict.fromkeys(
        ("BenchmarkDotNet=v", "BenchmarkDotNetv", "AnalyzeLaunchVariance"),
        "give the JSON of BenchmarkDotNet that JsonExporter.Full writes",
    ),
    **dict.fromkeys(("|GPUTime|", ",GPUTime(sec),"), "write JSON: --json FILE"),
    '"commit_hash":': "if it is a result of an older asv: asv update",
    "Outputtemplate:perf,": "write a table, with times in ms: "
    "grep -E '^(perf|Output)' FILE | sed 's/^Output template: //; 1s/%//g' > NAME.csv",
    "ServingBenchmarkResult": "write JSON: --save-result of vLLM, or --output-file of SGLang",
    "|t/s|": "write JSON: llama-bench -o json; its times are in samples_ns",
    "|op/s|err%|": "write templates::csv(), rename its column unit; then --columns "
    "shape=name,time=elapsed --unit s",
    "FunctionMBytes/sec": "write CSV: --csv; then --columns shape=function,time=min_runtime --unit s",
    "JobIDJobName": "write seconds and commas: sacct -P --delimiter=, --format=JobName,ElapsedRaw",
    "opentuner.search": "write the trials in its opentuner.db as CSV; abtune import trials reads that",
    **dict.fromkeys(("user0m", ")pagefaults"), "time commands by hyperfine --export-json FILE COMMAND"),
    "Current/Best:": "give the file of records that AutoTVM wrote: log_to_file",
    **dict.fromkeys(("MLPerfResultsSummary", "Performancecounterstatsfor"), _SUMS_UP),
}
_MARKDOWN_RULE = re.compile(r"^[ \t]*\|?[ \t]*:?-+:?[ \t]*\|", re.M)
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]*)?(e[+-]?[0-9]+)?", re.IGNORECASE)
# Words of columns that sum up timings.
_STATISTIC = re.compile(r"(.*[\W_])?(mean|median|average|avg|std|stddev)([\W_].*)?", re.IGNORECASE)
# Names of columns that hold times.
_CLOCK = re.compile(
    r"(?!.*(compil|overhead|verif|stamp|start|date|std|stdev|err|mean|median|average|avg|percent))"
    r"((.*[\W_])?(wall|run|elapsed|total)?(times?|latency|latencies|duration|elapsed|elapsedraw|runtime|cost)([\W_].*)?|"
    r"(samples_)?[mun]?s)",
    re.IGNORECASE,
)
# A column that numbers runs or repeats and says nothing about what was timed.
_NUMBERS_RUNS = re.compile("runs?|reps?|repetitions?|trials?|iterations?|iter|sample|attempt", re.IGNORECASE)


def hint_of(path: Path, is_known: Callable[[Path], bool]) -> str:
    """Return what to do with a file or folder that no importer recognises; empty if unknown."""
    if path.is_dir():
        return _hint_of_folder(path, is_known)
    try:
        text = read_text(path)
    except DatasetError as error:  # an empty file, and one that is no text
        return f"it {str(error).removeprefix(f'{path}: ')}"
    beginning = text[: 2**20]
    compact = f"^{''.join(beginning.split())}"
    if remedy := next((_TELLING[marker] for marker in _TELLING if marker in compact), ""):
        return remedy
    return _hint_of_csv(path, text, []) if has_records(text) else _hint_of_table(path, beginning)


def _hint_of_folder(folder: Path, is_known: Callable[[Path], bool]) -> str:
    """Return which files to give in place of a folder; empty if it holds none that are known."""
    for below in ("*", "*/*", "*/new/sample.json", "*/*/new/sample.json"):  # the last two are of criterion
        files = itertools.islice(sorted(folder.glob(below)), 20)  # a folder may have thousands
        readable = (file for file in files if (file.is_file() or file.is_dir()) and os.access(file, os.R_OK))
        if any(map(is_known, readable)):
            return f"give what is in it: {import_command(folder, run=True, below=f'/{below}')}"
    return ""


def _hint_of_table(path: Path, text: str) -> str:
    """Return what to do with a file that may be a table."""
    heading = first_line(text).strip()
    words = heading.split()
    lines = [line.split() for line in text.split("\n", 4)[:4] if line.strip()]
    is_even = len({*map(len, lines)}) == 1 < len(lines)
    # A log has colons.
    if len(words) > 2 and (is_even or words[0].casefold() in SHAPES) and not set(heading) & set(",;\t|:"):
        commas = f"sed 's/^ *//; s/  */,/g' {shell_path(path)} > {shell_path(f'{path.stem}-commas.csv')}"
        return f"if blanks separate its columns: {commas}"
    if heading.startswith("|") or _MARKDOWN_RULE.search(text):
        return _hint_of_markdown(text)
    columns = [cell.strip(' "') for cell in heading.split(delimiter_of(heading))]
    is_prose = heading.startswith("[") or any(len(cell.split()) > 6 for cell in columns)
    if len(columns) < 2 or is_prose or all(map(_NUMBER.fullmatch, columns)):
        return _hint_of_lower_table(path, text)
    return _hint_of_csv(path, text, columns)


def _is_clock(name: str) -> bool:
    return len(name) < 100 and _CLOCK.fullmatch(name.strip()) is not None


def _hint_of_lower_table(path: Path, text: str) -> str:
    """Return how to cut off what stands above the heading of a table; empty if there is none."""
    for number, (above, below) in enumerate(itertools.pairwise(text.split("\n", 999)[:999]), start=1):
        names, values = (line.split(delimiter_of(above)) for line in (above, below))
        is_table = len(names) == len(values) > 2 and any(map(_is_clock, names))
        if is_table and any(_NUMBER.fullmatch(cell.strip()) for cell in values):
            return f"its table begins in line {number}: tail -n +{number} {shell_path(path)} > NAME.csv"
    return ""


def _hint_of_markdown(text: str) -> str:
    """Return what to do with the first table that has times or throughputs, or how one looks."""
    for number, (above, below) in enumerate(itertools.pairwise(text.split("\n")), start=1):
        cells = [cell.strip(" *`") for cell in above.strip(" |").split("|")]
        if _MARKDOWN_RULE.match(below) and (hint := _about_others(cells, "Shape")):
            return f"line {number}: {hint}"
    return "a table of results has headings such as | Shape | old (ms) | new (ms) |, and numbers below"


def _about_others(columns: Sequence[str], shape: str) -> str:
    """Return which columns have to go beside those with units; empty if none has to.

    Markdown also needs a first column called ``shape``.
    """
    named = [name for name in columns[1:] if name.casefold() not in FIELDS]
    timed = [name for name in named if have_units([name], tuple(PER_SECOND))]
    configs = timed if len(timed) > 1 else [name for name in named if have_units([name], UNITS)]
    others = [
        name or "the column without a name"
        for index, name in measured(columns).items()
        if index and name in named and name not in configs
    ]
    remedies = []
    labels = shlex.quote("shape=" + "+".join([columns[0], *others]))
    joins = shape == "shape" and 0 < len(others) < 4
    if others:
        them = "it" if len(others) == 1 else "them"
        where = f"labels: --columns {labels}" if joins else "first column"
        remedies.append(f"take out {listed(map(shortened, others))}, or write {them} into the {where}")
    if columns[0].casefold() not in SHAPES and not joins and (others or shape == "Shape"):
        remedies.append(f"call the first column {shape}, not {shortened(columns[0])}")
    if len(configs) < 2 or not remedies:
        return ""
    return f"if {listed(map(shortened, configs))} are configurations, {'; '.join(remedies)}"


def _hint_of_csv(path: Path, text: str, columns: Sequence[str]) -> str:
    """Return what to do with CSV with a heading of these columns; empty if its next line has others."""
    row: list[str] = []
    try:
        with contextlib.suppress(ValueError):  # no line below the heading
            (_, columns), (_, row) = itertools.islice(table_rows(text), 2)
        if len(row or columns) != len(columns) or (has_records(text) and not any(map(_is_clock, columns))):
            return ""
        return NAMES_FIRST if lacks_names(columns) else _hint_of_columns(path, columns, row)
    except DatasetError as error:
        return str(error)


def _hint_of_columns(path: Path, columns: Sequence[str], row: Sequence[str]) -> str:
    """Return what to do with a table of these columns, whose first line is ``row``."""
    numbered = Counter(re.sub(r"\d+", "", name) for name in columns if re.search(r"\d", name))
    if "config" in map(str.casefold, columns) and max(numbered.values(), default=0) > 1:
        return "a line holds one timing; put columns of several seeds below each other, with a column seed"
    clocks = list(filter(_is_clock, columns))
    is_summary = not clocks and any(map(_STATISTIC.fullmatch, columns))
    with_unit = list(filter(has_unit, row[1:]))
    if is_summary or with_unit:
        return _SUMS_UP if is_summary else f"{with_unit[0]!r} is not a number; {plainly(with_unit[0])}"
    times = tuple(PER_SECOND)
    named = [name for name in columns[1:] if name.casefold() not in FIELDS]
    timed = [name for name in named if have_units([name], times)]
    is_lone = len(measured(columns)) < len(columns) and not clocks
    if hint := _about_others(columns, "shape") or (ONLY_QUOTIENTS if is_lone else ""):
        return hint
    is_wide = len(columns) > 2 and not clocks and "config" not in map(str.casefold, columns)
    if is_wide and (have_units(columns[1:], times) or (all(map(_NUMBER.fullmatch, row[1:])) and not timed)):
        return _hint_of_wide(path, columns, timed=bool(timed))
    return _hint_of_long(path, columns, clocks)


def _hint_of_long(path: Path, columns: Sequence[str], clocks: Sequence[str]) -> str:
    """Return what to do with a table that may have a line for each timing; ``clocks`` may hold times."""
    if not any(known_heading(name) for name in columns if name.casefold() not in {*FIELDS, *SHAPES}):
        return f"it has no column of times; {AS_CSV}"
    if len(columns) < 3 and not clocks:
        return "columns of times need names such as shape,config,time_ms or shape,old (ms),new (ms)"
    others = [name for name in columns if name not in clocks and split_unit(name)[1] in PER_SECOND]
    time = [*clocks, *others][0] if len(clocks) + len(others) == 1 else "NAME"
    unit = "" if (heading := known_heading(time, UNITS)) and heading.unit else " --unit ms"
    units = "ms may be s, us, ns, gflops or gb/s, and " if unit else ""
    columns_and_unit = f"--columns shape=NAME,config=NAME,{shlex.quote(f'time={time}')}{unit}"
    command = import_command(path, importer="timings", options=columns_and_unit)
    return (
        f"if it has a line for each timing: {command}, where {units}each NAME is one of "
        f"{listed_columns(columns)}; if one numbers separate runs, add seed=NAME; if others are sizes, "
        "shape=NAME+NAME; if a line is a trial of a search: abtune import trials"
    )


def _hint_of_wide(path: Path, columns: Sequence[str], *, timed: bool) -> str:
    """Return what to do with a table whose columns may be configurations, with units if it is ``timed``."""
    extents = sizes(columns)
    stubs = [columns[0], *(name for name in columns[1:] if name in extents)]
    rest = [name for name in columns if name not in stubs]
    check_names(name for name in rest if name.casefold() not in FIELDS)
    if _NUMBERS_RUNS.fullmatch(columns[0]):
        repeat, seed = (
            import_command(path, importer="timings", options=f"--shape LABEL --columns {what}={columns[0]}")
            for what in ("repeat", "seed")
        )
        return f"if {columns[0]} numbers the repeats of one process: {repeat}; if processes: {seed}"
    is_named = stubs == [columns[0]] and columns[0].casefold() in SHAPES
    shape = "" if is_named else f"--columns {shlex.quote('shape=' + '+'.join(stubs))}"
    unit = "" if timed else " --unit ms"
    what = "" if timed else f" and {listed_columns(rest)} are configurations"
    command = import_command(path, importer="timings", options=f"{shape}{unit}".strip())
    units = "" if timed else ", where ms may be another unit, such as us, tflops or gb/s"
    says = "its first column says" if stubs == [columns[0]] else f"{listed(stubs)} say"
    return f"if {says} what was timed{what}: {command}{units}"
