"""Shapes, targets and histories for tests that search with TVM itself."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from abtune.configurations import EVOLUTIONARY, Configuration
from abtune.dataset.schema import TrialStatus
from abtune.measure.plan.problem import Kernel, Problem
from abtune.measure.plan.records import Candidate, SearchHistory, Trial
from abtune.shapes import Conv2d, Gemm, Shape

GEMM = Gemm(m=16, n=32, k=64)
LARGE = Gemm(m=512, n=256, k=640)
CONV = Conv2d(n=1, h=9, w=8, c=4, k=8, r=3, s=3, stride=2, padding=1, dilation=2)
CUDA = json.dumps(
    {
        "kind": "cuda",
        "arch": "sm_90",
        "max_threads_per_block": 1024,
        "thread_warp_size": 32,
        "max_shared_memory_per_block": 49152,
        "max_num_threads": 1024,
    }
)
# A small population: the search is the same, and a test of it takes a second.
QUICK = replace(EVOLUTIONARY, strategy_options={"population_size": 64, "genetic_num_iters": 2})
# The annotation of design spaces whose copies are asynchronous.
PIPELINE = "software_pipeline_async_stages"


def problem(shape: Shape, config: Configuration, target: str) -> Problem:
    return Problem(shape=shape, config=config, target=target)


def kernel(shape: Shape, target: str, library: bytes) -> Kernel:
    return Kernel(shape=shape, target=target, library=library)


def state(model: bytes) -> dict[str, Any]:
    """Return the arrays in the state of a cost model."""
    return dict(np.load(io.BytesIO(model)))


def trace(candidate: Candidate) -> str:
    return json.dumps(candidate.record[0])


def all_timed(history: SearchHistory, candidates: tuple[Candidate, ...], model: bytes) -> SearchHistory:
    """Return the history after an iteration in which everything ran, one candidate faster than the other."""
    trials = tuple(
        Trial(candidate=candidate, status=TrialStatus.OK, latency=1e-5 / (2 + index), message="")
        for index, candidate in enumerate(candidates)
    )
    return history.proposed((), cost_model=model, seconds=0.0).tried(trials, seconds=1.0)


def random_schedules(room: Any, tuned: Problem, count: int) -> Iterator[Any]:
    """Yield schedules of all design spaces in turn, before any postprocessor; always the same ones."""
    tvm, seeds = room.load_tvm.tvm, np.random.default_rng(1)
    context = room.propose.search_context(tuned, 1)
    spaces = room.propose.design_spaces(context, tuned)
    for index in range(count):
        seed = int(seeds.integers(1, 2**31 - 1))
        schedule = tvm.s_tir.Schedule(context.mod, seed=seed, error_render_level="none")
        trace = tvm.s_tir.schedule.Trace(spaces[index % len(spaces)].trace.insts, {})
        trace.apply_to_schedule(schedule, remove_postproc=True)
        schedule.enter_postproc()
        yield schedule
