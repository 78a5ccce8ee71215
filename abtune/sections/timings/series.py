"""One series of consecutive timings of one process: its mean, its interval, and what it shows beside them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from abtune.compare.settings import alpha_of
from abtune.sections.timings.patterns import ENOUGH_FOR_PATTERNS, Pattern, about_pattern, find_patterns
from abtune.stats.series.long_run import cosine_mean, half_width, independent_mean
from abtune.stats.two_sample import Floats
from abtune.text import count, percent

# Means and medians of logs that are closer than this differ by rounding.
_ROUNDING = 1e-12


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
    patterns = find_patterns([each.logs for each in timed])
    return tuple(_describe(each, pattern, level) for each, pattern in zip(timed, patterns, strict=True))


def _describe(timed: Timed, pattern: Pattern | None, level: float) -> Series:
    logs = timed.logs
    estimate = cosine_mean(logs)
    mean, median = float(estimate.mean), float(np.median(logs))
    half, plain = (float(half_width(found, level=level)) for found in (estimate, independent_mean(logs)))
    pulled = mean - median if abs(mean - median) > max(half, plain, _ROUNDING) else 0.0
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
        caveats=(
            *_about_values(timed, estimate.freedom),
            *_about_mean(pulled),
            *_about_first(logs - median),
            *(() if pattern is None else about_pattern(pattern, len(logs), alpha_of(level))),
        ),
    )


def _about_values(timed: Timed, freedom: int) -> Iterator[str]:
    n, different = len(timed.logs), len(np.unique(timed.logs))
    if n < ENOUGH_FOR_PATTERNS:
        yield (
            f"{n} timings are few: the interval has {count(freedom, 'degree')} of freedom, and dependence is "
            "not tested."
        )
    if timed.gaps:
        yield (
            f"{count(timed.gaps, 'timing')} {'is' if timed.gaps == 1 else 'are'} missing between others; the "
            "rest are taken for consecutive."
        )
    if different == 1:
        yield f"All {n} timings agree exactly; differences below the resolution of the clock are unseen."
    elif different <= n / 2:
        yield f"Only {different} values among {n} timings: the interval ignores the resolution of the clock."


def _about_mean(pulled: float) -> Iterator[str]:
    """Say where the mean is off the median by more than either interval allows; ``pulled`` is by how much."""
    if pulled:
        side, kind = ("above", "slow") if pulled > 0 else ("below", "fast")
        yield (
            f"The mean is {percent(math.expm1(abs(pulled)))} {side} the median, more than half of its "
            f"interval: {kind} timings pull it away."
        )


def _about_first(over_median: Floats) -> Iterator[str]:
    if len(over_median) >= ENOUGH_FOR_PATTERNS and (over_median[1:] < over_median[0]).all():
        slow = percent(math.expm1(over_median[0]))
        yield f"The first timing is the slowest, {slow} over the median: not warm, perhaps. It is counted."
