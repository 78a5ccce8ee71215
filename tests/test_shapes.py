"""Shapes: labels and values are inverses, presets are the published ones, wrong names get the nearest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abtune.errors import InputError
from abtune.shapes import (
    PRESETS,
    Conv2d,
    Gemm,
    OwnShape,
    parse_shape,
    select_labels,
    select_shapes,
    shape_named,
)

SIZES = st.integers(1, 4096)


@given(m=SIZES, n=SIZES, k=SIZES)
def test_gemm_labels_round_trip(m: int, n: int, k: int) -> None:
    """Reading a GEMM's label gives the GEMM back."""
    shape = Gemm(m=m, n=n, k=k)
    assert parse_shape(shape.label) == shape


@given(
    n=st.integers(1, 7),
    size=st.integers(16, 256),
    c=SIZES,
    k=SIZES,
    taps=st.integers(1, 7),
    stride=st.integers(1, 3),
    padding=st.integers(0, 3),
    dilation=st.integers(1, 2),
)
def test_conv2d_labels_round_trip(
    n: int, size: int, c: int, k: int, taps: int, stride: int, padding: int, dilation: int
) -> None:
    """Reading a convolution's label gives the convolution back."""
    shape = Conv2d(
        n=n, h=size, w=size, c=c, k=k, r=taps, s=taps, stride=stride, padding=padding, dilation=dilation
    )
    assert parse_shape(shape.label) == shape


def test_the_published_preset_is_complete() -> None:
    """The preset has the 17 convolutions and 12 matrix products of the published table, each once."""
    shapes = PRESETS["tvm14009"]
    assert len({shape.label for shape in shapes}) == 29
    assert [shape.workload for shape in shapes] == ["conv2d_nhwc"] * 17 + ["gemm_nn"] * 12


def test_sizes_and_operations_of_a_convolution() -> None:
    """Output size and operation count are those of the first layer of ResNet-50."""
    shape = PRESETS["tvm14009"][0]
    assert shape.input_shapes == ((1, 224, 224, 3), (7, 7, 3, 64))
    assert shape.output_shape == (1, 112, 112, 64)
    assert shape.flop == 2 * 112 * 112 * 64 * 7 * 7 * 3


def test_sizes_and_operations_of_a_gemm() -> None:
    """A matrix product has two operations for each multiply-add."""
    shape = Gemm(m=2, n=3, k=5)
    assert (shape.input_shapes, shape.output_shape, shape.flop) == (((2, 5), (5, 3)), (2, 3), 60)


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("M=512_N=256_K=0", "k must be positive"),
        ("M=0512_N=256_K=640", "write shape 'M=0512_N=256_K=640' as 'M=512_N=256_K=640'"),
        ("M=512_N=256_K=64O", "did you mean: M=512_N=256_K=640"),
        ("N=1_H=1_W=1_C=1_K=1_R=3_S=3_STR=1_PAD=0_DIL=1", "the filter is larger"),
        ("M=99999999999999999999_N=1_K=1", "m must be at most 2147483647, not 99999999999999999999"),
        (f"M={'9' * 5000}_N=1_K=1", "unknown shape 'M=999"),
        ("", "unknown shape ''"),
        (
            "mine:",
            "'mine:' is no workload; write mine:softmax or mine:product:m=512_n=256",
        ),
        ("mine:product:m=", "'mine:product:m=' is no workload"),
        ("mine:product:m=4_", "'mine:product:m=4_' is no workload"),
        ("folder/mine:product", "'folder/mine:product' is no workload"),
        ("mine:product:m=04", "write shape 'mine:product:m=04' as 'mine:product:m=4'"),
        ("mine:product:m=4_m=5", "mine:product:m=4_m=5: a size is given twice"),
        (f"mine:{'x' * 150}", "a label has at most 150 characters; shorten the names"),
    ],
)
def test_wrong_labels_are_refused_with_advice(label: str, message: str) -> None:
    """A label that is not one is answered with the fault or the nearest label."""
    with pytest.raises(InputError, match=message):
        parse_shape(label)


@pytest.mark.parametrize(
    ("label", "sizes"),
    [
        ("mine:softmax", ()),
        ("package.mine:batch_matmul:b=12_m=128", (("b", 12), ("m", 128))),
        ("mine:conv2d_nchw:in_channels=3_pad=0", (("in_channels", 3), ("pad", 0))),
    ],
)
def test_workloads_of_the_user_have_labels(label: str, sizes: tuple[tuple[str, int], ...]) -> None:
    """A label names the code and its arguments. Without that code, nothing is known of it."""
    shape = parse_shape(label)
    assert isinstance(shape, OwnShape)
    assert (shape.label, shape.sizes) == (label, sizes)
    assert shape.workload == ":".join(label.split(":")[:2])
    assert np.isnan(shape.flop)
    assert select_shapes([label, "quick", label]) == (shape, *PRESETS["quick"])
    assert shape_named(label) is None  # such a label of another tool names no code


def test_a_shape_that_tvm_cannot_index_is_one_all_the_same() -> None:
    """Another library may have timed it."""
    assert parse_shape("M=65536_N=65536_K=4096").output_shape == (65536, 65536)


def test_selections_keep_their_order_and_name_each_shape_once() -> None:
    """Presets, globs and labels may overlap; a shape outside every preset may be named too."""
    shapes = select_shapes(["M=7_N=7_K=7", "M=512_*", "M=512_N=256_K=640"])
    assert [shape.label for shape in shapes[:2]] == ["M=7_N=7_K=7", "M=512_N=256_K=640"]
    assert len(shapes) == len(set(shapes)) == 6
    assert select_shapes(["tvm14009"]) == PRESETS["tvm14009"]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (["tvm1409"], "unknown shape or preset 'tvm1409'; did you mean: tvm14009"),
        (["Q=*"], "no shape of a preset matches 'Q=\\*'"),
        ([], "no shape given"),
        (["M=65536_N=32768_K=1"], "a tensor has 2147483648 elements, and TVM can count 2147483647"),
        (["M=1_N=65536_K=32768"], "a tensor has 2147483648 elements"),
        (
            ["N=1_H=1_W=1_C=1_K=1_R=1_S=1_STR=99999_PAD=99999_DIL=1"],
            "PAD=99999_DIL=1: a tensor has 39999600001 elements",
        ),
    ],
)
def test_impossible_selections_are_refused(spec: list[str], message: str) -> None:
    """A preset that does not exist, a glob without a match and what TVM cannot index are mistakes."""
    with pytest.raises(InputError, match=message):
        select_shapes(spec)


def test_labels_of_a_dataset_are_selected_in_its_order() -> None:
    """Labels, kinds, globs and presets choose among the labels that the dataset has."""
    labels, kinds = ["mine", "M=512_N=512_K=512", "M=512_N=256_K=640"], ["", "gemm", "gemm"]
    assert select_labels(["M=512_N=256_K=640", "mine"], labels, kinds) == ("mine", "M=512_N=256_K=640")
    assert select_labels(["M=*"], labels, kinds) == tuple(labels[1:])
    assert select_labels(["tvm14009"], labels, kinds) == tuple(labels[1:])
    assert select_labels(["N=256 M=512"], labels, kinds) == ("M=512_N=256_K=640",)
    assert select_labels(["M=N=512 K=512"], labels, kinds) == ("M=512_N=512_K=512",)
    assert select_labels(["M=512"], labels, kinds) == tuple(labels[1:])
    own = ["mine:product:m=8_n=4", "mine:product:m=8_n=5", "mine:softmax"]
    assert select_labels(["m=8"], own, ["mine:product"] * 2 + ["mine:softmax"]) == tuple(own[:2])
    assert select_labels(["mine:product"], own, ["mine:product"] * 2 + ["mine:softmax"]) == tuple(own[:2])
    assert select_labels(["gemm"], labels, kinds) == select_labels(["g*"], labels, kinds) == tuple(labels[1:])
    with pytest.raises(InputError, match="unknown shape"):
        select_labels([""], labels, kinds)
    with pytest.raises(InputError, match="unknown shape"):
        select_labels(["M=512 N=25"], labels, kinds)
    with pytest.raises(InputError, match="unknown shape"):
        select_labels([" "], labels, kinds)
    with pytest.raises(InputError, match="unknown shape 'mime'; did you mean: mine"):
        select_labels(["mime"], labels, kinds)
