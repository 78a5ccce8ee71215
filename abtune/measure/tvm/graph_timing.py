"""Times calls of a kernel that a CUDA graph launches.

If the host launches calls one by one, the GPU pauses between two of them, by a microsecond on an H200. A
kernel that is shorter than a launch waits even longer. In a graph, the GPU launches the next call by itself.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterable
from typing import Any

# Calls in a graph. The pause between two graphs is as long as between two calls, so it hardly counts.
_CALLS = 100


def has_graphs(device: Any) -> bool:
    """Return whether a graph can launch calls on this device."""
    try:
        device.sync()  # gives this thread the context that TVM uses
        with contextlib.ExitStack() as stack:
            _Capture(stack, device).graph_of([lambda: None])
    except Exception:  # noqa: BLE001 - a missing package, an old driver: TVM's own timer works without
        return False
    return True


def time_in_graphs(call: Callable[[], object], device: Any, *, repeats: int, repeat_ms: int) -> list[float]:
    """Return the seconds of one call, one number per repeat; a repeat takes ``repeat_ms`` or more."""
    with contextlib.ExitStack() as stack:
        capture = _Capture(stack, device)
        call()  # loads the kernel, which a graph cannot do
        least, single = repeat_ms / 1000, capture.graph_of([call])
        capture.seconds(single, 1)
        calls = min(math.ceil(least / capture.seconds(single, 1)), _CALLS)
        graph = capture.graph_of([call] * calls)
        launches = math.ceil(least / capture.seconds(graph, 1))
        return [capture.seconds(graph, launches) / (launches * calls) for _ in range(repeats)]


def time_cold_in_graphs(
    call: Callable[[], object], device: Any, *, repeats: int, calls: int, flush_bytes: int
) -> list[list[float]]:
    """Return the seconds of single calls, ``calls`` per repeat; before each, the GPU writes some bytes.

    Two events with nothing between them are 3 microseconds apart on an H200. This is subtracted. What is left
    has the call and one step of a graph to the next, as the calls of :func:`time_in_graphs` do.
    """
    with contextlib.ExitStack() as stack:
        capture = _Capture(stack, device)
        call()  # loads the kernel, which a graph cannot do
        flush = capture.writer(flush_bytes)
        timers = [[capture.event() for _ in range(3)] for _ in range(calls)]
        steps: list[Callable[[], object]] = []
        for timer in timers:
            start, end, after = (functools.partial(capture.mark, event) for event in timer)
            steps += [flush, start, call, end, after]
        graph = capture.graph_of(steps)
        capture.seconds(graph, 1)  # the first launch loads the graph
        times = []
        for _ in range(repeats):
            capture.seconds(graph, 1)
            times.append(
                [capture.between(start, end) - capture.between(end, after) for start, end, after in timers]
            )
        return times


class _Capture:
    """A stream of its own for TVM's calls, because the default stream cannot be captured."""

    def __init__(self, stack: contextlib.ExitStack, device: Any) -> None:
        import tvm_ffi
        from cuda.bindings import driver

        self._stack, self._driver = stack, driver
        self._stream = _checked(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING.value))
        stack.callback(driver.cuStreamDestroy, self._stream)
        self._start, self._end = self.event(), self.event()
        stack.enter_context(tvm_ffi.use_raw_stream(device, int(self._stream)))

    def event(self) -> Any:
        """Return an event, which keeps the time when the GPU passes it."""
        event = _checked(self._driver.cuEventCreate(0))
        self._stack.callback(self._driver.cuEventDestroy, event)
        return event

    def writer(self, size: int) -> Callable[[], None]:
        """Return a function that has the GPU write some bytes."""
        driver = self._driver
        memory = _checked(driver.cuMemAlloc(size))
        self._stack.callback(driver.cuMemFree, memory)
        return lambda: _checked(driver.cuMemsetD8Async(memory, 0, size, self._stream))

    def mark(self, event: Any) -> None:
        """Make an event a step of the graph that is being captured."""
        flag = self._driver.CUevent_record_flags.CU_EVENT_RECORD_EXTERNAL.value
        _checked(self._driver.cuEventRecordWithFlags(event, self._stream, flag))

    def graph_of(self, steps: Iterable[Callable[[], object]]) -> Any:
        """Return a graph of steps, one after the other."""
        driver = self._driver
        _checked(driver.cuStreamSynchronize(self._stream))
        mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        _checked(driver.cuStreamBeginCapture(self._stream, mode))
        for step in steps:
            step()
        graph = _checked(driver.cuStreamEndCapture(self._stream))
        self._stack.callback(driver.cuGraphDestroy, graph)
        executable = _checked(driver.cuGraphInstantiate(graph, 0))
        self._stack.callback(driver.cuGraphExecDestroy, executable)
        return executable

    def seconds(self, graph: Any, launches: int) -> float:
        """Return how long some launches of a graph take by the clock of the GPU."""
        driver = self._driver
        _checked(driver.cuEventRecord(self._start, self._stream))
        for _ in range(launches):
            _checked(driver.cuGraphLaunch(graph, self._stream))
        _checked(driver.cuEventRecord(self._end, self._stream))
        _checked(driver.cuEventSynchronize(self._end))
        return self.between(self._start, self._end)

    def between(self, start: Any, end: Any) -> float:
        """Return the seconds between two events."""
        return float(_checked(self._driver.cuEventElapsedTime(start, end))) / 1000


def _checked(answer: tuple[Any, ...]) -> Any:
    """Return what a function of the CUDA driver returns beside its status."""
    status, *values = answer
    if int(status) != 0:
        raise RuntimeError(f"the CUDA driver says {status.name}")
    return values[0] if values else None
