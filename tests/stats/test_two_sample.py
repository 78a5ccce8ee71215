"""The input of the statistics: two samples of each of many shapes."""

import numpy as np
import pytest

from abtune.stats.two_sample import TwoSample, ascending, sizes

NAN = np.nan


def small() -> TwoSample:
    first = [[3.0, 1.0, NAN], [1.0, NAN, NAN], [NAN, 5.0, 4.0]]
    second = [[1.0, 2.0], [3.0, 4.0], [6.0, 5.0]]
    return TwoSample(np.array(first), np.array(second), np.array([[0.1, 0.2], [0.3, NAN], [NAN, 0.0]]))


def test_groups_collect_shapes_of_equal_sizes() -> None:
    """Every shape with enough seeds is in exactly one group, sorted, without NaN, with its floor."""
    (group,) = small().groups(at_least=2)
    assert group.index.tolist() == [0, 2]
    assert group.first.tolist() == [[1.0, 3.0], [4.0, 5.0]]
    assert group.second.tolist() == [[1.0, 2.0], [5.0, 6.0]]
    np.testing.assert_array_equal(group.floor, [[0.1, 0.2], [NAN, 0.0]])
    assert sorted(group.first.shape[1] for group in small().groups(at_least=1)) == [1, 2]


def test_sizes_count_what_is_not_nan() -> None:
    """There is a number of seeds for each shape and side."""
    samples = small()
    assert len(samples) == 3
    assert samples.sizes.tolist() == [[2, 2], [1, 2], [2, 2]]


def test_swapping_exchanges_the_sides_with_their_floors() -> None:
    """Swapped twice, samples are as they were."""
    samples, swapped = small(), small().swapped()
    np.testing.assert_array_equal(swapped.first, samples.second)
    np.testing.assert_array_equal(swapped.floor, samples.floor[:, ::-1])
    again = swapped.swapped()
    for name in ("first", "second", "floor"):
        np.testing.assert_array_equal(getattr(again, name), getattr(samples, name))


@pytest.mark.parametrize(
    "index", [np.array([2, 0]), np.array([True, False, True]), slice(1, 3)], ids=["numbers", "mask", "slice"]
)
def test_some_shapes_keep_their_seeds_and_floors(index: object) -> None:
    """Rows are chosen as in an array."""
    samples = small()
    chosen = samples.rows(index)  # type: ignore[arg-type]
    for name in ("first", "second", "floor"):
        np.testing.assert_array_equal(getattr(chosen, name), getattr(samples, name)[index])


def test_blocks_of_a_group_are_the_group() -> None:
    """Blocks have at most the given number of members, in order."""
    rng = np.random.default_rng(0)
    (group,) = TwoSample.without_floor(rng.normal(size=(7, 3)), rng.normal(size=(7, 4))).groups(at_least=2)
    blocks = list(group.blocks(3))
    assert [len(block.index) for block in blocks] == [3, 3, 1]
    for name in ("index", "first", "second", "floor"):
        joined = np.concatenate([getattr(block, name) for block in blocks])
        np.testing.assert_array_equal(joined, getattr(group, name))


@pytest.mark.parametrize(("n", "m", "turned"), [(3, 4, False), (4, 3, True), (3, 3, False)])
def test_the_smaller_sample_comes_first_by_size(n: int, m: int, *, turned: bool) -> None:
    """With equal sizes the first side comes first."""
    rng = np.random.default_rng(0)
    (group,) = TwoSample.without_floor(rng.normal(size=(2, n)), rng.normal(size=(2, m))).groups(at_least=2)
    small, large = group.by_size
    assert small is (group.second if turned else group.first)
    assert large is (group.first if turned else group.second)


def test_the_arrays_of_the_caller_stay_as_they_were() -> None:
    """Groups and sorted samples are copies."""
    given = np.array([[2.0, NAN, 1.0]])
    assert sizes(ascending(given)).tolist() == [2]
    list(TwoSample.without_floor(given, given).groups(at_least=1))
    assert given[0, 0] == 2.0
