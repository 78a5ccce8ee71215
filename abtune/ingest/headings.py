"""Headings of published tables: the configuration that a column is of, and the unit of its numbers.

A time that is read as a throughput turns a gain into a loss, so a heading that hints at anything but a name,
and does not say it in a form that is understood, is refused.
"""

from __future__ import annotations

import re
import unicodedata

from abtune.errors import DatasetError

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
_UNIT = re.compile(r"(?P<name>.*?)\s*[(\[]\s*(?P<unit>[^()\[\]]*?)\s*[)\]]")
_GFLOPS = re.compile(r"\bgflop(s/s|s|/s)\b")

# A word stands alone between underscores too, and the s of "Ann's" is none.
_FROM, _TO = r"(?<![^\W_])(?<!['\u2019])", r"(?![^\W_])"
_WORDS = "|".join(
    [
        "[mun]?secs?|[mun]s|millis|micros|nanos|(milli|micro|nano)seconds?|seconds|minutes|hours|cycles|ticks",
        "times?|timings?|runtimes?|wall|walltime|wallclock|elapsed|clk|hrs?|lat|latency|latencies|durations?",
        "mean|geomean|median|avg|average|percentile|quantile|p(1|5|10|25|50|75|90|95|99|999)|variance",
        "std|stddev|stdev|error|speed-?ups?|ratios?|gain|diff|differences?|delta|change|improvement",
        "[kmgtp]?flops?|[kmgt]ops|[kmgt]?i?bps|[fq]ps|bandwidth|trials|notes?|remarks?|comments?",
    ]
)
# Any of this says that a column is not GFLOPS.
_OTHER = re.compile(
    "|".join(
        [
            "[%\u00b1\u2193]|(lower|smaller|less) is better",
            f"{_FROM}({_WORDS}){_TO}",
            # Words that names have too, such as max-autotune, only where they are none of a name.
            rf"{_FROM}(s|min|max)\W*$|^(best|worst|total|cost)$",
            rf"(/|\bper)\s*s(econd)?{_TO}|{_FROM}s\s*/",
            rf"[(\[]([^()\[\]]*{_FROM})?(s|second|ops?){_TO}",
            r"[(\[]\s*([mhxwj]|[kmgt]i?b|[kmg]?hz)\s*[)\]]",
            r"[(\[]\s*(min|max|best|worst|total)(\s+of\b|\s*[.,;)\]])",
        ]
    )
)


def read_column(cell: str, line: int, *, given: str = "") -> tuple[str, str]:
    """Return the configuration that a heading names, and its unit.

    Parameters
    ----------
    cell : str
        Such as ``main``, ``main (TFLOPS)`` or ``main [usec]``.
    line : int
        Its number, for messages.
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
    unit = _UNITS.get(_plain(match["unit"])) if match else None
    before = _UNIT.fullmatch(match["name"]) if match else None
    if match and unit and not (before and _plain(before["unit"]) in _UNITS):
        return match["name"], unit
    if other := _OTHER.search(_GFLOPS.sub("", _plain(cell))):
        raise DatasetError(
            f"line {line}: column {cell!r} ({other[0].strip(' ([])')}) is not the throughput of a "
            "configuration; take it out, or name the configuration with its unit, such as 'async (ms)' or "
            "'async (GFLOPS)'"
        )
    return cell, given


def _plain(text: str) -> str:
    """Return a text in small letters, and a micro sign of any kind as u."""
    return unicodedata.normalize("NFKC", text).casefold().replace("\u03bc", "u")
