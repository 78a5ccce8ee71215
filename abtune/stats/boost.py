"""The boost, speedup minus 1, from the log ratio that all statistics are about."""

from __future__ import annotations

import numpy as np

_LARGEST_LOG = 700.0


def from_log(log_ratio: float) -> float:
    """Return the boost of a log ratio. A ratio beyond the range of floats becomes the largest one."""
    return float(np.expm1(np.clip(log_ratio, -_LARGEST_LOG, _LARGEST_LOG)))
