"""The default interval: the percentile bootstrap, expanded to cover 95 % with few seeds."""

from __future__ import annotations

import numpy as np
from scipy import special

from abtune.stats.difference.standard_error import quantile, standard_error
from abtune.stats.intervals.interval import FEWEST_FOR_BOOTSTRAP, Interval, t_interval
from abtune.stats.resampling.bootstrap import both_smoothings, error_quantiles
from abtune.stats.two_sample import TwoSample

# With fewer seeds on either side the interval is at least as wide as Welch's.
_ENOUGH_FOR_BOOTSTRAP_ALONE = 10


def expanded_percentile(samples: TwoSample, *, level: float) -> Interval:
    """Return the percentile bootstrap interval with its tails moved outwards.

    Parameters
    ----------
    samples : TwoSample
        Seeds of both sides.
    level : float
        Confidence level, a fraction.

    Notes
    -----
    The bootstrap's standard error lacks the factor sqrt(n/(n-1)), and its tails are normal rather than
    Student's. So [1]_ takes the percentiles at Phi(-sqrt(n/(n-1)) t_{alpha/2,n-1}) instead of alpha/2. With
    two samples of unequal spread, the factor is the ratio of Welch's standard error to the bootstrap's, and t
    has Welch's degrees of freedom. With one sample that is the same.

    If a sample varies less than its measurement does, the bootstrap is smoothed with a normal error that
    makes up the difference.

    With fewer than ten seeds on either side, the result is the hull of this interval and Welch's, some 2 %
    wider. At 5 seeds and spreads of 20 % and 1 %, it covers 95.4 % instead of 92.5 %. With fewer than five
    seeds, the result is Welch's interval.

    References
    ----------
    .. [1] T. C. Hesterberg, What Teachers Should Know About the Bootstrap, The American Statistician 69,
       371-386 (2015). DOI 10.1080/00031305.2015.1089789
    """
    estimate = standard_error(samples)
    closed = t_interval(estimate, level=level)
    low, high = closed.low.copy(), closed.high.copy()
    for group in samples.groups(at_least=FEWEST_FOR_BOOTSTRAP):
        index = group.index
        first, second = both_smoothings(group)
        resampled = np.sqrt(first.variance + second.variance)
        expansion = np.where(
            resampled > 0, estimate.error[index] / np.where(resampled > 0, resampled, 1.0), 1.0
        )
        tail = special.ndtr(-expansion * quantile(estimate.freedom[index], level))
        errors = error_quantiles(group, np.stack([tail, tail], axis=1))
        bounds = estimate.difference[index] + errors[0], estimate.difference[index] + errors[1]
        if min(group.first.shape[1], group.second.shape[1]) < _ENOUGH_FOR_BOOTSTRAP_ALONE:
            bounds = np.minimum(bounds[0], low[index]), np.maximum(bounds[1], high[index])
        low[index], high[index] = bounds
    return Interval(difference=estimate.difference, low=low, high=high, level=level)
