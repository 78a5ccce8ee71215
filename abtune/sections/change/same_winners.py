"""Which runs two datasets have in common, and which winners both time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from abtune.errors import InputError


def common_runs(
    parts: Sequence[xr.Dataset], configs: Sequence[Sequence[str]]
) -> tuple[int, list[xr.Dataset] | None]:
    """Return what the chosen configurations have in common; refuse a dataset with itself.

    First the number of runs of the second dataset that have the timings or the winner of a run of the first.
    Then the datasets with the winners that both time; None unless they are the same in all such runs.
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
    runs = _timed_again(a, b) if winners and not timings else None
    both = [_keep(*side, runs) for side in zip(parts, configs, strict=True)] if runs is not None else None
    return max(timings, winners), both


def _keep(dataset: xr.Dataset, names: Sequence[str], runs: xr.DataArray) -> xr.Dataset:
    """Return a dataset with the common seeds, without the timings of other runs of these configurations."""
    kept = runs.assign_coords(config=list(names)).reindex(config=dataset["config"], fill_value=True)
    dataset = dataset.sel(seed=runs["seed"])
    return dataset.assign(latency=dataset["latency"].where(kept))


def timed(dataset: xr.Dataset, names: Sequence[str]) -> int:
    """Return the number of runs of these configurations that have a timing."""
    return int(dataset["latency"].sel(config=list(names)).notnull().any(("round", "repeat")).sum())


def _timed_again(a: xr.Dataset, b: xr.Dataset) -> xr.DataArray | None:
    seeds = [set(dataset["seed"].values.tolist()) for dataset in (a, b)]
    common = sorted(seeds[0] & seeds[1])
    if len(common) < min(map(len, seeds)):
        return None  # each has searches of its own
    a, b = (dataset.sel(seed=common).drop_vars("config") for dataset in (a, b))
    one, two = (dataset["latency"].notnull().any(("round", "repeat")) for dataset in (a, b))
    both = one & two
    same = (a["winner"] == b["winner"]) & (a["winner"] != "")
    return both if both.any() and same.where(both, other=True).all() else None


def _runs(variable: xr.DataArray) -> Counter[tuple[Any, ...]]:
    """Count what the runs have, by shape and position of the configuration."""
    values = variable.values.reshape(*variable.shape[:3], -1)
    runs = (
        # NaN is not itself, and no winner is an empty text.
        (*index[:2], *(value for value in values[index].tolist() if value == value and value != ""))  # noqa: PLR0124
        for index in np.ndindex(*values.shape[:3])
    )
    return Counter(run for run in runs if len(run) > 2)
