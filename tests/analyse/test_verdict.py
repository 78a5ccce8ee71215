"""The one function that decides."""

import math
from dataclasses import replace
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
        "step_up": False,
        "require_margin": False,
    }
    given = {**defaults, **fields}
    return Evidence(**{"family_low": given["boost_low"], "family_high": given["boost_high"], **given})


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
            {"family_low": -0.08, "family_high": 0.21},  # wide, and beyond the margin nowhere
            Verdict.IMPROVED,
            "Faster (adjusted p 0.01); that it is by at least the margin of 2% is not shown: "
            "the interval of all shapes at once is -8% to 21%.",
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
            {"baseline": make_side(n=5), "p_adjusted": 0.2, "detectable": math.inf, "step_up": True},
            Verdict.INCONCLUSIVE,
            "With 5 + 10 seeds no difference can pass the correction by itself, only with others; it takes 7 "
            "a side.",
        ),
        (
            {"boost_low": -0.01, "require_margin": True},
            Verdict.INCONCLUSIVE,
            "Neither a difference nor its absence is shown; 10 + 10 seeds show a boost of 6.1% to be beyond "
            "the margin with 80% power.",
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


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.03, 0.07, Verdict.IMPROVED),
        (0.02, 0.07, Verdict.IMPROVED),
        (0.01, 0.07, Verdict.INCONCLUSIVE),
        (-0.07, -0.03, Verdict.REGRESSED),
        (-0.07, 1 / 1.02 - 1, Verdict.REGRESSED),
        (-0.07, -0.0195, Verdict.INCONCLUSIVE),  # on logs this is closer to zero than 2 % is
    ],
)
def test_a_difference_can_be_required_to_pass_the_margin(low: float, high: float, verdict: Verdict) -> None:
    """With a required margin a difference is called if the whole interval lies beyond it, either way."""
    boost = (low + high) / 2
    wanted = evidence(boost=boost, boost_low=low, boost_high=high, require_margin=True)
    decision = decide(wanted)
    assert decision.verdict is verdict
    if verdict is Verdict.INCONCLUSIVE:
        assert "at least the margin of 2% is not shown" in decision.reason
        assert decide(replace(wanted, require_margin=False)).verdict is not Verdict.INCONCLUSIVE


def test_the_margin_is_held_against_the_interval_of_all_shapes() -> None:
    """A shape's own interval beyond the margin is not enough where many shapes are claimed at once."""
    wanted = evidence(boost_low=0.03, family_low=0.01, family_high=0.09, require_margin=True)
    assert decide(wanted).verdict is Verdict.INCONCLUSIVE
    assert "at least the margin of 2% is not shown" in decide(replace(wanted, require_margin=False)).reason


def test_a_certain_difference_below_a_required_margin_can_be_equivalent() -> None:
    """A difference that is certain and certainly small is equivalent where only large ones count."""
    small = evidence(
        boost=0.005, boost_low=0.001, boost_high=0.01, p_equivalence_adjusted=0.01, require_margin=True
    )
    assert decide(small).verdict is Verdict.EQUIVALENT
