"""Workloads beyond those of apache/tvm#14009: of attention, with half floats, fused, transposed.

data/README.md has the command that made ``data/h200-other-workloads.nc`` of them.
"""

from __future__ import annotations

from typing import Any

from tvm import te, topi


def attention_scores(heads: int, length: int, size: int) -> Any:
    """Return queries times transposed keys, one matrix product for each head, in float32."""
    q, k = (te.placeholder((heads, length, size), name=name) for name in "QK")
    r = te.reduce_axis((0, size), name="r")
    scores = te.compute(
        (heads, length, length), lambda h, i, j: te.sum(q[h, i, r] * k[h, j, r], axis=r), name="scores"
    )
    return te.create_prim_func([q, k, scores])


def half_product(m: int, n: int, k: int) -> Any:
    """Return a matrix product of float16 that is summed in float32, and its NumPy function."""
    a, b = te.placeholder((m, k), "float16", name="A"), te.placeholder((k, n), "float16", name="B")
    r = te.reduce_axis((0, k), name="r")
    product = te.compute(
        (m, n), lambda i, j: te.sum(a[i, r].astype("float32") * b[r, j].astype("float32"), axis=r), name="C"
    )
    return te.create_prim_func([a, b, product]), lambda a, b: a.astype("float32") @ b.astype("float32")


def dense_relu(rows: int, inputs: int, outputs: int) -> Any:
    """Return a fully connected layer with bias and ReLU, in float32, and its NumPy function."""
    x, w = te.placeholder((rows, inputs), name="X"), te.placeholder((outputs, inputs), name="W")
    bias = te.placeholder((outputs,), name="bias")
    layer = topi.nn.relu(topi.add(topi.nn.dense(x, w), bias))
    return te.create_prim_func([x, w, bias, layer]), lambda x, w, bias: (x @ w.T + bias).clip(0)


def transposed(size: int, inputs: int, outputs: int) -> Any:
    """Return a transposed convolution of 4 x 4 with stride 2, NCHW, in float32."""
    x, w = (
        te.placeholder((1, inputs, size, size), name="X"),
        te.placeholder((inputs, outputs, 4, 4), name="W"),
    )
    made = topi.nn.conv2d_transpose_nchw(x, w, (2, 2), (1, 1), "float32", (0, 0))
    return te.create_prim_func([x, w, made])
