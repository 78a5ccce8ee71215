"""What series of timings show beside their level: how much timings depend on those before them.

The test is about the form of a series. It never says that one configuration is faster than another.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from abtune.stats.series.autocorrelation import (
    autocorrelations,
    default_lags,
    integrated_time,
    least_time,
    ljung_box,
)
from abtune.stats.testing.step_procedures import holm
from abtune.stats.two_sample import Floats
from abtune.text import count, p_value

# With fewer timings the test shows next to nothing, corrected for several series.
ENOUGH_FOR_PATTERNS = 20
_LAGS_SHOWN = 10
# Autoregressive series worth fewer independent timings have intervals that hold in some 80 of 100 cases.
_WORTH_TOO_LITTLE = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """What a series shows beside its level; the p-values are about the form of the series.

    Attributes
    ----------
    autocorrelation : tuple of float
        At lags 1, 2, ..., 10.
    effective : float
        How many independent timings the series is worth: its length over its integrated autocorrelation time.
    effective_capped : bool
        Whether that is the most that this number of timings can show. They may then be worth more.
    lags : int
        Number of lags that the test of dependence covers.
    dependence_p, dependence_p_adjusted : float
        Ljung and Box's test that timings are independent: raw, and by Holm over the series shown.
    """

    autocorrelation: tuple[float, ...]
    effective: float
    effective_capped: bool
    lags: int
    dependence_p: float
    dependence_p_adjusted: float


def find_patterns(series: Sequence[Floats]) -> tuple[Pattern | None, ...]:
    """Return the patterns of series of log seconds, p-values corrected for the number of series.

    None stands for a series that is too short, or constant.
    """
    tested = [_test(logs) for logs in series]
    adjusted = holm([math.nan if test is None else test.p for test in tested])
    return tuple(
        None if test is None else _pattern(len(logs), test, float(p))
        for logs, test, p in zip(series, tested, adjusted, strict=True)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dependence:
    """Autocorrelations of one series, with the p-value of their test."""

    correlations: Floats
    lags: int
    p: float


def _test(logs: Floats) -> _Dependence | None:
    if len(logs) < ENOUGH_FOR_PATTERNS or logs.max() == logs.min():
        return None
    correlations, lags = autocorrelations(logs), default_lags(len(logs))
    return _Dependence(correlations=correlations, lags=lags, p=float(ljung_box(correlations, lags=lags)))


def _pattern(n: int, test: _Dependence, p_adjusted: float) -> Pattern:
    time = float(integrated_time(test.correlations))
    return Pattern(
        autocorrelation=tuple(test.correlations[1 : _LAGS_SHOWN + 1].tolist()),
        effective=n / time,
        effective_capped=time <= least_time(n),
        lags=test.lags,
        dependence_p=test.p,
        dependence_p_adjusted=p_adjusted,
    )


def about_pattern(pattern: Pattern, n: int, alpha: float) -> Iterator[str]:
    """Yield sentences on a series of n timings, from tests at the level alpha."""
    if pattern.dependence_p_adjusted <= alpha:
        yield (
            f"Timings depend on those before them (Ljung-Box over {count(pattern.lags, 'lag')}, adjusted p "
            f"{p_value(pattern.dependence_p_adjusted)}); the interval allows for it."
        )
    if pattern.effective < _WORTH_TOO_LITTLE:
        yield (
            f"{n} timings are worth {pattern.effective:.0f} independent ones. At a dependence this long, "
            "intervals hold in about 80 of 100 cases instead of 95."
        )
