"""Workloads: the program that TVM tunes, the inputs of its kernels, and the outputs to expect of them."""

from __future__ import annotations

import functools
import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import ml_dtypes  # TVM needs it, too: with it, NumPy knows bfloat16 and shorter floats
import numpy as np
import numpy.typing as npt

from abtune.configurations import import_attribute
from abtune.errors import TargetError
from abtune.measure.tvm.load_tvm import ms, shash2hex, te, topi, tvm
from abtune.shapes import Conv2d, Gemm, OwnShape, Shape
from abtune.text import one_line

Array: TypeAlias = npt.NDArray[Any]
# From the inputs to the output, or to all outputs.
Reference: TypeAlias = Callable[..., Any]

# float32 sums of a few thousand terms differ by 1e-6 or so between orders of summation.
_LARGEST_ERROR = 1e-4
# Sums of shorter floats differ by more: by this many times the distance from 1 to the next number.
_ROUNDINGS = 50
# A root, a logarithm or a power in TVMScript. Of a negative number it may not exist.
_ROOTS = re.compile(r"\bT\.(?:r?sqrt|log\w*|pow)\(")
# Each process that checks kernels computes the expected output once, which must not take longer, in seconds.
_LONGEST_CHECK = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A tensor that a kernel takes."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    is_output: bool


@functools.lru_cache(maxsize=64)
def tensor_program(shape: Shape) -> Any:
    """Return the workload of a shape as an IRModule whose only function is ``main``.

    No buffer is free to have another layout, as the weights of ``topi.nn.dense`` are. MetaSchedule for CPUs
    would change that layout, and then a kernel does not take the tensors of the program.
    """
    function = _program_and_reference(shape)[0]["main"]
    return tvm.IRModule({"main": function.without_attr("layout_free_buffers")})


def program_hash(shape: Shape) -> str:
    """Return a hash of the program of a shape, as the user wrote it."""
    return shash2hex(_program_and_reference(shape)[0])


@functools.lru_cache(maxsize=64)
def _program_and_reference(shape: Shape) -> tuple[Any, Reference | None]:
    if isinstance(shape, OwnShape):
        return _own_workload(shape)
    expression = _gemm(shape) if isinstance(shape, Gemm) else _conv2d(shape)
    reference = np.matmul if isinstance(shape, Gemm) else functools.partial(_conv2d_by_numpy, shape)
    return _as_module(te.create_prim_func(expression)), reference


def call_own(name: str, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Return what a function of the user returns; TargetError with one line if it raises."""
    try:
        return function(*args, **options)
    except Exception as error:
        said = str(error)
        if isinstance(error, tvm.error.DiagnosticError):  # the fault and where it is, before the program
            said = " ".join(said.splitlines()[:2])
        # Of a longer message, such as TVM's with a whole program, the last line alone is told.
        if len(text := one_line(said)) > 200:
            raise
        raise TargetError(f"{name} raises {type(error).__name__}: {text}") from error


def _own_workload(shape: OwnShape) -> tuple[Any, Reference | None]:
    made = import_attribute(shape.workload)
    kinds = tvm.tirx.PrimFunc, tvm.IRModule
    if not isinstance(made, kinds) and callable(made):
        made = call_own("it", made, **dict(shape.sizes))
    elif shape.sizes:
        raise TargetError("it is no function, so it takes no sizes")
    program, reference = made if isinstance(made, tuple) and len(made) == 2 else (made, None)
    if isinstance(program, tvm.IRModule) and len(program.functions) == 1:
        (program,) = program.functions.values()
    if not isinstance(program, tvm.tirx.PrimFunc) or not (reference is None or callable(reference)):
        kind = type(program if reference is None else reference).__name__
        raise TargetError(f"it must be or return a PrimFunc, or a PrimFunc and a NumPy function; not {kind}")
    return _as_module(program), reference


def _as_module(function: Any) -> Any:
    return tvm.IRModule({"main": function.with_attr("global_symbol", "main")})


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


@functools.lru_cache(maxsize=64)
def parameters(shape: Shape) -> tuple[Parameter, ...]:
    """Return the tensors that kernels of a shape take, in order; the program writes the outputs."""
    module = tensor_program(shape)
    function, schedule = module["main"], tvm.s_tir.Schedule(module)
    try:
        root = schedule.get_sblock("root")
    except RuntimeError:
        raise TargetError("its PrimFunc needs blocks, as te.create_prim_func or T.sblock make them") from None
    try:
        infos = ms.arg_info.ArgInfo.from_prim_func(function)
        sizes = [tuple(map(int, info.shape)) for info in infos]
    except (RuntimeError, AttributeError, TypeError, ValueError):
        raise TargetError("its PrimFunc must take tensors of fixed shapes only") from None
    blocks = map(schedule.get, schedule.get_output_blocks(root))
    written = [region.source for block in blocks for region in block.writes]
    return tuple(
        Parameter(
            shape=size,
            dtype=np.dtype(str(info.dtype)),
            is_output=any(tensor.same_as(own) for own in written),
        )
        for info, size, tensor in zip(infos, sizes, function.params, strict=True)
    )


@functools.lru_cache(maxsize=1)  # the kernels of a shape are mostly checked one after the other
def initial_values(shape: Shape) -> tuple[Array, ...]:
    """Return what kernels of a shape are called with: random inputs, and outputs that are not written yet.

    Floats are standard normal, because with both signs errors do not hide in large sums. If the program takes
    roots or logarithms, they are positive. Whole numbers are 0 to 7, which may be indices. An output has NaN,
    or the largest whole number.
    """
    rng, is_positive = np.random.default_rng(0), bool(_ROOTS.search(tensor_program(shape).script()))
    return tuple(
        _unwritten(tensor) if tensor.is_output else _random(tensor, rng, is_positive=is_positive)
        for tensor in parameters(shape)
    )


def _random(tensor: Parameter, rng: np.random.Generator, *, is_positive: bool) -> Array:
    if tensor.dtype.kind in "iub":
        return rng.integers(2 if tensor.dtype.kind == "b" else 8, size=tensor.shape).astype(tensor.dtype)
    drawn = np.float64 if tensor.dtype == np.float64 else np.float32
    values = rng.standard_normal(tensor.shape, dtype=drawn)
    if is_positive or tensor.dtype.itemsize == 1:
        # Of 8 bits, TVM's code for CPUs takes zero and subnormal numbers for others (tvm#20315).
        smallest = drawn(ml_dtypes.finfo(tensor.dtype).smallest_normal)  # type: ignore[no-untyped-call]
        values = np.copysign(np.fmax(np.abs(values), smallest), 1 if is_positive else values)
    return values.astype(tensor.dtype, copy=False)


def _unwritten(tensor: Parameter) -> Array:
    if tensor.dtype.kind == "b":
        return np.zeros(tensor.shape, dtype=bool)
    value = np.iinfo(tensor.dtype).max if tensor.dtype.kind in "iu" else math.nan
    return np.full(tensor.shape, value, dtype=tensor.dtype)


@functools.lru_cache(maxsize=1)
def expected_output(shape: Shape) -> tuple[Array, ...]:
    """Return the outputs that all kernels of a shape should have.

    NumPy computes them, or else the program itself: without a schedule, on the CPU.
    """
    program, reference = _program_and_reference(shape)
    values, outputs = initial_values(shape), [tensor for tensor in parameters(shape) if tensor.is_output]
    if reference is None:
        return _by_plain_program(program, values, parameters(shape))
    inputs = [value for value, tensor in zip(values, parameters(shape), strict=True) if not tensor.is_output]
    made = call_own("its NumPy function", reference, *inputs)
    arrays = tuple(map(np.asarray, made if isinstance(made, tuple) else (made,)))
    if [array.shape for array in arrays] != [tensor.shape for tensor in outputs]:
        raise TargetError(
            f"its NumPy function returns shapes {[array.shape for array in arrays]}, "
            f"and its PrimFunc {[tensor.shape for tensor in outputs]}"
        )
    return arrays


def _by_plain_program(
    program: Any, values: Sequence[Array], tensors: Sequence[Parameter]
) -> tuple[Array, ...]:
    on_cpu = [tvm.runtime.tensor(value, tvm.cpu()) for value in values]
    tvm.tirx.build(program, target=tvm.target.Target("llvm"))["main"](*on_cpu)
    return tuple(made.numpy() for made, tensor in zip(on_cpu, tensors, strict=True) if tensor.is_output)


def require_checkable(shape: OwnShape) -> None:
    """Refuse a workload whose kernels could not be checked, or only slowly."""
    started = time.monotonic()
    outputs = expected_output(shape)
    if not outputs:
        raise TargetError("its PrimFunc writes none of its tensors")
    if not all(np.isfinite(output.astype(np.float64)).all() for output in outputs):
        raise TargetError(
            "its output is not finite for random inputs, so no kernel can be checked; have the program bound "
            "it, as by te.tanh, and read no tensor that it writes"
        )
    if (took := time.monotonic() - started) > _LONGEST_CHECK:
        raise TargetError(
            f"its expected output took {took:.0f} s; have the function return a PrimFunc and "
            "a faster NumPy function of its inputs"
        )


def largest_error(outputs: Sequence[Array], expected: Sequence[Array]) -> tuple[float, float]:
    """Return the relative error of the output that exceeds its limit most, and that limit."""
    pairs = zip(outputs, expected, strict=True)
    errors = [(relative_error(output, wanted), error_limit(output.dtype)) for output, wanted in pairs]
    return max(errors, key=lambda pair: math.inf if math.isnan(pair[0]) else pair[0] - pair[1])


def error_limit(dtype: np.dtype[Any]) -> float:
    """Return the largest relative error of an output of this type."""
    if dtype.kind in "iub":
        return 0.0
    eps = ml_dtypes.finfo(dtype).eps  # type: ignore[no-untyped-call]
    return min(max(_LARGEST_ERROR, _ROUNDINGS * float(eps)), 0.5)


def relative_error(output: Array, expected: Array) -> float:
    """Return the norm of the error over the norm of the expected output; NaN if the output has a NaN."""
    # Squares of float32 may overflow.
    difference, norm = output.astype(np.float64) - expected, np.linalg.norm(expected.astype(np.float64))
    return float(np.linalg.norm(difference) / norm) if norm else float(np.abs(difference).max(initial=0))


def _conv2d_by_numpy(shape: Conv2d, data: Array, weight: Array) -> Array:
    pad, step, spread = shape.padding, shape.stride, shape.dilation
    padded = np.pad(data, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    rows, columns = shape.output_shape[1:3]
    output = np.zeros(shape.output_shape, dtype=np.float32)
    for r, s in np.ndindex(shape.r, shape.s):
        window = padded[:, r * spread :: step, s * spread :: step][:, :rows, :columns]
        output += np.tensordot(window, weight[r, s], axes=1)
    return output
