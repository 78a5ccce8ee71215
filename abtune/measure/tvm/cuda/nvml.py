"""The state of the machine that measures. A value that cannot be read is unknown, and never an error."""

from __future__ import annotations

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


UNKNOWN = DeviceState(math.nan, math.nan, math.nan)


def state() -> DeviceState:
    """Return the state of the visible GPU; unknown without NVML."""
    try:
        import pynvml

        handle = _handle(pynvml)
        clock = pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM)
        temperature = pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU)
        reasons = pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
    except Exception:  # noqa: BLE001 - no library, no driver, no permission: there is no state to record
        return UNKNOWN
    return DeviceState(float(clock), float(temperature), float(reasons))


def memory_share() -> float:
    """Return the share of the visible GPU's memory that all programs use; NaN without NVML."""
    try:
        import pynvml

        memory = pynvml.nvmlDeviceGetMemoryInfo(_handle(pynvml))
        return float(memory.used / memory.total)
    except Exception:  # noqa: BLE001 - as above
        return math.nan


def versions() -> dict[str, str]:
    """Return the versions of the driver and of CUDA that NVML reports."""
    try:
        import pynvml

        pynvml.nvmlInit()
        cuda = pynvml.nvmlSystemGetCudaDriverVersion()
        driver = pynvml.nvmlSystemGetDriverVersion()
    except Exception:  # noqa: BLE001 - as above
        return {}
    return {"driver": str(driver), "cuda": f"{cuda // 1000}.{cuda % 1000 // 10}"}


def cpu_name() -> str:
    """Return the model of this CPU."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _handle(pynvml: Any) -> Any:
    pynvml.nvmlInit()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
    if visible.isdigit():
        return pynvml.nvmlDeviceGetHandleByIndex(int(visible))
    return pynvml.nvmlDeviceGetHandleByUUID(visible)
