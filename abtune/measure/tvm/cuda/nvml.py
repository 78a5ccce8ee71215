"""The state of the machine that measures. A value that cannot be read is unknown, and never an error."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class DeviceState(NamedTuple):
    """The state of a GPU at one moment; NaN where it cannot be read."""

    sm_clock: float  # clock of the multiprocessors, MHz
    temperature: float  # temperature, degC
    # reasons that the clock is not higher: the sum of NVML's ``nvmlClocksEventReason`` bits
    throttle_reasons: float


def device_state() -> DeviceState:
    """Return the state of the visible GPU; unknown without NVML."""

    def ask(pynvml: Any) -> DeviceState:
        gpu = _visible_gpu(pynvml)
        clock = pynvml.nvmlDeviceGetClockInfo(gpu, pynvml.NVML_CLOCK_SM)
        temperature = pynvml.nvmlDeviceGetTemperature(gpu, pynvml.NVML_TEMPERATURE_GPU)
        reasons = pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(gpu)
        return DeviceState(float(clock), float(temperature), float(reasons))

    return _read(ask, DeviceState(math.nan, math.nan, math.nan))


def memory_share() -> float:
    """Return the share of the visible GPU's memory that all programs use; NaN without NVML."""

    def ask(pynvml: Any) -> float:
        memory = pynvml.nvmlDeviceGetMemoryInfo(_visible_gpu(pynvml))
        return float(memory.used / memory.total)

    return _read(ask, math.nan)


def utilization() -> dict[str, float]:
    """Return the load of each visible GPU in percent, by number or name; nothing without NVML."""

    def ask(pynvml: Any) -> dict[str, float]:
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        names = visible.split(",") if visible else map(str, range(pynvml.nvmlDeviceGetCount()))
        return {name: float(pynvml.nvmlDeviceGetUtilizationRates(_gpu(pynvml, name)).gpu) for name in names}

    return _read(ask, {})


def versions() -> dict[str, str]:
    """Return the versions of the driver and of CUDA; nothing without NVML."""

    def ask(pynvml: Any) -> dict[str, str]:
        cuda = pynvml.nvmlSystemGetCudaDriverVersion()
        driver = pynvml.nvmlSystemGetDriverVersion()
        return {"driver": str(driver), "cuda": f"{cuda // 1000}.{cuda % 1000 // 10}"}

    return _read(ask, {})


def _read(ask: Callable[[Any], T], unknown: T) -> T:
    """Return what `ask` reads from NVML, or `unknown`."""
    try:
        import pynvml

        pynvml.nvmlInit()
        return ask(pynvml)
    except Exception:  # noqa: BLE001 - no library, no driver, no permission: there is nothing to record
        return unknown


def _visible_gpu(pynvml: Any) -> Any:
    return _gpu(pynvml, os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0])


def _gpu(pynvml: Any, name: str) -> Any:
    """Return NVML's handle of the GPU that CUDA_VISIBLE_DEVICES calls so."""
    if name.isdigit():
        return pynvml.nvmlDeviceGetHandleByIndex(int(name))
    return pynvml.nvmlDeviceGetHandleByUUID(name)


def cpu_name() -> str:
    """Return the model of this CPU."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
