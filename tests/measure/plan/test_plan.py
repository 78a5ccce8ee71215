"""The plan: every run once, balanced, and reproducible from one number."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from measure_builders import NEW, OTHER, PLAIN, SMALL, make_settings, small_plan

from abtune.measure.plan.plan import Plan, rng_for
from abtune.shapes import PRESETS


def full_plan(seeds: range, rng_seed: int = 0) -> Plan:
    return Plan(
        shapes=PRESETS["tvm14009"],
        configs=(PLAIN, NEW),
        seeds=tuple(seeds),
        settings=make_settings(rng_seed=rng_seed),
    )


def test_every_run_is_planned_once() -> None:
    """The runs are all combinations of shape, configuration and seed, under names of their own."""
    plan = full_plan(range(3))
    cells = {(run.shape, run.config.name, run.seed) for run in plan.runs}
    assert len(plan.runs) == len(cells) == len({run.key for run in plan.runs}) == 29 * 2 * 3
    assert cells == set(itertools.product(plan.shapes, ("plain", "new"), range(3)))


def test_a_part_of_a_plan_is_balanced() -> None:
    """Runs go seed by seed: before a seed begins, every cell has the same number of runs."""
    plan = full_plan(range(4))
    assert [run.seed for run in plan.runs] == [seed for seed in range(4) for _ in range(58)]


def test_the_order_within_a_seed_is_random() -> None:
    """Each seed has its own order of cells, and configurations do not simply alternate."""
    plan = full_plan(range(3))
    orders = [[(run.shape, run.config) for run in plan.runs if run.seed == seed] for seed in range(3)]
    assert all(first != second for first, second in itertools.combinations(orders, 2))
    assert {len(list(group)) for _, group in itertools.groupby(run.config.name for run in plan.runs)} > {1, 2}


def test_a_plan_is_reproducible_and_follows_its_root() -> None:
    """The same numbers give the same order; another root gives another."""
    assert full_plan(range(2)).runs == full_plan(range(2)).runs
    assert full_plan(range(2)).runs != full_plan(range(2), rng_seed=1).runs


def test_more_seeds_leave_the_earlier_runs_as_they_are() -> None:
    """A plan with more seeds begins with the runs of the smaller one."""
    assert full_plan(range(5)).runs[: 29 * 2 * 2] == full_plan(range(2)).runs


def test_keys_are_names_for_files() -> None:
    """The key of a run is its label, configuration and seed, sorted as the seeds are."""
    assert small_plan(SMALL, seeds=1).runs[0].key.startswith("M=16_N=16_K=16--")
    keys = [run.key for run in full_plan(range(11)).runs]
    assert not [key for key in keys if "/" in key]
    last = sorted(key for key in keys if key.startswith("M=512_N=256_K=640--new"))[-1]
    assert last == "M=512_N=256_K=640--new--0010"


def test_identity_is_settings_and_configurations() -> None:
    """Shapes and seeds may be added to a sweep; settings and the meaning of configurations may not change."""
    plan = small_plan(SMALL, seeds=2)
    assert plan.identity() == small_plan(OTHER, SMALL, seeds=5).identity()
    assert plan.identity() != small_plan(SMALL, seeds=2, trials=5).identity()
    changed = (PLAIN, replace(NEW, pass_config={"x": 1}))
    assert plan.identity() != small_plan(SMALL, seeds=2, configs=changed).identity()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((0, "a"), (1, "a")),
        ((0, "a"), (0, "b")),
        ((0, "a", 1), (0, "a", "1")),
        ((0, "ab", "c"), (0, "a", "bc")),
    ],
)
def test_streams_are_independent(one: tuple[int, ...], other: tuple[int, ...]) -> None:
    """Another root, name, or kind of name gives other numbers; so does another way to cut the same text."""
    first, second = (rng_for(*what).integers(2**63, size=4) for what in (one, other))
    assert not np.intersect1d(first, second).size


def test_streams_do_not_depend_on_the_order_of_use() -> None:
    """Draws from other streams do not change the numbers of a stream."""
    alone = rng_for(0, "a").random(3)
    rng_for(0, "b").random(100)
    assert np.array_equal(rng_for(0, "a").random(3), alone)


@pytest.mark.parametrize(
    ("trials", "size", "guided"),
    [(128, 64, 0), (192, 64, 1), (512, 64, 6), (24, 12, 0), (120, 12, 1), (7, 3, 0)],
)
def test_iterations_after_the_first_hundred_trials_are_guided(trials: int, size: int, guided: int) -> None:
    """MetaSchedule's cost model predicts at random until it has learned a hundred trials."""
    settings = replace(small_plan(SMALL).settings, trials=trials, trials_per_iteration=size)
    assert settings.guided == guided
    more = replace(settings, trials=settings.trials_per_iteration * (settings.unguided + 2))
    assert more.guided == 2
