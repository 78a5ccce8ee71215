"""The scale on which intervals are drawn: wide enough for most of them, whatever a few do.

One interval from -90 to +900 % would press all others into a point. A scale therefore follows what three
quarters of the ends need, and what goes on beyond it is drawn up to the edge, with an arrow. Numbers beside
a drawing are never clipped.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from abtune.analyse.comparison import Analysis

# An end may be so many times as far from zero as three quarters of the ends are, a boost farther.
_ENDS, _BOOSTS = 3, 10
# So much more room than a boost needs.
_AROUND = 1.3
_AIR = 0.04


class Bounded(Protocol):
    """A boost with its interval; fractions, NaN where there is none."""

    @property
    def boost(self) -> float:
        """The estimate."""

    @property
    def boost_low(self) -> float:
        """The lower end."""

    @property
    def boost_high(self) -> float:
        """The upper end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The ends of an axis of boosts, fractions."""

    low: float
    high: float

    def holds(self, value: float) -> bool:
        """Whether a value can be drawn; NaN cannot."""
        return self.low <= value <= self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """What of an interval lies on a scale.

    Attributes
    ----------
    low, high : float
        Ends of the part that can be drawn, fractions; NaN where there is no interval.
    below, above : bool
        Whether the interval goes on beyond the scale.
    boost : float
        The estimate; NaN if there is none or it is beyond the scale.
    """

    low: float
    high: float
    below: bool
    above: bool
    boost: float


def choose_scale(analysis: Analysis, further: Iterable[float] = ()) -> Scale:
    """Choose a scale for the shapes of an analysis, its overall boosts and further boosts.

    Zero and the margin are always on it. A decrease never goes below -100 %.
    """
    rows: Sequence[Bounded] = (
        *analysis.comparisons,
        analysis.overall.these_shapes,
        analysis.overall.shapes_like_these,
    )
    boosts = _finite([*(row.boost for row in rows), *further])
    ends = _finite([end for row in rows for end in (row.boost_low, row.boost_high)]) + boosts
    usual = _three_quarters(ends)
    sizes = (_AROUND * abs(boost) for boost in boosts)
    limit = max([_ENDS * usual, *(size for size in sizes if size <= _BOOSTS * usual)])
    slow, fast = margin_ends(analysis.margin)
    low = min(slow, max(min(ends, default=0.0), -limit))
    high = max(fast, min(max(ends, default=0.0), limit))
    air = _AIR * (high - low)
    return Scale(low=max(low - air, -1.0), high=high + air)


def margin_ends(margin: float) -> tuple[float, float]:
    """Return the boosts at the margin: a slowdown by the same ratio counts as equally large."""
    return 1 / (1 + margin) - 1, margin


def stretch(row: Bounded, scale: Scale) -> Stretch:
    """Cut an interval to a scale."""
    known = not (math.isnan(row.boost_low) or math.isnan(row.boost_high))
    return Stretch(
        low=min(max(row.boost_low, scale.low), scale.high) if known else math.nan,
        high=min(max(row.boost_high, scale.low), scale.high) if known else math.nan,
        below=row.boost_low < scale.low or row.boost < scale.low,
        above=row.boost_high > scale.high or row.boost > scale.high,
        boost=row.boost if scale.holds(row.boost) else math.nan,
    )


def ticks(scale: Scale, most: int) -> tuple[float, ...]:
    """Choose up to so many round boosts on a scale, zero among them; fractions."""
    return round_numbers(scale.low, scale.high, most)


def round_numbers(low: float, high: float, most: int) -> tuple[float, ...]:
    """Choose multiples of 1, 2 or 5 times a power of ten from one number to a larger one.

    There are at most so many, and at least two if that is five or more.
    """
    least = (high - low) / most
    power = 10.0 ** math.floor(math.log10(least))
    step = next(power * part for part in (1, 2, 5, 10) if power * part >= least)
    places = range(math.ceil(low / step), math.floor(high / step) + 1)
    return tuple(round(place * step, 15) for place in places)


def _finite(values: Sequence[float]) -> list[float]:
    return [value for value in values if math.isfinite(value)]


def _three_quarters(ends: Sequence[float]) -> float:
    """Return how far from zero the nearer three quarters of the ends go."""
    sizes = sorted(map(abs, ends))
    return sizes[math.ceil(0.75 * len(sizes)) - 1] if sizes else 0.0
