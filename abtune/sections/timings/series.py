"""One series of consecutive timings of one process: its mean, its interval, and how far timings depend."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from abtune.stats.testing.step_procedures import holm
from abtune.stats.time_series import (
    autocorrelations,
    cosine_mean,
    default_lags,
    half_width,
    independent_mean,
    integrated_time,
    least_time,
    ljung_box,
)
from abtune.stats.two_sample import Floats
from abtune.text import count, percent

# With fewer timings the test shows next to nothing, corrected for several series.
ENOUGH_FOR_PATTERNS = 20
_LAGS_SHOWN = 10
# Autoregressive series worth fewer independent timings have intervals that hold in some 80 of 100 cases.
_WORTH_TOO_LITTLE = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """What a series shows beside its level; the p-values are about the form of the series."""

    autocorrelation: tuple[float, ...]  # at lags 1, 2, ..., 10
    # independent timings that the series is worth: n over its integrated autocorrelation time
    effective: float
    effective_capped: bool  # whether this is the most that n timings can show
    lags: int  # that the test of dependence covers
    dependence_p: float  # Ljung and Box's test that timings are independent
    dependence_p_adjusted: float = math.nan  # by Holm over the series shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """What was measured in one round of one process."""

    shape: str
    config: str
    round: int
    logs: Floats  # log seconds in the order of time
    gaps: int  # timings that are missing between others


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """The timings of one process in one round, described."""

    shape: str
    config: str
    round: int
    n: int
    mean: float  # geometric, seconds; low and high are its interval for this process
    low: float
    high: float
    median: float
    half_width: float  # of the interval on logs
    half_width_independent: float  # of the interval that assumes independent timings
    freedom: int  # degrees of freedom of the interval
    slowest: float  # the slowest timing over the median, minus 1
    slowest_at: int  # which timing that is, from 1
    pattern: Pattern | None  # None where there are too few timings, or all are equal
    caveats: tuple[str, ...]


def describe_series(timed: Sequence[Timed], *, level: float) -> tuple[Series, ...]:
    """Return descriptions of series of at least two timings; p-values are corrected for their number."""
    patterns = [_pattern(each.logs) for each in timed]
    adjusted = holm([math.nan if pattern is None else pattern.dependence_p for pattern in patterns])
    return tuple(
        _described(each, pattern and replace(pattern, dependence_p_adjusted=p), level)
        for each, pattern, p in zip(timed, patterns, adjusted.tolist(), strict=True)
    )


def _pattern(logs: Floats) -> Pattern | None:
    """Return what a series shows; None for one that is too short, or constant."""
    n = len(logs)
    if n < ENOUGH_FOR_PATTERNS or logs.max() == logs.min():
        return None
    correlations, lags = autocorrelations(logs), default_lags(n)
    time = float(integrated_time(correlations))
    return Pattern(
        autocorrelation=tuple(correlations[1 : _LAGS_SHOWN + 1].tolist()),
        effective=n / time,
        effective_capped=time <= least_time(n),
        lags=lags,
        dependence_p=float(ljung_box(correlations, lags=lags)),
    )


def _described(timed: Timed, pattern: Pattern | None, level: float) -> Series:
    logs = timed.logs
    estimate = cosine_mean(logs)
    mean, median = float(estimate.mean), float(np.median(logs))
    half, plain = (float(half_width(found, level=level)) for found in (estimate, independent_mean(logs)))
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
        half_width_independent=plain,
        freedom=estimate.freedom,
        slowest=math.expm1(logs.max() - median),
        slowest_at=int(logs.argmax()) + 1,
        pattern=pattern,
        caveats=tuple(_caveats(timed, estimate.freedom, pattern)),
    )


def _caveats(timed: Timed, freedom: int, pattern: Pattern | None) -> Iterator[str]:
    n, different = len(timed.logs), len(np.unique(timed.logs))
    over_median = timed.logs - np.median(timed.logs)
    if n < ENOUGH_FOR_PATTERNS:
        yield (
            f"{n} timings are few: the interval has {count(freedom, 'degree')} of freedom, and dependence is "
            "not tested."
        )
    if timed.gaps:
        yield f"{count(timed.gaps, 'timing')} missing between others, which count as consecutive."
    if different == 1:
        yield f"All {n} timings agree exactly. Differences below the resolution of the clock are not seen."
    elif different <= n / 2:
        yield f"Only {different} values among {n} timings: the interval ignores the resolution of the clock."
    if len(over_median) >= ENOUGH_FOR_PATTERNS and (over_median[1:] < over_median[0]).all():
        slow = percent(math.expm1(over_median[0]))
        yield f"The first timing is the slowest, {slow} over the median: perhaps not warmed up. It counts."
    if pattern is not None and pattern.effective < _WORTH_TOO_LITTLE:
        yield (
            f"{n} timings are worth {pattern.effective:.0f} independent ones. With so much dependence, 95% "
            "intervals cover about 80%."
        )
