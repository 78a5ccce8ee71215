"""What a tuning run has cost, so that more of them can be planned."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import xarray as xr

from abtune.dataset.provenance import of_searches, settings
from abtune.dataset.schema import RunStatus, TrialStatus
from abtune.stats.two_sample import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCost:
    """Mean cost of one seed of one shape: a run of the baseline and a run of the candidate.

    Attributes
    ----------
    core_seconds : float
        Time of the runs, each on one core.
    gpu_seconds : float
        Time on the device at the least: every candidate that ran and every timing of the winner, for as
        long as the settings ask. NaN if the dataset does not say.
    """

    core_seconds: float
    gpu_seconds: float


def cost_of_a_seed(dataset: xr.Dataset, configs: tuple[str, str]) -> RunCost | None:
    """Return what a seed of a shape has cost on average; None if the dataset has no times of runs."""
    if "tuning_time" not in dataset or of_searches(dataset):  # a log tells time by the clock, not of a core
        return None
    part = dataset.sel(config=list(configs))
    seconds = part["tuning_time"].transpose("shape", "config", "seed").values
    complete = part["run_status"].transpose("shape", "config", "seed").values == RunStatus.COMPLETE
    core = _sum_of_sides(np.where(complete, seconds, np.nan))
    if math.isnan(core):
        return None
    return RunCost(core_seconds=core, gpu_seconds=_gpu_seconds(part))


def _gpu_seconds(dataset: xr.Dataset) -> float:
    known = settings(dataset)
    names = ("search_repeats", "search_repeat_ms", "rounds", "repeats", "repeat_ms")
    if not all(isinstance(known.get(name), int | float) for name in names) or "trial_latency" not in dataset:
        return math.nan
    searching, again = known["search_repeat_ms"] / 1000, known["repeat_ms"] / 1000
    axes = ("shape", "config", "seed", "trial")
    times = dataset["trial_latency"].transpose(*axes).values
    ran = dataset["trial_status"].transpose(*axes).values == TrialStatus.OK
    search = known["search_repeats"] * np.where(ran, np.fmax(times, searching), 0.0).sum(axis=-1)
    winners: float = 2 * known["rounds"] * known["repeats"] * again
    return _sum_of_sides(np.where(ran.any(axis=-1), search, np.nan)) + winners


def _sum_of_sides(values: Floats) -> float:
    """Mean over shapes and seeds of each side, added up; values of shape (shape, config, seed)."""
    sides = [values[:, side][~np.isnan(values[:, side])] for side in range(values.shape[1])]
    return sum(float(side.mean()) if len(side) else math.nan for side in sides)
