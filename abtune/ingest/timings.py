"""Dumps of repeated timings: CSV, JSON of benchmark runners, and what TVM prints of a ``time_evaluator``.

What counts as a seed is the one thing that a dump does not tell, and the one that decides what follows from
it. Timings within one process share its memory layout, its compiled code and the state of its machine, so
they are repeats, however many there are: **a file is a seed**, unless a column says otherwise. Only
hyperfine starts a process for every timing, and only there can each be taken for a seed, if that is asked.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import xarray as xr

from abtune.errors import DatasetError, InputError
from abtune.ingest.reading import Contents, Source, parse_json, read_text, wrong_kind
from abtune.ingest.searches import shape_named
from abtune.ingest.timing_csv import read_csv
from abtune.ingest.timing_json import read_json
from abtune.ingest.timing_parts import Part, Reading
from abtune.ingest.timing_text import has_results, read_printed
from abtune.schema import add_variables, make_dataset


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the user says beside the files.

    Attributes
    ----------
    shape : str
        Label of the only shape; empty if the files tell.
    unit : str
        Of a column of times that does not name its own; empty if there is none such.
    columns : mapping of str to str
        Names of columns for shape, config, seed, round, repeat, time and unit, where they differ.
    each_a_seed : bool
        Take each timing for a seed, where it was a process.
    """

    shape: str
    unit: str
    columns: Mapping[str, str]
    each_a_seed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A dataset and what there is to say about how it came about.

    Attributes
    ----------
    dataset : xarray.Dataset
        Of one value per timing.
    notes : tuple of str
        What was taken for a seed, and what was left out.
    """

    dataset: xr.Dataset
    notes: tuple[str, ...]


_Name = TypeVar("_Name", str, int)

# Values that an array of timings may have; 1 GiB.
_MOST = 2**27

Cells = dict[tuple[str, str, int], Mapping[int, tuple[float, ...]]]


def read_timings(sources: Sequence[Source], asked: Asked) -> Imported:
    """Read files of timings into one dataset.

    Parameters
    ----------
    sources : sequence of Source
        The files; one without a configuration tells by itself of which its timings are.
    asked : Asked
        What the user says beside the files.

    Raises
    ------
    DatasetError
        With file, place and what to do, at the first thing that is wrong.
    """
    contents = Contents()
    readings: dict[Source, Reading] = {}
    for source in sources:
        text = read_text(source.path)
        contents.add(source.path, text)
        readings[source] = _read(text, source.path, asked)
    parts = [part for reading in readings.values() for part in reading.parts]
    told = {part.seed is not None for part in parts}
    for column, have in (("seed", told), ("round", {bool(part.labels) for part in parts})):
        if len(have) > 1:
            raise DatasetError(
                f"some files have a column {column} and some have none; let all have it, or none"
            )
    order = _order({label for part in parts for label in part.labels})
    cells: Cells = {}
    files: Counter[str] = Counter()
    for source, reading in readings.items():
        _place(source, reading, asked, order, cells, files)
    if asked.each_a_seed:
        cells = _split(cells)
    notes = [note for reading in readings.values() for note in reading.notes]
    return Imported(
        dataset=_assemble(cells, sources),
        notes=(_seeds_taken(cells, asked, by_column=told == {True}), *notes),
    )


def _read(text: str, path: Path, asked: Asked) -> Reading:
    if hint := wrong_kind(text, "timings"):
        raise DatasetError(f"{path}: holds no timings{hint}")
    if text.lstrip()[0] in "{[":
        reading = read_json(parse_json(text, str(path)), path)
    elif has_results(text):
        reading = read_printed(text, path)
    else:
        reading = read_csv(text, path, asked.columns, asked.unit)
        if asked.each_a_seed:
            raise InputError(f"{path}: for a table, give a column seed in place of --seed-is")
        return reading
    if asked.unit or asked.columns:
        raise InputError(f"{path}: --unit and --columns are for tables; this format has its own")
    if asked.each_a_seed and not reading.each_a_process:
        raise InputError(
            f"{path}: its timings are repeats within one process, not seeds; run the process several times, "
            "and give a file for each"
        )
    return reading


def _order(labels: set[str]) -> dict[str, int]:
    """Return the place of each round: by number if all are numbers, else by letter."""
    numbers = all(re.fullmatch(r"-?\d{1,18}", label, flags=re.ASCII) for label in labels)
    return {label: at for at, label in enumerate(sorted(labels, key=int if numbers else None))}


def _place(
    source: Source,
    reading: Reading,
    asked: Asked,
    order: Mapping[str, int],
    cells: Cells,
    files: Counter[str],
) -> None:
    """Enter the parts of a file into the cells; ``files`` counts those of each configuration."""
    named = [_names(part, source, asked) for part in reading.parts]
    seeds = dict(Counter(files))
    for part, (shape, config) in zip(reading.parts, named, strict=True):
        seed = seeds.get(config, 0) if part.seed is None else part.seed
        if (shape, config, seed) in cells:
            where = (
                "each needs its own name"
                if part.seed is None
                else "number the seeds of a cell on from file to file, or take the file out if it is a copy"
            )
            raise DatasetError(
                f"{source.path}: {part.place}: {config} has timings of {shape}, seed {seed}, already; {where}"
            )
        places = [order[label] for label in part.labels] or range(len(part.rounds))
        cells[shape, config, seed] = dict(zip(places, part.rounds, strict=True))
    files.update({config for _, config in named})


def _names(part: Part, source: Source, asked: Asked) -> tuple[str, str]:
    """Return shape and configuration of a part, each told exactly once."""
    place = f"{source.path}: {part.place}"
    if part.name is not None:  # one name, which is that of the shape or that of the configuration
        if bool(source.config) == bool(asked.shape):
            say = (
                "both --run and --shape are given, so a name is left over; give one of them"
                if asked.shape
                else f"of a kernel? give --run CONFIG={source.path}; of a configuration? give --shape LABEL"
            )
            raise DatasetError(f"{place}: has one name, {part.name!r}; {say}")
        return (part.name, source.config) if source.config else (asked.shape, part.name)
    for what, own, given, option in (
        ("shape", part.shape, asked.shape, "--shape LABEL"),
        ("config", part.config, source.config, f"--run NAME={source.path}"),
    ):
        if own is None and not given:
            raise DatasetError(
                f"{source.path}: has no column {what}; give {option}, or --columns {what}=ITS_NAME"
            )
        if own is not None and given:
            raise DatasetError(f"{source.path}: has a column {what}, so {option} is one too many")
    return part.shape or asked.shape, part.config or source.config


def _split(cells: Cells) -> Cells:
    """Make each timing a seed of its own."""
    split: Cells = {}
    counts: Counter[tuple[str, str]] = Counter()
    for (shape, config, _), rounds in cells.items():
        for timing in (timing for repeats in rounds.values() for timing in repeats):
            split[shape, config, counts[shape, config]] = {0: (timing,)}
            counts[shape, config] += 1
    return split


def _seeds_taken(cells: Cells, asked: Asked, *, by_column: bool) -> str:
    what = "each timing" if asked.each_a_seed else "the column seed" if by_column else "each file"
    counts = Counter((shape, config) for shape, config, _ in cells)
    timings = [sum(map(len, rounds.values())) for rounds in cells.values()]
    seeds = _range(list(counts.values()), "seed")
    note = f"taken for a seed: {what}; {seeds} a cell, {_range(timings, 'timing')} a seed"
    if max(counts.values()) == 1:
        note += "; one seed a cell supports no verdict: timings of one process are not fresh draws"
    return note


def _range(numbers: Sequence[int], word: str) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low if low == high else f'{low} to {high}'} {word}{'' if high == 1 else 's'}"


def _check_size(sizes: Sequence[int], cells: Cells) -> None:
    """Refuse an array that memory does not hold: it has room everywhere for what the largest cell has."""
    if math.prod(sizes) <= _MOST:
        return
    counts = {key: sum(map(len, rounds.values())) for key, rounds in cells.items()}
    shape, config, seed = most = max(counts, key=counts.__getitem__)
    every = " x ".join(
        f"{size} {word}{'s' * (size > 1)}"
        for size, word in zip(sizes, ("shape", "configuration", "seed", "round", "repeat"), strict=True)
    )
    raise DatasetError(
        f"{every} take {math.prod(sizes) * 8 / 2**30:.0f} GiB, mostly empty: {config} of {shape}, seed "
        f"{seed}, has the most timings, {counts[most]}; import it apart, or fewer shapes at once"
    )


def _places(names: Sequence[_Name]) -> dict[_Name, int]:
    return {name: at for at, name in enumerate(names)}


def _assemble(cells: Cells, sources: Sequence[Source]) -> xr.Dataset:
    shapes = list(dict.fromkeys(shape for shape, _, _ in cells))
    configs = list(dict.fromkeys([s.config for s in sources if s.config] + [c for _, c, _ in cells]))
    seeds = sorted({seed for _, _, seed in cells})
    rounds = 1 + max(number for cell in cells.values() for number in cell)
    repeats = max(len(timings) for cell in cells.values() for timings in cell.values())
    sizes = (len(shapes), len(configs), len(seeds), rounds, repeats)
    _check_size(sizes, cells)
    latency = np.full(sizes, math.nan)
    at_shape, at_config, at_seed = _places(shapes), _places(configs), _places(seeds)
    for (shape, config, seed), cell in cells.items():
        for number, timings in cell.items():
            latency[at_shape[shape], at_config[config], at_seed[seed], number, : len(timings)] = timings
    known = [shape_named(shape) for shape in shapes]
    attrs: dict[str, Any] = {
        "title": "imported timings",
        "latency_source": "timings",
        "comment": "each file is a seed unless a column says otherwise; timings within a process are repeats",
        "sources": json.dumps([f"{s.config}={s.path.name}" if s.config else s.path.name for s in sources]),
    }
    dataset = make_dataset(
        latency,
        shapes=shapes,
        configs=configs,
        seeds=seeds,
        workloads=[shape.workload if shape else "" for shape in known],
        attrs=attrs,
    )
    if not any(known):
        return dataset
    return add_variables(dataset, flop=[shape.flop if shape else math.nan for shape in known])
