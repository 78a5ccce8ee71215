"""What held a GPU's clock down while winners were timed."""

from __future__ import annotations

import numpy as np
import xarray as xr

from abtune.text import percent

# Bits of NVML's nvmlClocksEventReason that slow a kernel down; idle and fixed clocks are not among them.
# https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html
_REASONS = {
    0x04: "power cap",
    0x08: "hardware slowdown",
    0x20: "software thermal limit",
    0x40: "hardware thermal limit",
    0x80: "power brake",
}


def caveats(dataset: xr.Dataset, baseline: str, candidate: str) -> list[str]:
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
