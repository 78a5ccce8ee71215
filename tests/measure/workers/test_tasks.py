"""The tasks of a search: what they count as the time of a run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from measure_builders import make_settings

from abtune.measure.plan.problem import Kernel
from abtune.measure.plan.records import Candidate
from abtune.measure.workers import tasks
from abtune.shapes import Gemm


def test_the_wait_for_a_device_is_no_time_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only building and timing count, because others use the device meanwhile."""
    clock = [0.0]
    monkeypatch.setattr(tasks, "time", SimpleNamespace(monotonic=lambda: clock[0]))

    def call(*_: Any, **__: Any) -> list[float]:
        clock[0] += 2.0
        return [1.0]

    @contextlib.contextmanager
    def busy_slot(_: str) -> Iterator[SimpleNamespace]:
        clock[0] += 100.0
        yield SimpleNamespace(call=call)

    pool: Any = SimpleNamespace(slot=busy_slot, device_is_apart=False)
    candidate = Candidate(text="[]", module_hash="a", carried_over=False)
    kernel = Kernel(shape=Gemm(m=8, n=8, k=8), target="{}", library=b"")
    batch = tasks.Batch(candidates=[candidate] * 2, built=(kernel,) * 2, seconds=3.0)
    _, building, timing = tasks.time_batch(pool, make_settings(), batch)
    assert (building, timing) == (3.0, 4.0)
