"""What the columns and lines of a table hold by their names: times, quotients, sizes, statistics, sums."""

from __future__ import annotations

import contextlib
import functools
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from abtune.errors import DatasetError, InputError
from abtune.ingest.units import (
    LONGEST_CELL,
    MEANS,
    PER_SECOND,
    STATISTICS,
    ColumnHeading,
    read_heading,
    split_unit,
    unit_named,
    words_of,
)
from abtune.text import shortened

# What the columns of a table with a line for each timing hold, and are called if nobody says otherwise.
FIELDS = ("shape", "config", "seed", "round", "repeat", "time", "unit")
# The first column of a table with a column for each configuration.
SHAPES = (
    *("shape", "kernel", "workload", "benchmark", "layer", "task", "name", "model", "network"),
    *("op", "operator", "operation", "function", "query", "test", "case", "problem"),
)
# Columns that may number the runs, which are seeds, or the repeats within one run.
RUNS = {"run", "runs", "run_id", "run_number", "run_index", "rep", "reps", "try", "trial"}
RUNS |= {"trials", "attempt", "iter", "iteration", "iterations", "repetition", "repetitions", "sample"}
RUNS |= {"process", "process_id", "pid", "experiment"}
# What may stand in the column of shapes and is no shape: words of statistics, also with the words beside them
# below. A label with any other word is a shape, such as "layernorm mean", and so is one with an underscore.
_SUMMARY = re.compile(
    "(g|h|geo|geo_|geometric_)?means?|averages?|avg|\u00f8|medians?|(sub)?totals?|sums?|\u2211|\u03c3|overall|all|"
    "summary|aggregate|std|stdev|stddev|speedups?|boosts?|ratios?|improvement|mittel(wert)?|durchschnitt|summe|"
    "gesamt|moyenne|m\u00e9diane|promedio|\u5e73\u5747|\u5408\u8ba1|\u5408\u8a08|\u603b\u8ba1"
)
_NUMBER_OF = re.compile(r"\bn ?= ?\d+|\b\d+(?= (shapes|rows|workloads|kernels|models|layers|cases)\b)")  # n=3
_BESIDE_STATISTICS = re.compile(
    "g|geom?|geometric|arith|arithmetic|harm|harmonic|(un)?weighted|grand|of|over|for|across|in|the|every|each|"
    "shapes?|rows|workloads|kernels|models|layers|cases|benchmarks|networks|times?|latency|latencies|"
    "runtimes?|execution|throughput"
)
_QUOTIENT = re.compile(
    r"((.{1,80}[ _-])?speed-?\s?up|ratio|improvement)"
    r"(:? .{1,80} (vs\.?|over) .{1,80}| ?[(\[][^()\[\]]{1,80}[)\]])?|"
    r"(\w{1,80} ){0,3}boost( ?[(\[]%[)\]])?"
)
ONLY_QUOTIENTS = "a speedup alone says no times; give both sides a column: | Shape | old (ms) | new (ms) |"
AS_CONFIGURATIONS = (
    "if columns are configurations: write units there, such as 'old (ms)', or give --unit and a column seed"
)
NAMES_FIRST = "its first line holds values; write above it names of columns: shape,config,seed,time_ms"
# The names of a column of times that needs no --columns.
_TIME_NAMES = ("time", "latency", "duration")
TOTALS = {"total", "sum"}  # words of columns that sum up timings
# A column with the unit of each time; one of something else, such as memory_unit, is none.
UNIT = re.compile(r"((time|value|metric|latency|duration|result)[ _.-]?)?units?", re.IGNORECASE)
# Columns of what was done in each second; not error_rate or loops.
THROUGHPUT = re.compile(
    r"(.*[\W_])?(throughput|tput|goodput|bandwidth|.*(/|per)[\W_]?s(ec(ond)?s?)?|[fiqrt]ps|[kmgt]?(i|fl)?ops)([\W_].*)?",
    re.IGNORECASE,
)
# Columns that say how a run ended. A time beside another outcome may be that of a failure.
OUTCOME = re.compile(
    r"(.{1,80}([\W_]|(?-i:(?<=[a-z])(?=S))))?status|(.{1,80}\.)?(is[\W_]?)?(state|outcome|success(ful)?|"
    "succeeded|fail(ed|ure)|all_?close|error[ _-]?(code|msg|message|occurred|type)|disposition|"
    "((exit|return)[ _-]?)?code|rc|valid|correct(ness)?|pass(ed)?|ok|verified|errors?|exceptions?)",
    re.IGNORECASE,
)


def known_heading(cell: str, known: Sequence[str] = tuple(PER_SECOND)) -> ColumnHeading | None:
    """Return what a heading says; None if it cannot be that of times, or of values in another known unit."""
    with contextlib.suppress(InputError):
        return read_heading(cell, known)
    return None


def time_columns(row: Iterable[str]) -> list[int]:
    """Return which columns are of times by their names: time, time_us, latency (ms)."""
    headings = map(known_heading, row)
    return [i for i, heading in enumerate(headings) if heading and heading.name.casefold() in _TIME_NAMES]


def means_of(total: str, row: Sequence[str]) -> list[str]:
    """Return the columns that may be the mean of what one sums up: AverageNs of TotalDurationNs."""
    rest = words_of(total).difference(TOTALS, _TIME_NAMES)
    # With a unit, samples are times. Without one, they may be a number of them.
    singles = MEANS | ({"samples"} if rest else set())
    words = {name: words_of(name) for name in row}
    return [
        name for name, own in words.items() if own & singles and own.difference(singles, _TIME_NAMES) == rest
    ]


def lacks_names(row: Sequence[str]) -> bool:
    """Return whether a first line holds values, not the names of columns; 0.27 may name a configuration.

    Only a name can stand before several such names, and a label of a shape may have digits, too.
    """
    if not {cell.casefold() for cell in row}.isdisjoint((*SHAPES, *FIELDS)):
        return False
    numbers = [re.fullmatch(r"[0-9]+([.,][0-9]*)?", cell) for cell in row]
    if all(numbers[1:]) and len(row) > 1:
        return len(row) == 2 or re.search("[0-9]", row[0]) is not None
    repeated = len({*row}) < len(row)
    return any(number and (number[1] or repeated) for number in numbers)


def is_prose(row: Sequence[str]) -> bool:
    """Return whether a line with commas is a sentence, and no heading."""
    return any(len(cell.split()) > 6 for cell in row)


def have_units(row: Iterable[str], known: Sequence[str]) -> bool:
    """Return whether each heading is NAME (UNIT) with a known unit, or that of a seed, round or repeat."""
    return all(
        cell.casefold() in FIELDS or ((heading := known_heading(cell, known)) and heading.unit)
        for cell in row
    )


def measured(row: Sequence[str]) -> dict[int, str]:
    """Return the columns but those that compare others: speedup, ratio (new/old), new / old, boost (%)."""
    cells = [cell.casefold() if len(cell) <= LONGEST_CELL else "" for cell in row]
    names = {re.split(r"[(\[_]", cell)[0].strip() for cell in cells}
    sides = [{side.strip() for side in cell.split("/")} for cell in cells]
    return {
        index: row[index]
        for index, (cell, both) in enumerate(zip(cells, sides, strict=True))
        if not (_QUOTIENT.fullmatch(cell) or (len(both) == 2 and both <= names))
    }


@functools.lru_cache(maxsize=4096)  # tables have a label in many lines
def is_summary(label: str) -> bool:
    """Return whether a label names means or totals: it has nothing but words of statistics."""
    words = re.findall(r"\w+|\u2211", _NUMBER_OF.sub("", label.casefold()).replace("-up", "up"))
    others = [word for word in words if not _SUMMARY.fullmatch(word)]
    return len(others) < len(words) and all(
        unit_named(word) or _BESIDE_STATISTICS.fullmatch(word) for word in others
    )


def about_summaries(labels: Mapping[int, str]) -> Iterator[str]:
    """Yield that lines of means and totals are left out; ``labels`` has theirs by the number of the line."""
    if labels:
        line, label = next(iter(labels.items()))
        several = f"{len(labels):,} lines left out, the first in line {line}"
        remedy = "if it is a shape, write more into its label, such as its sizes"
        what = f"line {line} left out" if len(labels) == 1 else several
        yield f"{what}: {shortened(label)!r} sums up other lines; {remedy}"


def listed_columns(row: Sequence[str]) -> str:
    """Return the columns of a heading as text, as many as a line can hold."""
    more = ", ..." if len(row) > 12 else ""
    return ", ".join(map(shortened, row[:12])) + more


# What numbers a run, sizes a shape or sums up a line, and nobody calls a configuration. The list is closed.
NEVER = re.compile(
    r"seeds?|rounds?|runs?|reps?|repeats?|repetitions?|trials?|iterations?|batch|weights?|"
    r"(.+[ _-])?(counts?|bytes)|calls|ids?|index|idx|#|rank|best|worst|p[ _-]?value|gains?|uplift|change|"
    r"(sub)?totals?|sums?|overall|(tuning|warm[ _-]?up)([ _-]time)?|search[ _-]time|gap|overhead"
)
SIZE = re.compile(
    r"(.+\.)?(heads|threads|channels|tokens|experts|cores|nodes|(mpi[ _-]?)?ranks)|"
    # What is counted of a run, and not set for it, differs between repeats.
    r"(num|n)[ _-](?!run|trial|iter|rep|sample|call|warm|time|round|eval|epoch|step|corr|err|fail|succ|pass|"
    r"hit|miss|alloc|gc|retr).+|"
    r"([^/]+[ _-])?(sizes?|len(gth)?|dims?|ctx)|batchsize|"
    r"(grd|[gb])[xyz]|grd"  # of a launch: kernels of one name work on different sizes
)
_EXTENTS = {"m", "n", "k", "h", "w", "c"}  # two of these are sizes; one may be a configuration
# What a name gives a value, such as M and K of B=8, M=256, K=128.
_ASSIGNED = re.compile(r"\b(\w{1,40}) ?=")
_STATISTIC = re.compile(
    rf"(.*\w)[ _.-]({'|'.join(STATISTICS)}|min|max|sd|sem|var|cv|iqr|mad|err|error|ci\d*|p\d\d|"
    "lo|low|lower|hi|high|upper)"
)
# What parts of one run are called: two of these are no configurations.
_PART = re.compile(
    r"(.*\.)?(user|sys(tem)?|wall|real|elapsed|setup|h2d|d2h)([ _-]?(time|clock))?|"
    r"(.*\.)?(cpu|gpu|kernel|compile|compilation|run|exec|execution)[ _-]?(time|clock)|"
    "(submit|queued|start|begin|end|stop)([ _-]?(time|stamp|timestamp))?|"
    r"forward|backward|fwd|bwd|prefill|decode|ttft|tpot|read|write|q[0-9]{2}|"
    r"(.*[_.])?(lower|upper)([ _](value|bound|limit))?"
)


def sizes(names: Iterable[str]) -> set[str]:
    """Return the names that are sizes of a shape: batch_size, seq_len, two or more of M, N and K."""
    folded = {name.casefold(): name for name in names}
    extents = _EXTENTS.intersection(folded)
    sized = {*filter(SIZE.fullmatch, folded), *(extents if len(extents) > 1 else ())}
    return {folded[name] for name in sized}


def parts_of_runs(names: Iterable[str]) -> list[str]:
    """Return the columns that are called as parts of one run: elapsed, user_secs."""
    return [name for name in names if _PART.fullmatch((split_unit(name)[0] or name).casefold())]


def check_names(configs: Iterable[str]) -> None:
    """Refuse columns whose names say that they are no configurations."""
    names = {name.casefold(): name for name in configs}
    if all(len(_EXTENTS.intersection(_ASSIGNED.findall(folded))) > 1 for folded in names):
        are = f"columns such as {shortened(next(iter(names.values())))!r} are shapes by their names"
        raise DatasetError(f"{are}; transpose the table (of Compare: swap sub_label and description)")
    sized = sizes(names)
    if len(parts := [*map(shortened, parts_of_runs(names.values()))]) > 1:
        raise DatasetError(
            f"columns {parts[0]!r} and {parts[1]!r} are of one run by their names; keep one, or rename them"
        )
    for folded, name in names.items():
        joined = shlex.quote(f"shape=NAME+{shortened(name)}")
        labels = f"write it into the labels (CSV: abtune import timings FILE --columns {joined})"
        remedy = f"take it out, {labels}, or rename it if it is a configuration"
        if NEVER.fullmatch(folded) or folded in sized:
            raise DatasetError(f"column {shortened(name)!r} is no configuration by its name; {remedy}")
        if (match := _STATISTIC.fullmatch(folded)) and match[1] in names:
            of = f"a statistic of {shortened(names[match[1]])!r} by its name"
            raise DatasetError(f"column {shortened(name)!r} is {of}; take it out")
