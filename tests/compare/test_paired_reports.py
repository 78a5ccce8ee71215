"""Analyses of a shared design: seeds are pairs, from the dataset to the verdict."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import abtune
from abtune.compare.compare import compare
from abtune.compare.results import Analysis, Verdict
from abtune.compare.settings import Settings, make_settings
from abtune.configurations import ASYNC, MAINLINE
from abtune.dataset.schema import RunStatus
from abtune.errors import InputError
from abtune.samples import extract_both
from abtune.stats.testing.difference_tests import CORRECTIONS
from abtune.stats.testing.looks import LOOKS, Look, looks_to_json

NAN = float("nan")
BOOSTS = (0.1, 0.0, -0.1, 0.03)
MEAN = "geometric-mean"


def logs(
    boosts: tuple[float, ...] = BOOSTS, n: int = 12, shared: float = 0.1, own: float = 0.02
) -> np.ndarray:
    """Log seconds of pairs, shape (shape, config, seed)."""
    rng = np.random.default_rng(len(boosts) * n)
    common = rng.normal(-8, shared, (len(boosts), 1, n))
    log = common + rng.normal(0, own, (len(boosts), 2, n))
    log[:, 1] -= np.log1p(boosts)[:, np.newaxis]
    return log


def shared_sweep(log: np.ndarray, design: str = "shared", **fields: object) -> xr.Dataset:
    labels = [f"shape{number}" for number in range(len(log))]
    configs = ["mainline", "async"]
    return abtune.make_dataset(np.exp(log), shapes=labels, configs=configs, design=design, **fields)  # type: ignore[arg-type]


def judged(log: np.ndarray, **choices: object) -> Analysis:
    return abtune.analyze(shared_sweep(log), **choices)  # type: ignore[arg-type]


def test_the_numbers_are_those_of_pairs() -> None:
    """Boost, p and degrees of freedom by scipy's paired t-test; far narrower than of independent seeds."""
    log = logs()
    oracle = stats.ttest_rel(log[:, 0], log[:, 1], axis=1)
    rows = judged(log).comparisons
    assert [row.p_welch for row in rows] == pytest.approx(oracle.pvalue.tolist())
    assert [row.boost for row in rows] == pytest.approx(
        np.expm1((log[:, 0] - log[:, 1]).mean(axis=1)).tolist()
    )
    bounds = np.expm1(oracle.confidence_interval(0.95))
    closed = judged(log, method="paired-t").comparisons
    np.testing.assert_allclose([[row.boost_low, row.boost_high] for row in closed], np.transpose(bounds))
    alone = abtune.analyze(shared_sweep(log, "independent")).comparisons
    for row, other in zip(rows, alone, strict=True):
        assert row.boost == pytest.approx(other.boost)
        assert row.boost_high - row.boost_low < 0.5 * (other.boost_high - other.boost_low)
        assert row.detectable < 0.5 * other.detectable
    verdicts = [row.verdict for row in rows]
    assert verdicts[0] is Verdict.IMPROVED
    assert verdicts[2] is Verdict.REGRESSED
    assert {row.baseline.n for row in rows} == {row.candidate.n for row in rows} == {12}


def without_skewness():
    """Mirror the first six seeds at their mean, so that intervals of the mean are those of Student's t."""
    log = logs()
    log[..., 6:] = 2 * log[..., :6].mean(axis=-1, keepdims=True) - log[..., :6]
    return log


def test_overall_boost_is_of_pairs() -> None:
    """The mean over shapes has the paired t interval of the seeds' means, as complete data give it."""
    log = without_skewness()
    overall = judged(log).overall
    of_seed = (log[:, 0] - log[:, 1]).mean(axis=0)
    bounds = np.expm1(stats.ttest_1samp(of_seed, 0).confidence_interval(0.95))
    assert [overall.these_shapes.boost_low, overall.these_shapes.boost_high] == pytest.approx(bounds)
    won = (log[:, 0] > log[:, 1]).mean()
    assert overall.improvement.probability == pytest.approx(won)
    assert overall.improvement.low < won < overall.improvement.high
    assert "pairs" in overall.improvement.meaning


def test_the_time_of_a_program_is_that_of_pairs() -> None:
    """By the delta method: each seed's share-weighted log times of one side, minus those of the other."""
    log, calls = without_skewness(), np.array([1.0, 3.0, 0.0, 2.0])
    weights = {f"shape{number}": calls[number] for number in (0, 1, 3)}
    weighted = judged(log, weights=weights).overall.weighted
    assert weighted is not None
    times = calls[:, np.newaxis] * np.exp(log.mean(axis=2))
    shares = times / times.sum(axis=0)
    of_seed = (shares[:, 0, np.newaxis] * log[:, 0] - shares[:, 1, np.newaxis] * log[:, 1]).sum(axis=0)
    half = stats.t.ppf(0.975, 11) * of_seed.std(ddof=1) / math.sqrt(12)
    middle = math.log(times[:, 0].sum() / times[:, 1].sum())
    assert [weighted.boost_low, weighted.boost_high] == pytest.approx(
        np.expm1([middle - half, middle + half])
    )


def test_an_incomplete_pair_drops_out_of_every_number() -> None:
    """As if the seed had not been run; the numbers of seeds and a note say so."""
    log = logs()
    status = np.zeros(log.shape, dtype=int)
    status[0, 1, 3], status[1, 0, 4] = RunStatus.FAILED, RunStatus.MISSING
    holed = abtune.analyze(shared_sweep(log, run_status=status))
    assert [row.baseline.n for row in holed.comparisons] == [11, 11, 12, 12]
    without = log.copy()
    without[0, :, 3], without[1, :, 4] = np.nan, np.nan
    for row, kept in zip(holed.comparisons, judged(without).comparisons, strict=True):
        for name in ("boost", "p", "p_welch", "p_equivalence"):
            assert getattr(row, name) == pytest.approx(getattr(kept, name))
        for side, other in zip(row.sides, kept.sides, strict=True):
            assert (side.latency, side.noise, side.n) == pytest.approx((other.latency, other.noise, other.n))
    notes = [" ".join(row.caveats) for row in holed.comparisons]
    assert "async: 1 of 12 runs failed. The other pairs are compared." in notes[0]
    assert "mainline: 1 run left out, because the other run of the pair has no timing." in notes[0]
    assert "mainline: 1 run missing." in notes[1]
    assert "async: 1 run left out" in notes[1]
    assert not any("left out" in note for note in notes[2:])


def test_one_pair_two_pairs_and_none() -> None:
    """One pair has a boost and no verdict, two have an interval; without a whole pair there is nothing."""
    log = logs(boosts=(0.1, 0.1, 0.1, 0.1), n=2)
    log[0, 0, 1] = log[1, 0, 0] = log[1, 1, 1] = NAN
    status = np.where(np.isnan(log), RunStatus.FAILED, RunStatus.COMPLETE)
    status[2], log[2] = RunStatus.FAILED, NAN
    rows = abtune.analyze(shared_sweep(log, run_status=status)).comparisons
    assert [row.verdict for row in rows[:3]] == [Verdict.INVALID] * 3
    assert rows[0].reason == "One pair supports no verdict."
    assert rows[0].boost == pytest.approx(math.exp(log[0, 0, 0] - log[0, 1, 0]) - 1)
    assert rows[1].reason == "There is no whole pair (mainline: 1 run failed; async: 1 run failed)."
    assert math.isnan(rows[1].boost)
    assert rows[2].reason == "There is no whole pair (mainline: 2 runs failed; async: 2 runs failed)."
    assert rows[3].verdict is not Verdict.INVALID
    assert rows[3].p == 0.5
    assert rows[3].reason.endswith("No difference can pass the test with 2 pairs. It takes 6.")
    single = judged(logs(boosts=(0.1,), n=1))
    assert single.caveats == ("One pair supports no verdict.", *single.caveats[1:])


def test_most_pairs_failed() -> None:
    """Runs of each side fail in different pairs: no side lost most of its runs, but most pairs are lost."""
    log = logs(boosts=(0.1,), n=8)
    status = np.zeros(log.shape, dtype=int)
    status[0, 0, :3] = status[0, 1, 3:6] = RunStatus.FAILED
    row = abtune.analyze(shared_sweep(log, run_status=status)).comparisons[0]
    assert row.verdict is Verdict.INVALID
    assert row.reason == "Most pairs failed: 6 of 8."
    status[status == RunStatus.FAILED] = (
        RunStatus.MISSING
    )  # a sweep that was stopped says nothing of how runs end
    row = abtune.analyze(shared_sweep(log, run_status=status)).comparisons[0]
    assert row.verdict is not Verdict.INVALID


def test_too_few_pairs_for_the_correction() -> None:
    """Over 29 shapes, ten pairs pass the default, max-T; Holm's correction takes 11, and max-T takes 6."""
    log = logs(boosts=(0.3,) * 29, n=10)
    assert {row.verdict for row in judged(log).comparisons} == {Verdict.IMPROVED}
    for few, correction, takes in ((log, "holm", 11), (log[..., :5], None, 6)):
        analysis, pairs = judged(few, correction=correction), few.shape[2]
        assert {row.verdict for row in analysis.comparisons} == {Verdict.NOT_SLOWER}
        which = "Holm's correction" if correction == "holm" else "the test"
        no = f"No difference can pass {which} with {pairs} pairs. It takes {takes}."
        assert no in analysis.comparisons[0].reason
        less = ", or 6 of every shape: then max-T is the default correction" if correction == "holm" else ""
        assert any(f"Run {takes} pairs{less}." in note for note in analysis.caveats)


def test_six_pairs_without_noise_differ() -> None:
    """Where all pairs of a shape agree, six are enough."""
    log = np.zeros((8, 2, 6))
    log[:, 1] = -1
    for pairs, verdict in ((6, Verdict.IMPROVED), (5, Verdict.NOT_SLOWER)):
        assert {row.verdict for row in judged(log[..., :pairs]).comparisons} == {verdict}


def test_the_sign_flip_test_needs_no_t_test() -> None:
    """Where most shapes gain, it finds more with 7 pairs than the paired t-test, and nothing false."""
    rows = judged(logs(boosts=(0.12,) * 25 + (0.0,) * 4, n=7, own=0.04)).comparisons
    improved = [row for row in rows if row.verdict is Verdict.IMPROVED]
    assert len(improved) == 23
    assert improved == [row for row in rows[:25] if row.p_adjusted <= 0.05]
    assert sum(row.p_welch_adjusted <= 0.05 for row in rows) == 15
    # The verdict says so, also where the bound from resamples says less.
    assert min(row.boost_at_least for row in improved) == 0
    assert min(row.boost_low_simultaneous for row in improved) == 0


def timed_in_rounds(drift: float, own: float = 0.005, rounds: int = 5) -> xr.Dataset:
    """Return pairs whose rounds drift alike on both sides, shape (shape, config, seed, round)."""
    rng = np.random.default_rng(3)
    log = logs(boosts=(0.008,) * 4, n=10, own=0.001)[..., np.newaxis] + rng.normal(0, own, (4, 2, 10, rounds))
    return shared_sweep((log + rng.normal(0, drift, (4, 1, 10, rounds)))[..., np.newaxis])


def test_drift_that_both_runs_of_a_pair_share_is_no_noise() -> None:
    """The verdict is that of pairs without the drift, which counted as noise of measuring on either side."""
    steady, drifting = (abtune.analyze(timed_in_rounds(drift)) for drift in (0.0, 0.05))
    for still, moving in zip(steady.comparisons, drifting.comparisons, strict=True):
        assert moving.boost_low == pytest.approx(still.boost_low)
        assert moving.verdict is still.verdict is Verdict.IMPROVED
        assert moving.caveats == still.caveats


def test_noise_of_measuring_still_limits_pairs() -> None:
    """A difference varies by what either side has of its own. A lone round does not tell how much."""
    for own in (0.005, 0.02):
        dataset = timed_in_rounds(0.1, own)
        one, two = extract_both(dataset, "mainline", "async")
        np.testing.assert_allclose(one.floor + two.floor, 2 * own**2 / 5, rtol=0.4)
    lone = dataset.assign(latency=dataset["latency"].where(dataset["round"] < 1))
    assert np.isnan(extract_both(lone, "mainline", "async")[1].floor).all()


def test_pairs_of_one_ratio_have_no_noise_of_measuring() -> None:
    """The rounding of logs is none, also where all rounds differ."""
    dataset = timed_in_rounds(0.1, 0.0)
    dataset["latency"][:, 1] = 1.1 * dataset["latency"][:, 0]
    assert not extract_both(dataset, "mainline", "async")[0].floor.any()


def test_a_shape_with_few_pairs_hides_no_other() -> None:
    """Six pairs differ as the report says, though a stopped sweep has three pairs of another shape."""
    log = logs(boosts=(0.3,) * 4, n=6, own=0.01)
    log[3, :, 3:] = NAN
    log[3, 1, :3] = log[3, 0, :3] - [0.3, 0.301, 0.302]
    rows = judged(log).comparisons
    assert [row.verdict for row in rows] == [Verdict.IMPROVED] * 3 + [Verdict.NOT_SLOWER]
    assert rows[3].reason.endswith("No difference can pass the test with 3 pairs. It takes 6.")


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_swapping_the_sides_inverts_every_boost(correction: str) -> None:
    """Boosts become their inverse, and p-values stay."""
    dataset = shared_sweep(logs(n=7))
    options = {"correction": correction, "method": "paired-bootstrap"}
    there = abtune.analyze(dataset, **options)  # type: ignore[arg-type]
    back = abtune.analyze(dataset, baseline="async", candidate="mainline", **options)  # type: ignore[arg-type]
    for one, two in zip(there.comparisons, back.comparisons, strict=True):
        bounds = [1 + one.boost_low, 1 + one.boost, 1 + one.boost_high]
        inverse = [1 / (1 + two.boost_high), 1 / (1 + two.boost), 1 / (1 + two.boost_low)]
        assert bounds == pytest.approx(inverse, rel=1e-9)
        for name in ("p_adjusted", "p_welch_adjusted", "p_equivalence_adjusted"):
            assert getattr(one, name) == pytest.approx(getattr(two, name), rel=1e-9)


def test_the_order_of_the_seeds_does_not_matter() -> None:
    """Pairs in another order give the same analysis; runs of other pairs together do not."""
    log = logs()
    order = np.random.default_rng(0).permutation(12)
    plain, again = judged(log), judged(log[:, :, order])
    assert [row.verdict for row in plain.comparisons] == [row.verdict for row in again.comparisons]
    for one, two in zip(plain.comparisons, again.comparisons, strict=True):
        assert (one.boost_low, one.p) == pytest.approx((two.boost_low, two.p))
    log[:, 1] = log[:, 1, order]
    mixed = judged(log).comparisons[0]
    assert mixed.boost_high - mixed.boost_low > 2 * (
        again.comparisons[0].boost_high - again.comparisons[0].boost_low
    )


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"method": "welch"}, "choose paired-bootstrap, paired-t"),
        (
            {"estimand": "best-of:2"},
            "there is no best-of:2 of pairs, which this dataset has; use geometric-mean",
        ),
    ],
)
def test_methods_of_independent_seeds_are_refused(choices: dict[str, object], words: str) -> None:
    """One line says what there is for pairs."""
    with pytest.raises(InputError, match=words) as refused:
        judged(logs(), **choices)
    assert "\n" not in str(refused.value)


def test_methods_of_pairs_are_refused_for_independent_seeds() -> None:
    """A paired method takes a shared design."""
    with pytest.raises(InputError, match="no interval 'paired-t' of the geometric-mean"):
        abtune.analyze(shared_sweep(logs(), "independent"), method="paired-t")


def test_settings_take_the_design_from_the_dataset() -> None:
    """The defaults fit, and judging again with a change keeps the pairs."""
    dataset = shared_sweep(logs())
    settings = make_settings(dataset)
    assert (settings.paired, settings.method, settings.correction) == (True, "paired-bootstrap", "max-t")
    alone = Settings(baseline="a", candidate="b")
    assert (alone.paired, alone.method, alone.correction) == (False, "expanded-percentile", "holm")
    again = compare(dataset, replace(settings, margin=0.2))
    assert again.comparisons[1].verdict is Verdict.EQUIVALENT


def test_the_words_say_what_it_is() -> None:
    """Sentence, title and definition: not the boost of tuning alone, and who cannot lose."""
    spaces = json.dumps([MAINLINE.settings(), ASYNC.settings()])
    analysis = abtune.analyze(shared_sweep(logs(), attrs={"configurations": spaces}))
    assert str(analysis).startswith("At equal knowledge, async ")
    assert "This is not the boost of tuning alone." in analysis.definition
    assert "async can hardly lose" in analysis.definition
    report = analysis.report()
    assert "async against mainline at equal knowledge" in report
    assert "12 pairs per shape" in report
    other = judged(logs())  # which says nothing of its design spaces
    assert "A design space that contains the other one can hardly lose." in other.definition
    alone = abtune.analyze(shared_sweep(logs(), "independent"))
    assert "equal knowledge" not in alone.report()
    assert "equal knowledge" not in alone.definition


def test_a_sweep_until_settled_looks_at_pairs() -> None:
    """At the first look, each shape has its first pairs; what is settled then stays as it is."""
    log = logs(boosts=(0.5, 0.0), n=12)
    dataset = shared_sweep(log)
    looks = looks_to_json([Look(seeds=8, alpha=0.02), Look(seeds=12, alpha=0.03)], done=2)
    analysis = abtune.analyze(dataset.assign_attrs(looks=looks))
    assert [row.baseline.n for row in analysis.comparisons] == [8, 12]
    assert analysis.comparisons[0].verdict is Verdict.IMPROVED
    assert analysis.comparisons[0].p == pytest.approx(2 / 2**8)


def test_skewed_differences_are_told() -> None:
    """Where the candidate is now and then far slower than its partner, counts of shapes are overstated."""
    rng = np.random.default_rng(0)
    log = logs(boosts=(0.0,) * 12, n=12)
    log[:, 1] += rng.gamma(0.3, 0.3, (12, 12))
    told = [note for note in judged(log).caveats if "skewed" in note]
    assert told == [
        "The differences of the pairs look skewed: now and then async is far slower. A verdict of improved "
        "or equivalent must also pass a bootstrap-t test. Still, up to 11% of such reports overstate how "
        "many shapes are faster or not slower (simulated, docs/statistics.md). With five seeds of five "
        "shapes and rare slow runs, up to 18% do."
    ]
    assert not [note for note in judged(logs(boosts=(0.0,) * 12)).caveats if "skewed" in note]


def test_the_default_correction_is_that_of_the_test_and_of_the_design() -> None:
    """Max-T for sign flips, where no look has dropped a shape; Holm for looks."""
    log = logs(boosts=(0.3, 0.0), n=6)
    assert judged(log).settings.correction == "max-t"
    looks = looks_to_json((Look(seeds=6, alpha=0.05),), done=1)
    at_looks = shared_sweep(log).assign_attrs({LOOKS: looks})
    assert abtune.analyze(at_looks).settings.correction == "holm"
    assert abtune.analyze(at_looks, correction="max-t").settings.correction == "max-t"


def test_pairs_without_noise_are_called_pairs() -> None:
    """The note on differences that agree exactly counts pairs, as the report does."""
    latency = np.broadcast_to([[1.1], [1.0]], (1, 2, 6))
    dataset = abtune.make_dataset(latency, shapes=["s"], configs=["a", "b"], design="shared")
    (row,) = abtune.analyze(dataset).comparisons
    assert any(
        caveat.startswith("differences of pairs: all 6 pairs agree exactly.") for caveat in row.caveats
    )
