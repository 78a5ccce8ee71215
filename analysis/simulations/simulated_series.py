"""Simulated series of timings of one process: how often intervals of their mean hold, and warnings."""

from __future__ import annotations

import made_up_noise  # noqa: F401 (finds the modules beside the tests)
import numpy as np
from noise_kinds import Array, Noise
from scipy import stats
from series_kinds import SERIES
from simulated_reports import table

from abtune.sections.raw_timings import WORTH_TOO_LITTLE
from abtune.stats.time_series import cosine_mean, independent_worth

LEVEL = 0.95
COVERED, WARNED = (10, 50, 200), (20, 50, 200)


def drawn(noise: Noise, n: int, replications: int) -> Array:
    """Draw series of n timings."""
    return noise(np.random.default_rng([4, n]), (replications, n))


def covered(series: Array) -> str:
    """Return the share of intervals that hold the true mean, zero: of independent values, then by cosines."""
    plain = stats.ttest_1samp(series, 0, axis=-1).pvalue > 1 - LEVEL
    estimate = cosine_mean(series)
    half = estimate.half_width(LEVEL)
    own = stats.t(series.shape[-1] - 1).ppf(0.5 + LEVEL / 2) * stats.sem(series, axis=-1)
    held = np.abs(estimate.difference) <= half
    return f"{100 * plain.mean():.1f}, {100 * held.mean():.1f} ({(half / own).mean():.1f})"


def series_table(replications: int) -> str:
    """Lay out coverage of both intervals, the ratio of their widths, and warnings, by kind of series."""
    rows = []
    for name, noise in SERIES.items():
        row = [name, *(covered(drawn(noise, n, replications)) for n in COVERED)]
        for n in WARNED:
            worth = map(independent_worth, drawn(noise, n, replications // 10))
            row.append(f"{100 * np.mean([value < WORTH_TOO_LITTLE for value in worth]):.0f}")
        rows.append(row)
    heads = [f"holds, {n} timings" for n in COVERED] + [f"warned, {n} timings" for n in WARNED]
    return table(["series", *heads], rows)
