"""Transfers in a dataset: winners that other configurations rebuilt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from abtune.dataset.build import add_variables
from abtune.dataset.schema import TRANSFER, TransferStatus
from abtune.measure.plan.records import Rounds, TransferTimes, WinnerTimes

NAMES = ("transfer_latency", "transfer_status", "transfer_kernel")


def add_transfers(dataset: xr.Dataset, rounds: Iterable[Rounds]) -> xr.Dataset:
    """Return a dataset with the transfers of its winners; the same if there are none."""
    measured = list(rounds)
    if not any(one.transfers for one in measured):
        return dataset
    sizes = dataset.sizes
    cells = (sizes["shape"], sizes["config"], sizes["config"], sizes["seed"])
    values: dict[str, npt.NDArray[Any]] = {
        "transfer_latency": np.full((*cells, sizes["round"], sizes["repeat"]), np.nan),
        "transfer_status": np.full(cells, TransferStatus.MISSING, dtype=np.int8),
        "transfer_kernel": np.full(cells, "", dtype=object),
    }
    index = {name: dataset.indexes[name] for name in ("shape", "config", "seed")}
    for shape, times in _all_times(measured):
        config, origin = (index["config"].get_loc(name) for name in (times.config, times.origin))
        cell = (index["shape"].get_loc(shape), config, origin, index["seed"].get_loc(times.seed))
        values["transfer_status"][cell] = times.status
        values["transfer_kernel"][cell] = times.kernel
        for number, repeats in enumerate(times.latency):
            values["transfer_latency"][cell][number, : len(repeats)] = repeats
    return add_variables(dataset, **values)


def transfers_from_dataset(dataset: xr.Dataset, shape: str) -> tuple[TransferTimes, ...]:
    """Return the transfers of one shape of a dataset; none if it has none."""
    if "transfer_latency" not in dataset:
        return ()
    cells = dataset[list(NAMES)].sel(shape=shape).transpose(*TRANSFER[1:], ...)
    return tuple(_times_from_cells(cells))


def _all_times(measured: Iterable[Rounds]) -> Iterator[tuple[str, TransferTimes]]:
    """Yield the transfers of each shape; a winner as its own configuration built it is one, too."""
    for rounds in measured:
        own = {(winner.config, winner.seed): winner for winner in rounds.winners if winner.latency}
        for winner in own.values():
            yield rounds.shape, _transfer(winner, winner.config, TransferStatus.OK)
        for times in rounds.transfers:
            same = times.status is TransferStatus.SAME_KERNEL and own.get((times.origin, times.seed))
            yield rounds.shape, _transfer(same, times.config, times.status) if same else times


def _transfer(winner: WinnerTimes, config: str, status: TransferStatus) -> TransferTimes:
    return TransferTimes(
        origin=winner.config,
        seed=winner.seed,
        config=config,
        status=status,
        kernel=winner.kernel,
        latency=winner.latency,
    )


def _times_from_cells(cells: xr.Dataset) -> Iterator[TransferTimes]:
    names = [str(name) for name in cells["config"].values]
    for config, origin, number in np.ndindex(cells["transfer_status"].shape):
        status = TransferStatus(int(cells["transfer_status"].values[config, origin, number]))
        if config == origin or status is TransferStatus.MISSING:
            continue
        timed = status is TransferStatus.OK
        yield TransferTimes(
            origin=str(cells["origin"].values[origin]),
            seed=int(cells["seed"].values[number]),
            config=names[config],
            status=status,
            kernel=str(cells["transfer_kernel"].values[config, origin, number]),
            latency=cells["transfer_latency"].values[config, origin, number].tolist() if timed else [],
        )
