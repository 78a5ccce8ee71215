"""Compiles CUDA source to machine code without parsing libcu++, which takes most of the time.

TVM's source includes two libcu++ headers: for the names of integer types, and for type traits that float32
kernels never use. Here NVRTC gets small headers of the same names with only these declarations, and the
machine code is the same. Source that uses a trait does not compile like this, and is left to TVM. Set
``ABTUNE_TVM_NVRTC=1`` to leave everything to TVM.
"""

from __future__ import annotations

import contextlib
import os
import shlex

_HEADERS = {
    b"cuda/std/cstdint": b"""
namespace cuda { namespace std {
typedef signed char int8_t; typedef unsigned char uint8_t;
typedef short int16_t; typedef unsigned short uint16_t;
typedef int int32_t; typedef unsigned int uint32_t;
typedef long int64_t; typedef unsigned long uint64_t;
} }
""",
    b"cuda/std/type_traits": b"""
namespace cuda { namespace std {
template <class A, class B> struct is_same;
template <class A, class B> inline constexpr bool is_same_v = is_same<A, B>::value;
template <class A> struct is_integral;
template <class A> struct is_signed;
template <class A> struct is_unsigned;
template <class A> struct is_floating_point;
template <bool B, class A = void> struct enable_if;
template <bool B, class A, class C> struct conditional;
} }
""",
}

# The options of TVM's own NVRTC call that change machine code, beside those in the environment.
_OPTIONS = ("-default-device", "--device-int128", "--use_fast_math")


def load_libraries() -> None:
    """Load the CUDA runtime that pip installed, if there is one, so that TVM finds it by name."""
    with contextlib.suppress(Exception):  # without the package or the library TVM searches by itself
        from cuda.pathfinder import load_nvidia_dynamic_lib

        load_nvidia_dynamic_lib("cudart")


def why_no_gpu() -> str:
    """Return in a few words why no GPU can be used."""
    import ctypes

    needed = {
        "libcuda.so.1": "no NVIDIA driver here",
        "libcudart.so.13": "no CUDA 13 runtime here; pip install 'abtune[cuda]'",
    }
    for library, absence in needed.items():
        try:
            ctypes.CDLL(library)
        except OSError:
            return absence
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    return "the driver reports no GPU" + ("" if chosen is None else f"; CUDA_VISIBLE_DEVICES is {chosen!r}")


def compile_cubin(code: str, arch: str) -> bytes | None:
    """Return the machine code of CUDA source, or None if only TVM's own call can compile it."""
    if os.environ.get("ABTUNE_TVM_NVRTC") == "1":
        return None
    try:
        from cuda.bindings import nvrtc
    except ImportError:
        return None
    names, contents = list(_HEADERS), list(_HEADERS.values())
    # TVM takes INFINITY from libcu++, which is left out here. These are the bits of the same float.
    source = "#define INFINITY __int_as_float(0x7f800000)\n" + code
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"tvm_kernels.cu", len(names), contents, names)
    options = [option.encode() for option in (f"--gpu-architecture={arch}", *_OPTIONS, *_from_environment())]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    cubin = None
    if status == nvrtc.nvrtcResult.NVRTC_SUCCESS:
        _, size = nvrtc.nvrtcGetCUBINSize(program)
        cubin = bytearray(size)
        nvrtc.nvrtcGetCUBIN(program, cubin)
    nvrtc.nvrtcDestroyProgram(program)
    return None if cubin is None else bytes(cubin)


def _from_environment() -> list[str]:
    """Return the options that TVM takes from its variables, in TVM's order."""
    level = os.environ.get("TVM_CUDA_PTXAS_REG_LEVEL", "10")
    further = shlex.split(os.environ.get("TVM_CUDA_PTXAS_EXTRA_OPTS", ""))
    ptxas = (f"--ptxas-options={flag}" for flag in (f"--register-usage-level={level}", *further))
    return [*ptxas, *shlex.split(os.environ.get("TVM_CUDA_NVRTC_EXTRA_OPTS", ""))]
