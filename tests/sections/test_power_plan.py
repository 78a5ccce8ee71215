"""How many seeds it takes."""

from __future__ import annotations

import dataclasses
import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from compare_builders import NAN, make_sweep
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.power import TTestIndPower

import abtune
from abtune.dataset.build import add_variables
from abtune.dataset.schema import RunStatus, TrialStatus
from abtune.errors import InputError
from abtune.sections.power.power_page import power_page
from abtune.sections.power.seed_plan import Goal, cost_of_a_seed, plan_from_dataset, plan_from_noise

CONFIGS = ("mainline", "async")
GOAL = Goal(alpha=0.05, target=0.8, shapes=1, boosts=(0.02, 0.05), seeds=(5, 10, 20))


@pytest.mark.parametrize(("cv", "shapes"), [(0.03, 1), (0.03, 29), (0.08, 1)])
def test_seeds_and_power_are_little_less_than_the_t_tests(cv: float, shapes: int) -> None:
    """With equal noise, the rule takes at most two seeds more than the corrected two-sample t test."""
    plan = plan_from_noise(cv, dataclasses.replace(GOAL, shapes=shapes))
    spread, oracle = math.sqrt(math.log1p(cv**2)), TTestIndPower()
    for need in plan.needs:
        size = math.log1p(need.boost) / spread
        wanted = max(math.ceil(oracle.solve_power(size, alpha=0.05 / shapes, power=0.8) - 1e-6), plan.fewest)
        assert wanted <= need.seeds <= wanted + 2
    for reach in plan.reaches:
        for boost, chance in zip(GOAL.boosts, reach.power, strict=True):
            wanted = oracle.power(math.log1p(boost) / spread, reach.seeds, 0.05 / shapes)
            possible = reach.seeds >= plan.fewest
            assert chance == 0 if not possible else wanted - 0.1 <= chance <= wanted + 1e-3


def test_a_dataset_is_planned_with_its_pooled_noise() -> None:
    """The noise is the root mean square over shapes, with an interval around it."""
    dataset = make_sweep([0.1, 0.1, 0.1], n=6, noise=(0.02, 0.05))
    plan = plan_from_dataset(dataset, CONFIGS, GOAL, level=0.95)
    logs = np.log(dataset["latency"].values[..., 0, 0])
    pooled = np.sqrt(logs.var(axis=2, ddof=1).mean(axis=0))
    assert (plan.baseline.spread, plan.candidate.spread) == pytest.approx(tuple(pooled))
    assert plan.candidate.low < plan.candidate.spread < plan.candidate.high


def test_plans_and_reports_gain_alike_from_shapes_that_agree() -> None:
    """Six shapes of equal noise find the same boost in both, and a smaller one than a pilot of four knows."""
    noise = np.random.default_rng(1).normal(0, [[0.2], [0.02]], (2, 8))
    logs = np.tile(noise, (6, 1, 1))
    dataset = abtune.make_dataset(np.exp(logs), shapes=[*"abcdef"], configs=["old", "new"])
    pilots = dataset, dataset.isel(shape=slice(4))
    six, four = (abtune.power(pilot, shapes=6, seeds=[8]).reaches[0].detectable for pilot in pilots)
    rows = abtune.analyze(dataset).comparisons
    assert [row.detectable for row in rows] == pytest.approx([six] * 6)
    assert six < 0.95 * four


def test_noise_of_zero_is_planned_with_a_caveat() -> None:
    """Where seeds agree exactly the plan says for each side that it may promise too much, else nothing."""
    plan = plan_from_dataset(make_sweep([0.1, 0.1], n=5, noise=(0.0, 0.02)), CONFIGS, GOAL, level=0.95)
    (caveat,) = plan.caveats
    assert caveat.startswith("mainline: all seeds agree exactly in 2 of 2 shapes. ")
    assert caveat in str(power_page(plan, ""))
    assert plan_from_dataset(make_sweep([0.1], n=5), CONFIGS, GOAL, level=0.95).caveats == ()
    one_ratio = [[[1.0, 2.0, 3.0], [1.1, 2.2, 3.3]]]
    pairs = abtune.make_dataset(one_ratio, shapes=["s"], configs=["a", "b"], design="paired")
    told = "differences of pairs: all pairs agree exactly in 1 of 1 shape."
    assert any(note.startswith(told) for note in abtune.power(pairs).caveats)


def test_a_seed_far_from_the_others_is_planned_with_a_caveat() -> None:
    """One wrong timing alone can ask for thousands of seeds."""
    pilot = make_sweep([0.1, 0.1], seed=1)
    assert not [note for note in abtune.power(pilot).caveats if "one seed differs" in note]
    pilot["latency"][1, 1, 0] *= 50
    notes = [note for note in abtune.power(pilot).caveats if "one seed differs" in note]
    config, shape = str(pilot["config"].values[1]), str(pilot["shape"].values[1])
    said = f"{config}: one seed differs from the median seed more than 10-fold in {shape}. Check that timing"
    assert [note.startswith(said) for note in notes] == [True]


def test_a_candidate_that_fails_now_and_then_is_planned_with_a_caveat() -> None:
    """Its boosts need one more test, which no plan knows; against it nothing is lacking."""
    rng = np.random.default_rng(0)
    log = rng.normal(0, 0.05, (29, 2, 10)) - 8
    log[:, 1] += rng.exponential(0.1, (29, 10))
    labels = [f"s{number}" for number in range(29)]
    dataset = abtune.make_dataset(np.exp(log), shapes=labels, configs=list(CONFIGS))
    (caveat,) = plan_from_dataset(dataset, CONFIGS, GOAL, level=0.95).caveats
    assert caveat.startswith("The noise is skewed: async may look faster than it is.")
    assert plan_from_dataset(dataset, CONFIGS[::-1], GOAL, level=0.95).caveats == ()


@pytest.mark.parametrize(
    ("design", "wanted"),
    [
        (None, ("8 of 40 runs of mainline failed.", "4 of 40 runs of async failed.")),
        ("shared", ("12 of 40 pairs failed.",)),
    ],
)
def test_failed_runs_are_added_to_a_plan(design: str | None, wanted: tuple[str, ...]) -> None:
    """A plan counts seeds with a time; where a fifth of the runs fails, it takes a quarter more of them."""
    log = np.random.default_rng(0).normal(-8, 0.1, (4, 2, 10))
    log[:, 0, :2], log[:, 1, 2] = NAN, NAN
    status = np.where(np.isnan(log), RunStatus.FAILED, RunStatus.COMPLETE)
    labels = [f"s{number}" for number in range(4)]
    dataset = abtune.make_dataset(
        np.exp(log), shapes=labels, configs=list(CONFIGS), run_status=status, design=design
    )
    caveats = plan_from_dataset(dataset, CONFIGS, GOAL, level=0.95).caveats
    assert tuple(caveat.split(" A plan")[0] for caveat in caveats) == wanted
    assert caveats[0].endswith("so run 25% more." if design is None else "so run 43% more.")


@given(cv=st.floats(0.001, 1.5), shapes=st.integers(1, 200))
def test_more_is_more(cv: float, shapes: int) -> None:
    """Larger boosts need fewer seeds, more seeds see smaller boosts, and no chance leaves 0 to 1."""
    plan = plan_from_noise(cv, dataclasses.replace(GOAL, shapes=shapes))
    assert plan.needs[0].seeds >= plan.needs[1].seeds >= plan.fewest
    detectable = [reach.detectable for reach in plan.reaches]
    assert detectable == sorted(detectable, reverse=True)
    assert all(0 <= chance <= 1 for reach in plan.reaches for chance in reach.power)


def test_what_was_found_keeps_its_promise() -> None:
    """With the seeds that a plan asks for, its power is as wanted, and with one fewer it is not."""
    needs = plan_from_noise(0.04, GOAL).needs
    for index, need in enumerate(needs):
        seeds = (need.seeds - 1, need.seeds)
        reaches = plan_from_noise(0.04, dataclasses.replace(GOAL, seeds=seeds)).reaches
        assert reaches[0].power[index] < 0.8 <= reaches[1].power[index]


def test_costs_add_up() -> None:
    """A seed costs the mean run of each side; a plan costs that times seeds and shapes."""
    dataset = make_sweep([0.1, 0.1], n=2)
    dataset = add_variables(dataset, tuning_time=np.array([[[10.0, 20], [30, 50]], [[10, 20], [30, 50]]]))
    cost = cost_of_a_seed(dataset, CONFIGS)
    assert cost is not None
    assert cost.core_seconds == 15 + 40
    assert math.isnan(cost.gpu_seconds)
    goal = dataclasses.replace(GOAL, shapes=7)
    plan = plan_from_dataset(dataset, CONFIGS, goal, level=0.95)
    assert plan.reaches[1].core_hours == pytest.approx(55 * 10 * 7 / 3600)
    assert plan.needs[0].core_hours == pytest.approx(55 * plan.needs[0].seeds * 7 / 3600)


def test_device_time_follows_the_settings() -> None:
    """Each candidate that ran is timed as often and as long as the settings say, and so is the winner."""
    settings = {"search_repeats": 3, "search_repeat_ms": 10, "rounds": 5, "repeats": 5, "repeat_ms": 20}
    dataset = make_sweep(0.1, n=2, attrs={"settings": json.dumps(settings)})
    times = np.full((1, 2, 2, 4), 1e-4)
    times[..., 3] = 0.5
    status = np.full(times.shape, TrialStatus.OK)
    status[..., 0] = TrialStatus.RUN_FAILED
    dataset = add_variables(
        dataset, tuning_time=np.full((1, 2, 2), 9.0), trial_latency=times, trial_status=status
    )
    cost = cost_of_a_seed(dataset, CONFIGS)
    assert cost is not None
    assert cost.gpu_seconds == pytest.approx(2 * (3 * (0.01 + 0.01 + 0.5) + 25 * 0.02))
    on_cpu = cost_of_a_seed(dataset.assign_attrs(target='{"kind":"llvm"}'), CONFIGS)
    assert on_cpu is not None
    assert math.isnan(on_cpu.gpu_seconds)  # a table had GPU hours of a CPU
    cold = cost_of_a_seed(dataset.assign_attrs(settings=json.dumps({**settings, "cache": "cold"})), CONFIGS)
    assert cold is not None
    assert math.isnan(cold.gpu_seconds)  # single calls may take less than the set time


@pytest.mark.parametrize("settings", ["", "[1]", "{}", '{"search_repeats": "x"}'])
def test_settings_that_do_not_say_leave_device_time_open(settings: str) -> None:
    """Settings that are damaged or lack something give no device time, and no error."""
    dataset = make_sweep(0.1, n=2, attrs={"settings": settings})
    dataset = add_variables(dataset, tuning_time=np.full((1, 2, 2), 9.0))
    cost = cost_of_a_seed(dataset, CONFIGS)
    assert cost is not None
    assert math.isnan(cost.gpu_seconds)


def test_a_dataset_without_times_has_no_cost() -> None:
    """A published table does not say what it cost."""
    assert cost_of_a_seed(make_sweep(0.1), CONFIGS) is None


def test_unknown_noise_is_refused() -> None:
    """Without two seeds of a shape on a side there is no noise to plan with."""
    dataset = make_sweep(0.1, n=3)
    dataset["latency"][0, 1, 1:] = NAN
    with pytest.raises(
        InputError, match="no shape has two seeds of async, so its noise is unknown; use abtune power --cv"
    ):
        plan_from_dataset(dataset, CONFIGS, GOAL, level=0.95)


def test_the_pilot() -> None:
    """The pilot's noise needs some fifty seeds a side for a boost of ten percent over three shapes."""
    goal = dataclasses.replace(GOAL, shapes=3, boosts=(0.1,))
    plan = plan_from_dataset(abtune.open_dataset("h200-pilot"), CONFIGS, goal, level=0.95)
    assert 40 < plan.needs[0].seeds < 60


def test_the_public_function_plans_as_the_parts_do() -> None:
    """By noise and by dataset, the plan is that of the goal; configurations and shapes are the dataset's."""
    choices: dict[str, Any] = {"boosts": [0.05, 0.02], "seeds": [20, 5, 10, 5]}
    dataset = make_sweep([0.1, 0.1], n=5)
    two = dataclasses.replace(GOAL, shapes=2)
    goal = dataclasses.replace(GOAL, shapes=9, alpha=0.1, target=0.9, paired=True, correlation=0.5)
    more: dict[str, Any] = {"shapes": 9, "level": 0.9, "target": 0.9, "correlation": 0.5}
    for plan, wanted in [
        (abtune.power(cv=0.03, **choices), plan_from_noise(0.03, GOAL)),
        (abtune.power(dataset, **choices), plan_from_dataset(dataset, CONFIGS, two, level=0.95)),
        (abtune.power(dataset, **choices, **more), plan_from_dataset(dataset, CONFIGS, goal, level=0.9)),
    ]:
        assert str(plan) == str(wanted)  # NaN are alike as text
    generated = abtune.power(cv=0.03, boosts=iter([0.05, 0.02]), seeds=iter([5, 10, 20]))  # type: ignore[arg-type]
    assert str(generated) == str(plan_from_noise(0.03, GOAL))
    turned = abtune.power(dataset, baseline="async", candidate="mainline")
    assert turned.baseline.config == "async"


def test_a_level_may_be_any_number() -> None:
    """SciPy takes no fractions."""
    assert abtune.power(cv=0.1, boosts=[0.1], level=Fraction(9, 10)).needs[0].seeds == 15


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({}, "a plan takes a dataset or cv"),
        ({"dataset": "h200-pilot"}, "'h200-pilot' is not a dataset but its name; open it first"),
        ({"cv": 3}, "cv is a fraction between 0 and 2, such as 0.05, not 3"),
        ({"cv": NAN}, "cv is a fraction between 0 and 2, such as 0.05, not nan"),
        ({"cv": 0.1, "baseline": "async"}, "leave them out beside cv"),
        ({"cv": 0.1, "level": 95}, "level is a fraction between 0 and 1, such as 0.95, not 95"),
        ({"cv": 0.1, "target": 80}, "target is a fraction between 0 and 1, such as 0.8, not 80"),
        ({"cv": 0.1, "boosts": [0.1, -0.1]}, "boost is a fraction between 0 and 10, such as 0.05, not -0.1"),
        ({"cv": 0.1, "boosts": 0.1}, r"boosts is a list, such as \[0.05\], not 0.1"),
        ({"cv": 0.1, "seeds": 10}, r"seeds is a list, such as \[10\], not 10"),
        ({"cv": 0.1, "seeds": [1]}, "each of seeds is a whole number from 2 to 10,000, not 1"),
        ({"cv": 0.1, "seeds": [2.5]}, "each of seeds is a whole number from 2 to 10,000, not 2.5"),
        ({"cv": 0.1, "shapes": 0}, "shapes is a whole number from 1 on, not 0"),
        ({"cv": 0.1, "correlation": 1}, "correlation is a fraction between 0 and 1"),
        ({"cv": 0.1, "correlation": "0.7"}, "correlation is a fraction between 0 and 1"),
    ],
)
def test_the_public_function_refuses_what_it_cannot_use(choices: dict[str, Any], said: str) -> None:
    """One line names the argument and what it may be."""
    with pytest.raises(InputError, match=said):
        abtune.power(**choices)
