"""Words and numbers as people write them: percentages, p-values, times, counts, names of any origin."""

from __future__ import annotations

import math
import re
import reprlib
import shlex
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path

from abtune.errors import InputError

# What stands in a cell for a number that does not exist.
NOTHING = "-"
_LONGEST_NUMBER = 400
_LONGEST_WORD = 400


def to_number(text: str) -> float:
    """Return the number that a text writes in decimal digits; inf and nan are numbers too."""
    text = text.strip()
    # float() also reads 1_500, and the digits of other scripts.
    if len(text) > _LONGEST_NUMBER or "_" in text or not text.isascii():
        raise ValueError(f"not a number: {shortened(text)!r}")
    return float(text)


def to_fraction(text: str) -> float:
    """Return the fraction that a typed percentage stands for (``"95"``, ``"99.9"``, ``"2%"``).

    The division is decimal: 99.9 becomes 0.999, not 0.9990000000000001.
    """
    digits = text.strip().removesuffix("%")
    try:
        to_number(digits)
        fraction = Decimal(digits) / 100
    # Decimal raises ArithmeticError for exponents beyond its range, such as 1e999999999.
    except (ArithmeticError, ValueError):
        raise InputError(f"{text!r} is not a number") from None
    if not fraction.is_finite():
        raise InputError(f"{text!r} is not a finite number")
    return float(fraction)


# Percents from here on are no real boosts, and their digits would fill lines.
_HUGE = 1e7


def percent(fraction: float, *, signed: bool = False) -> str:
    """Return a percentage for a sentence: two significant digits, or all before the point."""
    value, sign = 100 * fraction, "+" if signed else ""
    # From 99.5 on, .2g would write 1e+02.
    return f"{value:{sign}.0f}%" if 99.5 <= abs(value) < _HUGE else f"{value:{sign}.2g}%"


# A lower bound of a boost that says nothing, as it is shown.
NO_BOUND = "-100.0%"


def bound_percent(low: float) -> str:
    """Return a lower bound in percent with its sign, rounded down: it never says more than the bound."""
    value = 100 * low
    if abs(value) < 1e-9:
        return "+0%"
    if value >= _HUGE:
        return f"{_HUGE:+.0e}%"
    digits = max(1 - math.floor(math.log10(abs(value))), 1)
    # Rounding may have raised the bound. So a bound at a step of the last digit goes one step down.
    rounded = math.floor(value * 10**digits * (1 - math.copysign(1e-12, value))) / 10**digits
    # No latency is negative, so no boost is below -100 %; rounding down would write one.
    return f"{max(rounded, -100.0):+.{digits}f}%"


def percent_cell(fraction: float, decimals: int, *, signed: bool = True) -> str:
    """Return a percentage for a table, without the unit; ``-`` for NaN, and no sign on a rounded zero."""
    if math.isnan(fraction):
        return NOTHING
    value = 100 * fraction
    digits = f"{value:z.{decimals}f}" if abs(value) < _HUGE else f"{value:.3g}"
    return f"+{digits}" if signed and float(digits) > 0 else digits


def limit_cell(fraction: float, decimals: int) -> str:
    """Return a limit of an interval for a table. One that rounds to zero keeps its sign, which may decide."""
    text = percent_cell(fraction, decimals)
    if fraction and text.strip("0.") == "":
        return f"{'+' if fraction > 0 else '-'}{text}"
    return text


def limits(low: float, high: float, decimals: int) -> str:
    """Return an interval in percent, without the unit, such as ``-1.2 to +3.4``; ``-`` where it is NaN."""
    ends = limit_cell(low, decimals), limit_cell(high, decimals)
    return NOTHING if NOTHING in ends else " to ".join(ends)


def plain_percent(fraction: float, digits: int = 6) -> str:
    """Return a setting as it was typed: ``95%``, ``2%``; with 3 digits, a level that is shared: ``1.67%``."""
    return f"{100 * fraction:.{digits}g}%"


def spread_percent(spread: float) -> str:
    """Return a standard deviation in percent, without the unit, with two significant digits."""
    if not math.isfinite(spread):
        return NOTHING
    if spread > 10:  # two or three seeds give such a bound; its digits mean nothing
        return ">1000"
    decimals = 2 if spread <= 0 else 1 - math.floor(math.log10(100 * spread))
    return percent_cell(spread, min(max(decimals, 0), 2), signed=False)


def boost_decimals(half_widths: Iterable[float]) -> int:
    """Return how many decimals the boosts of one report deserve, in percent."""
    known = [width for width in half_widths if math.isfinite(width)]
    if not known:
        return 2
    typical = statistics.median(known)
    if typical >= 0.01:
        return 1
    return 2 if typical >= 0.001 else 3


def sentence_decimals(low: float, high: float) -> int:
    """Return how many decimals of a percentage a sentence has: three if one would hide the interval."""
    return 3 if 0 < high - low < 0.001 else 1


def p_value(p: float) -> str:
    """Return a p-value with two significant digits; ``<0.0001`` below that, never 0; ``-`` for NaN."""
    if math.isnan(p):
        return NOTHING
    # The flag # keeps zeros at the end: 0.50 shows two digits, and 0.5 only one.
    return "<0.0001" if p < 0.0001 else f"{p:#.2g}"


def microseconds(seconds: float) -> str:
    """Return a time in microseconds, without the unit, with four digits or all before the point."""
    if not math.isfinite(seconds):
        return NOTHING
    value = 1e6 * seconds
    decimals = 3 - math.floor(math.log10(value)) if 0 < value < math.inf else 0
    return f"{value:,.{min(max(decimals, 0), 6)}f}"


def span(seconds: float) -> str:
    """Return a length of time in seconds, minutes or hours."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def count(number: int, noun: str) -> str:
    """Return ``1 shape``, ``2 shapes``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(words: Iterable[str], link: str = "and", most: int | None = None) -> str:
    """Return ``a``, ``a and b``, ``a, b and c``; of more than the ``most``, ``a, b and 2 more``."""
    *first, last = words
    if most is not None and len(first) >= most:
        first, last = first[:most], f"{len(first) + 1 - most} more"
    return f"{', '.join(first)} {link} {last}" if first else last


def some_of(names: Sequence[str], most: int = 3) -> str:
    """Return the first names, and how many more there are: ``a, b, c and 2 more``."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def printable(text: str) -> str:
    """Replace what would move the cursor or break a table; names come from files of any origin."""
    # Python calls the no-break space unprintable; it ties numbers to their units.
    return "".join(character if character.isprintable() or character == "\xa0" else "?" for character in text)


def one_line(text: str) -> str:
    """Return a message as one line for a terminal, without the middle of very long words or texts."""
    line = " ".join(row.strip() for row in text.splitlines())
    line = re.sub(rf"\S{{{_LONGEST_WORD + 1},}}", lambda word: f"{word[0][:80]}...{word[0][-40:]}", line)
    return printable(line if len(line) <= 2000 else f"{line[:1200]} ... {line[-600:]}")


def most_frequent(texts: Iterable[str]) -> str:
    """Return the most frequent text that is not empty, of equals the first; empty if there is none."""
    counts = Counter(filter(None, texts))
    return max(counts, key=counts.__getitem__, default="")


def shell_path(path: object) -> str:
    """Return a path as a word of a command for a shell, which never looks like an option."""
    return shlex.quote(f"./{path}" if str(path).startswith("-") else str(path))


def import_command(
    path: Path, *, importer: str = "", options: str = "", run: bool = False, below: str = ""
) -> str:
    """Return the command that imports a file, or those below a folder, maybe as runs; for a shell."""
    files = f"{'--run NAME=' * run}{shell_path(f'{path}{below}')}"
    stem = path.stem.strip(".") if path.suffix != ".nc" else ""  # not the name of what is read
    dataset = shell_path((stem or "imported") + ".nc")
    return " ".join(filter(None, ("abtune import", importer, files, options, f"--out {dataset}")))


def shown(value: object) -> str:
    """Return a value that may be anything as part of a line."""
    return " ".join(reprlib.repr(value).split())


def shortened(value: object, most: int = 40) -> str:
    """Return a value as text for a message, cut to a length that a line can hold."""
    text = str(value)
    return text if len(text) <= most else f"{text[: most - 3]}..."
