"""The set-up of a search: strategy, options, and the design space of a configuration."""

from __future__ import annotations

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
from abtune.errors import InputError, TargetError
from abtune.measure.plan.records import History
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
    room.propose.propose(problem(GEMM, RANDOM, cpu), History(), 2, 1)
    room.propose.propose(problem(GEMM, RANDOM, cpu), History(), 2, 1, 3)
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
    (candidate, *_), *_ = room.propose.propose(problem(GEMM, own, cpu), History(), 2, 1)
    assert loaded == [True]
    with pytest.raises(InputError, match="has no attribute 'absent'"):
        room.propose.propose(problem(GEMM, replace(own, space="design_space:absent"), cpu), History(), 2, 1)
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


def test_innermost_tiles_of_vector_tiles_have_16_floats(
    room: Any, cpu: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other tiles, and cached writes, are those of MetaSchedule's own space for CPUs."""
    loaded: list[bool] = []
    monkeypatch.setattr(room.propose, "load_tensor_intrinsics", lambda: loaded.append(True))

    def spaces(config: Configuration) -> set[tuple[int, int, bool]]:
        traits = set()
        candidates, *_ = room.propose.propose(problem(GEMM, config, cpu), History(), 16, 1)
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
        room.propose.propose(problem(GEMM, empty, cpu), History(), 2, 1)
