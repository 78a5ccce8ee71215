"""From a dataset to an analysis."""

import math
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from compare_builders import NAN, make_sweep
from hypothesis import given, settings
from hypothesis import strategies as st

import abtune
from abtune.compare.compare import compare
from abtune.compare.results import Verdict
from abtune.dataset.build import make_dataset
from abtune.dataset.schema import RunStatus
from abtune.errors import InputError

ROUNDED = "The interval and the verdict ignore the rounding of the timer."


def numbers(analysis: abtune.Analysis) -> np.ndarray:
    rows = analysis.comparisons
    names = ("boost", "boost_low", "boost_high", "p", "p_adjusted", "p_equivalence_adjusted")
    return np.array([[getattr(row, name) for name in names] for row in rows])


def test_large_boosts_and_equal_sides_get_their_verdicts() -> None:
    """Ten seeds a side find what is large, and what is nothing at small noise."""
    analysis = abtune.analyze(make_sweep([0.2, -0.2, 0.0], noise=0.004, seed=1))
    assert [row.verdict for row in analysis.comparisons] == [
        Verdict.IMPROVED,
        Verdict.REGRESSED,
        Verdict.EQUIVALENT,
    ]
    assert analysis.comparisons[0].boost == pytest.approx(0.2, abs=0.01)


def test_an_analysis_that_is_judged_again_keeps_its_dataset() -> None:
    """With another margin, an analysis still has what its sections and figures are made of."""
    analysis = abtune.analyze(make_sweep([0.1], n=5))
    assert analysis.dataset is not None
    again = compare(analysis.dataset, replace(analysis.settings, margin=0.05))
    assert again.dataset is analysis.dataset
    assert abtune.describe(again, "noise").pooled[0].search > 0


@pytest.mark.parametrize(
    ("candidate", "said"), [("new", "unknown configuration 'new'"), ("mainline", "are both 'mainline'")]
)
def test_replaced_settings_name_two_configurations(candidate: str, said: str) -> None:
    """A configuration is not compared with itself, nor looked for in vain."""
    analysis = abtune.analyze(make_sweep([0.1], n=5))
    with pytest.raises(InputError, match=said):
        compare(analysis.dataset, replace(analysis.settings, candidate=candidate))


def test_configurations_default_to_the_first_two_and_may_be_named() -> None:
    """The first is the baseline; naming one side leaves the other to the first that remains."""
    dataset = make_dataset(np.ones((1, 3, 2)), shapes=["s"], configs=["a", "b", "c"])
    pairs = {(analysis.baseline, analysis.candidate) for analysis in [abtune.analyze(dataset)]}
    assert pairs == {("a", "b")}
    assert abtune.analyze(dataset, candidate="a").baseline == "b"
    assert abtune.analyze(dataset, baseline="b").candidate == "a"
    assert abtune.analyze(dataset, baseline="c", candidate="b").baseline == "c"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"level": 95}, "level is a fraction between 0 and 1, such as 0.95, not 95"),
        ({"level": 0.0}, "level is a fraction"),
        ({"level": NAN}, "level is a fraction"),
        ({"level": 1 - 1e-14}, "level is a fraction"),
        ({"margin": 2}, "margin is a fraction between 0 and 1, such as 0.02, not 2"),
        ({"margin": 0}, "margin is a fraction"),
        ({"rng_seed": -1}, "rng_seed is a whole number from 0 on, not -1"),
        ({"baseline": "mainlin"}, "unknown configuration 'mainlin'; did you mean: mainline"),
        ({"candidate": "mainline", "baseline": "mainline"}, "both 'mainline'"),
        ({"shapes": ["nothing"]}, "unknown shape 'nothing'"),
        ({"shapes": []}, "no shape"),
    ],
)
def test_unusable_arguments_are_one_clear_line(arguments: dict, message: str) -> None:
    """Misuse raises InputError; in particular 95 is not a confidence level (scipy answers NaN)."""
    with pytest.raises(InputError, match=message) as caught:
        abtune.analyze(make_sweep(0.1), **arguments)
    assert "\n" not in str(caught.value)


def test_one_configuration_is_no_comparison() -> None:
    """A dataset with a single configuration is refused."""
    dataset = make_dataset(np.ones((1, 1, 2)), shapes=["s"], configs=["a"])
    with pytest.raises(InputError, match="two configurations"):
        abtune.analyze(dataset)


def test_swapping_the_sides_inverts_every_boost() -> None:
    """Boosts become their inverse, p-values and verdicts follow."""
    dataset = make_sweep([0.1, -0.04, 0.0, 0.02], n=9, m=6, noise=(0.03, 0.01), rounds=2)
    there = abtune.analyze(dataset)
    back = abtune.analyze(dataset, baseline="async", candidate="mainline")
    one, two = numbers(there), numbers(back)
    np.testing.assert_allclose(np.log1p(one[:, 0]), -np.log1p(two[:, 0]), rtol=1e-12)
    np.testing.assert_allclose(np.log1p(one[:, 1]), -np.log1p(two[:, 2]), rtol=1e-12)
    assert np.array_equal(one[:, 3:], two[:, 3:])
    mirrored = {Verdict.IMPROVED: Verdict.REGRESSED, Verdict.REGRESSED: Verdict.IMPROVED}
    assert [mirrored.get(row.verdict, row.verdict) for row in there.comparisons] == [
        row.verdict for row in back.comparisons
    ]


@settings(max_examples=20)
@given(factor=st.floats(1e-9, 1e9))
def test_units_do_not_matter(factor: float) -> None:
    """Microseconds or minutes: the same report."""
    dataset = make_sweep([0.1, 0.0], n=6, rounds=2, timing_noise=0.001)
    scaled = dataset.assign(latency=(dataset["latency"] * factor).assign_attrs(dataset["latency"].attrs))
    analysis = abtune.analyze(scaled)
    np.testing.assert_allclose(numbers(analysis), numbers(abtune.analyze(dataset)), rtol=1e-6, atol=1e-9)


def test_the_order_of_shapes_and_seeds_is_irrelevant() -> None:
    """Shuffling the dataset shuffles the comparisons and changes nothing else."""
    dataset = make_sweep([0.1, 0.0, 0.03, -0.05], n=8, m=5)
    order = [2, 0, 3, 1]
    shuffled = dataset.isel(shape=order, seed=[7, 3, 1, 0, 2, 4, 6, 5])
    np.testing.assert_allclose(
        numbers(abtune.analyze(shuffled)), numbers(abtune.analyze(dataset))[order], rtol=1e-12
    )


def test_the_same_seed_gives_the_same_analysis_and_another_the_same_verdicts() -> None:
    """Equal arguments give equal results, and resampling noise decides nothing."""
    dataset = make_sweep(np.linspace(-0.1, 0.1, 12), n=18, noise=0.03)
    first = abtune.analyze(dataset, rng_seed=1)
    assert first == abtune.analyze(dataset, rng_seed=1)
    other = abtune.analyze(dataset, rng_seed=2)
    assert [row.verdict for row in other.comparisons] == [row.verdict for row in first.comparisons]
    assert [row.p for row in other.comparisons] != [row.p for row in first.comparisons]


def test_adjusted_p_values_are_never_smaller() -> None:
    """Both corrections only raise p, and shapes left out of the analysis do not count."""
    dataset = make_sweep(np.linspace(-0.05, 0.05, 8))
    for row in abtune.analyze(dataset).comparisons:
        assert row.p_adjusted >= row.p > 0
        assert row.p_equivalence_adjusted >= row.p_equivalence > 0
    alone = abtune.analyze(dataset, shapes=["shape3"]).comparisons
    assert len(alone) == 1
    assert alone[0].p_adjusted == alone[0].p


def test_the_published_table_is_reproduced() -> None:
    """29 boosts to the last digit, none of them judged, and the interval over shapes."""
    dataset = abtune.open_dataset("tvm14009-rtx3080")
    analysis = abtune.analyze(dataset)
    latency = dataset["latency"].values[:, :, 0, 0, 0]
    boosts = [row.boost for row in analysis.comparisons]
    np.testing.assert_allclose(boosts, latency[:, 0] / latency[:, 1] - 1, rtol=1e-14)
    assert {row.verdict for row in analysis.comparisons} == {Verdict.INVALID}
    assert {row.reason for row in analysis.comparisons} == {"One run per configuration supports no verdict."}
    aggregate = analysis.overall.shapes_like_these
    shown = [f"{100 * boost:.1f}" for boost in (aggregate.boost, aggregate.boost_low, aggregate.boost_high)]
    assert shown == ["11.8", "7.7", "16.1"]
    assert aggregate.boost == pytest.approx(0.118478, abs=1e-6)


def with_status(dataset: xr.Dataset, side: int, **runs: int) -> xr.Dataset:
    """Mark the last runs of the first shape as failed or missing."""
    status = dataset["run_status"].copy(deep=True)
    for flag, number in runs.items():
        status[0, side, -number:] = RunStatus[flag.upper()]
    return dataset.assign(run_status=status)


def test_lost_runs_are_said() -> None:
    """A side that lost runs is not compared in silence."""
    row = abtune.analyze(with_status(make_sweep(0.2), 1, failed=3)).comparisons[0]
    assert (row.candidate.n, row.candidate.failed) == (7, 3)
    assert "async: 3 of 10 runs failed. The others are compared." in row.caveats
    row = abtune.analyze(with_status(make_sweep(0.2), 0, missing=2)).comparisons[0]
    assert "mainline: 2 runs missing." in row.caveats


def test_a_side_that_mostly_fails_is_invalid() -> None:
    """More failed runs than timed ones support no verdict, and nothing breaks when all fail."""
    row = abtune.analyze(with_status(make_sweep(0.2), 1, failed=6)).comparisons[0]
    assert row.verdict is Verdict.INVALID
    row = abtune.analyze(with_status(make_sweep(0.2), 1, failed=10)).comparisons[0]
    assert row.reason == "There is no timing of async: 10 runs failed."
    assert row.caveats == ("async: 10 of 10 runs failed.",)
    assert math.isnan(row.boost)


def test_a_hopeless_design_is_said_with_the_seeds_it_takes() -> None:
    """Five seeds of a shape cannot pass Holm over 29; that all are faster is no contradiction."""
    analysis = abtune.analyze(make_sweep(np.full(29, 0.5), n=5, noise=0.01), correction="holm")
    assert {row.verdict for row in analysis.comparisons} == {Verdict.NOT_SLOWER}
    assert "All 29 are faster (none by their own verdicts)" in analysis.sentence
    assert (
        "No single shape can be shown to differ. The smallest possible p of these seeds is 0.0079; the "
        "correction over 29 shapes requires 0.0017. Run 7 seeds per configuration, or 5 of every shape: then "
        "max-T is the default correction."
    ) in analysis.caveats
    reason = "No difference can pass Holm's correction with 5+5 seeds. It takes 7 per configuration."
    assert analysis.comparisons[0].reason.endswith(reason)
    four = abtune.analyze(make_sweep(np.full(29, 0.5), n=4, noise=0.01), correction="max-t")
    assert {row.verdict for row in four.comparisons} == {Verdict.IMPROVED}


def test_a_level_beyond_random_splits_takes_fewer_seeds() -> None:
    """Random splits of 16 seeds reach no p that is small enough. The exact test of 12 seeds does."""
    many = make_sweep(np.full(29, 0.5), n=16, noise=0.01)
    analysis = abtune.analyze(many, level=0.9999, correction="holm")
    assert (
        "No single shape can be shown to differ. The smallest possible p of these seeds is 1e-05; the "
        "correction over 29 shapes requires 3.4e-06. Run 11 to 15 seeds per configuration, or 9 of every "
        "shape: then max-T is the default correction."
    ) in analysis.caveats
    fewer = abtune.analyze(make_sweep(np.full(29, 0.5), n=12, noise=0.01), level=0.9999)
    assert {row.verdict for row in fewer.comparisons} == {Verdict.IMPROVED}


def test_few_seeds_can_pass_behind_another_shape() -> None:
    """Where another shape differs, Holm asks four seeds for a p that they can have; no report denies it."""
    for boost, verdict in ((0.5, Verdict.IMPROVED), (0.0, Verdict.NOT_SLOWER)):
        dataset = make_sweep([0.5, boost], n=10, noise=0.025)
        dataset["latency"][1, :, 4:] = np.nan
        row = abtune.analyze(dataset).comparisons[1]
        assert row.verdict is verdict
        assert math.isnan(row.detectable)
        assert "No difference can pass" not in row.reason
        (alone,) = (row for row in abtune.analyze(dataset, level=0.99).comparisons if row.baseline.n == 4)
        assert "No difference can pass the test with 4+4 seeds." in alone.reason


def test_a_lone_shape_is_not_corrected() -> None:
    """The reason of a lone shape with three seeds names the test, not Holm's correction."""
    (row,) = abtune.analyze(make_sweep([0.5], n=3, noise=0.01)).comparisons
    assert row.reason.endswith(
        "No difference can pass the test with 3+3 seeds. It takes 4 per configuration."
    )


def test_a_hopeless_design_counts_the_shapes_that_are_tested() -> None:
    """A shape that most of its runs failed has a p-value still, which the correction is over."""
    dataset = with_status(make_sweep(np.zeros(8), n=5), 1, failed=3)
    analysis = abtune.analyze(dataset)
    assert analysis.comparisons[0].verdict is Verdict.INVALID
    assert any("the correction over 8 shapes requires 0.0063" in note for note in analysis.caveats)
    alone = abtune.analyze(make_sweep([1.0], n=3, seed=2))
    assert any("is 0.10; a difference requires 0.050" in note for note in alone.caveats)


@pytest.mark.parametrize(
    ("n", "m", "said"),
    [
        (2, 12, "more than twice as many seeds"),
        (12, 3, "more than twice as many seeds"),
        (4, 20, "more than twice as many seeds"),
        (19, 9, "more than twice as many seeds"),
        (40, 19, "more than twice as many seeds"),
        (10, 20, ""),
        (20, 41, ""),
        (3, 6, ""),
        (5, 10, ""),
        (10, 10, ""),
    ],
)
def test_few_seeds_against_many_are_mentioned(n: int, m: int, said: str) -> None:
    """Few seeds do not tell how their side scatters, and equal numbers would not need it."""
    notes = abtune.analyze(make_sweep([0.1, 0.0], n=n, m=m)).caveats
    warnings = [note for note in notes if note.startswith("In 2 shapes one configuration has")]
    assert len(warnings) == bool(said)
    assert said in "".join(warnings)


def test_rare_failures_are_mentioned_until_they_would_show() -> None:
    """Ten seeds miss what befalls a tenth of the searches in 35 % of sweeps; forty do not."""
    notes = " ".join(abtune.analyze(make_sweep(0.1)).caveats)
    assert "If 1 seed in 10 is far slower, 10 seeds miss all of these with a chance of 35%." in notes
    two = " ".join(abtune.analyze(make_sweep(0.1, n=2)).caveats)
    assert "2 seeds miss all of these with a chance of 81%." in two
    assert "seeds miss all" not in " ".join(abtune.analyze(make_sweep(0.1, n=40)).caveats)


def test_winners_timed_once_are_mentioned() -> None:
    """Without repeated timings the noise of measurement is unknown, and only then."""
    assert any("timed once" in note for note in abtune.analyze(make_sweep(0.1)).caveats)
    again = abtune.analyze(make_sweep(0.1, rounds=2, timing_noise=0.001))
    assert not any("timed once" in note for note in again.caveats)


def test_seeds_that_agree_exactly_are_mentioned() -> None:
    """Constant samples give an answer with a caveat."""
    analysis = abtune.analyze(make_sweep([0.0, 0.1], noise=0.0))
    same, apart = analysis.comparisons
    assert same.p == 1.0
    assert same.verdict is Verdict.EQUIVALENT
    assert apart.verdict is Verdict.IMPROVED
    for row in (same, apart):
        assert f"mainline and async: all 10 seeds agree exactly. {ROUNDED}" in row.caveats


def test_equal_rounds_are_no_proof_of_equivalence() -> None:
    """Of two seeds that agree exactly, no verdict depends on the digits of their timings."""
    for time in (9.77508e-4, 9.13628e-4):  # of three logs of the latter, the mean is rounded
        dataset = abtune.make_dataset(np.full((1, 2, 2, 3, 1), time), shapes=["a"], configs=["x", "y"])
        (row,) = abtune.analyze(dataset).comparisons
        assert row.verdict is Verdict.INCONCLUSIVE
        assert row.p_equivalence == pytest.approx(1 / 6)


def test_what_a_coarse_timer_hides_is_mentioned() -> None:
    """20.4 and 19.6 us are both 20 on a clock of 1 us: 4 % pass for equivalence within 2 %, with a caveat."""
    times = np.random.default_rng(0).normal([[20.4], [19.6]], 0.03, (2, 10))
    dataset = abtune.make_dataset([np.round(times) * 1e-6], shapes=["a"], configs=["mainline", "async"])
    (row,) = abtune.analyze(dataset).comparisons
    assert row.verdict is Verdict.EQUIVALENT
    assert f"mainline and async: all 10 seeds agree exactly. {ROUNDED}" in row.caveats


def test_a_coarse_timer_widens_what_rests_on_it() -> None:
    """On a clock of 1 us, kernels of 20 us have true boosts within their intervals; 1 ns changes nothing."""
    rng = np.random.default_rng(0)
    time, boosts = rng.uniform(18, 22, 20), rng.uniform(-0.04, 0.04, 20)
    sides = np.stack([time, time / np.exp(boosts)], axis=1)[:, :, np.newaxis]
    micros = sides * np.exp(rng.normal(0, 0.003, (20, 2, 10)))
    shapes = [f"s{number}" for number in range(20)]

    def judged(decimals: int) -> abtune.Analysis:
        seconds = np.round(micros, decimals) * 1e-6
        return abtune.analyze(abtune.make_dataset(seconds, shapes=shapes, configs=["mainline", "async"]))

    coarse, fine, exact = judged(0), judged(3), judged(12)
    for row, boost in zip(coarse.comparisons, boosts, strict=True):
        assert row.boost_low_simultaneous <= row.boost_low <= np.expm1(boost) <= row.boost_high
        assert row.verdict is not Verdict.EQUIVALENT or abs(boost) < np.log(1.02)
    assert sum(
        "mainline and async: steps of the timer" in note for row in coarse.comparisons for note in row.caveats
    ) in range(10, 21)
    kinds = {row.verdict for row in fine.comparisons}
    assert kinds >= {Verdict.IMPROVED, Verdict.REGRESSED, Verdict.EQUIVALENT}
    assert [row.verdict for row in fine.comparisons] == [row.verdict for row in exact.comparisons]
    # Every interval is wider, that of all shapes together, too; counts of shapes are smaller.
    wide, narrow = (analysis.overall.these_shapes for analysis in (coarse, fine))
    assert wide.boost_high - wide.boost_low > narrow.boost_high - narrow.boost_low + 0.04
    for claim, other in zip(coarse.claims, fine.claims, strict=True):
        assert claim.at_least <= other.at_least


def test_scatter_below_that_of_the_timings_is_mentioned() -> None:
    """Seeds that agree better than their own timings allow get the scatter of the timings."""
    dataset = make_sweep(0.0, noise=0.0, rounds=2)
    latency = dataset["latency"].copy(deep=True)
    latency[..., 0, :] *= 1.01
    row = abtune.analyze(dataset.assign(latency=latency)).comparisons[0]
    assert row.caveats == (
        "mainline and async: the measurement error of a seed exceeds the noise between seeds, and replaces "
        "it. Time more rounds.",
    )
    assert row.boost_high - row.boost_low > 0.005


@pytest.mark.parametrize("n", [0, 1, 2, 3])
@pytest.mark.parametrize("m", [1, 2, 10])
def test_nan_never_comes_without_a_word(n: int, m: int) -> None:
    """Whatever is missing, each NaN goes with an invalid verdict or a caveat."""
    dataset = make_sweep([0.1, 0.1], n=10)
    latency = dataset["latency"].copy(deep=True)
    latency[0, 0, n:], latency[0, 1, m:] = NAN, NAN
    analysis = abtune.analyze(dataset.assign(latency=latency))
    for row in analysis.comparisons:
        values = (row.boost, row.boost_low, row.boost_high, row.p, row.p_adjusted, row.p_equivalence)
        assert not any(map(math.isnan, values)) or row.verdict is Verdict.INVALID
        assert row.reason.endswith(".")


def test_welch_is_mentioned_where_it_disagrees_about_zero() -> None:
    """An interval whose exclusion of zero hangs on the method says so."""
    notes = [
        note
        for seed in range(40)
        for row in abtune.analyze(make_sweep(np.full(20, 0.02), n=10, seed=seed)).comparisons
        for note in row.caveats
        if "Welch t-test" in note
    ]
    assert notes
    assert len(notes) < 80


def test_a_comparison_says_how_many_seeds_each_side_has() -> None:
    """The same numbers that JSON and CSV have as columns."""
    row = abtune.analyze(make_sweep([0.1], n=5, m=4)).comparisons[0]
    assert (row.baseline.n, row.candidate.n) == (5, 4)


@pytest.mark.parametrize("unit", [1.0, 1e3])
def test_little_scatter_gives_no_verdict_by_the_order_of_the_sides(unit: float) -> None:
    """Four seeds a side that overlap have p = 4/70 and no verdict, whichever side is the candidate."""
    old = np.array([1.234002e-4, 1.234369e-4, 1.233662e-4, 1.232901e-4])
    new = np.array([1.230975e-4, 1.230314e-4, 1.231609e-4, 1.233186e-4])
    dataset = make_dataset(unit * np.stack([old, new])[np.newaxis], shapes=["s"], configs=["a", "b"])
    for pair in (("a", "b"), ("b", "a")):
        row = abtune.analyze(dataset, baseline=pair[0], candidate=pair[1], margin=1e-4).comparisons[0]
        assert row.p == pytest.approx(4 / 70)
        assert row.verdict is Verdict.NOT_SLOWER  # by more than 5 %, either way round


def test_underflow_may_be_an_error_elsewhere() -> None:
    """A program that lets NumPy raise gets the same numbers: a tiny chance is zero."""
    for dataset in (make_sweep(0.1, n=2), make_sweep(0.1, n=10, rounds=2, timing_noise=0.1)):
        with np.errstate(all="raise"):
            strict = abtune.analyze(dataset)
        assert strict.comparisons == abtune.analyze(dataset).comparisons
