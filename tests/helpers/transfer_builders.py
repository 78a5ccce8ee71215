"""Transfers of known effect, for tests and simulations of the same schedules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import xarray as xr

import abtune
from abtune.dataset.schema import TransferStatus

# What stands in a list of log effects for a schedule that has none.
FIT, FAILED, SAME = "does not fit", "failed", "same kernel"
_STATUS = {FIT: TransferStatus.DOES_NOT_FIT, FAILED: TransferStatus.FAILED, SAME: TransferStatus.SAME_KERNEL}
OFFSET = (
    0.001  # of the two rounds; the baseline and the candidate differ by twice as much, in either direction
)
Effects = Sequence[Sequence[float | str | None]]


def with_transfers(
    dataset: xr.Dataset, of_baseline: Effects, of_candidate: Effects, kernels: Any = None
) -> xr.Dataset:
    """Return a dataset with schedules of each side's searches, by their log effects; None was never made."""
    sizes = {name: dataset.sizes[name] for name in ("shape", "config", "seed")}
    cells = (sizes["shape"], 2, 2, sizes["seed"])
    latency = np.full((*cells, 2, 1), np.nan)
    status = np.full(cells, TransferStatus.MISSING)
    names = np.full(cells, "", dtype=object)
    for origin, effects in enumerate((of_baseline, of_candidate)):
        for (shape, seed), effect in _cells(effects):
            if effect is None:
                continue
            logs = {0: 0.01 * seed, 1: 0.01 * seed - (effect if isinstance(effect, float) else 0.0)}
            for config, log in logs.items():
                own = config == origin
                made = TransferStatus.OK if own or isinstance(effect, float) else _STATUS[effect]
                status[shape, config, origin, seed] = made
                if made in {TransferStatus.OK, TransferStatus.SAME_KERNEL}:
                    # The same kernel is timed once.
                    noise = OFFSET if config == 0 or effect == SAME else -OFFSET
                    times = np.exp(log - 8 + np.array([noise, -noise]))
                    latency[shape, config, origin, seed, :, 0] = times
            name = f"k{shape}-{seed}" if kernels is None else kernels[origin][shape][seed]
            names[shape, :, origin, seed] = name
    return abtune.add_variables(
        dataset, transfer_latency=latency, transfer_status=status, transfer_kernel=names
    )


def _cells(effects: Effects) -> Iterator[tuple[tuple[int, int], float | str | None]]:
    return (((i, j), effect) for i, row in enumerate(effects) for j, effect in enumerate(row))
