"""Units, numbers and headings of tables. An unknown unit is refused: a wrong one turns a gain into a loss."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from abtune.errors import DatasetError, InputError
from abtune.shapes import Published, shape_named
from abtune.text import shortened, to_number

# How many of a unit make a second. They are whole numbers, so that a division rounds only once.
PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
# Operations per second in a unit.
FLOPS = {"mflops": 1e6, "gflops": 1e9, "tflops": 1e12}
# The same, and bytes per second.
RATES = {**FLOPS, "mb/s": 1e6, "gb/s": 1e9, "tb/s": 1e12}
UNITS = (*PER_SECOND, *RATES)
# If the work of a shape is unknown, a rate is read as the time of this many operations or bytes.
WORK = 1e9
# Tuners write 1e9 or 1e10 s, more than thirty years, as the cost of what failed.
MARKS_FAILURE = 1e9
# A longer text is no cell of a table that people read, and no number.
LONGEST_CELL = 4_096
# What stands in place of the number of a run that failed.
FAILED = {
    *("inf", "oom", "timeout", "timed out", "crash", "error", "fail", "failed", "failure"),
    *("invalidconfig", "compilationfailedconfig", "runtimefailedconfig"),  # of Kernel Tuner
}
# What stands in a cell without a number.
MISSING = {"", "-", "\u2013", "\u2014", "n/a", "na", "#n/a", "nan", "none", "null", *FAILED}

# Case matters for times: Ms is a megasecond. There are two micro signs, which look the same.
_TIMES = {**{unit: unit for unit in PER_SECOND}, "\u00b5s": "us", "\u03bcs": "us"}
_SPELLED = {
    **dict.fromkeys(("sec", "secs", "second", "seconds"), "s"),
    # Kernel Tuner used to write miliseconds.
    **dict.fromkeys(("msec", "msecs", "msecond", "millisecond", "milliseconds", "miliseconds"), "ms"),
    **dict.fromkeys(("usec", "usecs", "usecond", "microsecond", "microseconds"), "us"),
    **dict.fromkeys(("nsec", "nsecs", "nsecond", "nanosecond", "nanoseconds"), "ns"),
    **{f"{unit[:-1]}/s": unit for unit in FLOPS},  # gflop/s
    **{unit: unit for unit in RATES},
}
# A number with commas between thousands, perhaps: 1,234 may have decimals.
_THOUSANDS = re.compile(r"[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?(?![0-9,.])")
_AS_POINTS = "; if semicolons separate columns: tr ',;' '.,' < FILE > NEW.csv"
# A heading without a unit may hold words of letters and digits, joined by these marks. Any other mark may be
# part of a ratio, a rate or a unit: async/main, iter/s, c (lower is better).
_PLAIN_WORD = re.compile(r"[\w.#+&@-]+")
# What kernel authors write in brackets behind a name, and is no unit: Triton [FP16], Torch (native).
_VARIANT = re.compile(
    r"[(\[]((b?f|[bt]?fp|u?int)[0-9]{1,2}|native|jit|eager|compiled?|fused)[)\]]$", re.IGNORECASE
)
_CAMEL = re.compile(r"(.*[a-z])(Ms|Us|Ns)")
_MARKS_BETWEEN = re.compile(r"[\s_()\[\]{},;:/]+")
# Words that say that a column holds something else than one measured value in a known unit: other units,
# rates, statistics, comparisons. They guard headings without a unit; what they let through needs --unit.
_OTHER = re.compile(
    "[pf]s|[mun]?secs?|seconds?|mins?|minutes?|h|hrs?|hours?|cycles|ticks|clk|[mgt]?flops?|throughput|tput|"
    "goodput|rates?|speed|bandwidth|bw|k?[fiqrt]ps|[kmgt]?hz|it|iter(ation)?s?|[kmgt]?i?ops|op|tok(en)?s?|images?|"
    "imgs?|samples?|frames?|req(uest)?s?|query|queries|[kmgt]i?b(ps|s)?|bps|per|geomean|error|max|p50|"
    "p9[0-9]|percentile|log|speedups?|slowdown|ratio|diff(erence)?|"
    "delta|relative|normali[sz]ed|improvement|percent|vs|versus|"
    "[km]?pps|[km]?eps|[km]?nps|tpm|nopm|tpmc|its|[mg]?(lups|teps|ups)|specrate|hashrate|ipc|cpi|d?mips|mfu|"
    r"algbw|busbw|rtfx?|joules|watts?|price|\w*efficiency|occupancy|utili[sz]ation|"
    "ci[0-9]*|noise|saved|savings?|timeout|timestamp|warm-?up"
)
# What may be timed: a frame_time is a time.
_TIMED = re.compile("it|iter(ation)?|op|tok(en)?|image|img|sample|frame|req(uest)?|query")
_TIMES_OF = {"time", "latency", "duration"}
# Words of rates also in camel case: AchievedBandwidth.
_RATES = {"bandwidth", "throughput", "goodput", "rate", "rates"}
# Those of statistics, also in camel case: AverageTime, StandardDeviation.
MEANS = {"mean", "median", "med", "average", "avg", "p50"}
STATISTICS = {*MEANS, "std", "stddev", "stdev", "deviation", "variance"}
_WORD = re.compile(r"[Pp]50(?!\d)|[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^\W\d_a-zA-Z]+")
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
class ColumnHeading:
    """What the heading of a column says."""

    name: str  # without its unit
    unit: str  # one of :data:`UNITS`, ``%``, or empty if the heading names no unit


def unit_named(text: str) -> str:
    """Return the unit that a text names exactly; empty for any other text."""
    return _TIMES.get(text) or _SPELLED.get(text.casefold(), "")


def words_of(name: str) -> set[str]:
    """Return the words of a name, also of camel case: total, duration and ns of TotalDurationNs."""
    return {word.casefold() for word in _WORD.findall(name)}


def is_statistic(name: str) -> bool:
    """Return whether a word of a name is one of a mean, a deviation or the like."""
    return not words_of(name).isdisjoint(STATISTICS)


def read_heading(cell: str, known: Sequence[str]) -> ColumnHeading:
    """Return the name and the unit of a column; a unit alone, such as ms, is a column of times."""
    if len(cell) > 1 and unit_named(cell) in PER_SECOND and unit_named(cell) in known:
        return ColumnHeading(name="time", unit=unit_named(cell))
    name, unit = split_unit(cell)
    words = [word.strip(".+-#&@") for word in _MARKS_BETWEEN.split(name.casefold()) if word]
    if unit in PER_SECOND and "per" in words[1:-1]:  # time_per_image_ms, but not images_per_s
        words = words[: words.index("per")]
    if (unit in PER_SECOND or not unit) and {*words[-1:]} & _TIMES_OF:
        words = [word for word in words if not _TIMED.fullmatch(word)]
    # Without a unit, a name has no mark that could be part of a ratio, a rate or a unit.
    plain = all(
        word == "+" or (_PLAIN_WORD.fullmatch(word) and any(map(str.isalnum, word)))
        for word in _VARIANT.sub("", name).split()
    )
    fits = unit in known if unit else plain
    is_other = not words_of(name).isdisjoint(STATISTICS | _RATES) or any(
        _OTHER.fullmatch(word) or unit_named(word) or (not unit and _GRADE.fullmatch(word)) for word in words
    )
    is_rate = cell.endswith("_s") and any(map(_COUNTED.fullmatch, words[-1:]))
    if unit == "%" and unit not in known:
        remedy = "if it is a boost, call it boost (%); else take it out"
        raise InputError(f"column {shortened(cell)!r} is in %; {remedy}")
    if not any(words) or not fits or is_other or is_rate:
        units = ", ".join(spelled(unit) for unit in known if unit != "%")
        rule = f"a heading is NAME or NAME (UNIT) with UNIT one of {units}"
        remedy = "if its numbers have such a unit, write it so, or write none and give --unit"
        if any(words) and fits:  # so its unit is no reason
            rule, remedy = f"{rule}, and NAME is no rate or statistic", "rename it if it is neither"
        more = "write 1 / rate as time (s)"
        if is_statistic(name):
            more = "call a column of means by its configuration alone, such as old (ms)"
        raise InputError(f"column {shortened(cell)!r}: {rule}; {remedy}; else take it out, or {more}")
    return ColumnHeading(name=name, unit=unit)


def published_flop(shape: Published) -> int:
    """Return 2 (M N K + M N), as published GFLOPS count; a convolution as the product that it implies."""
    return shape.flop + 2 * math.prod(shape.output_shape)


def work_of(unit: str, label: str) -> float:
    """Return the operations of one call of a shape, if its label tells them; else 10^9 of the unit's kind."""
    shape = shape_named(label) if unit in FLOPS else None
    return published_flop(shape) if shape else WORK


def about_work(units: Collection[str]) -> str:
    """Return what to say of times that were made of throughputs in these units."""
    work = "operations" if FLOPS.keys() & units else "bytes"
    return f"throughputs are read as times of 10^9 {work}: boosts are right, and times are not those of a run"


def spelled(unit: str) -> str:
    """Return a unit as people write it: ms, GFLOPS, GB/s."""
    return unit.upper().replace("/S", "/s") if unit in RATES else unit


def split_unit(cell: str) -> tuple[str, str]:
    """Return the name and the unit of a heading; a unit in brackets that is not known makes no name."""
    if cell.isupper():  # TIME_MS
        name, unit = split_unit(cell.lower())
        if unit in PER_SECOND:
            return name.upper(), unit
    for opening, closing in ("()", "[]"):
        if cell.endswith(closing) and not _VARIANT.search(cell):
            name, _, unit = cell.removesuffix("))").removesuffix(closing).rpartition(opening)
            if cell.endswith("))"):  # what was measured stands before its unit: Triton (Latency (ms))
                name, _, before = name.rpartition(opening)
                unit = before if unit.endswith(" is better") else unit  # Triton (us (smaller is better))
            unit = unit.strip()
            known = unit if unit == "%" else unit_named(unit)
            return (name.strip(), known) if known else ("", "")
    if match := _CAMEL.fullmatch(cell):  # latencyMs
        return match[1], match[2].lower()
    name, _, suffix = cell.rpartition("_")
    prefix, _, rest = cell.partition("_")
    if unit := unit_named(suffix) if name else "":
        return name, unit
    if (
        re.match("per_(?!(s|sec|second|min|minute|h|hour|day)s?$)", rest) and unit_named(prefix) in PER_SECOND
    ):  # ns_per_run, no ns_per_day
        return f"time_{rest}", unit_named(prefix)
    return (rest, unit_named(prefix)) if rest and unit_named(prefix) in RATES else (cell, "")  # gflops_old


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
    if match := _THOUSANDS.match(cell):
        whole, is_clear = cell.replace(",", ""), "." in match[0] or match[0].count(",") > 1
        decimal = "" if is_clear else f" if the comma marks thousands, or {cell.replace(',', '.')}"
        return f"write {shortened(whole)}{decimal}{_AS_POINTS if match[0] == cell and not is_clear else ''}"
    if has_unit(cell):
        return "write the unit into the heading, such as time (ms), and the number alone"
    if "\u00b1" in cell or "+-" in cell or "+/-" in cell:
        return "write the number alone, without its error"
    if cell.endswith(("%", "x", "X", "\u00d7")):
        return "a column of boosts is called boost (%)"
    is_decimal = re.fullmatch("[0-9]+,[0-9]+", cell)
    return f"write digits and a decimal point alone, such as 1234.5{_AS_POINTS if is_decimal else ''}"


def to_seconds(
    value: Any, unit: str, where: str, failed: str = "leave out what was not timed", work: float = WORK
) -> float:
    """Return a time in seconds, given as a number or as text; ``failed`` says what to write for a failure.

    A rate becomes the time of ``work`` operations or bytes.
    """
    try:
        number = value if isinstance(value, float) else to_number(str(value))
    except ValueError:
        is_number = set(str(value)) & set(",0123456789") and not str(value)[0].isalpha()  # no "OOM (80 GB)"
        remedy = plainly(str(value)) if is_number else failed
        raise DatasetError(f"{where}: {shortened(repr(value))} is not a number; {remedy}") from None
    seconds = work / (number * RATES[unit] or math.nan) if unit in RATES else number / PER_SECOND[unit]
    if not 1e-30 <= seconds < math.inf:
        what = "throughput" if unit in RATES else "time"
        raise DatasetError(f"{where}: a {what} must be positive, not {value}; {failed}")
    if seconds >= MARKS_FAILURE:
        raise DatasetError(f"{where}: {value} {unit} is no time but marks a failure; {failed}")
    return seconds


def all_seconds(values: Any, unit: str, where: str) -> tuple[float, ...]:
    """Return a list of times, such as JSON has, in seconds."""
    if not isinstance(values, list) or not values:
        raise DatasetError(f"{where}: is not a list of times")
    return tuple(to_seconds(value, unit, f"{where}[{number}]") for number, value in enumerate(values))
