"""The reference outputs, against SciPy and a plain loop."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.signal import correlate

from abtune.measure.tvm.time_kernel import expected_output, random_inputs, relative_error
from abtune.shapes import PRESETS, Conv2d, Gemm

CONVOLUTIONS = [
    Conv2d(n=1, h=7, w=7, c=3, k=4, r=3, s=3, stride=1, padding=1, dilation=1),
    Conv2d(n=2, h=9, w=6, c=2, k=3, r=3, s=2, stride=1, padding=0, dilation=1),
    Conv2d(n=1, h=11, w=8, c=3, k=2, r=3, s=3, stride=2, padding=1, dilation=1),
    Conv2d(n=1, h=10, w=10, c=2, k=2, r=3, s=3, stride=1, padding=2, dilation=2),
    Conv2d(n=2, h=12, w=9, c=2, k=3, r=2, s=3, stride=3, padding=2, dilation=2),
    Conv2d(n=1, h=8, w=8, c=4, k=5, r=1, s=1, stride=2, padding=0, dilation=1),
]


def looped(shape: Conv2d, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Compute a convolution one output at a time, in float64, from its definition."""
    output = np.zeros(shape.output_shape)
    for n, y, x, k in itertools.product(*map(range, shape.output_shape)):
        for r, s in itertools.product(range(shape.r), range(shape.s)):
            row = y * shape.stride + r * shape.dilation - shape.padding
            column = x * shape.stride + s * shape.dilation - shape.padding
            if 0 <= row < shape.h and 0 <= column < shape.w:
                output[n, y, x, k] += data[n, row, column].astype(float) @ weight[r, s, :, k]
    return output


@pytest.mark.parametrize("shape", CONVOLUTIONS, ids=lambda shape: shape.label)
def test_convolutions_follow_their_definition(shape: Conv2d) -> None:
    """Stride, padding and dilation do what the definition says, for filters that are not square too."""
    inputs = random_inputs(shape)
    output = expected_output(shape)
    assert output.dtype == np.float32
    assert output.shape == shape.output_shape
    np.testing.assert_allclose(output, looped(shape, *inputs), rtol=1e-4, atol=1e-5)


def test_convolutions_agree_with_scipy() -> None:
    """Without stride and dilation a convolution is SciPy's correlation summed over channels."""
    shape = CONVOLUTIONS[1]
    data, weight = random_inputs(shape)
    expected = np.zeros(shape.output_shape)
    for n, k, c in itertools.product(range(shape.n), range(shape.k), range(shape.c)):
        expected[n, :, :, k] += correlate(data[n, :, :, c], weight[:, :, c, k], mode="valid")
    np.testing.assert_allclose(expected_output(shape), expected, rtol=1e-4, atol=1e-5)


def test_matrix_products_follow_their_definition() -> None:
    """C[i, j] is the sum over k of A[i, k] B[k, j]: neither side is transposed."""
    shape = Gemm(m=3, n=5, k=4)
    a, b = random_inputs(shape)
    expected = [[sum(a[i, k] * b[k, j] for k in range(4)) for j in range(5)] for i in range(3)]
    np.testing.assert_allclose(expected_output(shape), expected, rtol=1e-5)


@pytest.mark.parametrize("shape", PRESETS["tvm14009"], ids=lambda shape: shape.label)
def test_inputs_have_the_sizes_of_the_shape(shape: Conv2d | Gemm) -> None:
    """Inputs are float32, of both signs, and of the sizes that the shape names."""
    inputs = random_inputs(shape)
    assert tuple(array.shape for array in inputs) == shape.input_shapes
    assert {array.dtype for array in inputs} == {np.dtype(np.float32)}
    assert all(array.min() < 0 < array.max() for array in inputs)


def test_inputs_are_the_same_for_all_kernels() -> None:
    """A shape has the same inputs each time."""
    first, same = (random_inputs(Gemm(m=3, n=5, k=4))[0] for _ in range(2))
    assert np.array_equal(first, same)


def test_relative_error() -> None:
    """The error is the norm over the whole output, relative to the expected norm, and does not overflow."""
    expected = np.array([3.0, 4.0], dtype=np.float32)
    assert relative_error(expected, expected) == 0.0
    assert relative_error(np.array([3.0, 4.5], dtype=np.float32), expected) == pytest.approx(0.1)
    assert np.isnan(relative_error(np.array([3.0, np.nan], dtype=np.float32), expected))
    huge = np.float32(1e30) * expected
    assert relative_error(-huge, huge) == pytest.approx(2.0)
