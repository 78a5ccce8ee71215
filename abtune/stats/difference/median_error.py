"""The difference of two medians with its standard error, from order statistics."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from abtune.stats.difference.standard_error import StandardError
from abtune.stats.two_sample import TwoSample


def median_error(samples: TwoSample) -> StandardError:
    """Return the difference of medians with Price and Bonett's standard error.

    Parameters
    ----------
    samples : TwoSample
        Seeds of both sides. The variance of a median of n values is at least pi/2 of the floor over n.

    Notes
    -----
    Var = ((x_(n-c+1) - x_(c))/(2 z))^2 with c = (n + 1)/2 - sqrt(n), at least 1, and the z that the
    binomial distribution gives to that pair of order statistics [1]_. Degrees of freedom are infinite.
    At 5 seeds, with one search in five failing, the interval covers 88.5 %.

    References
    ----------
    .. [1] R. M. Price and D. G. Bonett, Distribution-free confidence intervals for difference and ratio of
       medians, Journal of Statistical Computation and Simulation 72, 119-124 (2002).
       DOI 10.1080/00949650212140
    """
    shape = (2, len(samples))
    middle, variance = np.full(shape, np.nan), np.full(shape, np.nan)
    for group in samples.groups(at_least=1):
        for side, values in enumerate((group.first, group.second)):
            order = order_statistics(values.shape[1])
            middle[side, group.index] = values[:, list(order.middle)].mean(axis=1)
            spread = values[:, order.upper] - values[:, order.lower]
            least = np.nan_to_num(group.floor[:, side]) * np.pi / 2 / values.shape[1]
            if values.shape[1] > 1:
                variance[side, group.index] = np.maximum((spread / order.widths) ** 2, least)
    error = np.sqrt(variance.sum(axis=0))
    freedom = np.where(np.isnan(error), np.nan, np.inf)
    return StandardError(difference=middle[0] - middle[1], error=error, freedom=freedom)


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderStatistics:
    """Positions, from 0, of the sorted values that give a median and its error.

    Attributes
    ----------
    middle : tuple of int
        The two positions whose mean is the median; equal for an odd number of values.
    lower, upper : int
        The pair whose distance gives the error.
    widths : float
        That distance in standard errors: twice the z of the pair.
    """

    middle: tuple[int, int]
    lower: int
    upper: int
    widths: float


@functools.lru_cache(maxsize=256)
def order_statistics(n: int) -> OrderStatistics:
    """Return the order statistics of n values that :func:`median_error` rests on."""
    c = max(round((n + 1) / 2 - math.sqrt(n)), 1)
    outside = sum(math.comb(n, i) for i in range(c)) / 2 ** (n - 1)
    return OrderStatistics(
        middle=((n - 1) // 2, n // 2),
        lower=c - 1,
        upper=n - c,
        widths=2 * float(special.ndtri(1 - min(outside, 0.999) / 2)),
    )
