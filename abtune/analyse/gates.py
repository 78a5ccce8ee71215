"""What a verdict asks of a shape, one condition at a time, and whether it passed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from abtune.analyse.comparison import Analysis, Comparison, Side, Verdict, alpha_of
from abtune.analyse.verdict import beyond_margin
from abtune.analyse.wording import confirming_test, count, found_nothing, p_value, percent


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One condition of a verdict.

    Attributes
    ----------
    of : str
        The verdict that asks it: any, a difference, or equivalence.
    asks : str
        The condition, in words.
    found : str
        What the data have, in words.
    passed : bool
    """

    of: str
    asks: str
    found: str
    passed: bool


_UNKNOWN = "unknown"
ANY, DIFFERENCE, EQUIVALENCE = "any verdict", "a difference", "equivalence"


def gates(row: Comparison, analysis: Analysis) -> tuple[Gate, ...]:
    """Lay out the conditions of :func:`abtune.analyse.verdict.decide` for one shape."""
    return (*_for_any(row), *_for_difference(row, analysis), *_for_equivalence(row, analysis))


def verdict_of(found: tuple[Gate, ...], row: Comparison) -> Verdict:
    """Return the verdict that follows from the gates of a shape judged at one look."""

    def all_passed(name: str) -> bool:
        return all(gate.passed for gate in found if gate.of == name)

    if not all_passed(ANY):
        return Verdict.INVALID
    if all_passed(DIFFERENCE):
        return Verdict.IMPROVED if row.boost > 0 else Verdict.REGRESSED
    return Verdict.EQUIVALENT if all_passed(EQUIVALENCE) else Verdict.INCONCLUSIVE


def _for_any(row: Comparison) -> Iterator[Gate]:
    for side in (row.baseline, row.candidate):
        yield Gate(
            of=ANY,
            asks=f"two seeds of {side.config}",
            found=f"{side.n}",
            passed=side.n >= 2,
        )
    sides = row.baseline, row.candidate
    yet = f" or {found_nothing(row.baseline.trials)}" if row.baseline.trials else ""
    yield Gate(
        of=ANY,
        asks=f"at most half of the runs of a side failed{yet}",
        found=", ".join(map(_lost, sides)),
        passed=all(side.lost <= side.n for side in sides),
    )


def _for_difference(row: Comparison, analysis: Analysis) -> Iterator[Gate]:
    alpha = alpha_of(analysis.level)
    moderated = analysis.choices.test == "moderated"
    yield Gate(
        of=DIFFERENCE,
        asks="the interval leaves out zero",
        found=_UNKNOWN
        if math.isnan(row.boost_low)
        else f"{percent(row.boost_low)} to {percent(row.boost_high)}",
        passed=row.boost_low > 0 or row.boost_high < 0,
    )
    if analysis.choices.require_margin:
        yield _margin_gate(row, analysis)
    name = "the moderated test" if moderated else "the permutation test"
    yield _test_gate(DIFFERENCE, name, row.p_adjusted, alpha)
    if not moderated:
        yield _test_gate(DIFFERENCE, confirming_test(analysis.choices), row.p_welch_adjusted, alpha)


def _margin_gate(row: Comparison, analysis: Analysis) -> Gate:
    """Hold the interval against the margin, as the verdict does."""
    family = analysis.choices.family_wise
    low = row.boost_low_simultaneous if family else row.boost_low
    high = row.boost_high_simultaneous if family else row.boost_high
    of_all = " of all shapes at once" if family else ""
    return Gate(
        of=DIFFERENCE,
        asks=f"the interval{of_all} lies beyond the margin of {percent(analysis.margin)}",
        found=_UNKNOWN if math.isnan(low) else f"{percent(low)} to {percent(high)}",
        passed=beyond_margin(low, high, analysis.margin),
    )


def _for_equivalence(row: Comparison, analysis: Analysis) -> Iterator[Gate]:
    alpha = alpha_of(analysis.level)
    name = f"the test of a difference beyond {percent(analysis.margin)}"
    yield _test_gate(EQUIVALENCE, name, row.p_equivalence_adjusted, alpha)


def _test_gate(of: str, name: str, p: float, alpha: float) -> Gate:
    return Gate(
        of=of,
        asks=f"{name} has an adjusted p of at most {p_value(alpha)}",
        found=_UNKNOWN if math.isnan(p) else p_value(p),
        passed=p <= alpha,
    )


def _lost(side: Side) -> str:
    return f"{side.config} {side.lost} of {count(side.n + side.lost, 'run')}"
