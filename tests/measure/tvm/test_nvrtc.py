"""The compiler of kernels for a GPU: without its libraries nothing fails."""

from __future__ import annotations

import ctypes
import sys
import types
from importlib.util import find_spec

import pytest

from abtune.measure.tvm import nvrtc


def fail(*_: object) -> None:
    raise RuntimeError("no such library")


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
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert nvrtc.why_no_gpu() == said


def test_a_choice_of_gpus_that_leaves_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Schedulers of clusters set the variable; where no GPU was asked for, it is empty."""
    monkeypatch.setattr(ctypes, "CDLL", lambda name: name)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert nvrtc.why_no_gpu() == "the driver reports no GPU; CUDA_VISIBLE_DEVICES is ''"


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
