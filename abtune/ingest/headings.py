"""Headings of tables: what a column is of, and the unit of its numbers.

A time that is read as a throughput turns a gain into a loss, and so does a throughput that is read as a time.
A heading that hints at something else, and does not say it in a form that is understood, is refused.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from abtune.errors import DatasetError, InputError
from abtune.ingest.timing_parts import PER_SECOND

# What may stand in brackets behind a name, by what it means.
_SPELLINGS = {
    "s": "s sec secs seconds",
    "ms": "ms msec msecs millis millisecond milliseconds",
    "us": "us usec usecs micros microsecond microseconds",
    "ns": "ns nsec nsecs nanos nanosecond nanoseconds",
    "mflops": "mflops mflop/s mflops/s",
    "gflops": "gflops gflop/s gflops/s",
    "tflops": "tflops tflop/s tflops/s",
}
_UNITS = {spelling: unit for unit, spellings in _SPELLINGS.items() for spelling in spellings.split()}
# The words that say a unit in a text that is split at its marks.
UNIT_WORDS = frozenset(word for spelling in _UNITS for word in spelling.split("/"))
_UNIT = re.compile(r"(?P<name>.*?)\s*[(\[]\s*(?P<unit>[^()\[\]]*?)\s*[)\]]")
_UNIT_BEHIND = re.compile(rf"\s*[(\[]\s*({'|'.join(_UNITS)})\s*[)\]]$")
_GFLOPS = re.compile(r"\bgflop(s/s|s|/s)\b")

# A word stands alone between underscores too, and the s of "Ann's" is none.
_FROM, _TO = r"(?<![^\W_])(?<!['\u2019])", r"(?![^\W_])"
_TIMES = "times?|timings?|runtimes?|wall|walltime|wallclock|elapsed|lat|latency|latencies|durations?"
_RATES = "[kmgtp]?flops?|[kmgt]ops|[kmgt]?i?bps|[fqrt]ps|bandwidth"
_WORDS = "|".join(
    [
        "[mun]?secs?|[mun]s|millis|micros|nanos|(milli|micro|nano)seconds?|seconds|minutes|hours|cycles|ticks",
        f"{_TIMES}|clk|hrs?",
        "mean|geomean|median|avg|average|percentile|quantile|p(1|5|10|25|50|75|90|95|99|999)|variance",
        "std|stddev|stdev|error|speed-?ups?|slow-?downs?|ratios?|gain|diff|differences?|delta|change",
        "improvement|normali[sz]ed|relative|vs|versus|percent|pct",
        f"{_RATES}|trials|notes?|remarks?|comments?",
    ]
)
# Any of this says that a column is not GFLOPS.
_OTHER = re.compile(
    "|".join(
        [
            r"[%\u00b1\u2193]|(lower|smaller|less)\W+((is|the)\W+)?better",
            f"{_FROM}({_WORDS}){_TO}",
            # Words that names have too, such as max-autotune, only where they are none of a name.
            rf"{_FROM}(s|min|max|cost)\W*$|^(best|worst|total)$",
            rf"(/|\bper)\s*s(econd)?{_TO}|{_FROM}s\s*/",
            rf"[(\[]([^()\[\]]*{_FROM})?(s|second|ops?){_TO}",
            r"[(\[]\s*([mhxwj]|[kmgt]i?b|[kmg]?hz)\s*[)\]]",
            r"[(\[]\s*(min|max|best|worst|total)(\s+of\b|\s*[.,;)\]])",
        ]
    )
)
# What stands between the two sides of a ratio or a difference.
_BETWEEN = re.compile("\\s*(?:[/:\u00f7\u2192]|->)\\s*|\\s+[-\u2013\u2212]\\s+")

_SECONDS = "|".join(spelling for spelling, unit in _UNITS.items() if unit in PER_SECOND)
# The unit of a column of times: by itself, at the end, in brackets, or before what it is of, as in ns/op.
_TIME_UNIT = re.compile(rf"{_FROM}({_SECONDS}){_TO}(?=[\W_]*$|\s*[)\]]|[\s_]*(/|per{_TO}))")
_AMOUNTS = "[kmgt]i?b|(kilo|mega|giga|tera)?bytes|its?|iters|ops|im(a)?gs?|images|samples|tok(en)?s?|frames"
_PER_TIME = rf"(/|{_FROM}per{_TO})[\s_]*({_SECONDS}|second|m|min|minute|h|hr|hour){_TO}"
# A rate in a column of times; "latency / ms" is none, but a latency in milliseconds.
_RATE = re.compile(
    "|".join(
        [
            f"{_FROM}({_RATES}|i?ops|[kmg]?hz|rates?|throughputs?|speed|speed-?ups?|frequency){_TO}",
            rf"{_FROM}({_AMOUNTS}|requests|queries)_({_SECONDS}){_TO}",
            rf"^(?!.*{_FROM}({_TIMES})[\s_)\]]*{_PER_TIME}).*{_PER_TIME}",
            rf"{_FROM}s\s*(\^\s*[-\u2212]|\u2212)\s*1{_TO}",
        ]
    )
)


def read_column(cell: str, line: int, *, others: Sequence[str] = (), given: str = "") -> tuple[str, str]:
    """Return the configuration that a heading names, and its unit.

    Parameters
    ----------
    cell : str
        Such as ``main``, ``main (TFLOPS)`` or ``main [usec]``.
    line : int
        Its number, for messages.
    others : sequence of str
        The further headings of its table; what is made of their names, such as ``async/main``, is a ratio.
    given : str
        The unit of a heading that has none, if the user said it.

    Returns
    -------
    tuple of str
        The name, and one of ``s``, ``ms``, ``us``, ``ns``, ``mflops``, ``gflops`` and ``tflops``, empty
        if nothing says it.

    Raises
    ------
    DatasetError
        If the column may be of something else.
    """
    match = _UNIT.fullmatch(cell)
    unit = _UNITS.get(plain(match["unit"])) if match else None
    before = _UNIT.fullmatch(match["name"]) if match else None
    if match and unit and not (before and plain(before["unit"]) in _UNITS):
        return match["name"], unit
    bare, gflops = _GFLOPS.subn("", plain(cell))
    other = _OTHER.search(bare)
    if other or _is_ratio(bare, others):
        what = other[0].strip(" ([])") if other else "a ratio or difference"
        raise DatasetError(
            f"line {line}: column {cell!r} ({what}) is not the throughput of a configuration; take it out, "
            "or name the configuration with its unit, such as 'async (ms)' or 'async (GFLOPS)'"
        )
    return cell, "gflops" if gflops else given


def _is_ratio(cell: str, others: Sequence[str]) -> bool:
    """Tell ``b/a`` from ``feature/async``: its sides are single letters, or words of other names."""
    sides = _BETWEEN.split(cell.strip())
    if len(sides) != 2 or not all(sides):
        return False
    names = [_UNIT_BEHIND.sub("", plain(other)) for other in others]
    whole = [name for name in names if not _BETWEEN.search(name)]
    return all(len(side) == 1 for side in sides) or all(
        any(re.search(rf"{_FROM}{re.escape(side)}{_TO}", name) for name in whole) for side in sides
    )


def time_unit(column: str) -> str:
    """Return the unit that the name of a column of times says; empty if it says none.

    Parameters
    ----------
    column : str
        Such as ``time_us``, ``elapsed [ms]``, ``time in s`` or ``ns/op``.

    Returns
    -------
    str
        One of ``s``, ``ms``, ``us``, ``ns``, or empty.

    Raises
    ------
    InputError
        If the column is of a rate, of which more is better, or says two units.
    """
    name = plain(column)
    if _RATE.search(name):
        raise InputError(
            f"column {column!r} is of a rate, not of times; give the column of the times by --columns "
            "time=NAME, or convert it"
        )
    units = {_UNITS[match[1]] for match in _TIME_UNIT.finditer(name)}
    if len(units) > 1:
        raise InputError(f"column {column!r} says two units, {' and '.join(sorted(units))}; rename it")
    return units.pop() if units else ""


def plain(text: str) -> str:
    """Return a text in small letters, and a micro sign of any kind as u."""
    return unicodedata.normalize("NFKC", text).casefold().replace("\u03bc", "u")
