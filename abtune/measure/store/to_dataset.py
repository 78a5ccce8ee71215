"""From the files of a sweep to its dataset."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import xarray as xr

from abtune.dataset.cells import Axes, Cell, dataset_from_cells
from abtune.dataset.schema import RunStatus
from abtune.measure.plan.plan import Plan
from abtune.measure.plan.records import Rounds, RunRecord, WinnerTimes
from abtune.measure.store.store import Store
from abtune.measure.store.transfer_variables import add_transfers
from abtune.shapes import parse_shape
from abtune.text import count

# Every sweep's dataset has these variables, also before its first run.
_OF_RUN = ("search_latency", "tuning_time", "started", "finished", "device", "host", "winner", "failure")
_OF_TRIALS = ("trial_latency", "trial_status")
_OF_ROUNDS = ("sm_clock", "temperature", "throttle_reasons")


def store_to_dataset(plan: Plan, store: Store) -> xr.Dataset:
    """Return the dataset of all runs in a store, also from earlier plans."""
    content, records = store.about(), store.records()
    shapes = {*(shape.label for shape in plan.shapes), *(record.shape for record in records)}
    attrs = {
        **content["about"],
        "title": f"{content['about']['title']}, {count(len(shapes), 'shape')}",
        "settings": json.dumps(content["identity"]["settings"]),
        "configurations": json.dumps(content["identity"]["configs"]),
    }
    return records_to_dataset(plan, records, store.rounds().values(), attrs)


def records_to_dataset(
    plan: Plan, records: Sequence[RunRecord], rounds: Iterable[Rounds], attrs: Mapping[str, Any]
) -> xr.Dataset:
    """Return the dataset of runs and re-measurements; runs of the plan that are not there are missing."""
    axes = _axes(plan, records)
    cells: dict[Cell, dict[str, Any]] = {
        (record.shape, record.config, record.seed): _values_of_run(record) for record in records
    }
    every = list(rounds)
    for measured in every:
        for winner in measured.winners:
            cell = (measured.shape, winner.config, winner.seed)
            if cell in cells:  # no run has the timings if its file was removed
                cells[cell] |= _values_of_winner(measured, winner)
    shapes = [parse_shape(label) for label in axes.shapes]
    dataset = dataset_from_cells(
        cells,
        axes,
        variables=(*_OF_RUN, *_OF_TRIALS, *_OF_ROUNDS),
        shape_values={
            "workload": [shape.workload for shape in shapes],
            "flop": [shape.flop for shape in shapes],
        },
        attrs=attrs,
    )
    return add_transfers(dataset, every)


def _axes(plan: Plan, records: Sequence[RunRecord]) -> Axes:
    labels = [shape.label for shape in plan.shapes] + [record.shape for record in records]
    return Axes(
        shapes=list(dict.fromkeys(labels)),
        configs=[config.name for config in plan.configs],
        seeds=sorted({*plan.seeds, *(record.seed for record in records)}),
        lengths={"round": plan.settings.rounds, "repeat": plan.settings.repeats},
    )


def _values_of_run(record: RunRecord) -> dict[str, Any]:
    return {
        "run_status": record.status,
        "search_latency": record.search_latency,
        "tuning_time": record.tuning_time,
        "started": record.started,
        "finished": record.finished,
        "host": record.host,
        "winner": json.dumps(record.winner) if record.winner is not None else "",
        "failure": record.failure,
        "trial_latency": record.trial_latency,
        "trial_status": record.trial_status,
    }


def _values_of_winner(rounds: Rounds, winner: WinnerTimes) -> dict[str, Any]:
    """Return the values of a re-measured winner; one that is wrong or cannot run fails its run."""
    machine = {"device": rounds.device, "host": rounds.host}
    if winner.failure:
        return {**machine, "run_status": RunStatus.FAILED, "failure": winner.failure}
    states = {name: getattr(winner, name) for name in _OF_ROUNDS}
    return {**machine, "latency": winner.latency, **states}
