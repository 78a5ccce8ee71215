"""TVM as abtune uses it: loaded without what it never needs, and its workloads."""

from __future__ import annotations

import functools
import inspect
import sys
import traceback
import types
from typing import Any
from unittest import mock

from abtune.measure.tvm import nvrtc
from abtune.shapes import Conv2d, Gemm, Shape

__all__ = ["load_tensor_intrinsics", "ms", "shash2hex", "tensor_program", "tvm"]

INTRINSICS = "tvm.s_tir.tensor_intrin"


def _import_tvm() -> Any:
    """Import TVM without its tensor-core intrinsics and without PyTorch.

    Float32 schedules never use the intrinsics. They take long to load, and ``TuneContext`` imports them for
    every workload. TVM's FFI imports PyTorch where it is installed and asks it for a GPU.
    That takes seconds and initializes CUDA, which then works in no fork of this process.
    """
    nvrtc.load_libraries()
    sys.modules.setdefault(INTRINSICS, types.ModuleType(INTRINSICS))
    # None makes ``import torch`` fail, until it is taken away below.
    is_hidden = sys.modules.setdefault("torch", None) is None  # type: ignore[arg-type]
    try:
        import tvm
    finally:
        if is_hidden:
            del sys.modules["torch"]
    return tvm


tvm = _import_tvm()

from tvm import te, topi  # noqa: E402
from tvm.s_tir import meta_schedule as ms  # noqa: E402
from tvm.s_tir.meta_schedule.utils import shash2hex  # noqa: E402


def load_tensor_intrinsics() -> None:
    """Load the real intrinsics in place of the empty module, for a design space that may need them."""
    # Only the stand-in has no file.
    if not hasattr(sys.modules[INTRINSICS], "__file__"):
        del sys.modules[INTRINSICS]
        # Before it parses a program, TVM has Python look up the source of all frames of the stack. It reads
        # this source only if the program stands in a class, which none of these does.
        with mock.patch.object(inspect, "stack", _stack_without_source):
            import tvm.s_tir.tensor_intrin  # noqa: F401


def _stack_without_source(*_: object, **__: object) -> list[inspect.FrameInfo]:
    """Return the frames of the caller, as ``inspect.stack`` does, but without their source."""
    own = inspect.currentframe()
    callers = traceback.walk_stack(own and own.f_back)
    return [
        inspect.FrameInfo(frame, frame.f_code.co_filename, line, frame.f_code.co_name, None, None)
        for frame, line in callers
    ]


@functools.lru_cache(maxsize=64)
def tensor_program(shape: Shape) -> Any:
    """Return the workload of a shape as an IRModule whose function is ``main``."""
    expression = _gemm(shape) if isinstance(shape, Gemm) else _conv2d(shape)
    function = te.create_prim_func(expression).with_attr("global_symbol", "main")
    return tvm.IRModule({"main": function})


def _gemm(shape: Gemm) -> list[Any]:
    a, b = (te.placeholder(size, name=name) for size, name in zip(shape.input_shapes, "AB", strict=True))
    k = te.reduce_axis((0, shape.k), name="k")
    product = te.compute(shape.output_shape, lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return [a, b, product]


def _conv2d(shape: Conv2d) -> list[Any]:
    names = ("data", "weight")
    data, weight = (te.placeholder(s, name=n) for s, n in zip(shape.input_shapes, names, strict=True))
    pad = [0, shape.padding, shape.padding, 0]
    padded = topi.nn.pad(data, pad, pad, name="padded")
    r = te.reduce_axis((0, shape.r), name="r")
    s = te.reduce_axis((0, shape.s), name="s")
    c = te.reduce_axis((0, shape.c), name="c")
    output = te.compute(
        shape.output_shape,
        lambda n, h, w, k: te.sum(
            padded[n, h * shape.stride + r * shape.dilation, w * shape.stride + s * shape.dilation, c]
            * weight[r, s, c, k],
            axis=[r, s, c],
        ),
        name="conv2d_nhwc",
    )
    return [data, weight, output]
