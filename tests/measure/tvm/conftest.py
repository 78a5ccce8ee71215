"""The modules that import TVM, imported when a test needs them, and candidates that several tests use."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tvm_samples import GEMM, QUICK, problem

from abtune.dataset.schema import TrialStatus
from abtune.measure.plan.records import Candidate, SearchHistory, Trial


@pytest.fixture(scope="module")
def room() -> Iterator[types.SimpleNamespace]:
    """Import the modules of the room, and put back what that changes in this process."""
    from abtune.measure.tvm import (
        build_kernel,
        load_tvm,
        propose,
        time_kernel,
        tvm_devices,
        workloads,
    )

    random_state = np.random.get_state()  # noqa: NPY002 - a search seeds it
    modules = (
        build_kernel,
        load_tvm,
        propose,
        time_kernel,
        tvm_devices,
        workloads,
    )
    yield types.SimpleNamespace(**{module.__name__.rpartition(".")[2]: module for module in modules})
    np.random.set_state(random_state)  # noqa: NPY002


@pytest.fixture(scope="module")
def cpu(room: Any) -> str:
    """Return this CPU as a target."""
    return str(room.tvm_devices.describe_target("cpu").target)


@pytest.fixture(scope="module")
def first(room: Any, cpu: str) -> tuple[tuple[Candidate, ...], bytes]:
    """Propose a first batch for the matrix product."""
    candidates, model, _ = room.propose.propose(problem(GEMM, QUICK, cpu), SearchHistory(), 6, 11)
    return candidates, model


@pytest.fixture(scope="module")
def second_history(first: tuple[tuple[Candidate, ...], bytes]) -> SearchHistory:
    """Return the history after the first batch: one failure at run time, one at build time."""
    candidates, model = first
    statuses = [TrialStatus.RUN_FAILED, TrialStatus.BUILD_FAILED] + [TrialStatus.OK] * (len(candidates) - 2)
    trials = tuple(
        Trial(
            candidate=candidate,
            status=status,
            latency=1e-5 * (1 + index) if status is TrialStatus.OK else float("nan"),
            message="" if status is TrialStatus.OK else "it failed",
        )
        for index, (candidate, status) in enumerate(zip(candidates, statuses, strict=True))
    )
    return SearchHistory().proposed((), cost_model=model, seconds=0.0).tried(trials, seconds=1.0)
