"""The one place that decides what is said of a shape; everything that prints a verdict asks here.

A false difference of any shape of an analysis has a probability of at most alpha, and so has a false
equivalence (both together up to twice that: docs/statistics.md). A difference must therefore pass two tests,
each corrected over the shapes: the permutation test, exact for sides that scatter alike, and Welch's t, good
for sides that do not. The permutation test alone calls a false difference in 15-21 % of reports of 29 shapes
at 10 + 10 seeds when one side scatters 4-20 times as much as the other, and in 40-81 % at 5 + 10
(analysis/permutation_alone.py). The interval must agree as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from abtune.analyse.comparison import Side, Verdict
from abtune.analyse.wording import about_seeds, count, found_nothing, p_value, percent

ONE_RUN = "One run a side supports no verdict."


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a verdict on one shape rests on; fractions.

    Attributes
    ----------
    baseline, candidate : Side
        Both samples in short.
    boost, boost_low, boost_high : float
        Estimate and interval.
    family_low, family_high : float
        Interval for claims about the margin: that of all shapes at once, if the correction is family-wise.
    p_adjusted, p_welch_adjusted, p_equivalence_adjusted : float
        Permutation, Welch and equivalence tests, each corrected over the shapes.
    confirming : str
        What the test of ``p_welch_adjusted`` is called.
    alpha, margin : float
        Family-wise level, and the smallest boost that matters.
    detectable : float
        Boost that this design shows with 80 % power; infinite if none.
    seeds : int
        Seeds a side that would show a boost of the margin.
    fewest : int
        Seeds a side below which no difference can pass the correction by itself.
    step_up : bool
        Whether differences that cannot pass the correction one by one can do so together.
    require_margin : bool
        Whether a difference has to be larger than the margin.
    """

    baseline: Side
    candidate: Side
    boost: float
    boost_low: float
    boost_high: float
    family_low: float
    family_high: float
    p_adjusted: float
    p_welch_adjusted: float
    p_equivalence_adjusted: float
    confirming: str
    alpha: float
    margin: float
    detectable: float
    seeds: int
    fewest: int
    step_up: bool
    require_margin: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A verdict, and why, in one sentence."""

    verdict: Verdict
    reason: str


def decide(evidence: Evidence) -> Decision:
    """Say what the data support for one shape.

    Notes
    -----
    *invalid* if a side has fewer than two seeds, or more runs that failed, or found nothing within the trials
    compared, than timed ones: then most of the distribution that a comparison would be about is missing.
    *improved* or *regressed* if the interval lies on that side of zero and both tests of a difference reject;
    *equivalent* if the equivalence test rejects; else *inconclusive*. A small but certain difference is
    called a difference, unless it is required to be larger than the margin: then the interval has to lie
    beyond that, the one of all shapes at once where the correction is family-wise.
    """
    problem = _why_invalid(evidence.baseline, evidence.candidate)
    if problem:
        return Decision(verdict=Verdict.INVALID, reason=problem)
    if _differs(evidence):
        better = evidence.boost > 0
        return Decision(
            verdict=Verdict.IMPROVED if better else Verdict.REGRESSED, reason=_why_different(evidence)
        )
    if evidence.p_equivalence_adjusted <= evidence.alpha:
        return Decision(
            verdict=Verdict.EQUIVALENT,
            reason=f"Any difference is smaller than the margin of {percent(evidence.margin)} "
            f"(adjusted p {p_value(evidence.p_equivalence_adjusted)}).",
        )
    return Decision(verdict=Verdict.INCONCLUSIVE, reason=_why_open(evidence))


def _why_invalid(baseline: Side, candidate: Side) -> str:
    if baseline.n == 1 and candidate.n == 1:
        return ONE_RUN
    for side in (baseline, candidate):
        if side.n == 0:
            return f"There is no timing of {side.config}{_lost(side)}."
    for side in (baseline, candidate):
        if side.n < 2:
            return f"One run of {side.config} says nothing of how its runs scatter."
        if side.lost > side.n:
            share = f"{side.lost} of {side.n + side.lost}"
            return f"More than half of the runs of {side.config} {_what_lost(side)}: {share}."
    return ""


def _lost(side: Side) -> str:
    """Say what became of the runs of a side without timings."""
    parts = [f"{count(side.failed, 'run')} failed"] if side.failed else []
    if side.found_nothing:
        parts.append(f"{count(side.found_nothing, 'run')} {found_nothing(side.trials)}")
    return f"; {' and '.join(parts)}" if parts else ""


def _what_lost(side: Side) -> str:
    """Say what became of the runs of a side that cannot be compared."""
    if not side.found_nothing:
        return "failed"
    return f"failed or {found_nothing(side.trials)}" if side.failed else found_nothing(side.trials)


def differs(
    low: npt.ArrayLike, high: npt.ArrayLike, p: npt.ArrayLike, p_confirming: npt.ArrayLike, alpha: float
) -> npt.NDArray[np.bool_]:
    """Say whether a difference may be called: interval and both tests agree; arguments broadcast."""
    apart = (np.asarray(low) > 0) | (np.asarray(high) < 0)
    called: npt.NDArray[np.bool_] = apart & (np.maximum(p, p_confirming) <= alpha)
    return called


def _differs(evidence: Evidence) -> bool:
    family = evidence.family_low, evidence.family_high
    return _is_certain(evidence) and (not evidence.require_margin or beyond_margin(*family, evidence.margin))


def _is_certain(evidence: Evidence) -> bool:
    tests = evidence.p_adjusted, evidence.p_welch_adjusted
    return bool(differs(evidence.boost_low, evidence.boost_high, *tests, evidence.alpha))


def beyond_margin(low: float, high: float, margin: float) -> bool:
    """Say whether an interval of boosts lies beyond the margin; on logs both sides are equally far."""
    return low >= margin or high <= _smallest(margin)


def _smallest(margin: float) -> float:
    """Return the boost that is as large as the margin, the other way."""
    return 1 / (1 + margin) - 1


def _why_different(evidence: Evidence) -> str:
    start = f"{'Faster' if evidence.boost > 0 else 'Slower'} (adjusted p {p_value(evidence.p_adjusted)})"
    family, margin = (evidence.family_low, evidence.family_high), evidence.margin
    if beyond_margin(*family, margin):
        return f"{start}, by more than the margin of {percent(margin)}."
    if _smallest(margin) < evidence.family_low and evidence.family_high < margin:
        return f"{start}, but by less than the margin of {percent(margin)}."
    of_all = (
        ""
        if family == (evidence.boost_low, evidence.boost_high)
        else f": the interval of all shapes at once is {percent(family[0])} to {percent(family[1])}"
    )
    return f"{start}; that it is by at least the margin of {percent(margin)} is not shown{of_all}."


def _why_open(evidence: Evidence) -> str:
    sides = f"{evidence.baseline.n} + {evidence.candidate.n} seeds"
    if math.isinf(evidence.detectable) and min(evidence.baseline.n, evidence.candidate.n) >= evidence.fewest:
        return f"The random splits of {sides} cannot resolve so small a p as the correction asks for."
    if _is_certain(evidence):
        return _why_different(evidence)
    if math.isinf(evidence.detectable):
        alone = " by itself, only with others" if evidence.step_up else ""
        return (
            f"With {sides} no difference can pass the correction{alone}; it takes {evidence.fewest} a side."
        )
    if evidence.p_adjusted <= evidence.alpha < evidence.p_welch_adjusted:
        start = (
            f"A permutation test sees a difference (adjusted p {p_value(evidence.p_adjusted)}), but "
            f"{evidence.confirming} does not confirm it ({p_value(evidence.p_welch_adjusted)})"
        )
    elif evidence.boost_low > 0 or evidence.boost_high < 0:
        start = f"The difference does not pass the correction (adjusted p {p_value(evidence.p_adjusted)})"
    else:
        start = "Neither a difference nor its absence is shown"
    if evidence.require_margin:
        beyond = (1 + evidence.detectable) * (1 + evidence.margin) - 1
        return f"{start}; {sides} show a boost of {percent(beyond)} to be beyond the margin with 80% power."
    return (
        f"{start}; {sides} detect a boost of {percent(evidence.detectable)} with 80% power, and one of "
        f"{percent(evidence.margin)} takes {about_seeds(evidence.seeds)} a side."
    )
