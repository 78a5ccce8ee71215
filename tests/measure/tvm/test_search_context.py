"""The set-up of a search: strategy, options, and the design space of a configuration."""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tvm_samples import (
    GEMM,
    QUICK,
    kernel,
    problem,
    trace,
)

from abtune.configurations import RANDOM, VECTOR_TILES, Configuration
from abtune.dataset.schema import TrialStatus
from abtune.errors import InputError, TargetError
from abtune.measure.plan.records import Candidate, SearchHistory, Trial
from abtune.traces import read_trace

pytestmark = pytest.mark.filterwarnings("default")  # what TVM and XGBoost warn of is theirs

SPACE = "design_space:space"


def test_options_reach_the_strategy(room: Any, cpu: str) -> None:
    """Options of a strategy are passed on, whole numbers as integers; unknown ones are an error."""
    options = {"population_size": 32.0, "eps_greedy": 0.5}
    context = room.propose.search_context(problem(GEMM, replace(QUICK, strategy_options=options), cpu), 1)
    assert context.search_strategy.population_size == 32
    assert context.search_strategy.eps_greedy == 0.5
    with pytest.raises(TypeError, match="no_such_option"):
        room.propose.search_context(
            problem(GEMM, replace(QUICK, strategy_options={"no_such_option": 1}), cpu), 1
        )


def test_threads_reach_the_search(room: Any, cpu: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An iteration uses the given number of threads, and one by default."""
    contexts: list[Any] = []
    original = room.propose.search_context

    def note(*args: Any, **options: Any) -> Any:
        contexts.append(original(*args, **options))
        return contexts[-1]

    monkeypatch.setattr(room.propose, "search_context", note)
    room.propose.propose(problem(GEMM, RANDOM, cpu), SearchHistory(), 2, 1)
    room.propose.propose(problem(GEMM, RANDOM, cpu), SearchHistory(), 2, 1, 3)
    assert [context.num_threads for context in contexts] == [1, 3]


def test_a_configuration_can_bring_its_space(
    room: Any, cpu: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A configuration's own design space, given as module:function, is searched, with intrinsics loaded."""
    (tmp_path / "design_space.py").write_text(
        "from tvm.s_tir import meta_schedule as ms\n\n"
        "def space(target):\n"
        "    assert target.kind.name == 'llvm'\n"
        "    rules = [ms.schedule_rule.ParallelizeVectorizeUnroll(1, 8, [0], False)]\n"
        "    return ms.space_generator.PostOrderApply(sch_rules=rules, postprocs=[], mutator_probs={})\n\n"
        "def nothing(target):\n"
        "    space(target)\n\n"
        "def wrong(target):\n"
        "    raise ValueError('tiles are too large:\\n  16 > 8')\n\n"
        "def long(target):\n"
        "    raise ValueError('a program\\n' * 99 + 'is wrong')\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    loaded: list[bool] = []
    monkeypatch.setattr(room.propose, "load_tensor_intrinsics", lambda: loaded.append(True))
    own = replace(RANDOM, name="own", space=SPACE)
    (candidate, *_), *_ = room.propose.propose(problem(GEMM, own, cpu), SearchHistory(), 2, 1)
    assert loaded == [True]
    with pytest.raises(InputError, match="has no attribute 'absent'"):
        room.propose.propose(
            problem(GEMM, replace(own, space="design_space:absent"), cpu), SearchHistory(), 2, 1
        )
    assert loaded == [True]  # they take long, so a mistake comes first
    assert "SampleComputeLocation" not in trace(candidate)
    library = room.build_kernel.build(problem(GEMM, own, cpu), candidate.record)
    error, limit = room.time_kernel.check_kernel(kernel(GEMM, cpu, library))
    assert error < limit
    with pytest.raises(InputError, match="has no attribute 'absent'"):
        room.propose.check(problem(GEMM, replace(own, space="design_space:absent"), cpu))
    room.propose.check(problem(GEMM, own, cpu))
    with pytest.raises(TargetError, match=r"^design_space:nothing returns NoneType, not a SpaceGenerator$"):
        room.propose.check(problem(GEMM, replace(own, space="design_space:nothing"), cpu))
    said = r"^design_space:wrong raises ValueError: tiles are too large: 16 > 8$"  # not its last line alone
    with pytest.raises(TargetError, match=said):
        room.propose.check(problem(GEMM, replace(own, space="design_space:wrong"), cpu))
    with pytest.raises(ValueError, match=r"\nis wrong$"):
        room.propose.check(problem(GEMM, replace(own, space="design_space:long"), cpu))


def test_a_configuration_can_bring_its_cost_model(
    room: Any, cpu: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A configuration's own cost model ranks the candidates, and learns all trials in each iteration."""
    (tmp_path / "own_models.py").write_text(
        "import numpy as np\n"
        "from tvm.ir.utils import derived_object\n"
        "from tvm.s_tir import meta_schedule as ms\n\n"
        "seeds, lessons = [], []\n\n"
        "@derived_object\n"
        "class Model(ms.cost_model.PyCostModel):\n"
        "    def update(self, context, candidates, results):\n"
        "        lessons.append([float(result.run_secs[0]) for result in results])\n\n"
        "    def predict(self, context, candidates):\n"
        "        return np.array([len(one.sch.trace.insts) for one in candidates], dtype='float64')\n\n"
        "def longest(seed):\n"
        "    seeds.append(seed)\n"
        "    return Model()\n\n"
        "def scattered(seed):\n"
        "    return ms.cost_model.RandomModel(seed=seed)\n\n"
        "@derived_object\n"
        "class Broken(Model._cls):\n"
        "    def update(self, context, candidates, results):\n"
        "        raise ValueError('no such feature')\n\n"
        "def broken(seed):\n"
        "    return Broken()\n\n"
        "def nothing(seed):\n"
        "    pass\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    # All by rank, none at random.
    greedy = replace(QUICK, strategy_options={**QUICK.strategy_options, "eps_greedy": 0.0})

    def propose(model: str, seed: int, history: SearchHistory = SearchHistory()) -> tuple[Candidate, ...]:  # noqa: B008
        config = replace(greedy, cost_model=model)
        candidates, state, repeated = room.propose.propose(problem(GEMM, config, cpu), history, 4, seed)
        assert (state, repeated) == (b"", False)
        return candidates

    def lengths(candidates: tuple[Candidate, ...]) -> list[int]:
        return [len(candidate.record[0][0]) for candidate in candidates]

    longest = propose("own_models:longest", 7)
    assert lengths(longest) == sorted(lengths(longest), reverse=True)
    own = importlib.import_module("own_models")
    assert (own.seeds, own.lessons) == ([7], [])
    trials = tuple(
        Trial(candidate=candidate, status=TrialStatus.OK, latency=0.5 / number, message="")
        for number, candidate in enumerate(longest, 1)
    )
    history = SearchHistory().proposed(longest, cost_model=b"", seconds=0.0).tried(trials, seconds=0.0)
    for _ in range(2):  # though the history says that they are learned
        history = history.proposed((), cost_model=b"", seconds=0.0)
        propose("own_models:longest", 8, history)
    assert own.lessons == [[trial.latency for trial in trials]] * 2
    scattered = propose("own_models:scattered", 7)
    assert scattered == propose("own_models:scattered", 7)
    assert scattered != propose("own_models:scattered", 8)

    def check(model: str) -> None:
        room.propose.check(problem(GEMM, replace(QUICK, cost_model=model), cpu))

    check("own_models:longest")
    with pytest.raises(ValueError, match="no such feature"):
        check("own_models:broken")
    with pytest.raises(TargetError, match=r"^own_models:nothing returns NoneType, not a CostModel$"):
        check("own_models:nothing")


def test_innermost_tiles_of_vector_tiles_have_16_floats(
    room: Any, cpu: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other tiles, and cached writes, are those of MetaSchedule's own space for CPUs."""
    loaded: list[bool] = []
    monkeypatch.setattr(room.propose, "load_tensor_intrinsics", lambda: loaded.append(True))

    def spaces(config: Configuration) -> set[tuple[int, int, bool]]:
        traits = set()
        candidates, *_ = room.propose.propose(problem(GEMM, config, cpu), SearchHistory(), 16, 1)
        for candidate in candidates:  # a stranger's dataset may hold such traces, so they are checked
            trace = read_trace(candidate.record[0])
            room.build_kernel.require_own_trace(problem(GEMM, config, cpu), trace)
            names = [step.name for step in trace]
            vectors = sum(step.name == "Split" and step.inputs[-1] == 16 for step in trace)
            traits.add((names.count("SamplePerfectTile"), vectors, "CacheWrite" in names))
        return traits

    assert spaces(RANDOM) == {(3, 0, False), (3, 0, True)}
    assert spaces(VECTOR_TILES) == {(3, 1, False), (3, 1, True)}
    assert loaded == []


def test_a_configuration_without_a_space_is_refused(room: Any, cpu: str) -> None:
    """A configuration that leaves nothing to search says so."""
    empty = replace(RANDOM, skipped_annotation="sch")
    with pytest.raises(
        TargetError, match=r"configuration 'random' leaves no design space for M=16_N=32_K=64"
    ):
        room.propose.propose(problem(GEMM, empty, cpu), SearchHistory(), 2, 1)
