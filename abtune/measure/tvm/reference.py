"""The correct output of each workload, computed with NumPy; every winner is checked against it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from abtune.shapes import Conv2d, Gemm, Shape

Array = npt.NDArray[np.float32]


def random_inputs(shape: Shape, rng: np.random.Generator) -> tuple[Array, ...]:
    """Return standard normal inputs: with both signs, errors do not hide in large sums."""
    return tuple(rng.standard_normal(size, dtype=np.float32) for size in shape.input_shapes)


def expected_output(shape: Shape, inputs: tuple[Array, ...]) -> Array:
    """Return the output of a workload."""
    match shape:
        case Gemm():
            return np.matmul(*inputs)
        case Conv2d():
            return _conv2d(shape, *inputs)


def relative_error(output: Array, expected: Array) -> float:
    """Return the norm of the error over the norm of the expected output; NaN if the output has a NaN."""
    difference = output.astype(np.float64) - expected
    return float(np.linalg.norm(difference) / np.linalg.norm(expected.astype(np.float64)))


def _conv2d(shape: Conv2d, data: Array, weight: Array) -> Array:
    pad, step, spread = shape.padding, shape.stride, shape.dilation
    padded = np.pad(data, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    rows, columns = shape.output_shape[1:3]
    output = np.zeros(shape.output_shape, dtype=np.float32)
    for r in range(shape.r):
        for s in range(shape.s):
            top, left = r * spread, s * spread
            window = padded[
                :, top : top + (rows - 1) * step + 1 : step, left : left + (columns - 1) * step + 1 : step
            ]
            output += np.tensordot(window, weight[r, s], axes=1)
    return output
