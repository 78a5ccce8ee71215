"""Searches from elsewhere as a dataset: every trial in order, and the winner by the search's own time.

Nobody measured these winners again, so the search's own time stands in for that. It is the least of many
noisy timings and therefore too good. The bias is alike for two configurations only if they made equally many
trials. The dataset says so in ``latency_source`` and ``comment``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import xarray as xr

from abtune.dataset.build import add_variables, make_dataset
from abtune.dataset.schema import RunStatus, TrialStatus
from abtune.errors import DatasetError
from abtune.ingest.sources import Source
from abtune.shapes import Shape

SEARCH_TIMES = (
    "latency is the search's own time of its winner: none was measured again, so all are optimistic"
)
_T = TypeVar("_T", bound=np.generic)
# Values that an array of trials may have; 1 GiB.
_MOST = 2**27


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """One tuning run of one shape.

    Attributes
    ----------
    label : str
        Label of the shape.
    shape : Shape or None
        The shape itself, if it is known for certain.
    flop : float
        Floating-point operations; NaN if unknown.
    latency : float
        The search's own time of its winner, seconds; NaN if no candidate could be timed.
    trial_latency : sequence of float, seconds
        Time of every trial in order, NaN where it failed or is unknown; empty if nothing is known.
    trial_status : sequence of TrialStatus
        What became of each trial.
    winner : str
        MetaSchedule's record of the winner as JSON; empty if unknown.
    started, finished : datetime or None
        When the run began and ended, by the clock of its machine; None if unknown.
    tuning_time : float
        Seconds between these two, if the run had no other task; else NaN.
    """

    label: str
    shape: Shape | None
    flop: float
    latency: float
    trial_latency: Sequence[float]
    trial_status: Sequence[TrialStatus]
    winner: str
    started: datetime | None
    finished: datetime | None
    tuning_time: float


Runs = Mapping[Source, Sequence[Search]]


def assemble_searches(runs: Runs, *, attrs: Mapping[str, Any]) -> xr.Dataset:
    """Return the dataset of searches; shapes and configurations in the order in which they come.

    Raises
    ------
    DatasetError
        If two searches are of one shape, configuration and seed.
    """
    cells = _cells(runs)
    shapes: dict[str, Search] = {}
    for search in cells.values():
        shapes.setdefault(search.label, search)
    grid = _Grid(cells)
    own = grid.floats(lambda search: search.latency)
    dataset = make_dataset(
        own,
        shapes=grid.shapes,
        configs=grid.configs,
        seeds=grid.seeds,
        workloads=[search.shape.workload if search.shape else "" for search in shapes.values()],
        run_status=grid.status(),
        attrs={"latency_source": "search", "comment": SEARCH_TIMES, "sources": _sources(runs), **attrs},
    )
    flop = [search.shape.flop if search.shape else search.flop for search in shapes.values()]
    known = {} if all(map(math.isnan, flop)) else {"flop": flop}
    return add_variables(dataset, search_latency=own, **known, **_more(grid, cells.values()))


def _cells(runs: Runs) -> dict[tuple[str, str, int], Search]:
    cells: dict[tuple[str, str, int], Search] = {}
    for source, searches in runs.items():
        for search in searches:
            key = (search.label, source.config, source.seed)
            if key in cells:
                raise DatasetError(
                    f"{source.path}: a second search of {search.label}, {source.config}, seed {source.seed}; "
                    "a run has one search per shape"
                )
            cells[key] = search
    return cells


def _more(grid: _Grid, searches: Collection[Search]) -> dict[str, Any]:
    """Return the variables that are there only if some search knows them."""
    more: dict[str, Any] = {}
    if any(search.winner for search in searches):
        more["winner"] = grid.texts(lambda search: search.winner)
    if any(math.isnan(search.latency) for search in searches):
        more["failure"] = grid.texts(
            lambda search: "no candidate could be timed" if math.isnan(search.latency) else ""
        )
    if any(len(search.trial_latency) for search in searches):
        more["trial_latency"], more["trial_status"] = grid.trials()
    if any(search.started for search in searches):
        more["started"] = grid.times(lambda search: search.started)
        more["finished"] = grid.times(lambda search: search.finished)
        more["tuning_time"] = grid.floats(lambda search: search.tuning_time)
    return more


def _sources(runs: Runs) -> str:
    named: dict[str, list[str]] = {}
    for source in runs:
        named.setdefault(source.config, []).append(source.recorded)
    return json.dumps(named)


def notes_on_searches(dataset: xr.Dataset, what: str) -> tuple[str, ...]:
    """Return what counts as a seed, what the times are, and where runs are not alike.

    Parameters
    ----------
    dataset : xarray.Dataset
        As :func:`assemble_searches` builds it.
    what : str
        What one run left: ``folder`` or ``log``.
    """
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


class _Grid:
    """Cells by shape, configuration and seed, laid out as arrays."""

    def __init__(self, cells: Mapping[tuple[str, str, int], Search]) -> None:
        self.shapes = list(dict.fromkeys(shape for shape, _, _ in cells))
        self.configs = list(dict.fromkeys(config for _, config, _ in cells))
        self.seeds = sorted({seed for _, _, seed in cells})
        self._size = (len(self.shapes), len(self.configs), len(self.seeds))
        shapes, configs, seeds = _indices(self.shapes), _indices(self.configs), _indices(self.seeds)
        self._cells = {
            (shapes[shape], configs[config], seeds[seed]): search
            for (shape, config, seed), search in cells.items()
        }

    def floats(self, value: Callable[[Search], float]) -> npt.NDArray[np.float64]:
        return self._filled(np.full(self._size, math.nan), value)

    def texts(self, value: Callable[[Search], str]) -> npt.NDArray[np.object_]:
        return self._filled(np.full(self._size, "", dtype=object), value)

    def times(self, value: Callable[[Search], datetime | None]) -> npt.NDArray[np.datetime64]:
        return self._filled(np.full(self._size, np.datetime64("NaT"), dtype="datetime64[ms]"), value)

    def status(self) -> npt.NDArray[np.int8]:
        return self._filled(
            np.full(self._size, RunStatus.MISSING, dtype=np.int8),
            lambda search: RunStatus.FAILED if math.isnan(search.latency) else RunStatus.COMPLETE,
        )

    def trials(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int8]]:
        size = (*self._size, max(len(search.trial_latency) for search in self._cells.values()))
        if math.prod(size) > _MOST:
            raise DatasetError(
                f"{size[-1]:,} trials for each of {math.prod(self._size):,} runs take "
                f"{math.prod(size) * 8 / 2**30:.0f} GiB; import fewer shapes at once"
            )
        latency = np.full(size, math.nan)
        status = np.full(size, TrialStatus.NOT_RUN, dtype=np.int8)
        for cell, search in self._cells.items():
            latency[cell][: len(search.trial_latency)] = search.trial_latency
            status[cell][: len(search.trial_status)] = search.trial_status
        return latency, status

    def _filled(self, grid: npt.NDArray[_T], value: Callable[[Search], Any]) -> npt.NDArray[_T]:
        for cell, search in self._cells.items():
            grid[cell] = value(search)
        return grid


def _indices(labels: Sequence[Any]) -> dict[Any, int]:
    return {label: index for index, label in enumerate(labels)}
