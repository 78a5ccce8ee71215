"""From the files of a sweep to its dataset."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import xarray as xr

from abtune.dataset.build import add_variables
from abtune.dataset.cells import Axes, Cell, dataset_from_cells, padded
from abtune.dataset.schema import DESIGN, RunStatus, SeedDesign, TransferStatus
from abtune.measure.plan.plan import Plan
from abtune.measure.plan.records import STATES, Rounds, RunRecord, WinnerTimes
from abtune.measure.store.store import Store
from abtune.shapes import parse_shape
from abtune.text import count

# Every sweep's dataset has these variables, also before its first run.
_OF_RUN = ("search_latency", "tuning_time", "started", "finished", "device", "host", "winner", "failure")
_OF_TRIALS = ("trial_latency", "trial_status")


def store_to_dataset(plan: Plan, store: Store) -> xr.Dataset:
    """Return the dataset of all runs in a store, also from earlier plans."""
    content, records = store.about(), store.records()
    shapes = {*(shape.label for shape in plan.shapes), *(record.shape for record in records)}
    attrs = {
        **content["about"],
        "title": f"{content['about'].get('title', 'sweep')}, {count(len(shapes), 'shape')}",
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
    # No run has the timings if its file was removed.
    measured_shapes = [one.of(lambda *run, shape=one.shape: (shape, *run) in cells) for one in rounds]
    for measured in measured_shapes:
        for winner in measured.winners:
            cells[measured.shape, winner.config, winner.seed] |= _values_of_winner(measured, winner)
    shapes = [parse_shape(label) for label in axes.shapes]
    shared = plan.settings.is_shared
    dataset = dataset_from_cells(
        cells,
        axes,
        variables=(*_OF_RUN, *_OF_TRIALS, *STATES, *["trial_origin"] * shared),
        shape_values={name: [getattr(shape, name) for shape in shapes] for name in ("workload", "flop")},
        attrs={**attrs, DESIGN: SeedDesign.SHARED.value} if shared else attrs,
    )
    return _add_transfers(dataset, measured_shapes)


def _axes(plan: Plan, records: Sequence[RunRecord]) -> Axes:
    labels = [shape.label for shape in plan.shapes] + [record.shape for record in records]
    return Axes(
        shapes=list(dict.fromkeys(labels)),
        configs=[config.name for config in plan.configs],
        seeds=sorted({*plan.seeds, *(record.seed for record in records)}),
        lengths={"round": plan.settings.rounds, "repeat": plan.settings.repeats},
    )


def _values_of_run(record: RunRecord) -> dict[str, Any]:
    values = {name: getattr(record, name) for name in (*_OF_RUN, *_OF_TRIALS) if name != "device"}
    if record.trial_origin:
        values["trial_origin"] = record.trial_origin
    winner = json.dumps(record.winner) if record.winner is not None else ""
    return {**values, "run_status": record.status, "winner": winner}


def _values_of_winner(rounds: Rounds, winner: WinnerTimes) -> dict[str, Any]:
    """Return the values of a re-measured winner; one that is wrong or cannot run fails its run."""
    machine = {"device": rounds.device, "host": winner.host or rounds.host}
    if winner.failure:
        return {**machine, "run_status": RunStatus.FAILED, "failure": winner.failure}
    return {**machine, **{name: getattr(winner, name) for name in ("latency", *STATES)}}


def _add_transfers(dataset: xr.Dataset, measured: Sequence[Rounds]) -> xr.Dataset:
    """Return a dataset with the transfers of its winners; the same if there are none."""
    if not any(one.transfers for one in measured):
        return dataset
    cells: dict[Any, dict[str, Any]] = {}
    for shape, times in _all_times(measured):
        values = {"transfer_status": times.status, "transfer_kernel": times.kernel}
        timed = {"transfer_latency": times.latency} if times.latency else {}
        cells[shape, times.config, times.origin, times.seed] = {**values, **timed}
    # As TRANSFER: shape, configuration that built it, origin, seed.
    labels = [dataset[axis].values.tolist() for axis in ("shape", "config", "config", "seed")]
    names = ("transfer_status", "transfer_kernel", "transfer_latency")
    least = {name: dataset.sizes[name] for name in ("round", "repeat")}
    return add_variables(dataset, **padded(names, cells, labels, least))


def _all_times(measured: Iterable[Rounds]) -> Iterator[tuple[str, WinnerTimes]]:
    """Yield the transfers of each shape; a winner as its own configuration built it is one, too."""
    for rounds in measured:
        own = {(winner.config, winner.seed): winner for winner in rounds.winners if winner.latency}
        for winner in own.values():
            yield rounds.shape, replace(winner, origin=winner.config)
        for times in rounds.transfers:
            # The same kernel is not timed twice, so it has the rounds of its winner.
            same = times.status is TransferStatus.SAME_KERNEL and own.get((times.origin, times.seed))
            timed = replace(times, kernel=same.kernel, latency=same.latency) if same else times
            yield rounds.shape, timed
