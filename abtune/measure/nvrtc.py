"""Compiles CUDA source to machine code without the headers that TVM puts before it.

TVM prepends libcu++ headers for integer types that its float32 kernels never use; parsing them is more
than half of the compile time, and the machine code is the same. Source that does need a header is left to
TVM. Set ``ABTUNE_TVM_NVRTC=1`` to leave everything to TVM.
"""

from __future__ import annotations

import os
import re
from typing import Any

# What NVRTC lacks and generated code may use.
_PREAMBLE = """
typedef signed char int8_t; typedef unsigned char uint8_t;
typedef short int16_t; typedef unsigned short uint16_t;
typedef int int32_t; typedef unsigned int uint32_t;
typedef long long int64_t; typedef unsigned long long uint64_t;
#define __asm__ asm
#define __volatile__ volatile
#define INFINITY __int_as_float(0x7f800000)
"""

# The options of TVM's own NVRTC call that change machine code.
_OPTIONS = (
    "-default-device",
    "--device-int128",
    "--use_fast_math",
    "--ptxas-options=--register-usage-level=10",
)


def load_libraries() -> None:
    """Load the CUDA runtime that pip installed, so that TVM finds it by name; nothing if there is none."""
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib

        load_nvidia_dynamic_lib("cudart")
    except Exception:  # noqa: BLE001 - no such package or no such library: TVM then has its own search
        return


def why_no_gpu() -> str:
    """Say what is missing for a GPU to be usable, in a few words."""
    import ctypes

    for library, meaning in (("libcuda.so.1", "no NVIDIA driver"), ("libcudart.so.13", "no CUDA 13 runtime")):
        try:
            ctypes.CDLL(library)
        except OSError:
            return f"{meaning} here" + ("; pip install 'abtune[cuda]'" if "runtime" in meaning else "")
    return "the driver reports no GPU"


def compile_cubin(code: str, arch: str) -> bytes | None:
    """Compile to a cubin, or return None for source that only TVM's own call can compile.

    Parameters
    ----------
    code : str
        CUDA source as TVM generates it.
    arch : str
        Architecture, such as ``"sm_90"``.
    """
    if os.environ.get("ABTUNE_TVM_NVRTC") == "1":
        return None
    try:
        from cuda.bindings import nvrtc
    except ImportError:
        return None
    code = _without_host_headers(code)
    if re.search(r"^\s*#\s*include", code, flags=re.MULTILINE):
        return None
    status, program = nvrtc.nvrtcCreateProgram((_PREAMBLE + code).encode(), b"tvm_kernels.cu", 0, None, None)
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        return None
    options = [option.encode() for option in (f"--gpu-architecture={arch}", *_OPTIONS)]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    cubin = _read_cubin(nvrtc, program) if status == nvrtc.nvrtcResult.NVRTC_SUCCESS else None
    nvrtc.nvrtcDestroyProgram(program)
    return cubin


def _read_cubin(nvrtc: Any, program: Any) -> bytes:
    _, size = nvrtc.nvrtcGetCUBINSize(program)
    buffer = bytearray(size)
    nvrtc.nvrtcGetCUBIN(program, buffer)
    return bytes(buffer)


def _without_host_headers(code: str) -> str:
    """Drop includes that only a host compiler sees, and empty conditionals around them."""
    return re.sub(r"^\s*#\s*include\s*<cuda\.h>\s*$", "", code, flags=re.MULTILINE)
