"""What held a GPU's clock down while winners were timed."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
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
    sides = [_bits(dataset, config) for config in (baseline, candidate)]
    shares = [float(np.mean(_slowed(bits))) if bits.size else 0.0 for bits in sides]
    if not any(shares):
        return []
    every = np.bitwise_or.reduce(np.concatenate(sides))
    reasons = ", ".join(name for bit, name in _REASONS.items() if every & bit)
    return [
        f"The GPU held its clock down ({reasons}) in {percent(shares[0])} of the rounds of {baseline} and in "
        f"{percent(shares[1])} of those of {candidate}."
    ]


def _bits(dataset: xr.Dataset, config: str) -> npt.NDArray[np.int64]:
    values = dataset["throttle_reasons"].sel(config=[config]).values.ravel()
    return values[np.isfinite(values)].astype(np.int64)


def _slowed(bits: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    return (bits & sum(_REASONS)) != 0
