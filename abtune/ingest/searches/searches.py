"""Searches from elsewhere as a dataset: every trial in order, and the winner by the search's own time."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any

import xarray as xr

from abtune.dataset.cells import Axes, Cell, dataset_from_cells
from abtune.dataset.schema import RunStatus, TrialStatus
from abtune.errors import DatasetError
from abtune.ingest.sources import Source
from abtune.shapes import Shape

SEARCH_TIMES = (
    "latency is the search's own time of its winner: none was measured again, so all are optimistic"
)
# Values that an array of trials may have; 1 GiB.
_MOST = 2**27


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """One tuning run of one shape."""

    label: str
    shape: Shape | None  # None if it is not known for certain
    latency: float  # the search's own time of its winner, seconds; NaN if no candidate could be timed
    trial_latency: Sequence[float]  # seconds, in order, NaN where a trial failed; empty if none is known
    trial_status: Sequence[TrialStatus]
    flop: float = math.nan  # as the file says
    winner: str = ""  # MetaSchedule's record of the winner as JSON; empty if unknown
    started: datetime | None = None  # by the clock of its machine, as finished is
    finished: datetime | None = None
    tuning_time: float = math.nan  # seconds between these two, if the run had no other task


def assemble_searches(runs: Mapping[Source, Sequence[Search]], *, attrs: Mapping[str, Any]) -> xr.Dataset:
    """Return the dataset of searches; shapes and configurations in the order in which they come."""
    cells: dict[Cell, Search] = {}
    first: dict[str, Search] = {}
    named: dict[str, list[str]] = {}
    for source, searches in runs.items():
        named.setdefault(source.config, []).append(source.recorded)
        for search in searches:
            key = (search.label, source.config, source.seed)
            if cells.setdefault(key, search) is not search:
                again = f"a second search of {search.label}, {source.config}, seed {source.seed}"
                raise DatasetError(f"{source.path}: {again}; a run has one search per shape")
            first.setdefault(search.label, search)
    configs, seeds = list(dict.fromkeys(config for _, config, _ in cells)), sorted({key[2] for key in cells})
    longest = max(len(search.trial_latency) for search in cells.values())
    number = len(first) * len(configs) * len(seeds)
    if longest * number > _MOST:
        size = f"{longest:,} trials for each of {number:,} runs take {longest * number * 8 / 2**30:.0f} GiB"
        raise DatasetError(f"{size}; import fewer shapes at once")
    values = _values(cells.values())
    flop = [search.shape.flop if search.shape else search.flop for search in first.values()]
    workloads = [search.shape.workload if search.shape else "" for search in first.values()]
    return dataset_from_cells(
        {key: {name: value(search) for name, value in values.items()} for key, search in cells.items()},
        Axes(shapes=list(first), configs=configs, seeds=seeds, lengths={}),
        variables=values,
        shape_values={"workload": workloads, **({} if all(map(math.isnan, flop)) else {"flop": flop})},
        attrs={"latency_source": "search", "comment": SEARCH_TIMES, "sources": json.dumps(named), **attrs},
    )


def _values(searches: Collection[Search]) -> dict[str, Callable[[Search], Any]]:
    """Return how each variable follows from a search; some are there only if some search knows them."""
    values: dict[str, Callable[[Search], Any]] = {
        "latency": attrgetter("latency"),
        "run_status": lambda search: RunStatus.FAILED if math.isnan(search.latency) else RunStatus.COMPLETE,
        "search_latency": attrgetter("latency"),
    }
    if any(search.winner for search in searches):
        values["winner"] = attrgetter("winner")
    if any(math.isnan(search.latency) for search in searches):
        values["failure"] = lambda search: "no candidate could be timed" * math.isnan(search.latency)
    if any(len(search.trial_latency) for search in searches):
        values |= {name: attrgetter(name) for name in ("trial_latency", "trial_status")}
    if any(search.started for search in searches):
        values |= {name: attrgetter(name) for name in ("started", "finished", "tuning_time")}
    return values


def notes_on_searches(dataset: xr.Dataset, what: str) -> tuple[str, ...]:
    """Return what counts as a seed, what the times are, and where runs are not alike."""
    status = dataset["run_status"].values
    made = (status != RunStatus.MISSING).any(axis=0).sum(axis=1).tolist()
    failed = int((status == RunStatus.FAILED).sum())
    counts = ", ".join(
        f"{count} of {name}" for count, name in zip(made, dataset["config"].values.tolist(), strict=True)
    )
    notes = [f"each {what} is one seed: {counts}" + (f"; {failed} failed" if failed else "")]
    if "trial_status" in dataset:
        trials = (dataset["trial_status"].values != TrialStatus.NOT_RUN).sum(axis=-1)
        low, high = trials[trials > 0].min(initial=trials.max()), trials.max()
        if low < high:
            notes.append(f"runs have {low} to {high} trials; fewer trials find slower winners")
        if (dataset["trial_status"].values == TrialStatus.UNKNOWN).any():
            notes.append("the best time is known after each batch of trials only, not for single trials")
    if dataset.attrs.get("targets", 1) > 1:
        notes.append("runs were tuned for different targets")
    return (*notes, SEARCH_TIMES)
