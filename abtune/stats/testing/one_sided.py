"""One-sided tests and lower bounds, for claims that a shape is faster, or not much slower.

A one-sided t-test errs in 8 to 11 % of reports, in place of 5 %, if the candidate is skewed or scatters more
(docs/statistics.md). So t is also compared with its resamples, pooled over the shapes, and the more careful
of both decides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from abtune.stats.difference.standard_error import StandardError
from abtune.stats.resampling.pooled_t import PooledT
from abtune.stats.two_sample import Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OneSided:
    """What one-sided claims about the differences of all shapes rest on.

    Attributes
    ----------
    estimate : StandardError
        Differences, with the degrees of freedom of
        :func:`abtune.stats.difference.conservative.conservative_welch`.
    pool : PooledT
        Resamples of all shapes.
    one_split : ndarray, shape (shapes,)
        As :func:`abtune.stats.testing.significance.split_share` returns it. It bounds p where nothing varies.
    """

    estimate: StandardError
    pool: PooledT
    one_split: Floats

    def swapped(self) -> OneSided:
        """Return the same with the sides exchanged."""
        estimate = StandardError(
            difference=-self.estimate.difference, error=self.estimate.error, freedom=self.estimate.freedom
        )
        return OneSided(estimate=estimate, pool=self.pool.mirrored(), one_split=self.one_split)

    def p_above(self, threshold: float) -> Floats:
        """Return p-values that a difference is at most a threshold, shape (shapes,); NaN without an error.

        Parameters
        ----------
        threshold : float
            Log scale; zero for "faster", below zero for "not slower by more".
        """
        distance, error = self.estimate.difference - threshold, self.estimate.error
        t = distance / np.where(error > 0, error, 1.0)
        p = np.fmax(self.pool.share_above(t), special.stdtr(self.estimate.freedom, -t))
        certain = np.where(distance > 0, self.one_split, 1.0)
        p = np.where(error == 0, certain, np.maximum(p, np.finfo(np.float64).tiny))
        return np.where(np.isnan(error), np.nan, p)

    def lower(self, share: float) -> Floats:
        """Return lower bounds of the differences, log scale, shape (shapes,); NaN without an error.

        Parameters
        ----------
        share : float
            Probability that the bound of one shape is too high.
        """
        difference, error = self.estimate.difference, self.estimate.error
        quantile = np.maximum(special.stdtrit(self.estimate.freedom, 1 - share), self.pool.upper(share))
        certain = np.where(self.one_split <= share, difference, -np.inf)
        bound = np.where(error == 0, certain, difference - quantile * np.where(error > 0, error, 1.0))
        return np.where(np.isnan(error), np.nan, bound)
