"""The default interval: an expanded percentile bootstrap, computed instead of sampled."""

from __future__ import annotations

import numpy as np
from scipy import special

from abtune.stats.estimates import (
    FEWEST_FOR_BOOTSTRAP,
    Interval,
    quantile,
    standard_error,
    welch,
)
from abtune.stats.intervals.bootstrap import both_smoothings, error_quantiles
from abtune.stats.two_sample import TwoSample

# With fewer seeds on either side the interval is at least as wide as Welch's.
_ENOUGH_FOR_BOOTSTRAP_ALONE = 10
_ENOUGH_PAIRS = 20  # which have about as many degrees of freedom


def expanded_percentile(samples: TwoSample, *, level: float) -> Interval:
    """Return the default interval: the percentile bootstrap with its tails moved outwards.

    The percentiles are at Phi(-e t) instead of alpha/2 (Hesterberg 2015, DOI
    10.1080/00031305.2015.1089789). e is the ratio of Welch's standard error to the bootstrap's, and t has
    Welch's degrees of freedom. A normal error makes up for a sample that varies less than its
    measurement. With fewer than ten seeds on either side, or 20 pairs, it is the hull of this interval
    and Welch's; below five it is Welch's.
    """
    estimate = standard_error(samples)
    closed = welch(samples, level=level)
    low, high = closed.low.copy(), closed.high.copy()
    enough = _ENOUGH_PAIRS if samples.paired else _ENOUGH_FOR_BOOTSTRAP_ALONE
    for group in samples.groups(at_least=FEWEST_FOR_BOOTSTRAP):
        index, (variances, _) = group.index, both_smoothings(group)
        own = np.sqrt(variances.sum(axis=0))
        expansion = np.where(own > 0, estimate.error[index] / np.where(own > 0, own, 1.0), 1.0)
        tail = special.ndtr(-expansion * quantile(estimate.freedom[index], level))
        errors = error_quantiles(group, np.stack([tail, tail], axis=1))
        bounds = closed.difference[index] + errors[0], closed.difference[index] + errors[1]
        if min(group.first.shape[1], group.second.shape[1]) < enough:
            bounds = np.minimum(bounds[0], low[index]), np.maximum(bounds[1], high[index])
        low[index], high[index] = bounds
    return Interval(difference=closed.difference, low=low, high=high)
