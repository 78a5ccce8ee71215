"""Simulated series of timings of one process: intervals of their mean, flags, and worth."""

from __future__ import annotations

import made_up_noise  # noqa: F401 (finds the modules beside the tests)
import numpy as np
from noise_kinds import Array, Noise
from series_kinds import SERIES, autoregressive
from simulated_reports import table

from abtune.stats.time_series import (
    MeanEstimate,
    autocorrelations,
    cosine_mean,
    default_lags,
    half_width,
    independent_mean,
    integrated_time,
    ljung_box,
)

LEVEL, ALPHA = 0.95, 0.05
COVERED, FLAGGED = (10, 50, 200), (50, 200)
CORRELATIONS, WITHIN = (-0.6, -0.3, 0.0, 0.3, 0.6, 0.9), 1.5


def drawn(noise: Noise, n: int, replications: int) -> Array:
    """Draw series of n timings."""
    return noise(np.random.default_rng([4, n]), (replications, n))


def covered(estimate: MeanEstimate) -> float:
    """Return the share of intervals that hold the true mean, zero."""
    return float(np.mean(np.abs(estimate.mean) <= half_width(estimate, level=LEVEL)))


def flagged(series: Array) -> float:
    """Return the share of series that Ljung and Box's test calls dependent at 5 %, uncorrected."""
    p = ljung_box(autocorrelations(series), lags=default_lags(series.shape[1]))
    return float(np.mean(p <= ALPHA))


def series_table(replications: int) -> str:
    """Lay out coverage of both intervals, the ratio of their widths, and the flags, by kind of series."""
    rows = []
    for name, noise in SERIES.items():
        row = [name]
        for n in COVERED:
            series = drawn(noise, n, replications)
            plain, cosines = independent_mean(series), cosine_mean(series)
            wider = half_width(cosines, level=LEVEL) / half_width(plain, level=LEVEL)
            row.append(f"{100 * covered(plain):.1f}, {100 * covered(cosines):.1f} ({wider.mean():.1f})")
        for n in FLAGGED:
            row.append(f"{100 * flagged(drawn(noise, n, replications)):.0f}")
        rows.append(row)
    heads = [f"holds, {n} timings" for n in COVERED] + [f"flagged, {n} timings" for n in FLAGGED]
    return table(["series", *heads], rows)


def true_worth(correlation: float, n: int) -> float:
    """Return how many independent values have a mean as precise as n of an autoregression."""
    lag = np.arange(1, n)
    return float(n / (1 + 2 * ((1 - lag / n) * correlation**lag).sum()))


def worth_table(replications: int) -> str:
    """Lay out what autoregressive series are worth, and what is reported of it."""
    rows = []
    for correlation in CORRELATIONS:
        row = [f"{correlation:g}"]
        for n in FLAGGED:
            truth = true_worth(correlation, n)
            series = drawn(autoregressive(correlation), n, replications)
            found = n / integrated_time(autocorrelations(series))
            low, median, high = np.quantile(found, (0.1, 0.5, 0.9))
            close = np.mean(np.abs(np.log(found / truth)) <= np.log(WITHIN))
            row += [f"{truth:.1f}", f"{median:.1f} ({low:.1f} to {high:.1f})", f"{100 * close:.0f}"]
        rows.append(row)
    heads = [f"{n} timings: {what}" for n in FLAGGED for what in ("true", "reported", f"within {WITHIN:g}")]
    return table(["correlation", *heads], rows)
