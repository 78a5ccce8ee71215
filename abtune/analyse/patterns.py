"""What series of timings show beside their level: dependence, a period, a change of level.

These tests are about the shape of a series and nothing else: no p-value here says that anything is faster.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from abtune.analyse.wording import count, p_value, percent
from abtune.stats.autocorrelation import (
    autocorrelations,
    default_lags,
    integrated_time,
    least_time,
    ljung_box,
)
from abtune.stats.multiplicity import holm
from abtune.stats.patterns import Change, Period, level_change, strongest_period
from abtune.stats.ragged import Floats

# Below this the tests can show next to nothing, corrected for several series.
ENOUGH_FOR_PATTERNS = 20
_LAGS_SHOWN = 10
# Autoregressive series worth fewer independent timings have intervals that hold in some 80 of 100 cases.
_WORTH_TOO_LITTLE = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """What a series shows beside its level; every p-value is about the series' own shape.

    Attributes
    ----------
    autocorrelation : tuple of float
        At lags 1, 2, ..., 10.
    effective : float
        How many independent timings the series is worth: its length over its integrated autocorrelation time.
    effective_capped : bool
        Whether that is the most that so many timings can show, so that they may be worth more.
    lags : int
        How many the test of dependence looks at.
    dependence_p, dependence_p_adjusted : float
        Ljung and Box's test that timings do not depend on each other, raw and by Holm over the series shown.
    period : float
        The strongest one, in timings; one as long as the series is a slow drift.
    period_p, period_p_adjusted : float
        Fisher's test that none is so strong, likewise.
    shift_after : int
        Timings before the most likely change of level.
    shift : float
        Median after it over that before it, minus 1.
    shift_p, shift_p_adjusted : float
        Pettitt's test that there is no such change, likewise.
    """

    autocorrelation: tuple[float, ...]
    effective: float
    effective_capped: bool
    lags: int
    dependence_p: float
    dependence_p_adjusted: float
    period: float
    period_p: float
    period_p_adjusted: float
    shift_after: int
    shift: float
    shift_p: float
    shift_p_adjusted: float


def find_patterns(series: Sequence[Floats]) -> tuple[Pattern | None, ...]:
    """Look at series of log seconds, and correct each kind of test for their number.

    None stands for a series that is too short, or constant.
    """
    found = [_look(logs) for logs in series]
    p = np.array([[math.nan] * 3 if seen is None else seen.p for seen in found]).reshape(-1, 3)
    adjusted = np.stack([holm(kind) for kind in p.T], axis=1)
    return tuple(
        None if seen is None else _pattern(logs, seen, row)
        for logs, seen, row in zip(series, found, adjusted, strict=True)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What the tests of one series say: raw."""

    correlations: Floats
    lags: int
    dependence_p: float
    period: Period
    change: Change

    @property
    def p(self) -> list[float]:
        return [self.dependence_p, float(self.period.p), float(self.change.p)]


def _look(logs: Floats) -> _Seen | None:
    if len(logs) < ENOUGH_FOR_PATTERNS or logs.max() == logs.min():
        return None
    correlations, lags = autocorrelations(logs), default_lags(len(logs))
    return _Seen(
        correlations=correlations,
        lags=lags,
        dependence_p=float(ljung_box(correlations, lags=lags)),
        period=strongest_period(logs),
        change=level_change(logs),
    )


def _pattern(logs: Floats, seen: _Seen, adjusted: Floats) -> Pattern:
    after, n, time = int(seen.change.after), len(logs), float(integrated_time(seen.correlations))
    return Pattern(
        autocorrelation=tuple(seen.correlations[1 : _LAGS_SHOWN + 1].tolist()),
        effective=n / time,
        effective_capped=time <= least_time(n),
        lags=seen.lags,
        dependence_p=seen.dependence_p,
        dependence_p_adjusted=float(adjusted[0]),
        period=float(seen.period.length),
        period_p=float(seen.period.p),
        period_p_adjusted=float(adjusted[1]),
        shift_after=after,
        shift=math.expm1(np.median(logs[after:]) - np.median(logs[:after])),
        shift_p=float(seen.change.p),
        shift_p_adjusted=float(adjusted[2]),
    )


def about_pattern(pattern: Pattern, n: int, alpha: float) -> Iterator[str]:
    """Say what was found in a series of n timings, at the level alpha."""
    if pattern.dependence_p_adjusted <= alpha:
        yield (
            f"Timings depend on those before them (Ljung-Box over {count(pattern.lags, 'lag')}, adjusted p "
            f"{p_value(pattern.dependence_p_adjusted)}); the interval allows for it."
        )
    if pattern.effective < _WORTH_TOO_LITTLE:
        yield (
            f"{n} timings are worth {pattern.effective:.0f} independent ones. Where they hang together for "
            "so long, some 80 of 100 intervals hold in place of 95."
        )
    if pattern.period_p_adjusted <= alpha:
        what = (
            "drift slowly over the whole series (Fisher's g at the lowest frequency"
            if pattern.period == n
            else f"have a period of {pattern.period:.1f} timings (Fisher's g"
        )
        yield f"Timings {what}, adjusted p {p_value(pattern.period_p_adjusted)})."
    if pattern.shift_p_adjusted <= alpha:
        yield (
            f"The level changes after timing {pattern.shift_after} (Pettitt, adjusted p "
            f"{p_value(pattern.shift_p_adjusted)}): the median is {percent(abs(pattern.shift))} "
            f"{'higher' if pattern.shift > 0 else 'lower'} from there on, and the mean lies between."
        )
