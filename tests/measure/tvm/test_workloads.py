"""Workloads: reference outputs against SciPy and a plain loop, and programs of the user."""

from __future__ import annotations

import functools
import itertools
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.signal import correlate
from tvm_samples import CUDA, kernel, problem, random_schedules

from abtune.configurations import ASYNC, EVOLUTIONARY, MAINLINE, RANDOM
from abtune.errors import InputError, TargetError
from abtune.measure.plan.records import SearchHistory
from abtune.measure.tvm.workloads import expected_output, initial_values, relative_error
from abtune.shapes import PRESETS, Conv2d, Gemm, parse_shape

pytestmark = pytest.mark.filterwarnings("default")  # what TVM and XGBoost warn of is theirs

DOCS = Path(__file__).parents[3] / "docs"
OWN = """
from tvm import IRModule, te, topi
from tvm.script import tirx as T


def product(m, n, k, dtype="float32", sums="float32"):
    a, b = te.placeholder((m, k), dtype, name="A"), te.placeholder((k, n), dtype, name="B")
    r = te.reduce_axis((0, k), name="r")
    cell = lambda i, j: te.sum(a[i, r].astype(sums) * b[r, j].astype(sums), axis=r)
    return te.create_prim_func([a, b, te.compute((m, n), cell, name="C")])

def whole(m):
    return product(m, m, m, "int8", "int32")

def half(m, n=None, k=None):
    program = product(m, n or m, k or m, "float16", "float16")
    return program, lambda a, b: a.astype("float32") @ b.astype("float32")

def module(m):
    return IRModule({"any name": product(m, m, m)})

def grouped(size, channels, groups):
    x = te.placeholder((1, channels, size, size), name="X")
    w = te.placeholder((channels, channels // groups, 3, 3), name="W")
    return te.create_prim_func([x, w, topi.nn.group_conv2d_nchw(x, w, 1, 1, 1, groups)])

def every_fourth(n):
    a, b = te.placeholder((n // 4, n), name="A"), te.placeholder((n, n), name="B")
    r = te.reduce_axis((0, n), name="r")
    cell = lambda i, j: te.sum(a[i // 4, r] * b[r, j], axis=r)
    return te.create_prim_func([a, b, te.compute((n, n), cell, name="C")])

def small_product():
    return product(128, 128, 128, "float16", "float16")

def softmax(rows, columns):
    x = te.placeholder((rows, columns), name="X")
    return te.create_prim_func([x, topi.nn.softmax(x)])

def total(n):
    x = te.placeholder((n, n), name="X")
    return te.create_prim_func([x, topi.sum(x)])

def dense(n):
    x, w = te.placeholder((n, n), name="X"), te.placeholder((n, n), name="W")
    return te.create_prim_func([x, w, topi.nn.dense(x, w)])

def batch_norm(n):
    x, *of_channels = (te.placeholder((1, n, 4, 4) if name == "X" else (n,), name=name) for name in "XABCD")
    return te.create_prim_func([x, *of_channels, *topi.nn.batch_norm(x, *of_channels)])

def short(n):
    x = te.placeholder((n, n), "float8_e4m3fn", name="X")
    program = te.create_prim_func([x, te.compute((n, n), lambda i, j: x[i, j].astype("float32"))])
    return program, lambda x: x.astype("float32")

def logarithm(n):
    x = te.placeholder((n, n), "float16", name="X")
    return te.create_prim_func([x, topi.log(x)])

def both(n):
    x = te.placeholder((n,), name="X")
    more, twice = te.compute((n,), lambda i: x[i] + 1), te.compute((n,), lambda i: x[i] * 2)
    return te.create_prim_func([x, more, twice])

@T.prim_func(s_tir=True)
def gather(X: T.Buffer((16, 32), "float32"), I: T.Buffer((64,), "int32"), Z: T.Buffer((64, 32), "float32")):
    for i, j in T.grid(64, 32):
        with T.sblock("gather"):
            row, column = T.axis.remap("SS", [i, j])
            Z[row, column] = X[I[row], column]

def unary(of, n=8):
    x = te.placeholder((n,), name="X")
    return te.create_prim_func([x, te.compute((n,), lambda i: of(x[i]), name="Z")])

def raises(n):
    raise ValueError("of no use")

def tensor_cores(target):
    from tvm.s_tir.meta_schedule.space_generator import PostOrderApply

    kind = "cuda-tensorcore"
    return PostOrderApply(sch_rules=kind, postprocs=kind, mutator_probs=kind)

three = 3
def no_function():
    return gather, 4
def not_a_number():
    return unary(te.asin)
def no_blocks():
    @T.prim_func(s_tir=True)
    def nothing(X: T.Buffer((4,), "float32")):
        T.evaluate(0)
    return nothing
def in_place():
    @T.prim_func(s_tir=True)
    def twice(X: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("twice"):
                v = T.axis.spatial(4, i)
                X[v] = X[v] * 2.0
    return twice
def misspelt():
    @T.prim_func(s_tir=True)
    def wrong(X: T.Buffer((4,), "float32")):
        Y[0] = X[0]
    return wrong
def symbolic():
    return unary(te.exp, te.var("n"))
def other_shape():
    return unary(te.exp), lambda x: x[:3]
def wrong():
    return unary(te.exp), lambda x: x
"""


@pytest.fixture
def own(room: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write workloads of a user into the working directory."""
    Path(tmp_path / "workloads_of_a_user.py").write_text(OWN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "workloads_of_a_user", raising=False)
    for name in ("_program_and_reference", "tensor_program", "parameters"):
        getattr(room.workloads, name).cache_clear()
    for function in (initial_values, expected_output):
        function.cache_clear()


def own_shape(label: str) -> Any:
    return parse_shape(f"workloads_of_a_user:{label}")


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
    *inputs, _ = initial_values(shape)
    (output,) = expected_output(shape)
    assert output.dtype == np.float32
    assert output.shape == shape.output_shape
    np.testing.assert_allclose(output, looped(shape, *inputs), rtol=1e-4, atol=1e-5)


def test_convolutions_agree_with_scipy() -> None:
    """Without stride and dilation a convolution is SciPy's correlation summed over channels."""
    shape = CONVOLUTIONS[1]
    data, weight, _ = initial_values(shape)
    expected = np.zeros(shape.output_shape)
    for n, k, c in itertools.product(range(shape.n), range(shape.k), range(shape.c)):
        expected[n, :, :, k] += correlate(data[n, :, :, c], weight[:, :, c, k], mode="valid")
    np.testing.assert_allclose(expected_output(shape)[0], expected, rtol=1e-4, atol=1e-5)


def test_matrix_products_follow_their_definition() -> None:
    """C[i, j] is the sum over k of A[i, k] B[k, j]: neither side is transposed."""
    shape = Gemm(m=3, n=5, k=4)
    a, b, _ = initial_values(shape)
    expected = [[sum(a[i, k] * b[k, j] for k in range(4)) for j in range(5)] for i in range(3)]
    np.testing.assert_allclose(expected_output(shape)[0], expected, rtol=1e-5)


@pytest.mark.parametrize("shape", PRESETS["tvm14009"], ids=lambda shape: shape.label)
def test_inputs_have_the_sizes_of_the_shape(shape: Conv2d | Gemm) -> None:
    """Inputs are float32, of both signs, and of the sizes that the shape names."""
    *inputs, output = initial_values(shape)
    assert output.shape == shape.output_shape
    assert np.isnan(output).all()
    assert tuple(array.shape for array in inputs) == shape.input_shapes
    assert {array.dtype for array in inputs} == {np.dtype(np.float32)}
    assert all(array.min() < 0 < array.max() for array in inputs)


def test_inputs_are_the_same_for_all_kernels() -> None:
    """A shape has the same inputs each time."""
    shape = Gemm(m=3, n=5, k=4)
    first = initial_values(shape)[0]
    initial_values.cache_clear()
    same = initial_values(shape)[0]
    assert first is not same
    assert np.array_equal(first, same)


def test_relative_error() -> None:
    """The error is the norm over the whole output, relative to the expected norm, and does not overflow."""
    expected = np.array([3.0, 4.0], dtype=np.float32)
    assert relative_error(expected, expected) == 0.0
    assert relative_error(np.array([3.0, 4.5], dtype=np.float32), expected) == pytest.approx(0.1)
    assert np.isnan(relative_error(np.array([3.0, np.nan], dtype=np.float32), expected))
    huge = np.float32(1e30) * expected
    assert relative_error(-huge, huge) == pytest.approx(2.0)


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("label", "limit"),
    [
        ("product:m=16_n=32_k=8", 1e-4),
        ("whole:m=16", 0.0),
        ("half:m=32", 50 / 1024),
        ("module:m=16", 1e-4),
        ("softmax:rows=16_columns=32", 1e-4),
        ("total:n=16", 1e-4),
        ("dense:n=64", 1e-4),
        ("batch_norm:n=8", 1e-4),
        ("short:n=32", 1e-4),
        ("logarithm:n=32", 50 / 1024),
        ("both:n=64", 1e-4),
        ("gather", 1e-4),
    ],
)
def test_programs_of_the_user_are_tuned_and_checked(room: Any, cpu: str, label: str, limit: float) -> None:
    """Any PrimFunc of tensors: several outputs, indices, short floats, roots, weights of any layout."""
    shape = own_shape(label)
    room.propose.check(problem(shape, RANDOM, cpu))
    (candidate, *_), *_ = room.propose.propose(problem(shape, RANDOM, cpu), SearchHistory(), 2, 1)
    library = room.build_kernel.build(problem(shape, RANDOM, cpu), candidate.record)
    error, allowed = room.time_kernel.check_kernel(kernel(shape, cpu, library))
    assert error <= allowed == limit


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize("label", ["whole:m=16", "half:m=32", "both:n=64", "gather"])
def test_a_program_that_writes_nothing_is_noticed(
    room: Any, cpu: str, label: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outputs are marked before each check, whatever their type."""
    monkeypatch.setattr(room.time_kernel, "load_library", lambda _: {"main": lambda *_: None})
    error, allowed = room.time_kernel.check_kernel(kernel(own_shape(label), cpu, b""))
    assert not error <= allowed


@pytest.mark.usefixtures("own")
def test_a_wrong_program_is_noticed(room: Any, cpu: str) -> None:
    """The NumPy function of the user decides, if there is one."""
    shape = own_shape("wrong")
    (candidate, *_), *_ = room.propose.propose(problem(shape, RANDOM, cpu), SearchHistory(), 1, 1)
    library = room.build_kernel.build(problem(shape, RANDOM, cpu), candidate.record)
    error, allowed = room.time_kernel.check_kernel(kernel(shape, cpu, library))
    assert error > allowed


@pytest.mark.usefixtures("own")
def test_schedules_for_tensor_cores_can_be_kept(room: Any) -> None:
    """Their traces hold index maps, which ``TuningRecord.as_json`` refuses."""
    config = replace(RANDOM, name="tensor-cores", space="workloads_of_a_user:tensor_cores")
    tuned = problem(own_shape("small_product"), config, CUDA)
    candidates, *_ = room.propose.propose(tuned, SearchHistory(), 2, 1)
    assert candidates
    for candidate in candidates:
        assert "TransformBlockLayout" in candidate.text
        module = room.build_kernel.scheduled_module(tuned, candidate.record)
        assert room.load_tvm.shash2hex(module) == candidate.module_hash
        assert "wmma" in str(module)


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize("config", [MAINLINE, ASYNC, EVOLUTIONARY], ids=lambda config: config.name)
def test_programs_of_the_user_have_design_spaces_of_a_gpu(room: Any, config: Any) -> None:
    """Such a workload may have no tile, or no multiplication."""
    for label in ("product:m=64_n=64_k=64", "softmax:rows=64_columns=64"):
        tuned = problem(own_shape(label), config, CUDA)
        assert room.propose.design_spaces(room.propose.search_context(tuned, 1), tuned)


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize("target", [CUDA, '{"kind": "llvm", "num-cores": 2}'], ids=["cuda", "cpu"])
@pytest.mark.parametrize("label", ["softmax:rows=64_columns=64", "total:n=16", "dense:n=64"])
def test_all_that_is_proposed_may_be_built(room: Any, label: str, target: str) -> None:
    """No candidate of MetaSchedule's design spaces is lost because its trace is not allowed."""
    tuned = problem(own_shape(label), RANDOM, target)
    candidates, *_ = room.propose.propose(tuned, SearchHistory(), 16, 1)
    assert len(candidates) > 4
    for candidate in candidates:
        assert room.build_kernel.scheduled_module(tuned, candidate.record)


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("label", "last"),
    [
        ("product:m=128_n=128_k=128", "RewriteReductionBlock"),
        ("half:m=512_n=64_k=4", "VerifyWideCopies"),
        ("grouped:size=8_channels=32_groups=4", "VerifyGPUCode"),
        ("every_fourth:n=128", "VerifyGPUCode"),
    ],
)
def test_programs_of_the_user_are_refused_as_by_stock(room: Any, label: str, last: str) -> None:
    """VerifyGPUCode is left out only where it would refuse no more."""
    tuned = problem(own_shape(label), ASYNC, CUDA)
    context = room.propose.search_context(tuned, 1)
    early = room.propose.early_postprocessors(room.propose.design_spaces(context, tuned))
    assert [type(early[0]).__name__, type(early[-1]).__name__] == ["RefuseEarly", last]
    for one in early:
        one._initialize_with_tune_context(context)
    verdicts = set()
    for one, same in zip(random_schedules(room, tuned, 120), random_schedules(room, tuned, 120), strict=True):
        passed = early[0].apply(one) and all(postproc.apply(one) for postproc in early[1:-1])
        fits = passed and early[-1].apply(one)
        assert fits == all(postproc.apply(same) for postproc in context.space_generator.postprocs)
        verdicts.add((passed, fits))
    assert verdicts >= {(True, True), (False, False)}
    # A half float is read at 8 indices at once. For the other two such schedules are rarer.
    assert ((True, False) in verdicts) == (last == "VerifyWideCopies")


@pytest.mark.usefixtures("own")
def test_the_tasks_of_a_model_are_workloads(room: Any, tmp_path: Path, cpu: str) -> None:
    """The example of docs/tasks.md, whose tasks have 64-bit indices."""
    text = (DOCS / "tasks.md").read_text(encoding="utf-8")
    program = re.search(r"^```python\n(# net.py\n.*?)^```", text, re.M | re.S)
    assert program
    Path(tmp_path / "net.py").write_text(program[1], encoding="utf-8")
    printed = subprocess.run([sys.executable, "net.py"], capture_output=True, text=True, check=True).stdout
    calls = dict(line.split(",") for line in printed.splitlines())
    assert calls == {"net:task:index=0": "1", "net:task:index=1": "2", "net:task:index=2": "1"}
    for label in calls:
        shape = parse_shape(label)
        room.workloads.require_checkable(shape)
        assert [tensor.is_output for tensor in room.workloads.parameters(shape)] == [False] * 3 + [True]
        tuned = problem(shape, RANDOM, cpu)
        assert room.propose.propose(tuned, SearchHistory(), 2, 1)[0]


@pytest.mark.usefixtures("own")
def test_changed_code_has_another_hash(room: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random decisions of a design space do not count."""
    shapes = [own_shape(label) for label in ("half:m=64", "product:m=64_n=64_k=64", "half:m=64")]
    programs = [room.workloads.program_hash(shape) for shape in shapes]
    assert programs[0] == programs[2] != programs[1]
    make = room.propose.search_context
    tensor_cores = replace(RANDOM, name="tensor-cores", space="workloads_of_a_user:tensor_cores")
    spaces = []
    for config, seed in ((RANDOM, 1), (tensor_cores, 1), (RANDOM, 2)):
        seeded = functools.partial(lambda seed, tuned, rng_seed: make(tuned, seed), seed)
        monkeypatch.setattr(room.propose, "search_context", seeded)
        spaces.append(room.propose.check(problem(shapes[0], config, CUDA)))
    assert spaces[0] == spaces[2] != spaces[1]


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize("label", ["half:m=512_n=64_k=4", "every_fourth:n=128"])
def test_programs_of_the_user_are_searched_as_by_stock(
    room: Any, monkeypatch: pytest.MonkeyPatch, label: str
) -> None:
    """Also where the number of rows that a copy has varies, as in ``every_fourth``."""
    small = {"population_size": 16, "genetic_num_iters": 1, "init_min_unmeasured": 16}
    tuned = problem(own_shape(label), replace(ASYNC, strategy_options=small), CUDA)
    early = room.propose.propose(tuned, SearchHistory(), 8, 5)
    assert early[0]
    assert not early[2]
    monkeypatch.setenv("ABTUNE_STOCK_SEARCH", "1")
    assert early == room.propose.propose(tuned, SearchHistory(), 8, 5)


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("raises:n=3", "it raises ValueError: of no use"),
        ("raises", r"it raises TypeError: raises\(\) missing 1 required positional argument: 'n'"),
        ("gather:n=3", "it is no function, so it takes no sizes"),
        ("three", "it must be or return a PrimFunc, or a PrimFunc and a NumPy function; not int"),
        ("no_function", "or a PrimFunc and a NumPy function; not int"),
        ("not_a_number", "its output is not finite for random inputs"),
        ("no_blocks", "its PrimFunc needs blocks, as te.create_prim_func or T.sblock make them"),
        ("in_place", "its output is not finite .*, and read no tensor that it writes"),
        ("misspelt", r"it raises DiagnosticError: error: Undefined variable: Y +--> .*\.py:[0-9]+:9$"),
        ("symbolic", "its PrimFunc must take tensors of fixed shapes only"),
        ("other_shape", r"its NumPy function returns shapes \[\(3,\)\], and its PrimFunc \[\(8,\)\]"),
    ],
)
def test_programs_that_cannot_be_tuned_are_refused(room: Any, cpu: str, label: str, message: str) -> None:
    """A mistake of the user is one line, before anything is searched."""
    with pytest.raises(TargetError, match=message):
        room.propose.check(problem(own_shape(label), RANDOM, cpu))


@pytest.mark.usefixtures("own")
def test_a_program_that_is_slow_to_check_needs_a_numpy_function(
    room: Any, cpu: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each process that checks winners would wait for it."""
    monkeypatch.setattr(room.workloads, "_LONGEST_CHECK", 0.0)
    with pytest.raises(TargetError, match=r"took \d+ s; have the function return a PrimFunc and a faster"):
        room.propose.check(problem(own_shape("softmax:rows=8_columns=8"), RANDOM, cpu))
    with pytest.raises(InputError, match="has no attribute 'absent'"):
        room.propose.check(problem(own_shape("absent"), RANDOM, cpu))
