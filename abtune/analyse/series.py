"""One series of consecutive timings of one process: its mean, its interval, and what it shows beside them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from abtune.analyse.wording import count, p_value, percent
from abtune.stats.autocorrelation import autocorrelations, default_lags, integrated_time, ljung_box
from abtune.stats.long_run import cosine_mean, half_width, independent_mean
from abtune.stats.multiplicity import holm
from abtune.stats.patterns import Change, Period, level_change, strongest_period
from abtune.stats.ragged import Floats

# Below this the tests of a pattern can show next to nothing, corrected for several series.
ENOUGH_FOR_PATTERNS = 20
_LAGS_SHOWN = 10
# Autoregressive series worth fewer independent timings have intervals that hold in some 80 of 100 cases.
_WORTH_TOO_LITTLE = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """What was measured in one round of one process.

    Attributes
    ----------
    shape, config : str
        What was timed.
    round : int
        Its number in the dataset.
    logs : ndarray, shape (n,), log seconds
        Timings in the order in which they were made.
    gaps : int
        Timings that are missing between others.
    """

    shape: str
    config: str
    round: int
    logs: Floats
    gaps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """What a series shows beside its level; every p-value is about the series' own shape.

    Attributes
    ----------
    autocorrelation : tuple of float
        At lags 1, 2, ..., 10.
    effective : float
        How many independent timings the series is worth: its length over its integrated autocorrelation time.
    lags : int
        How many the test of dependence looks at.
    dependence_p, dependence_p_adjusted : float
        Ljung and Box's test that timings do not depend on each other, raw and by Holm over the series shown.
    period : float
        The strongest one, in timings.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """The timings of one process in one round, described.

    Attributes
    ----------
    shape, config : str
        What was timed.
    round : int
        Its number in the dataset.
    n : int
        Timings.
    mean, low, high : float
        Geometric mean with its interval for this process, seconds.
    median : float
        Seconds.
    half_width, half_width_independent : float
        Of the interval on logs, and of the one that takes the timings for independent.
    freedom : int
        Degrees of freedom of the interval.
    slowest : float
        The slowest timing over the median, minus 1.
    slowest_at : int
        Its place, from 1.
    pattern : Pattern or None
        None where there are too few timings, or all are equal.
    caveats : tuple of str
        What weakens the interval and what the tests found, each one sentence.
    """

    shape: str
    config: str
    round: int
    n: int
    mean: float
    low: float
    high: float
    median: float
    half_width: float
    half_width_independent: float
    freedom: int
    slowest: float
    slowest_at: int
    pattern: Pattern | None
    caveats: tuple[str, ...]


def describe_series(timed: Sequence[Timed], *, level: float) -> tuple[Series, ...]:
    """Describe series of at least two timings that are shown together, and corrected for being several."""
    found = [_look(each.logs) for each in timed]
    p = np.array([[math.nan] * 3 if seen is None else seen.p for seen in found]).reshape(-1, 3)
    adjusted = np.stack([holm(kind) for kind in p.T], axis=1)
    return tuple(
        _describe(each, None if seen is None else _pattern(each.logs, seen, row), level)
        for each, seen, row in zip(timed, found, adjusted, strict=True)
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
    after = int(seen.change.after)
    return Pattern(
        autocorrelation=tuple(seen.correlations[1 : _LAGS_SHOWN + 1].tolist()),
        effective=len(logs) / float(integrated_time(seen.correlations)),
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


def _describe(timed: Timed, pattern: Pattern | None, level: float) -> Series:
    logs = timed.logs
    estimate = cosine_mean(logs)
    mean, median = float(estimate.mean), float(np.median(logs))
    half = float(half_width(estimate, level=level))
    pulled = mean - median if abs(mean - median) > half else 0.0
    return Series(
        shape=timed.shape,
        config=timed.config,
        round=timed.round,
        n=len(logs),
        mean=math.exp(mean),
        low=math.exp(mean - half),
        high=math.exp(mean + half),
        median=math.exp(median),
        half_width=half,
        half_width_independent=float(half_width(independent_mean(logs), level=level)),
        freedom=estimate.freedom,
        slowest=math.expm1(logs.max() - median),
        slowest_at=int(logs.argmax()) + 1,
        pattern=pattern,
        caveats=(
            *_about_values(timed, estimate.freedom),
            *_about_mean(pulled),
            *_about_first(logs - median),
            *(() if pattern is None else _about_pattern(pattern, len(logs), round(1 - level, 12))),
        ),
    )


def _about_values(timed: Timed, freedom: int) -> Iterator[str]:
    n, different = len(timed.logs), len(np.unique(timed.logs))
    if n < ENOUGH_FOR_PATTERNS:
        yield (
            f"{n} timings are few: the interval has {count(freedom, 'degree')} of freedom, and dependence, "
            "periods and shifts are not looked for."
        )
    if timed.gaps:
        yield f"{count(timed.gaps, 'timing')} missing between others; the rest are taken for consecutive."
    if different == 1:
        yield f"All {n} timings agree exactly; differences below the resolution of the clock are unseen."
    elif different <= n / 2:
        yield f"Only {different} values among {n} timings: the interval ignores the resolution of the clock."


def _about_mean(pulled: float) -> Iterator[str]:
    """Say where the mean is off the median by more than its interval allows; ``pulled`` is by how much."""
    if pulled:
        side, kind = ("above", "slow") if pulled > 0 else ("below", "fast")
        yield (
            f"The mean is {percent(math.expm1(abs(pulled)))} {side} the median, more than half of its "
            f"interval: a few {kind} timings decide it."
        )


def _about_first(over_median: Floats) -> Iterator[str]:
    if len(over_median) >= ENOUGH_FOR_PATTERNS and (over_median[1:] < over_median[0]).all():
        slow = percent(math.expm1(over_median[0]))
        yield f"The first timing is the slowest, {slow} over the median: not warm, perhaps. It is counted."


def _about_pattern(pattern: Pattern, n: int, alpha: float) -> Iterator[str]:
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
        yield (
            f"Timings have a period of {pattern.period:.1f} timings (Fisher's g, adjusted p "
            f"{p_value(pattern.period_p_adjusted)})."
        )
    if pattern.shift_p_adjusted <= alpha:
        yield (
            f"The level changes after timing {pattern.shift_after} (Pettitt, adjusted p "
            f"{p_value(pattern.shift_p_adjusted)}): the median is {percent(abs(pattern.shift))} "
            f"{'higher' if pattern.shift > 0 else 'lower'} from there on, and the mean lies between."
        )
