"""Sweeps that add seeds until a shape is settled: what the looks may spend, what they find and drop."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from compare_builders import make_sweep

import abtune
from abtune.compare.results import Verdict
from abtune.compare.sequential import goes_on
from abtune.errors import DatasetError
from abtune.stats.testing.looks import Look, looks_to_json, schedule
from abtune.text import bound_percent


def with_looks(dataset: xr.Dataset, *dropped: Sequence[str], done: int = 3) -> xr.Dataset:
    """Record the usual looks, so many of them done, and the labels that the first ones dropped."""
    looks = schedule(alpha=0.05, most=20)
    looks = [
        replace(look, dropped=tuple(labels)) for look, labels in zip_longest(looks, dropped, fillvalue=())
    ]
    return dataset.assign_attrs(looks=looks_to_json(looks, done=done))


def sweep_until_settled(dataset: xr.Dataset) -> xr.Dataset:
    """Record the looks with what each of them drops."""
    dropped: list[list[str]] = []
    for done in (1, 2):
        rows = abtune.analyze(with_looks(dataset, *dropped, done=done)).comparisons
        left = goes_on([row for row in rows if row.shape not in chain(*dropped)])
        dropped.append([label for label, promising in left.items() if not promising])
    return with_looks(dataset, *dropped)


@pytest.mark.parametrize(
    ("most", "paired", "expected"),
    [
        (20, False, [(5, 0.01), (10, 0.015), (20, 0.025)]),
        (40, False, [(5, 0.01), (14, 0.015), (40, 0.025)]),
        (20, True, [(6, 0.01), (11, 0.015), (20, 0.025)]),
        (6, False, [(5, 0.01), (6, 0.04)]),
        (5, False, [(5, 0.05)]),
        (2, False, [(2, 0.05)]),
    ],
)
def test_looks_spend_no_more_than_there_is(
    most: int,
    paired: bool,  # noqa: FBT001
    expected: list[tuple[int, float]],
) -> None:
    """The levels add up to the whole, and the last look has all seeds."""
    looks = schedule(alpha=0.05, most=most, paired=paired)
    assert looks == tuple(Look(seeds=seeds, alpha=pytest.approx(alpha)) for seeds, alpha in expected)
    assert sum(look.alpha for look in looks) == pytest.approx(0.05)


def test_what_a_look_settles_stays_settled() -> None:
    """A large difference is settled by ten seeds, and the reason says at which look and level."""
    dataset = with_looks(make_sweep(np.array([0.5, 0.0]), n=20, noise=0.1, seed=1))
    large, none = abtune.analyze(dataset, tolerance=0.01).comparisons
    assert large.verdict is Verdict.IMPROVED
    assert large.reason.startswith("After 10 seeds, at a level of 1.5%: Faster")
    assert (large.baseline.n, large.candidate.n) == (10, 10)
    assert none.verdict is Verdict.INCONCLUSIVE
    assert none.baseline.n == 20


def test_the_level_of_a_look_is_that_of_the_candidate() -> None:
    """Of two candidates, each has half of the level of a look, and the reason says that."""
    dataset = with_looks(make_sweep([0.5], n=20, noise=0.1, seed=1))
    (row,) = abtune.analyze(dataset, of_candidates=2).comparisons
    assert row.reason.startswith("After 10 seeds, at a level of 0.75%: ")


def test_looks_at_pairs_speak_of_pairs() -> None:
    """A design of shared searches adds pairs, and its reasons and caveats say so."""
    pairs = make_sweep(np.array([0.5, 0.0]), n=20, noise=0.1, seed=1).assign_attrs(design="shared")
    analysis = abtune.analyze(with_looks(pairs, ["shape1"]))
    assert [row.reason.split(",")[0] for row in analysis.comparisons] == ["After 10 pairs", "After 5 pairs"]
    told = [caveat for caveat in analysis.caveats if "Looks" in caveat or "promise" in caveat]
    assert told[0].startswith("Pairs were added until a shape was settled. Looks at 5, 10 and 20 pairs ")
    assert told[1].startswith("Shapes without promise got no more pairs: 1 shape after 5 ")


def test_claims_count_what_an_early_look_settled() -> None:
    """Skewed runs of a later look take away what a shape showed; its verdict stays, and so the count."""
    rng = np.random.default_rng(20)
    log = rng.normal(0, 0.03, (8, 2, 14))
    log[:, 1] -= rng.choice([0, 0.05, 0.08, -0.06], 8)[:, np.newaxis]
    log[:, 1] += np.where(rng.random((8, 14)) < 0.1, 0.3, 0.0)
    looks = [Look(seeds=7, alpha=0.02), Look(seeds=14, alpha=0.03)]
    dataset = abtune.make_dataset(
        np.exp(log - 8), shapes=[f"shape{number}" for number in range(8)], configs=["mainline", "async"]
    )
    analysis = abtune.analyze(dataset.assign_attrs(looks=looks_to_json(looks, done=2)))
    improved = sum(row.verdict is Verdict.IMPROVED for row in analysis.comparisons)
    assert improved == 2
    assert analysis.claims[0].at_least >= improved


def test_seeds_beyond_a_settling_look_change_nothing() -> None:
    """Also seeds that contradict it: the decision was made without them."""
    dataset = with_looks(make_sweep(np.array([0.5, 0.0]), n=20, noise=0.1, seed=1))
    changed = dataset.copy(deep=True)
    changed["latency"][0, 1, 10:] = changed["latency"][0, 0, 10:] * 2
    before, after = (abtune.analyze(sweep).comparisons for sweep in (dataset, changed))
    assert before == after


def test_settled_shapes_miss_no_runs() -> None:
    """Seeds that were never planned for a settled shape are no loss."""
    dataset = with_looks(make_sweep(np.array([0.5, 0.0]), n=20, noise=0.1, seed=1))
    for name, value in (("latency", np.nan), ("run_status", 2)):
        dataset[name][0, :, 10:] = value
    assert not [
        note for row in abtune.analyze(dataset).comparisons for note in row.caveats if "missing" in note
    ]


def test_only_looks_that_are_done_count() -> None:
    """A sweep that is stopped between looks is judged by the last one that was whole."""
    dataset = make_sweep(np.array([0.0, 0.0]), n=10, noise=0.1, seed=2)
    for done, seeds in ((0, 5), (1, 5), (2, 10)):
        rows = abtune.analyze(with_looks(dataset, done=done)).comparisons
        assert {row.baseline.n for row in rows} == {seeds}


def test_the_order_of_seeds_in_the_dataset_does_not_matter() -> None:
    """The first seeds are those with the smallest numbers, also after a script has sorted them otherwise."""
    dataset = with_looks(make_sweep([0.07, 0.07, 0.0], n=20, noise=0.05))
    backwards = dataset.isel(seed=slice(None, None, -1))
    assert abtune.analyze(backwards) == abtune.analyze(dataset)


def test_seeds_that_the_looks_had_are_not_left_out() -> None:
    """Seven seeds were judged as if they were all twenty, and their reasons said so."""
    dataset = with_looks(make_sweep([0.07, 0.0], n=20))
    some = dataset.isel(seed=slice(0, 7))
    with pytest.raises(DatasetError, match=r"'looks' is of 20 seeds, and the dataset has 7; .* del dataset"):
        abtune.analyze(some)
    del some.attrs["looks"]
    assert abtune.analyze(some).comparisons[0].n == (7, 7)
    begun = with_looks(dataset, done=0).isel(
        seed=slice(0, 3)
    )  # a sweep that was stopped before its first look
    assert abtune.analyze(begun).comparisons[0].n == (3, 3)


def test_levels_follow_the_confidence_asked_for() -> None:
    """At 99 % each look spends a fifth of what it does at 95 %, and so may come too early."""
    dataset = with_looks(make_sweep(np.array([0.5]), n=20, noise=0.1, seed=1))
    usual, strict = (abtune.analyze(dataset, level=level).comparisons[0].reason for level in (0.95, 0.99))
    assert usual.startswith("After 5 seeds, at a level of 1%:")
    assert strict.startswith("After 10 seeds, at a level of 0.3%:")


def test_a_look_that_cannot_be_read_is_an_error() -> None:
    """What the attribute should hold is said in one line."""
    dataset = make_sweep(np.array([0.0]), n=5, seed=1)
    for text in ("no json", "[{}]", '{"seeds": 5}'):
        with pytest.raises(DatasetError, match="'looks' cannot be read"):
            abtune.analyze(dataset.assign_attrs(looks=text))


def test_a_look_that_cannot_be_read_is_an_error_with_the_name_of_its_file(tmp_path: Path) -> None:
    """Who analyzes many files has to know which one is wrong."""
    path = tmp_path / "mine.nc"
    make_sweep([0.0], n=5).assign_attrs(looks=math.nan).to_netcdf(path)
    with pytest.raises(DatasetError, match=r"mine\.nc: attribute 'looks' cannot be read"):
        abtune.analyze(abtune.open_dataset(path))


@pytest.mark.parametrize(
    ("seeds", "alpha"),
    [("0", "0.05"), ("-1", "0.05"), ("1e400", "0.05"), ("5", "0"), ("5", "2"), ("5", "NaN")],
)
def test_a_look_that_cannot_be_is_an_error(seeds: str, alpha: str) -> None:
    """A look has a seed at least, and a level above zero that is not beyond that of all looks."""
    text = f'[{{"seeds": {seeds}, "alpha": {alpha}, "done": true}}]'
    with pytest.raises(DatasetError, match="'looks' cannot be read"):
        abtune.analyze(make_sweep([0.0], n=5).assign_attrs(looks=text))


def test_a_dropped_shape_keeps_the_verdict_of_its_look() -> None:
    """It has the seeds of that look, misses no runs, and the reason says why it got no more."""
    dataset = make_sweep(np.array([0.5, 0.0]), n=20, noise=0.1, seed=1)
    label = str(dataset["shape"].values[1])
    analysis = abtune.analyze(with_looks(dataset, [label]))
    large, none = analysis.comparisons
    assert large.verdict is Verdict.IMPROVED
    assert none.verdict is Verdict.INCONCLUSIVE
    assert none.baseline.n == 5
    assert none.reason.startswith("After 5 seeds, at a level of 1%: Not promising (p 0.")
    bound = bound_percent(none.boost_at_least)
    assert none.reason.endswith(f"The boost is at least {bound}, as in every shape.")
    assert not [note for note in none.caveats if "missing" in note]
    told = [note for note in analysis.caveats if "without promise" in note]
    assert len(told) == 1
    assert "1 shape after 5 (--why names them)" in told[0]
    assert "about 1% too large" in told[0]
    assert not [note for note in abtune.analyze(with_looks(dataset)).caveats if "without promise" in note]


def test_the_overall_boost_rests_on_seeds_that_all_shapes_have() -> None:
    """Seeds that only some shapes got, because of their results, move neither it nor the sentence."""
    dataset = make_sweep(np.array([0.5, 0.0]), n=20, noise=0.1, seed=1)
    label = str(dataset["shape"].values[1])
    analysis = abtune.analyze(with_looks(dataset, [label]))
    first = abtune.analyze(dataset.isel(seed=slice(5)))
    assert analysis.overall.these_shapes == first.overall.these_shapes
    assert f"{100 * first.overall.these_shapes.boost:+.1f}%" in analysis.sentence
    assert "1 is shown faster" in analysis.sentence
    assert "The overall boosts rest on the first 5 seeds of every shape" in " ".join(analysis.caveats)
    even = abtune.analyze(with_looks(make_sweep(np.zeros(2), n=20, noise=0.1, seed=1)))
    assert even.overall == abtune.analyze(make_sweep(np.zeros(2), n=20, noise=0.1, seed=1)).overall
    assert "rest on the first" not in " ".join(even.caveats)


def test_p_of_a_dropped_shape_counts_as_one() -> None:
    """Its own p would make that of a shape that goes on smaller, though nobody could claim it."""
    dataset = make_sweep(np.array([0.05, 1.0]), n=20, noise=0.1, seed=1)
    label = str(dataset["shape"].values[1])
    row, dropped = abtune.analyze(with_looks(dataset, [label], done=2)).comparisons
    assert row.baseline.n == 10
    assert dropped.p < row.p < 0.5
    assert row.p_adjusted == pytest.approx(2 * row.p)
    assert row.p_welch_adjusted == pytest.approx(2 * row.p_welch)
    assert row.p_equivalence_adjusted == pytest.approx(min(2 * row.p_equivalence, 1))


def test_a_subset_knows_which_of_its_shapes_were_dropped() -> None:
    """Of the labels that were dropped those count that the subset has."""
    dataset = make_sweep(np.array([0.02, 0.0, 0.0]), n=20, noise=0.1, seed=1)
    labels = [str(label) for label in dataset["shape"].values]
    looked = with_looks(dataset, labels[1:])
    seeds = [row.baseline.n for row in abtune.analyze(looked, shapes=[labels[0], labels[2]]).comparisons]
    assert seeds == [20, 5]


def test_shapes_with_a_small_p_go_on_and_the_best_always() -> None:
    """What is settled needs nothing; the others go on up to p = 1/3, and one goes on in any case."""
    dataset = make_sweep(np.array([3.0, 0.1, 0.05, 0.0, 0.0]), n=10, noise=0.1, seed=4)
    rows = abtune.analyze(dataset).comparisons
    assert rows[0].verdict is Verdict.IMPROVED
    assert goes_on(rows) == {row.shape: row.p_welch <= 1 / 3 for row in rows[1:]}
    assert set(goes_on(rows).values()) == {True, False}
    hopeless = [row for row in rows if row.p_welch > 1 / 3]
    best = min(hopeless, key=lambda row: row.p_welch)
    assert goes_on(hopeless) == {row.shape: row is best for row in hopeless}
    assert goes_on(rows[:1]) == {}


def test_looks_of_earlier_files_dropped_nothing() -> None:
    """Files of earlier versions have looks without dropped shapes."""
    dataset = make_sweep(np.array([0.1, 0.0]), n=20, noise=0.1, seed=1)
    entries = [{"seeds": seeds, "alpha": 0.02, "done": True} for seeds in (6, 20)]
    rows = abtune.analyze(dataset.assign_attrs(looks=json.dumps(entries))).comparisons
    assert [row.baseline.n for row in rows] == [20, 20]


@pytest.mark.slow
def test_looking_three_times_keeps_the_family_wise_rate() -> None:
    """Any false difference over 29 shapes and three looks is rarer than one sweep in twenty."""
    analyses, wrong = 36, 0
    for seed in range(analyses):
        dataset = sweep_until_settled(make_sweep(np.zeros(29), n=20, noise=0.03, seed=seed))
        verdicts = {row.verdict for row in abtune.analyze(dataset).comparisons}
        wrong += bool(verdicts & {Verdict.IMPROVED, Verdict.REGRESSED})
    assert wrong / analyses <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / analyses)
