"""The change of boosts between two datasets."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import xarray as xr
from compare_builders import make_sweep
from scipy import optimize, stats

import abtune
from abtune.errors import InputError
from abtune.sections.change.change_results import ChangeVerdict
from abtune.stats.testing.step_procedures import holm

DATA = Path(__file__).parents[2] / "data"


def single(dataset: xr.Dataset, config: str = "mainline") -> xr.Dataset:
    return dataset.sel(config=[config])


def test_numbers_are_those_of_four_samples() -> None:
    """Estimate, error and p follow from the means and variances; degrees of freedom are at most Welch's."""
    first = make_sweep([0.1], n=6, m=8, noise=(0.02, 0.05), seed=1)
    second = make_sweep([0.3], n=7, m=5, noise=(0.03, 0.01), seed=2)
    logs = [np.log(d["latency"].values[0, side]).ravel() for d in (first, second) for side in (0, 1)]
    samples = [values[~np.isnan(values)] for values in logs]
    means = [values.mean() for values in samples]
    change = (means[2] - means[3]) - (means[0] - means[1])
    shares = [values.var(ddof=1) / len(values) for values in samples]
    error = math.sqrt(sum(shares))
    welch = sum(shares) ** 2 / sum(v**2 / (len(s) - 1) for v, s in zip(shares, samples, strict=True))
    (row,) = abtune.compare_datasets(first, second).shapes
    assert row.seeds == (6, 8, 7, 5)
    assert row.a == pytest.approx(math.expm1(means[0] - means[1]))
    assert row.b == pytest.approx(math.expm1(means[2] - means[3]))
    assert row.change == pytest.approx(math.expm1(change))
    assert row.change == pytest.approx((1 + row.b) / (1 + row.a) - 1)
    quantile = (math.log1p(row.high) - change) / error
    assert quantile == pytest.approx((change - math.log1p(row.low)) / error)
    freedom = optimize.brentq(lambda f: stats.t.ppf(0.975, f) - quantile, 1, 100)
    assert 4 <= freedom <= welch
    assert row.p == pytest.approx(2 * stats.t.sf(abs(change) / error, freedom))
    overall = abtune.compare_datasets(first, second).overall
    half = stats.t.ppf(0.975, welch) * error
    assert (overall.change, overall.shapes) == (pytest.approx(row.change), 1)
    assert overall.high == pytest.approx(math.expm1(change + half))


def test_swapping_the_datasets_mirrors_the_change() -> None:
    """From B to A every change is the inverse ratio, with the same p-values and verdicts."""
    pair = make_sweep([0.0, 0.1, 0.5], seed=1), make_sweep([0.0, 0.4, 0.5], noise=0.05, seed=2)
    there, back = abtune.compare_datasets(*pair), abtune.compare_datasets(*pair[::-1])
    for one, two in zip([*there.shapes, there.overall], [*back.shapes, back.overall], strict=True):
        assert (1 + one.change) * (1 + two.change) == pytest.approx(1)
        assert (1 + one.low) * (1 + two.high) == pytest.approx(1)
    for one, two in zip(there.shapes, back.shapes, strict=True):
        assert (one.p, one.p_unchanged, one.verdict) == (
            pytest.approx(two.p),
            pytest.approx(two.p_unchanged),
            two.verdict,
        )


def test_shapes_are_changed_unchanged_or_not_settled() -> None:
    """A large change, none, and one that the noise hides; each family of tests is corrected by Holm."""
    first = xr.concat([make_sweep([0.0, 0.3], noise=0.01, seed=1), _named(0.3, 0.4, 3)], "shape")
    second = xr.concat([make_sweep([0.2, 0.3], noise=0.01, seed=2), _named(0.4, 0.4, 4)], "shape")
    change = abtune.compare_datasets(first, second)
    assert [row.verdict for row in change.shapes] == [
        ChangeVerdict.CHANGED,
        ChangeVerdict.UNCHANGED,
        ChangeVerdict.NOT_SETTLED,
    ]
    ordered = sorted(change.shapes, key=lambda row: row.p)
    assert ordered[0].p_adjusted == pytest.approx(3 * ordered[0].p)
    assert (
        abtune.compare_datasets(first, second, tolerance=0.001).shapes[1].verdict is ChangeVerdict.NOT_SETTLED
    )


def test_variances_of_all_shapes_show_more_changes() -> None:
    """Four seeds of 29 shapes show changes that the variance of each shape by itself does not."""
    truth = np.where(np.arange(29) % 3 == 2, 0.25, 0.0)
    sweeps = (make_sweep(boosts, n=4, noise=0.06, seed=seed) for boosts, seed in ((0 * truth, 1), (truth, 2)))
    rows = abtune.compare_datasets(*sweeps).shapes
    p, moderated = np.array([(row.p, row.p_moderated) for row in rows]).T
    assert [row.p_adjusted for row in rows] == np.maximum(p, holm(moderated)).tolist()
    changed = np.array([row.verdict is ChangeVerdict.CHANGED for row in rows])
    alone = holm(p) <= 0.05
    assert (alone.sum(), changed.sum(), (changed & (truth == 0)).sum()) == (2, 6, 0)


def test_variances_that_may_mislead_are_not_moderated() -> None:
    """Three seeds, and noise of two speeds in all shapes, keep the variance of each shape."""
    for n, spread in ((3, 0.0), (4, 0.0), (4, 0.2)):
        rng = np.random.default_rng(n)
        logs = rng.normal(0, 0.01, (2, 29, 2, n)) * (not spread) + rng.choice((0, spread), (2, 29, 2, n)) - 8
        labels = [f"s{number}" for number in range(29)]
        both = (abtune.make_dataset(np.exp(log), shapes=labels, configs=["old", "new"]) for log in logs)
        rows = abtune.compare_datasets(*both, config="old").shapes
        same = [row.p == row.p_moderated for row in rows]
        assert all(same) == (n == 3 or spread > 0)


def _named(boost: float, noise: float, seed: int) -> xr.Dataset:
    return make_sweep([boost], noise=noise, seed=seed).assign_coords(shape=["noisy"])


def test_the_interval_covers_and_false_changes_are_rare() -> None:
    """Of 1,000 shapes without a change the interval covers about 95 %, with unequal noise and few seeds."""
    first = make_sweep(np.full(1000, 0.2), n=5, m=8, noise=(0.05, 0.02), seed=5)
    second = make_sweep(np.full(1000, 0.2), n=10, m=5, noise=(0.02, 0.02), seed=6)
    change = abtune.compare_datasets(first, second)
    covered = sum(row.low <= 0 <= row.high for row in change.shapes)
    assert 936 <= covered <= 975
    assert sum(row.p <= 0.05 for row in change.shapes) == 1000 - covered
    assert not any(row.verdict is ChangeVerdict.CHANGED for row in change.shapes)
    means = [
        abtune.compare_datasets(*(make_sweep([0.2] * 3, n=5, seed=seed + add) for add in (0, 1000))).overall
        for seed in range(60)
    ]
    assert sum(mean.low <= 0 <= mean.high for mean in means) >= 51


def test_two_seeds_that_agree_by_chance_change_nothing_beside_ten() -> None:
    """Searches end at one of two schedules; without degrees of freedom of the few, most reports are false."""
    changed = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        log = 0.2 * rng.integers(0, 2, (29, 2, 12)) + rng.normal(0, 0.005, (29, 2, 12)) - 8
        labels = [f"s{number}" for number in range(29)]
        two, ten = (
            abtune.make_dataset(np.exp(samples), shapes=labels, configs=["old", "new"])
            for samples in (log[..., :2], log[..., 2:])
        )
        rows = abtune.compare_datasets(two, ten).shapes
        changed += any(row.verdict is ChangeVerdict.CHANGED for row in rows)
    assert changed == 0


def test_errors_that_shapes_share_widen_the_mean() -> None:
    """What moves all shapes of a seed together does not average out over the shapes."""
    rng = np.random.default_rng(0)
    pair = [make_sweep([0.1] * 10, noise=0.01, seed=seed) for seed in (1, 2)]
    shared = [
        dataset.assign(latency=dataset["latency"] * np.exp(rng.normal(0, 0.1, (1, 2, 10, 1, 1))))
        for dataset in pair
    ]
    apart, together = (abtune.compare_datasets(*datasets) for datasets in (pair, shared))
    one_shape = together.shapes[0]
    assert apart.overall.high - apart.overall.low < 0.5 * (apart.shapes[0].high - apart.shapes[0].low)
    assert together.overall.high - together.overall.low > 0.7 * (one_shape.high - one_shape.low)


def test_one_configuration_compares_latencies() -> None:
    """A single configuration gives a ratio of latencies: chosen by name, or because there is no other."""
    first, second = make_sweep([0.0, 0.1], seed=1), make_sweep([0.0, 0.1], seed=2)
    second["latency"] = second["latency"] * 1.3
    change = abtune.compare_datasets(first, second, config="mainline")
    assert (change.quantity, change.configs_a) == ("latency", ("mainline",))
    row = change.shapes[1]
    assert row.change == pytest.approx(row.b / row.a - 1) == pytest.approx(0.3, abs=0.05)
    assert row.verdict is ChangeVerdict.CHANGED
    assert row.seeds == (10, 10)
    own = abtune.compare_datasets(single(first), single(second))
    assert own.shapes == change.shapes
    renamed = single(second).assign_coords(config=["newer"])
    assert abtune.compare_datasets(single(first), renamed).configs_b == ("newer",)


def test_the_order_of_configurations_and_shapes_is_that_of_the_first() -> None:
    """Labels decide, not positions."""
    first, second = make_sweep([0.0, 0.3], seed=1), make_sweep([0.0, 0.3], seed=2)
    turned = second.isel(shape=[1, 0], config=[1, 0])
    assert abtune.compare_datasets(first, turned).shapes == abtune.compare_datasets(first, second).shapes


def with_settings(dataset: xr.Dataset, **attrs: object) -> xr.Dataset:
    settings = {"trials": attrs.pop("trials", 64), "rng_seed": attrs.pop("rng_seed", 0)}
    settings |= {name: attrs.pop(name) for name in ("launched_by",) if name in attrs}
    return dataset.assign_attrs(settings=json.dumps(settings), **attrs)


def test_conditions_that_differ_are_listed() -> None:
    """Device, version, trials and definitions; the seed of the random numbers is none of them."""
    long = "x" * 60
    strategies = [
        json.dumps([{"name": "async", "pass_config": {"copy": value}, "strategy": "evolutionary"}])
        for value in (0, 1)
    ]
    first = with_settings(
        make_sweep([0.1], seed=1), device="H200", target=f"{long}90", configurations=strategies[0]
    )
    second = with_settings(
        make_sweep([0.1], seed=2),
        trials=128,
        rng_seed=7,
        launched_by="graph",
        device="H100",
        target=f"{long}80",
        configurations=strategies[1],
        tvm_version="0.27",
    )
    mismatches = abtune.compare_datasets(first, second).mismatches
    assert {row.what: (row.a, row.b) for row in mismatches} == {
        "device": ("H200", "H100"),
        "TVM": ("", "0.27"),
        "trials": ("64", "128"),
        "launched by": ("stream", "graph"),
        "target": ("x" * 20 + "90", "x" * 20 + "80"),
        "candidate pass config": ("{'copy': 0}", "{'copy': 1}"),
    }


def caveats(first: xr.Dataset, second: xr.Dataset) -> tuple[str, ...]:
    return abtune.compare_datasets(first, second).caveats


@pytest.mark.parametrize(("factor", "said"), [(1000.0, True), (1e-3, True), (50.0, False)])
def test_datasets_in_two_units_are_pointed_out(factor: float, said: bool) -> None:  # noqa: FBT001
    """A thousand times the latency is a matter of units; fifty times may be real."""
    first, second = (single(make_sweep([0.1], seed=seed)) for seed in (1, 2))
    notes = caveats(first, second.assign(latency=second["latency"] * factor))
    unit = [note for note in notes if "Check that all times have the same unit" in note]
    assert [note.startswith("A and B differ more than 100-fold in ") for note in unit] == [True] * said


def test_seeds_that_agree_exactly_are_said_of_a_change() -> None:
    """Without noise, an interval has no width; what the timer rounds away is not in it."""
    first, second = (make_sweep([0.1, 0.1], seed=seed) for seed in (1, 2))
    second["latency"][0, 1] = 0.5
    notes = [note for note in caveats(first, second) if "agree exactly" in note]
    config = second["config"].values[1]
    assert [note.partition(". ")[0] for note in notes] == [
        f"{config} in B: all seeds agree exactly in 1 shape"
    ]


def test_a_seed_far_from_the_others_is_said_of_a_change() -> None:
    """One timing in another unit decides about a change, too."""
    first, second = (make_sweep([0.1], seed=seed) for seed in (1, 2))
    second["latency"][0, 1, 0] *= 1000
    notes = [note for note in caveats(first, second) if "one seed differs" in note]
    config, shape = (second[name].values[index] for name, index in (("config", 1), ("shape", 0)))
    said = f"{config} in B: one seed differs from the median seed more than 10-fold in {shape}. Check that"
    assert [note.startswith(said) for note in notes] == [True]


def test_the_mean_change_reaches_farther_towards_a_long_tail() -> None:
    """Slow runs of the candidate in B make the change too large if few show, so the lower end moves."""
    before, after = (make_sweep([0.1] * 6, n=10, noise=0.01, seed=seed) for seed in (1, 2))
    after["latency"][:, 1] *= np.exp(np.random.default_rng(3).exponential(0.05, (6, 10, 1, 1)))
    for first, second, sign in ((before, after, 1), (after, before, -1)):
        mean = abtune.compare_datasets(first, second).overall
        low, change, high = np.log1p([mean.low, mean.change, mean.high])
        assert sign * ((change - low) - (high - change)) > 0.03 * (high - low)


@pytest.mark.parametrize(("n", "said"), [(10, "with a chance of 35%"), (29, None)])
def test_rare_slow_seeds_that_few_seeds_miss_are_said_of_a_change(n: int, said: str | None) -> None:
    """Neither dataset shows a slow session that none of its seeds had."""
    notes = caveats(make_sweep([0.1], n=30, noise=0.01, seed=1), make_sweep([0.1], n=n, noise=0.01, seed=2))
    rare = [note for note in notes if note.startswith(f"If 1 seed in 10 is far slower, {n} seeds miss")]
    assert [said in note for note in rare if said] == [True] * bool(said)
    assert len(rare) == bool(said)


def test_shared_runs_are_told() -> None:
    """Runs that are in both datasets make them depend on each other; a seed number says nothing."""
    first, second = make_sweep([0.1], seed=1), make_sweep([0.1], seed=2)
    assert not any("of A" in caveat for caveat in caveats(first, second))
    mixed = second.copy(deep=True)
    mixed["latency"][0, 1, 3] = first["latency"][0, 1, 5]
    assert caveats(first, mixed)[0].startswith("1 run of B has the timings or the winner of a run of A.")


def test_rounded_times_that_fall_together_are_no_shared_runs() -> None:
    """A clock of 0.1 ms gives many runs one time; only several timings, or many digits, tell a run."""
    first, second = (make_sweep([0.1, 0.0], n=10, noise=0.02, seed=seed) for seed in (1, 2))
    coarse = [sweep.assign(latency=(sweep["latency"] * 1e6).round(-1) / 1e6) for sweep in (first, second)]
    assert np.isin(*(dataset["latency"].values for dataset in coarse)).sum() > 10
    assert not any("timings or the winner" in caveat for caveat in caveats(*coarse))
    with pytest.raises(InputError, match="the same timings of every common shape"):
        caveats(coarse[0], coarse[0].copy())


def again(sweep: xr.Dataset, change: npt.ArrayLike, *, noise: float, seed: int = 9) -> tuple[xr.Dataset, ...]:
    """Return a sweep with a winner for each run, and the same winners timed again.

    Each configuration's log latencies change by a row of ``change`` per shape, and each winner's by noise.
    """
    rng = np.random.default_rng(seed)
    names = np.array([f"trace {index}" for index in range(sweep["run_status"].size)], dtype=object)
    first = sweep.assign(winner=(("shape", "config", "seed"), names.reshape(sweep["run_status"].shape)))
    shifts = np.asarray(change)[:, :, None] + rng.normal(0, noise, first["run_status"].shape)
    return first, first.assign(latency=first["latency"] * np.exp(shifts)[..., None, None])


def test_a_coarse_timer_leaves_room_for_a_change() -> None:
    """Kernels of 20.4 us and of 19.6 us look the same on a clock of 1 us, which is no proof."""
    rng = np.random.default_rng(0)
    truth = np.array([20.4, 19.6, 25.0])[:, np.newaxis, np.newaxis]

    def timed(factor: float, decimals: int) -> xr.Dataset:
        micros = np.round(truth * factor + rng.normal(0, 0.1, (3, 1, 10)), decimals)
        micros[2, 0, 0] = 26
        return abtune.make_dataset(micros * 1e-6, shapes=["a", "b", "c"], configs=["mainline"])

    for decimals, verdict in ((0, ChangeVerdict.NOT_SETTLED), (2, ChangeVerdict.UNCHANGED)):
        change = abtune.compare_datasets(timed(1.0, decimals), timed(1.002, decimals), tolerance=0.03)
        row, mean = change.shapes[0], change.overall
        assert row.verdict is verdict
        assert row.low < 0.002 < row.high
        # Two of the three shapes leave room for a step of 5 % in all, so their mean does, too.
        assert (mean.high - mean.low > 2 * 0.03) == (decimals == 0)


def test_a_step_of_the_timer_is_no_change() -> None:
    """If a clock of 1 us reads 20 us in each run, and 21 us in each run of another day, nothing is known."""

    def timed(micros: float) -> xr.Dataset:
        values = np.array([[[micros] * 10], [[40, 41] * 5], [[60, 61, 62, 61, 60] * 2]])
        return abtune.make_dataset(values * 1e-6, shapes=["a", "b", "c"], configs=["mainline"])

    row = abtune.compare_datasets(timed(20), timed(21)).shapes[0]
    assert row.low < 0 < row.high
    assert row.verdict is ChangeVerdict.NOT_SETTLED
    assert row.p > 0.05


def test_the_same_winners_are_compared_with_themselves() -> None:
    """The change stays, the noise of the searches cancels; the interval is of two samples of changes."""
    first, second = again(make_sweep([0.1], n=6, m=8, noise=0.2), [[0.01, -0.03]], noise=0.004)
    change = abtune.compare_datasets(first, second)
    apart = abtune.compare_datasets(first.drop_vars("winner"), second.drop_vars("winner"))
    assert (change.same_winners, apart.same_winners) == (True, False)
    (row,), (wide,) = change.shapes, apart.shapes
    assert (row.a, row.b, row.change) == (wide.a, pytest.approx(wide.b), pytest.approx(wide.change))
    assert row.high - row.low < (wide.high - wide.low) / 20
    assert not caveats(first, second)
    changes = np.log(second["latency"].values / first["latency"].values)[0, :, :, 0, 0]
    one, two = (side[~np.isnan(side)] for side in changes)
    welch = stats.ttest_ind(one, two, equal_var=False)
    assert math.log1p(row.change) == pytest.approx(one.mean() - two.mean())
    assert welch.pvalue <= row.p <= 1e-6
    interval = welch.confidence_interval()  # with more degrees of freedom
    assert math.log1p(row.low) <= interval.low
    assert math.log1p(row.high) >= interval.high
    assert change.overall.change == pytest.approx(row.change)


def test_times_are_not_compared_with_throughputs() -> None:
    """Their boosts are, because those are ratios."""
    first, second = (make_sweep([0.1], n=6, seed=seed) for seed in (1, 2))
    second = second.assign_attrs(latency_source="throughput")
    assert abtune.compare_datasets(first, second).quantity == "boost"
    with pytest.raises(InputError, match="one dataset has times, the other throughputs"):
        abtune.compare_datasets(first, second, config="async")


def test_winners_that_all_change_alike_show_no_more_than_their_number() -> None:
    """On a simulator, all ratios may be the same. The rounding of their logs is no noise of measuring."""
    first, second = again(make_sweep([0.0] * 9, n=2, noise=0.5), [[0.0, 0.0]] * 9, noise=0.0)
    for factor, name, p in ((1.0, "p_unchanged", 1 / 6), (1.2, "p", 1 / 3)):
        scaled = second["latency"] * 1.1 * np.array([1, factor])[:, np.newaxis, np.newaxis, np.newaxis]
        for row in abtune.compare_datasets(first, second.assign(latency=scaled)).shapes:
            assert row.verdict is ChangeVerdict.NOT_SETTLED
            assert getattr(row, name) >= p * (1 - 1e-9)


def test_latencies_of_the_same_winners_are_pairs() -> None:
    """Latencies of the same winners get the interval of the paired t-test."""
    first, second = again(make_sweep([0.1], noise=0.2), [[0.01, -0.03]], noise=0.01)
    (row,) = abtune.compare_datasets(first, second, config="async").shapes
    logs = [np.log(dataset["latency"].values[0, 1, :, 0, 0]) for dataset in (second, first)]
    oracle = stats.ttest_rel(*logs)
    assert row.p == pytest.approx(oracle.pvalue)
    assert (math.log1p(row.low), math.log1p(row.high)) == pytest.approx(tuple(oracle.confidence_interval()))
    assert row.verdict is ChangeVerdict.CHANGED


def test_pairs_of_a_shared_design_stay_pairs() -> None:
    """Of a shared design, the change of a pair is one value: its interval is that of one sample."""
    shared = make_sweep([0.1], noise=0.2).assign_attrs(design="shared")
    first, second = again(shared, [[0.01, -0.03]], noise=0.01)
    (row,) = abtune.compare_datasets(first, second).shapes
    changes = np.log(second["latency"].values / first["latency"].values)[0, :, :, 0, 0]
    oracle = stats.ttest_1samp(changes[0] - changes[1], 0)
    assert row.p == pytest.approx(oracle.pvalue)
    assert (math.log1p(row.low), math.log1p(row.high)) == pytest.approx(tuple(oracle.confidence_interval()))


def test_intervals_of_the_same_winners_cover() -> None:
    """Of 1,000 shapes without a change of boost the interval covers about 95 %; none is called changed."""
    sweep = make_sweep(np.full(1000, 0.2), n=5, m=8, noise=0.2)
    first, second = again(sweep, np.full((1000, 2), 0.05), noise=0.01)
    change = abtune.compare_datasets(first, second)
    covered = sum(row.low <= 0 <= row.high for row in change.shapes)
    assert 936 <= covered <= 985
    assert not any(row.verdict is ChangeVerdict.CHANGED for row in change.shapes)
    assert change.overall.low <= 0 <= change.overall.high


def test_only_winners_that_both_time_are_compared() -> None:
    """A measurement that lost some winners is compared by the others, in both datasets."""
    first, second = again(make_sweep([0.1], n=8, noise=0.2), [[0.0, 0.0]], noise=0.01)
    second["latency"][0, 1, :3] = np.nan
    change = abtune.compare_datasets(first, second)
    assert change.shapes[0].seeds == (8, 5, 8, 5)
    kept = first["latency"].values[0, :, :, 0, 0]
    medians = [math.exp(np.log(side).mean()) for side in (kept[0], kept[1, 3:])]
    assert change.shapes[0].a == pytest.approx(medians[0] / medians[1] - 1)


def test_winners_of_a_dataset_with_more_seeds_are_compared_with_themselves() -> None:
    """A merged dataset has more seeds; those that only it has are left out, on either side."""
    first, second = again(make_sweep([0.1], n=8, noise=0.2), [[0.0, 0.0]], noise=0.01)
    fewer = first.isel(seed=slice(5))
    expected = abtune.compare_datasets(fewer, second.isel(seed=slice(5))).shapes[0]
    change = abtune.compare_datasets(fewer, second)
    assert change.shapes[0] == expected
    assert change.caveats == ("B has 6 winners that A does not time. These are left out.",)
    assert abtune.compare_datasets(second, fewer).shapes[0].seeds == (5, 5, 5, 5)


def test_winners_are_told_by_their_searches_not_by_seed_numbers() -> None:
    """Merging renumbers seeds; equal winners of two searches are told apart by the times they measured."""
    first, second = again(make_sweep([0.1, 0.2], n=6, m=8, noise=0.2), [[0.01, -0.03]] * 2, noise=0.01)
    measured = first["latency"].isel(round=0, repeat=0, drop=True)
    first, second = (
        side.assign(winner=xr.full_like(side["winner"], "the same trace"), search_latency=measured)
        for side in (first, second)
    )
    shuffled = second.isel(seed=[7, 3, 1, 0, 2, 6, 4, 5])
    expected = abtune.compare_datasets(first, second)
    assert expected.same_winners
    for other in (shuffled.assign_coords(seed=range(20, 28)), shuffled.sortby("seed")):
        assert abtune.compare_datasets(first, other).shapes == expected.shapes


def test_equal_winners_without_times_of_their_searches_are_all_compared() -> None:
    """Searches of a small design space often choose one schedule, which is the same kernel each time."""
    first, second = again(make_sweep([0.1], n=6, m=8, noise=0.2), [[0.01, -0.03]], noise=0.01)
    expected = abtune.compare_datasets(first, second)
    alike = (side.assign(winner=xr.full_like(side["winner"], "the same")) for side in (first, second))
    assert abtune.compare_datasets(*alike) == expected


def test_timings_of_failed_runs_are_not_compared() -> None:
    """A run of B that failed, though it has timings, counts as in the report on B."""
    first, second = again(make_sweep([0.1], noise=0.2), [[0.0, 0.0]], noise=0.01)
    second = second.copy(deep=True)
    second["run_status"][0, 0, 3] = abtune.RunStatus.FAILED
    second["latency"][0, 0, 3] *= 5
    change = abtune.compare_datasets(first, second)
    assert (change.same_winners, change.shapes[0].seeds) == (True, (9, 10, 9, 10))
    assert change.caveats[0] == "A has 1 winner that B does not time. These are left out."
    other_way = abtune.compare_datasets(second, first)
    assert other_way.caveats[-1] == "1 failed run of the common shapes left out."


def test_each_dataset_may_have_some_winners_of_its_own() -> None:
    """Few are left out and counted. If most differ, or a timing is taken over, the searches are compared."""
    first, second = again(make_sweep([0.1], noise=0.2), [[0.0, 0.0]], noise=0.01)
    other, copied = second.copy(deep=True), second.copy(deep=True)
    other["winner"][0, 1, 3] = "another trace"
    change = abtune.compare_datasets(first, other)
    assert (change.same_winners, change.shapes[0].seeds) == (True, (10, 9, 10, 9))
    assert change.caveats == tuple(
        f"{one} has 1 winner that {two} does not time. These are left out." for one, two in ("AB", "BA")
    )
    # The baseline's winners are the same, and the candidate was searched anew: no pair is whole.
    other["winner"][0, 1] = [f"another trace {seed}" for seed in range(10)]
    copied["latency"][0, 1, 3] = first["latency"][0, 1, 3]
    for changed in (other, copied):
        change = abtune.compare_datasets(first, changed)
        assert (change.same_winners, math.isnan(change.shapes[0].low)) == (False, False)
        assert "have the timings or the winner of a run of A" in change.caveats[0]


def test_a_shape_that_was_searched_again_has_no_common_winners() -> None:
    """Most shapes have the same winners, so they alone get an interval; the report says what others lack."""
    first, second = again(make_sweep([0.1, 0.2, 0.3], noise=0.2), [[0.0, 0.0]] * 3, noise=0.01)
    second = second.copy(deep=True)
    second["winner"][2] = "another trace"
    change = abtune.compare_datasets(first, second)
    assert [math.isnan(row.low) for row in change.shapes] == [False, False, True]
    lacks = "1 common shape without two common winners of each configuration: no interval, no test."
    assert lacks in change.caveats


def test_winners_of_two_merged_sweeps_are_compared_with_themselves() -> None:
    """Of three sweeps that abtune measure merged, the third got other seed numbers; none of it was paired."""
    sweep, later = (abtune.open_dataset(DATA / f"h100-deep-{name}.nc") for name in ("more", "winners"))
    change = abtune.compare_datasets(sweep, later)
    assert change.same_winners
    assert {row.seeds for row in change.shapes} == {(2, 2, 2, 2)}
    assert change.caveats[0] == "B has 240 winners that A does not time. These are left out."


def test_the_winners_of_h200_are_as_good_on_h100() -> None:
    """Of 580 kernels on another card most boosts are unchanged; the searches alone cannot tell."""
    sweep, later = (abtune.open_dataset(name) for name in ("h200-tvm14009", "h100-tvm14009-winners"))
    paired = abtune.compare_datasets(sweep, later)
    apart = abtune.compare_datasets(sweep.drop_vars("winner"), later.drop_vars("winner"))
    for change, unchanged in ((paired, 24), (apart, 0)):
        assert sum(row.verdict is ChangeVerdict.UNCHANGED for row in change.shapes) == unchanged
        assert sum(row.verdict is ChangeVerdict.CHANGED for row in change.shapes) == 0


def test_shapes_without_seeds_have_no_interval() -> None:
    """A shape with one seed in a sample keeps its change, but has neither interval nor verdict."""
    first, second = make_sweep([0.1, 0.1], seed=1), make_sweep([0.1, 0.1], seed=2)
    second["latency"][0, 1, 1:] = np.nan
    second["run_status"][0, 1, 1:] = abtune.RunStatus.MISSING
    change = abtune.compare_datasets(first, second)
    assert math.isfinite(change.shapes[0].change)
    assert math.isnan(change.shapes[0].low)
    assert math.isnan(change.shapes[0].p_adjusted)
    assert change.shapes[0].verdict is ChangeVerdict.NOT_SETTLED
    assert change.overall.shapes == 1
    assert "1 common shape without two seeds in every sample" in change.caveats[0]


def test_constant_samples_claim_no_more_than_their_number_shows() -> None:
    """Without any scatter p is that of one split of the seeds, not zero."""
    first, second = make_sweep([0.1], n=3, noise=0.0), make_sweep([0.5], n=3, noise=0.0)
    (row,) = abtune.compare_datasets(first, second).shapes
    assert row.p == pytest.approx(2 / 20)
    assert row.verdict is ChangeVerdict.NOT_SETTLED


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"level": 95}, "level is a fraction"),
        ({"tolerance": 0}, "tolerance is a fraction"),
        ({"config": "asink"}, "first dataset: unknown configuration 'asink'; did you mean: async"),
        ({"candidate": "mainline", "baseline": "mainline"}, "name two configurations"),
        ({"config": "async", "baseline": "mainline"}, "instead of --baseline and --candidate"),
    ],
)
def test_bad_arguments_are_refused(options: dict[str, object], said: str) -> None:
    """What cannot be compared is one line."""
    pair = make_sweep([0.1], seed=1), make_sweep([0.1], seed=2)
    with pytest.raises(InputError, match=said):
        abtune.compare_datasets(*pair, **options)  # type: ignore[arg-type]


def test_datasets_that_cannot_be_compared_are_refused() -> None:
    """The same runs, no common shape, no repeated seeds, too few common configurations."""
    first, second = make_sweep([0.1], seed=1), make_sweep([0.1], seed=2)
    longer = make_sweep([0.1, 0.1], seed=3)
    renamed = second.assign_coords(config=["mainline", "other"])
    longer["latency"][0] = first["latency"][0]
    for said, other in {
        "the same timings": first.isel(seed=slice(None, None, -1)),
        "the same timings of every common shape": longer,
        "no shape in common": second.assign_coords(shape=["other"]),
        "no common shape has two seeds": second.isel(seed=[0]),
        "they share mainline; --config": renamed,
        "they share none$": second.assign_coords(config=["x", "y"]),
    }.items():
        with pytest.raises(InputError, match=said):
            abtune.compare_datasets(first, other)
    with pytest.raises(InputError, match="second dataset: unknown configuration 'async'"):
        abtune.compare_datasets(first, renamed, candidate="async")


def failing_sweep(seed: int, *, shapes: int, failing: bool) -> xr.Dataset:
    """Return shapes without a mean boost; one search in five of the candidate may be 30 % slower."""
    rng = np.random.default_rng(seed)
    log = rng.normal(0, 0.02, (shapes, 2, 10)) - 8
    if failing:
        log[:, 1] += np.log(1.3) * ((rng.random((shapes, 10)) < 1 / 5) - 1 / 5)
    labels = [f"s{number}" for number in range(shapes)]
    return abtune.make_dataset(np.exp(log), shapes=labels, configs=["mainline", "async"])


@pytest.mark.parametrize(("shapes", "most"), [(29, 2), (3, 3)])
def test_failures_in_one_dataset_make_few_false_changes(shapes: int, most: int) -> None:
    """Some shapes do not show the failure that others show: most reports of 29 shapes had a false change."""
    wrong = 0
    for seed in range(20):
        before = failing_sweep(2 * seed, shapes=shapes, failing=False)
        after = failing_sweep(2 * seed + 1, shapes=shapes, failing=True)
        change = abtune.compare_datasets(before, after)
        wrong += any(row.verdict is ChangeVerdict.CHANGED for row in change.shapes)
        if shapes == 29:
            said = "must also pass a bootstrap-t test. Intervals know only slow runs that their shape shows."
            assert any(said in caveat for caveat in change.caveats)
    assert wrong <= most


def test_failures_in_both_datasets_cancel() -> None:
    """A candidate that fails alike in both datasets asks for no further test."""
    both = [failing_sweep(seed, shapes=29, failing=True) for seed in (1, 2)]
    assert not [caveat for caveat in abtune.compare_datasets(*both).caveats if "bootstrap-t" in caveat]


def test_neighbouring_seeds_that_are_alike_are_told() -> None:
    """Nothing changes, but seeds that share batches make a change of most shapes look certain."""
    rng, labels = np.random.default_rng(1), [f"s{number}" for number in range(10)]
    batches = np.repeat(rng.normal(0, 0.1, (2, 10, 2, 2)), 5, axis=3) + rng.normal(0, 0.01, (2, 10, 2, 10))

    def found(logs: npt.NDArray[np.float64], seeds: list[int] | None = None) -> tuple[str, list[str]]:
        before, after = (
            abtune.make_dataset(np.exp(half), shapes=labels, configs=["a", "b"], seeds=seeds) for half in logs
        )
        change, steps = abtune.compare_datasets(before, after), abtune.history([before, after])
        assert ("too narrow." in str(steps)) == ("too narrow." in str(change))
        return str(change), [note.partition(" (")[0] for note in change.caveats if "alike" in note]

    sentence, notes = found(batches)
    assert "so these intervals may be too narrow." in sentence
    assert notes == [f"Runs with neighbouring seed numbers are alike in {name}" for name in "AB"]
    mixed = [0, 5, 1, 6, 2, 7, 3, 8, 4, 9]
    assert not found(batches[..., mixed])[1]
    assert found(batches[..., mixed], seeds=mixed) == (sentence, notes)


def test_few_seeds_that_may_hide_two_speeds_have_a_caveat() -> None:
    """Three seeds of a shape often all end at the same speed; five rarely do, and one shape is one test."""
    for n, shapes, told in ((3, 4, True), (5, 4, False), (3, 1, False)):
        pair = (make_sweep([0.0] * shapes, n=n, seed=seed) for seed in (1, 2))
        caveats = abtune.compare_datasets(*pair).caveats
        assert any(caveat.startswith("3 seeds do not show") for caveat in caveats) is told
    winners = again(make_sweep([0.0] * 4, n=3), [[0.0] * 2] * 4, noise=0.004)  # whose searches cancel
    change = abtune.compare_datasets(*winners)
    assert change.same_winners
    assert not any("seeds do not show" in caveat for caveat in change.caveats)


def test_constant_timings_are_not_skewed() -> None:
    """The rounding of the mean of equal timings is no noise."""
    before, after = (
        abtune.make_dataset(
            [[[1e-4] * n, [1e-4 / ratio] * n] for ratio in ratios], shapes=[*"xyz"], configs=["a", "b"]
        )
        for n, ratios in ((6, (1.0, 1.0, 1.0)), (10, (1.1, 1.1, 1.0)))
    )
    change = abtune.compare_datasets(before, after)
    assert not any("skewed" in caveat for caveat in change.caveats)
    assert [row.verdict for row in change.shapes] == [ChangeVerdict.CHANGED] * 2 + [ChangeVerdict.UNCHANGED]
