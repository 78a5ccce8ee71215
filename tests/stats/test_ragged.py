"""Shapes with different numbers of seeds."""

import numpy as np
import pytest

from abtune.stats.ragged import as_samples, groups, sizes

NAN = np.nan


def test_groups_collect_shapes_of_equal_sizes() -> None:
    """Every shape with enough seeds is in exactly one group, sorted and without NaN."""
    first = [[3.0, 1.0, NAN], [1.0, NAN, NAN], [NAN, 5.0, 4.0]]
    second = [[1.0, 2.0], [3.0, 4.0], [6.0, 5.0]]
    found = list(groups(first, second, at_least=2))
    assert [group.index.tolist() for group in found] == [[0, 2]]
    assert found[0].first.tolist() == [[1.0, 3.0], [4.0, 5.0]]
    assert found[0].second.tolist() == [[1.0, 2.0], [5.0, 6.0]]


def test_samples_are_copied_and_counted() -> None:
    """The caller's array stays as it was."""
    given = np.array([[2.0, NAN, 1.0]])
    assert sizes(as_samples(given)).tolist() == [2]
    assert given[0, 0] == 2.0


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([1.0, 2.0], [[1.0]], "shape"),
        ([[np.inf]], [[1.0]], "infinite"),
        ([[1.0], [2.0]], [[1.0]], "2 shapes on one side and 1 on the other"),
    ],
)
def test_unusable_samples_are_refused(first: object, second: object, message: str) -> None:
    """Misuse raises instead of giving NaN."""
    with pytest.raises(ValueError, match=message):
        list(groups(first, second, at_least=1))  # type: ignore[arg-type]
