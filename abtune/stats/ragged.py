"""Two-sample data of many shapes at once, where shapes may differ in their numbers of seeds.

Samples are the rows of an array, padded with NaN. Whatever needs rectangular data works on
:func:`groups` of shapes with the same numbers of seeds; values are sorted first, so that no result can
depend on the order of seeds or on how much padding there is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Shapes with the same numbers of seeds.

    Attributes
    ----------
    index : ndarray, shape (members,)
        Where the shapes stand in the whole.
    first, second : ndarray, shape (members, n_first) and (members, n_second)
        Their samples without NaN, ascending.
    """

    index: Integers
    first: Floats
    second: Floats


def as_samples(values: npt.ArrayLike) -> Floats:
    """Return samples as a new array with every row ascending and its NaN last.

    Parameters
    ----------
    values : array_like, shape (shapes, seeds)
        Finite, or NaN where there is no value.

    Raises
    ------
    ValueError
        If the array has not two axes or holds an infinity.
    """
    samples = np.array(values, dtype=np.float64)
    if samples.ndim != 2:
        raise ValueError(f"samples have shape (shapes, seeds), not {samples.shape}")
    if np.isinf(samples).any():
        raise ValueError("samples hold an infinite value")
    samples.sort(axis=1)
    return samples


def sizes(samples: Floats) -> Integers:
    """Count the values of each row that are not NaN."""
    counts: Integers = np.count_nonzero(~np.isnan(samples), axis=1).astype(np.int64)
    return counts


def groups(first: npt.ArrayLike, second: npt.ArrayLike, *, at_least: int) -> Iterator[Group]:
    """Go through the shapes in groups of equal numbers of seeds.

    Parameters
    ----------
    first, second : array_like, shape (shapes, seeds)
        Samples, padded with NaN; the numbers of columns may differ.
    at_least : int
        Shapes with fewer values than this on a side are left out.

    Raises
    ------
    ValueError
        If the numbers of shapes differ.
    """
    one, two = as_samples(first), as_samples(second)
    if len(one) != len(two):
        raise ValueError(f"{len(one)} shapes on one side and {len(two)} on the other")
    counts = np.stack([sizes(one), sizes(two)], axis=1)
    for n_first, n_second in np.unique(counts, axis=0).tolist():
        if min(n_first, n_second) >= at_least:
            index = np.flatnonzero((counts == (n_first, n_second)).all(axis=1))
            yield Group(index=index, first=one[index, :n_first], second=two[index, :n_second])
