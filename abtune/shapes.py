"""Tensor workloads by their labels, and the presets that name sets of them."""

from __future__ import annotations

import contextlib
import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, ClassVar, TypeAlias

from abtune.errors import InputError, unknown_name

# TVM indexes tensors by integers of 32 bits.
_MOST = 2**31 - 1


class _Workload:
    """What both kinds share: a label that is made of the sizes, and limits of these."""

    __slots__: tuple[str, ...] = ()
    template: ClassVar[str]

    @property
    def label(self) -> str:
        """The label as published, such as ``M=512_N=256_K=640``."""
        return self.template.format(self)

    def __post_init__(self) -> None:
        for name in self.__slots__:
            size = getattr(self, name)
            if size < 0 or (size == 0 and name != "padding"):
                raise InputError(f"{type(self).__name__}: {name} must be positive, not {size}")
            if size > _MOST:
                raise InputError(f"{type(self).__name__}: {name} must be at most {_MOST}, not {size}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Conv2d(_Workload):
    """A two-dimensional convolution, NHWC, float32, square stride, padding and dilation."""

    workload: ClassVar[str] = "conv2d_nhwc"
    template: ClassVar[str] = (
        "N={0.n}_H={0.h}_W={0.w}_C={0.c}_K={0.k}_R={0.r}_S={0.s}"
        "_STR={0.stride}_PAD={0.padding}_DIL={0.dilation}"
    )

    # batch, height, width and channels of the input
    n: int
    h: int
    w: int
    c: int
    k: int  # output channels
    # height and width of the filter
    r: int
    s: int
    # the same in both directions; the padding is explicit zeros
    stride: int
    padding: int
    dilation: int

    def __post_init__(self) -> None:
        _Workload.__post_init__(self)  # super() does not find it in a class with slots
        if self.output_shape[1] < 1 or self.output_shape[2] < 1:
            raise InputError(f"{self.label}: the filter is larger than the padded input")

    @property
    def input_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Input (N, H, W, C) and filter (R, S, C, K)."""
        return (self.n, self.h, self.w, self.c), (self.r, self.s, self.c, self.k)

    @property
    def output_shape(self) -> tuple[int, ...]:
        """Output (N, OH, OW, K)."""
        return (self.n, self._extent(self.h, self.r), self._extent(self.w, self.s), self.k)

    @property
    def flop(self) -> int:
        """Floating-point operations: two for each multiply-add, padding included."""
        n, oh, ow, k = self.output_shape
        return 2 * n * oh * ow * k * self.r * self.s * self.c

    def _extent(self, size: int, taps: int) -> int:
        return (size + 2 * self.padding - self.dilation * (taps - 1) - 1) // self.stride + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Gemm(_Workload):
    """A matrix product C(M, N) = A(M, K) B(K, N), neither transposed, float32."""

    workload: ClassVar[str] = "gemm_nn"
    template: ClassVar[str] = "M={0.m}_N={0.n}_K={0.k}"

    m: int
    n: int
    k: int

    @property
    def input_shapes(self) -> tuple[tuple[int, ...], ...]:
        """A (M, K) and B (K, N)."""
        return (self.m, self.k), (self.k, self.n)

    @property
    def output_shape(self) -> tuple[int, ...]:
        """C (M, N)."""
        return (self.m, self.n)

    @property
    def flop(self) -> int:
        """Floating-point operations: two for each multiply-add."""
        return 2 * self.m * self.n * self.k


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnShape:
    """A workload of the user: Python code that makes its TVM program, and the sizes which that takes."""

    flop: ClassVar[float] = math.nan  # unknown

    workload: str  # as module:function
    sizes: tuple[tuple[str, int], ...] = ()  # names and values of the arguments

    def __post_init__(self) -> None:
        if len({name for name, _ in self.sizes}) < len(self.sizes):
            raise InputError(f"{self.label}: a size is given twice")
        if len(self.label) > _LONGEST_LABEL:  # a name of a file has it
            raise InputError(
                f"{self.label}: a label has at most {_LONGEST_LABEL} characters; shorten the names"
            )

    @property
    def label(self) -> str:
        """The label, such as ``mine:batch_matmul:b=12_m=128``; without sizes, ``mine:softmax``."""
        sizes = "_".join(f"{name}={size}" for name, size in self.sizes)
        return f"{self.workload}:{sizes}" if sizes else self.workload


_LONGEST_LABEL = 150
_SIZE = r"[A-Za-z]\w*?=\d{1,20}"
_OWN = re.compile(rf"([A-Za-z_][\w.]*:[A-Za-z_]\w*)(?::({_SIZE}(?:_{_SIZE})*))?", re.ASCII)

Published: TypeAlias = Conv2d | Gemm
Shape: TypeAlias = Published | OwnShape

# The labels of both kinds, with a group of digits for each field.
_PATTERNS: Mapping[type[Published], re.Pattern[str]] = {
    kind: re.compile(re.sub(r"\{0\.(\w+)\}", r"(?P<\1>\\d{1,20})", kind.template)) for kind in (Conv2d, Gemm)
}


def parse_shape(label: str) -> Shape:
    """Read a shape from its label, also one of the user; the inverse of ``shape.label``."""
    shape = _read_own(label) if ":" in label else _read_published(label)
    if shape is None:
        raise unknown_name("shape", label, [shape.label for preset in PRESETS.values() for shape in preset])
    if shape.label != label:  # a leading zero would give one shape two names
        raise InputError(f"write shape {label!r} as {shape.label!r}")
    return shape


def _read_own(label: str) -> OwnShape:
    match = _OWN.fullmatch(label)
    if match is None:
        raise InputError(
            f"{label!r} is no workload; write mine:softmax or mine:product:m=512_n=256 for code in mine.py"
        )
    sizes = (size.split("=") for size in re.findall(_SIZE, match[2] or "", re.ASCII))
    return OwnShape(workload=match[1], sizes=tuple((name, int(number)) for name, number in sizes))


def _read_published(label: str) -> Published | None:
    for kind, pattern in _PATTERNS.items():
        if match := pattern.fullmatch(label):
            return kind(**{name: int(text) for name, text in match.groupdict().items()})
    return None


def select_shapes(spec: Sequence[str]) -> tuple[Shape, ...]:
    """Return the shapes that presets, labels, and globs over the presets name, each once, in order."""
    chosen: dict[str, Shape] = {}
    known = {shape.label: shape for preset in PRESETS.values() for shape in preset}
    for entry in spec:
        if entry in PRESETS:
            matches: Sequence[Shape] = PRESETS[entry]
        elif any(character in entry for character in "*?["):
            matches = [shape for label, shape in known.items() if fnmatchcase(label, entry)]
            if not matches:
                raise InputError(f"no shape of a preset matches {entry!r}; presets: {', '.join(PRESETS)}")
        elif "=" in entry or ":" in entry:
            matches = [parse_shape(entry)]
            _require_tunable(matches[0])
        else:
            raise unknown_name("shape or preset", entry, [*PRESETS, *known])
        chosen.update((shape.label, shape) for shape in matches)
    if not chosen:
        raise InputError(f"no shape given; name one, or a preset: {', '.join(PRESETS)}")
    return tuple(chosen.values())


def select_labels(spec: Sequence[str], labels: Sequence[str], kinds: Sequence[str]) -> tuple[str, ...]:
    """Return the labels that a label, kind, glob, preset or fields name, in their order.

    ``kinds`` are the workloads of labels. ``"H=56 W=56"`` and ``"H=W=56"`` mean all that have both fields.
    """
    wanted: set[str] = set()
    for entry in spec:
        # A label may look like a glob or a kind, and a glob over kinds like one over labels.
        of_kind = (
            label for label, kind in zip(labels, kinds, strict=True) if entry and fnmatchcase(kind, entry)
        )
        matches = {entry}.intersection(labels) or set(of_kind) or set(_meant(entry, labels))
        if not matches:
            raise unknown_name("shape", entry, labels)
        wanted |= matches
    return tuple(label for label in labels if label in wanted)


def _meant(entry: str, labels: Sequence[str]) -> Iterator[str]:
    """Yield the labels that a preset, a glob or fields name."""
    preset = {shape.label for shape in PRESETS.get(entry, ())}
    parts = (field.rpartition("=") for field in entry.split())
    fields = {f"{name}{equals}{value}" for names, equals, value in parts for name in names.split("=")}
    for label in labels:
        has_fields = bool(fields) and fields <= set(re.split("[:_]", label))
        if label in preset or fnmatchcase(label, entry) or has_fields:
            yield label


def shape_named(label: str) -> Published | None:
    """Return the shape that a published label names; None for any other text."""
    with contextlib.suppress(InputError):  # of sizes that no shape has
        shape = _read_published(label)
        return shape if shape and shape.label == label else None
    return None


def shape_values(
    shapes: Sequence[Published | None], flop: Sequence[float] | None = None
) -> dict[str, list[Any]]:
    """Return the variables of shapes for a dataset; ``flop`` is taken where a shape is unknown."""
    others = itertools.repeat(math.nan) if flop is None else flop
    operations = [shape.flop if shape else other for shape, other in zip(shapes, others, strict=False)]
    values = {"workload": [shape.workload if shape else "" for shape in shapes]}
    return values if all(map(math.isnan, operations)) else {**values, "flop": operations}


def _require_tunable(shape: Shape) -> None:
    """Refuse a shape that TVM cannot index; elsewhere it may well have been timed."""
    if isinstance(shape, OwnShape):
        return
    tensors = [*shape.input_shapes, shape.output_shape]
    if isinstance(shape, Conv2d):  # TVM pads the input first
        around = 2 * shape.padding
        tensors.append((shape.n, shape.h + around, shape.w + around, shape.c))
    most = max(map(math.prod, tensors))
    if most > _MOST:
        raise InputError(f"{shape.label}: a tensor has {most} elements, and TVM can count {_MOST} of them")


def _conv2d(size: int, c: int, k: int, taps: int, stride: int, padding: int) -> Conv2d:
    return Conv2d(n=1, h=size, w=size, c=c, k=k, r=taps, s=taps, stride=stride, padding=padding, dilation=1)


# The shapes of https://github.com/apache/tvm/pull/14009, in the order of its table: the convolutions of
# ResNet-50, then matrix products.
_TVM14009: tuple[Shape, ...] = (
    _conv2d(224, 3, 64, 7, 2, 3),
    _conv2d(56, 64, 64, 1, 1, 0),
    _conv2d(56, 64, 64, 3, 1, 1),
    _conv2d(56, 64, 256, 1, 1, 0),
    _conv2d(56, 256, 64, 1, 1, 0),
    _conv2d(56, 256, 128, 1, 2, 0),
    _conv2d(28, 128, 128, 3, 1, 1),
    _conv2d(28, 128, 512, 1, 1, 0),
    _conv2d(28, 512, 128, 1, 1, 0),
    _conv2d(28, 512, 256, 1, 2, 0),
    _conv2d(14, 256, 256, 3, 1, 1),
    _conv2d(14, 256, 1024, 1, 1, 0),
    _conv2d(14, 1024, 256, 1, 1, 0),
    _conv2d(14, 1024, 512, 1, 2, 0),
    _conv2d(7, 512, 512, 3, 1, 1),
    _conv2d(7, 512, 2048, 1, 1, 0),
    _conv2d(7, 2048, 512, 1, 1, 0),
    Gemm(m=512, n=256, k=640),
    Gemm(m=512, n=384, k=256),
    Gemm(m=512, n=512, k=512),
    Gemm(m=512, n=3072, k=768),
    Gemm(m=512, n=768, k=3072),
    *(Gemm(m=size, n=size, k=size) for size in (896, 1024, 1152, 1536, 2048, 3072, 4096)),
)

# Small enough for a laptop's CPU to tune in seconds.
_QUICK: tuple[Shape, ...] = (
    _conv2d(14, 64, 64, 1, 1, 0),
    Gemm(m=128, n=128, k=128),
    Gemm(m=64, n=256, k=256),
    # A control for ``vector-tiles``: rows of one float leave its design space nothing to leave out.
    Gemm(m=256, n=1, k=1024),
)

PRESETS: dict[str, tuple[Shape, ...]] = {"tvm14009": _TVM14009, "quick": _QUICK}
