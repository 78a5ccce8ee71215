"""What is said of all shapes together beside their mean boost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Without:
    """The mean boost over these shapes when one of them is left out; a fraction."""

    shape: str
    boost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveOneOut:
    """How much the mean boost hangs on a single shape: its lowest and highest value without one."""

    low: Without
    high: Without


@dataclass(frozen=True, slots=True, kw_only=True)
class Improvement:
    """How often a run of the candidate beats one of the baseline.

    Attributes
    ----------
    probability, low, high : float
        Mean over the shapes, with its interval; NaN where unknown.
    shapes : int
        How many.
    meaning : str
        In words.
    """

    probability: float
    low: float
    high: float
    shapes: int
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighted:
    """Boost of a program that calls each shape a number of times.

    Attributes
    ----------
    name : str
        What the weights are of.
    boost, boost_low, boost_high : float
        Of the summed time, with its interval; fractions.
    baseline_time, candidate_time : float
        Sum over shapes of weight times geometric mean latency, seconds.
    weight : float
        Sum of the weights that are in the time.
    total : float
        Sum of all weights.
    left_out : tuple of str
        Labels that have a weight but no timing on both sides.
    not_covered : str
        What the weights themselves leave out, in words; empty if unknown.
    meaning : str
        In words.
    """

    name: str
    boost: float
    boost_low: float
    boost_high: float
    baseline_time: float
    candidate_time: float
    weight: float
    total: float
    left_out: tuple[str, ...]
    not_covered: str
    meaning: str
