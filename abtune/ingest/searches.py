"""Searches from elsewhere as a dataset: every trial in order, and the winner by the search's own time.

What such a search leaves behind was not measured again, so its own time of the winner stands in for that.
It is the least of many noisy timings and so too good, for both sides alike as long as they made equally
many trials; the dataset says so in ``latency_source`` and ``comment``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from abtune.errors import DatasetError, InputError
from abtune.ingest.reading import Source
from abtune.schema import RunStatus, TrialStatus, add_variables, make_dataset
from abtune.shapes import Shape, parse_shape

SEARCH_TIMES = (
    "latency is the search's own time of its winner: none was measured again, so all are optimistic"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """One tuning run of one shape.

    Attributes
    ----------
    label : str
        Of the shape.
    shape : Shape or None
        What it is, if known for certain.
    flop : float
        Floating-point operations, as far as known; else NaN.
    latency : float
        The search's own time of its winner, seconds; NaN if no candidate could be timed.
    trial_latency : sequence of float, seconds
        Of every trial in order, NaN where it failed; empty if they are not known.
    trial_status : sequence of TrialStatus
        What became of each.
    winner : str
        MetaSchedule's record of the winner as JSON; empty if it is not known.
    """

    label: str
    shape: Shape | None
    flop: float
    latency: float
    trial_latency: Sequence[float]
    trial_status: Sequence[TrialStatus]
    winner: str


Runs = Mapping[Source, Sequence[Search]]


def shape_named(label: str) -> Shape | None:
    """Return the shape that a published label names; None for any other text."""
    try:
        return parse_shape(label)
    except InputError:
        return None


def assemble_searches(runs: Runs, *, attrs: Mapping[str, Any]) -> xr.Dataset:
    """Build the dataset of searches; shapes and configurations in the order in which they come.

    Raises
    ------
    DatasetError
        If one run has two searches of a shape.
    """
    shapes: dict[str, Search] = {}
    cells: dict[tuple[str, str, int], Search] = {}
    for source, searches in runs.items():
        for search in searches:
            if (search.label, source.config, source.seed) in cells:
                raise DatasetError(
                    f"{source.path}: holds two searches of {search.label}; a run has one a shape"
                )
            cells[search.label, source.config, source.seed] = search
            shapes.setdefault(search.label, search)
    configs = list(dict.fromkeys(source.config for source in runs))
    seeds = 1 + max(source.seed for source in runs)
    grid = _Grid(list(shapes), configs, seeds, cells)
    own = grid.floats(lambda search: search.latency)
    dataset = make_dataset(
        own,
        shapes=list(shapes),
        configs=configs,
        workloads=[search.shape.workload if search.shape else "" for search in shapes.values()],
        run_status=grid.status(),
        attrs={"latency_source": "search", "comment": SEARCH_TIMES, "sources": _sources(runs), **attrs},
    )
    flop = [search.shape.flop if search.shape else search.flop for search in shapes.values()]
    more: dict[str, Any] = {"search_latency": own}
    if not all(map(math.isnan, flop)):
        more["flop"] = flop
    if any(search.winner for search in cells.values()):
        more["winner"] = grid.texts(lambda search: search.winner)
    if (grid.status() == RunStatus.FAILED).any():
        more["failure"] = grid.texts(
            lambda search: "no candidate could be timed" if math.isnan(search.latency) else ""
        )
    if any(len(search.trial_latency) for search in cells.values()):
        more["trial_latency"], more["trial_status"] = grid.trials()
    return add_variables(dataset, **more)


def _sources(runs: Runs) -> str:
    named: dict[str, list[str]] = {}
    for source in runs:
        named.setdefault(source.config, []).append(source.path.name)
    return json.dumps(named)


class _Grid:
    """Cells by shape, configuration and seed, laid out as arrays."""

    def __init__(
        self,
        shapes: Sequence[str],
        configs: Sequence[str],
        seeds: int,
        cells: Mapping[tuple[str, str, int], Search],
    ) -> None:
        self._size = (len(shapes), len(configs), seeds)
        self._cells = {
            (shapes.index(shape), configs.index(config), seed): search
            for (shape, config, seed), search in cells.items()
        }

    def floats(self, value: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
        grid = np.full(self._size, math.nan)
        for place, search in self._cells.items():
            grid[place] = value(search)
        return grid

    def texts(self, value: Any) -> np.ndarray[Any, np.dtype[np.object_]]:
        grid = np.full(self._size, "", dtype=object)
        for place, search in self._cells.items():
            grid[place] = value(search)
        return grid

    def status(self) -> np.ndarray[Any, np.dtype[np.int8]]:
        grid = np.full(self._size, RunStatus.MISSING, dtype=np.int8)
        for place, search in self._cells.items():
            grid[place] = RunStatus.FAILED if math.isnan(search.latency) else RunStatus.COMPLETE
        return grid

    def trials(self) -> tuple[Any, Any]:
        most = max(len(search.trial_latency) for search in self._cells.values())
        latency = np.full((*self._size, most), math.nan)
        status = np.full((*self._size, most), TrialStatus.NOT_RUN, dtype=np.int8)
        for place, search in self._cells.items():
            latency[place][: len(search.trial_latency)] = search.trial_latency
            status[place][: len(search.trial_status)] = search.trial_status
        return latency, status
