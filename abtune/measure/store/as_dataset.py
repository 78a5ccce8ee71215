"""The runs of a sweep as a dataset, and back to runs where the files of the sweep are gone."""

from __future__ import annotations

import contextlib
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import xarray as xr

from abtune.configurations import CONFIGURATIONS, Configuration, find_configuration
from abtune.dataset.build import RunLabels, add_variables, cells_of, dataset_from_cells, padded
from abtune.dataset.schema import (
    DESIGN,
    RUN,
    TRANSFER,
    VARIABLES,
    RunStatus,
    SeedDesign,
    TransferStatus,
    TrialOrigin,
    TrialStatus,
    labels_of,
)
from abtune.errors import DatasetError, InputError
from abtune.measure.plan.plan import Plan
from abtune.measure.plan.problem import RunSettings
from abtune.measure.plan.records import STATES, Rounds, RunRecord, WinnerTimes
from abtune.shapes import OwnShape, Shape, parse_shape
from abtune.text import listed

# The labels of one run and the values of its variables, by their names.
_Run: TypeAlias = Mapping[str, Any]
# Every sweep's dataset has these variables, also before its first run.
_OF_RUN = ("search_latency", "tuning_time", "started", "finished", "device", "host", "winner", "failure")
_OF_TRIALS = ("trial_latency", "trial_status")
# Those of earlier versions lack the last one.
_OF_RECORD = (*_OF_RUN, *_OF_TRIALS, "trial_failure")
_OF_TRANSFERS = ("transfer_status", "transfer_kernel", "transfer_latency")


def identity_from_dataset(dataset: xr.Dataset) -> dict[str, Any]:
    """Return what must agree for further runs to belong into a dataset, as a plan states it."""
    with _reading("how it was made"):
        for name in (*_OF_RUN, *_OF_TRIALS):
            if name not in dataset:
                raise KeyError(name)
        identity = {
            "settings": json.loads(dataset.attrs["settings"]),
            "machine": f"{dataset.attrs['device']}, TVM {dataset.attrs['tvm_version']}",
            "configs": json.loads(dataset.attrs["configurations"]),
        }
        require_identity(identity)
        return identity


def require_identity(identity: Any) -> None:
    """Refuse an identity whose settings or configurations cannot be compared with those of a plan."""
    if not isinstance(identity["settings"], dict):
        raise TypeError("its settings have no names")
    int(identity["settings"]["trials"])
    if not identity["configs"] or not all(isinstance(one["name"], str) for one in identity["configs"]):
        raise TypeError("a configuration has no name")


def settings_from_dataset(dataset: xr.Dataset) -> RunSettings:
    """Return the settings that a sweep recorded."""
    if "winner" not in dataset or not (dataset["winner"] != "").any():
        raise DatasetError("the dataset has no winners to measure; give one that abtune sweep made")
    with _reading("with which settings it was made"):
        return RunSettings(**json.loads(dataset.attrs["settings"]))


def trusted_code(dataset: xr.Dataset, names: Sequence[str]) -> list[Configuration | str]:
    """Return the configurations of these names, imported, and the workloads, which only children import."""
    workloads = {shape.workload for shape in _shapes(dataset) if isinstance(shape, OwnShape)}
    return [name if name in workloads else find_configuration(name) for name in names]


def _shapes(dataset: xr.Dataset) -> tuple[Shape, ...]:
    return tuple(parse_shape(str(label)) for label in dataset["shape"].values)


def plan_from_dataset(
    dataset: xr.Dataset, settings: RunSettings, own: Sequence[Configuration | str] = ()
) -> Plan:
    """Return the plan whose runs a dataset has, with these settings; it imports no code but the user's own.

    ``own`` comes from :func:`trusted_code`.
    """
    with _reading("what its configurations are"):
        meanings = json.loads(dataset.attrs["configurations"])
        # A transfer changes no search, so no sweep stores one. A dataset that has one names code.
        stored = [Configuration(**{**meaning, "transfer": ""}) for meaning in meanings]
        if sorted(config.name for config in stored) != sorted(labels_of(dataset, "config")):
            raise ValueError("they have other names")
    for shape in (shapes := _shapes(dataset)):
        if isinstance(shape, OwnShape) and shape.workload not in own:
            raise DatasetError(
                f"the dataset takes a workload from {shape.workload!r}; "
                f"if you trust that code, add --trust {shape.workload}"
            )
    configs = [config for config in own if isinstance(config, Configuration)]
    return Plan(
        shapes=shapes,
        configs=tuple(_trusted(config, configs) for config in stored),
        seeds=tuple(dataset["seed"].values.tolist()),
        settings=settings,
    )


@contextlib.contextmanager
def _reading(meaning: str) -> Iterator[None]:
    """Turn an attribute that is missing or damaged into a line that says what to give instead."""
    try:
        yield
    except (KeyError, TypeError, ValueError) as error:
        raise DatasetError(
            f"the dataset does not say {meaning} ({error}); give one that abtune sweep made"
        ) from None


def _trusted(stored: Configuration, own: Sequence[Configuration]) -> Configuration:
    """Return the configuration of abtune or the user that a dataset means; a dataset never names code."""
    for config in own:
        difference = first_difference(stored.settings(), config.settings())
        if config.name == stored.name and difference:
            raise InputError(f"configuration {config.name!r} is another one in the dataset ({difference})")
    for config in (*own, *CONFIGURATIONS.values()):
        if config.settings() == stored.settings():
            return config
    if stored.space:
        module, variable = stored.space.partition(":")[0], stored.name.upper().replace("-", "_")
        raise DatasetError(
            f"configuration {stored.name!r} takes its design space from {stored.space!r}; if you trust that "
            f"code, name the variable that holds the configuration, such as --trust {module}:{variable}"
        )
    return stored


def records_from_dataset(dataset: xr.Dataset) -> list[RunRecord]:
    """Return the finished runs of a dataset that a sweep made."""
    with _reading("which runs it has"):
        return [_record(run) for run in _runs(dataset)]


def rounds_from_dataset(dataset: xr.Dataset) -> list[Rounds]:
    """Return the re-measurements of a dataset, shape by shape."""
    measured: dict[str, list[_Run]] = {}
    transfers = _transfers(dataset) if "origin" in dataset.coords else {}
    for run in _runs(dataset):
        if run["winner"] and (_failure(run) or not np.isnan(run["latency"]).all()):
            measured.setdefault(run["shape"], []).append(run)
    return [
        Rounds(
            shape=shape,
            device=runs[0]["device"],
            host=runs[0]["host"],
            winners=tuple(_times(run, runs[0]["host"]) for run in runs),
            transfers=tuple(transfers.get(shape, ())),
        )
        for shape, runs in measured.items()
    ]


def _runs(dataset: xr.Dataset) -> Iterator[_Run]:
    names = [name for name in VARIABLES if VARIABLES[name].dims[: len(RUN)] == RUN]
    if "transfer_kernel" in dataset:  # of each winner as its own configuration built it
        dataset = dataset.assign(kernel=dataset["transfer_kernel"].sel(origin=dataset["config"]))
    for labels, values in cells_of(dataset, (*names, "kernel")):
        yield {**values, **dict(zip(RUN, labels, strict=True))}


def _failure(run: _Run) -> str:
    return str(run["failure"]) if run["run_status"] == RunStatus.FAILED else ""


def _record(run: _Run) -> RunRecord:
    winner = run["winner"]
    if not winner and run["run_status"] == RunStatus.COMPLETE:  # else it would count as a failure
        raise ValueError(f"seed {run['seed']} of {run['config']} for {run['shape']} has no winner")
    tried = run["trial_status"] != TrialStatus.NOT_RUN
    origins = run["trial_origin"][tried] if "trial_origin" in run else ()
    return RunRecord(
        shape=run["shape"],
        config=run["config"],
        seed=run["seed"],
        # A search with a winner did not fail, even if the winner failed when it was re-measured.
        status=RunStatus.COMPLETE if winner else RunStatus.FAILED,
        failure="" if winner else _failure(run),
        search_latency=float(run["search_latency"]),
        trial_latency=run["trial_latency"][tried].tolist(),
        trial_status=list(map(TrialStatus, run["trial_status"][tried])),
        winner=json.loads(winner) if winner else None,
        tuning_time=float(run["tuning_time"]),
        started=str(run["started"].astype("datetime64[ms]")),
        finished=str(run["finished"].astype("datetime64[ms]")),
        host=str(run["host"]),
        trial_origin=list(map(TrialOrigin, origins)),
        trial_failure=run.get("trial_failure", ""),
    )


def _times(run: _Run, host: str) -> WinnerTimes:
    """Return the timings of a winner; its host is told where it is not the one of all rounds."""
    # Merged datasets may have been measured on several hosts.
    other = str(run["host"]) if run["host"] != host else ""
    winner = WinnerTimes(config=run["config"], seed=run["seed"], host=other)
    if failure := _failure(run):
        return replace(winner, status=TransferStatus.FAILED, failure=failure)
    unknown = np.full(len(run["latency"]), math.nan)
    states = {name: run.get(name, unknown).tolist() for name in STATES}
    return replace(winner, latency=run["latency"].tolist(), kernel=run.get("kernel", ""), **states)


def _transfers(dataset: xr.Dataset) -> dict[str, list[WinnerTimes]]:
    """Return the transfers of each shape; winners as their own configuration built them are none here."""
    transfers: dict[str, list[WinnerTimes]] = defaultdict(list)
    for (shape, config, origin, seed), cell in cells_of(dataset, _OF_TRANSFERS, TRANSFER):
        status = TransferStatus(int(cell["transfer_status"]))
        if config != origin and status is not TransferStatus.MISSING:
            times = WinnerTimes(config=config, seed=seed, origin=origin, status=status)
            timed = cell["transfer_latency"].tolist() if status is TransferStatus.OK else []
            transfers[shape].append(replace(times, latency=timed, kernel=cell.get("transfer_kernel", "")))
    return transfers


def first_difference(known: Any, wanted: Any, name: str = "") -> str:
    """Return the first setting that differs, as ``name: known, now wanted``; empty if none does."""
    if isinstance(known, Mapping) and isinstance(wanted, Mapping):
        inner = (first_difference(known.get(key), wanted.get(key), key) for key in {**known, **wanted})
        return next(filter(None, inner), "")
    if isinstance(known, list) and isinstance(wanted, list) and name == "configs":
        before, now = ([config["name"] for config in configs] for configs in (known, wanted))
        if before != now:
            return f"configurations {listed(before)}, now {listed(now)}"
        return next(filter(None, map(first_difference, known, wanted)), "")
    return "" if known == wanted else f"{name.replace('_', ' ')}: {known}, now {wanted}"


def records_to_dataset(
    plan: Plan, records: Sequence[RunRecord], rounds: Iterable[Rounds], attrs: Mapping[str, Any]
) -> xr.Dataset:
    """Return the dataset of runs and re-measurements; runs of the plan that are not there are missing."""
    labels = [shape.label for shape in plan.shapes] + [record.shape for record in records]
    axes: dict[str, Sequence[Any]] = {
        "shape": list(dict.fromkeys(labels)),
        "config": [config.name for config in plan.configs],
        "seed": sorted({*plan.seeds, *(record.seed for record in records)}),
    }
    cells: dict[RunLabels, dict[str, Any]] = {
        (record.shape, record.config, record.seed): _values_of_run(record) for record in records
    }
    # Without timings of runs whose files were removed.
    measured_shapes = [one.of(lambda *run, shape=one.shape: (shape, *run) in cells) for one in rounds]
    for measured in measured_shapes:
        for winner in measured.winners:
            cells[measured.shape, winner.config, winner.seed] |= _values_of_winner(measured, winner)
    shapes = [parse_shape(label) for label in axes["shape"]]
    shared = plan.settings.is_shared
    dataset = dataset_from_cells(
        cells,
        axes,
        least={"round": plan.settings.rounds, "repeat": plan.settings.repeats},
        variables=(*_OF_RECORD, *STATES, *["trial_origin"] * shared),
        shape_values={name: [getattr(shape, name) for shape in shapes] for name in ("workload", "flop")},
        attrs={**attrs, DESIGN: SeedDesign.SHARED.value} if shared else attrs,
    )
    return _add_transfers(dataset, measured_shapes)


def _values_of_run(record: RunRecord) -> dict[str, Any]:
    values = {name: getattr(record, name) for name in _OF_RECORD if name != "device"}
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
    least = {name: dataset.sizes[name] for name in ("round", "repeat")}
    return add_variables(dataset, **padded(_OF_TRANSFERS, cells, labels, least))


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
