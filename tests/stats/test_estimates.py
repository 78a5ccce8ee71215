"""Results can be compared: two of the same data are equal, also where numbers are unknown."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from abtune.stats.estimates import EqualWithNaN


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pair(EqualWithNaN):
    """A result with a number and a name."""

    number: float
    name: str = "one"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Other(Pair):
    """A result of another kind."""


@pytest.mark.parametrize("number", ["nan", "inf", "-0.0", "1.5"])
def test_results_with_the_same_fields_are_equal(number: str) -> None:
    """Unknown numbers are equal, though Python calls no NaN equal to another; a set has one of both."""
    assert Pair(number=float(number)) == Pair(number=float(number))
    assert len({Pair(number=float(number)), Pair(number=float(number))}) == 1


@pytest.mark.parametrize(
    "other", [Pair(number=1.0), Pair(number=float("nan"), name="two"), Other(number=float("nan")), None]
)
def test_other_results_are_not_equal(other: object) -> None:
    """A known number, another name and another kind all differ from an unknown number."""
    assert Pair(number=float("nan")) != other
