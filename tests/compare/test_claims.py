"""Claims over shapes, the worst shape, the verdict not slower, and the sentence."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from compare_builders import make_sweep
from scipy import stats

import abtune
from abtune.compare.results import Analysis, Verdict
from abtune.compare.sentence import make_sentence
from abtune.dataset.schema import RunStatus
from abtune.errors import InputError
from abtune.report.summary import analysis_section
from abtune.stats.across_shapes import at_least
from abtune.text import bound_percent, limit_cell, limits, percent_cell


def claimed(analysis: Analysis, name: str, beyond: float = 0.0) -> int:
    (claim,) = (
        claim
        for claim in analysis.claims
        if (claim.claim, claim.beyond, claim.workload) == (name, beyond, None)
    )
    return claim.at_least


def test_the_bound_is_that_of_fishers_combinations() -> None:
    """Independent tests: the number of shapes minus the largest set that Fisher's test does not reject."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        p = rng.uniform(size=7) ** rng.integers(1, 8)
        largest = np.sort(p)[::-1]
        kept = [k for k in range(1, 8) if stats.combine_pvalues(largest[:k]).pvalue > 0.05]
        assert at_least(p, correlation=0.0, alpha=0.05) == 7 - max(kept, default=0)


def test_correlated_tests_claim_less() -> None:
    """What the runs of a seed share is not counted twice."""
    p = np.full(20, 0.2)
    assert at_least(p, correlation=0.0, alpha=0.05) > at_least(p, correlation=0.5, alpha=0.05)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 1.0])
def test_a_p_at_the_level_is_no_more_than_the_level(correlation: float) -> None:
    """Three seeds against three, without noise, have a p of 0.05."""
    assert at_least(np.full(5, 0.05), correlation=correlation, alpha=0.05) == 5
    dataset = abtune.make_dataset([[[2.0] * 3, [1.0] * 3]] * 2, shapes=["s", "t"], configs=["a", "b"])
    assert "Both are faster (none by their own verdicts)" in abtune.analyze(dataset).sentence


def test_an_unknown_shape_counts_against_the_claim() -> None:
    assert at_least(np.array([1e-9, np.nan]), correlation=0.0, alpha=0.05) == 1
    assert at_least(np.array([np.nan, np.nan]), correlation=0.0, alpha=0.05) == 0


def test_many_small_boosts_are_counted_together() -> None:
    """No shape passes by itself, and most are faster all the same."""
    analysis = abtune.analyze(make_sweep(np.full(29, 0.06), n=10, noise=0.06, seed=3))
    assert sum(row.verdict is Verdict.IMPROVED for row in analysis.comparisons) < 8
    assert claimed(analysis, "faster") > 15
    assert claimed(analysis, "slower") == 0
    kept = claimed(analysis, "not slower", 0.05)
    assert claimed(analysis, "faster") < kept < 29
    named = sum(row.verdict is Verdict.IMPROVED for row in analysis.comparisons)
    faster = f"At least {claimed(analysis, 'faster')} are faster ({named} identified)"
    counts = f"{faster}, at least {kept} lose no more than 5%"
    assert counts in analysis.sentence


@pytest.mark.parametrize("design", ["independent", "shared"])
def test_shapes_that_share_their_noise_count_once_where_others_share_none(design: str) -> None:
    """Ten shapes have the same runs, and so one p above 0.05. None of them is shown to be faster."""
    rng = np.random.default_rng(4)
    logs = rng.normal(0, 0.05, (29, 2, 10))
    shared = rng.normal(0, 0.05, (2, 10))
    shared -= shared.mean(axis=1, keepdims=True) + np.array([[0.0], [0.03]])
    logs[:10], logs[10:, 1] = shared, logs[10:, 1] - 0.5
    labels = [f"s{index}" for index in range(29)]
    dataset = abtune.make_dataset(np.exp(logs - 8), shapes=labels, configs=["a", "b"], design=design)
    analysis = abtune.analyze(dataset)
    assert 0.05 < analysis.comparisons[0].p / 2 < 0.12
    assert claimed(analysis, "faster") == 19


def test_where_all_are_faster_none_is_without_a_name() -> None:
    """Seeds too few for the correction give no verdict, though each shape is known to be faster."""
    analysis = abtune.analyze(make_sweep(np.full(12, 0.3), n=4, noise=0.02, seed=3))
    assert {row.verdict for row in analysis.comparisons} == {Verdict.NOT_SLOWER}
    assert "All 12 are faster (none by their own verdicts)" in analysis.sentence


def test_where_every_shape_is_shown_faster_all_are() -> None:
    """A bare number would leave open whether others are not."""
    assert "All 3 are shown faster, all 3 lose" in abtune.analyze(make_sweep([0.3] * 3, n=10)).sentence


def test_claims_mirror_when_the_sides_are_swapped() -> None:
    dataset = make_sweep([0.2, 0.1, 0.0, -0.1], n=8, noise=0.03)
    there = abtune.analyze(dataset)
    back = abtune.analyze(dataset, baseline="async", candidate="mainline")
    assert claimed(there, "faster") == claimed(back, "slower") > 0
    assert claimed(there, "slower") == claimed(back, "faster") > 0


def test_claims_never_say_less_than_the_verdicts() -> None:
    """Single shapes that are shown count, whatever the others do."""
    analysis = abtune.analyze(make_sweep([0.5, -0.5, *np.zeros(8)], n=8, noise=0.03, seed=2))
    verdicts = [row.verdict for row in analysis.comparisons]
    assert claimed(analysis, "faster") >= verdicts.count(Verdict.IMPROVED) == 1
    assert claimed(analysis, "slower") >= verdicts.count(Verdict.REGRESSED) == 1


@pytest.mark.parametrize("design", ["independent", "shared"])
def test_shapes_with_a_better_verdict_count_as_not_slower(design: str) -> None:
    """One slow seed widens the bounds of all shapes, also of those that are faster or equivalent."""
    dataset = make_sweep([0.0, 0.2, *[0.0] * 6], n=8, noise=0.01, seed=9, design=design)
    dataset["latency"][0, 1, 0] *= np.e
    analysis = abtune.analyze(dataset, margin=0.05)
    verdicts = [row.verdict for row in analysis.comparisons]
    assert verdicts == [Verdict.INCONCLUSIVE, Verdict.IMPROVED, *[Verdict.EQUIVALENT] * 6]
    assert sum(row.boost_at_least >= -0.05 for row in analysis.comparisons) < 7
    assert claimed(analysis, "not slower", 0.05) == 7
    assert claimed(analysis, "not slower", 0.02) >= claimed(analysis, "faster") == 1


def test_kinds_of_workload_have_their_own_claims() -> None:
    dataset = make_sweep([0.3, 0.3, 0.0, 0.0], n=8, noise=0.03)
    dataset["workload"][:] = ["conv", "conv", "gemm", "gemm"]
    counts = {
        claim.workload: (claim.at_least, claim.of)
        for claim in abtune.analyze(dataset).claims
        if claim.claim == "faster"
    }
    assert counts == {None: (2, 4), "conv": (2, 2), "gemm": (0, 2)}


def test_a_kind_of_one_shape_has_no_claims() -> None:
    """They would name a shape as faster whose own verdict does not."""
    dataset = make_sweep([0.3, 0.3, 0.0], n=8, noise=0.03)
    dataset["workload"][:] = ["conv", "gemm", "gemm"]
    assert {claim.workload for claim in abtune.analyze(dataset).claims} == {None, "gemm"}


def test_the_worst_shape_has_the_lowest_bound() -> None:
    """It is a one-sided interval of one shape, and no claim is made where a shape has no verdict."""
    dataset = make_sweep([0.1, -0.05, 0.1], n=8, noise=0.02)
    analysis = abtune.analyze(dataset)
    assert analysis.worst is not None
    assert analysis.worst.shape == analysis.comparisons[1].shape
    row = analysis.comparisons[1]
    assert row.boost_low < analysis.worst.boost_low < row.boost
    dataset["latency"][0, 1, 1:] = np.nan
    assert abtune.analyze(dataset).worst is None


def test_not_slower_follows_the_tolerance() -> None:
    """The verdict turns where the tolerance passes the bound; a difference comes first."""
    dataset = make_sweep([0.0, 0.3, -0.3], n=8, noise=0.05, seed=2)
    bound = -abtune.analyze(dataset).comparisons[0].boost_at_least
    assert 0 < bound < 0.2
    for tolerance, verdict in ((1.01 * bound, Verdict.NOT_SLOWER), (0.99 * bound, Verdict.INCONCLUSIVE)):
        rows = abtune.analyze(dataset, tolerance=tolerance).comparisons
        assert [row.verdict for row in rows] == [verdict, Verdict.IMPROVED, Verdict.REGRESSED]


def test_a_bound_of_no_speed_at_all_is_no_reason() -> None:
    """Every shape loses at most 100 %, so a reason and a summary leave such a bound out."""
    dataset = make_sweep([0.1, 0.1, 0.1], n=6, noise=0.02, seed=2)
    dataset["latency"][0, 1, 0] *= 50
    analysis = abtune.analyze(dataset)
    assert analysis.worst is not None
    assert bound_percent(analysis.worst.boost_low) == "-100.0%"
    assert analysis.comparisons[0].reason == "Too noisy to tell."
    assert not any("slower by more than" in str(paragraph) for paragraph in analysis_section(analysis).page)


def test_shapes_that_all_pass_by_themselves_are_not_slower() -> None:
    """Where no shape loses more than the tolerance, each has the verdict; some corrected bounds miss it."""
    dataset = make_sweep([0.0] * 6, n=8, noise=0.05, seed=2)
    analysis = abtune.analyze(dataset, tolerance=0.07)
    assert analysis.worst is not None
    assert analysis.worst.boost_low == pytest.approx(-0.0688, abs=1e-4)
    assert {row.verdict for row in analysis.comparisons} == {Verdict.NOT_SLOWER}
    assert claimed(analysis, "not slower", 0.07) == 6
    bound = bound_percent(analysis.worst.boost_low)
    stricter = abtune.analyze(dataset, tolerance=0.067).comparisons
    missed = {row.shape for row in stricter if row.verdict is Verdict.INCONCLUSIVE}
    assert missed
    # The column agrees with the sentence about all shapes, whatever the tolerance.
    assert all(row.boost_at_least >= analysis.worst.boost_low for row in (*analysis.comparisons, *stricter))
    for row in analysis.comparisons:
        if row.shape not in missed:
            continue
        assert row.boost_at_least == analysis.worst.boost_low
        assert row.reason.startswith(f"The boost is at least {bound}, as in every shape. Whether it is ")
        assert row.gates[-1].found == f"every shape at least {bound}"
    dataset["run_status"][0, 0, 1:] = RunStatus.FAILED  # so that no bound holds for every shape
    verdicts = {row.shape: row.verdict for row in abtune.analyze(dataset, tolerance=0.07).comparisons}
    assert {verdicts[shape] for shape in missed} <= {Verdict.INVALID, Verdict.INCONCLUSIVE}


@pytest.mark.slow
@pytest.mark.parametrize("slower", [1, 6])
def test_a_shape_that_is_slower_is_rarely_called_not_slower(slower: int) -> None:
    """One report of twenty at most calls any shape *not slower* that loses more than the tolerance."""
    reports, boosts = 100, np.repeat([-0.0501, 0.1], [slower, 6 - slower])
    wrong = sum(
        any(row.verdict is Verdict.NOT_SLOWER for row in abtune.analyze(dataset).comparisons[:slower])
        for dataset in (make_sweep(boosts, n=8, noise=0.05, seed=seed) for seed in range(reports))
    )
    assert wrong / reports <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / reports)


@pytest.mark.parametrize("tolerance", [0.0, -1.0, 1.0, math.nan, "5", True])
def test_a_tolerance_is_a_fraction(tolerance: object) -> None:
    with pytest.raises(InputError, match="tolerance is a fraction"):
        abtune.analyze(make_sweep([0.0], n=4), tolerance=tolerance)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("boosts", "options", "start", "end"),
    [
        ([0.5], {"n": 8, "noise": 0.02}, "async is faster than mainline on shape0: ", ")."),
        ([-0.5], {"n": 8, "noise": 0.02}, "async is slower than mainline on shape0: ", ")."),
        (
            [0.0],
            {"n": 8, "noise": 0.002, "seed": 2},
            "async is as fast as mainline on shape0, within 2%: ",
            ").",
        ),
        (
            [0.0],
            {"n": 8, "noise": 0.03, "seed": 2},
            "async and mainline are not shown to differ on shape0, and async loses at most 5%: ",
            ").",
        ),
        (
            [0.0],
            {"n": 8, "noise": 0.3, "seed": 2},
            "async and mainline are not shown to differ on shape0: ",
            ").",
        ),
        (
            [0.3],
            {"n": 2, "noise": 0.01},
            "async and mainline are not shown to differ on shape0, and async loses at most 5%: ",
            "). No difference can pass the test with 2+2 seeds. It takes 4 per configuration.",
        ),
        (
            [0.1, 0.2],
            {"n": 1},
            "There is no verdict on any of 2 shapes, because one run",
            "supports no verdict.",
        ),
        (
            [0.1, 0.2, 0.3],
            {"n": 1},
            "Boost of async expected for other shapes, with 95% interval: +19.6% (",
            " on any of 3 shapes, because one run per configuration supports no verdict.",
        ),
        (
            [0.0, 0.0],
            {"n": 8, "noise": 0.002, "seed": 2},
            "async is as fast as mainline on average over these 2 shapes, within 2%: ",
            "None is shown faster, both lose no more than 5%, none is shown slower.",
        ),
        (
            [0.5, -1 / 3],
            {"n": 8, "noise": 0.02, "seed": 2},
            "async and mainline are not shown to differ on average over these 2 shapes: ",
            "1 is shown faster, at least 1 loses no more than 5%, 1 is shown slower.",
        ),
    ],
)
def test_the_sentence(boosts: list[float], options: dict[str, float], start: str, end: str) -> None:
    """It says what the verdicts, the interval and the claims say, for every kind of data."""
    sentence = abtune.analyze(make_sweep(boosts, **options)).sentence  # type: ignore[arg-type]
    assert sentence.startswith(start)
    assert sentence.endswith(end)


def test_a_lone_shape_is_as_fast_though_its_interval_goes_beyond_the_margin() -> None:
    """Equivalence is two one-sided tests; the sentence says that the two-sided interval reaches further."""
    dataset = make_sweep([-0.007], n=5, noise=0.011, seed=1)
    row = abtune.analyze(dataset).comparisons[0]
    assert row.verdict is Verdict.EQUIVALENT
    assert row.boost_low < -0.02
    assert abtune.analyze(dataset).sentence.endswith(" The two-sided interval reaches further.")
    assert row.p_equivalence == pytest.approx(0.025, abs=5e-4)
    wide = abtune.analyze(dataset, margin=0.1).sentence
    assert "within 10%" in wide
    assert "has p" not in wide


def test_a_kind_counts_no_more_shapes_than_all_do() -> None:
    """What three shapes of a kind show is shown of all shapes, too, so the lower count holds."""
    for seed in range(20):
        dataset = make_sweep([0.04] * 4 + [0.0] * 6, n=6, noise=0.04, seed=seed)
        dataset["workload"][:] = ["conv"] * 4 + ["gemm"] * 6
        claims = abtune.analyze(dataset).claims
        whole = {(claim.claim, claim.beyond): claim.at_least for claim in claims if claim.workload is None}
        for claim in claims:
            assert claim.at_least <= whole[claim.claim, claim.beyond]


def test_a_reason_that_not_all_shapes_share_names_its_shape() -> None:
    """One configuration was timed on one shape, and the other on another."""
    dataset = make_sweep([0.1, 0.1])
    dataset["latency"][0, 1] = dataset["latency"][1, 0] = np.nan
    said = "There is no verdict on any of 2 shapes. shape0: There is no timing of async: 10 complete runs"
    assert abtune.analyze(dataset).sentence.startswith(said)


def test_what_is_left_out_is_said() -> None:
    """A subset of the shapes, and a configuration beyond the two that are compared."""
    dataset = make_sweep([0.1, 0.0, 0.0], n=5)
    notes = abtune.analyze(dataset, shapes=["shape0"]).caveats
    assert any("over 1 of the dataset's 3 shapes" in note for note in notes)
    assert not any("of the dataset's" in note for note in abtune.analyze(dataset).caveats)
    third = dataset.isel(config=[0]).assign_coords(config=["ours (fp16)"])
    both = xr.concat([dataset, third], dim="config", data_vars="minimal")
    assert "The dataset also has ours (fp16). --candidate 'ours (fp16)' compares it with mainline." in (
        abtune.analyze(both).caveats
    )
    dataset["run_status"][0, 0, 1:3] = RunStatus.MISSING
    says = "2 runs of mainline have times and the run_status of a missing run, so no number here counts them."
    assert says in abtune.analyze(dataset).caveats


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.05, (0.08, 0.02)])
def test_false_claims_are_rare(noise: float | tuple[float, float]) -> None:
    """Where nothing differs, each kind of claim is made in about one report of twenty at most."""
    reports, wrong = 70, np.zeros(4)
    for seed in range(reports):
        analysis = abtune.analyze(make_sweep(np.zeros(10), n=8, noise=noise, seed=seed))
        slower = math.log(1 / 0.95)
        at_limit = abtune.analyze(
            make_sweep(np.full(10, -1 + math.exp(-slower)), n=8, noise=noise, seed=seed)
        )
        assert analysis.worst is not None
        wrong += [
            claimed(analysis, "faster") > 0,
            claimed(analysis, "slower") > 0,
            claimed(at_limit, "not slower", 0.05) > 0,
            analysis.worst.boost_low > 0,
        ]
    assert (wrong / reports <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / reports)).all()


def test_an_analysis_shows_itself() -> None:
    """The sentence, the report in each format, a table and figures, without the command line."""
    dataset = make_sweep([0.1, 0.0], n=5)
    analysis = abtune.analyze(dataset)
    assert str(analysis) == analysis.sentence
    assert repr(analysis) == f"<Analysis of 2 shapes, async against mainline: {analysis.sentence}>"
    row = analysis.comparisons[1]
    numbers = f"{percent_cell(row.boost, 1)}% ({limits(row.boost_low, row.boost_high, 1)})"
    assert repr(row) == f"<Comparison of shape1: {row.verdict.words}, {numbers}>"
    assert analysis.report("sentence").strip() == analysis.sentence
    assert analysis.sentence.split(":")[0] in analysis.report("markdown")
    assert "<iframe" in analysis._repr_html_()
    table = analysis.to_dataframe()
    assert table["boost"].tolist() == [row.boost for row in analysis.comparisons]
    assert table["p_resampled"].dtype == float  # NaN, because the test was not made
    assert analysis.plot().axes
    with pytest.raises(InputError, match="no format 'docx'"):
        analysis.report("docx")
    with pytest.raises(InputError, match=r"no format \['json'\]"):
        analysis.report(["json"])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no figure 'pie'"):
        analysis.plot("pie")


@pytest.mark.parametrize(
    ("baseline", "candidate", "said"),
    [
        (False, True, "overstate how many shapes are faster or not slower"),
        (True, False, "overstate how many shapes are slower"),
        (True, True, ""),
        (False, False, ""),
    ],
)
def test_a_skewed_side_is_said(baseline: bool, candidate: bool, said: str) -> None:  # noqa: FBT001
    """The count of shapes breaks its promise where one side alone is skewed."""
    rng = np.random.default_rng(4)
    sides = [
        0.1 * (rng.standard_exponential if skewed else rng.standard_normal)((29, 10))
        for skewed in (baseline, candidate)
    ]
    seconds = np.exp(np.stack(sides, axis=1) - 8)[..., np.newaxis, np.newaxis]
    dataset = abtune.make_dataset(
        seconds, shapes=[f"s{number}" for number in range(29)], configs=["old", "new"]
    )
    notes = [note for note in abtune.analyze(dataset).caveats if "skewed" in note]
    assert len(notes) == bool(said)
    assert all(said in note for note in notes)


def test_an_analysis_as_a_dataset_survives_a_file(tmp_path: Path) -> None:
    """Every column of CSV is a variable over the shapes, and comes back from netCDF as it was."""
    dataset = abtune.open_dataset("h200-pilot")
    for options in ({}, {"estimand": "best-of:2"}):
        analysis = abtune.analyze(dataset, **options)
        made = analysis.to_xarray()
        made.to_netcdf(tmp_path / "a.nc")
        with xr.open_dataset(tmp_path / "a.nc") as kept:
            xr.testing.assert_identical(kept.load(), made)
        assert made["verdict"].values.tolist() == [row.verdict.value for row in analysis.comparisons]
        assert made["boost"].values.tolist() == [row.boost for row in analysis.comparisons]
        p = [np.nan if row.p_resampled is None else row.p_resampled for row in analysis.comparisons]
        np.testing.assert_array_equal(made["p_resampled"].values, p)
        assert {made[name].dtype.kind for name in made if str(name).startswith("p")} == {"f"}
        assert (made.attrs["candidate"], made.attrs["margin"]) == ("async", 0.02)
        assert made["latency_baseline"].attrs["units"] == "s"


def test_four_pairs_of_which_no_shape_is_slower_count_all() -> None:
    """The bound of the worst shape is above zero, so no count may say that none is faster."""
    for baseline, name in (("mainline", "faster"), ("async", "slower")):
        analysis = abtune.analyze(make_sweep([0.2, 0.3], n=4, noise=0.01, design="shared"), baseline=baseline)
        assert claimed(analysis, name) == 2
        assert analysis.worst is not None
        assert (analysis.worst.boost_low > 0) is (name == "faster")


@pytest.mark.parametrize(("pairs", "counted"), [(4, False), (5, True)])
def test_few_pairs_are_not_counted_together(pairs: int, *, counted: bool) -> None:
    """Of four pairs nobody can tell what the shapes of a seed share, so only verdicts count."""
    rng = np.random.default_rng(5)
    latency = np.exp(rng.normal(0, 0.05, (29, 2, pairs, 1, 1)) - 0.1 * np.eye(2)[1][:, None, None, None])
    dataset = abtune.make_dataset(
        latency, shapes=[f"s{i}" for i in range(29)], configs=["a", "b"], design="shared"
    )
    analysis = abtune.analyze(dataset)
    assert (claimed(analysis, "faster") > 10) is counted
    assert any("At-least counts need 5 pairs" in caveat for caveat in analysis.caveats) is not counted


def test_the_sentence_names_a_shape_without_verdict() -> None:
    """A candidate that fails to run a shape at all is not hidden behind the other shapes."""
    dataset = make_sweep([0.2, 0.2, 0.2], n=8, noise=0.03)
    status, latency = dataset["run_status"].copy(), dataset["latency"].copy()
    status[1, 1], latency[1, 1] = abtune.RunStatus.FAILED, math.nan
    analysis = abtune.analyze(dataset.assign(run_status=status, latency=latency))
    lost = dataset["shape"].values[1]
    assert analysis.sentence.endswith(
        f"There is no verdict on {lost}, because there is no timing of async: 8 runs failed."
    )
    status[2, 1], latency[2, 1] = abtune.RunStatus.FAILED, math.nan
    analysis = abtune.analyze(dataset.assign(run_status=status, latency=latency))
    why = "There is no verdict on 2 of 3 shapes, because there is no timing of async: 8 runs failed."
    row = analysis.comparisons[0]
    bounds = f"{limit_cell(row.boost_low, 1)} to {limit_cell(row.boost_high, 1)}"
    numbers = f"{percent_cell(row.boost, 1)}% (95% interval {bounds})"
    assert analysis.sentence == f"async is faster than mainline on {row.shape}: {numbers}. {why}"


@pytest.mark.parametrize("estimand", ["geometric-mean", "best-of:2"])
def test_the_sentence_of_a_lone_shape_has_the_numbers_of_its_row(estimand: str) -> None:
    """Two boosts or two intervals of one shape would contradict each other."""
    dataset = make_sweep([0.3], n=10, noise=0.05)
    outlier = dataset["latency"].where(dataset["seed"] != 3, 3 * dataset["latency"])
    analysis = abtune.analyze(dataset.assign(latency=outlier), estimand=estimand)
    (row,) = analysis.comparisons
    bounds = f"{limit_cell(row.boost_low, 1)} to {limit_cell(row.boost_high, 1)}"
    assert f": {percent_cell(row.boost, 1)}% (95% interval {bounds}" in analysis.sentence


def test_a_lone_shape_not_slower_names_the_bound_that_shows_it() -> None:
    """The verdict rests on a one-sided bound; an interval beyond the tolerance would contradict the words."""
    analysis = abtune.analyze(make_sweep([-0.02], n=12, noise=0.04, seed=4))
    (row,) = analysis.comparisons
    assert row.verdict is Verdict.NOT_SLOWER
    assert row.boost_low < -0.05 < row.boost_at_least
    assert "on shape0, and async loses at most 5%: " in analysis.sentence
    bound = f" The verdict rests on the one-sided bound of {bound_percent(row.boost_at_least)}. "
    assert bound in analysis.sentence


@pytest.mark.parametrize("seeds", [2, 3, 4, 5])
@pytest.mark.parametrize(("design", "unit"), [("independent", "seeds"), ("shared", "pairs")])
def test_claims_of_few_seeds_have_a_caveat(seeds: int, design: str, unit: str) -> None:
    """Of noise with two modes, two to four seeds often show but one, and most claims are wrong."""
    sweep = make_sweep(np.zeros(29), n=seeds, noise=0.06).assign_attrs(design=design)
    said = f"{seeds} {unit} are too few to show two modes, or correlated neighbours."
    assert any(note.startswith(said) for note in abtune.analyze(sweep).caveats) is (seeds < 5)


@pytest.mark.parametrize(
    ("shapes", "seeds", "said"),
    [(3, 5, "18%"), (3, 6, "9.1%"), (3, 7, ""), (1, 5, ""), (29, 7, "37%"), (29, 10, "")],
)
def test_few_seeds_may_show_one_of_two_modes(shapes: int, seeds: int, said: str) -> None:
    """The more shapes, the more seeds it takes until hardly any shape shows one schedule only."""
    caveats = abtune.analyze(make_sweep(np.zeros(shapes), n=seeds, noise=0.06)).caveats
    told = [note for note in caveats if "end at the same speed" in note]
    assert len(told) == bool(said)
    assert all(f"the chance is {said} that all {seeds} seeds" in note for note in told)


def test_few_seeds_against_many_say_what_else_errs() -> None:
    """The coverage that is quoted is that of normal noise; equivalence and counts err, too."""
    caveats = abtune.analyze(make_sweep(np.zeros(6), n=3, m=40, noise=0.06)).caveats
    assert any("normal noise" in c and "as few as 92%" in c and "a false claim" in c for c in caveats)


@pytest.mark.parametrize("design", ["independent", "shared"])
def test_failures_far_larger_than_the_noise_are_allowed_for(design: str) -> None:
    """One run in five of the candidate is 30 % slower, which some shapes do not show; all lose 5 %.

    Values beyond the grid of the resamples' t are no bound: a third of these reports were false.
    """
    rng, labels, wrong = np.random.default_rng(3), [f"s{number}" for number in range(10)], 0
    for _ in range(10):
        logs = rng.normal(0, 0.0005, (10, 2, 12))
        logs[:, 1] += math.log(1.3) * ((rng.random((10, 12)) < 0.2) - 0.2) - math.log1p(-0.05)
        dataset = abtune.make_dataset(np.exp(logs), shapes=labels, configs=["a", "b"], design=design)
        rows = abtune.analyze(dataset, tolerance=0.05).comparisons
        wrong += any(row.boost_at_least >= -0.05 or row.verdict is Verdict.NOT_SLOWER for row in rows)
    assert wrong <= 1


@pytest.mark.parametrize("seed", [1, 31, 32, 39])
def test_a_shape_that_shows_one_of_two_modes_is_not_different(seed: int) -> None:
    """All seven seeds of a shape ended at the same schedule by chance; other shapes show both."""
    rng = np.random.default_rng(seed)
    one, two = rng.normal(0, 0.05, (29, 7)), rng.choice((-0.1, 0.1), (29, 7)) + rng.normal(0, 0.01, (29, 7))
    labels = [f"s{number}" for number in range(29)]
    seconds = np.exp(np.stack([one, two], axis=1) - 8)
    analysis = abtune.analyze(abtune.make_dataset(seconds, shapes=labels, configs=["old", "new"]))
    assert not {row.verdict for row in analysis.comparisons} & {Verdict.IMPROVED, Verdict.REGRESSED}
    assert any("The runs of new seem to end at one of two speeds" in note for note in analysis.caveats)


def test_an_overall_interval_is_compared_with_the_margin_as_that_of_a_shape() -> None:
    """A slowdown by the same ratio counts as equally large: within 50 % begins at -33 %, not at -50 %."""
    analysis = abtune.analyze(make_sweep([0.0, 0.0]), margin=0.5)
    for low, equal in ((-0.3, True), (-0.4, False)):
        these = replace(analysis.overall.these_shapes, boost_low=low, boost_high=0.2)
        overall = replace(analysis.overall, these_shapes=these)
        said = make_sentence(overall, analysis.comparisons, analysis.claims, analysis.settings, ())
        assert ("async is as fast as mainline" in said) is equal


def test_a_ratio_beyond_the_digits_of_a_float_is_reported() -> None:
    """A boost that rounds to -100 % is no error; the caveat asks for the unit."""
    latency = np.exp(np.random.default_rng(0).normal(0, 0.02, (1, 2, 5)) + np.array([[[0], [60]]]))
    (row,) = (
        analysis := abtune.analyze(abtune.make_dataset(latency, shapes=["s"], configs=["a", "b"]))
    ).comparisons
    assert row.boost > -1.0
    assert any("have the same unit" in caveat for caveat in analysis.caveats)
