"""The state of the machine that measures. A value that cannot be read is unknown, and never an error."""

from __future__ import annotations

import contextlib
import math
import os
import platform
from pathlib import Path
from typing import Any, NamedTuple


class DeviceState(NamedTuple):
    """The state of a GPU at one moment; NaN where it cannot be read."""

    sm_clock: float  # clock of the multiprocessors, MHz
    temperature: float  # temperature, degC
    # reasons that the clock is not higher: the sum of NVML's ``nvmlClocksEventReason`` bits
    throttle_reasons: float


# Without a library, a driver or a permission there is nothing to record.
_IF_KNOWN = contextlib.suppress(Exception)


def device_state() -> DeviceState:
    """Return the state of the visible GPU; unknown without NVML."""
    with _IF_KNOWN:
        nvml = _nvml()
        gpu = _visible_gpu(nvml)
        clock = nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_SM)
        temperature = nvml.nvmlDeviceGetTemperature(gpu, nvml.NVML_TEMPERATURE_GPU)
        reasons = nvml.nvmlDeviceGetCurrentClocksThrottleReasons(gpu)
        return DeviceState(float(clock), float(temperature), float(reasons))
    return DeviceState(math.nan, math.nan, math.nan)


def memory_share() -> float:
    """Return the share of the visible GPU's memory that all programs use; NaN without NVML."""
    with _IF_KNOWN:
        nvml = _nvml()
        memory = nvml.nvmlDeviceGetMemoryInfo(_visible_gpu(nvml))
        return float(memory.used / memory.total)
    return math.nan


def utilization() -> dict[str, float]:
    """Return the load of each visible GPU in percent, by number or name; nothing without NVML."""
    with _IF_KNOWN:
        nvml, visible = _nvml(), os.environ.get("CUDA_VISIBLE_DEVICES")
        names = visible.split(",") if visible else map(str, range(nvml.nvmlDeviceGetCount()))
        return {name: float(nvml.nvmlDeviceGetUtilizationRates(_gpu(nvml, name)).gpu) for name in names}
    return {}


def versions() -> dict[str, str]:
    """Return the versions of the driver and of CUDA; nothing without NVML."""
    with _IF_KNOWN:
        nvml = _nvml()
        cuda, driver = nvml.nvmlSystemGetCudaDriverVersion(), nvml.nvmlSystemGetDriverVersion()
        return {"driver": str(driver), "cuda": f"{cuda // 1000}.{cuda % 1000 // 10}"}
    return {}


def _nvml() -> Any:
    import pynvml

    pynvml.nvmlInit()
    return pynvml


def _visible_gpu(nvml: Any) -> Any:
    return _gpu(nvml, os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0])


def _gpu(nvml: Any, name: str) -> Any:
    """Return NVML's handle of the GPU that CUDA_VISIBLE_DEVICES calls so."""
    if name.isdigit():
        return nvml.nvmlDeviceGetHandleByIndex(int(name))
    return nvml.nvmlDeviceGetHandleByUUID(name)


def cpu_name() -> str:
    """Return the model of this CPU."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
