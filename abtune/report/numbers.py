"""Numbers as people write them: percent, p-values, and the way back from a percentage to a fraction.

abtune computes with fractions throughout. The numbers of tables become percent here, those of an analysis's
own sentences in ``abtune.analyse.wording``; a percent that is typed becomes a fraction only here.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from decimal import Decimal

from abtune.errors import InputError

# What stands in a cell for a number that does not exist.
NOTHING = "-"


def to_fraction(text: str) -> float:
    """Turn a percentage as typed (``"95"``, ``"99.9"``, ``"2%"``) into a fraction.

    The division is decimal: 99.9 becomes 0.999, not 0.9990000000000001.

    Raises
    ------
    InputError
        If the text is not a finite number.
    """
    try:
        fraction = Decimal(text.strip().removesuffix("%")) / 100
    except ArithmeticError:
        raise InputError(f"{text!r} is not a number") from None
    if not fraction.is_finite():
        raise InputError(f"{text!r} is not a finite number")
    return float(fraction)


def percent(fraction: float, decimals: int, *, signed: bool = True) -> str:
    """Write a fraction in percent, without the unit; ``-`` for NaN, and no sign on what rounds to zero."""
    if math.isnan(fraction):
        return NOTHING
    digits = f"{100 * fraction:z.{decimals}f}"
    return f"+{digits}" if signed and float(digits) > 0 else digits


def plain_percent(fraction: float) -> str:
    """Write a setting such as a level of 0.95 or a margin of 0.02 as it was typed: ``95%``, ``2%``."""
    return f"{100 * fraction:.6g}%"


def spread_percent(spread: float) -> str:
    """Write a standard deviation in percent, without the unit, with the two digits that it deserves."""
    if not math.isfinite(spread):
        return NOTHING
    decimals = 2 if spread <= 0 else 1 - math.floor(math.log10(100 * spread))
    return percent(spread, min(max(decimals, 0), 2), signed=False)


def microseconds(seconds: float) -> str:
    """Write a time in microseconds, without the unit, with four digits or all before the point."""
    if not math.isfinite(seconds):
        return NOTHING
    value = 1e6 * seconds
    decimals = 3 - math.floor(math.log10(value)) if value > 0 else 0
    return f"{value:,.{min(max(decimals, 0), 6)}f}"


def p_value(p: float) -> str:
    """Write a p-value with four decimals; below that ``<0.0001``, never 0."""
    if math.isnan(p):
        return NOTHING
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"


def boost_decimals(half_widths: Iterable[float]) -> int:
    """Choose how many decimals the boosts of one report deserve, in percent.

    Parameters
    ----------
    half_widths : iterable of float
        Half of each interval's width, as fractions; NaN where there is no interval.

    Returns
    -------
    int
        One when the typical interval is wider than 1 % either side, two below that or without any interval,
        three when it is narrower than 0.1 %.
    """
    known = [width for width in half_widths if math.isfinite(width)]
    if not known:
        return 2
    typical = statistics.median(known)
    if typical >= 0.01:
        return 1
    return 2 if typical >= 0.001 else 3
