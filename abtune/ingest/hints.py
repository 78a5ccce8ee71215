"""What to do with a file that no importer recognises, by how it begins and by its heading."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from abtune.errors import DatasetError
from abtune.ingest.table_columns import (
    AS_CONFIGURATIONS,
    FIELDS,
    NAMES_FIRST,
    ONLY_QUOTIENTS,
    OUTCOME,
    RUNS,
    SHAPES,
    UNIT,
    have_units,
    is_prose,
    known_heading,
    lacks_names,
    listed_columns,
    measured,
    parts_of_runs,
    sizes,
)
from abtune.ingest.tables import delimiter_of, first_line, has_records, table_rows
from abtune.ingest.texts import read_text
from abtune.ingest.units import (
    MISSING,
    PER_SECOND,
    UNITS,
    has_unit,
    is_statistic,
    plainly,
    split_unit,
    unit_named,
    words_of,
)
from abtune.text import import_command, listed, shell_path, shortened

# What to do with results that no importer reads.
AS_CSV = "write its timings as CSV with columns shape, config, seed and time_ms"
_RECORDS = "write records: df.to_json('t.json', orient='records')"
_MELT = (
    "write a line for each timing, as pandas does: "
    "df.melt(ignore_index=False, value_name='time_ms').reset_index().to_csv('t.csv', index=False)"
)
# What to do with files that cannot be used, and what they hold without blanks; ^ stands for the beginning.
_REMEDIES = {
    "it has no single timings; write them: hyperfine --export-json FILE": "^command,mean, |Command|Mean[",
    "it has no single timings; write them: pytest --benchmark-json FILE": "^name,min,max,mean, Name(timein",
    "it is of one process, or has a mean; let each process be a seed: python -m pyperf timeit -o "
    "FILE": "rawtimes: loops,bestof loop,bestof perloop(mean±",
    "it has no single timings of runs; write them: hyperfine --export-json FILE COMMAND": (
        'Performancecounterstatsfor ,msec,task-clock ;msec;task-clock "counter-value": ^real0m'
    ),
    "it has no single timings; give the outputs of go test -bench that benchstat compared": (
        "oldtime/op sec/opvsbase ,sec/op,CI │sec/op│"
    ),
    f"it has means or medians and no single timings; {AS_CSV}": (
        "benchmarknamesamplesiterations <BenchmarkResults utils.common.Measurement SelfCPU% "
        'window.BENCHMARK_DATA= ops/sec± "rme":'
    ),
    'write the times of each trial, in Julia: foreach(println, ["time_ns"; trial.times]); then '
    "give --run and --shape": 'BenchmarkTools.Trial: "BenchmarkTools":',
    "if it is a cache of Kernel Tuner: abtune import trials --run NAME=FILE --unit ms --shape "
    "LABEL --out t.nc": '^{"device_name":',
    "give the files sample.json of criterion: target/criterion/*/new/sample.json": (
        '^group,function,value, ^{"group_id": ^{"mean":{"confidence_interval" time:['
    ),
    "write a line for each kernel: nsys stats --report cuda_gpu_trace --format csv; then "
    "--columns 'shape=Name,time=Duration (ns)'": 'Time(%),TotalTime(ns), "Time(%)","TotalTime(ns)",',
    "write a line for each kernel: nvprof --csv --print-gpu-trace": 'GPUactivities: "GPUactivities",',
    "write JSON: -rf json -rff FILE": '"Benchmark","Mode","Threads" ModeCntScore',
    "write its times alone: ncu --csv --metrics gpu__time_duration.sum; then --columns "
    "'shape=Kernel Name,time=Metric Value,unit=Metric Unit'": '"MetricName","MetricUnit","MetricValue"',
    "write JSON: --benchmark_out=FILE --benchmark_out_format=json; or of CSV: --columns "
    "shape=name,time=real_time": "BenchmarkTimeCPUIterations name,iterations,real_time,",
    "write JSON: --json FILE": "|GPUTime| ,GPUTime(sec),",
    "write JSON: --save-result of vLLM, or --output-file of SGLang": "ServingBenchmarkResult",
    "write JSON: llama-bench -o json; its times are in samples_ns": "|t/s| avg_ts,stddev_ts",
    "write its single times: trtexec --exportTimes=FILE": "===Performancesummary===",
    f"its times are nanoseconds, in stats.samples of each run; {AS_CSV.replace('_ms', '_ns')}": '^{"layout":',
    "put a heading above the lines of its runs: (echo "
    "perf,engine,impl,name,shape,gops,ctime,best_ms,flops,mean_ms,mean_flops; grep ^perf, FILE) >"
    " NAME.csv; then --columns time=mean_ms": "Outputtemplate:perf,",
    f"it has the events of a run; {AS_CSV}": '^:::MLL ^"pid": MLPerfResultsSummary',
    "give the JSON of BenchmarkDotNet that JsonExporter.Full writes": (
        "BenchmarkDotNet=v BenchmarkDotNetv AnalyzeLaunchVariance Measurement_IterationMode"
    ),
    "if go test -bench wrote it, run that without -json": '^{"Time":',
    "if it is a result of an older asv: asv update": '"commit_hash":',
    "it has no samples of asv; give its results alone: "
    "results/MACHINE/COMMIT-*.json": '^{"arch": "min_run_count": ^beforeafterratio |Change|Before[',
    "give the file of records that Ansor wrote: RecordToFile": (
        "|Latency(ms)|Speed(GFLOPS)| TaskDescription|Latency(ms)| ^ElapsedTime(s)"
    ),
    "give the file of records that AutoTVM wrote: log_to_file": "Current/Best:",
    "each line of its tables of tasks begins with something else, such as a date; cut that off: "
    "sed 's/^[^ ]* //' FILE": "WeightedLatency(us)|",
    "write templates::csv(), rename its column unit; then --columns shape=name,time=elapsed "
    "--unit s": '|op/s|err%| "elapsed";"error%";',
    'rename its field unit, which is of no time: sed \'s/"unit":/"what":/\' FILE > NAME.json; then '
    "--columns 'shape=name,time=median(elapsed)' --unit s": '"median(elapsed)":',
    "write the table as CSV: pandas.read_html(FILE)[0].to_csv('t.csv', index=False)": "<table <TABLE",
    "write the table in markdown, such as | Shape | old (ms) | new (ms) |": "\\begin{tabular",
    _RECORDS: '^{"columns":[ ^{"index":[',
    "it has objects as Python prints them; write each by json.dumps": "^{' ^[{'",
    "write its trials as CSV with columns shape and time_ms; then abtune import trials --run "
    "NAME=FILE": '"configs_timings": ProcessAUTOTUNEbenchmarking DisplayPlugin:tests=',
    "write CSV: --csv; then --columns shape=function,time=min_runtime --unit s": "FunctionMBytes/sec",
}
_MARKDOWN_RULE = re.compile(r"^[ \t]*\|?[ \t]*:?-+:?[ \t]*\|", re.M)
# The first column of a table whose lines are configurations.
_CONFIGS = re.compile("config(uration)?|variant|version|build|compiler|branch|commit", re.IGNORECASE)
# Above and below a table of reStructuredText: ===== =====.
_RULES = re.compile(r"\s*=+( +=+)+ *\n")
_LIST_OF_NUMBERS = re.compile(r'"\s*:\s*\[\s*[0-9]')
_ONE_RECORD = 'write a record for each list: {"shape": "gemm", "config": "old", "time_ms": [1.2, 1.3]}'
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]*)?(e[+-]?[0-9]+)?", re.IGNORECASE)
# Names of columns that hold times.
_CLOCK = re.compile(
    r"(?!.*(ops|compil|overhead|verif|stamp|start|date|err|percent|unit))"
    r"((.*[\W_])?(wall|run|elapsed|total)?(times?|timings?|latency|latencies|duration|elapsed|elapsedraw|runtime|cost)([\W_].*)?|"
    r"(samples_)?[mun]?s|real)",
    re.IGNORECASE,
)
# What may be a time beside a column of units; an x_value is a size.
_VALUE = re.compile(r"(?!x[\W_])(.*[\W_])?value", re.IGNORECASE)


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
    for remedy, markers in _REMEDIES.items():
        if any(marker in compact for marker in markers.split()):
            return remedy
    if not has_records(text):
        return _hint_of_table(path, beginning)
    return _hint_of_csv(path, text, []) or (_ONE_RECORD if _LIST_OF_NUMBERS.search(text) else "")


def _hint_of_folder(folder: Path, is_known: Callable[[Path], bool]) -> str:
    """Return which files to give in place of a folder; empty if it holds none that are known."""
    for below in ("*", "*/*", "*/new/sample.json", "*/*/new/sample.json"):  # the last two are of criterion
        files = itertools.islice(sorted(folder.glob(below)), 20)  # a folder may have thousands
        readable = (file for file in files if (file.is_file() or file.is_dir()) and os.access(file, os.R_OK))
        if any(map(is_known, readable)):
            command = import_command(folder, run=True, below=f"/{below}")
            return f"give the files of each configuration: {command}"
    return ""


def _hint_of_table(path: Path, text: str) -> str:
    if _RULES.match(text):
        as_csv = f"sed '/^[= ]*$/d; s/ *$//; s/   */,/g' {shell_path(path)}"
        return f"take out its rules, and put commas between columns: {as_csv} > NAME.csv"
    heading = first_line(text).strip()
    if not heading:
        return "all of its lines begin as comments do; a table has a heading, and numbers below"
    if heading.startswith("|") or _MARKDOWN_RULE.search(text):
        return _hint_of_markdown(text)
    unquote = f"each line is in quotes; take them out: tr -d '\"' < {shell_path(path)} > NAME.csv"
    # Excel writes such lines where other marks separate columns.
    is_quoted = re.fullmatch(r'"[^"]+[,;\t][^"]+"', heading)
    if hint := unquote * bool(is_quoted) or _hint_of_lower_table(path, text):
        return hint
    words = heading.split()
    lines = [line.split() for line in text.split("\n", 4)[:4] if line.strip()]
    is_even = len({*map(len, lines)}) == 1 < len(lines)
    # A log has colons.
    if len(words) > 2 and (is_even or words[0].casefold() in SHAPES) and not set(heading) & set(",;\t|:"):
        commas = f"sed 's/^ *//; s/  */,/g' {shell_path(path)} > {shell_path(f'{path.stem}-commas.csv')}"
        return f"if blanks separate its columns: {commas}"
    columns = [cell.strip(' "') for cell in heading.split(delimiter_of(heading))]
    has_no_names = all(map(_NUMBER.fullmatch, columns))
    is_no_table = len(columns) < 2 or heading.startswith("[") or is_prose(columns) or has_no_names
    return NAMES_FIRST * has_no_names if is_no_table else _hint_of_csv(path, text, columns)


def _is_clock(name: str) -> bool:
    return len(name) < 100 and not is_statistic(name) and _CLOCK.fullmatch(name.strip()) is not None


def _hint_of_lower_table(path: Path, text: str) -> str:
    """Return how to cut off what stands above JSON or the heading of a table; empty if there is none."""
    if (above := text.partition("\n{\n")[0]) != text:
        number = 2 + above.count("\n")
        return f"its JSON begins in line {number}: tail -n +{number} {shell_path(path)} > NAME.json"
    for number, (above, below) in enumerate(itertools.pairwise(text.split("\n", 999)[:999]), start=1):
        lines = (line.split(delimiter_of(above)) for line in (above, below))
        names, values = ([cell.strip(' "') for cell in line] for line in lines)
        is_table = len(names) == len(values) > 2 and any(map(_is_clock, names))
        if not is_table or any(map(_NUMBER.fullmatch, names)) or not any(map(_NUMBER.fullmatch, values)):
            continue
        if names[0].startswith("#"):
            uncomment = f"sed '{number}s/##*//' {shell_path(path)} > NAME.csv"  # the first may be in quotes
            return f"line {number} may be its heading, but begins with #: {uncomment}"
        if number == 1:
            break
        first = first_line(text).split(delimiter_of(above))
        if len(first) != len(names) or not all(map(str.strip, first)):  # of another table
            return f"its table begins in line {number}: tail -n +{number} {shell_path(path)} > NAME.csv"
    return ""


def _hint_of_markdown(text: str) -> str:
    """Return what to do with the first table that has times or throughputs, or how one looks."""
    for number, (above, below) in enumerate(itertools.pairwise(text.split("\n")), start=1):
        cells = [cell.strip(" *`") for cell in above.strip(" |").split("|")]
        if not _MARKDOWN_RULE.match(below):
            continue
        remedy = "call the first column Shape, and take out columns that are no configurations"
        has_several = sum(have_units([cell], UNITS) for cell in cells[1:]) > 1
        if hint := _about_configs(cells) or _about_bare_units(cells) or remedy * has_several:
            return f"line {number}: {hint}"
    headings = "a table of results has headings such as | Shape | old (ms) | new (ms) |, and numbers below"
    return f"{headings}; a rate per second is 1000 / rate in ms"


def _about_bare_units(columns: Sequence[str]) -> str:
    """Return how to write units that stand behind a blank, such as main TFLOPS; empty if none does."""
    for column in columns:
        name, blank, unit = column.rpartition(" ")
        if blank and unit_named(unit):
            bracketed = f"{name.rstrip(' ,')} ({unit})"
            return f"write units in brackets, such as {shortened(bracketed)}"
    return ""


def _about_configs(columns: Sequence[str]) -> str:
    """Say that the lines of a table are configurations, and its columns shapes; empty for others."""
    is_turned = _CONFIGS.fullmatch(columns[0]) and len(columns) > 2 and have_units(columns[1:], UNITS)
    several = ", or write a line for each timing if one has several lines"
    remedy = f"its lines are configurations; transpose it, so that each has a column{several}"
    return remedy * bool(is_turned)


def _hint_of_csv(path: Path, text: str, columns: Sequence[str]) -> str:
    """Return what to do with CSV with a heading of these columns; empty if its next line has others."""
    row: list[str] = []
    try:
        with contextlib.suppress(ValueError):  # no line below the heading
            (_, columns), (_, row) = itertools.islice(table_rows(text), 2)
        is_timed = "key" in columns or any(
            _is_clock(name) or is_statistic(name) or UNIT.fullmatch(name) or have_units([name], UNITS)
            for name in columns
        )
        if len(row or columns) != len(columns) or (has_records(text) and not is_timed):
            return ""
        if {"key", "0"} <= {*columns}:  # pandas numbers the rows
            return _RECORDS
        if lacks_names(columns):
            return NAMES_FIRST
        if len({*columns}) < len(columns):
            return f"two columns have the same name: {listed_columns(columns)}; {_MELT}"
        return _hint_of_columns(path, columns, row)
    except DatasetError as error:
        return str(error)


def _is_number(cell: str) -> bool:
    """Return whether a cell holds a number, or a list of some, as JSON may."""
    return _NUMBER.fullmatch(cell.strip("[]").split(",")[0]) is not None


def _hint_of_columns(path: Path, columns: Sequence[str], row: Sequence[str]) -> str:
    """Return what to do with a table of these columns, whose first line is ``row``."""
    # A runtime may be bun, and a time of day is none, either.
    numeric = [
        name
        for name, cell in itertools.zip_longest(columns, row, fillvalue="")
        if cell.casefold() in MISSING or has_unit(cell) or _is_number(cell)
    ]
    clocks = list(filter(_is_clock, numeric))
    if any(map(UNIT.fullmatch, columns)):  # rather of a value than of event-runtime (perf stat -j)
        clocks += filter(_VALUE.fullmatch, numeric)
    if all("total" in clock.casefold() for clock in clocks) and any(map(is_statistic, columns)):
        return f"it has statistics and no single timings; {AS_CSV}, or name a mean: --columns time=NAME"
    has_times = any(split_unit(name)[1] for name in columns)  # 120s may be a setting then
    if not has_times and (with_unit := list(filter(has_unit, row[1:]))):
        return f"{with_unit[0]!r} is not a number; {plainly(with_unit[0])}"
    sized = sizes(columns)
    others = [name for i, name in measured(columns).items() if i and not OUTCOME.fullmatch(name)]
    others = [name for name in others if name.casefold() not in FIELDS and name not in sized]
    timed = [name for name in others if have_units([name], UNITS)]
    is_quotient = len(measured(columns)) < len(columns) and not (clocks or timed)
    hint = _about_bare_units(columns) or _about_configs(columns) or ONLY_QUOTIENTS * is_quotient
    all_numbers = all(map(_NUMBER.fullmatch, row)) and not (clocks or sized)
    if all_numbers and (len(row) < 3 or "." in row[0]):  # else the first may be a label
        hint = hint or f"{AS_CONFIGURATIONS}; then --shape LABEL"
    if hint:
        return hint
    never = {*FIELDS, *SHAPES} - {"time"}
    if not any(known_heading(name) for name in columns if name.casefold() not in never):
        return f"it has no column of times; {AS_CSV}, which is 1000 / rate of a rate per second"
    is_bare = clocks in ([], others) and all(map(_is_number, row[1:]))
    configs = timed or others * is_bare
    if len(configs) < 2 or "config" in map(str.casefold, columns) or len(parts_of_runs(configs)) > 1:
        return _hint_of_long(path, columns, clocks)
    return _hint_of_wide(path, columns, configs, is_timed=len(timed) > 0)


def _hint_of_wide(path: Path, columns: Sequence[str], configs: Sequence[str], *, is_timed: bool) -> str:
    """Return what to do with a table that may have a column for each of ``configs``."""
    # A column that says how runs ended is no label: without it, the times of failed runs would count.
    others = [name for name in measured(columns).values() if name and not OUTCOME.fullmatch(name)]
    runs = [name for name in others if name.casefold() in RUNS][:1]
    labels = "+".join(name for name in others if name not in (*configs, *runs))
    fields = [shortened(f"shape={labels}", 400)] if labels else []
    fields += [f"seed={name}" for name in runs]
    told = "--shape LABEL " * (not labels) + f"--columns {shlex.quote(','.join(fields))}"
    also = " (repeat in place of seed if all lines are of one process)" * bool(runs)
    command = import_command(path, importer="timings", options=told + " --unit UNIT" * (not is_timed))
    are = f"if {listed(map(shortened, configs), most=6)} are configurations: {command}{also}"
    if all(map(_NUMBER.fullmatch, configs)):
        return f"if {NAMES_FIRST.replace(';', ',')}; {are}"
    return f"{are}; if one is the time of each line: --columns shape=NAME,config=NAME,time=NAME"


def _hint_of_long(path: Path, columns: Sequence[str], clocks: Sequence[str]) -> str:
    """Return what to do with a table that may have a line for each timing; ``clocks`` may hold times."""
    timed = [name for name in columns if name in clocks or split_unit(name)[1] in PER_SECOND]
    times = [name for name in timed if "samples" in words_of(name)] or timed  # rather than their mean
    time = times[0] if len(times) == 1 else "NAME"
    have_own = times and all(split_unit(name)[1] or unit_named(name) for name in times)
    unit = "" if have_own or any(map(UNIT.fullmatch, columns)) else " --unit UNIT"
    missing = [name for name in ("shape", "config", "seed") if name not in map(str.casefold, columns)]
    told = [*(f"{name}=NAME" for name in missing if name != "seed"), f"time={time}"]
    command = import_command(
        path, importer="timings", options=f"--columns {','.join(map(shlex.quote, told))}{unit}"
    )
    seed = "if one of them counts runs, add seed=NAME; " * ("seed" in missing)
    shown = columns if len(columns) < 13 else [*dict.fromkeys((*columns[:6], *timed[:6], *columns))]
    return (
        f"if it has a line for each timing: {command}, where each NAME is one of {listed_columns(shown)}; "
        f"{seed}if others are sizes, shape=NAME+NAME; if a line is a trial of a search: abtune import trials"
    )
