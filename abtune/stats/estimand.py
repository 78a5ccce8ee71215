"""The typical latency of a configuration over its seeds; loads neither NumPy nor SciPy."""

from __future__ import annotations

from enum import StrEnum


class Estimand(StrEnum):
    """The typical latency whose ratio is the boost; the first is the default."""

    GEOMETRIC_MEAN = "geometric-mean"
    MEDIAN = "median"
