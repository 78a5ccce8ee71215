"""The state of a GPU: without its library or driver nothing fails."""

from __future__ import annotations

import math
import sys
import types
from pathlib import Path

import pytest

from abtune.measure.plan import nvml


class NoDriver(Exception):  # noqa: N818
    """The error that NVML raises without a driver."""


MEMORY = types.SimpleNamespace(used=2 << 30, total=8 << 30)


def fake_nvml(monkeypatch: pytest.MonkeyPatch, **changes: object) -> list[object]:
    """Replace NVML by a library that knows one card; return the calls that it gets."""
    asked: list[object] = []
    functions: dict[str, object] = {
        "NVML_CLOCK_SM": 1,
        "NVML_TEMPERATURE_GPU": 0,
        "nvmlInit": lambda: None,
        "nvmlDeviceGetHandleByIndex": lambda index: asked.append(index) or "card",
        "nvmlDeviceGetHandleByUUID": lambda uuid: asked.append(uuid) or "card",
        "nvmlDeviceGetClockInfo": lambda handle, kind: {("card", 1): 1980}[handle, kind],
        "nvmlDeviceGetTemperature": lambda handle, kind: {("card", 0): 45}[handle, kind],
        "nvmlDeviceGetCurrentClocksThrottleReasons": lambda handle: {"card": 4}[handle],
        "nvmlDeviceGetMemoryInfo": lambda handle: {"card": MEMORY}[handle],
        "nvmlSystemGetCudaDriverVersion": lambda: 13020,
        "nvmlSystemGetDriverVersion": lambda: "580.95.05",
        **changes,
    }
    monkeypatch.setitem(sys.modules, "pynvml", types.SimpleNamespace(**functions))
    return asked


def fail(*_: object) -> None:
    raise NoDriver


def test_the_state_of_a_card(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clock and temperature are read in MHz and degrees; versions in words."""
    fake_nvml(monkeypatch)
    assert nvml.device_state() == (1980.0, 45.0, 4.0)
    assert nvml.memory_share() == 0.25
    assert nvml.versions() == {"driver": "580.95.05", "cuda": "13.2"}


def test_the_state_of_the_device_is_numbers() -> None:
    """Clock, temperature and throttle reasons are numbers, unknown or not."""
    assert [type(value) for value in nvml.device_state()] == [float] * 3


@pytest.mark.parametrize(
    ("visible", "asked"),
    [(None, 0), ("2", 2), ("3,1", 3), ("GPU-abc", "GPU-abc"), ("GPU-abc,GPU-d", "GPU-abc")],
)
def test_the_visible_card_is_read(
    monkeypatch: pytest.MonkeyPatch, visible: str | None, asked: object
) -> None:
    """The state is read from the first card that the process may use, by number or by name."""
    calls = fake_nvml(monkeypatch)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    nvml.device_state()
    assert calls == [asked]


@pytest.mark.parametrize(
    ("visible", "loads"),
    [(None, {"0": 0, "1": 10, "2": 20}), ("2,0", {"2": 20, "0": 0}), ("GPU-abc", {"GPU-abc": 30})],
)
def test_the_load_is_that_of_the_visible_cards(
    monkeypatch: pytest.MonkeyPatch, visible: str | None, loads: dict[str, float]
) -> None:
    """A card that no sweep here uses may be as busy as it likes."""
    fake_nvml(
        monkeypatch,
        nvmlDeviceGetCount=lambda: 3,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetHandleByUUID=lambda _: 3,
        nvmlDeviceGetUtilizationRates=lambda handle: types.SimpleNamespace(gpu=10 * handle),
    )
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert nvml.utilization() == loads


@pytest.mark.parametrize("broken", ["nvmlInit", "nvmlDeviceGetHandleByIndex", "nvmlDeviceGetTemperature"])
def test_without_a_driver_the_state_is_unknown(monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    """If NVML refuses a call the state is NaN, and nothing is raised."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    fake_nvml(monkeypatch, **{broken: fail})
    assert all(math.isnan(value) for value in nvml.device_state())


def test_without_the_library_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package there is no state and there are no versions."""
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert all(math.isnan(value) for value in nvml.device_state())
    assert math.isnan(nvml.memory_share())
    assert nvml.versions() == {}


def test_without_a_driver_there_are_no_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library without a driver gives no versions."""
    fake_nvml(monkeypatch, nvmlSystemGetDriverVersion=fail)
    assert nvml.versions() == {}


def test_the_cpu_has_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of the CPU is the system's model, or else Python's name of the processor."""
    text = "processor\t: 0\nmodel name\t: A CPU: fast\nmodel name\t: Another\n"
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: text)
    assert nvml.cpu_name() == "A CPU: fast"
    monkeypatch.setattr("platform.processor", lambda: "")
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: "processor\t: 0\n")
    assert nvml.cpu_name() == "riscv64"

    def absent(*_: object, **__: object) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", absent)
    assert nvml.cpu_name() == "riscv64"
