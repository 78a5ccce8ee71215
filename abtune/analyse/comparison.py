"""What is said of one shape, and of all shapes together."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from abtune.analyse.whole import Improvement, LeaveOneOut, Weighted
from abtune.stats.heterogeneity import Heterogeneity


class Verdict(StrEnum):
    """What the data support for one shape."""

    IMPROVED = "improved"
    REGRESSED = "regressed"
    EQUIVALENT = "equivalent"
    INCONCLUSIVE = "inconclusive"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """How shapes are judged, by the names that the command line takes.

    Attributes
    ----------
    estimand : str
        Whose ratio the boost is: geometric-mean, arithmetic-mean or median.
    method : str
        The interval.
    test : str
        The test of a difference: permutation or moderated.
    correction : str
        For the many shapes: holm, max-t, bh or none.
    require_margin : bool
        Whether a difference has to be larger than the margin.
    """

    estimand: str
    method: str
    test: str
    correction: str
    require_margin: bool = False

    @property
    def family_wise(self) -> bool:
        """Whether what is claimed of all shapes at once is wrong with the level's probability at the most."""
        return self.correction in {"holm", "max-t"}


def alpha_of(level: float) -> float:
    """Return the level of the tests that go with intervals of this level; applied twice, the level again.

    Parameters
    ----------
    level : float
        Confidence level, a fraction.
    """
    return round(1 - level, 12)  # a level of 0.9 means 0.1, not a rounding error less


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One configuration's seeds of one shape.

    Attributes
    ----------
    config : str
        Name of the configuration.
    n : int
        Seeds with a timing.
    failed : int
        Runs that failed.
    latency : float
        Geometric mean over seeds, seconds; NaN without seeds.
    noise : float
        Standard deviation of the log latency over seeds (about the coefficient of variation); NaN below two.
    found_nothing : int
        Runs whose search had found nothing within its first trials; 0 where winners are compared.
    trials : int
        How many trials these are; 0 where winners are compared.
    """

    config: str
    n: int
    failed: int
    latency: float
    noise: float
    found_nothing: int = 0
    trials: int = 0

    @property
    def lost(self) -> int:
        """Runs that have nothing to compare, which may be why the others look good."""
        return self.failed + self.found_nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Candidate against baseline for one shape; fractions, not percent; NaN where nothing can be said.

    Attributes
    ----------
    shape, workload : str
        Label and kind.
    baseline, candidate : Side
        Both samples in short.
    boost, boost_low, boost_high : float
        Speedup - 1 with its confidence interval.
    boost_low_simultaneous, boost_high_simultaneous : float
        Wider bounds: the boosts of all shapes lie within theirs at once, with the level's probability.
    p, p_adjusted : float
        Two-sided test of no difference, and the same corrected over the shapes.
    p_welch, p_welch_adjusted : float
        The closed-form test that has to confirm a permutation test, likewise.
    p_rank, p_rank_adjusted : float or None
        Mann-Whitney test that no side has the faster runs, likewise; None unless asked for.
    p_equivalence, p_equivalence_adjusted : float
        Test of a difference beyond the margin, and the same corrected over the shapes.
    verdict : Verdict
        What follows.
    reason : str
        Why, in one sentence.
    caveats : tuple of str
        Weaknesses of this comparison, each one sentence.
    """

    shape: str
    workload: str
    baseline: Side
    candidate: Side
    boost: float
    boost_low: float
    boost_high: float
    boost_low_simultaneous: float
    boost_high_simultaneous: float
    p: float
    p_adjusted: float
    p_welch: float
    p_welch_adjusted: float
    p_rank: float | None
    p_rank_adjusted: float | None
    p_equivalence: float
    p_equivalence_adjusted: float
    verdict: Verdict
    reason: str
    caveats: tuple[str, ...]

    @property
    def n_baseline(self) -> int:
        """Seeds of the baseline with a timing."""
        return self.baseline.n

    @property
    def n_candidate(self) -> int:
        """Seeds of the candidate with a timing."""
        return self.candidate.n


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """A geometric mean boost over shapes, with its interval; fractions."""

    boost: float
    boost_low: float
    boost_high: float
    shapes: int
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Overall:
    """The boost over all shapes that both sides have, for two different questions.

    Attributes
    ----------
    these_shapes : Aggregate
        The mean over exactly these shapes; its error comes from the seeds.
    shapes_like_these : Aggregate
        The mean over a population that these shapes are a sample of; its error comes from the shapes.
    unmatched : tuple of str
        Shapes left out because a side has no timing.
    leave_one_out : LeaveOneOut or None
        What a single shape does to the mean; None for a single shape.
    improvement : Improvement
        How often a run of the candidate wins.
    heterogeneity : Heterogeneity
        Whether the shapes differ in their boost; log scale, NaN for fewer than two shapes with seeds.
    weighted : Weighted or None
        The time of a program, if weights were given.
    """

    these_shapes: Aggregate
    shapes_like_these: Aggregate
    unmatched: tuple[str, ...]
    leave_one_out: LeaveOneOut | None
    improvement: Improvement
    heterogeneity: Heterogeneity
    weighted: Weighted | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """All that :func:`abtune.analyze` found.

    Attributes
    ----------
    baseline, candidate : str
        Names of the configurations.
    level : float
        Confidence level of the intervals, such as 0.95; tests are at 1 - level.
    margin : float
        The smallest boost that matters, a fraction.
    rng_seed : int
        Seed of the resampling.
    choices : Choices
        Estimand, interval, test and correction by name.
    interval_method, test_method, correction : str
        What was computed, in words.
    definition : str
        What the boost is.
    comparisons : tuple of Comparison
        One for each shape, in the dataset's order.
    overall : Overall
        Over all shapes.
    caveats : tuple of str
        Weaknesses of the whole design, each one sentence.
    """

    baseline: str
    candidate: str
    level: float
    margin: float
    rng_seed: int
    choices: Choices
    interval_method: str
    test_method: str
    correction: str
    definition: str
    comparisons: tuple[Comparison, ...]
    overall: Overall
    caveats: tuple[str, ...]
