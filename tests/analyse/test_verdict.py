"""The one function that decides."""

import math
from typing import Any

import pytest
from analyse_builders import NAN, make_side

from abtune.analyse.comparison import Verdict
from abtune.analyse.verdict import Evidence, decide


def evidence(**fields: Any) -> Evidence:
    defaults: dict[str, Any] = {
        "baseline": make_side("mainline"),
        "candidate": make_side("async"),
        "boost": 0.05,
        "boost_low": 0.03,
        "boost_high": 0.07,
        "p_adjusted": 0.01,
        "p_welch_adjusted": 0.01,
        "p_equivalence_adjusted": 1.0,
        "confirming": "Welch's t",
        "alpha": 0.05,
        "margin": 0.02,
        "detectable": 0.04,
        "seeds": 35,
        "fewest": 7,
    }
    return Evidence(**{**defaults, **fields})


@pytest.mark.parametrize(
    ("fields", "verdict", "reason"),
    [
        ({}, Verdict.IMPROVED, "Faster (adjusted p 0.01), by more than the margin of 2%."),
        (
            {"boost_low": 0.01},
            Verdict.IMPROVED,
            "Faster (adjusted p 0.01); that it is by at least the margin of 2% is not shown.",
        ),
        (
            {"boost": 0.01, "boost_low": 0.005, "boost_high": 0.015, "p_equivalence_adjusted": 0.001},
            Verdict.IMPROVED,
            "Faster (adjusted p 0.01), but by less than the margin of 2%.",
        ),
        (
            {"boost": -0.1, "boost_low": -0.2, "boost_high": -0.05, "p_adjusted": 1e-6},
            Verdict.REGRESSED,
            "Slower (adjusted p below 0.0001), by more than the margin of 2%.",
        ),
        (
            {"boost_low": -0.01, "p_equivalence_adjusted": 0.05},
            Verdict.EQUIVALENT,
            "Any difference is smaller than the margin of 2% (adjusted p 0.05).",
        ),
        (
            {"boost_low": -0.01},
            Verdict.INCONCLUSIVE,
            "Neither a difference nor its absence is shown; 10 + 10 seeds detect a boost of 4% with 80% "
            "power, and one of 2% takes about 35 a side.",
        ),
        (
            {"p_adjusted": 0.06, "seeds": 5000},
            Verdict.INCONCLUSIVE,
            "The difference does not pass the correction (adjusted p 0.06); 10 + 10 seeds detect a boost "
            "of 4% with 80% power, and one of 2% takes more than 1,000 a side.",
        ),
        (
            {"p_welch_adjusted": 0.3},
            Verdict.INCONCLUSIVE,
            "A permutation test sees a difference (adjusted p 0.01), but Welch's t does not confirm it "
            "(0.3); 10 + 10 seeds detect a boost of 4% with 80% power, and one of 2% takes about 35 a side.",
        ),
        (
            {"baseline": make_side(n=5), "p_adjusted": 0.2, "detectable": math.inf},
            Verdict.INCONCLUSIVE,
            "With 5 + 10 seeds no difference can pass the correction; it takes 7 a side.",
        ),
        (
            {"p_adjusted": 0.2, "detectable": math.inf},
            Verdict.INCONCLUSIVE,
            "The random splits of 10 + 10 seeds cannot resolve so small a p as the correction asks for.",
        ),
    ],
)
def test_verdict_and_reason(fields: dict[str, Any], verdict: Verdict, reason: str) -> None:
    """Each verdict says why, in one sentence."""
    decision = decide(evidence(**fields))
    assert decision.verdict is verdict
    assert decision.reason == reason


@pytest.mark.parametrize(
    ("baseline", "candidate", "reason"),
    [
        ({"n": 1}, {"n": 1}, "One run a side supports no verdict."),
        ({}, {"n": 0, "failed": 10}, "There is no timing of async; 10 runs failed."),
        ({"n": 0}, {}, "There is no timing of mainline."),
        ({}, {"n": 1}, "One run of async says nothing of how its runs scatter."),
        ({"n": 4, "failed": 6}, {}, "More than half of the runs of mainline failed: 6 of 10."),
    ],
)
def test_what_cannot_be_judged_is_invalid(
    baseline: dict[str, Any], candidate: dict[str, Any], reason: str
) -> None:
    """Too little data is no verdict, however small a p-value may be."""
    decision = decide(evidence(baseline=make_side(**baseline), candidate=make_side("async", **candidate)))
    assert decision.verdict is Verdict.INVALID
    assert decision.reason == reason


def test_half_of_the_runs_may_fail() -> None:
    """Five timed runs of ten still are the larger part of what is compared."""
    assert decide(evidence(baseline=make_side(n=5, failed=5))).verdict is Verdict.IMPROVED


def test_nan_is_never_a_statement() -> None:
    """Unknown p-values and bounds lead to no claim."""
    unknown = dict.fromkeys(("p_adjusted", "p_welch_adjusted", "p_equivalence_adjusted", "boost_low"), NAN)
    assert decide(evidence(**unknown)).verdict is Verdict.INCONCLUSIVE
