"""How often a program calls each shape, and what a boost of the shapes is worth to it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from abtune.analyse.blocks import block, half_width
from abtune.analyse.boost import from_log
from abtune.analyse.samples import Samples
from abtune.analyse.whole import Weighted
from abtune.errors import InputError, unknown_name
from abtune.shapes import PRESETS, Conv2d
from abtune.stats.ragged import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Number of calls of each shape.

    Attributes
    ----------
    name : str
        What they are of, such as ``"resnet50"`` or a file's name.
    calls : mapping from str to float
        Label to number of calls, positive.
    not_covered : str
        What of the program they leave out, in words; empty if unknown.
    strict : bool
        Whether a label that the dataset lacks is a mistake.
    """

    name: str
    calls: Mapping[str, float]
    not_covered: str
    strict: bool


def built_in_weights(name: str) -> Weights:
    """Return the weights of a network that abtune knows.

    Raises
    ------
    InputError
        If it knows none of this name.
    """
    if name not in BUILT_IN:
        raise unknown_name("weights", name, BUILT_IN)
    return BUILT_IN[name]


def as_weights(given: Weights | Mapping[str, float]) -> Weights:
    """Return weights; those of a plain mapping are strict.

    Raises
    ------
    InputError
        If it is no mapping of labels to numbers of calls, none of them negative and not all zero.
    """
    if isinstance(given, Weights):
        return given
    if not isinstance(given, Mapping):
        raise InputError(f"weights is a mapping from shapes to numbers of calls, not {given!r}")
    for label, calls in given.items():
        known = isinstance(calls, int | float | np.integer | np.floating) and not isinstance(calls, bool)
        if not isinstance(label, str) or not known or not (math.isfinite(calls) and calls >= 0):
            raise InputError(f"weights: {calls!r} is not a number of calls of {label!r}")
    calls_of = {label: float(calls) for label, calls in given.items() if calls}
    if not calls_of:
        raise InputError("weights: no shape has a weight")
    return Weights(name="weights", calls=calls_of, not_covered="", strict=True)


def end_to_end(
    baseline: Samples, candidate: Samples, *, shapes: tuple[str, ...], weights: Weights, level: float
) -> Weighted:
    """Boost of the summed time of all calls.

    Parameters
    ----------
    baseline, candidate : Samples
        Both sides.
    shapes : tuple of str
        Labels.
    weights : Weights
        Calls of each shape.
    level : float
        Confidence level, a fraction.

    Raises
    ------
    InputError
        If a label of strict weights is not in the dataset, or no shape has a weight and timings.

    Notes
    -----
    T = sum w L with the geometric mean latency L of each shape; d log T = sum (w L/T) d log L, so that the
    error of log T is that of a weighted sum of mean logs, summed within each seed first.
    """
    unknown = [label for label in weights.calls if label not in shapes]
    if unknown and weights.strict:
        raise InputError(f"{weights.name}: {unknown_name('shape', unknown[0], shapes)}")
    calls = np.array([weights.calls.get(label, 0.0) for label in shapes])
    timed = (baseline.n > 0) & (candidate.n > 0)
    calls_timed = np.where(timed, calls, 0.0)
    if not calls_timed.any():
        raise InputError(f"{weights.name}: no shape that has a weight has timings on both sides")
    sides = [_Time(side, calls_timed) for side in (baseline, candidate)]
    log_boost = math.log(sides[0].seconds / sides[1].seconds)
    half = half_width([block(side.value, side.share) for side in sides], level)
    missing = [label for label, w, both in zip(shapes, calls, timed, strict=True) if w > 0 and not both]
    return Weighted(
        name=weights.name,
        boost=from_log(log_boost),
        boost_low=from_log(log_boost - half),
        boost_high=from_log(log_boost + half),
        baseline_time=sides[0].seconds,
        candidate_time=sides[1].seconds,
        weight=float(calls_timed.sum()),
        total=float(sum(weights.calls.values())),
        left_out=(*unknown, *missing),
        not_covered=weights.not_covered,
        meaning="time of all calls, each shape times its calls; error from the seeds",
    )


class _Time:
    """Summed time of one side, and the share of each shape in it."""

    __slots__ = ("seconds", "share", "value")

    def __init__(self, side: Samples, calls: Floats) -> None:
        parts = calls * np.where(calls > 0, side.latency, 0.0)
        self.seconds = float(parts.sum())
        self.share: Floats = parts / self.seconds
        self.value: Floats = side.value


def _bottlenecks(size: int, channels: int, width: int, blocks: int, stride: int) -> Iterator[Conv2d]:
    """One stage of He et al. 2016, table 1: 1x1 to `width`, 3x3, 1x1 to 4 x `width`; the first block strides.

    As in the paper, the stride is in the first 1x1 convolution, and the first block's shortcut is a 1x1
    projection with the same stride; the other shortcuts are identities.
    """
    for number in range(blocks):
        step = stride if number == 0 else 1
        yield _conv(size, channels, width, 1, step, 0)
        if number == 0:
            yield _conv(size, channels, 4 * width, 1, step, 0)
        size, channels = size // step, 4 * width
        yield _conv(size, width, width, 3, 1, 1)
        yield _conv(size, width, 4 * width, 1, 1, 0)


def _conv(size: int, c: int, k: int, taps: int, stride: int, padding: int) -> Conv2d:
    return Conv2d(n=1, h=size, w=size, c=c, k=k, r=taps, s=taps, stride=stride, padding=padding, dilation=1)


def _resnet50() -> Iterator[Conv2d]:
    """Go through the 53 convolutions of ResNet-50 for one image of 224 x 224.

    K. He, X. Zhang, S. Ren, J. Sun, Deep residual learning for image recognition, CVPR 2016, table 1 and
    section 3.3: a 7x7 stem of stride 2, pooling to 56 x 56, then stages of 3, 4, 6 and 3 bottlenecks.
    """
    yield _conv(224, 3, 64, 7, 2, 3)
    channels, size = 64, 56
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        yield from _bottlenecks(size, channels, width, blocks, stride)
        channels, size = 4 * width, size // stride


def _published_calls() -> Mapping[str, float]:
    """Count the layers of ResNet-50 that are among the published shapes."""
    published = {shape.label for shape in PRESETS["tvm14009"]}
    layers = Counter(layer.label for layer in _resnet50())
    return MappingProxyType({label: float(n) for label, n in layers.items() if label in published})


BUILT_IN: Mapping[str, Weights] = MappingProxyType(
    {
        "resnet50": Weights(
            name="resnet50",
            calls=_published_calls(),
            not_covered="50 of the 53 convolutions have published shapes; the three strided projection "
            "shortcuts, pooling and the fully connected layer are not in the time",
            strict=False,
        )
    }
)
