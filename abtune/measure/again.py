"""Measures the winners of a dataset again, later or elsewhere: the searches stay, the timings are new."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict, replace

import xarray as xr

from abtune.configurations import Configuration
from abtune.errors import DatasetError
from abtune.measure.assemble import assemble
from abtune.measure.cluster import open_cluster
from abtune.measure.plan import Plan, Settings, make_plan
from abtune.measure.records import Rounds, RunRecord
from abtune.measure.restore import restore_records
from abtune.measure.sitting import Progress
from abtune.measure.target import TargetFacts
from abtune.measure.winners import Job, measure_winners
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
    plan = _plan(dataset, replace(settings, target=facts.target))
    records = restore_records(dataset)
    jobs = _jobs(plan, records)
    progress.begin("re-measuring", sum(len(shape) for shape in jobs), 0)
    rounds = asyncio.run(_measure(jobs, facts, plan.settings, scheduler, cores, progress))
    attrs = {**dataset.attrs, "settings": json.dumps(asdict(plan.settings)), "device": facts.devices[0]}
    return assemble(plan, records, rounds, attrs)


def _plan(dataset: xr.Dataset, settings: Settings) -> Plan:
    """Return the plan that a dataset carries out."""
    try:
        configs = [Configuration(**meaning) for meaning in json.loads(dataset.attrs["configurations"])]
    except (KeyError, TypeError, ValueError) as error:
        raise DatasetError(f"the dataset does not say what its configurations are ({error})") from None
    return make_plan(
        shapes=[parse_shape(str(label)) for label in dataset["shape"].values],
        configs=configs,
        seeds=[int(seed) for seed in dataset["seed"].values],
        settings=settings,
    )


def _jobs(plan: Plan, records: Sequence[RunRecord]) -> list[list[Job]]:
    """Return, shape by shape, the runs that have a winner."""
    jobs: dict[str, list[Job]] = {}
    for record in records:
        if record.winner is not None:
            run = plan.run_of(record.shape, record.config, record.seed)
            jobs.setdefault(record.shape, []).append((run, record.winner, record.search_latency))
    return list(jobs.values())


async def _measure(
    jobs: Sequence[Sequence[Job]],
    facts: TargetFacts,
    settings: Settings,
    scheduler: str,
    cores: int,
    progress: Progress,
) -> list[Rounds]:
    found: list[Rounds] = []

    def keep(rounds: Rounds) -> None:
        found.append(rounds)
        progress.advance(len(rounds.winners))

    async with open_cluster(facts, scheduler=scheduler, cores=cores) as cluster:
        await measure_winners(cluster, settings, jobs, keep)
    return found
