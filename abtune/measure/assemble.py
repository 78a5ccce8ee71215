"""From the files of a sweep to its dataset."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from abtune.measure.plan import Plan
from abtune.measure.records import Rounds, RunRecord, WinnerTimes
from abtune.measure.store import Store
from abtune.schema import RunStatus, TrialStatus, add_variables, make_dataset
from abtune.shapes import parse_shape


def assemble_store(plan: Plan, store: Store) -> xr.Dataset:
    """Build the dataset of everything in a store, also of earlier plans."""
    content, records = store.about(), store.records()
    about, shapes = content["about"], {*(shape.label for shape in plan.shapes), *(r.shape for r in records)}
    attrs = {
        **about,
        "title": f"{about['title']}, {len(shapes)} shape{'' if len(shapes) == 1 else 's'}",
        "settings": json.dumps(content["identity"]["settings"]),
        "configurations": json.dumps(content["identity"]["configs"]),
    }
    return assemble(plan, records, store.rounds().values(), attrs)


def assemble(
    plan: Plan, records: Sequence[RunRecord], rounds: Iterable[Rounds], attrs: Mapping[str, Any]
) -> xr.Dataset:
    """Build a dataset; what the plan asks for and is not there is missing.

    Parameters
    ----------
    plan : Plan
        Gives the order of shapes and configurations, and how many rounds and repeats there are.
    records, rounds
        Runs and re-measurements, also of earlier plans.
    attrs : mapping
        Facts about the sweep.

    Returns
    -------
    xarray.Dataset
        Valid by the schema.
    """
    labels = list(
        dict.fromkeys([shape.label for shape in plan.shapes] + [record.shape for record in records])
    )
    configs = [config.name for config in plan.configs]
    seeds = sorted({*plan.seeds, *(record.seed for record in records)})
    grid = _Grid(labels, configs, seeds)
    for record in records:
        grid.put_record(record)
    for measured in rounds:
        for winner in measured.winners:
            grid.put_winner(measured, winner)
    shapes = [parse_shape(label) for label in labels]
    dataset = make_dataset(
        grid.latency(plan.settings.rounds, plan.settings.repeats),
        shapes=labels,
        configs=configs,
        seeds=seeds,
        workloads=[shape.workload for shape in shapes],
        run_status=grid.run["run_status"],
        attrs=attrs,
    )
    return add_variables(
        dataset,
        flop=[shape.flop for shape in shapes],
        **{name: values for name, values in grid.run.items() if name != "run_status"},
        **grid.trials(),
        **grid.states(plan.settings.rounds),
    )


class _Grid:
    """Arrays over shape, config and seed that are filled cell by cell."""

    def __init__(self, labels: Sequence[str], configs: Sequence[str], seeds: Sequence[int]) -> None:
        self._axes: tuple[Sequence[Any], ...] = (labels, configs, seeds)
        self.size = tuple(len(axis) for axis in self._axes)
        self._records: dict[tuple[int, ...], RunRecord] = {}
        self._winners: dict[tuple[int, ...], WinnerTimes] = {}
        missing = np.datetime64("NaT")
        self.run: dict[str, np.ndarray[Any, Any]] = {
            "run_status": np.full(self.size, RunStatus.MISSING),
            "search_latency": np.full(self.size, math.nan),
            "tuning_time": np.full(self.size, math.nan),
            "started": np.full(self.size, missing, dtype="datetime64[ms]"),
            "finished": np.full(self.size, missing, dtype="datetime64[ms]"),
            **{
                name: np.full(self.size, "", dtype=object) for name in ("device", "host", "winner", "failure")
            },
        }

    def put_record(self, record: RunRecord) -> None:
        """Enter a finished run."""
        cell = self._cell(record.shape, record.config, record.seed)
        self._records[cell] = record
        values = {
            "run_status": record.status,
            "search_latency": record.search_latency,
            "tuning_time": record.tuning_time,
            "started": np.datetime64(record.started),
            "finished": np.datetime64(record.finished),
            "host": record.host,
            "winner": json.dumps(record.winner) if record.winner is not None else "",
            "failure": record.failure,
        }
        for name, value in values.items():
            self.run[name][cell] = value

    def put_winner(self, rounds: Rounds, winner: WinnerTimes) -> None:
        """Enter a re-measurement; a winner that is wrong or cannot run fails its run.

        Times whose run is not there (its file was removed) are nobody's.
        """
        labels = (rounds.shape, winner.config, winner.seed)
        if not all(label in axis for label, axis in zip(labels, self._axes, strict=True)):
            return
        cell = self._cell(*labels)
        if cell not in self._records:
            return
        self.run["device"][cell] = rounds.device
        self.run["host"][cell] = rounds.host
        if winner.failure:
            self.run["run_status"][cell] = RunStatus.FAILED
            self.run["failure"][cell] = winner.failure
        else:
            self._winners[cell] = winner

    def latency(self, rounds: int, repeats: int) -> np.ndarray[Any, Any]:
        """Return seconds by shape, config, seed, round and repeat."""
        values = np.full((*self.size, rounds, repeats), math.nan)
        for cell, winner in self._winners.items():
            values[cell] = winner.latency
        return values

    def states(self, rounds: int) -> dict[str, np.ndarray[Any, Any]]:
        """Return the state of the device by round."""
        names = ("sm_clock", "temperature", "throttle_reasons")
        states = {name: np.full((*self.size, rounds), math.nan) for name in names}
        for cell, winner in self._winners.items():
            for name, values in states.items():
                values[cell] = getattr(winner, name)
        return states

    def trials(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return the course of every search, padded to the longest."""
        length = max((len(record.trial_latency) for record in self._records.values()), default=0)
        latency = np.full((*self.size, length), math.nan)
        status = np.full((*self.size, length), TrialStatus.NOT_RUN)
        for cell, record in self._records.items():
            count = len(record.trial_latency)
            latency[cell][:count], status[cell][:count] = record.trial_latency, record.trial_status
        return {"trial_latency": latency, "trial_status": status}

    def _cell(self, *labels: Any) -> tuple[int, ...]:
        return tuple(axis.index(label) for axis, label in zip(self._axes, labels, strict=True))
