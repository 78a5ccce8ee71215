"""The workloads as TVM programs."""

from __future__ import annotations

import functools
from typing import Any

from abtune.measure.tvm.load_tvm import te, topi, tvm
from abtune.shapes import Conv2d, Gemm, Shape


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
