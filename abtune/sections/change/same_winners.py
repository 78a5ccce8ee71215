"""Which runs two datasets have in common, and which winners both time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from abtune.dataset.schema import labels_of
from abtune.errors import InputError
from abtune.stats.two_sample import Booleans


def common_runs(parts: Sequence[xr.Dataset], configs: Sequence[Sequence[str]]) -> tuple[int, Booleans | None]:
    """Return what the chosen configurations have in common; refuse a dataset with itself.

    First the number of runs of the second dataset that have the timings or the winner of a run of the first.
    Then the winners that both datasets time, shape (shapes, configurations, seeds); None unless they are the
    same in all such runs.
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


def keep(dataset: xr.Dataset, names: Sequence[str], runs: Booleans) -> xr.Dataset:
    """Return a dataset without the timings of other runs of these configurations."""
    where = {"shape": dataset["shape"], "config": list(names), "seed": dataset["seed"]}
    kept = xr.DataArray(runs, where).reindex(config=dataset["config"], fill_value=True)
    return dataset.assign(latency=dataset["latency"].where(kept))


def _timed_again(a: xr.Dataset, b: xr.Dataset) -> Booleans | None:
    if labels_of(a, "seed") != labels_of(b, "seed"):
        return None
    one, two = (dataset["latency"].notnull().any(("round", "repeat")).values for dataset in (a, b))
    both: Booleans = one & two
    same = (a["winner"].values == b["winner"].values) & (a["winner"].values != "")
    return both if both.any() and same[both].all() else None


def _runs(variable: xr.DataArray) -> Counter[tuple[Any, ...]]:
    """Count what the runs have, by shape and position of the configuration."""
    values = variable.values.reshape(*variable.shape[:3], -1)
    runs = (
        # NaN is not itself, and no winner is an empty text.
        (*index[:2], *(value for value in values[index].tolist() if value == value and value != ""))  # noqa: PLR0124
        for index in np.ndindex(*values.shape[:3])
    )
    return Counter(run for run in runs if len(run) > 2)
