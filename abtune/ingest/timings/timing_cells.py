"""From cells of files to cells of a dataset: which shape, configuration and seed each cell is of.

A cell without a seed takes the number of its file among the files of its configuration, because a file is a
process, and a process is one draw.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import xarray as xr

from abtune.dataset.build import add_variables, make_dataset
from abtune.errors import DatasetError
from abtune.ingest.sources import Source
from abtune.ingest.timings.file_cells import FileCell, Reading
from abtune.shapes import shape_named
from abtune.text import count

# Values that an array of timings may have; 1 GiB.
_MOST = 2**27

Key: TypeAlias = tuple[str, str, int]
Rounds: TypeAlias = Mapping[int, tuple[float, ...]]


@dataclass(slots=True)
class Cells:
    """The timings so far, by shape, configuration and seed, then by round."""

    shape: str  # label of the only shape; empty if the files or their paths tell
    order: Mapping[str, int]  # the index of each named round
    rounds: dict[Key, Rounds] = field(default_factory=dict)  # the timings
    # files so far of each configuration, and of each shape that their paths tell
    files: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, source: Source, reading: Reading) -> None:
        """Enter the cells of a file."""
        named = [self._names(cell, source) for cell in reading.cells]
        for cell, (shape, config) in zip(reading.cells, named, strict=True):
            seed = self._seed(cell, source, config)
            if (shape, config, seed) in self.rounds:
                raise DatasetError(
                    f"{source.path}: {cell.where}: {config} has timings of {shape}, seed {seed}, already; "
                    f"{_what_to_do(cell, source)}"
                )
            indices = [self.order[label] for label in cell.labels] or range(len(cell.rounds))
            self.rounds[shape, config, seed] = dict(zip(indices, cell.rounds, strict=True))
        self.files.update({(config, source.shape) for _, config in named})

    def _seed(self, cell: FileCell, source: Source, config: str) -> int:
        if cell.seed is not None:
            if source.seed_in_path:
                raise DatasetError(
                    f"{source.path}: has a column seed, so {{seed}} in --pattern is one too many"
                )
            return cell.seed
        return source.seed if source.seed_in_path else self.files[config, source.shape]

    def _names(self, cell: FileCell, source: Source) -> tuple[str, str]:
        """Return shape and configuration of a cell, each told exactly once."""
        given = self.shape or source.shape
        if cell.name is not None:  # one name, of the shape or of the configuration
            if bool(source.config) == bool(given):
                says = _name_of_what(source, given)
                raise DatasetError(f"{source.path}: {cell.where}: has one name, {cell.name!r}; {says}")
            return (cell.name, source.config) if source.config else (given, cell.name)
        for what, own, told, option in (
            ("shape", cell.shape, given, "--shape LABEL"),
            ("config", cell.config, source.config, f"--run NAME={source.path}"),
        ):
            if own is None and not told:
                raise DatasetError(
                    f"{source.path}: has no column {what}; give {option}, or --columns {what}=ITS_NAME"
                )
            if own is not None and told:
                raise DatasetError(f"{source.path}: has a column {what}, so {option} is one too many")
        return cell.shape or given, cell.config or source.config


def _name_of_what(source: Source, shape: str) -> str:
    if shape:
        return "both shape and configuration are given, so a name is left over; give one of them"
    return (
        f"of a kernel? give --run CONFIG={source.path}; of a configuration? give --shape LABEL to say what "
        "was timed"
    )


def _what_to_do(cell: FileCell, source: Source) -> str:
    if cell.seed is not None:
        return "number the seeds of a cell on from file to file, or take the file out if it is a copy"
    return "give each file its own seed" if source.seed_in_path else "each needs its own name"


def split_timings(rounds: Mapping[Key, Rounds]) -> dict[Key, Rounds]:
    """Return the cells with each timing as a seed of its own."""
    split: dict[Key, Rounds] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for (shape, config, _), cell in rounds.items():
        for timing in (timing for repeats in cell.values() for timing in repeats):
            split[shape, config, counts[shape, config]] = {0: (timing,)}
            counts[shape, config] += 1
    return split


def assemble_timings(rounds: Mapping[Key, Rounds], sources: Sequence[Source]) -> xr.Dataset:
    """Return the dataset of the cells."""
    shapes = list(dict.fromkeys(shape for shape, _, _ in rounds))
    configs = list(dict.fromkeys([s.config for s in sources if s.config] + [c for _, c, _ in rounds]))
    seeds = sorted({seed for _, _, seed in rounds})
    known = [shape_named(shape) for shape in shapes]
    attrs: dict[str, Any] = {
        "title": "imported timings",
        "latency_source": "timings",
        "comment": "each file is a seed unless a column says otherwise; timings within a process are repeats",
        "sources": json.dumps([f"{s.config}={s.recorded}" if s.config else s.recorded for s in sources]),
    }
    dataset = make_dataset(
        _to_array(rounds, (shapes, configs, seeds)),
        shapes=shapes,
        configs=configs,
        seeds=seeds,
        workloads=[shape.workload if shape else "" for shape in known],
        attrs=attrs,
    )
    if not any(known):
        return dataset
    return add_variables(dataset, flop=[shape.flop if shape else math.nan for shape in known])


def _to_array(rounds: Mapping[Key, Rounds], axes: tuple[Sequence[Any], ...]) -> np.ndarray[Any, Any]:
    """Return seconds by shape, configuration, seed, round and repeat."""
    most_rounds = 1 + max(index for cell in rounds.values() for index in cell)
    most_repeats = max(len(timings) for cell in rounds.values() for timings in cell.values())
    sizes = (*map(len, axes), most_rounds, most_repeats)
    _check_size(sizes, rounds)
    latency = np.full(sizes, math.nan)
    shapes, configs, seeds = ({label: index for index, label in enumerate(axis)} for axis in axes)
    for (shape, config, seed), cell in rounds.items():
        for number, timings in cell.items():
            latency[shapes[shape], configs[config], seeds[seed], number, : len(timings)] = timings
    return latency


def _check_size(sizes: Sequence[int], rounds: Mapping[Key, Rounds]) -> None:
    """Refuse an array that memory does not hold: everywhere it has room for what the largest cell has."""
    if math.prod(sizes) <= _MOST:
        return
    counts = {key: sum(map(len, cell.values())) for key, cell in rounds.items()}
    shape, config, seed = most = max(counts, key=counts.__getitem__)
    words = ("shape", "configuration", "seed", "round", "repeat")
    every = " x ".join(count(size, word) for size, word in zip(sizes, words, strict=True))
    raise DatasetError(
        f"{every} take {math.prod(sizes) * 8 / 2**30:.0f} GiB, mostly empty: {config} of {shape}, seed "
        f"{seed}, has the most timings, {counts[most]}; import it apart, or fewer shapes at once"
    )
