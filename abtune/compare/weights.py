"""How often a program calls each shape, and what a boost of the shapes is worth to it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from abtune.errors import InputError, unknown_name
from abtune.shapes import PRESETS


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Number of calls of each shape."""

    name: str  # what they are of, such as resnet50 or a file's name
    calls: Mapping[str, float]  # label to number of calls, positive
    not_covered: str  # what of the program they leave out, in words; empty if unknown
    strict: bool  # whether a label that the dataset lacks is a mistake


def built_in_weights(name: str) -> Weights:
    """Return the weights of a network that abtune knows."""
    if name not in BUILT_IN:
        raise unknown_name("weights", name, BUILT_IN)
    return BUILT_IN[name]


def as_weights(given: Weights | Mapping[str, float]) -> Weights:
    """Return weights; those of a plain mapping of labels to calls, which InputError checks, are strict."""
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


# How often ResNet-50 calls each published convolution for one image of 224 x 224: K. He, X. Zhang, S. Ren and
# J. Sun, Deep residual learning for image recognition, CVPR 2016, table 1, with the stride in the first 1x1
# convolution of a stage. In the order of the published table.
_RESNET50 = (1, 1, 3, 4, 2, 1, 4, 4, 3, 1, 6, 6, 5, 1, 3, 3, 2)
_CONVOLUTIONS = tuple(shape.label for shape in PRESETS["tvm14009"] if shape.workload == "conv2d_nhwc")

BUILT_IN: Mapping[str, Weights] = MappingProxyType(
    {
        "resnet50": Weights(
            name="resnet50",
            calls=MappingProxyType(dict(zip(_CONVOLUTIONS, map(float, _RESNET50), strict=True))),
            not_covered="50 of the 53 convolutions have published shapes. The three strided projection "
            "shortcuts, pooling and the fully connected layer are not in the time",
            strict=False,
        )
    }
)
