"""Winners rebuilt under the other configuration: one value per schedule and configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from abtune.dataset.schema import TransferStatus
from abtune.stats.two_sample import Floats, Integers
from abtune.stats.variance import moments, seed_values


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfers:
    """The schedules that the searches of one configuration found, timed under two configurations."""

    origin: str  # the configuration whose searches found them
    # (shapes, seeds), log seconds: mean over rounds of the median log latency, built as either; NaN without a
    # timing
    baseline: Floats
    candidate: Floats
    # (shapes,): standard deviation that measuring gives the difference of two such values; NaN where unknown
    error: Floats
    # (shapes, seeds): hash of the schedule as its own configuration builds it; empty without one
    schedule: npt.NDArray[np.object_]
    # (shapes, seeds): :class:`~abtune.dataset.schema.TransferStatus` under the other configuration
    status: Integers


def has_transfers(dataset: xr.Dataset) -> bool:
    """Return whether winners were rebuilt under other configurations."""
    return "transfer_latency" in dataset


def extract_transfers(dataset: xr.Dataset, origin: str, baseline: str, candidate: str) -> Transfers:
    """Return the schedules that one configuration found, under both."""
    if origin not in dataset["origin"].values:
        none = {"transfer_status": TransferStatus.MISSING, "transfer_kernel": ""}
        dataset = dataset.reindex(origin=[origin], fill_value=none)
    other = candidate if origin == baseline else baseline
    logs = (np.log(_latency(dataset, origin, config)) for config in (baseline, candidate))
    sides = [seed_values(values) for values in logs]
    variances = np.concatenate([side.measurement_variance for side in sides], axis=1)
    return Transfers(
        origin=origin,
        baseline=sides[0].value,
        candidate=sides[1].value,
        error=np.sqrt(2 * moments(variances).mean),
        schedule=_hashes(dataset, origin),
        status=_values(dataset, "transfer_status", origin, other).astype(np.int64),
    )


def _values(dataset: xr.Dataset, name: str, origin: str, config: str) -> npt.NDArray[Any]:
    """Return a variable of the schedules of one configuration as another builds them, by shape and seed."""
    found = dataset[name].sel(origin=[origin], config=[config])  # lists: a name alone loads dask
    return found.transpose("shape", "config", "origin", "seed", ...).values[:, 0, 0]


def _latency(dataset: xr.Dataset, origin: str, config: str) -> Floats:
    seconds = _values(dataset, "transfer_latency", origin, config)
    status = _values(dataset, "transfer_status", origin, config)
    fits = (status == TransferStatus.OK) | (status == TransferStatus.SAME_KERNEL)
    return np.where(fits[:, :, np.newaxis, np.newaxis], seconds.astype(np.float64), np.nan)


def _hashes(dataset: xr.Dataset, origin: str) -> npt.NDArray[np.object_]:
    """Return the hashes of the kernels that the runs of a configuration won with."""
    if "transfer_kernel" not in dataset:
        return np.full((dataset.sizes["shape"], dataset.sizes["seed"]), "", dtype=object)
    return _values(dataset, "transfer_kernel", origin, origin).astype(object)
