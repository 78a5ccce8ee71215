"""What is refused early is what VerifyGPUCode refuses, and the search proposes the same candidates."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from tvm_samples import CONV, CUDA, LARGE, all_timed, problem, random_schedules

from abtune.configurations import ASYNC, MAINLINE, RANDOM, Configuration
from abtune.measure.plan.records import SearchHistory
from abtune.shapes import Conv2d, Gemm, Shape

pytestmark = pytest.mark.filterwarnings("default")  # what TVM and XGBoost warn of is theirs

# Many tiles of so short a sum have a software pipeline of one iteration.
SHORT = Gemm(m=512, n=512, k=4)
TILE = Gemm(m=128, n=64, k=64)
STRIDED = Conv2d(n=1, h=56, w=56, c=256, k=128, r=1, s=1, stride=2, padding=0, dilation=1)
SMALL_GPU = json.dumps(
    {**json.loads(CUDA), "max_threads_per_block": 256, "max_shared_memory_per_block": 8192}
)
POPULATION = {"population_size": 16, "genetic_num_iters": 1, "init_min_unmeasured": 8}


@pytest.fixture(scope="module")
def refusal(room: Any) -> Any:
    """Import the module that is tested, which imports TVM."""
    from abtune.measure.tvm import early_refusal

    return early_refusal


def quick(config: Configuration) -> Configuration:
    return replace(config, strategy_options=POPULATION)


@pytest.mark.parametrize(
    ("shape", "config", "target", "kinds"),
    [
        (LARGE, MAINLINE, CUDA, {"fits", "threads", "memory"}),
        (LARGE, ASYNC, CUDA, {"fits", "threads", "memory"}),
        (LARGE, ASYNC, SMALL_GPU, {"threads", "memory"}),
        (STRIDED, ASYNC, CUDA, {"fits", "threads", "memory"}),
        (SHORT, ASYNC, CUDA, {"fits", "threads"}),
        (CONV, ASYNC, CUDA, {"threads"}),
    ],
)
def test_every_verdict_is_that_of_verify_gpu_code(
    room: Any, refusal: Any, shape: Shape, config: Configuration, target: str, kinds: set[str]
) -> None:
    """Of random schedules the same ones are refused as by all of MetaSchedule's postprocessors."""
    tuned = problem(shape, config, target)
    context = room.propose.search_context(tuned, 1)
    early = refusal.early_postprocessors(room.propose.design_spaces(context, tuned))
    assert [type(one).__name__ for one in early][-1] == "RewriteReductionBlock"
    limits = [json.loads(target)[name] for name in refusal.LIMITS]
    met: Counter[str] = Counter()
    for schedule in random_schedules(room, tuned, 90):
        refused = refusal.is_refused(schedule.mod, *limits)
        by_threads = refusal.is_refused(schedule.mod, limits[0], 2**40)
        met["threads" if by_threads else "memory" if refused else "fits"] += 1
        assert refused != all(postproc.apply(schedule) for postproc in context.space_generator.postprocs)
    assert set(met) >= kinds


@pytest.mark.parametrize(
    ("shape", "config"),
    [
        (TILE, quick(MAINLINE)),
        (TILE, quick(ASYNC)),
        (TILE, RANDOM),
        (Conv2d(n=1, h=8, w=8, c=32, k=32, r=1, s=1, stride=1, padding=0, dilation=1), quick(ASYNC)),
    ],
    ids=["mainline", "async", "random", "convolution"],
)
def test_the_candidates_are_those_of_stock(
    room: Any, monkeypatch: pytest.MonkeyPatch, shape: Shape, config: Configuration
) -> None:
    """Two iterations propose the same records and modules with either postprocessors."""
    tuned = problem(shape, config, CUDA)
    history = SearchHistory()
    for iteration in range(2):
        monkeypatch.setenv("ABTUNE_STOCK_SEARCH", "0")
        early, model, repeated = room.propose.propose(tuned, history, 8, 5 + iteration)
        monkeypatch.setenv("ABTUNE_STOCK_SEARCH", "1")
        assert (early, model, False) == room.propose.propose(tuned, history, 8, 5 + iteration)
        assert len(early) == 8
        assert not repeated
        history = all_timed(history, early, model)


def test_a_candidate_that_was_let_pass_repeats_the_iteration(
    room: Any, refusal: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where VerifyGPUCode refuses a pick, the iteration is searched as stock, and that is told."""
    tuned = problem(TILE, quick(ASYNC), SMALL_GPU)
    monkeypatch.setattr(refusal, "is_refused", lambda module, threads, memory: False)
    candidates, model, repeated = room.propose.propose(tuned, SearchHistory(), 8, 5)
    assert repeated
    monkeypatch.setenv("ABTUNE_STOCK_SEARCH", "1")
    assert (candidates, model, False) == room.propose.propose(tuned, SearchHistory(), 8, 5)


@pytest.mark.parametrize(
    ("shape", "stock"),
    [
        (LARGE, "1"),
        (Gemm(m=1, n=1, k=100), ""),  # its only block is bound to threads without tiles
    ],
    ids=["switched-off", "not-tiled"],
)
def test_other_searches_are_stock(
    room: Any, refusal: Any, monkeypatch: pytest.MonkeyPatch, shape: Shape, stock: str
) -> None:
    """Nothing is refused early where it is switched off, or where schedules are not tiled."""
    asked = []
    monkeypatch.setenv("ABTUNE_STOCK_SEARCH", stock)
    monkeypatch.setattr(refusal, "is_refused", lambda *about: asked.append(about) or False)
    tuned = problem(shape, replace(ASYNC, strategy="replay-trace"), CUDA)
    candidates, _, repeated = room.propose.propose(tuned, SearchHistory(), 2, 1)
    assert candidates
    assert not asked
    assert not repeated


def test_only_the_own_design_spaces_for_cuda_are_known(refusal: Any, cpu: str) -> None:
    """A design space of a user may have other rules, and a CPU has no VerifyGPUCode."""
    assert refusal.is_enabled(problem(LARGE, ASYNC, CUDA))
    assert not refusal.is_enabled(problem(LARGE, replace(ASYNC, space="mine:space"), CUDA))
    assert not refusal.is_enabled(problem(LARGE, RANDOM, cpu))


def test_transfers_are_verified(room: Any) -> None:
    """The context with which a schedule is carried over keeps VerifyGPUCode."""
    ms = room.load_tvm.ms
    generator = room.propose.search_context(problem(LARGE, ASYNC, CUDA), 1).space_generator
    names = [type(postproc).__name__ for postproc in generator.postprocs]
    assert names == [type(postproc).__name__ for postproc in ms.postproc.Postproc.create("cuda")]
    assert "VerifyGPUCode" in names
