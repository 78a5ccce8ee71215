"""Intervals and the scale on which they are drawn: wide enough for most, whatever a few do.

One interval from -90 to +900 % would squeeze all others into a point. So a scale follows what three quarters
of the limits need. What goes on beyond it is drawn up to the edge, with an arrow. No number is ever clipped.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from abtune.compare.settings import margin_ends

NAN = math.nan
# How far a scale may go for a limit and for a boost, in multiples of what three quarters of the limits need.
_LIMITS, _BOOSTS = 3, 10
# The end of a scale for its largest boost, in multiples of the boost.
_AROUND = 1.3
_AIR = 0.04  # the share of a scale beyond each end


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A boost and its interval as numbers; fractions, NaN where there is none."""

    low: float
    value: float
    high: float
    wide_low: float = NAN  # a wider interval behind this one, such as the simultaneous one
    wide_high: float = NAN
    tone: str = ""  # a verdict, overall, or empty: the colour and the shape of the marker

    @property
    def wide(self) -> bool:
        """Whether there is a wider interval."""
        return self.wide_low <= self.wide_high  # False if both are NaN


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The ends of an axis of boosts, and the margin marked on it; fractions. A margin of 0 is not marked."""

    low: float
    high: float
    margin: float

    def holds(self, value: float) -> bool:
        """Return whether a value can be drawn; NaN cannot."""
        return self.low <= value <= self.high

    def share(self, value: float) -> float:
        """Return how far along the axis a value is: 0 at its low end, 1 at its high end."""
        return (value - self.low) / (self.high - self.low)

    def clip(self, value: float) -> float:
        """Return the nearest value on the scale; NaN stays NaN."""
        return min(max(value, self.low), self.high) if not math.isnan(value) else NAN


def choose_scale(intervals: Sequence[Interval], *, margin: float, further: Iterable[float] = ()) -> Scale:
    """Return a scale for intervals and further boosts, all fractions; wider intervals may go on beyond it."""
    boosts = _finite([*(row.value for row in intervals), *further])
    limits = _finite([limit for row in intervals for limit in (row.low, row.high)]) + boosts
    far = sorted(map(abs, limits))
    usual = far[math.ceil(0.75 * len(far)) - 1] if far else 0.0  # what three quarters of the limits need
    sizes = (_AROUND * abs(boost) for boost in boosts)
    most = max([_LIMITS * usual, *(size for size in sizes if size <= _BOOSTS * usual)])
    slow, fast = margin_ends(margin)
    low = min(slow, max(min(limits, default=0.0), -most))
    # At least one percent wide, or share() would divide by zero.
    high = max(fast, min(max(limits, default=0.0), most), low + 0.01)
    air = _AIR * (high - low)
    # No boost is below -100 %.
    return Scale(low=max(low - air, -1.0), high=high + air, margin=margin)


def clipped(interval: Interval, scale: Scale) -> Interval:
    """Return the part of an interval that lies on a scale; an estimate beyond it becomes NaN."""
    limits = interval.low, interval.high, interval.wide_low, interval.wide_high
    known = not (math.isnan(interval.low) or math.isnan(interval.high))
    low, high, wide_low, wide_high = (scale.clip(limit) if known else NAN for limit in limits)
    value = interval.value if scale.holds(interval.value) else NAN
    return replace(interval, low=low, value=value, high=high, wide_low=wide_low, wide_high=wide_high)


def goes_on(interval: Interval, scale: Scale) -> dict[str, bool]:
    """Return whether an interval, a wider one or the estimate goes on ``below`` a scale, and ``above`` it."""
    lows = interval.low, interval.wide_low, interval.value
    highs = interval.high, interval.wide_high, interval.value
    return {
        "below": any(value < scale.low for value in lows),
        "above": any(value > scale.high for value in highs),
    }


def ticks(scale: Scale, most: int) -> tuple[float, ...]:
    """Return up to ``most`` multiples of 1, 2 or 5 times a power of ten; from ``most`` 5 on, two or more."""
    least = (scale.high - scale.low) / most
    power = 10.0 ** math.floor(math.log10(least))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least)
    multiples = range(math.ceil(scale.low / step), math.floor(scale.high / step) + 1)
    # Without rounding, 3 * 0.1 is 0.30000000000000004.
    return tuple(round(multiple * step, 15) for multiple in multiples)


def _finite(values: Sequence[float]) -> list[float]:
    return [value for value in values if math.isfinite(value)]
