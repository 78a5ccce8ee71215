"""Calls in CUDA graphs, with a driver that only keeps a clock: tests have no GPU."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from abtune.measure.tvm.graph_timing import has_graphs, time_cold_in_graphs, time_in_graphs

CALL, PAUSE = 3e-6, 1e-6  # seconds of a call, and between two graphs
MARK, COLD = 2e-6, 4e-6  # seconds that an event in a graph takes, and that a call with cold caches takes more


class Driver:
    """The functions of ``cuda.bindings.driver`` that are used, on a GPU without noise."""

    CUstream_flags = SimpleNamespace(CU_STREAM_NON_BLOCKING=SimpleNamespace(value=1))
    CUstreamCaptureMode = SimpleNamespace(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL="thread")
    CUevent_record_flags = SimpleNamespace(CU_EVENT_RECORD_EXTERNAL=SimpleNamespace(value=1))

    def __init__(self) -> None:
        self.clock = 0.0
        self.alive: list[Any] = []
        self.captured: list[Callable[[], None]] | None = None  # the graph that is being captured
        self.is_cold = False
        self.outside = 0  # calls that were launched one by one
        self.launched: list[int] = []  # the calls of each graph, in order
        self.failing = ""

    def call(self) -> None:
        if self.captured is None:
            self.outside += 1
        else:
            self.captured.append(self.step)

    def step(self) -> None:
        self.clock += CALL + COLD * self.is_cold
        self.is_cold = False

    def __getattr__(self, name: str) -> Any:
        def run(*arguments: Any) -> tuple[Any, ...]:
            if name == self.failing:
                return (Status(1),)
            if name.endswith(("Destroy", "MemFree")):
                self.alive.remove(arguments[0])
                return (Status(0),)
            answer = getattr(self, f"do_{name}")(*arguments)
            return (Status(0),) if answer is None else (Status(0), answer)

        return run

    def _made(self, what: Any) -> Any:
        self.alive.append(what)
        return what

    def do_cuStreamCreate(self, flags: int) -> int:  # noqa: N802 - CUDA's names
        return self._made(70 + flags)

    def do_cuEventCreate(self, _flags: int) -> SimpleNamespace:  # noqa: N802
        return self._made(SimpleNamespace(time=0.0))

    def do_cuStreamSynchronize(self, _stream: int) -> None:  # noqa: N802
        assert self.captured is None

    do_cuEventSynchronize = do_cuStreamSynchronize  # noqa: N815

    def do_cuStreamBeginCapture(self, _stream: int, mode: str) -> None:  # noqa: N802
        assert mode == "thread"
        self.captured = []

    def do_cuStreamEndCapture(self, _stream: int) -> SimpleNamespace:  # noqa: N802
        steps, self.captured = self.captured, None
        return self._made(SimpleNamespace(steps=steps))

    def do_cuGraphInstantiate(self, graph: SimpleNamespace, _flags: int) -> SimpleNamespace:  # noqa: N802
        return self._made(SimpleNamespace(steps=graph.steps))

    def do_cuGraphLaunch(self, graph: SimpleNamespace, _stream: int) -> None:  # noqa: N802
        self.launched.append(graph.steps.count(self.step))
        for step in graph.steps:
            step()
        self.clock += PAUSE

    def do_cuEventRecord(self, event: SimpleNamespace, _stream: int) -> None:  # noqa: N802
        event.time = self.clock

    def do_cuEventRecordWithFlags(self, event: SimpleNamespace, stream: int, flags: int) -> None:  # noqa: N802
        assert (stream, flags) == (71, 1)
        assert self.captured is not None

        def mark() -> None:
            event.time = self.clock
            self.clock += MARK

        self.captured.append(mark)

    def do_cuMemAlloc(self, size: int) -> SimpleNamespace:  # noqa: N802
        return self._made(SimpleNamespace(size=size))

    def do_cuMemsetD8Async(  # noqa: N802
        self, memory: SimpleNamespace, _value: int, count: int, stream: int
    ) -> None:
        assert (memory.size, stream) == (count, 71)
        assert self.captured is not None
        self.captured.append(lambda: setattr(self, "is_cold", True))

    def do_cuEventElapsedTime(self, start: SimpleNamespace, end: SimpleNamespace) -> float:  # noqa: N802
        return (end.time - start.time) * 1000


class Status(int):
    """A status of the driver; zero is success."""

    name = "CUDA_ERROR_INVALID_VALUE"


class Device:
    """A device that can be waited for."""

    def sync(self) -> None:
        """Wait for nothing."""


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    """Put a driver in the place of CUDA's, and streams in the place of TVM's."""
    own = Driver()

    @contextlib.contextmanager
    def use_raw_stream(_device: Any, stream: int) -> Iterator[None]:
        assert stream == 71
        yield

    monkeypatch.setitem(sys.modules, "tvm_ffi", SimpleNamespace(use_raw_stream=use_raw_stream))  # type: ignore[misc]
    monkeypatch.setitem(sys.modules, "cuda", SimpleNamespace())  # type: ignore[misc]
    monkeypatch.setitem(sys.modules, "cuda.bindings", SimpleNamespace(driver=own))  # type: ignore[misc]
    return own


def test_pauses_hardly_count(driver: Driver) -> None:
    """A hundred calls share one pause; one by one each would take four microseconds in place of three."""
    times = time_in_graphs(driver.call, Device(), repeats=3, repeat_ms=10)
    assert times == pytest.approx([CALL + PAUSE / 100] * 3)
    assert driver.outside == 1  # it loads the kernel
    repeat = driver.launched[3:][: len(driver.launched[3:]) // 3]
    assert set(repeat) == {100}
    assert 0.01 <= len(repeat) * (100 * CALL + PAUSE) < 0.0104
    assert not driver.alive


def test_a_slow_call_is_not_repeated_a_hundred_times(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repeat has as many calls as it takes, and one at least."""
    monkeypatch.setattr(sys.modules[__name__], "CALL", 4e-3)
    assert time_in_graphs(driver.call, Device(), repeats=2, repeat_ms=10) == pytest.approx(
        [4e-3] * 2, rel=1e-3
    )
    assert driver.launched == [1, 1, 3, 3, 3]
    monkeypatch.setattr(sys.modules[__name__], "CALL", 40e-3)
    assert time_in_graphs(driver.call, Device(), repeats=1, repeat_ms=10) == pytest.approx([40e-3], rel=1e-3)
    assert driver.launched[5:] == [1, 1, 1, 1]


def test_a_cold_call_follows_a_flush(driver: Driver) -> None:
    """Each call comes after a flush, and what two events take is not its time."""
    times = time_cold_in_graphs(driver.call, Device(), repeats=2, calls=3, flush_bytes=1 << 20)
    assert np.shape(times) == (2, 3)
    assert np.ravel(times) == pytest.approx([CALL + COLD] * 6)
    assert driver.outside == 1  # it loads the kernel
    assert driver.launched == [3, 3, 3]  # the first loads the graph
    assert not driver.alive


def test_an_error_of_the_driver_is_one(driver: Driver) -> None:
    """It is raised by its name, and nothing is left behind."""
    driver.failing = "cuGraphLaunch"
    with pytest.raises(RuntimeError, match="the CUDA driver says CUDA_ERROR_INVALID_VALUE"):
        time_in_graphs(driver.call, Device(), repeats=1, repeat_ms=10)
    assert not driver.alive


def test_graphs_are_used_where_they_can_be(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    """A capture is tried first; without the package or with an old driver there are none."""
    assert has_graphs(Device())
    assert not driver.alive
    driver.failing = "cuStreamBeginCapture"
    assert not has_graphs(Device())
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)  # type: ignore[arg-type]
    assert not has_graphs(Device())
