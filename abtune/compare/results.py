"""The values that an analysis consists of: one comparison per shape, and what all shapes say."""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from abtune.compare.settings import Settings
from abtune.errors import InputError
from abtune.lazy import load
from abtune.stats.across_shapes import Heterogeneity
from abtune.stats.estimates import EqualWithNaN
from abtune.text import count, limits, percent_cell

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure


class Verdict(StrEnum):
    """What the data support for one shape."""

    IMPROVED = "improved"
    REGRESSED = "regressed"
    EQUIVALENT = "equivalent"
    NOT_SLOWER = "not-slower"
    INCONCLUSIVE = "inconclusive"
    INVALID = "invalid"

    @property
    def words(self) -> str:
        """As a reader sees it."""
        return self.value.replace("-", " ")

    @property
    def more_seeds_help(self) -> bool:
        """Whether more seeds might show a difference or its absence."""
        return self in {Verdict.NOT_SLOWER, Verdict.INCONCLUSIVE}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Side(EqualWithNaN):
    """The seeds of one shape under one configuration."""

    config: str
    n: int  # seeds with a timing; of pairs, whole pairs
    failed: int
    latency: float  # geometric mean over seeds, seconds; NaN without seeds
    # Standard deviation of the log latency over seeds (about the coefficient of variation); NaN below two.
    noise: float
    failed_pairs: int  # pairs with a run that failed; 0 for independent seeds
    untimed: int  # complete runs without a timing, which a sweep that is interrupted leaves


class Rule(StrEnum):
    """What a gate is required for."""

    ANY = "any verdict"
    DIFFERENCE = "a difference"
    EQUIVALENCE = "equivalence"
    NOT_SLOWER = "not slower"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One condition of a verdict."""

    of: Rule
    asks: str  # the condition, in words
    found: str  # what the data show, in words
    passed: bool
    otherwise: str  # the reason of the verdict, should this gate be the first to fail


def first_failed(gates: Iterable[Gate], rule: Rule) -> Gate | None:
    """Return the first gate of a rule that did not pass; None if all passed."""
    return next((gate for gate in gates if gate.of is rule and not gate.passed), None)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence(EqualWithNaN):
    """All numbers about one shape, as :class:`Comparison` describes them."""

    shape: str
    workload: str
    baseline: Side
    candidate: Side
    boost: float
    boost_low: float
    boost_high: float
    boost_low_simultaneous: float
    boost_high_simultaneous: float
    boost_at_least: float
    p: float
    p_adjusted: float
    p_welch: float
    p_welch_adjusted: float
    p_resampled: float | None
    p_resampled_adjusted: float | None
    p_equivalence: float
    p_equivalence_adjusted: float
    detectable: float
    fewest_seeds: int
    noise_of_pairs: float

    @property
    def sides(self) -> tuple[Side, Side]:
        """Baseline and candidate."""
        return self.baseline, self.candidate

    @property
    def n(self) -> tuple[int, int]:
        """Seeds of the baseline and the candidate with a timing; of pairs, whole pairs."""
        return self.baseline.n, self.candidate.n


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Comparison(Evidence):
    """The candidate against the baseline for one shape: the evidence, and what follows from it.

    Boosts are fractions, and NaN stands where nothing can be said.

    Attributes
    ----------
    shape, workload : str
        Label and kind.
    baseline, candidate : Side
        Both samples in short.
    boost, boost_low, boost_high : float
        Speedup - 1 with its confidence interval.
    boost_low_simultaneous, boost_high_simultaneous : float
        Wider bounds: the boosts of all shapes lie within theirs at once, with the level's probability. They
        end at zero where an improved or regressed shape says more.
    boost_at_least : float
        Lower bound: the boosts of all shapes are above theirs at once, with the level's probability. At least
        zero for an improved shape, and at least ``Worst.boost_low`` if that is within the tolerance.
    p, p_adjusted : float
        Two-sided test of no difference, and the same corrected over the shapes.
    p_welch, p_welch_adjusted : float
        Welch's t-test with moderated variances, which has to confirm a permutation test, likewise. Of pairs
        the paired t-test, which confirms nothing.
    p_resampled, p_resampled_adjusted : float or None
        The bootstrap-t test, pooled over shapes, likewise. It has to confirm a difference in favour of the
        more skewed side, and is NaN in the other direction; None if no side is more skewed.
    p_equivalence, p_equivalence_adjusted : float
        Test of a difference beyond the margin, and the same corrected over the shapes. Where one side is more
        skewed, the larger of this and of the bootstrap-t.
    detectable : float
        Boost that this design finds with 80 % power, correction included; infinite if it can find none. NaN
        for the best of several searches, where few seeds find any only because other shapes differ, and where
        an interval that allows for slow runs reaches farther. With max-T and unequal numbers of seeds, the
        power is larger or smaller.
    fewest_seeds : int
        Seeds per configuration below which no difference can pass the correction by itself.
    noise_of_pairs : float
        Standard deviation of the differences of log latency of pairs: the noise that their tests have. NaN
        for independent seeds, and below two pairs.
    gates : tuple of Gate
        The conditions of the verdicts. They are the verdict: nothing else decides.
    verdict : Verdict
        What follows.
    reason : str
        Why, in a few sentences: the gate that failed, or what passed.
    caveats : tuple of str
        Weaknesses of this comparison, each one sentence.
    """

    gates: tuple[Gate, ...]
    verdict: Verdict
    reason: str
    caveats: tuple[str, ...]

    def __repr__(self) -> str:
        """Return the verdict and the boost; the attributes have the rest."""
        numbers = f"{percent_cell(self.boost, 1)}% ({limits(self.boost_low, self.boost_high, 1)})"
        return f"<Comparison of {self.shape}: {self.verdict.words}, {numbers}>"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Aggregate(EqualWithNaN):
    """A geometric mean boost over shapes, with its interval; fractions."""

    boost: float
    boost_low: float
    boost_high: float
    shapes: int
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Without(EqualWithNaN):
    """The mean boost over these shapes when one of them is left out; a fraction."""

    shape: str
    boost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveOneOut:
    """The lowest and the highest mean boost when one shape is left out."""

    low: Without
    high: Without


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Improvement(EqualWithNaN):
    """How often a run of the candidate beats one of the baseline."""

    probability: float  # mean over the shapes, with its interval; NaN where unknown
    low: float
    high: float
    shapes: int
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Weighted(EqualWithNaN):
    """Boost of a program that calls each shape a number of times."""

    name: str
    boost: float  # of the summed time, with its interval; fractions
    boost_low: float
    boost_high: float
    baseline_time: float  # sum over shapes of weight times geometric mean latency, seconds
    candidate_time: float
    weight: float  # sum of the weights that are in the time
    total: float  # sum of all weights
    left_out: tuple[str, ...]  # labels that have a weight but lack timings of a configuration
    not_covered: str  # what the weights themselves leave out, in words; empty if unknown
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OfKind:
    """The boost to expect of further shapes of one kind of workload."""

    workload: str
    shapes_like_these: Aggregate

    @property
    def words(self) -> str:
        """The kind as a reader sees it."""
        return self.workload or "unnamed shapes"


_ENOUGH_KINDS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Overall:
    """The boost over all shapes that both configurations have, for two different questions."""

    these_shapes: Aggregate  # the mean over exactly these shapes; its error comes from the seeds
    # The mean over a population that these shapes are a sample of; its error comes from the shapes.
    shapes_like_these: Aggregate
    unmatched: tuple[str, ...]  # shapes left out because a configuration has no timing
    leave_one_out: LeaveOneOut | None  # how far a single shape moves the mean; None for a single shape
    improvement: Improvement  # how often a run of the candidate wins
    # Whether the shapes differ in their boost; log scale, NaN for fewer than two shapes with seeds.
    heterogeneity: Heterogeneity
    weighted: Weighted | None  # the time of a program, if weights were given
    # The same as `shapes_like_these` for each kind with three shapes or more; empty if there is one kind.
    by_kind: tuple[OfKind, ...] = ()
    # As `these_shapes`, with an interval for all candidates at once; None unless several share the level.
    of_all_candidates: Aggregate | None = None

    @property
    def few_kinds(self) -> tuple[OfKind, ...]:
        """The kinds, if the spread over shapes does not show most of the spread over kinds; else none."""
        return self.by_kind if len(self.by_kind) < _ENOUGH_KINDS else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """At least this many shapes are faster, or not much slower; true by itself with the level's chance."""

    claim: str  # faster, not slower or slower
    beyond: float  # not slower by more than this, a fraction; zero for the other claims
    at_least: int  # number of shapes for which this is shown
    of: int
    workload: str | None  # the kind of workload; None for all shapes


@dataclass(frozen=True, slots=True, kw_only=True)
class Worst:
    """No shape is slower by more than this; made only if every shape has a bound."""

    shape: str  # has the lowest bound; not always the slowest
    # One-sided and not corrected: the claim needs every bound (Berger, Technometrics 24, 295-300, 1982).
    boost_low: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """The result of :func:`abtune.analyze`.

    Attributes
    ----------
    settings : Settings
        How it was made. :func:`abtune.compare.compare.compare` judges a dataset with other settings, such as
        ``replace(settings, margin=0.05)``.
    definition : str
        What the boost is.
    comparisons : tuple of Comparison
        One for each shape, in the dataset's order.
    overall : Overall
        Over all shapes.
    claims : tuple of Claim
        How many shapes are faster, not slower, slower.
    worst : Worst or None
        How slow any shape can be; None if one has no verdict.
    sentence : str
        The result in a few sentences.
    caveats : tuple of str
        Weaknesses of the whole design, each one sentence.
    shapes_in_dataset : int
        Shapes that the dataset has; some may have been left out.
    dataset : xarray.Dataset
        What was analysed, restricted to these shapes.

    Notes
    -----
    :meth:`report` and :meth:`plot` are loaded when they are used: they live in rooms that are built on this
    one. :func:`abtune.describe` returns what further sections show.
    """

    settings: Settings
    definition: str
    comparisons: tuple[Comparison, ...]
    overall: Overall
    claims: tuple[Claim, ...]
    worst: Worst | None
    sentence: str
    caveats: tuple[str, ...]
    shapes_in_dataset: int
    dataset: xr.Dataset = field(compare=False)

    def __str__(self) -> str:
        """Return the sentence."""
        return self.sentence

    def __repr__(self) -> str:
        """Return a line: all numbers of many shapes would fill screens."""
        shapes = count(len(self.comparisons), "shape")
        return f"<Analysis of {shapes}, {self.candidate} against {self.baseline}: {self.sentence}>"

    def _repr_html_(self) -> str:
        """Return the report for a notebook, in a frame of its own."""
        # The frame separates the report's style and script from the notebook.
        return f'<iframe srcdoc="{html.escape(self.report("html"))}" width="100%" height="600"></iframe>'

    def report(self, form: str = "table") -> str:
        """Return the report as ``abtune analyze`` writes it.

        Parameters
        ----------
        form : str
            table, markdown, html, json, csv, latex, junit, github or sentence.

        Raises
        ------
        InputError
            If there is no such format.
        """
        forms: dict[str, Any] = load("abtune.report.formats.format_registry:FORMATS")
        if form not in [*forms]:  # also if it cannot be hashed
            raise InputError(f"there is no format {form!r}; there are: {', '.join(forms)}")
        return forms[form].render(load("abtune.report.summary:analysis_report")(self), None)

    def plot(self, kind: str = "forest", *, beside: xr.Dataset | None = None) -> Figure:
        """Return a matplotlib figure.

        Parameters
        ----------
        kind : str
            One of ``abtune plot --kind``: forest, seeds, trials, curve, same-schedule, power.
        beside : xarray.Dataset, optional
            Another dataset with some of the shapes: crosses in a forest.

        Raises
        ------
        InputError
            If there is no such kind, the data for it are missing, or matplotlib is not installed.
        """
        kinds: dict[str, Any] = load("abtune.sections.section_registry:FIGURES")
        if kind not in [*kinds]:
            raise InputError(f"there is no figure {kind!r}; there are: {', '.join(kinds)}")
        if beside is None:
            return load(kinds[kind].make)(self)
        if kind != "forest":
            raise InputError(f"beside changes nothing in the figure {kind}; leave it out")
        return load(kinds[kind].make)(self, beside)

    def to_dataframe(self) -> pd.DataFrame:
        """Return a row for each shape, with the columns of CSV; boosts are fractions, unknown numbers NaN."""
        import pandas as pd

        record = load("abtune.report.summary:comparison_record")
        frame = pd.DataFrame([record(row) for row in self.comparisons]).set_index("shape")
        # Tests that were not made are columns of None, which would be objects; as floats they are NaN.
        optional = [name for name in frame if str(name).startswith("p_resampled")]
        return frame.astype(dict.fromkeys(optional, float))

    def to_xarray(self) -> xr.Dataset:
        """Return the comparisons over the dimension ``shape``, which a netCDF file can hold.

        The variables are the columns of CSV: boosts and noise are fractions, latencies are seconds. The
        configurations, level, margin and tolerance are attributes.
        """
        frame = self.to_dataframe().drop(columns=["baseline", "candidate"])
        # netCDF holds plain text, so enumerations and tuples become text.
        frame = frame.assign(verdict=frame["verdict"].astype(str), caveats=frame["caveats"].map("; ".join))
        dataset: xr.Dataset = frame.to_xarray()
        for name in ("latency_baseline", "latency_candidate"):
            dataset[name].attrs["units"] = "s"
        names = ("baseline", "candidate", "level", "margin", "tolerance")
        return dataset.assign_attrs({name: getattr(self.settings, name) for name in names})

    @property
    def baseline(self) -> str:
        """Name of the baseline."""
        return self.settings.baseline

    @property
    def candidate(self) -> str:
        """Name of the candidate."""
        return self.settings.candidate

    @property
    def level(self) -> float:
        """Confidence level of the intervals, such as 0.95."""
        return self.settings.level

    @property
    def tested(self) -> int:
        """Shapes that have tests, over which p-values are corrected."""
        return sum(row.p == row.p for row in self.comparisons)  # NaN is not equal to itself
