"""What a comparison of two datasets finds: changes of shapes, their mean, and differing conditions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from abtune.lazy import load
from abtune.stats.estimates import EqualWithNaN


class ChangeVerdict(StrEnum):
    """What two datasets say about one shape."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    NOT_SETTLED = "not settled"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShapeChange(EqualWithNaN):
    """The change of one shape; fractions and p-values, NaN where a sample has fewer than two seeds."""

    shape: str
    a: float  # boost (fraction) or geometric mean latency (seconds) in the first dataset
    b: float
    seeds: tuple[int, ...]  # baseline and candidate of the first dataset, then of the second
    change: float  # ratio of b to a, of 1 + boost or of latency, minus 1
    low: float
    high: float
    p: float  # no change, by the variances of the shape
    p_moderated: float  # by those of all shapes, too
    p_adjusted: float  # that by Holm over the shapes, and at least p
    p_unchanged: float  # a change of at least the tolerance; in the same way
    verdict: ChangeVerdict


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeanChange(EqualWithNaN):
    """The geometric mean of the changes of the shapes that have an interval; its error from the seeds."""

    change: float
    low: float
    high: float
    shapes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """A condition that the datasets do not share; empty text where a dataset does not record it."""

    what: str
    a: str
    b: str

    @property
    def known(self) -> bool:
        """Whether both datasets record it."""
        return bool(self.a and self.b)

    @property
    def words(self) -> str:
        """The condition in both datasets."""
        return f"{self.what} ({self.a} / {self.b})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What changed from one dataset (A) to another (B); ``print`` shows the sentence.

    Attributes
    ----------
    datasets : tuple of str
        Their names.
    quantity : str
        What is compared: ``"boost"``, or ``"latency"`` of a single configuration.
    configs_a, configs_b : tuple of str
        Baseline and candidate, or the single configuration.
    level, tolerance : float
        As given, fractions.
    shapes : tuple of ShapeChange
        Shapes that both datasets have, in the order of A: ``a`` and ``b`` are boosts (fractions) or latencies
        (seconds); ``change``, ``low`` and ``high`` are fractions; then p-values and ``verdict``.
    overall : MeanChange
        All of them together.
    same_winners : bool
        Whether each winner is compared with itself, because both datasets time the same.
    designs : tuple of str
        ``"independent"``, or ``"paired"`` or ``"shared"`` where the runs of a seed are pairs.
    boosts : tuple of MeanChange
        Mean boost of each dataset over the shapes of ``overall``; empty for latencies.
    only_a, only_b : tuple of str
        Labels of the shapes that one dataset has.
    mismatches : tuple of Mismatch
        Conditions that differ, or that one dataset does not record.
    caveats : tuple of str
        What weakens the comparison.
    """

    datasets: tuple[str, str] = ("A", "B")
    quantity: str
    configs_a: tuple[str, ...]
    configs_b: tuple[str, ...]
    level: float
    tolerance: float
    shapes: tuple[ShapeChange, ...]
    overall: MeanChange
    same_winners: bool
    designs: tuple[str, str]
    boosts: tuple[MeanChange, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    mismatches: tuple[Mismatch, ...]
    caveats: tuple[str, ...]

    def __str__(self) -> str:
        """Return the sentence of ``abtune compare``."""
        return load("abtune.sections.change.change_page:change_section")(self, ("", "")).sentence

    @property
    def mean(self) -> MeanChange | ShapeChange:
        """The mean change; of a lone shape its own, with the interval by which it is judged."""
        return self.overall if len(self.shapes) > 1 else self.shapes[0]
