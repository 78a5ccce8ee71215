"""Calls in CUDA graphs, with a driver that only keeps a clock: tests have no GPU."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from abtune.measure.tvm.graph_timing import has_graphs, time_in_graphs

CALL, PAUSE = 3e-6, 1e-6  # seconds of a call, and between two graphs


class Driver:
    """The functions of ``cuda.bindings.driver`` that are used, on a GPU without noise."""

    CUstream_flags = SimpleNamespace(CU_STREAM_NON_BLOCKING=SimpleNamespace(value=1))
    CUstreamCaptureMode = SimpleNamespace(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL="thread")

    def __init__(self) -> None:
        self.clock = 0.0
        self.alive: list[Any] = []
        self.captured: int | None = None  # calls in the graph that is being captured
        self.outside = 0  # calls that were launched one by one
        self.launched: list[int] = []  # the calls of each graph, in order
        self.failing = ""

    def call(self) -> None:
        if self.captured is None:
            self.outside += 1
        else:
            self.captured += 1

    def __getattr__(self, name: str) -> Any:
        def run(*arguments: Any) -> tuple[Any, ...]:
            if name == self.failing:
                return (Status(1),)
            if name.endswith("Destroy"):
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
        self.captured = 0

    def do_cuStreamEndCapture(self, _stream: int) -> SimpleNamespace:  # noqa: N802
        calls, self.captured = self.captured, None
        return self._made(SimpleNamespace(calls=calls))

    def do_cuGraphInstantiate(self, graph: SimpleNamespace, _flags: int) -> SimpleNamespace:  # noqa: N802
        return self._made(SimpleNamespace(calls=graph.calls))

    def do_cuGraphLaunch(self, graph: SimpleNamespace, _stream: int) -> None:  # noqa: N802
        self.launched.append(graph.calls)
        self.clock += graph.calls * CALL + PAUSE

    def do_cuEventRecord(self, event: SimpleNamespace, _stream: int) -> None:  # noqa: N802
        event.time = self.clock

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
