"""The request of a user, and the target's defaults where the request is silent."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from abtune.errors import InputError, TargetError
from abtune.measure.plan.plan import Request
from abtune.measure.plan.workplace import TargetFacts
from abtune.shapes import PRESETS

OPEN = Request()
GPU = TargetFacts(
    kind="cuda",
    target=json.dumps({"kind": "cuda"}),
    arch=90,
    devices=("a GPU", "a GPU"),
    threads=1,
    versions={"tvm": "0.27"},
)
CPU = replace(GPU, kind="llvm", target=json.dumps({"kind": "llvm"}), arch=0, devices=("a CPU",))


def test_graphs_launch_winners_where_they_can() -> None:
    """A search launches one by one. A plan without graphs says nothing of them, as old plans do."""
    graphs = replace(GPU, launched_by="graph")
    settings = OPEN.plan_for(graphs).settings
    assert settings.round_timing.launched_by == "graph"
    assert settings.search_timing.launched_by == "stream"
    assert replace(OPEN, cache="cold").plan_for(graphs).settings.round_timing.launched_by == "graph"
    plan = OPEN.plan_for(GPU)
    assert plan.settings.round_timing.launched_by == "stream"
    assert "launched_by" not in plan.identity()["settings"]


def test_a_gpu_empties_its_caches_in_less_time() -> None:
    """A timing has twenty calls. Before each, a GPU needs 0.2 ms and a CPU 5 ms; loading takes as long."""
    request = replace(OPEN, cache="cold", rounds=3, repeats=4)
    for facts, flush in ((GPU, 0.0002), (CPU, 0.005)):
        settings = request.plan_for(facts).settings
        assert settings.winner_seconds(0.001) == pytest.approx(2 * 3 * 4 * 20 * (flush + 0.001))


@pytest.mark.parametrize(
    ("facts", "preset", "names", "trials"),
    [
        (GPU, "tvm14009", ["mainline", "async"], (320, 64)),
        (CPU, "quick", ["random", "vector-tiles"], (24, 12)),
    ],
    ids=["gpu", "cpu"],
)
def test_the_target_decides_what_is_left_open(
    facts: TargetFacts, preset: str, names: list[str], trials: tuple[int, int]
) -> None:
    """A GPU gets the published comparison, a CPU one that takes minutes."""
    plan = OPEN.plan_for(facts)
    assert plan.shapes == tuple(PRESETS[preset])
    assert [config.name for config in plan.configs] == names
    assert (plan.settings.trials, plan.settings.trials_per_iteration) == trials
    assert plan.settings.target == facts.target
    assert plan.machine == f"{facts.devices[0]}, TVM 0.27"


@pytest.mark.parametrize(
    ("asked", "planned"),
    [
        ({}, 10),
        ({"until_settled": True}, 20),
        ({"seeds": 3}, 3),
        ({"seeds": 3, "until_settled": True}, 3),
    ],
)
def test_seeds_are_ten_or_what_is_asked(asked: dict[str, int], planned: int) -> None:
    """The default is ten seeds, and twenty until settled; a given number replaces both."""
    assert replace(OPEN, **asked).plan_for(CPU).seeds == tuple(range(planned))


@pytest.mark.parametrize(("trials", "exchanged"), [(None, 16), (24, 6), (3, 1)])
def test_searches_that_share_exchange_a_quarter_of_an_iteration(trials: int | None, exchanged: int) -> None:
    """A quarter of the candidates are the partner's, at least one; without --share none is."""
    assert replace(OPEN, trials=trials).plan_for(GPU).settings.exchanged == 0
    assert replace(OPEN, trials=trials, share=True).plan_for(GPU).settings.exchanged == exchanged


def test_an_iteration_of_one_trial_cannot_be_shared() -> None:
    """An iteration needs a candidate of its own and one of the partner."""
    with pytest.raises(InputError, match="--share needs at least 2 trials in an iteration"):
        replace(OPEN, trials=1, share=True).plan_for(GPU)


def test_what_is_asked_is_planned() -> None:
    """Every given value is planned; an iteration is at most as long as its run."""
    request = Request(
        shapes=("M=16_N=16_K=16",),
        baseline="evolutionary",
        candidates=("random", "async"),
        seeds=2,
        trials=6,
        trials_per_iteration=64,
        rounds=3,
        repeats=4,
        cache="cold",
        rng_seed=7,
    )
    plan = request.plan_for(GPU)
    settings = plan.settings
    assert [shape.label for shape in plan.shapes] == ["M=16_N=16_K=16"]
    assert [config.name for config in plan.configs] == ["evolutionary", "random", "async"]
    assert (settings.trials, settings.trials_per_iteration) == (6, 6)
    assert (settings.rounds, settings.repeats, settings.cache, settings.rng_seed) == (3, 4, "cold", 7)


@pytest.mark.parametrize(
    ("asked", "word"),
    [
        ({"shapes": ("nothing*",)}, "nothing*"),
        ({"baseline": "mainlin"}, "mainlin"),
        ({"candidates": ("async", "x")}, "'x'"),
        (
            {"shapes": ("absent.mine:softmax",)},
            "cannot import 'absent.mine:softmax': No module named 'absent'",
        ),
    ],
    ids=["shape", "baseline", "candidate", "workload"],
)
def test_unknown_names_are_refused_without_a_target(asked: dict[str, object], word: str) -> None:
    """Unknown names are refused by name, before a target is found."""
    with pytest.raises(InputError, match=word.replace("*", r"\*")):
        replace(OPEN, **asked).check_names()
    OPEN.check_names()


def test_a_workload_is_not_imported_before_it_is_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only its module is looked for: it imports TVM, which the main process does without."""
    (tmp_path / "workload_that_raises.py").write_text("raise RuntimeError", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    replace(OPEN, shapes=("workload_that_raises:softmax",)).check_names()
    assert "workload_that_raises" not in sys.modules


def test_a_comparison_needs_two_sides_that_the_target_can_run() -> None:
    """The same configuration twice, and one for another kind of target, are refused."""
    with pytest.raises(InputError, match="'random' is given twice"):
        replace(OPEN, candidates=("vector-tiles", "random")).plan_for(CPU)
    with pytest.raises(TargetError, match="needs a cuda target"):
        replace(OPEN, candidates=("async",)).plan_for(CPU)
