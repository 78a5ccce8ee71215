"""Which runs two datasets have in common, and which winners both time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from abtune.dataset.schema import RunStatus
from abtune.errors import InputError


def common_runs(
    parts: Sequence[xr.Dataset], configs: Sequence[Sequence[str]]
) -> tuple[int, list[xr.Dataset] | None]:
    """Return what the chosen configurations have in common; refuse a dataset with itself.

    First the number of runs of the second dataset that have the timings or the winner of a run of the first.
    Then the datasets with the winners that both time; None if these are few.
    """
    # By position: a configuration may have another name in the other dataset.
    a, b = (dataset.sel(config=list(names)) for dataset, names in zip(parts, configs, strict=True))
    # Counters intersect as multisets, so a repeated run counts as often as both datasets have it.
    shared, chosen = (
        _runs(a[name]) & _runs(b[name]) if name in a and name in b else Counter()
        for name in ("latency", "winner")
    )
    if shared and shared.total() == _runs(a["latency"]).total() == _runs(b["latency"]).total():
        raise InputError("both datasets have the same timings of every common shape; compare with another")
    # A lone rounded timing does not tell its run from others.
    telling = (
        run for run in shared if len(set(run[2:])) > 1 or not math.isclose(float(f"{run[2]:.6g}"), run[2])
    )
    timings, winners = sum(shared[run] for run in telling), chosen.total()
    # A run may share timings and winner; the sum of both would count it twice.
    return max(timings, winners), _timed_again(a, b) if winners and not timings else None


def timed(dataset: xr.Dataset, names: Sequence[str]) -> int:
    """Return the number of runs of these configurations that have a timing."""
    return int(_is_timed(dataset.sel(config=list(names))).sum())


def _timed_again(a: xr.Dataset, b: xr.Dataset) -> list[xr.Dataset] | None:
    """Return the winners that both time, with the seeds of a; None if few of a configuration are."""
    one, two = _searches(a), _searches(b)
    # Merged datasets may have other seed numbers, so a search is told by what it found.
    seed = np.full((*a["run_status"].shape, 1, 1), -1)
    for search in one.keys() & two.keys():
        for run, other in zip(one[search], two[search], strict=False):
            seed[run] = other[-1]
    both = seed >= 0
    runs = np.minimum(*(_is_timed(side).sum(("shape", "seed")).values for side in (a, b)))
    if (2 * both.sum(axis=(0, 2, 3, 4)) < runs).any():
        return None
    moved = np.take_along_axis(b["latency"].values, seed, axis=2)
    # Runs of a that failed are not runs of b.
    status = (b["run_status"].dims, np.where(both[..., 0, 0], RunStatus.COMPLETE, RunStatus.MISSING))
    later = a[["run_status"]].assign(run_status=status, latency=(b["latency"].dims, moved))
    later = later.assign_coords(config=b["config"])
    later.attrs = b.attrs
    return [side.assign(latency=side["latency"].where(both)) for side in (a, later)]


def _searches(dataset: xr.Dataset) -> dict[tuple[Any, ...], list[tuple[int, ...]]]:
    """Return the positions of timed searches, by the winner and the time that the search measured."""
    winners, positions = dataset["winner"].values, dict[tuple[Any, ...], list[tuple[int, ...]]]()
    times = np.nan_to_num(dataset.get("search_latency", xr.zeros_like(dataset["run_status"])).values)
    for run, is_timed in np.ndenumerate(_is_timed(dataset).values):
        if is_timed and winners[run]:
            positions.setdefault((*run[:2], winners[run], times[run]), []).append(run)
    return positions


def _is_timed(dataset: xr.Dataset) -> xr.DataArray:
    complete = dataset["run_status"] == RunStatus.COMPLETE
    return complete & dataset["latency"].notnull().any(("round", "repeat"))


def _runs(variable: xr.DataArray) -> Counter[tuple[Any, ...]]:
    """Count what the runs have, by shape and position of the configuration."""
    values = variable.values.reshape(*variable.shape[:3], -1)
    runs = (
        # NaN is not itself, and no winner is an empty text.
        (*index[:2], *(value for value in values[index].tolist() if value == value and value != ""))  # noqa: PLR0124
        for index in np.ndindex(*values.shape[:3])
    )
    return Counter(run for run in runs if len(run) > 2)
