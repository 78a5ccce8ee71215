"""Workloads of many kinds, for ``early_refusal.py``; docs/same-search.md has the command."""

from __future__ import annotations

from typing import Any

from tvm import te, topi


def product(m: int, n: int, k: int, bits: int) -> Any:
    """Return a matrix product of floats with this number of bits, summed in the same type."""
    a, b = (te.placeholder(size, f"float{bits}", name=name) for size, name in (((m, k), "A"), ((k, n), "B")))
    r = te.reduce_axis((0, k), name="r")
    return te.create_prim_func(
        [a, b, te.compute((m, n), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")]
    )


def bytes_product(m: int, n: int, k: int) -> Any:
    """Return a matrix product of int8 that is summed in int32."""
    a, b = te.placeholder((m, k), "int8", name="A"), te.placeholder((k, n), "int8", name="B")
    r = te.reduce_axis((0, k), name="r")

    def cell(i: Any, j: Any) -> Any:
        return te.sum(a[i, r].astype("int32") * b[r, j].astype("int32"), axis=r)

    return te.create_prim_func([a, b, te.compute((m, n), cell, name="C")])


def attention_values(heads: int, length: int, size: int) -> Any:
    """Return weights times values, one matrix product for each head, with heads in the middle axis."""
    weights = te.placeholder((heads, length, length), name="P")
    values = te.placeholder((length, heads, size), name="V")
    r = te.reduce_axis((0, length), name="r")
    return te.create_prim_func(
        [
            weights,
            values,
            te.compute(
                (length, heads, size),
                lambda i, h, d: te.sum(weights[h, i, r] * values[r, h, d], axis=r),
                name="mixed",
            ),
        ]
    )


def convolution(size: int, inputs: int, outputs: int, stride: int, bits: int) -> Any:
    """Return a convolution of 3 x 3 in NCHW with ReLU, in floats with this number of bits."""
    x = te.placeholder((1, inputs, size, size), f"float{bits}", name="X")
    w = te.placeholder((outputs, inputs, 3, 3), f"float{bits}", name="W")
    return te.create_prim_func([x, w, topi.nn.relu(topi.nn.conv2d_nchw(x, w, stride, 1, 1))])


def grouped(size: int, channels: int, groups: int) -> Any:
    """Return a grouped convolution of 3 x 3 in NCHW."""
    x = te.placeholder((1, channels, size, size), name="X")
    w = te.placeholder((channels, channels // groups, 3, 3), name="W")
    return te.create_prim_func([x, w, topi.nn.group_conv2d_nchw(x, w, 1, 1, 1, groups)])


def in_one_dimension(length: int, channels: int) -> Any:
    """Return a convolution over a sequence, with 3 taps."""
    x, w = te.placeholder((1, channels, length), name="X"), te.placeholder((channels, channels, 3), name="W")
    return te.create_prim_func([x, w, topi.nn.conv1d_ncw(x, w, 1, 1, 1)])


def in_three_dimensions(size: int, channels: int) -> Any:
    """Return a convolution over a volume, with 3 x 3 x 3 taps."""
    x = te.placeholder((1, channels, size, size, size), name="X")
    w = te.placeholder((channels, channels, 3, 3, 3), name="W")
    return te.create_prim_func([x, w, topi.nn.conv3d_ncdhw(x, w, 1, 1, 1, 1)])


def shared_table(rows: int, columns: int, every: int) -> Any:
    """Return a matrix product whose left rows are shared by several outputs: it reads row ``i // every``."""
    a = te.placeholder((rows // every, columns), name="A")
    b = te.placeholder((columns, columns), name="B")
    r = te.reduce_axis((0, columns), name="r")
    return te.create_prim_func(
        [
            a,
            b,
            te.compute((rows, columns), lambda i, j: te.sum(a[i // every, r] * b[r, j], axis=r), name="C"),
        ]
    )
