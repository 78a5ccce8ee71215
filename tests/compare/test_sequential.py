"""Sweeps that add seeds until a shape is settled: what the looks may spend, and what they find."""

import json
import math

import numpy as np
import pytest
import xarray as xr
from compare_builders import make_sweep

import abtune
from abtune.compare.results import Verdict
from abtune.errors import DatasetError
from abtune.stats.design.detect import smallest_p
from abtune.stats.design.looks import Look, schedule


def with_looks(dataset: xr.Dataset, *, done: int = 3) -> xr.Dataset:
    """Record the usual looks, so many of them done."""
    looks = schedule(alpha=0.05, most=20, shapes=dataset.sizes["shape"])
    entries = [
        {"seeds": look.seeds, "alpha": look.alpha, "done": number < done} for number, look in enumerate(looks)
    ]
    return dataset.assign_attrs(looks=json.dumps(entries))


@pytest.mark.parametrize(
    ("most", "shapes", "expected"),
    [
        (20, 1, [(5, 0.01), (10, 0.015), (20, 0.025)]),
        (40, 1, [(5, 0.01), (14, 0.015), (40, 0.025)]),
        (20, 29, [(8, 0.01), (13, 0.015), (20, 0.025)]),
        (9, 29, [(8, 0.01), (9, 0.04)]),
        (8, 29, [(8, 0.05)]),
        (2, 1, [(2, 0.05)]),
    ],
)
def test_looks_spend_no_more_than_there_is(most: int, shapes: int, expected: list[tuple[int, float]]) -> None:
    """The levels add up to the whole, the last look has all seeds, and the first can find something."""
    looks = schedule(alpha=0.05, most=most, shapes=shapes)
    assert looks == tuple(Look(seeds=seeds, alpha=pytest.approx(alpha)) for seeds, alpha in expected)
    assert sum(look.alpha for look in looks) == pytest.approx(0.05)
    assert len(looks) == 1 or smallest_p(looks[0].seeds, looks[0].seeds) <= looks[0].alpha / shapes


def test_what_a_look_settles_stays_settled() -> None:
    """A large difference is settled by six seeds, and the reason says at which look and level."""
    dataset = with_looks(make_sweep(np.array([0.5, 0.0]), n=20, noise=0.1, seed=1))
    large, none = abtune.analyze(dataset).comparisons
    assert large.verdict is Verdict.IMPROVED
    assert large.reason.startswith("After 6 seeds, at a level of 1%: Faster")
    assert (large.baseline.n, large.candidate.n) == (6, 6)
    assert none.verdict is Verdict.INCONCLUSIVE
    assert none.baseline.n == 20


def test_seeds_beyond_a_settling_look_change_nothing() -> None:
    """Also seeds that contradict it: the decision was made without them."""
    dataset = with_looks(make_sweep(np.array([0.5, 0.0]), n=20, noise=0.1, seed=1))
    changed = dataset.copy(deep=True)
    changed["latency"][0, 1, 6:] = changed["latency"][0, 0, 6:] * 2
    before, after = (abtune.analyze(part).comparisons for part in (dataset, changed))
    assert before == after


def test_settled_shapes_miss_no_runs() -> None:
    """Seeds that were never planned for a settled shape are no loss."""
    dataset = with_looks(make_sweep(np.array([0.5, 0.0]), n=20, noise=0.1, seed=1))
    for name, value in (("latency", np.nan), ("run_status", 2)):
        dataset[name][0, :, 6:] = value
    assert not [
        note for row in abtune.analyze(dataset).comparisons for note in row.caveats if "missing" in note
    ]


def test_only_looks_that_are_done_count() -> None:
    """A sweep that is stopped between looks is judged by the last one that was whole."""
    dataset = make_sweep(np.array([0.0, 0.0]), n=10, noise=0.1, seed=2)
    for done, seeds in ((0, 6), (1, 6), (2, 10)):
        rows = abtune.analyze(with_looks(dataset, done=done)).comparisons
        assert {row.baseline.n for row in rows} == {seeds}


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


@pytest.mark.slow
def test_looking_three_times_keeps_the_family_wise_rate() -> None:
    """Any false difference over 29 shapes and three looks is rarer than one sweep in twenty."""
    analyses, wrong = 120, 0
    for seed in range(analyses):
        dataset = with_looks(make_sweep(np.zeros(29), n=20, noise=0.03, seed=seed))
        verdicts = {row.verdict for row in abtune.analyze(dataset).comparisons}
        wrong += bool(verdicts & {Verdict.IMPROVED, Verdict.REGRESSED})
    assert wrong / analyses <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / analyses)
