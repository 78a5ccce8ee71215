"""What a boost is, and how it comes from logarithms."""

from __future__ import annotations

import numpy as np

from abtune.analyse.comparison import Side

_LARGEST_LOG = 700.0


def definition(estimand: str) -> str:
    """Say what the boost is."""
    return (
        f"Boost: {estimand.replace('-', ' ')} latency of the baseline over that of the candidate, minus 1, "
        "each winner measured again after its search."
    )


def from_log(log_ratio: float) -> float:
    """Turn a log ratio into a boost; bounds so wide that they mean nothing stay finite."""
    return float(np.expm1(np.clip(log_ratio, -_LARGEST_LOG, _LARGEST_LOG)))


def of_sides(baseline: Side, candidate: Side, log_ratio: float) -> float:
    """Return the boost; of two lone timings as their ratio, without the rounding of a logarithm."""
    if baseline.n == candidate.n == 1:
        return baseline.latency / candidate.latency - 1
    return from_log(log_ratio)
