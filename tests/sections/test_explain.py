"""The whole story of one shape."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import xarray as xr
from compare_builders import NAN, make_sweep
from hypothesis import example, given, settings
from hypothesis import strategies as st
from report_builders import printed

import abtune
from abtune.compare.compare import compare
from abtune.compare.gates import judge
from abtune.compare.results import Verdict
from abtune.compare.settings import Settings
from abtune.compare.statistics import planning_noise, resolution
from abtune.dataset.schema import RunStatus
from abtune.errors import InputError
from abtune.report.page import Heading
from abtune.samples import extract
from abtune.sections.explain import Explanation, explain_all, explain_page
from abtune.stats.intervals.bootstrap_t import Resampled, resampled
from abtune.stats.intervals.interval_methods import methods_for
from abtune.stats.testing.design import Requirement, detectable_boost
from abtune.stats.two_sample import TwoSample


def story(dataset: xr.Dataset, shape: str = "shape0", **options: object) -> Explanation:
    return explain_all(abtune.analyze(dataset, **options), shape)[0]  # type: ignore[arg-type]


@given(
    boosts=st.lists(st.sampled_from([0.0, 0.001, 0.02, 0.1, -0.1]), min_size=1, max_size=4),
    n=st.integers(1, 8),
    m=st.integers(1, 8),
    failed=st.integers(0, 8),
    correction=st.sampled_from(["holm", "max-t", "bh", "none"]),
    seed=st.integers(0, 5),
)
# No shape is slower by more than 5 %, as all of them together show.
@example(
    boosts=[0.0] * 4,
    n=2,
    m=7,
    failed=0,
    correction="holm",
    seed=1,
)
@settings(max_examples=60)
def test_the_gates_are_those_of_the_verdict(
    boosts: list[float],
    n: int,
    m: int,
    failed: int,
    correction: str,
    seed: int,
) -> None:
    """For every shape, the verdict that follows from the gates is the one that was given."""
    dataset = make_sweep(boosts, n=n, m=m, noise=(0.01, 0.03), seed=seed)
    dataset["run_status"][0, 1, :failed] = RunStatus.FAILED
    analysis = abtune.analyze(dataset, correction=correction)
    for row in analysis.comparisons:
        assert judge(row, analysis.settings, analysis.worst).verdict is row.verdict


def test_samples_are_sorted_and_keep_their_seeds() -> None:
    """Seeds are listed fastest first with their numbers, those without a timing not at all."""
    dataset = make_sweep([0.1], n=5)
    dataset["latency"][0, 0, 2] = NAN
    side = story(dataset).baseline
    assert sorted(seed.seed for seed in side.seeds) == [0, 1, 3, 4]
    latency = [seed.latency for seed in side.seeds]
    assert latency == sorted(latency)
    for seed in side.seeds:
        assert seed.latency == pytest.approx(float(dataset["latency"][0, 0, seed.seed, 0, 0]))


def test_every_method_is_there_and_the_judging_one_is_the_reports() -> None:
    """All intervals of the estimand are shown, the one that judges with the numbers of the report."""
    explained = story(make_sweep([0.05, 0.0], n=8))
    assert [row.method for row in explained.intervals] == list(methods_for("geometric-mean"))
    (judged,) = [row for row in explained.intervals if row.judged]
    row = explained.comparison
    assert (judged.boost, judged.boost_low) == pytest.approx((row.boost, row.boost_low))
    assert (judged.boost_high,) == pytest.approx((row.boost_high,))


def test_every_test_is_there_with_the_corrections_of_the_report() -> None:
    """The tests that judge have the p-values of the report, raw and corrected, and their own names."""
    explained = story(make_sweep([0.05, 0.0, 0.02], n=8))
    row = explained.comparison
    assert [(test.test, test.p, test.p_adjusted) for test in explained.tests] == [
        ("permutation", row.p, row.p_adjusted),
        ("Welch t-test", row.p_welch, row.p_welch_adjusted),
        ("equivalence", row.p_equivalence, row.p_equivalence_adjusted),
    ]


def test_one_outlier_that_hides_a_difference_is_named() -> None:
    """Where one seed stands between the data and a verdict, it is found by its number."""
    dataset = make_sweep([0.1], n=8, noise=0.005)
    dataset["latency"][0, 1, 5] *= 1.6
    explained = story(dataset)
    assert explained.comparison.verdict is Verdict.INCONCLUSIVE
    changed = explained.sensitivity.without_seed
    assert changed is not None
    assert [(seed.config, seed.seed, seed.verdict) for seed in changed] == [("async", 5, Verdict.IMPROVED)]


CHANGES: dict[str, dict[str, Any]] = {
    "default": {},
    "max-t": {"correction": "max-t"},
    "bh": {"correction": "bh"},
    "none": {"correction": "none"},
    "welch": {"method": "welch", "correction": "bh"},
}


@pytest.mark.parametrize(
    ("options", "shape"),
    [*((options, 0) for options in CHANGES.values()), ({}, 3)],
    ids=[*CHANGES, "other-shape"],
)
def test_what_would_change_is_what_whole_analyses_say(options: dict[str, Any], shape: int) -> None:
    """Without a seed, the verdict is that of a report on the other seeds."""
    dataset = make_sweep([0.045, 0.0, 0.0, 0.01, 0.2], n=7, m=8, rounds=2, timing_noise=0.005, seed=14)
    dataset["latency"][4, 1, 1:] = NAN
    analysis, explained = abtune.analyze(dataset, **options), story(dataset, f"shape{shape}", **options)
    told = {(seed.config, seed.seed): seed.verdict for seed in explained.sensitivity.without_seed or ()}
    for index, config in enumerate(("mainline", "async")):
        for seed in range(7 + index):
            without = dataset.copy(deep=True)
            without["run_status"][shape, index, seed] = RunStatus.MISSING
            verdict = abtune.analyze(without, **options).comparisons[shape].verdict
            assert verdict is told.get((config, seed), analysis.comparisons[shape].verdict)


def test_a_skewed_side_is_explained_as_the_report_judges_it() -> None:
    """Tests and seeds left out are those of reports of all shapes, which decide together."""
    rng = np.random.default_rng(3)
    log = rng.normal(0, 0.02, (8, 2, 10)) - 8
    log[:, 1] += np.log(1.3) * ((rng.random((8, 10)) < 0.2) - 0.2)
    labels = [f"s{number}" for number in range(8)]
    dataset = abtune.make_dataset(np.exp(log), shapes=labels, configs=["mainline", "async"])
    row, explained = abtune.analyze(dataset).comparisons[1], story(dataset, "s1")
    tests = {test.test: test.p_adjusted for test in explained.tests}
    assert (tests["bootstrap-t"], tests["equivalence"]) == (
        row.p_resampled_adjusted,
        row.p_equivalence_adjusted,
    )
    told = {(seed.config, seed.seed): seed.verdict for seed in explained.sensitivity.without_seed or ()}
    for seed in range(10):
        without = dataset.copy(deep=True)
        without["run_status"][1, 1, seed] = RunStatus.MISSING
        assert abtune.analyze(without).comparisons[1].verdict is told.get(("async", seed), row.verdict)
    assert explained.sensitivity.seeds_for_estimate == 0


def test_other_shapes_are_analysed_and_resampled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other interval takes one analysis, for all stories. A seed left out resamples the shape anew."""
    dataset, analysed, shapes = make_sweep([0.02, *[0.0] * 4], n=6), [], []
    analysis, drawn = abtune.analyze(dataset), resampled

    def analyse(subset: xr.Dataset, settings: Settings) -> abtune.Analysis:
        analysed.append(subset.sizes["shape"])
        return compare(subset, settings)

    def resample(samples: TwoSample, *, rng: np.random.Generator) -> Iterator[Resampled]:
        for some in drawn(samples, rng=rng):
            shapes.extend(some.index.tolist())
            yield some

    monkeypatch.setattr("abtune.sections.explain.compare", analyse)
    monkeypatch.setattr("abtune.stats.intervals.bootstrap_t.resampled", resample)
    assert analysis.comparisons[0].verdict.more_seeds_help
    explain_all(analysis, "shape0")
    assert analysed == [5]
    without_a_seed, others, other_interval = 12, 4, 5
    assert len(shapes) == without_a_seed + others + other_interval
    explain_all(analysis, "shape*")
    assert analysed == [5, 5]


def test_a_seed_left_out_is_judged_by_the_bounds_of_all_shapes() -> None:
    """How slow a shape can be depends on the other shapes: by itself, each of these would be not slower."""
    dataset = abtune.open_dataset("h200-share")
    analysis = abtune.analyze(dataset)
    index = next(
        index for index, row in enumerate(analysis.comparisons) if row.shape.startswith("N=1_H=28_W=28_C=128")
    )
    row = analysis.comparisons[index]
    told = {seed.seed: seed.verdict for seed in story(dataset, row.shape).sensitivity.without_seed or ()}
    for number, seed in enumerate(dataset["seed"].values.tolist()):
        without = dataset.copy(deep=True)
        without["run_status"][index, :, number] = RunStatus.MISSING
        assert abtune.analyze(without).comparisons[index].verdict is told.get(seed, row.verdict)


def test_the_tests_of_a_dropped_shape_are_those_of_its_look() -> None:
    """The tests that judge have the p-values of the report, which are of the look that decided."""
    looks = [
        {"seeds": 6, "alpha": 0.01, "done": True, "dropped": ["shape1"]},
        {"seeds": 9, "alpha": 0.04, "done": True},
    ]
    dataset = make_sweep([0.03, 0.0, 0.02], n=9, noise=0.02, seed=3).assign_attrs(looks=json.dumps(looks))
    explained = story(dataset, "shape1")
    row, tests = explained.comparison, {row.test: row for row in explained.tests}
    assert row.baseline.n == 6
    assert (tests["permutation"].p, tests["permutation"].p_adjusted) == (row.p, row.p_adjusted)
    assert tests["Welch t-test"].p_adjusted == row.p_welch_adjusted


def test_a_boost_that_no_number_of_seeds_finds_is_not_promised() -> None:
    """Where the estimate is next to nothing, the largest number that is tried is not enough."""
    log = np.random.default_rng(0).normal(0, 0.05, (1, 2, 10))
    log -= log.mean(axis=2, keepdims=True) + np.array([[[8.0], [8.0 + 1e-7]]])
    explained = story(abtune.make_dataset(np.exp(log), shapes=["shape0"], configs=["a", "b"]))
    text = printed(explain_page(explained), 100)
    assert "about 1,000,000 seeds" not in text
    assert "not even 1,000,000 seeds per configuration find it" in " ".join(text.split())


def test_a_seed_left_out_of_looks_is_left_out_of_all_of_them() -> None:
    """Where a verdict was reached look by look, one seed less is tried on the whole sweep."""
    looks = [{"seeds": 5, "alpha": 0.01, "done": True}, {"seeds": 9, "alpha": 0.04, "done": True}]
    dataset = make_sweep([0.03, 0.0], n=9, noise=0.02, seed=3).assign_attrs(looks=json.dumps(looks))
    verdict = abtune.analyze(dataset).comparisons[0].verdict
    told = {(seed.config, seed.seed): seed.verdict for seed in story(dataset).sensitivity.without_seed or ()}
    for seed in range(9):
        without = dataset.copy(deep=True)
        without["run_status"][0, 1, seed] = RunStatus.MISSING
        changed = abtune.analyze(without).comparisons[0].verdict
        assert changed is told.get(("async", seed), verdict)


@pytest.mark.parametrize("correction", ["holm", "none"])
def test_the_heading_says_over_how_many_tests_is_corrected(correction: str) -> None:
    """Shapes without a test, as those with one seed on a side, are none that the correction covers."""
    dataset = make_sweep([0.1, 0.0, 0.0, 0.0], n=5, seed=3)
    dataset["latency"][2, 0, 1:], dataset["latency"][3] = NAN, NAN
    explained = story(dataset, correction=correction)
    assert (explained.shapes, explained.tested) == (4, 2)
    headings = [block.text for block in explain_page(explained) if isinstance(block, Heading)]
    assert headings[3] == (
        "tests, corrected over 2 shapes" if correction == "holm" else "tests, not corrected"
    )
    if correction == "holm":
        assert explained.tests[0].p_adjusted == pytest.approx(min(2 * explained.tests[0].p, 1))


def test_a_clear_difference_hangs_on_no_seed() -> None:
    """A verdict that is sure stays without any one seed."""
    sensitivity = story(make_sweep([0.2, 0.0], n=8, noise=0.01)).sensitivity
    assert sensitivity.without_seed == ()


@pytest.mark.parametrize(("n", "m"), [(1, 1), (0, 4), (1, 4)])
def test_a_shape_that_cannot_be_judged_has_a_story_too(n: int, m: int) -> None:
    """Too few seeds leave a story without intervals or changes, but with what failed."""
    dataset = make_sweep([0.1, 0.1], n=4)
    dataset["latency"][0, 0, n:], dataset["latency"][0, 1, m:] = NAN, NAN
    explained = story(dataset)
    assert explained.comparison.verdict is Verdict.INVALID
    assert explained.sensitivity.without_seed is None
    assert not all(gate.passed for gate in explained.comparison.gates)
    assert math.isnan(explained.intervals[0].boost_low)
    assert len(explained.baseline.seeds) == n


@pytest.mark.parametrize(("shape", "said"), [("shape99", "unknown shape 'shape99'"), ("x*", "x")])
def test_shapes_that_cannot_be_explained(shape: str, said: str) -> None:
    """A shape that is not there is one line."""
    dataset = make_sweep([0.1, 0.1], n=3)
    with pytest.raises(InputError, match=said):
        explain_all(abtune.analyze(dataset), shape)


def test_stories_do_not_change_the_dataset() -> None:
    """What is left out is left out of copies."""
    dataset = make_sweep([0.1, 0.0], n=4)
    before = dataset.copy(deep=True)
    story(dataset)
    xr.testing.assert_identical(dataset, before)
    assert np.array_equal(dataset["run_status"], before["run_status"])


def test_gates_show_the_level_of_the_look_that_decided() -> None:
    """Where seeds were added look by look, the gates have the stricter level of that look."""
    dataset = make_sweep([0.022, 0.0], n=10, noise=0.02, seed=2)
    assert abtune.analyze(dataset).comparisons[0].verdict is Verdict.IMPROVED
    looks = [{"seeds": 5, "alpha": 0.0001, "done": True}, {"seeds": 10, "alpha": 0.0001, "done": True}]
    explained = story(dataset.assign_attrs(looks=json.dumps(looks)))
    assert explained.comparison.verdict is not Verdict.IMPROVED
    assert any("an adjusted p of at most 0.0001" in gate.asks for gate in explained.comparison.gates)


@pytest.mark.parametrize("options", [{}, {"correction": "none"}, {"correction": "max-t"}], ids=str)
def test_the_seeds_that_find_the_estimate_are_the_fewest_that_do(options: dict[str, str]) -> None:
    """With these seeds a boost as large as the estimate is detectable, with one fewer it is not."""
    dataset = make_sweep([0.03, 0.0, 0.01], n=5, rounds=2, timing_noise=0.03, noise=0.01, seed=3)
    explained = story(dataset, **options)
    assert explained.comparison.verdict.more_seeds_help
    settings = abtune.analyze(dataset, **options).settings  # type: ignore[arg-type]
    noise = [float(planning_noise(extract(dataset, name))[0]) for name in ("mainline", "async")]
    seeds = explained.sensitivity.seeds_for_estimate
    numbers = np.array([seeds - 1, seeds])
    level = settings.alpha / (1 if settings.correction == "none" else 3)
    wanted = Requirement(level=level, resolution=resolution(settings, 3))
    few, enough = detectable_boost((numbers, numbers), (noise[0], noise[1]), wanted)
    assert enough <= explained.comparison.boost < few


@pytest.mark.parametrize("width", [60, 72])
def test_wide_intervals_leave_no_line_too_long(width: int) -> None:
    """The table of intervals has no column that repeats their signs; digits are whole."""
    told = story(make_sweep([0.0], n=10, noise=2.5))
    text = printed(explain_page(told), width)
    assert max(map(len, text.splitlines())) <= width
    assert all(f"{100 * method.boost_high:+.1f}" in text for method in told.intervals)


def test_what_is_the_reason_is_not_said_again() -> None:
    """A test that alone is missing is a caveat of the table, and the reason of the story."""
    text = " ".join(
        printed(explain_page(story(abtune.open_dataset("h200-pilot"), shape="N=1*")), 100).split()
    )
    assert text.count("the Welch t-test does not (adjusted p 0.056)") == 1
    assert "what would change it" in text


def test_nothing_that_would_change_a_verdict_has_no_heading() -> None:
    """Of the best of two, ten seeds are the fewest, so none is left out, and no plan covers it."""
    page = explain_page(story(make_sweep([0.0] * 3), estimand="best-of:2"))
    assert not isinstance(page[-1], Heading)
    assert "what would change it" not in [block.text for block in page if isinstance(block, Heading)]
