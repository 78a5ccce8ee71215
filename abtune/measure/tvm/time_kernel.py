"""Kernels on the device of this process: loaded, timed, and checked."""

from __future__ import annotations

import functools
import statistics
import tempfile
import time
from dataclasses import replace
from typing import Any

import numpy as np

from abtune.measure.plan import nvml
from abtune.measure.plan.problem import Kernel, Timing
from abtune.measure.tvm.graph_timing import time_cold_in_graphs, time_in_graphs
from abtune.measure.tvm.load_tvm import tvm, tvm_ffi
from abtune.measure.tvm.tvm_devices import device_of, is_cuda
from abtune.measure.tvm.workloads import expected_output, initial_values, largest_error, parameters
from abtune.shapes import Shape

# This many bytes through the caches leave them cold; an H200 has 60 MB of L2.
_FLUSH_BYTES = {"cuda": 256 << 20, "llvm": 64 << 20}
# A candidate whose first call takes longer is not called again; all else in that call takes milliseconds.
_SLOW_CALL = 0.2


def time_candidate(kernel: Kernel, timing: Timing) -> list[float]:
    """Return the timings of a candidate; one whose call exceeds ``timing.repeat_ms`` is timed only once."""
    first = first_call(kernel)
    if first > _SLOW_CALL:
        return [first]
    once = time_kernel(kernel, Timing(repeats=1, repeat_ms=0, cache="warm"))
    affordable = int(timing.repeat_ms / 1000 / max(once[0], 1e-9))
    if affordable < 1:
        return once
    # Twenty cold calls of a slow candidate would take twenty times as long as a warm repeat.
    return time_kernel(kernel, replace(timing, cold_calls=min(timing.cold_calls, affordable)))


def time_kernel(kernel: Kernel, timing: Timing) -> list[float]:
    """Return the seconds of one call by device timers, one number per repeat, after a warm-up call."""
    tensors = arguments(kernel.shape, kernel.target)
    device = device_of(kernel.target)
    flush = _FLUSH_BYTES["cuda" if is_cuda(kernel.target) else "llvm"]
    if timing.launched_by == "graph":
        call = functools.partial(load_library(kernel.library)["main"], *tensors)
        if timing.cache == "warm":
            return time_in_graphs(call, device, repeats=timing.repeats, repeat_ms=timing.repeat_ms)
        size = {"repeats": timing.repeats, "calls": timing.cold_calls, "flush_bytes": flush}
        return [*map(statistics.median, time_cold_in_graphs(call, device, **size))]
    # TVM raises the number of calls in a repeat until it takes ``min_repeat_ms``.
    timed = functools.partial(load_library(kernel.library).time_evaluator, "main", device, number=1)
    if timing.cache == "cold":
        # One call per repeat, because TVM empties the caches before each repeat, and not before each call.
        calls = timed(repeat=timing.repeats * timing.cold_calls, cache_flush_bytes=flush)(*tensors).results
        times = np.median(np.reshape(calls, (timing.repeats, timing.cold_calls)), axis=1)
    else:
        times = timed(repeat=timing.repeats, min_repeat_ms=timing.repeat_ms)(*tensors).results
    device.sync()
    return [float(seconds) for seconds in times]


def first_call(kernel: Kernel) -> float:
    """Return the seconds of one call by the clock of this process, without a warm-up call."""
    tensors, device = arguments(kernel.shape, kernel.target), device_of(kernel.target)
    call = load_library(kernel.library)["main"]
    # A launch returns before its kernel has ended, so the clock waits for the device before and after.
    device.sync()
    started = time.perf_counter()
    call(*tensors)
    device.sync()
    return time.perf_counter() - started


def check_kernel(kernel: Kernel) -> tuple[float, float]:
    """Return the relative error of a kernel's outputs, after running it once, and the limit of it."""
    tensors, unwritten = arguments(kernel.shape, kernel.target), initial_values(kernel.shape)
    outputs = [number for number, tensor in enumerate(parameters(kernel.shape)) if tensor.is_output]
    for number in outputs:
        tensors[number].copyfrom(unwritten[number])
    load_library(kernel.library)["main"](*tensors)
    device_of(kernel.target).sync()
    return largest_error([tensors[number].numpy() for number in outputs], expected_output(kernel.shape))


@functools.lru_cache(maxsize=4)
def arguments(shape: Shape, target: str) -> list[Any]:
    """Return device tensors for the inputs and the outputs."""
    # Before these tensors take memory, because it is asked only once.
    memory_before()
    return [tvm.runtime.tensor(array, device_of(target)) for array in initial_values(shape)]


# The check, the first call and the timing of one kernel follow each other.
@functools.lru_cache(maxsize=1)
def load_library(library: bytes) -> Any:
    """Return the runtime module of a shared library."""
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        file.write(library)
        file.flush()
        # By default TVM keeps each library until its process ends. Linux limits the mappings of a process.
        return tvm_ffi.load_module(file.name, keep_module_alive=False)


@functools.lru_cache(maxsize=1)
def memory_before() -> float:
    """Return the share of the device's memory that was in use before this process first used any."""
    return nvml.memory_share()


def memory_grown() -> float:
    """Return the share of its memory that the GPU uses beyond :func:`memory_before`; NaN if unknown."""
    return nvml.memory_share() - memory_before()
