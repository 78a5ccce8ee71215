"""From the dataset of a sweep back to its finished runs: the inverse of assembling it.

A dataset holds all that a sweep knows of its finished runs, so one whose files are gone, or that came from
elsewhere, can be gone on with.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import xarray as xr

from abtune.errors import DatasetError
from abtune.measure.records import Rounds, RunRecord, WinnerTimes
from abtune.schema import RunStatus, TrialStatus

_NEEDED = ("winner", "search_latency", "trial_latency", "trial_status", "tuning_time", "started", "finished")
_STATES = ("sm_clock", "temperature", "throttle_reasons")


def identity_of(dataset: xr.Dataset) -> dict[str, Any]:
    """Return what must agree for further runs to belong into a dataset, as a plan states it.

    Raises
    ------
    DatasetError
        If the dataset was not made by a sweep.
    """
    _require_variables(dataset)
    try:
        return {
            "settings": json.loads(dataset.attrs["settings"]),
            "machine": f"{dataset.attrs['device']}, TVM {dataset.attrs['tvm_version']}",
            "configs": json.loads(dataset.attrs["configurations"]),
        }
    except (KeyError, TypeError, ValueError) as error:
        raise DatasetError(f"it does not say how it was made ({error})") from None


def restore_records(dataset: xr.Dataset) -> list[RunRecord]:
    """Return the finished runs of a dataset made by a sweep.

    Raises
    ------
    DatasetError
        If variables are missing, or a winner is no tuning record.
    """
    _require_variables(dataset)
    try:
        return [_record(cell) for cell in _cells(dataset) if int(cell["run_status"]) != RunStatus.MISSING]
    except ValueError as error:
        raise DatasetError(f"a winner in the dataset is no tuning record ({error})") from None


def _require_variables(dataset: xr.Dataset) -> None:
    absent = [name for name in _NEEDED if name not in dataset]
    if absent:
        raise DatasetError(f"the dataset has no variable {absent[0]!r}, as one that a sweep made has")


def restore_rounds(dataset: xr.Dataset) -> list[Rounds]:
    """Return the winners that were measured again, shape by shape."""
    measured: dict[str, list[xr.Dataset]] = {}
    for cell in _cells(dataset):
        if str(cell["winner"].item()) and (_failure(cell) or cell["latency"].notnull().any()):
            measured.setdefault(str(cell["shape"].item()), []).append(cell)
    return [
        Rounds(
            shape=shape,
            device=str(cells[0]["device"].item()),
            host=str(cells[0]["host"].item()),
            winners=tuple(_times(cell) for cell in cells),
        )
        for shape, cells in measured.items()
    ]


def _cells(dataset: xr.Dataset) -> Iterator[xr.Dataset]:
    for shape in range(dataset.sizes["shape"]):
        for config in range(dataset.sizes["config"]):
            for seed in range(dataset.sizes["seed"]):
                yield dataset.isel(shape=shape, config=config, seed=seed)


def _failure(cell: xr.Dataset) -> str:
    return str(cell["failure"].item()) if int(cell["run_status"]) == RunStatus.FAILED else ""


def _record(cell: xr.Dataset) -> RunRecord:
    winner = str(cell["winner"].item())
    tried = cell["trial_status"].values != TrialStatus.NOT_RUN
    return RunRecord(
        shape=str(cell["shape"].item()),
        config=str(cell["config"].item()),
        seed=int(cell["seed"]),
        # A search that has a winner did not fail; measuring the winner again did.
        status=RunStatus.COMPLETE if winner else RunStatus.FAILED,
        failure="" if winner else _failure(cell),
        search_latency=float(cell["search_latency"]),
        trial_latency=cell["trial_latency"].values[tried].tolist(),
        trial_status=[TrialStatus(int(status)) for status in cell["trial_status"].values[tried]],
        winner=json.loads(winner) if winner else None,
        tuning_time=float(cell["tuning_time"]),
        started=_iso(cell["started"]),
        finished=_iso(cell["finished"]),
        host=str(cell["host"].item()),
    )


def _times(cell: xr.Dataset) -> WinnerTimes:
    config, seed, failure = str(cell["config"].item()), int(cell["seed"]), _failure(cell)
    if failure:
        return WinnerTimes.lost(config, seed, failure)
    unknown = [math.nan] * cell.sizes["round"]
    return WinnerTimes(
        config=config,
        seed=seed,
        latency=cell["latency"].values.tolist(),
        failure="",
        **{name: cell[name].values.tolist() if name in cell else unknown for name in _STATES},
    )


def _iso(time: xr.DataArray) -> str:
    return str(time.values.astype("datetime64[ms]"))
