"""The boost of who tunes k times and keeps the best."""

import itertools
import math

import numpy as np
import pytest
from closed_forms import mean_best
from compare_builders import NAN, make_sweep
from noise_kinds import lognormal
from scipy import special, stats

import abtune
from abtune.cli import main
from abtune.compare.results import Verdict
from abtune.compare.settings import Settings
from abtune.dataset.schema import SeedDesign
from abtune.errors import InputError
from abtune.samples import extract_both, keep_best
from abtune.sections.calibration import Pool
from abtune.sections.explain import explain_all
from abtune.stats.estimand import BEST_OF, Estimand

TWO, THREE = Estimand.BEST_OF_2, Estimand.BEST_OF_3


def pseudo_values(values: np.ndarray, k: int) -> list[float]:
    n, whole = len(values), mean_best(values, k)
    return [n * whole - (n - 1) * mean_best(np.delete(values, left_out), k) for left_out in range(n)]


@pytest.mark.parametrize("estimand", [TWO, THREE])
def test_interval_and_test_are_those_of_the_jackknife(estimand: Estimand) -> None:
    """By brute force over all subsets: Welch's t on pseudo-values; p is never less than Welch's."""
    dataset = make_sweep([0.3, 0.0], n=10, m=12, noise=(0.1, 0.2), seed=3)
    analysis = abtune.analyze(dataset, estimand=estimand.value)
    for row, times in zip(analysis.comparisons, dataset["latency"].values[..., 0, 0], strict=True):
        sides = [pseudo_values(np.log(side[~np.isnan(side)]), estimand.searches) for side in times]
        oracle = stats.ttest_ind(*sides, equal_var=False)
        assert [row.boost_low, row.boost_high] == pytest.approx(np.expm1(oracle.confidence_interval(0.95)))
        assert oracle.pvalue * (1 - 1e-9) <= row.p_welch <= row.p <= row.p_adjusted


def test_shapes_with_too_few_seeds_have_no_verdict() -> None:
    """The others are judged as if such a shape were not there, and it is named."""
    dataset = make_sweep([0.2, 0.0, 0.1], n=10, noise=0.05)
    without = abtune.analyze(dataset.isel(shape=slice(2)), estimand=THREE.value)
    dataset["latency"][2, 1, 7:] = np.nan
    analysis = abtune.analyze(dataset, estimand=THREE.value)
    few = analysis.comparisons[2]
    assert few.verdict is Verdict.INVALID
    assert few.reason == "best-of:3 takes 10 seeds of async, which has 7."
    assert math.isnan(few.boost)
    assert math.isnan(few.boost_low)
    assert analysis.overall.unmatched == (few.shape,)
    assert analysis.overall.these_shapes == without.overall.these_shapes
    assert analysis.worst is None
    assert [row.p for row in analysis.comparisons[:2]] == [row.p for row in without.comparisons]


def test_shapes_without_a_verdict_do_not_count_in_the_correction() -> None:
    """Its seeds are too few for any test, so one shape more leaves the p-values of the others as they are."""
    dataset = make_sweep([0.05, 0.1, 0.2, 0.1], n=10)
    dataset["latency"][3, 1, 3:] = NAN
    tested = abtune.analyze(dataset.isel(shape=slice(3)), estimand="best-of:2")
    all_four = abtune.analyze(dataset, estimand="best-of:2")
    assert all_four.comparisons[3].verdict is Verdict.INVALID
    assert math.isnan(all_four.comparisons[3].p)
    for one, other in zip(tested.comparisons, all_four.comparisons, strict=False):
        assert one.p_adjusted == pytest.approx(other.p_adjusted, rel=0.05)


def test_every_line_is_of_the_best() -> None:
    """Overall boost, claims, program time and sentence follow the estimand; chances are of single runs."""
    dataset = make_sweep([0.2] * 6, n=10, noise=(0.02, 0.02))
    dataset["latency"][:, 1, :5] *= 1.5  # half of the candidate's searches fail to find the fast schedule
    weights = {str(label): 1.0 for label in dataset["shape"].values}
    typical = abtune.analyze(dataset, weights=weights)
    kept = abtune.analyze(dataset, weights=weights, estimand=THREE.value)
    assert typical.overall.these_shapes.boost < 0.05
    assert kept.overall.these_shapes.boost > 0.1
    assert kept.overall.improvement == typical.overall.improvement
    assert kept.overall.weighted.boost == pytest.approx(kept.overall.these_shapes.boost, abs=0.02)
    assert [row.baseline for row in kept.comparisons] == [row.baseline for row in typical.comparisons]
    assert kept.sentence.startswith(
        "With the best of 3 searches, async is faster than mainline on average over these 6"
    )
    assert kept.claims[0].at_least > typical.claims[0].at_least
    assert kept.worst.boost_low > typical.worst.boost_low
    assert all(math.isnan(row.detectable) for row in kept.comparisons)
    assert any("If 1 seed in 10 is far faster, " in note for note in kept.caveats)


@pytest.mark.parametrize(("n", "k"), [(10, 2), (10, 3), (20, 5)])
def test_measuring_sets_the_least_variance_by_the_weights_of_the_ranks(n: int, k: int) -> None:
    """The variance of the estimate is at least the measurement variance times the sum of w_i^2."""
    dataset = make_sweep([0.1], n=n, rounds=3, timing_noise=0.01)
    sides = extract_both(dataset, "mainline", "async")
    kept = keep_best(sides, Estimand(f"best-of:{k}"))
    subsets = list(itertools.combinations(range(n), k))
    weights = np.bincount([min(subset) for subset in subsets], minlength=n) / len(subsets)
    assert kept[0].floor / n == pytest.approx(sides[0].floor * (weights**2).sum())
    assert keep_best(sides, Estimand.GEOMETRIC_MEAN) is sides


def test_the_story_leaves_out_seeds_only_where_enough_remain() -> None:
    stories = [
        explain_all(abtune.analyze(dataset, estimand=TWO.value), str(dataset["shape"].values[0]))[0]
        for dataset in (make_sweep([0.1], n=n, noise=0.1) for n in (10, 11))
    ]
    assert [story.sensitivity.without_seed is None for story in stories] == [True, False]
    assert [test.test for test in stories[0].tests] == ["bootstrap-t", "equivalence"]
    assert stories[0].tests[1].p == stories[0].comparison.p_equivalence
    assert stories[0].sensitivity.seeds_for_estimate == 0


@pytest.mark.parametrize("given", ["best-of:0", "best-of:1", "best-of:11", "best-of:x", "best-of:5"])
def test_what_cannot_be_kept_is_one_line(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", "h200-deep", "--estimand", given]) == 2
    line = capsys.readouterr().err.strip()
    assert "\n" not in line
    assert (
        "is not one of 'geometric-mean', 'best-of:2'" in line
        or "which allows geometric-mean, best-of:2" in line
    )


def test_pairs_are_refused() -> None:
    with pytest.raises(InputError, match="there is no best-of:2 of pairs"):
        Settings(baseline="a", candidate="b", estimand=TWO.value, design=SeedDesign.SHARED)


@pytest.mark.parametrize("estimand", BEST_OF)
def test_constant_seeds_are_answered(estimand: Estimand) -> None:
    """Equal constants do not differ; other ones do."""
    dataset = make_sweep([0.0, 0.5], n=20, noise=0.0)
    same, other = abtune.analyze(dataset, estimand=estimand.value).comparisons
    assert same.p == 1.0
    assert same.boost == pytest.approx(0.0, abs=1e-12)
    assert other.verdict is Verdict.IMPROVED


@pytest.mark.parametrize("width", [0.0, 0.05])
def test_a_pool_knows_its_expected_best(width: float) -> None:
    rng = np.random.default_rng(1)
    pool = Pool(residuals=rng.normal(size=30) * 0.1, width=width, n=10)
    drawn = pool.draw((200_000, 3), rng).min(axis=1)
    assert pool.typical(THREE) == pytest.approx(drawn.mean(), abs=4 * drawn.std() / math.sqrt(len(drawn)))


def test_calibration_takes_the_best() -> None:
    dataset = make_sweep([0.0, 0.0, 0.1], n=10, noise=0.05)
    calibration = abtune.calibrate(dataset, estimand=TWO.value, boosts=(0.3,), replications=40)
    assert all(row.coverage > 0.8 and row.power[0] > 0.8 for row in calibration.simulated)
    with pytest.raises(InputError, match="no shape has 10 seeds per configuration"):
        abtune.calibrate(dataset.isel(seed=slice(9)), estimand=TWO.value, boosts=(), replications=10)


@pytest.mark.slow
def test_resamples_keep_the_promise_that_welch_breaks() -> None:
    """With spreads of 4:1 and no difference, Welch's test alone calls one in a third of the reports."""
    rng, k, reports = np.random.default_rng(2), 3, 60
    wide, narrow = lognormal(0.12), lognormal(0.03)
    # The expected smallest of three standard normal values is -3/(2 sqrt(pi)).
    typical = -3 / (2 * math.sqrt(math.pi)) * np.array([0.12, 0.03])
    wrong = np.zeros(2)
    for _ in range(reports):
        logs = np.stack([wide(rng, (29, 10)), narrow(rng, (29, 10))], axis=1) - typical[:, np.newaxis]
        dataset = abtune.make_dataset(
            np.exp(logs - 8)[..., np.newaxis, np.newaxis],
            shapes=[f"s{number}" for number in range(29)],
            configs=["a", "b"],
        )
        rows = abtune.analyze(dataset, estimand=f"best-of:{k}").comparisons
        wrong += [
            min(row.p_adjusted for row in rows) <= 0.05,
            min(row.p_welch_adjusted for row in rows) <= 0.05,
        ]
    assert wrong[0] <= special.bdtrik(0.999, reports, 0.05)
    assert wrong[1] >= 0.15 * reports
