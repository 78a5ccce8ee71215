"""The errors of resamples over their own standard errors, pooled over shapes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np

from abtune.stats.two_sample import Floats, Integers

# Values are counted on a grid: a pool of thousands of shapes takes no more memory than one of a few. A value
# beyond the last step counts there.
_STEP = 0.002
_STEPS = 50_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PooledT:
    """The distribution of t over the resamples of all shapes; empty if no shape could be resampled.

    Shapes borrow each other's tails: ten seeds alone do not show how skewed their mean is.

    Attributes
    ----------
    counts : ndarray of int, shape (2 * 50,000 + 1,)
        How many values are at each step of the grid, which is symmetric about zero.
    """

    counts: Integers

    @classmethod
    def of(cls, parts: Iterable[Floats]) -> Self:
        """Return the distribution of values that come in parts, arrays of any shape."""
        counts = np.zeros(2 * _STEPS + 1, dtype=np.int64)
        for part in parts:
            counts += np.bincount(_step(part).ravel(), minlength=len(counts))
        return cls(counts=counts)

    @property
    def size(self) -> int:
        """Number of values."""
        return int(self.counts.sum())

    def mirrored(self) -> PooledT:
        """Return the distribution of the negated values: that of the sides exchanged."""
        return PooledT(counts=self.counts[::-1])

    def share_above(self, t: Floats) -> Floats:
        """Return the share of the values that are at least t, never zero; zero for an empty pool."""
        if not self.size:
            return np.zeros_like(t)
        above = np.cumsum(self.counts[::-1])[::-1]
        known = np.where(np.isnan(t), 0.0, t)
        share: Floats = (1 + above[_step(known)]) / (1 + self.size)
        return np.where(np.isnan(t), np.nan, share)

    def upper(self, share: float) -> float:
        """Return the least value that at most this share of the pool exceeds; -inf for an empty pool."""
        if not self.size:
            return -np.inf
        beyond = self.size - np.cumsum(self.counts)
        first = int(np.argmax((1 + beyond) / (1 + self.size) <= share))
        if (1 + beyond[first]) / (1 + self.size) > share:
            return np.inf
        return float(_STEP * (first - _STEPS))


def _step(values: Floats) -> Integers:
    """Return the index of the nearest step of the grid."""
    nearest = np.clip(np.rint(values / _STEP), -_STEPS, _STEPS)
    index: Integers = nearest.astype(np.int64) + _STEPS
    return index
