"""One number over all shapes."""

import math

import numpy as np
import pytest
from compare_builders import NAN, make_sweep
from scipy import stats

import abtune
from abtune.compare.results import Overall
from abtune.report.columns import overall_lines
from abtune.report.page import Bullets, Grid
from abtune.report.summary import analysis_section
from abtune.sections.overall_page import overall_section
from abtune.text import plain_percent


def overall(dataset) -> Overall:
    return abtune.analyze(dataset).overall


def without_skewness(dataset):
    """Mirror the first half of the seeds at their mean, so that the mean's interval is Welch's."""
    latency = dataset["latency"].values
    half = latency[:, :, : latency.shape[2] // 2]
    latency[:, :, half.shape[2] :] = np.exp(2 * np.log(half).mean(axis=2, keepdims=True) - np.log(half))
    return dataset


def test_complete_blocks_give_welch_on_the_seeds_aggregates() -> None:
    """With every shape tuned for every seed, a seed's mean over shapes is one observation."""
    dataset = without_skewness(make_sweep([0.1, 0.0, 0.03], n=8, seed=1))
    aggregates = np.log(dataset["latency"].values[..., 0, 0]).mean(axis=0)
    oracle = stats.ttest_ind(*aggregates, equal_var=False).confidence_interval(0.95)
    estimate = overall(dataset).these_shapes
    assert math.log1p(estimate.boost) == pytest.approx(np.subtract(*aggregates.mean(axis=1)))
    np.testing.assert_allclose(np.log1p([estimate.boost_low, estimate.boost_high]), [oracle.low, oracle.high])


def test_what_is_said_of_the_mean_holds_of_all_candidates_at_once() -> None:
    """As many candidates may share it as the p-value of the mean allows; the interval shares nothing."""
    dataset = without_skewness(make_sweep([0.01, 0.02, 0.03], n=8, seed=1))
    aggregates = np.log(dataset["latency"].values[..., 0, 0]).mean(axis=0)
    most = int(0.05 / stats.ttest_ind(*aggregates, equal_var=False).pvalue)
    assert most > 1
    alone, few, many = (abtune.analyze(dataset, of_candidates=count) for count in (1, most, most + 1))
    assert alone.sentence.startswith("async is faster than mainline on average over these 3 shapes: +")
    assert few.sentence.partition("). ")[0] == alone.sentence.partition("). ")[0]
    assert many.sentence.startswith(
        "async and mainline are not shown to differ on average over these 3 shapes: +"
    )
    level = plain_percent(1 - 0.05 / (most + 1), 3)
    assert f"The {level} interval, for all {most + 1} candidates at once, includes zero." in many.sentence
    assert few.overall.these_shapes == many.overall.these_shapes
    assert alone.overall.of_all_candidates is None
    slower = abtune.analyze(
        dataset, baseline="async", candidate="mainline", of_candidates=most + 1, margin=0.5
    )
    assert slower.sentence.startswith(
        "mainline is as fast as async on average over these 3 shapes, within 50%"
    )


def test_equality_of_means_holds_of_all_candidates_at_once() -> None:
    """A margin between the ends of both intervals is wide enough for one candidate, not for each of ten."""
    dataset = make_sweep([0.0, 0.0, 0.0], n=8, seed=1)
    whole = abtune.analyze(dataset, of_candidates=10).overall
    assert whole.of_all_candidates is not None
    assert whole.these_shapes.boost_low < 0 < whole.these_shapes.boost_high
    margin = (whole.these_shapes.boost_high + whole.of_all_candidates.boost_high) / 2
    alone, many = (abtune.analyze(dataset, of_candidates=count, margin=margin).sentence for count in (1, 10))
    assert alone.startswith("async is as fast as mainline on average over these 3 shapes, within ")
    assert many.startswith("async and mainline are not shown to differ on average over these 3 shapes")


def test_shapes_like_these_have_the_t_interval_over_shapes() -> None:
    """The error of the second line comes from the spread of the shapes' log boosts."""
    analysis = abtune.analyze(make_sweep([0.1, 0.0, 0.03, -0.05], n=1))
    logs = np.log1p([row.boost for row in analysis.comparisons])
    oracle = stats.ttest_1samp(logs, 0).confidence_interval(0.95)
    aggregate = analysis.overall.shapes_like_these
    np.testing.assert_allclose(
        np.log1p([aggregate.boost_low, aggregate.boost_high]), [oracle.low, oracle.high]
    )


def test_shapes_like_these_are_never_better_known_than_these() -> None:
    """Three noisy shapes that happen to agree: their spread alone would be narrower than their errors."""
    dataset = make_sweep([0.0, 0.0, 0.0], n=5, noise=0.2)
    latency = np.log(dataset["latency"].values)
    latency -= latency.mean(axis=2, keepdims=True)
    dataset["latency"].values[:] = np.exp(latency)
    summary = overall(dataset)
    assert summary.shapes_like_these.boost_low == summary.these_shapes.boost_low < -0.05
    assert summary.shapes_like_these.boost_high == summary.these_shapes.boost_high


@pytest.mark.slow
def test_shapes_like_these_allow_for_sessions_shared_by_shapes() -> None:
    """What moves all shapes of a seed together does not show in their spread, and is in the interval."""
    rng, covered = np.random.default_rng(3), 0
    for _ in range(100):
        log = rng.normal(0, 0.02, (6, 2, 5)) + rng.normal(0, 0.03, (1, 2, 5))
        summary = overall(abtune.make_dataset(np.exp(log), shapes=list("abcdef"), configs=["a", "b"]))
        covered += summary.shapes_like_these.boost_low <= 0 <= summary.shapes_like_these.boost_high
    assert covered / 100 >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / 100)


def test_both_errors_of_shapes_like_these_add_up() -> None:
    """The variance over shapes and what the runs of a seed share: an oracle from complete data."""
    rng = np.random.default_rng(4)
    log = rng.normal(0, 0.02, (6, 2, 5)) + rng.normal(0, 0.05, (1, 2, 5))
    log[:, 0] += rng.normal(0, 0.1, (6, 1))
    summary = overall(abtune.make_dataset(np.exp(log), shapes=list("abcdef"), configs=["a", "b"]))
    logs = (log[:, 0] - log[:, 1]).mean(axis=1)
    covariance = sum(np.cov(log[:, side])[~np.eye(6, dtype=bool)].mean() / 5 for side in (0, 1))
    parts = logs.var(ddof=1) / 6, covariance
    assert min(parts) > 1e-4
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / 5 + parts[1] ** 2 / 4)
    half = stats.t.ppf(0.975, freedom) * math.sqrt(sum(parts))
    like, mean = summary.shapes_like_these, logs.mean()
    np.testing.assert_allclose(np.log1p([like.boost_low, like.boost_high]), [mean - half, mean + half])


def test_unmatched_shapes_are_listed_and_left_out() -> None:
    """A shape that one side lacks does not enter the geometric mean (google/benchmark lets it)."""
    dataset = make_sweep([0.1, 5.0, 0.1], n=4, noise=1e-6)
    dataset["latency"][1, 1] = NAN
    summary = overall(dataset)
    assert summary.unmatched == ("shape1",)
    assert summary.these_shapes.shapes == summary.shapes_like_these.shapes == 2
    assert summary.these_shapes.boost == pytest.approx(0.1, abs=1e-4)


def test_single_runs_have_no_error_from_seeds() -> None:
    """A table of one run a cell has a mean but no interval for its own shapes, and says so."""
    analysis = abtune.analyze(make_sweep([0.1, 0.2, 0.3], n=1))
    these = analysis.overall.these_shapes
    assert math.isnan(these.boost_low)
    assert these.boost == pytest.approx(analysis.overall.shapes_like_these.boost)
    assert any("no interval" in note for note in analysis.caveats)


def test_shapes_without_replicates_are_left_out_of_the_seeds_line_with_a_caveat() -> None:
    """Where some shapes have seeds and some have not, only the former have an error."""
    dataset = make_sweep([0.1, 0.1, 0.1], n=4)
    dataset["latency"][0, 0, 1:] = NAN
    analysis = abtune.analyze(dataset)
    assert analysis.overall.these_shapes.shapes == 2
    assert analysis.overall.shapes_like_these.shapes == 3
    assert any(
        "leaves out 1 shape with fewer than two seeds per configuration" in note for note in analysis.caveats
    )
    assert analysis.overall.leave_one_out is not None
    assert analysis.overall.leave_one_out.low.shape != "shape0" != analysis.overall.leave_one_out.high.shape


@pytest.mark.parametrize("boosts", [0.1, [0.1, 0.1]])
def test_one_shape_says_nothing_of_others(boosts: float | list[float]) -> None:
    """Of one shape, nothing follows for others."""
    dataset = make_sweep(boosts)
    dataset["latency"][1:] = NAN
    analysis = abtune.analyze(dataset)
    assert math.isnan(analysis.overall.shapes_like_these.boost_low)
    assert not math.isnan(analysis.overall.these_shapes.boost_low)


@pytest.mark.parametrize("correlation", [0.0, 0.5])
@pytest.mark.parametrize("lost", [0.0, 0.15])
def test_the_overall_interval_covers_with_sessions_shared_by_shapes(correlation: float, lost: float) -> None:
    """Nominal 95 % holds whether or not the runs of a seed share their luck, with and without gaps."""
    from abtune.compare.overall import halves_over_seeds
    from abtune.stats.two_sample import TwoSample

    rng = np.random.default_rng(int(10 * correlation + 100 * lost))
    covered, repetitions = 0, 2000
    for _ in range(repetitions):
        sides = []
        for _ in range(2):
            shared = math.sqrt(correlation) * rng.normal(0, 1, (1, 8))
            value = shared + math.sqrt(1 - correlation) * rng.normal(0, 1, (6, 8))
            value[:, 2:][rng.random((6, 6)) < lost] = NAN
            sides.append(value)
        boost = np.nanmean(sides[0], axis=1) - np.nanmean(sides[1], axis=1)
        samples = TwoSample.without_floor(*sides)
        down, up = halves_over_seeds(samples, np.ones(6, dtype=bool), 0.95)
        covered += -up <= boost.mean() <= down
    assert covered / repetitions == pytest.approx(0.95, abs=0.02)


def test_leaving_one_out_shows_the_shape_that_carries_the_mean() -> None:
    """The mean without each shape is lowest without the best one and highest without the worst."""
    extremes = overall(make_sweep([0.1, 0.5, 0.0], n=4, noise=1e-9)).leave_one_out
    assert extremes is not None
    assert (extremes.low.shape, extremes.high.shape) == ("shape1", "shape2")
    assert 1 + extremes.low.boost == pytest.approx(math.sqrt(1.1 * 1.0))
    assert 1 + extremes.high.boost == pytest.approx(math.sqrt(1.1 * 1.5))
    assert overall(make_sweep([0.1], n=4)).leave_one_out is None


def test_the_chance_to_win_is_mann_whitneys() -> None:
    """The probability of improvement is U over the product of the sizes, averaged over the shapes."""
    dataset = make_sweep([0.02, 0.01, 0.0], n=7, m=5, noise=0.03)
    improvement = overall(dataset).improvement
    sides = [[side[~np.isnan(side)] for side in shape] for shape in dataset["latency"].values[..., 0, 0]]
    shares = [stats.mannwhitneyu(one, two).statistic / 35 for one, two in sides]
    assert improvement.probability == pytest.approx(np.mean(shares))
    assert improvement.low < improvement.probability < improvement.high


def test_swapping_the_sides_turns_the_chance_to_win_round() -> None:
    """What the one side wins, the other loses."""
    dataset = make_sweep([0.02, 0.01, 0.0], n=7, noise=0.03)
    here = overall(dataset).improvement
    there = abtune.analyze(dataset, baseline="async").overall.improvement
    assert there.probability == pytest.approx(1 - here.probability)
    assert there.low == pytest.approx(1 - here.high)


@pytest.mark.slow
def test_the_interval_of_the_chance_to_win_covers() -> None:
    """Nominal 95 % holds for ten seeds and four shapes."""
    rng = np.random.default_rng(8)
    truth = float(stats.norm.cdf(0.03 / (0.05 * math.sqrt(2))))
    covered, reports = 0, 180
    for _ in range(reports):
        log = rng.normal(0, 0.05, (4, 2, 10)) - 0.03 * np.array([0, 1])[:, None]
        dataset = abtune.make_dataset(np.exp(log), shapes=list("abcd"), configs=["a", "b"])
        improvement = overall(dataset).improvement
        covered += improvement.low <= truth <= improvement.high
    assert covered / reports == pytest.approx(0.95, abs=0.045)


@pytest.mark.slow
def test_a_chance_near_one_is_rarely_too_high() -> None:
    """Some 2.5 % of lower limits at most are above 97 %. Without log odds, 18 % were: one shape, 20 seeds."""
    rng, too_high, known, reports = np.random.default_rng(9), 0, 0, 150
    boost = 0.1 * math.sqrt(2) * float(stats.norm.ppf(0.97))
    for _ in range(reports):
        log = rng.normal(0, 0.1, (1, 2, 20)) - boost * np.array([0, 1])[:, None]
        dataset = abtune.make_dataset(np.exp(log), shapes=["a"], configs=["a", "b"])
        low = overall(dataset).improvement.low
        known += math.isfinite(low)  # there is none if no run of the baseline wins
        too_high += low > 0.97
    assert known > reports / 2
    assert too_high / reports <= 0.025 + 2 * math.sqrt(0.025 * 0.975 / reports)


@pytest.mark.parametrize(("shapes", "chance"), [(1, None), (3, "51%"), (10, "11%"), (11, None)])
def test_few_shapes_may_show_none_that_gains_far_more(shapes: int, chance: str | None) -> None:
    """The report says so where the chance is at least 10 %."""
    said = [note for note in abtune.analyze(make_sweep([0.0] * shapes)).caveats if "1 shape in 5" in note]
    expected = f"{shapes} shapes miss all of these with a chance of {chance}."
    assert [expected in note for note in said] == ([True] if chance else [])


def test_of_many_kinds_all_shapes_count() -> None:
    """With six kinds of three shapes the report expects of shapes like all 18, so three are not few."""
    sweep = make_sweep([0.0] * 18)
    kinds = np.repeat([f"kind{index}" for index in range(6)], 3).astype(object)
    notes = abtune.analyze(sweep.assign(workload=("shape", kinds))).caveats
    assert not [note for note in notes if "1 shape in 5" in note]
    few = sweep.isel(shape=slice(15)).assign(workload=("shape", kinds[:15]))
    assert [
        note
        for note in abtune.analyze(few).caveats
        if "3 shapes miss all of these with a chance of 51%" in note
    ]


def test_sides_that_never_overlap_have_no_interval_of_the_chance() -> None:
    """Ten wins of ten do not say how rarely the candidate would lose."""
    improvement = overall(make_sweep([0.5, 0.5], n=5, noise=1e-6)).improvement
    assert improvement.probability == 1
    assert math.isnan(improvement.low)


def test_shapes_that_differ_are_heterogeneous() -> None:
    """Boosts further apart than their errors give a spread; equal ones give none."""
    apart = overall(make_sweep([0.0, 0.1, 0.2, 0.3], n=8)).heterogeneity
    assert apart.p < 1e-4
    assert apart.between == pytest.approx(np.std(np.log1p([0.0, 0.1, 0.2, 0.3]), ddof=1), rel=0.2)
    alike = overall(make_sweep([0.1] * 4, n=8, seed=3)).heterogeneity
    assert alike.p > 0.01
    assert alike.share < apart.share


def test_the_chance_to_win_is_uncertain_where_sides_do_not_overlap() -> None:
    """A shape that is faster in all pairs and one that is slower leave more than a point."""
    improvement = overall(make_sweep([0.5, -0.4], n=10, noise=0.01)).improvement
    assert improvement.probability == 0.5
    assert improvement.low < 0.48
    assert improvement.high > 0.52


def test_the_error_of_measurement_is_in_the_mean_over_shapes() -> None:
    """Where seeds agree and rounds do not, the interval over the shapes is not a point."""
    rounds = np.array([0.98, 1.0, 1.02])[:, np.newaxis]
    dataset = abtune.make_dataset(np.ones((2, 2, 5, 3, 1)) * rounds, shapes=["a", "b"], configs=["x", "y"])
    aggregate = overall(dataset).these_shapes
    assert aggregate.boost_low < -0.005
    assert aggregate.boost_high > 0.005


def test_each_kind_has_the_boost_of_its_shapes_alone() -> None:
    """A kind has the line of an analysis of its shapes; one kind, or a kind of two shapes, has none."""
    dataset = make_sweep([0.1, 0.2, 0.15, 0.0, -0.05, 0.02, 0.3, 0.2], n=8, noise=0.05)
    kinds = ["conv"] * 3 + ["gemm"] * 3 + ["rare"] * 2
    assert overall(dataset).by_kind == ()
    by_kind = overall(dataset.assign(workload=("shape", kinds))).by_kind
    assert [kind.workload for kind in by_kind] == ["conv", "gemm"]
    for kind, rows in zip(by_kind, (slice(0, 3), slice(3, 6)), strict=True):
        alone = overall(dataset.isel(shape=rows)).shapes_like_these
        assert kind.shapes_like_these == alone


def test_a_kind_without_a_name_is_named_in_tables_and_sentence() -> None:
    """Shapes of no known kind have lines that say so, in the report, in its section and in its sentence."""
    dataset = make_sweep([0.1, 0.2, 0.15, 0.0, -0.05, 0.02], n=8, noise=0.05)
    dataset = dataset.assign(workload=("shape", ["gemm"] * 3 + [""] * 3))
    analysis = abtune.analyze(dataset)
    pages = analysis_section(analysis).page, overall_section(analysis).page
    labels = [label for page in pages for block in page if isinstance(block, Grid) for label in block.labels]
    assert labels.count("other unnamed shapes") == 2
    single = abtune.analyze(dataset.isel(seed=[0]))
    assert " and unnamed shapes " in single.sentence


@pytest.mark.parametrize(
    ("boosts", "words"), [([0.0, 0.2, 0.4], "differ: p "), ([0.1, 0.1, 0.1], "are not shown to differ: p ")]
)
def test_the_page_answers_whether_the_boosts_differ(boosts: list[float], words: str) -> None:
    """Beside the p-value stands what it means."""
    page = overall_section(abtune.analyze(make_sweep(boosts, noise=0.02))).page
    items = [item for block in page if isinstance(block, Bullets) for item in block.items]
    assert any(item.startswith(f"The boosts of the shapes {words}") for item in items)


def test_a_lone_shape_has_no_overall_rows() -> None:
    """Its own row has its boost, and one shape says nothing about others."""
    lone, two = (abtune.analyze(make_sweep([0.1] * number)) for number in (1, 2))
    assert overall_lines(lone.overall) == {}
    assert list(overall_lines(two.overall)) == ["these 2 shapes", "shapes like these"]


def test_a_boost_over_several_kinds_says_so() -> None:
    """Three shapes of two kinds are no sample of one kind."""
    overall = abtune.analyze(abtune.open_dataset("h200-pilot")).overall
    assert overall.shapes_like_these.meaning.startswith("expected for others of these kinds")


def test_a_small_spread_of_boosts_is_not_said_to_be_none() -> None:
    """Beside a share of the variance above zero, the spread that makes it has two digits."""
    analysis = abtune.analyze(make_sweep([0.05, 0.055, 0.06, 0.052, 0.058], noise=0.01, seed=1))
    (bullets,) = (block for block in overall_section(analysis).page if isinstance(block, Bullets))
    (said,) = (item for item in bullets.items if "tau" in item)
    assert "true boosts is about 0.22% (tau). True differences make 25% of the variance" in str(said)
