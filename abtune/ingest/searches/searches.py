"""Searches from elsewhere as a dataset: every trial in order, and the winner by the search's own time."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import xarray as xr

from abtune.dataset.build import RunLabels, axes_of, dataset_from_cells
from abtune.dataset.provenance import all_trials_made, between_each_two, with_caveats
from abtune.dataset.schema import RunStatus, TrialStatus
from abtune.errors import DatasetError, InputError, naming
from abtune.ingest.importers import Imported, Values
from abtune.ingest.sources import Source, check_new, label_told, recorded_path
from abtune.ingest.texts import read_text
from abtune.shapes import shape_named, shape_values
from abtune.text import listed

_SEARCH_TIMES = (
    "latency is the search's own time of its winner: none was measured again, so all are too short"
)
_ONE_NAME = "if two shapes have one name, give folders with the tasks' own logs, or import databases"
# Variables of the dataset, if a search knows them.
_VARIABLES = ("search_latency", "winner", "failure", "trial_latency", "trial_status")

# The outcome of a candidate and its time in seconds, NaN if it has none.
Trial: TypeAlias = tuple[TrialStatus, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningRun:
    """One tuning run of one shape."""

    label: str
    trials: Sequence[Trial]  # in order; empty if none is known
    flop: float = math.nan  # as the file says
    targets: Collection[str] = ()  # as the file says; none if it does not
    winner: str = ""  # MetaSchedule's record of the winner as JSON; empty if unknown


def fastest(trials: Sequence[Trial]) -> float:
    """Return the least time of the candidates that ran; NaN if none did."""
    return min((seconds for status, seconds in trials if status is TrialStatus.OK), default=math.nan)


def search_reader(
    title: str,
    read_searches: Callable[[Path, Mapping[Path, str]], Sequence[TuningRun]],
    *,
    files_of: Callable[[Path], Sequence[Path]] = lambda path: [path],
    seed_unit: str = "file",
) -> Callable[[Sequence[Source], Values], Imported]:
    """Return an importer's function.

    ``files_of`` returns which files of a path hold a run, a ``seed_unit``. ``read_searches`` takes the path
    and their texts. It returns the searches, whose labels may be empty, and names the file in its errors.
    """

    def read(sources: Sequence[Source], values: Values) -> Imported:
        seen: dict[bytes, Path] = {}
        runs = {}
        for source in sources:
            texts = {file: read_text(file) for file in files_of(source.path)}
            check_new("\n".join(texts.values()), source.path, seen)
            runs[source] = read_searches(source.path, texts)
        return _import(runs, title, seed_unit, values.get("shape", ""))

    return read


def _import(runs: Mapping[Source, Sequence[TuningRun]], title: str, seed_unit: str, shape: str) -> Imported:
    """Return the dataset of all runs; ``shape`` is the label of the only shape, if it is told."""
    cells = _by_cell(runs, shape)
    paths: dict[str, list[str]] = {}
    for source in runs:
        paths.setdefault(source.config, []).append(recorded_path(source.path))
    first: dict[str, TuningRun] = {}
    for (label, _, _), search in cells.items():
        first.setdefault(label, search)
    values = {key: _values(search) for key, search in cells.items()}
    shapes = [shape_named(search.label) or shape_named(label) for label, search in first.items()]
    dataset = dataset_from_cells(
        values,
        axes_of(cells),
        variables=[name for name in _VARIABLES if any(name in known for known in values.values())],
        shape_values=shape_values(shapes, [search.flop for search in first.values()]),
        attrs={
            "title": title,
            "latency_source": "search",
            "comment": _SEARCH_TIMES,
            "sources": json.dumps(paths),
            **_about_targets(cells),
        },
    )
    return Imported(dataset=dataset, notes=tuple(_notes(dataset, seed_unit)))


def _by_cell(runs: Mapping[Source, Sequence[TuningRun]], shape: str) -> dict[RunLabels, TuningRun]:
    """Return the searches by shape, configuration and seed; searches of one label have to be of one shape."""
    cells: dict[RunLabels, TuningRun] = {}
    first: dict[str, TuningRun] = {}
    for source, searches in runs.items():
        with naming(source.path):
            labels = _labels(searches, label_told(source, shape))
        for label, search in zip(labels, searches, strict=True):
            key = (label, source.config, source.seed)
            if cells.setdefault(key, search) is not search:
                again = f"a second search of {label}, {source.config}, seed {source.seed}"
                raise DatasetError(f"{source.path}: {again}; {_ONE_NAME}")
            above = first.setdefault(label, search)
            if search.flop != above.flop and not math.isnan(search.flop + above.flop):
                both = f"{label} takes {search.flop:.0f} operations here and {above.flop:.0f} before"
                raise DatasetError(f"{source.path}: {both}; {_ONE_NAME}")
    return cells


def _about_targets(cells: Mapping[RunLabels, TuningRun]) -> dict[str, Any]:
    """Return the attributes that say which targets the searches were for, if their files do."""
    of_configs: dict[str, set[str]] = {}
    for (_, config, _), search in cells.items():
        if search.targets:
            of_configs.setdefault(config, set()).update(search.targets)
    targets = set().union(*of_configs.values())
    attrs: dict[str, Any] = {"targets": len(targets)} if targets else {}

    def differ(configs: Sequence[str]) -> Iterator[str]:
        if len({frozenset(of_configs[config]) for config in configs}) > 1:
            names = listed(configs)
            yield f"The targets of {names} differ, as their files say. Differences may come from that."

    attrs |= with_caveats(between_each_two([*of_configs], differ))
    if len(targets) == 1:
        attrs["target"] = targets.pop()
    return attrs


def _labels(searches: Sequence[TuningRun], told: str) -> list[str]:
    """Return the labels of a run's searches; one that is told has to fit what was tuned."""
    labels = [search.label for search in searches]
    if not labels:
        raise DatasetError("has no trial; give the file of a search")
    if told and len(labels) > 1:
        raise DatasetError(f"has {len(labels)} tasks ({', '.join(labels)}); a label can name only one")
    if not told and "" in labels:
        raise InputError("does not say what was tuned; give --shape LABEL, or --pattern")
    named, tuned = (shape_named(label) for label in (told, labels[0]))
    if named and tuned and named != tuned:
        raise DatasetError(f"is labelled {told}, but its workload is {labels[0]}; leave the label out")
    return [told] if told else labels


def _values(search: TuningRun) -> dict[str, Any]:
    """Return the variables that a search knows."""
    latency = fastest(search.trials)
    is_failed = math.isnan(latency)
    values: dict[str, Any] = {"winner": search.winner} if search.winner else {}
    if is_failed:
        values["failure"] = "no candidate could be timed"
    if search.trials:
        values["trial_status"], values["trial_latency"] = zip(*search.trials, strict=True)
    status = RunStatus.FAILED if is_failed else RunStatus.COMPLETE
    return {"latency": latency, "run_status": status, "search_latency": latency, **values}


def _notes(dataset: xr.Dataset, seed_unit: str) -> Iterator[str]:
    """Yield what counts as a seed, what the times are, and where runs are not alike."""
    status = dataset["run_status"].values
    made = (status != RunStatus.MISSING).any(axis=0).sum(axis=1).tolist()
    failed = int((status == RunStatus.FAILED).sum())
    counts = ", ".join(
        f"{count} of {name}" for count, name in zip(made, dataset["config"].values.tolist(), strict=True)
    )
    yield f"each {seed_unit} is one seed: {counts}" + (f"; {failed} failed" if failed else "")
    if "trial_status" in dataset:
        made_of = [all_trials_made(dataset.isel(shape=[index])) for index in range(dataset.sizes["shape"])]
        if trials := [*itertools.chain.from_iterable(some for some in made_of if len({*some}) > 1)]:
            yield f"runs have {min(trials)} to {max(trials)} trials; fewer trials find slower winners"
        if (dataset["trial_status"].values == TrialStatus.UNKNOWN).any():
            yield "the best time is known after each batch of trials only, not for single trials"
    if dataset.attrs.get("targets", 1) > 1:
        yield "runs were tuned for different targets"
    yield _SEARCH_TIMES
