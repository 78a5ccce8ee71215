"""Measures the winners of a dataset again, later or elsewhere: the searches stay, the timings are new."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import xarray as xr

from abtune.configurations import Configuration
from abtune.errors import DatasetError
from abtune.measure.cluster import open_cluster
from abtune.measure.plan import Run, Settings
from abtune.measure.records import Rounds
from abtune.measure.sitting import Progress
from abtune.measure.target import TargetFacts
from abtune.measure.winners import measure_winners
from abtune.schema import RunStatus, add_variables
from abtune.shapes import parse_shape


def settings_of(dataset: xr.Dataset) -> Settings:
    """Return the settings that a sweep recorded.

    Raises
    ------
    DatasetError
        If the dataset holds none, or no winners: it was not made by a sweep.
    """
    if "winner" not in dataset or not (dataset["winner"] != "").any():
        raise DatasetError("the dataset holds no winners to measure; only one made by abtune sweep does")
    try:
        return Settings(**json.loads(dataset.attrs["settings"]))
    except (KeyError, TypeError, ValueError) as error:
        raise DatasetError(f"the dataset does not say with which settings it was made ({error})") from None


def measure_again(
    dataset: xr.Dataset,
    facts: TargetFacts,
    settings: Settings,
    *,
    scheduler: str,
    cores: int,
    progress: Progress,
) -> xr.Dataset:
    """Build all winners again, check and time them, and return the dataset with the new timings.

    Parameters
    ----------
    dataset : xarray.Dataset
        Made by a sweep; it is not changed.
    facts : TargetFacts
        What to measure on; of the same kind as the sweep's target.
    settings : Settings
        For what target to build, and in how many rounds to time.
    scheduler, cores
        As for a sweep.
    progress : Progress
        Told of every shape.

    Raises
    ------
    DatasetError
        If the dataset does not say what its configurations mean.
    """
    settings = replace(settings, target=facts.target)
    jobs = _jobs(dataset)
    progress.begin("re-measuring", sum(len(shape) for shape in jobs), 0)
    rounds = asyncio.run(_measure(jobs, facts, settings, scheduler, cores, progress))
    again = _with_rounds(dataset, rounds, settings)
    return again.assign_attrs(settings=json.dumps(asdict(settings)), device=facts.devices[0])


def _jobs(dataset: xr.Dataset) -> list[list[tuple[Run, list[Any]]]]:
    """Return, shape by shape, the runs that have a winner, with its record."""
    try:
        meanings = json.loads(dataset.attrs["configurations"])
        configs = {meaning["name"]: Configuration(**meaning) for meaning in meanings}
    except (KeyError, TypeError, ValueError) as error:
        raise DatasetError(f"the dataset does not say what its configurations are ({error})") from None
    jobs = []
    for label in dataset["shape"].values:
        shape = parse_shape(str(label))
        cells = [
            (str(name), int(seed)) for name in dataset["config"].values for seed in dataset["seed"].values
        ]
        found = []
        for name, seed in cells:
            record = str(dataset["winner"].sel(shape=label, config=name, seed=seed).item())
            if record:
                found.append((Run(shape=shape, config=configs[name], seed=seed), json.loads(record)))
        if found:
            jobs.append(found)
    return jobs


async def _measure(
    jobs: Sequence[Sequence[tuple[Run, list[Any]]]],
    facts: TargetFacts,
    settings: Settings,
    scheduler: str,
    cores: int,
    progress: Progress,
) -> list[Rounds]:
    async with open_cluster(facts, scheduler=scheduler, cores=cores) as cluster:

        async def one(index: int) -> Rounds:
            rounds = await measure_winners(cluster, settings, jobs[index], -index)
            progress.advance(len(jobs[index]))
            return rounds

        return list(await asyncio.gather(*(one(index) for index in range(len(jobs)))))


def _with_rounds(dataset: xr.Dataset, rounds: Sequence[Rounds], settings: Settings) -> xr.Dataset:
    sizes = tuple(dataset.sizes[name] for name in ("shape", "config", "seed"))
    latency = np.full((*sizes, settings.rounds, settings.repeats), math.nan)
    clock, temperature = (np.full((*sizes, settings.rounds), math.nan) for _ in range(2))
    run = {
        name: dataset[name].values.copy() if name in dataset else np.full(sizes, "", dtype=object)
        for name in ("run_status", "failure", "device", "host")
    }
    labels = [dataset[name].values.tolist() for name in ("shape", "config", "seed")]
    for measured in rounds:
        for winner in measured.winners:
            keys = (measured.shape, winner.config, winner.seed)
            cell = tuple(axis.index(key) for axis, key in zip(labels, keys, strict=True))
            run["device"][cell], run["host"][cell] = measured.device, measured.host
            run["failure"][cell] = winner.failure
            run["run_status"][cell] = RunStatus.FAILED if winner.failure else RunStatus.COMPLETE
            if not winner.failure:
                latency[cell] = winner.latency
                clock[cell], temperature[cell] = winner.sm_clock, winner.temperature
    bare = dataset.drop_dims(["round", "repeat"]).assign_coords(
        {
            name: (name, np.arange(count), dataset[name].attrs)
            for name, count in (("round", settings.rounds), ("repeat", settings.repeats))
        }
    )
    return add_variables(bare, latency=latency, sm_clock=clock, temperature=temperature, **run)
