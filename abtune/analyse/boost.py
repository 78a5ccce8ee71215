"""What a boost is, and how it comes from logarithms."""

from __future__ import annotations

import numpy as np
import xarray as xr

from abtune.analyse.comparison import Side

_LARGEST_LOG = 700.0


def definition(estimand: str, dataset: xr.Dataset) -> str:
    """Say what the boost is, and of which times."""
    times = ""
    if of_searches(dataset):
        times = ", each winner as its own search timed it"
    elif "winner" in dataset:
        times = ", each winner measured again after its search"
    kind = estimand.replace("-", " ")
    return f"Boost: {kind} latency of the baseline over that of the candidate, minus 1{times}."


def of_searches(dataset: xr.Dataset) -> bool:
    """Tell whether the times are those by which the searches picked their winners."""
    return bool(dataset.attrs.get("latency_source") == "search")


def caveats(dataset: xr.Dataset) -> list[str]:
    """Say what is wrong with times by which winners were picked."""
    if not of_searches(dataset):
        return []
    return [
        "These are the searches' own times of their winners: of many candidates the luckiest timing wins, so "
        "they are too good, and more so for a configuration whose timings scatter more."
    ]


def from_log(log_ratio: float) -> float:
    """Turn a log ratio into a boost; bounds so wide that they mean nothing stay finite."""
    return float(np.expm1(np.clip(log_ratio, -_LARGEST_LOG, _LARGEST_LOG)))


def of_sides(baseline: Side, candidate: Side, log_ratio: float) -> float:
    """Return the boost; of two lone timings as their ratio, without the rounding of a logarithm."""
    if baseline.n == candidate.n == 1:
        return baseline.latency / candidate.latency - 1
    return from_log(log_ratio)
