"""What an analysis does when told how: estimands, intervals, tests, corrections."""

import itertools
import math
from dataclasses import asdict, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from compare_builders import make_sweep

import abtune
from abtune.compare.compare import compare
from abtune.compare.results import Verdict
from abtune.errors import InputError
from abtune.stats.estimand import Estimand
from abtune.stats.intervals import bootstrap_t
from abtune.stats.intervals.interval_methods import METHODS, methods_for
from abtune.stats.testing.difference_tests import CORRECTIONS, TESTS

TRUE = np.repeat([0.0, 0.2, -0.2], [10, 4, 4])


def bounds(analysis: abtune.Analysis) -> np.ndarray:
    return np.array([[row.boost_low, row.boost_high] for row in analysis.comparisons])


@pytest.mark.parametrize("estimand", list(Estimand))
def test_each_estimand_is_what_it_says(estimand: Estimand) -> None:
    """The boost is the ratio of the mean, or of the expected best, of the seeds' latencies."""
    dataset = make_sweep([0.1, 0.0], n=estimand.fewest_seeds + 5, noise=0.1)

    def typical(times: np.ndarray) -> float:
        subsets = itertools.combinations(np.log(times), estimand.searches)
        return float(np.exp(np.mean([min(subset) for subset in subsets])))

    analysis = abtune.analyze(dataset, estimand=estimand.value)
    for row, times in zip(analysis.comparisons, dataset["latency"].values[..., 0, 0], strict=True):
        assert row.boost == pytest.approx(typical(times[0]) / typical(times[1]) - 1)
        assert row.boost_low < row.boost < row.boost_high
    words = {"best-of:3": "expected best-of-3", "geometric-mean": "geometric mean"}.get(estimand, "")
    assert analysis.definition.startswith(f"Boost: {words}")
    assert analysis.settings.estimand == estimand
    logs = np.log([[typical(times) for times in sides] for sides in dataset["latency"].values[..., 0, 0]])
    assert analysis.overall.these_shapes.boost == pytest.approx(np.expm1((logs[:, 0] - logs[:, 1]).mean()))


@pytest.mark.parametrize("method", methods_for("geometric-mean"))
def test_every_interval_gives_verdicts(method: str) -> None:
    """Large differences are found and none is made up, whatever the interval."""
    analysis = abtune.analyze(make_sweep(TRUE, n=10, noise=0.02), method=method)
    assert [row.verdict for row in analysis.comparisons[10:]] == [Verdict.IMPROVED] * 4 + [
        Verdict.REGRESSED
    ] * 4
    assert not {row.verdict for row in analysis.comparisons[:10]} & {Verdict.IMPROVED, Verdict.REGRESSED}
    assert analysis.settings.method == method
    again = abtune.analyze(make_sweep(TRUE, n=10, noise=0.02), method=method)
    rows, others = (repr(list(map(asdict, judged.comparisons))) for judged in (analysis, again))
    assert rows == others  # NaN is not equal to itself


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_corrections_are_ordered(correction: str) -> None:
    """No correction adjusts below p, and Holm's is at least that of a screen."""
    dataset = make_sweep(TRUE, n=9, noise=0.05)
    rows = abtune.analyze(dataset, correction=correction).comparisons
    holm = abtune.analyze(dataset).comparisons
    for row, strict in zip(rows, holm, strict=True):
        assert row.p == strict.p
        assert row.p_adjusted >= row.p
        if correction in {"bh", "none"}:
            assert row.p_adjusted <= strict.p_adjusted
            assert row.p_welch_adjusted <= strict.p_welch_adjusted
        assert row.p_welch_adjusted >= row.p_welch > 0


def test_weak_corrections_and_tests_say_what_they_promise() -> None:
    """A screen and no correction carry caveats; the defaults none of these."""
    dataset = make_sweep(TRUE, n=8)

    def said(**options: str) -> str:
        return " ".join(abtune.analyze(dataset, **options).caveats)

    assert "is a screen: expect about 5% of its claims to be false" in said(correction="bh")
    assert (
        "each of 18 shapes has its own 5% chance of a false claim. The chance of at least one is up to 60%"
        in said(correction="none")
    )
    for words in ("screen", "Without a correction", "one kind"):
        assert words not in said()


@pytest.mark.parametrize(("shapes", "words"), [(6, "Only 4 or more shapes"), (3, "Only 2 or more shapes")])
def test_benjamini_and_hochberg_pass_together_what_cannot_pass_alone(shapes: int, words: str) -> None:
    """Four seeds cannot show one shape in so many, and show all: the caveat does not deny it."""
    boosts = [0.5] * shapes
    analysis = abtune.analyze(make_sweep(boosts, n=4, noise=0.01), correction="bh")
    assert {row.verdict for row in analysis.comparisons} == {Verdict.IMPROVED}
    assert not any("No single shape can be shown to differ" in note for note in analysis.caveats)
    assert any(words in note for note in analysis.caveats)
    alone = abtune.analyze(make_sweep([0.0, *boosts], n=4, noise=0.01), correction="bh").comparisons[0]
    assert "by itself can pass the correction" in alone.reason


def test_max_t_finds_something_with_five_seeds() -> None:
    """29 shapes at 5 + 5: Holm never can; max-T does, is the default, and says why."""
    dataset = make_sweep(np.repeat([0.0, 0.5], [19, 10]), n=5, noise=0.02)
    hopeless = abtune.analyze(dataset, correction="holm")
    assert not any(row.verdict is Verdict.IMPROVED for row in hopeless.comparisons)
    analysis = abtune.analyze(dataset)
    why = "The correction over 29 shapes is max-T, because Holm's can show no difference with these seeds."
    assert why in analysis.caveats
    assert why not in hopeless.caveats
    assert sum(row.verdict is Verdict.IMPROVED for row in analysis.comparisons[19:]) >= 8
    assert "max-T" in analysis.settings.procedure.words
    assert not any("No single shape can be shown to differ" in note for note in analysis.caveats)
    assert not any("no difference can pass" in row.reason for row in analysis.comparisons)


def test_only_max_t_says_that_it_replaces_holm() -> None:
    """The best of two searches has a test without a smallest p, so Holm stays at any level."""
    dataset = make_sweep([0.0, 0.5], n=10)
    for estimand, is_said in (("best-of:2", False), ("geometric-mean", True)):
        correction = "max-t" if is_said else None
        analysis = abtune.analyze(dataset, level=1 - 1.2e-5, estimand=estimand, correction=correction)
        assert any("is max-T, because" in note for note in analysis.caveats) == is_said


@pytest.mark.parametrize(
    ("shapes", "sizes", "candidates", "correction"),
    [
        (29, (6, 6), 1, "max-t"),
        (29, (7, 7), 1, "holm"),
        (29, (5, 6), 1, "max-t"),
        (29, (5, 7), 1, "holm"),
        (29, (4, 4), 1, "holm"),  # too few for max-T, though Holm passes nothing
        (24, (5, 5), 1, "holm"),  # 120 seeds per side may not show skewness
        (25, (5, 5), 1, "max-t"),
        (21, (6, 6), 1, "holm"),
        (21, (6, 6), 2, "max-t"),  # at half the level
    ],
)
def test_the_default_correction_depends_on_numbers_alone(
    shapes: int, sizes: tuple[int, int], candidates: int, correction: str
) -> None:
    """Max-T where Holm can pass no shape, if each has five seeds per side; latencies never count."""
    for boost in (0.0, 0.5):
        dataset = make_sweep(np.full(shapes, boost), n=sizes[0], m=sizes[1])
        assert abtune.analyze(dataset, of_candidates=candidates).settings.correction == correction
        assert abtune.analyze(dataset, correction="holm").settings.correction == "holm"


def test_the_default_correction_of_unequal_shapes() -> None:
    """One shape with seven seeds can pass Holm; one with four keeps it; one without a test does not count."""
    seconds = np.exp(np.random.default_rng(0).normal(-7, 0.02, (29, 2, 7)))
    seconds[:, :, 5:] = np.nan
    labels = [f"s{index}" for index in range(29)]

    def correction(own: np.ndarray, **choices: object) -> str:
        changed = seconds.copy()
        changed[0] = own
        dataset = abtune.make_dataset(changed, shapes=labels, configs=["a", "b"])
        return abtune.analyze(dataset, **choices).settings.correction

    assert correction(seconds[0]) == "max-t"
    assert correction(np.full((2, 7), 1e-3)) == "holm"
    four = np.where(np.arange(7) < 4, 1e-3, np.nan)
    assert correction(four) == "holm"
    assert correction(four, shapes=labels[1:]) == "max-t"
    assert correction(np.full((2, 7), np.nan)) == "max-t"


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_simultaneous_intervals_are_wider(correction: str) -> None:
    """Simultaneous bounds lie nowhere inside those of a single shape."""
    analysis = abtune.analyze(make_sweep(TRUE, n=6), correction=correction)
    for row in analysis.comparisons:
        assert row.boost_low_simultaneous <= row.boost_low
        assert row.boost_high_simultaneous >= row.boost_high
    alone = abtune.analyze(make_sweep(0.1, n=12), correction=correction).comparisons[0]
    assert alone.boost_low_simultaneous == pytest.approx(alone.boost_low, abs=0.004)


def test_bounds_do_not_depend_on_the_correction() -> None:
    """Max-T, which draws random splits, leaves the resamples of the bounds as they are."""
    dataset = make_sweep(TRUE, n=17)
    holm, max_t = (
        [row.boost_low_simultaneous for row in abtune.analyze(dataset, correction=name).comparisons]
        for name in ("holm", "max-t")
    )
    assert holm == max_t


@pytest.mark.parametrize(
    ("resamples", "points", "faster"), [(9_999, 2.5, {11, 12}), (bootstrap_t.RESAMPLES, 0.7, {12})]
)
def test_another_seed_of_the_generator_hardly_moves_bounds_and_counts(
    monkeypatch: pytest.MonkeyPatch, resamples: int, points: float, faster: set[int]
) -> None:
    """With a quarter of the resamples it moves both."""
    monkeypatch.setattr(bootstrap_t, "RESAMPLES", resamples)
    dataset = abtune.open_dataset("h200-tvm14009")
    reports = [abtune.analyze(dataset, rng_seed=seed) for seed in range(4)]
    low = 100 * np.array([[row.boost_low_simultaneous for row in report.comparisons] for report in reports])
    assert np.ptp(low, axis=0).max() == pytest.approx(points, abs=0.05)
    assert {report.claims[0].at_least for report in reports} == faster


@pytest.mark.parametrize("method", methods_for("geometric-mean"))
@pytest.mark.parametrize("n", [5, 12])
def test_simultaneous_intervals_of_a_lone_shape_are_no_narrower(method: str, n: int) -> None:
    """Where resampling the largest t gives less than the interval asked for, that one's ends are taken."""
    for seed in range(3):
        dataset = make_sweep(0.1, n=n, noise=(0.1, 0.005), seed=seed)
        (row,) = abtune.analyze(dataset, method=method).comparisons
        assert row.boost_low_simultaneous <= row.boost_low
        assert row.boost_high_simultaneous >= row.boost_high


@pytest.mark.parametrize("correction", ["holm", "max-t"])
def test_simultaneous_intervals_hold_all_shapes_at_once(correction: str) -> None:
    """In at least 95 of 100 analyses every one of 29 shapes lies within its bounds."""
    missed, analyses = 0, 40
    for seed in range(analyses):
        rows = abtune.analyze(make_sweep(np.zeros(29), n=8, seed=seed), correction=correction).comparisons
        missed += any(row.boost_low_simultaneous > 0 or row.boost_high_simultaneous < 0 for row in rows)
    assert missed / analyses <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / analyses)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"method": "bootstrap"},
            "no interval 'bootstrap' of the geometric-mean of independent seeds",
        ),
        ({"method": "percentile"}, "no interval 'percentile' of the geometric-mean"),
        ({"estimand": "mean"}, "unknown estimand 'mean'; there are: geometric-mean, best-of:2"),
        *(
            (
                {"estimand": f"best-of:{k}"},
                "best-of:2 and best-of:3 take 10, best-of:4 and best-of:5 take 20 seeds",
            )
            for k in (0, 1, 11, "x")
        ),
        (
            {"estimand": "best-of:2", "correction": "max-t"},
            "max-t does not correct the test of the best-of:2; choose holm, bh",
        ),
        (
            {"estimand": "best-of:4"},
            "best-of:4 takes 20 seeds .* more than 10 of both mainline and async, which allows .*mean, "
            "best-of:2, best-of:3$",
        ),
        ({"correction": "bonferroni"}, "unknown correction 'bonferroni'; there are: holm, max-t, bh, none"),
    ],
)
def test_what_does_not_go_together_is_one_line(options: dict[str, str], said: str) -> None:
    """Unknown names and impossible combinations are refused with what there is."""
    with pytest.raises(InputError, match=said) as caught:
        abtune.analyze(make_sweep(0.1), **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"level": "0.95"}, "level is a fraction between 0 and 1, such as 0.95, not '0.95'"),
        ({"level": None}, "level is a fraction between 0 and 1, such as 0.95, not None"),
        ({"margin": None}, "margin is a fraction between 0 and 1, such as 0.02, not None"),
        ({"margin": 10**400}, "margin is a fraction between 0 and 1, such as 0.02, not 1000"),
        ({"rng_seed": None}, "rng_seed is a whole number from 0 on, not None"),
        ({"rng_seed": 1.5}, "rng_seed is a whole number from 0 on, not 1.5"),
        ({"baseline": 0}, "baseline is the name of a configuration, not 0; there are: mainline, async"),
        ({"candidate": ["async"]}, r"candidate is the name of a configuration, not \['async'\]"),
        ({"correction": 3}, "unknown correction 3; there are: holm"),
        (
            {"method": 3},
            "no interval 3 of the geometric-mean of independent seeds",
        ),
        (
            {"method": []},
            r"no interval \[\] of the geometric-mean of independent seeds",
        ),
        ({"shapes": 3}, "shapes is a list of labels, kinds, globs or presets, not 3"),
        ({"shapes": [3]}, r"shapes is a list of labels, kinds, globs or presets, not \[3\]"),
    ],
)
def test_arguments_of_another_kind_are_one_line(options: dict[str, Any], said: str) -> None:
    """What a caller passes by mistake is named with what it should be."""
    with pytest.raises(InputError, match=said):
        abtune.analyze(make_sweep(0.1), **options)


def test_numbers_of_numpy_are_numbers() -> None:
    """They come out of any computation."""
    plain = abtune.analyze(make_sweep(0.1), level=0.9, margin=0.25, rng_seed=3)
    analysis = abtune.analyze(
        make_sweep(0.1), level=np.float64(0.9), margin=np.float32(0.25), rng_seed=np.int64(3)
    )
    assert analysis.comparisons == plain.comparisons
    assert analysis.report("json") == plain.report("json")
    assert abtune.analyze(make_sweep(0.1), level=Fraction(9, 10), margin=0.25, rng_seed=3) == plain


@pytest.mark.parametrize("design", ["independent", "paired"])
def test_analyses_that_are_alike_are_equal(design: str) -> None:
    """Also where numbers are unknown: NaN that a computation makes is not equal to another."""
    latency = make_sweep([0.1, 0.1, 0.1], n=4)["latency"].values
    latency[0, 0], latency[1, 1, 1:] = np.nan, np.nan
    names = {"shapes": list("abc"), "configs": ["old", "new"]}
    dataset = abtune.make_dataset(latency, **names, design=design)
    assert abtune.analyze(dataset) == abtune.analyze(dataset.copy(deep=True))


def test_shapes_may_be_an_array_of_xarray() -> None:
    """Its entries are arrays themselves, and were refused."""
    dataset = make_sweep([0.1, 0.2, 0.3])
    few = abtune.analyze(dataset, shapes=dataset["shape"][1:])  # type: ignore[arg-type]
    assert [row.shape for row in few.comparisons] == dataset["shape"].values[1:].tolist()


def test_weights_of_replaced_settings_are_checked() -> None:
    """To judge again with a plain mapping raised an AttributeError."""
    dataset = make_sweep([0.1, 0.2])
    calls = dict.fromkeys(dataset["shape"].values.tolist(), 2.0)
    settings = replace(abtune.analyze(dataset).settings, weights=calls)
    assert compare(dataset, settings).overall == abtune.analyze(dataset, weights=calls).overall
    with pytest.raises(InputError, match="weights is a mapping"):
        replace(settings, weights=[2.0])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("estimand", "correction"),
    [
        (test.estimand, name)
        for test, (name, correction) in itertools.product(TESTS.values(), CORRECTIONS.items())
        if correction.fits(test) and not test.paired
    ],
)
def test_swapping_the_sides_inverts_every_boost(estimand: str, correction: str) -> None:
    """Whatever is chosen, boosts become their inverse, and p-values and verdicts follow."""
    n = max(Estimand(estimand).fewest_seeds, 5)
    dataset = make_sweep([0.1, -0.04, 0.0, 0.02], n=n + 1, m=n, noise=(0.03, 0.01), rounds=2)
    options = {"estimand": estimand, "correction": correction}
    there = abtune.analyze(dataset, **options)
    back = abtune.analyze(dataset, baseline="async", candidate="mainline", **options)
    np.testing.assert_allclose(np.log1p(bounds(there)), -np.log1p(bounds(back))[:, ::-1], rtol=1e-9)
    # Not slower is about one direction only, so it has no mirror image.
    unsettled = {Verdict.NOT_SLOWER, Verdict.INCONCLUSIVE}
    mirrored = {Verdict.IMPROVED: Verdict.REGRESSED, Verdict.REGRESSED: Verdict.IMPROVED}
    for one, two in zip(there.comparisons, back.comparisons, strict=True):
        for name in ("p_adjusted", "p_welch_adjusted", "p_equivalence_adjusted"):
            assert getattr(one, name) == pytest.approx(getattr(two, name), rel=1e-9)
        assert {mirrored.get(one.verdict, one.verdict), two.verdict} <= unsettled or (
            mirrored.get(one.verdict, one.verdict) is two.verdict
        )


def test_hopeless_data_get_an_answer_under_every_choice() -> None:
    """Constant, tied and single seeds never break a method, and NaN comes with a verdict of invalid."""
    dataset = make_sweep([0.0, 0.1, 0.3, 0.1], n=5, noise=0.0)
    dataset["latency"][2, 0, 1:] = np.nan
    dataset["latency"][3, 1, 2:] *= 1.01
    pairs = dataset.assign_attrs(design="shared")
    for ((estimand, method), record), correction in itertools.product(
        METHODS.items(), ("holm", "max-t", "none")
    ):
        if Estimand(estimand).searches > 1:
            continue
        data = pairs if record.paired else dataset
        rows = abtune.analyze(data, estimand=estimand, method=method, correction=correction).comparisons
        for row in rows:
            assert not math.isnan(row.boost_low) or row.verdict is Verdict.INVALID
        assert rows[0].p == 1.0
