"""What was lost on the way: trials to failures, and rounds to a GPU that held its clock down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr

from abtune.dataset.schema import TrialStatus
from abtune.text import percent

LOST = (TrialStatus.BUILD_FAILED, TrialStatus.RUN_FAILED, TrialStatus.TIMED_OUT)
# Shares of lost trials that differ by less are not worth a line in every report.
_WORTH_SAYING = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """Outcomes of the trials of one configuration."""

    config: str  # its name
    tried: int  # trials that were made
    by_status: Mapping[str, int]  # trials by ``ok``, ``build_failed``, ``run_failed``, ``timed_out``
    lost_share: float  # those that were not ok over those tried; NaN without any


def count_trials(dataset: xr.Dataset, config: str) -> Trials | None:
    """Count the outcomes of the trials of a configuration; None where the dataset does not say."""
    if "trial_status" not in dataset:
        return None
    found = dataset["trial_status"].sel(config=[config]).values  # a list: a name alone loads dask
    if np.any(found == TrialStatus.UNKNOWN):
        return None
    kinds = (TrialStatus.OK, *LOST)
    by_status = {kind.name.lower(): int(np.count_nonzero(found == kind)) for kind in kinds}
    tried = sum(by_status.values())
    lost = tried - by_status["ok"]
    return Trials(
        config=config, tried=tried, by_status=by_status, lost_share=lost / tried if tried else float("nan")
    )


def about_lost_trials(dataset: xr.Dataset, baseline: str, candidate: str) -> list[str]:
    """Say where one side lost a larger share of its trials than the other."""
    sides = [count_trials(dataset, config) for config in (baseline, candidate)]
    known = [side for side in sides if side is not None and side.tried]
    if len(known) < 2:
        return []
    less, more = sorted(known, key=lambda side: side.lost_share)
    if more.lost_share - less.lost_share < _WORTH_SAYING:
        return []
    return [
        f"{_percent(more.lost_share)} of {more.config}'s trials failed ({less.config}: "
        f"{_percent(less.lost_share)}), so {more.config} had fewer candidates to choose from."
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.2g}%" if share else "none"


# Bits of NVML's nvmlClocksEventReason that slow a kernel down; idle and fixed clocks are not among them.
# https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html
_REASONS = {
    0x04: "power cap",
    0x08: "hardware slowdown",
    0x20: "software thermal limit",
    0x40: "hardware thermal limit",
    0x80: "power brake",
}


def about_throttling(dataset: xr.Dataset, baseline: str, candidate: str) -> list[str]:
    """Say which share of each side's rounds the GPU was held back in, and by what."""
    if "throttle_reasons" not in dataset:
        return []
    rounds = (dataset["throttle_reasons"].sel(config=[name]).values.ravel() for name in (baseline, candidate))
    sides = [values[np.isfinite(values)].astype(np.int64) for values in rounds]
    shares = [float(np.mean((bits & sum(_REASONS)) != 0)) if bits.size else 0.0 for bits in sides]
    if not any(shares):
        return []
    every = np.bitwise_or.reduce(np.concatenate(sides))
    reasons = ", ".join(name for bit, name in _REASONS.items() if every & bit)
    return [
        f"The GPU held its clock down ({reasons}) in {percent(shares[0])} of the rounds of {baseline} and in "
        f"{percent(shares[1])} of those of {candidate}."
    ]
