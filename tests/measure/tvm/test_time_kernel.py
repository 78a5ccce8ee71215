"""Kernels on this CPU: timed, warm and cold, and checked against NumPy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tvm_samples import (
    CONV,
    GEMM,
    QUICK,
    kernel,
    problem,
)

from abtune.configurations import RANDOM
from abtune.measure.plan.problem import COLD_CALLS, Timing
from abtune.measure.plan.records import Candidate, SearchHistory
from abtune.shapes import Gemm

pytestmark = pytest.mark.filterwarnings("default")  # what TVM and XGBoost warn of is theirs


@pytest.mark.parametrize("shape", [GEMM, CONV], ids=lambda shape: shape.label)
def test_kernels_compute_what_they_should(room: Any, cpu: str, shape: Any) -> None:
    """A built candidate gives one time per repeat and the right output."""
    (candidate, *_), *_ = room.propose.propose(problem(shape, RANDOM, cpu), SearchHistory(), 2, 1)
    library = room.build_kernel.build(problem(shape, RANDOM, cpu), candidate.record)
    times = room.time_kernel.time_candidate(
        kernel(shape, cpu, library), Timing(repeats=3, repeat_ms=1, cache="warm")
    )
    assert len(times) == 3
    assert all(0 < seconds < 1 for seconds in times)
    assert (
        len(
            room.time_kernel.time_kernel(
                kernel(shape, cpu, library), Timing(repeats=4, repeat_ms=0, cache="warm")
            )
        )
        == 4
    )
    assert (
        len(
            room.time_kernel.time_kernel(
                kernel(shape, cpu, library), Timing(repeats=2, repeat_ms=0, cache="cold")
            )
        )
        == 2
    )
    error, limit = room.time_kernel.check_kernel(kernel(shape, cpu, library))
    assert 0 <= error < limit / 10 == 1e-5


def test_one_library_is_mapped_at_a_time(room: Any, cpu: str) -> None:
    """A process that times many kernels would run out of mappings, and every later kernel would fail."""
    (candidate, *_), *_ = room.propose.propose(problem(GEMM, RANDOM, cpu), SearchHistory(), 2, 1)
    own = kernel(GEMM, cpu, room.build_kernel.build(problem(GEMM, RANDOM, cpu), candidate.record))
    mapped = []
    for _ in range(3):
        room.time_kernel.load_library.cache_clear()
        room.time_kernel.first_call(own)
        mapped.append(Path("/proc/self/maps").read_text().count(".so (deleted)"))
    assert mapped[0] == mapped[2] > 0


def test_a_cold_cache_is_slower(room: Any, cpu: str) -> None:
    """A kernel that reads a megabyte again and again takes longer if it has to fetch it each time."""
    shape = Gemm(m=1, n=512, k=512)
    (candidate, *_), *_ = room.propose.propose(problem(shape, RANDOM, cpu), SearchHistory(), 1, 1)
    library = room.build_kernel.build(problem(shape, RANDOM, cpu), candidate.record)
    warm = min(
        room.time_kernel.time_kernel(
            kernel(shape, cpu, library), Timing(repeats=5, repeat_ms=1, cache="warm")
        )
    )
    assert (
        min(
            room.time_kernel.time_kernel(
                kernel(shape, cpu, library), Timing(repeats=5, repeat_ms=1, cache="cold")
            )
        )
        > 1.2 * warm
    )


def test_a_hopeless_candidate_is_timed_once(room: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A candidate whose single call outlasts a repeat is not timed again."""
    calls: list[tuple[int, int]] = []

    def time_kernel(_: Any, timing: Timing) -> list[float]:
        calls.append((timing.repeats, timing.repeat_ms))
        return [0.031] * timing.repeats

    first = [0.19]
    monkeypatch.setattr(room.time_kernel, "first_call", lambda _: first[0])
    monkeypatch.setattr(room.time_kernel, "time_kernel", time_kernel)
    assert room.time_kernel.time_candidate(
        kernel(GEMM, "", b""), Timing(repeats=3, repeat_ms=10, cache="warm")
    ) == [0.031]
    assert calls == [(1, 0)]
    assert (
        room.time_kernel.time_candidate(kernel(GEMM, "", b""), Timing(repeats=4, repeat_ms=40, cache="warm"))
        == [0.031] * 4
    )
    assert calls[1:] == [(1, 0), (4, 40)]
    first[0] = 0.25
    assert room.time_kernel.time_candidate(
        kernel(GEMM, "", b""), Timing(repeats=4, repeat_ms=40, cache="warm")
    ) == [0.25]
    assert not calls[3:]


def test_a_slow_candidate_has_few_cold_calls(room: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With cold caches, too, a repeat takes about ``repeat_ms``; a fast candidate keeps all its calls."""
    timings: list[Timing] = []
    for seconds, calls in ((0.003, 3), (0.0001, COLD_CALLS), (0.0, COLD_CALLS)):
        monkeypatch.setattr(room.time_kernel, "first_call", lambda _: 0.0)
        monkeypatch.setattr(
            room.time_kernel, "time_kernel", lambda _, timing, once=seconds: timings.append(timing) or [once]
        )
        room.time_kernel.time_candidate(kernel(GEMM, "", b""), Timing(repeats=3, repeat_ms=10, cache="cold"))
        assert timings[-1].cold_calls == calls


def test_graphs_time_a_kernel_if_they_should(room: Any, cpu: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of its calls get the same tensors; a search never asks for graphs."""
    (candidate, *_), *_ = room.propose.propose(problem(GEMM, RANDOM, cpu), SearchHistory(), 2, 1)
    own = kernel(GEMM, cpu, room.build_kernel.build(problem(GEMM, RANDOM, cpu), candidate.record))

    def time_in_graphs(call: Any, _device: Any, *, repeats: int, repeat_ms: int) -> list[float]:
        call()  # raises if the tensors do not fit
        return [float(repeat_ms)] * repeats

    def time_cold_in_graphs(call: Any, _device: Any, *, repeats: int, calls: int, flush_bytes: int) -> Any:
        call()
        return [[flush_bytes, *range(1, calls)]] * repeats

    monkeypatch.setattr(room.time_kernel, "time_in_graphs", time_in_graphs)
    monkeypatch.setattr(room.time_kernel, "time_cold_in_graphs", time_cold_in_graphs)
    timing = Timing(repeats=2, repeat_ms=7, cache="warm", launched_by="graph")
    assert room.time_kernel.time_kernel(own, timing) == [7.0, 7.0]
    assert room.time_kernel.time_kernel(own, replace(timing, cache="cold")) == [(COLD_CALLS + 1) / 2] * 2
    assert max(room.time_kernel.time_kernel(own, replace(timing, launched_by="stream"))) < 1


def test_a_first_call_takes_its_time(room: Any, cpu: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is one call with all tensors, by the clock, until the device is idle."""
    clock, called = [0.0], []

    def main(*tensors: Any) -> None:
        called.append(len(tensors))
        clock[0] += 0.5

    monkeypatch.setattr(room.time_kernel, "load_library", lambda _: {"main": main})
    monkeypatch.setattr(room.time_kernel.time, "perf_counter", lambda: clock[0])
    assert room.time_kernel.first_call(kernel(GEMM, cpu, b"")) == 0.5
    assert called == [3]


def test_a_wrong_kernel_is_noticed(
    room: Any, cpu: str, first: tuple[tuple[Candidate, ...], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel with a wrong output has a large error, and a kernel without output has NaN."""
    library = room.build_kernel.build(problem(GEMM, QUICK, cpu), first[0][0].record)
    (expected,) = room.time_kernel.expected_output(GEMM)
    error, limit = room.time_kernel.check_kernel(kernel(GEMM, cpu, library))
    assert error < limit
    monkeypatch.setattr(room.time_kernel, "expected_output", lambda _: (expected * np.float32(1.001),))
    assert room.time_kernel.check_kernel(kernel(GEMM, cpu, library))[0] > limit
    monkeypatch.undo()
    monkeypatch.setattr(room.time_kernel, "load_library", lambda _: {"main": lambda *_: None})
    assert np.isnan(room.time_kernel.check_kernel(kernel(GEMM, cpu, b""))[0])


def test_memory_counts_from_the_first_use(room: Any, cpu: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory of a process counts from its first tensor, without the memory that others held before."""
    shares = iter([0.5, 0.55, 0.75])
    monkeypatch.setattr("abtune.measure.plan.nvml.memory_share", lambda: next(shares))
    room.time_kernel.memory_before.cache_clear()
    room.time_kernel.arguments.cache_clear()
    for _ in range(2):
        room.time_kernel.arguments(GEMM, cpu)
    assert [room.time_kernel.memory_grown() for _ in range(2)] == pytest.approx([0.05, 0.25])
    room.time_kernel.memory_before.cache_clear()
