"""The gates decide, and nothing else does."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
import xarray as xr
from compare_builders import NAN, make_sweep
from report_builders import make_side

import abtune
from abtune.compare.gates import judge, unconfirmed
from abtune.compare.results import Evidence, Rule, Verdict, Worst, first_failed
from abtune.compare.settings import Settings
from abtune.dataset.schema import SeedDesign
from abtune.report.columns import decimals_of
from abtune.text import limits

SETTINGS = Settings(baseline="mainline", candidate="async")


def evidence(**numbers: Any) -> Evidence:
    defaults: dict[str, Any] = {
        "shape": "s",
        "workload": "",
        "baseline": make_side("mainline"),
        "candidate": make_side("async"),
        "boost": 0.05,
        "boost_low": 0.03,
        "boost_high": 0.07,
        "p": 0.001,
        "p_adjusted": 0.01,
        "p_welch": 0.001,
        "p_welch_adjusted": 0.01,
        "p_resampled": None,
        "p_resampled_adjusted": None,
        "p_equivalence": 1.0,
        "p_equivalence_adjusted": 1.0,
        "detectable": 0.04,
        "fewest_seeds": 7,
        "noise_of_pairs": NAN,
        "boost_at_least": NAN,
    }
    given = {**defaults, **numbers}
    wide = {"boost_low_simultaneous": given["boost_low"], "boost_high_simultaneous": given["boost_high"]}
    return Evidence(**{**wide, **given})


@pytest.mark.parametrize(
    ("numbers", "settings", "verdict", "reason"),
    [
        ({}, {}, Verdict.IMPROVED, "Faster (adjusted p 0.010), by more than the 2% margin."),
        (
            {"boost_low": 0.01},
            {},
            Verdict.IMPROVED,
            "Faster (adjusted p 0.010), but maybe by less than the 2% margin.",
        ),
        (
            {"boost_low": 0.01, "boost_at_least": 0.02},
            {},
            Verdict.IMPROVED,
            "Faster (adjusted p 0.010), by more than the 2% margin.",
        ),
        (
            {"boost_low_simultaneous": -0.08, "boost_high_simultaneous": 0.21},
            {},
            Verdict.IMPROVED,
            "Faster (adjusted p 0.010), but the interval for all shapes at once allows less than the 2% "
            "margin.",
        ),
        (
            {"boost": 0.01, "boost_low": 0.005, "boost_high": 0.015, "p_equivalence_adjusted": 0.001},
            {},
            Verdict.IMPROVED,
            "Faster (adjusted p 0.010), but by less than the 2% margin.",
        ),
        (
            {"boost": -0.1, "boost_low": -0.2, "boost_high": -0.05, "p_adjusted": 1e-6},
            {},
            Verdict.REGRESSED,
            "Slower (adjusted p <0.0001), by more than the 2% margin.",
        ),
        (
            {"boost_low": -0.01, "p_equivalence_adjusted": 0.05},
            {},
            Verdict.EQUIVALENT,
            "Any difference is smaller than the 2% margin (adjusted p 0.050).",
        ),
        (
            {"boost_low": -0.01, "detectable": NAN},
            {},
            Verdict.INCONCLUSIVE,
            "The tests find a difference, but the interval includes zero.",
        ),
        (
            {"boost_low": -0.01, "p_adjusted": 0.3},
            {},
            Verdict.INCONCLUSIVE,
            "Too noisy to tell. 10+10 seeds find a boost of 4% or more (80% power).",
        ),
        (
            {"boost_low": -0.01, "p_adjusted": 0.3, "baseline": make_side(n=8)},
            {},
            Verdict.INCONCLUSIVE,
            "Too noisy to tell. 8+10 seeds find a boost of 4% or more (80% power).",
        ),
        (
            {"boost_low": -0.01, "p_adjusted": 0.3, "baseline": make_side(n=5)},
            {},
            Verdict.INCONCLUSIVE,
            "Too noisy to tell. 5+10 seeds find a boost of 4% or more (80% power).",
        ),
        (
            {"boost_low": -0.01, "p_adjusted": 0.3, "baseline": make_side(n=201)},
            {},
            Verdict.INCONCLUSIVE,
            "Too noisy to tell.",
        ),
        (  # three seeds hardly show their noise
            {"boost_low": -0.01, "p_adjusted": 0.3, "baseline": make_side(n=3)},
            {},
            Verdict.INCONCLUSIVE,
            "Too noisy to tell.",
        ),
        (  # plans do not know max-T of unequal numbers
            {"boost_low": -0.01, "p_adjusted": 0.3, "baseline": make_side(n=7)},
            {"correction": "max-t"},
            Verdict.INCONCLUSIVE,
            "Too noisy to tell.",
        ),
        (
            {"p_adjusted": 0.06},
            {},
            Verdict.INCONCLUSIVE,
            "The difference is not significant after the correction over the shapes (adjusted p 0.060). "
            "10+10 seeds find a boost of 4% or more (80% power).",
        ),
        (
            {"p": 0.02, "p_adjusted": 0.04},
            {"of_candidates": 2},
            Verdict.INCONCLUSIVE,
            "The difference is not significant after the correction over the shapes (adjusted p 0.040, at a "
            "level of 2.5%). 10+10 seeds find a boost of 4% or more (80% power).",
        ),
        (
            {"p": 0.0501, "p_adjusted": 0.12},
            {},
            Verdict.INCONCLUSIVE,
            "The interval excludes zero, but the test finds no difference (p just above 0.050). 10+10 "
            "seeds find a boost of 4% or more (80% power).",
        ),
        (
            {"p_welch_adjusted": 0.3},
            {},
            Verdict.INCONCLUSIVE,
            "The permutation test finds a difference, but the Welch t-test does not (adjusted p "
            "0.30). Both are required, because the variances may differ. 10+10 seeds find a boost of 4% "
            "or more (80% power).",
        ),
        (
            {"baseline": make_side(n=5), "p_adjusted": 0.2, "detectable": math.inf},
            {},
            Verdict.INCONCLUSIVE,
            "No difference can pass Holm's correction with 5+10 seeds. It takes 7 per configuration.",
        ),
        (
            {"baseline": make_side(n=5), "boost_low": -1.0, "p_adjusted": 0.2, "detectable": math.inf},
            {"correction": "bh"},
            Verdict.INCONCLUSIVE,
            "No difference by itself can pass the correction with 5+10 seeds. It takes 7 per configuration.",
        ),
        (
            {"p_adjusted": 0.2, "detectable": math.inf},
            {},
            Verdict.INCONCLUSIVE,
            "The random splits of 10+10 seeds cannot resolve the small p that the correction requires.",
        ),
    ],
)
def test_verdict_and_reason(
    numbers: dict[str, Any], settings: dict[str, Any], verdict: Verdict, reason: str
) -> None:
    """Each verdict says why: the gate that failed, or what passed."""
    judgement = judge(evidence(**numbers), replace(SETTINGS, **settings))
    assert judgement.verdict is verdict
    assert judgement.reason == reason


@pytest.mark.parametrize(
    ("baseline", "candidate", "reason"),
    [
        ({"n": 1}, {"n": 1}, "One run per configuration supports no verdict."),
        ({}, {"n": 0, "failed": 10}, "There is no timing of async: 10 runs failed."),
        ({"n": 0}, {}, "There is no timing of mainline."),
        ({}, {"n": 0, "untimed": 1}, "There is no timing of async: 1 complete run has none yet."),
        (
            {"n": 0, "untimed": 9, "failed": 1},
            {},
            "There is no timing of mainline: 1 run failed and 9 complete runs have none yet.",
        ),
        ({}, {"n": 1}, "One run of async does not show how much its runs vary."),
        ({"n": 1}, {"n": 0, "failed": 1}, "There is no timing of async: 1 run failed."),
        ({"n": 4, "failed": 6}, {}, "Most runs of mainline failed: 6 of 10."),
    ],
)
def test_what_cannot_be_judged_is_invalid(
    baseline: dict[str, Any], candidate: dict[str, Any], reason: str
) -> None:
    """Too little data gives no verdict, however small a p-value is."""
    sides = {"baseline": make_side(**baseline), "candidate": make_side("async", **candidate)}
    judgement = judge(evidence(**sides), SETTINGS)
    assert judgement.verdict is Verdict.INVALID
    assert judgement.reason == reason


def test_half_of_the_runs_may_fail() -> None:
    """Five timed runs of ten are still half of what is compared."""
    assert judge(evidence(baseline=make_side(n=5, failed=5)), SETTINGS).verdict is Verdict.IMPROVED


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("correction", "end"), [("holm", 0.0), ("none", 0.1)])
def test_bounds_of_all_shapes_end_at_zero_where_the_verdict_says_more(
    sign: int, correction: str, end: float
) -> None:
    """The bound across zero does, if the verdict is corrected over the shapes; the other one stays."""
    ends = ["boost_low_simultaneous", "boost_high_simultaneous"][::sign]
    bounds = dict(zip(ends, (-0.1 * sign, 0.2 * sign), strict=True))
    numbers = {"boost": 0.05 * sign, "boost_low": 0.03, "boost_high": 0.07}
    if sign < 0:
        numbers.update(boost_low=-0.07, boost_high=-0.03)
    row = judge(evidence(**numbers, **bounds), replace(SETTINGS, correction=correction))
    assert row.verdict is (Verdict.IMPROVED if sign > 0 else Verdict.REGRESSED)
    assert [getattr(row, name) for name in ends] == [-end * sign, 0.2 * sign]


def test_nan_is_never_a_statement() -> None:
    """Unknown p-values and bounds lead to no claim."""
    unknown = dict.fromkeys(("p_adjusted", "p_welch_adjusted", "p_equivalence_adjusted", "boost_low"), NAN)
    assert judge(evidence(**unknown), SETTINGS).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0.03, 0.07, "by more"),
        (0.02, 0.07, "by more"),
        (0.01, 0.07, "maybe by less"),
        (-0.07, -0.03, "by more"),
        (-0.07, 1 / 1.02 - 1, "by more"),
        (-0.07, -0.0195, "maybe by less"),  # on logs this is closer to zero than 2 % is
    ],
)
def test_a_difference_is_compared_with_the_margin(low: float, high: float, said: str) -> None:
    """The reason says "by more" if the whole interval lies beyond the margin, either way."""
    row = evidence(boost=(low + high) / 2, boost_low=low, boost_high=high)
    assert f"{said} than the 2% margin" in judge(row, SETTINGS).reason


def test_the_margin_is_compared_with_the_simultaneous_interval() -> None:
    """A shape's own interval beyond the margin is not enough where many shapes are claimed at once."""
    row = evidence(boost_low=0.03, boost_low_simultaneous=0.01, boost_high_simultaneous=0.09)
    assert "all shapes at once allows less than the 2% margin" in judge(row, SETTINGS).reason
    assert "by more than the 2% margin" in judge(row, replace(SETTINGS, correction="none")).reason


@pytest.mark.parametrize(
    ("numbers", "note"),
    [
        (
            {"boost_low": -0.06, "boost_at_least": -0.0475},
            "The verdict rests on the one-sided bound of -4.8%. The two-sided interval reaches further.",
        ),
        ({"boost_low": -0.04, "boost_at_least": -0.03}, ""),
        (
            {"boost": 0.0, "boost_low": -0.01, "boost_high": 0.021, "p_equivalence_adjusted": 0.04},
            "The tests of equivalence are one-sided. The two-sided interval reaches further.",
        ),
        ({"boost": 0.0, "boost_low": -0.01, "boost_high": 0.01, "p_equivalence_adjusted": 0.04}, ""),
    ],
)
def test_an_interval_beyond_the_verdict_is_explained(numbers: dict[str, Any], note: str) -> None:
    """A note says why an interval beyond the tolerance or the margin does not contradict the verdict."""
    assert judge(evidence(**numbers), SETTINGS).caveats == (note,) * bool(note)


@pytest.mark.parametrize("correction", ["holm", "bh", "none"])
def test_the_gates_are_the_verdict(correction: str) -> None:
    """The gates of every row tell its verdict, and judging its numbers again gives the same."""
    dataset = make_sweep([0.3, -0.2, 0.0, 0.04, 0.01], n=10, noise=0.03, seed=4)
    analysis = abtune.analyze(dataset, correction=correction, margin=0.05)
    assert len({row.verdict for row in analysis.comparisons}) > 2
    for row in analysis.comparisons:
        passed = {rule: first_failed(row.gates, rule) is None for rule in Rule}
        assert (row.verdict is Verdict.INVALID) is not passed[Rule.ANY]
        assert (row.verdict in {Verdict.IMPROVED, Verdict.REGRESSED}) is passed[Rule.DIFFERENCE]
        alone = passed[Rule.EQUIVALENCE] and not passed[Rule.DIFFERENCE]
        assert (row.verdict is Verdict.EQUIVALENT) is alone
        numbers = {field.name: getattr(row, field.name) for field in fields(Evidence)}
        assert judge(Evidence(**numbers), analysis.settings).reason == row.reason


def test_a_difference_that_one_test_finds_alone_is_a_footnote_too() -> None:
    """A small p beside an inconclusive verdict is explained, also where the interval fails first."""
    row = evidence(boost_low=-0.01, p_adjusted=0.04, p_welch_adjusted=0.06)
    assert judge(row, SETTINGS).reason.startswith("Too noisy to tell.")
    assert unconfirmed(row, SETTINGS).startswith(
        "The permutation test finds a difference, but the Welch t-test does not"
    )
    assert not unconfirmed(row, Settings(baseline="a", candidate="b", design=SeedDesign.SHARED))


def test_a_skewed_side_asks_for_one_more_test() -> None:
    """A difference that the bootstrap-t test does not confirm is inconclusive, and the reason says why."""
    judged = judge(evidence(p_resampled=0.01, p_resampled_adjusted=0.2), SETTINGS)
    assert judged.verdict is Verdict.INCONCLUSIVE
    assert judged.reason.startswith(
        "The noise may look like a difference: one side is more skewed than the other "
        "(bootstrap-t: adjusted p 0.20)."
    )
    confirmed = judge(evidence(p_resampled=0.001, p_resampled_adjusted=0.03), SETTINGS)
    assert confirmed.verdict is Verdict.IMPROVED


def failing(share: float, n: int, seed: int, noise: float = 0.02) -> xr.Dataset:
    """Return 29 shapes without a difference; a share of the candidate's searches is 30 % slower."""
    rng = np.random.default_rng(seed)
    log = rng.normal(0, noise, (29, 2, n)) - 8
    log[:, 1] += np.log(1.3) * ((rng.random((29, n)) < share) - share)
    labels = [f"s{number}" for number in range(29)]
    return abtune.make_dataset(np.exp(log), shapes=labels, configs=["mainline", "async"])


@pytest.mark.parametrize(
    ("share", "n", "noise"),
    [(1 / 5, 10, 0.02), (1 / 15, 20, 0.02), (1 / 5, 10, 0.002), (1 / 5, 10, 0.0), (1 / 15, 20, 0.0)],
)
def test_failures_of_one_side_make_few_false_differences(share: float, n: int, noise: float) -> None:
    """Some shapes do not show the failure that others show: without this test most reports are false."""
    reports = [abtune.analyze(failing(share, n, seed, noise)) for seed in range(20)]
    rows = [report.comparisons for report in reports]
    different = {Verdict.IMPROVED, Verdict.REGRESSED}
    false = sum(any(row.verdict in different for row in report) for report in rows)
    without = sum(any(max(row.p_adjusted, row.p_welch_adjusted) <= 0.05 for row in report) for report in rows)
    assert false <= 3
    assert without >= 10
    must = "A verdict of improved or equivalent must also pass a bootstrap-t test."
    assert all(must in " ".join(report.caveats) for report in reports)


def test_failures_of_one_side_make_few_false_differences_of_three_shapes() -> None:
    """Three shapes do not show whether a gap is chance: any gap asks for the test, and a caveat tells."""
    wrong, without, told = 0, 0, 0
    for seed in range(40):
        report = abtune.analyze(failing(1 / 5, 10, seed).isel(shape=slice(3)))
        rows = report.comparisons
        wrong += any(row.verdict in {Verdict.IMPROVED, Verdict.REGRESSED} for row in rows)
        without += any(max(row.p_adjusted, row.p_welch_adjusted) <= 0.05 for row in rows)
        told += any("With fewer than 5 shapes, that may be chance." in caveat for caveat in report.caveats)
    assert wrong <= 4
    assert without >= 8
    assert told >= 36


def test_skewed_noise_of_another_size_makes_few_false_differences() -> None:
    """Both sides are exponential, one with four times the noise: without the test some 15 % are false."""
    wrong, without = 0, 0
    for seed in range(40):
        log = np.random.default_rng(seed).exponential(1.0, (29, 2, 10)) - 1
        log *= np.array([0.08, 0.02])[:, np.newaxis]
        labels = [f"s{number}" for number in range(29)]
        rows = abtune.analyze(
            abtune.make_dataset(np.exp(log - 8), shapes=labels, configs=["mainline", "async"])
        ).comparisons
        wrong += any(row.verdict in {Verdict.IMPROVED, Verdict.REGRESSED} for row in rows)
        without += any(max(row.p_adjusted, row.p_welch_adjusted) <= 0.05 for row in rows)
    assert wrong <= 2
    assert without >= 5


def test_failures_of_either_side_make_few_false_differences() -> None:
    """If the candidate fails in half of the shapes, and the baseline in the others, gaps cancel."""
    wrong, told = 0, 0
    for seed in range(20):
        dataset = failing(1 / 5, 10, seed)
        turned = dataset["latency"].values.copy()
        turned[15:] = turned[15:, ::-1]
        report = abtune.analyze(dataset.assign(latency=(dataset["latency"].dims, turned)))
        wrong += any(row.verdict in {Verdict.IMPROVED, Verdict.REGRESSED} for row in report.comparisons)
        told += any("in others async's" in caveat for caveat in report.caveats)
    assert wrong <= 3
    assert told >= 15


def test_a_large_boost_passes_in_spite_of_skewness() -> None:
    """The test is no bar for a boost that is large beside the noise of all seeds, failures included."""
    dataset = failing(1 / 5, 10, seed=3)
    dataset["latency"][:5, 0] *= 2.0
    rows = abtune.analyze(dataset).comparisons
    assert all(row.verdict is Verdict.IMPROVED for row in rows[:5])
    assert rows[0].p_resampled_adjusted is not None


def test_skewness_is_no_bar_in_the_other_direction() -> None:
    """A candidate that fails now and then is found slower without the test; as the baseline, faster."""
    dataset = failing(1 / 5, 10, seed=3)
    dataset["latency"][:5, 0] /= 1.3
    slower = abtune.analyze(dataset).comparisons[:5]
    faster = abtune.analyze(dataset, baseline="async", candidate="mainline").comparisons[:5]
    assert {row.verdict for row in slower} == {Verdict.REGRESSED}
    assert {row.verdict for row in faster} == {Verdict.IMPROVED}
    for row in (*slower, *faster):
        assert row.p_resampled is not None
        assert np.isnan(row.p_resampled)
        assert not any(gate.asks.startswith("the bootstrap-t test") for gate in row.gates)


def test_equal_noise_needs_no_further_test() -> None:
    """If both sides are skewed alike, or there is one shape, the test is not made."""
    rng = np.random.default_rng(5)
    log = rng.exponential(0.1, (29, 2, 10)) - 8
    labels = [f"s{number}" for number in range(29)]
    alike = abtune.make_dataset(np.exp(log), shapes=labels, configs=["mainline", "async"])
    lone = failing(1 / 5, 10, seed=1).isel(shape=slice(1))
    for dataset in (alike, lone):
        assert all(row.p_resampled is None for row in abtune.analyze(dataset).comparisons)


def test_a_p_that_just_misses_its_level_is_not_shown_as_that_level() -> None:
    """Two digits of 0.0503 are those of the level 0.050, so gate and reason say that it is above."""
    (row,) = abtune.analyze(make_sweep([0.03], n=6, noise=0.03, seed=336)).comparisons
    assert row.p_welch_adjusted == pytest.approx(0.0503, abs=5e-5)
    (gate,) = [gate for gate in row.gates if gate.asks.startswith("the Welch t-test")]
    assert (gate.passed, gate.found) == (False, "just above 0.050")
    assert "does not (adjusted p just above 0.050)" in row.reason


def test_the_bound_of_an_improved_shape_is_no_loss() -> None:
    """A verdict of faster is not told beside a bound that allows slower, whatever the resamples say."""
    faster, unclear = (
        judge(evidence(boost_at_least=-0.0535, p=p, p_adjusted=p), SETTINGS) for p in (0.01, 0.06)
    )
    assert faster.verdict is Verdict.IMPROVED
    assert (faster.gates[-1].found, faster.gates[-1].passed) == ("at least +0%", True)
    assert (unclear.gates[-1].found, unclear.gates[-1].passed) == ("at least -5.4%", False)


@pytest.mark.parametrize(
    ("bound", "said"),
    [
        (-0.0305, "The boost is at least -3.1%, as in every shape."),
        (-1e-17, "The boost is at least +0%, as in every shape."),
        (0.0, "Like every shape, it is not slower."),
        (0.2, "Like every shape, it is not slower."),
    ],
)
def test_the_bound_of_all_shapes_in_words(bound: float, said: str) -> None:
    """Where every shape is faster, none is slower; a bound above zero is no loss."""
    row = evidence(boost_low=-0.5, boost_at_least=-0.6)
    assert judge(row, SETTINGS, Worst(shape="s", boost_low=bound)).reason.startswith(said)


def test_runs_that_agree_exactly_are_not_too_noisy() -> None:
    """Without noise there is no boost that more seeds would find."""
    row = evidence(boost=0.0, boost_low=0.0, boost_high=0.0, p_adjusted=1.0, detectable=0.0)
    assert judge(row, SETTINGS).reason == "No run shows a difference."


def test_a_strict_level_is_compared_with_all_digits() -> None:
    """Beside a level below 0.0001, <0.0001 would not say whether p exceeds it."""
    row = evidence(p_adjusted=3e-6, boost_low=0.01)
    strict = judge(row, replace(SETTINGS, level=0.999999))
    gate = first_failed(strict.gates, Rule.DIFFERENCE)
    assert gate is not None
    assert (gate.asks, gate.found) == ("the permutation test has an adjusted p of at most 1e-06", "3.0e-06")


@pytest.mark.parametrize(
    "numbers",
    [{"p_welch_adjusted": 0.049}, {"p_resampled": 0.01, "p_resampled_adjusted": 0.049}],
)
def test_a_test_that_misses_a_shared_level_names_it(numbers: dict[str, float]) -> None:
    """Two candidates are tested at 2.5 %, where a p of 0.049 is too large."""
    row = judge(evidence(**numbers), replace(SETTINGS, of_candidates=2))
    assert "adjusted p 0.049, at a level of 2.5%" in row.reason
    thirds = judge(evidence(**numbers), replace(SETTINGS, of_candidates=3))
    assert "adjusted p 0.049, at a level of 1.7%" in thirds.reason, "as the heading of the report says it"


@pytest.mark.parametrize(
    ("low", "high", "interval"),
    [
        (0.0512, 0.5341, "+5.1 to +53.4%"),
        (-0.0832, -0.0003, "-8.3 to -0.0%"),
        (0.0021, 0.0112, "+0.21 to +1.12%"),
        (NAN, NAN, "unknown"),
    ],
)
def test_a_gate_rounds_an_interval_as_tables_do(low: float, high: float, interval: str) -> None:
    """A reader finds the same digits in both."""
    gates = judge(evidence(boost_low=low, boost_high=high), SETTINGS).gates
    assert [gate.found for gate in gates if gate.asks == "the interval excludes zero"] == [interval]
    if not math.isnan(low):
        assert limits(low, high, decimals_of([(low, high)])) == interval.rstrip("%")


def test_a_margin_and_a_tolerance_stand_as_they_were_typed() -> None:
    """Two digits would make 12 % of 12.5 %."""
    row = judge(evidence(), replace(SETTINGS, margin=0.125, tolerance=0.0725))
    assert row.reason.endswith("than the 12.5% margin.")
    asked = [gate.asks for gate in row.gates]
    assert any("beyond 12.5%" in text for text in asked)
    assert any("lose at most 7.25%" in text for text in asked)
