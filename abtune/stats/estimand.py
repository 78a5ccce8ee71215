"""The typical latency of a configuration over its seeds: a geometric mean or a median.

The two agree where noise is small. They differ where one search in ten goes wrong: a median does not see
such searches. Like every registry, this module loads neither NumPy nor SciPy.
"""

from __future__ import annotations

from enum import StrEnum


class Estimand(StrEnum):
    """The typical latency whose ratio is the boost. The first one is the default."""

    GEOMETRIC_MEAN = "geometric-mean"
    MEDIAN = "median"
