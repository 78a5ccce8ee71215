"""Times calls of a kernel that a CUDA graph launches.

If the host launches calls one by one, the GPU pauses between two of them, by a microsecond on an H200. A
kernel that is shorter than a launch waits even longer. In a graph, the GPU launches the next call by itself.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any

# Calls in a graph. The pause between two graphs is as long as between two calls, so it hardly counts.
_CALLS = 100


def has_graphs(device: Any) -> bool:
    """Return whether a graph can launch calls on this device."""
    try:
        device.sync()  # gives this thread the context that TVM uses
        with contextlib.ExitStack() as stack:
            _Capture(stack, device).graph_of(lambda: None, 1)
    except Exception:  # noqa: BLE001 - a missing package, an old driver: TVM's own timer works without
        return False
    return True


def time_in_graphs(call: Callable[[], object], device: Any, *, repeats: int, repeat_ms: int) -> list[float]:
    """Return the seconds of one call, one number per repeat; a repeat takes ``repeat_ms`` or more."""
    with contextlib.ExitStack() as stack:
        capture = _Capture(stack, device)
        call()  # loads the kernel, which a graph cannot do
        least, single = repeat_ms / 1000, capture.graph_of(call, 1)
        capture.seconds(single, 1)
        calls = min(math.ceil(least / capture.seconds(single, 1)), _CALLS)
        graph = capture.graph_of(call, calls)
        launches = math.ceil(least / capture.seconds(graph, 1))
        return [capture.seconds(graph, launches) / (launches * calls) for _ in range(repeats)]


class _Capture:
    """A stream of its own for TVM's calls, because the default stream cannot be captured."""

    def __init__(self, stack: contextlib.ExitStack, device: Any) -> None:
        import tvm_ffi
        from cuda.bindings import driver

        self._stack, self._driver = stack, driver
        self._stream = _checked(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING.value))
        stack.callback(driver.cuStreamDestroy, self._stream)
        self._start, self._end = (_checked(driver.cuEventCreate(0)) for _ in range(2))
        for event in (self._start, self._end):
            stack.callback(driver.cuEventDestroy, event)
        stack.enter_context(tvm_ffi.use_raw_stream(device, int(self._stream)))

    def graph_of(self, call: Callable[[], object], calls: int) -> Any:
        """Return a graph of calls, one after the other."""
        driver = self._driver
        _checked(driver.cuStreamSynchronize(self._stream))
        mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        _checked(driver.cuStreamBeginCapture(self._stream, mode))
        for _ in range(calls):
            call()
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
        return float(_checked(driver.cuEventElapsedTime(self._start, self._end))) / 1000


def _checked(answer: tuple[Any, ...]) -> Any:
    """Return what a function of the CUDA driver returns beside its status."""
    status, *values = answer
    if int(status) != 0:
        raise RuntimeError(f"the CUDA driver says {status.name}")
    return values[0] if values else None
