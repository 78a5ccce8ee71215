"""What a seed of a shape has cost in a dataset: core seconds of both searches, and seconds on the GPU."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import xarray as xr

from abtune.dataset.provenance import of_searches, parsed, settings
from abtune.dataset.schema import RunStatus, TrialStatus
from abtune.stats.two_sample import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCost:
    """Mean cost of one seed of one shape: a run of the baseline and a run of the candidate."""

    core_seconds: float  # each run on one core
    gpu_seconds: float  # at least, by the settings; NaN of a CPU, or if the dataset does not say


def cost_of_a_seed(dataset: xr.Dataset, configs: tuple[str, str]) -> RunCost | None:
    """Return what a seed of a shape has cost on average; None if the dataset has no times of runs."""
    if "tuning_time" not in dataset or of_searches(dataset):  # a log tells time by the clock, not of a core
        return None
    chosen = dataset.sel(config=list(configs))
    complete = chosen["run_status"].values == RunStatus.COMPLETE
    core = _sum_of_sides(np.where(complete, chosen["tuning_time"].values, np.nan))
    if math.isnan(core):
        return None
    return RunCost(core_seconds=core, gpu_seconds=_gpu_seconds(chosen))


def _gpu_seconds(dataset: xr.Dataset) -> float:
    known = settings(dataset.attrs)
    names = ("search_repeats", "search_repeat_ms", "rounds", "repeats", "repeat_ms")
    is_known = all(isinstance(known.get(name), int | float) for name in names) and "trial_latency" in dataset
    if not is_known or parsed(dataset.attrs, "target", dict).get("kind") == "llvm":
        return math.nan
    searching, again = known["search_repeat_ms"] / 1000, known["repeat_ms"] / 1000
    ran = dataset["trial_status"].values == TrialStatus.OK
    # A repeat calls the kernel for the set time, or once if one call takes longer.
    times = np.where(ran, np.fmax(dataset["trial_latency"].values, searching), 0.0)
    search = known["search_repeats"] * times.sum(axis=-1)
    # Of both sides; warming up and loading are not known, so this is the least.
    winners: float = 2 * known["rounds"] * known["repeats"] * again
    return _sum_of_sides(np.where(ran.any(axis=-1), search, np.nan)) + winners


def _sum_of_sides(values: Floats) -> float:
    """Return the sum over sides of the mean over shapes and seeds; values of shape (shape, config, seed)."""
    sides = [values[:, side][~np.isnan(values[:, side])] for side in range(values.shape[1])]
    return sum(float(side.mean()) if len(side) else math.nan for side in sides)
