"""The one input of the statistics: two samples of each of many shapes, independent or in pairs.

A value is the log latency of one seed; samples are rows of an array, padded with NaN. The groups of
:meth:`TwoSample.groups` are sorted, so no result depends on the order of the seeds. Pairs are kept as their
differences and as many zeros: Welch's test of these two samples is the paired t-test, and their bootstrap
resamples the mean difference. Functions of two samples take pairs, too, unless they permute the seeds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]
Booleans: TypeAlias = npt.NDArray[np.bool_]


_ROUNDING = 1e-12  # of a difference of logs near -9, with room to spare


# eq=False: the generated comparison would ask an array for one truth value, which raises.
@dataclass(frozen=True, slots=True, eq=False)
class TwoSample:
    """Seeds of the baseline and of the candidate, for many shapes."""

    first: Floats  # log seconds, a row per shape, padded with NaN
    second: Floats
    # measurement variance of a seed value, shape (shapes, 2), NaN if unknown: the least variance
    floor: Floats
    paired: bool = False  # first minus second are the differences of pairs, a column per seed
    # how far a coarse timer can move the difference of the means, shape (shapes,)
    rounding: Floats | float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "rounding", np.broadcast_to(self.rounding, len(self.first)))

    @classmethod
    def without_floor(cls, first: npt.ArrayLike, second: npt.ArrayLike) -> Self:
        """Return samples whose measurement variance is unknown."""
        one, two = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
        return cls(one, two, np.full((len(one), 2), np.nan))

    @classmethod
    def of_pairs(
        cls, first: Floats, second: Floats, floor: Floats, *, rounding: Floats | float = 0.0
    ) -> Self:
        """Return pairs: a column has both sides of one seed. A pair without either side is left out."""
        differences = exact_differences(first, second)
        # A difference varies by both measurements; one that is unknown adds nothing.
        known = np.where(np.isnan(floor).all(axis=1), np.nan, np.nansum(floor, axis=1))
        floors = np.stack([known, np.full_like(known, np.nan)], axis=1)
        zeros = np.where(np.isnan(differences), np.nan, 0.0)
        return cls(differences, zeros, floors, paired=True, rounding=rounding)

    def __len__(self) -> int:
        return len(self.first)

    @property
    def sizes(self) -> Integers:
        """Numbers of seeds, shape (shapes, 2)."""
        return np.stack([sizes(self.first), sizes(self.second)], axis=1)

    def swapped(self) -> TwoSample:
        """Return the same samples with the sides exchanged."""
        return replace(self, first=self.second, second=self.first, floor=self.floor[:, ::-1])

    def rows(self, index: slice | Integers | Booleans) -> TwoSample:
        """Return some of the shapes."""
        parts = {name: getattr(self, name)[index] for name in ("first", "second", "floor", "rounding")}
        return replace(self, **parts)

    def groups(self, *, at_least: int) -> Iterator[Group]:
        """Yield the shapes with this many seeds on both sides, in groups with equal numbers of seeds."""
        # No result may depend on which side is called first, not even in its last bit.
        samples = self._with_zeros_below() if self.paired else self
        first, second, counts = ascending(samples.first), ascending(samples.second), self.sizes
        for n_first, n_second in np.unique(counts, axis=0).tolist():
            if min(n_first, n_second) >= at_least:
                index = np.flatnonzero((counts == (n_first, n_second)).all(axis=1))
                yield Group(index, first[index, :n_first], second[index, :n_second], samples.floor[index])

    def _with_zeros_below(self) -> TwoSample:
        """Return pairs whose zeros are on the side with the smaller mean, whichever side is called first."""
        differences = self.first - self.second
        known = np.where(np.isnan(differences), 0.0, differences)
        forward, zeros = known.sum(axis=1) >= 0, np.where(np.isnan(differences), np.nan, 0.0)
        ahead, floor = forward[:, np.newaxis], np.fmax(*self.floor.T)
        return TwoSample(
            np.where(ahead, differences, zeros),
            np.where(ahead, zeros, -differences),
            np.stack([np.where(forward, floor, np.nan), np.where(forward, np.nan, floor)], axis=1),
            paired=True,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Shapes with the same numbers of seeds."""

    index: Integers  # rows of the members in the samples that they come from
    first: Floats  # shape (members, seeds) without NaN, ascending; so is second
    second: Floats
    floor: Floats

    @property
    def by_size(self) -> tuple[Floats, Floats]:
        """The smaller sample and the larger one; the first and the second if they are equally large."""
        if self.first.shape[1] > self.second.shape[1]:
            return self.second, self.first
        return self.first, self.second

    def blocks(self, most: int) -> Iterator[Group]:
        """Yield the members, at most ``most`` at a time."""
        for start in range(0, len(self.index), most):
            rows = slice(start, start + most)
            yield Group(self.index[rows], self.first[rows], self.second[rows], self.floor[rows])


def exact_differences(first: Floats, second: Floats) -> Floats:
    """Return differences of logs; those of a row are equal if they differ by the rounding of floats alone."""
    differences = first - second
    least, most = (of.reduce(differences, axis=-1, keepdims=True) for of in (np.fmin, np.fmax))
    agree = (most - least <= _ROUNDING) & ~np.isnan(differences)
    return np.where(agree, least, differences)


def ascending(values: npt.ArrayLike) -> Floats:
    """Return samples as a new array with every row ascending and its NaN last."""
    return np.sort(np.asarray(values, dtype=np.float64), axis=1)


def sizes(samples: Floats) -> Integers:
    """Return the number of values in each row that are not NaN."""
    return np.count_nonzero(~np.isnan(samples), axis=1).astype(np.int64)
