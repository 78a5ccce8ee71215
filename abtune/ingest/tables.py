"""Tables from elsewhere: headings, units and numbers, rows of CSV, what a column holds, and weights.

A unit is known exactly or refused: a wrong one turns a gain into a loss.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import io
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from abtune.errors import DatasetError, InputError
from abtune.ingest.texts import naming, parse_json, read_text
from abtune.text import shortened, to_number

# How many of a unit make a second. They are whole numbers, so that a division rounds only once.
PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
# Operations per second in a unit.
FLOPS = {"mflops": 1e6, "gflops": 1e9, "tflops": 1e12}
UNITS = (*PER_SECOND, *FLOPS)
# Tuners write 1e9 or 1e10 s, more than thirty years, as the cost of what failed.
_MARKS_FAILURE = 1e9
# A longer text is no cell of a table that people read, and no number.
LONGEST_CELL = 4_096
# What stands in a cell without a number.
MISSING = {"", "-", "\u2013", "\u2014", "n/a", "na", "nan"}

# Case matters for times: Ms is a megasecond. There are two micro signs, which look the same.
_TIMES = {**{unit: unit for unit in PER_SECOND}, "\u00b5s": "us", "\u03bcs": "us"}
_SPELLED = {
    **dict.fromkeys(("sec", "secs", "second", "seconds"), "s"),
    # Kernel Tuner used to write miliseconds.
    **dict.fromkeys(("msec", "msecs", "msecond", "millisecond", "milliseconds", "miliseconds"), "ms"),
    **dict.fromkeys(("usec", "usecs", "usecond", "microsecond", "microseconds"), "us"),
    **dict.fromkeys(("nsec", "nsecs", "nsecond", "nanosecond", "nanoseconds"), "ns"),
    **{spelling: unit for unit in FLOPS for spelling in (unit, f"{unit[:-1]}/s")},
}
# A heading without a unit may hold words of letters and digits, joined by these marks. Any other mark may be
# part of a ratio, a rate or a unit: async/main, iter/s, c (lower is better).
_PLAIN_WORD = re.compile(r"[\w.#+&@-]+")
_MARKS_BETWEEN = re.compile(r"[\s_()\[\]{},;:/]+")
# Words that say that a column holds something else than one measured value in a known unit: other units,
# rates, statistics and comparisons. The list guards headings without a unit. What it lets through still
# needs --unit.
_OTHER = re.compile(
    "[pf]s|[mun]?secs?|seconds?|mins?|minutes?|h|hrs?|hours?|cycles|ticks|clk|[mgt]?flops?|throughput|tput|"
    "goodput|rates?|speed|bandwidth|bw|[fiqrt]ps|[kmgt]?hz|it|iter(ation)?s?|[kmgt]?i?ops|op|tok(en)?s?|images?|"
    "imgs?|samples?|frames?|req(uest)?s?|query|queries|[kmgt]i?b(ps|s)?|bps|per|(geo)?mean|median|average|avg|"
    "std(dev)?|stdev|variance|error|max|p50|p9[0-9]|percentile|log|speedups?|slowdown|ratio|diff(erence)?|"
    "delta|relative|normali[sz]ed|improvement|percent|vs|versus"
)
# More of them, in a heading without any unit.
_GRADE = re.compile("perf(ormance)?|scores?")
# What is counted in each second if it stands before _s. A step_s is rather the time of a step.
_COUNTED = re.compile(
    "batches|bytes|calls|cells?|docs?|edges|elem(ent)?s?|epochs|evals?|events?|examples?|files|games|hashes|"
    "inf(er(ence)?s?)?|inputs?|items?|jobs|kernels|launches|lookups|messages?|msgs?|nodes|objects?|outputs?|"
    "packets?|pages|particles?|pixels?|pkts?|points|pts|prompts?|rays?|reads|records?|rows?|runs|sentences?|"
    "seq(uence)?s?|steps|tasks|transactions?|tuples?|txns?|updates|videos?|words?|writes"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """What the heading of a column says."""

    name: str  # without its unit
    unit: str  # one of :data:`UNITS`, ``%``, or empty if the heading names no unit


def unit_named(text: str) -> str:
    """Return the unit that a text names exactly; empty for any other text."""
    return _TIMES.get(text) or _SPELLED.get(text.casefold(), "")


def read_heading(cell: str, known: Sequence[str]) -> Heading:
    """Return the name and the unit of a column; a unit alone, such as ms, is a column of times."""
    if len(cell) > 1 and unit_named(cell) in PER_SECOND and unit_named(cell) in known:
        return Heading(name="time", unit=unit_named(cell))
    name, unit = _split(cell)
    words = [word.strip(".+-#&@") for word in _MARKS_BETWEEN.split(name.casefold()) if word]
    # Without a unit, a name has no mark that could be part of a ratio, a rate or a unit.
    plain = all(
        word == "+" or (_PLAIN_WORD.fullmatch(word) and any(map(str.isalnum, word))) for word in name.split()
    )
    fits = unit in known if unit else plain
    is_other = any(
        _OTHER.fullmatch(word) or unit_named(word) or (not unit and _GRADE.fullmatch(word)) for word in words
    )
    is_rate = cell.endswith("_s") and any(map(_COUNTED.fullmatch, words[-1:]))
    if not any(words) or not fits or is_other or is_rate:
        units = ", ".join(unit.upper() if unit in FLOPS else unit for unit in known if unit != "%")
        rule = f"a heading is NAME or NAME (UNIT) with UNIT one of {units}"
        remedy = "if its numbers have such a unit, write that so, or name no unit and give --unit"
        raise InputError(f"column {shortened(cell)!r}: {rule}; {remedy}")
    return Heading(name=name, unit=unit)


def _split(cell: str) -> tuple[str, str]:
    """Return the name and the unit of a heading; a unit in brackets that is not known makes no name."""
    for opening, closing in ("()", "[]"):
        if cell.endswith(closing):
            name, _, unit = cell[:-1].rpartition(opening)
            unit = unit.strip()
            known = unit if unit == "%" else unit_named(unit)
            return (name.strip(), known) if known else ("", "")
    name, _, suffix = cell.rpartition("_")
    unit = unit_named(suffix) if name else ""
    return (name, unit) if unit else (cell, "")


def read_number(text: str, remedy: str = "") -> float:
    """Return the number that a text writes in decimal digits; else raise an error that ends in ``remedy``."""
    try:
        return to_number(text)
    except ValueError:
        raise DatasetError(f"{shortened(text)!r} is not a number{remedy}") from None


def has_unit(cell: str) -> bool:
    """Return whether a cell holds a number with its unit, such as 1.5 ms."""
    return cell[:1].isdigit() and bool(unit_named(cell.lstrip("0123456789., ")))


def plainly(cell: str) -> str:
    """Return how to write the number of a cell that holds something else, too."""
    if has_unit(cell):
        return "write the unit into the heading, such as time (ms), and the number alone"
    if cell.endswith(("%", "x", "X", "\u00d7")):
        return "a column of boosts is called boost (%)"
    if "\u00b1" in cell or "+-" in cell or "+/-" in cell:
        return "write the number alone, without its error"
    return "write digits and a decimal point alone, such as 1234.5"


def to_seconds(value: Any, unit: str, where: str, failed: str = "leave out what was not timed") -> float:
    """Return a time in seconds, given as a number or as text; ``failed`` says what to write for a failure."""
    try:
        number = value if isinstance(value, float) else to_number(str(value))
    except ValueError:
        remedy = plainly(str(value)) if set(str(value)) & set(",0123456789") else failed
        raise DatasetError(f"{where}: {shortened(repr(value))} is not a number; {remedy}") from None
    seconds = number / PER_SECOND[unit]
    if not 1e-30 <= seconds < math.inf:
        raise DatasetError(f"{where}: a time must be positive, not {value}; {failed}")
    if seconds >= _MARKS_FAILURE:
        raise DatasetError(f"{where}: {value} {unit} is no time but marks a failure; {failed}")
    return seconds


def all_seconds(values: Any, unit: str, where: str) -> tuple[float, ...]:
    """Return a list of times, such as JSON has, in seconds."""
    if not isinstance(values, list) or not values:
        raise DatasetError(f"{where}: is not a list of times")
    return tuple(to_seconds(value, unit, f"{where}[{number}]") for number, value in enumerate(values))


# What the columns of a table with a line for each timing hold, and are called if nobody says otherwise.
FIELDS = ("shape", "config", "seed", "round", "repeat", "time", "unit")
# The first column of a table with a column for each configuration.
SHAPES = (
    *("shape", "kernel", "workload", "benchmark", "layer", "task", "name", "model", "network"),
    *("op", "operator", "operation", "function", "query", "test", "case", "problem"),
)
# What may stand in the column of shapes and is no shape: words of statistics, also with the words beside them
# below. A label with any other word is a shape, such as "layernorm mean", and so is one with an underscore.
_SUMMARY = re.compile(
    "(g|h|geo|geo_|geometric_)?means?|averages?|avg|\u00f8|medians?|(sub)?totals?|sums?|\u2211|\u03c3|overall|all|"
    "summary|aggregate|std|stdev|stddev|speedups?|boosts?|ratios?|improvement|mittel(wert)?|durchschnitt|summe|"
    "gesamt|moyenne|m\u00e9diane|promedio|\u5e73\u5747|\u5408\u8ba1|\u5408\u8a08|\u603b\u8ba1"
)
_BESIDE_STATISTICS = re.compile(
    "geom?|geometric|arith|arithmetic|harm|harmonic|(un)?weighted|grand|of|over|for|across|in|the|every|each|"
    "shapes?|rows|workloads|kernels|models|layers|cases|benchmarks|networks|times?|latency|latencies|"
    "runtimes?|throughput"
)
_QUOTIENT = re.compile(
    r"(speed-?\s?up|ratio|improvement)( ?[(\[][^()\[\]]{1,80}[)\]])?|(\w{1,80} ){0,3}boost( ?[(\[]%[)\]])?"
)
ONLY_QUOTIENTS = "a speedup alone says no times; give both sides a column: | Shape | old (ms) | new (ms) |"
NAMES_FIRST = "its first line holds values; write above it names of columns: shape,config,seed,time_ms"
# How lines above the heading begin: comments, and the line by which Excel is told what separates columns.
_ABOVE = ("#", "sep=", "SEP=")
# The names of a column of times that needs no --columns.
_TIME_NAMES = ("time", "latency", "duration")


def csv_rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows with the numbers of their lines, but for empty ones and comments above the heading.

    Two kinds of columns are left out. A first column without a name may number the rows, from 0 as in pandas
    or from 1 as in R. Excel writes empty columns behind the last heading.
    """
    rows = _filled_rows(text)
    line, heading = next(rows, (0, []))
    if not heading:
        return
    start = 0 if heading[0] else 1
    end = max(index for index, cell in enumerate(heading, start=1) if cell)
    yield line, heading[start:end]
    number: int | None = None
    for line, row in rows:
        if not heading[0]:
            number = int(row[0] == "1") if number is None else number + 1
            if row[0] != str(number):
                remedy = "call it shape if it says what was timed, or write the table without its index"
                raise DatasetError(f"line {line}: the first column has no name; {remedy}")
        yield line, row[start:] if any(row[end:]) else row[start:end]


def _filled_rows(text: str) -> Iterator[tuple[int, list[str]]]:
    delimiter = delimiter_of(first_line(text))
    lines = io.StringIO(text, newline="")
    reader = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=True)
    begun = False
    try:
        for cells in reader:
            row = [cell.strip() for cell in cells]
            if not any(row) or (not begun and row[0].startswith(_ABOVE)):
                continue
            if row[0].startswith("#"):  # a comment, or a timing of a shape with this name
                remedy = "comments stand above the heading; take the line out"
                raise DatasetError(f"line {reader.line_num}: begins with #, but {remedy}")
            begun = True
            yield reader.line_num, row
    except csv.Error as error:
        raise DatasetError(f"line {reader.line_num}: {error}; close each quote, or take it out") from None


def first_line(text: str) -> str:
    """Return the first line that has content: empty lines, comments and Excel's sep=; are skipped."""
    lines = (line for line in io.StringIO(text) if line.strip() and not line.lstrip().startswith(_ABOVE))
    return next(lines, "")


def delimiter_of(heading: str) -> str:
    """Return what separates the columns: the mark that the heading has most often outside quotes."""
    return max(",;\t", key="".join(heading.split('"')[::2]).count)


def time_columns(row: Sequence[str]) -> list[int]:
    """Return which columns are of times by their names: time, time_us, latency (ms)."""
    times = []
    for index, cell in enumerate(row):
        with contextlib.suppress(InputError):
            if read_heading(cell, tuple(PER_SECOND)).name.casefold() in _TIME_NAMES:
                times.append(index)
    return times


def lacks_names(row: Sequence[str]) -> bool:
    """Return whether a first line holds values, not the names of columns; 0.27 may name a configuration."""
    numbers = [re.fullmatch(r"[0-9]+\.[0-9]*", cell) for cell in row]
    names = {cell.casefold() for cell in row} & {*SHAPES, *FIELDS}
    return any(numbers) and not names and not all(numbers[1:])


def may_be_times(cell: str) -> bool:
    """Return whether a heading may be that of times, by its unit or without one."""
    try:
        return bool(read_heading(cell, tuple(PER_SECOND)).name)
    except InputError:
        return False


def have_units(row: Sequence[str], known: Sequence[str]) -> bool:
    """Return whether each heading is NAME (UNIT) with a known unit, or that of a seed, round or repeat."""
    try:
        return all(cell.casefold() in FIELDS or bool(read_heading(cell, known).unit) for cell in row)
    except InputError:
        return False


def quotients(row: Sequence[str]) -> list[bool]:
    """Return which columns compare others, as quotients: speedup, ratio (new/old), new / old, boost (%)."""
    cells = [cell.casefold() if len(cell) <= LONGEST_CELL else "" for cell in row]
    names = {re.split(r"[(\[_]", cell)[0].strip() for cell in cells}
    sides = [{side.strip() for side in cell.split("/")} for cell in cells]
    return [
        _QUOTIENT.fullmatch(cell) is not None or (len(both) == 2 and both <= names)
        for cell, both in zip(cells, sides, strict=True)
    ]


@functools.lru_cache(maxsize=4096)  # tables have a label in many lines
def is_summary(label: str) -> bool:
    """Return whether a label names means or totals: it has nothing but words of statistics."""
    words = re.findall(r"\w+|\u2211", label.casefold().replace("-up", "up"))
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
_NEVER = re.compile(
    r"seeds?|rounds?|runs?|reps?|repeats?|repetitions?|trials?|iterations?|batch|weights?|counts?|calls|ids?|index|"
    r"idx|#|rank|best|worst|p[ _-]?value|gains?|uplift|change|(sub)?totals?|sums?|overall"
)
_SIZE = re.compile(r"(num[ _-])?(heads|threads|channels)|(.+[ _-])?(sizes?|len(gth)?|dims?)|batchsize")
_EXTENTS = {"m", "n", "k", "h", "w", "c"}  # two of these are sizes; one may be a configuration
_STATISTIC = re.compile(
    r"(.*\w)[ _.-](min|max|mean|avg|median|std|stddev|stdev|sd|sem|var|cv|iqr|mad|err|error|ci\d*|p\d\d|"
    "lo|low|lower|hi|high|upper)"
)


def sizes(names: Iterable[str]) -> set[str]:
    """Return the names that are sizes of a shape: batch_size, seq_len, two or more of M, N and K."""
    folded = {name.casefold(): name for name in names}
    extents = _EXTENTS.intersection(folded)
    sized = {*filter(_SIZE.fullmatch, folded), *(extents if len(extents) > 1 else ())}
    return {folded[name] for name in sized}


def check_names(configs: Iterable[str]) -> None:
    """Refuse columns whose names say that they are no configurations."""
    names = {name.casefold(): name for name in configs}
    sized = sizes(names)
    for folded, name in names.items():
        remedy = "take it out, write it into the labels of the shapes, or rename it if it is a configuration"
        if _NEVER.fullmatch(folded) or folded in sized:
            raise DatasetError(f"column {shortened(name)!r} is no configuration by its name; {remedy}")
        if (match := _STATISTIC.fullmatch(folded)) and match[1] in names:
            of = f"a statistic of {shortened(names[match[1]])!r} by its name"
            raise DatasetError(f"column {shortened(name)!r} is {of}; take it out")


def no_unit(configs: Sequence[str], known: Iterable[str]) -> InputError:
    """Return the error for headings without a unit; it names all, because some may be no configurations."""
    check_names(configs)
    are = f"nothing says in which unit the numbers of {listed_columns(configs)} are"
    return InputError(f"{are}; give --unit, one of {', '.join(known)}")


def fits(printed: str, value: float) -> bool:
    """Return whether a number is printed as a value rounded to the printed digits."""
    stated, exponent = to_number(printed), Decimal(printed.strip()).as_tuple().exponent
    # Half a unit of the last printed digit. The cap keeps the power a float, whatever exponent is printed.
    half = 0.51 * 10.0 ** min(exponent, 9) if isinstance(exponent, int) else 0.0
    return abs(stated - value) <= half + 1e-12 * (100 + abs(value))  # NaN is not


def read_weights(path: Path) -> Mapping[str, float]:
    """Return the weights in a file but those of zero; it is JSON by its suffix or first brace, else CSV."""
    weights: dict[str, float] = {}
    try:
        text = read_text(path)
        is_json = path.suffix.lower() == ".json" or text.lstrip().startswith("{")
        with naming(path):
            for where, label, value in _json_weights(text) if is_json else _csv_weights(text):
                if label in weights:
                    raise InputError(f"{where}: {shortened(label)!r} has a weight already")
                with naming(where):
                    weights[label] = read_number(str(value))
                if not 0 <= weights[label] < math.inf:
                    raise InputError(f"{where}: {shortened(value)} is not a weight; give a number of calls")
            if not any(weights.values()):
                raise InputError("no shape has a weight; give lines of label,weight")
    except DatasetError as error:
        raise InputError(str(error)) from None
    return {label: weight for label, weight in weights.items() if weight}


def _csv_weights(text: str) -> Iterator[tuple[str, str, object]]:
    """Yield the place, the label and the value of each entry."""
    for number, (line, cells) in enumerate(csv_rows(text)):
        if number == 0 and cells[0].lower() in {"label", "shape"}:
            continue
        if len(cells) != 2 or not cells[0]:
            raise InputError(f"line {line} is not label,weight")
        yield f"line {line}", cells[0], cells[1]


def _json_weights(text: str) -> Iterator[tuple[str, str, object]]:
    document = parse_json(text)
    if not isinstance(document, dict):
        raise InputError("give an object of weights by label")
    for label, value in document.items():
        yield f"weight of {shortened(label)!r}", label, value
