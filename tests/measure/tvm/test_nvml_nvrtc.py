"""The state of a GPU and the compiler of its kernels: without their libraries nothing fails."""

from __future__ import annotations

import ctypes
import math
import sys
import types
from importlib.util import find_spec
from pathlib import Path

import pytest

from abtune.measure.tvm import nvrtc
from abtune.measure.workers import nvml


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


# The compiler


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ({"libcuda.so.1", "libcudart.so.13"}, "no NVIDIA driver here"),
        ({"libcudart.so.13"}, "no CUDA 13 runtime here; pip install 'abtune[cuda]'"),
        (set(), "the driver reports no GPU"),
    ],
)
def test_what_is_missing_for_a_gpu(monkeypatch: pytest.MonkeyPatch, missing: set[str], said: str) -> None:
    """The first thing that is missing is named: the driver, the runtime, or the card."""

    def load(name: str) -> None:
        if name in missing:
            raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", load)
    assert nvrtc.why_no_gpu() == said


def test_libraries_are_loaded_where_there_are_any(monkeypatch: pytest.MonkeyPatch) -> None:
    """The runtime that pip installed is loaded by name; without it nothing happens."""
    loaded: list[str] = []
    finder = types.SimpleNamespace(load_nvidia_dynamic_lib=loaded.append)
    monkeypatch.setitem(sys.modules, "cuda.pathfinder", finder)
    nvrtc.load_libraries()
    assert loaded == ["cudart"]
    finder.load_nvidia_dynamic_lib = fail
    nvrtc.load_libraries()
    monkeypatch.setitem(sys.modules, "cuda.pathfinder", None)
    nvrtc.load_libraries()
    assert loaded == ["cudart"]


def test_tvm_compiles_where_we_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    """TVM compiles if the compiler's package is missing or the variable says so."""
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    monkeypatch.delenv("ABTUNE_TVM_NVRTC", raising=False)
    assert nvrtc.compile_cubin("", "sm_90") is None
    monkeypatch.undo()
    monkeypatch.setenv("ABTUNE_TVM_NVRTC", "1")
    assert nvrtc.compile_cubin("", "sm_90") is None


def test_options_of_the_user_reach_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """TVM takes options of the compiler from its variables, and so does abtune."""
    given: list[bytes] = []
    compiler = types.SimpleNamespace(
        nvrtcResult=types.SimpleNamespace(NVRTC_SUCCESS=0),
        nvrtcCreateProgram=lambda *_: (0, None),
        nvrtcCompileProgram=lambda _program, _count, options: given.extend(options) or (1,),
        nvrtcDestroyProgram=lambda _: None,
    )
    monkeypatch.setitem(sys.modules, "cuda.bindings", types.SimpleNamespace(nvrtc=compiler))
    monkeypatch.delenv("ABTUNE_TVM_NVRTC", raising=False)
    monkeypatch.setenv("TVM_CUDA_PTXAS_REG_LEVEL", "5")
    monkeypatch.setenv("TVM_CUDA_PTXAS_EXTRA_OPTS", "-O1 --def-load-cache=ca")
    monkeypatch.setenv("TVM_CUDA_NVRTC_EXTRA_OPTS", "--ftz=false")
    nvrtc.compile_cubin("", "sm_90")
    assert given[-4:] == [
        *(f"--ptxas-options={flag}".encode() for flag in ("--register-usage-level=5", "-O1")),
        b"--ptxas-options=--def-load-cache=ca",
        b"--ftz=false",
    ]


@pytest.mark.skipif(
    not (find_spec("nvidia") and find_spec("cuda")), reason="needs the packages of the cuda extra"
)
def test_only_plain_source_is_ours() -> None:
    """Source that names integers compiles to machine code; source that uses a type trait is left to TVM."""
    plain = (
        "#include <cuda/std/cstdint>\n#include <cuda/std/type_traits>\nusing cuda::std::int32_t;\n"
        'extern "C" __global__ void f(float* x) { int32_t i = threadIdx.x; x[i] = -INFINITY; }\n'
    )
    cubin = nvrtc.compile_cubin(plain, "sm_90")
    assert cubin is not None
    assert cubin.startswith(b"\x7fELF")
    trait = plain.replace("x[i] = -INFINITY", "x[i] = cuda::std::is_same_v<float, float>")
    assert nvrtc.compile_cubin(trait, "sm_90") is None
    assert nvrtc.compile_cubin("not C++", "sm_90") is None
