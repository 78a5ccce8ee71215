"""From cells of files to cells of a dataset: which shape, configuration and seed each cell is of."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import xarray as xr

from abtune.dataset.build import RunLabels, axes_of, dataset_from_cells
from abtune.dataset.provenance import Caveat, between_each_two, with_caveats
from abtune.dataset.schema import DESIGN, RunStatus, SeedDesign
from abtune.errors import DatasetError
from abtune.ingest.importers import Imported
from abtune.ingest.sources import Source, label_told, recorded_path
from abtune.ingest.table_columns import listed_columns
from abtune.ingest.timings.conditions import about_columns, conditions_of
from abtune.ingest.timings.file_cells import PAIR, FileCell, FileContent, split_names
from abtune.shapes import shape_named, shape_values
from abtune.text import count, import_command, shell_path, shortened

# Said of seeds that are timings of hyperfine, whose processes start one after the other.
_IN_A_ROW = (
    "Hyperfine makes all runs of a command in a row, so a drift of the machine counts as a boost. Files "
    "exported in turns, each a seed, avoid that."
)
# Said of files that number the seeds.
_MAY_BE_PAIRS = (
    "each file has several configurations; if they ran side by side, --seed-is pair compares them there"
)
_Rounds: TypeAlias = Mapping[int, tuple[float, ...]]
# The cells of each file, each with its shape and configuration.
_Named: TypeAlias = Mapping[Source, Sequence[tuple[FileCell, str, str]]]


def import_readings(
    readings: Mapping[Source, FileContent],
    *,
    shape: str,
    configs: Sequence[str] = (),
    seed_is: str = "file",
    seed: str = "",
) -> Imported:
    """Return the dataset of the files' timings; ``shape`` and the words ``configs`` in names may be told.

    ``seed_is`` says what counts as a seed: a file, a timing or a pair; ``seed``, what tells a seed, in words.
    """
    readings = _without_unknown(split_names(readings, configs))
    _check_alike(readings.values())
    each_a_process = {reading.each_a_process for reading in readings.values()}
    if each_a_line := seed_is == PAIR and each_a_process == {None} and len(readings) == 1:
        seed = "line"
    what = seed or ("number in the path" if next(iter(readings)).seed_in_path else "file")
    if seed_is == PAIR and what == "file":
        readings = _numbered_by_file(readings)
    of_files = _named(readings, shape)
    rounds = _by_cell(of_files)
    if each_a_seed := seed_is == "timing" or each_a_line:
        rounds = _split(rounds)
    if not any(rounds.values()):
        raise DatasetError(f"{next(iter(readings)).path}: has no timings")
    configs_of = {file.path: {config for *_, config in cells} for file, cells in of_files.items() if cells}
    if seed_is == PAIR:
        _check_pairs(rounds, configs_of if what == "file" else {})
    may_be_pairs = what == seed_is == "file" and min(map(len, configs_of.values())) > 1 < len(configs_of)
    in_a_row = [_IN_A_ROW] * (each_a_seed and all(each_a_process))
    named = [*itertools.chain.from_iterable(of_files.values())]
    given = _about_given_times(named)
    if given and not any(reading.time_is_named for reading in readings.values()):
        raise DatasetError(f"{given}; else name the column of times: --columns time=NAME")
    conditions = conditions_of((label, config, cell.settings) for cell, label, config in named)
    works = dict.fromkeys(reading.work for reading in readings.values() if reading.work)
    notes = (
        _about_seeds(rounds, what, PAIR if seed_is == PAIR else "seed", each_a_process),
        *[_MAY_BE_PAIRS] * may_be_pairs,
        *_notes_of_files(readings),
        *filter(None, [given]),
        *conditions.notes,
        *about_columns((config, sum(map(len, cell.rounds)), cell.others) for cell, _, config in named),
        *in_a_row,
        *works,
    )
    attrs = {"latency_source": "throughput"} if works else {}
    if conditions.machine:
        attrs["device"] = conditions.machine
    attrs |= with_caveats([*_unlike(named), *(Caveat(says=one) for one in in_a_row)])
    if seed_is == PAIR:
        attrs[DESIGN] = SeedDesign.PAIRED.value
    return Imported(dataset=_assemble(rounds, list(readings), configs, attrs), notes=notes)


def _unlike(named: Sequence[tuple[FileCell, str, str]]) -> Iterator[Caveat]:
    """Yield which settings differ between each two configurations; a cell has its shape and configuration."""
    by_config: dict[str, list[tuple[str, str, Mapping[str, object]]]] = {}
    for cell, label, config in named:
        by_config.setdefault(config, []).extend([(label, config, cell.settings)] if cell.settings else [])

    def differ(configs: Sequence[str]) -> Sequence[str]:
        return conditions_of(cell for config in configs for cell in by_config[config]).caveats

    if any(by_config.values()):  # a thousand configurations have half a million pairs
        yield from between_each_two([*by_config], differ)


def _check_alike(readings: Collection[FileContent]) -> None:
    """Refuse files if only some have seeds or rounds, or if they hold different quantities."""
    cells = [cell for reading in readings for cell in reading.cells]
    for column, have in (
        ("seed", {cell.seed is not None for cell in cells}),
        ("round", {bool(cell.labels) for cell in cells if cell.rounds}),
    ):
        if len(have) > 1:
            some = f"some files have a column {column} and some have none"
            raise DatasetError(f"{some}; let all have it, or none")
    if len({reading.kind for reading in readings}) > 1:
        raise DatasetError(
            "some files have times, or throughputs of another kind; import each kind by itself"
        )


def _about_given_times(named: Iterable[tuple[FileCell, str, str]]) -> str:
    """Say which shape has times that hardly differ beside a throughput that does; empty if none has."""
    by_shape: dict[str, list[FileCell]] = {}
    for cell, label, _ in named:
        by_shape.setdefault(label, []).append(cell)
    for label, cells in by_shape.items():
        times = [time for cell in cells for some in cell.rounds for time in some if time > 0]
        if len(times) < 4 or (spread := max(times) / min(times) - 1) > 0.01:
            continue
        for name in cells[0].throughputs:
            # Zero is that of a run that failed.
            known = (rate for cell in cells for rate in cell.throughputs.get(name, ()))
            rates = [rate for rate in known if 0 < rate < math.inf]
            if rates and max(rates) > (1.005 + 5 * spread) * min(rates):
                about, rate = f"the times of {shortened(label)} hardly differ", shortened(name)
                reason = f"{rate} does, so each run may have been given its time"
                return f"{about}, and {reason}; if so, write 1000 / {rate} as time_ms"
    return ""


def _notes_of_files(readings: Mapping[Source, FileContent]) -> Iterator[str]:
    """Yield what was noted of files, each note once."""
    said: dict[str, dict[Path, None]] = {}
    for source, reading in readings.items():
        for note in (*reading.notes, *(cell.note for cell in reading.cells if cell.note)):
            said.setdefault(note, {})[source.path] = None
    for note, (first, *more) in said.items():
        files = f"{first} and {count(len(more), 'more file')}" if more else first
        yield f"{files}: {note}"


def _without_unknown(readings: Mapping[Source, FileContent]) -> dict[Source, FileContent]:
    """Return the readings with notes on failed runs, and without benchmarks that no file has a time of."""
    timed = {None, *(cell.name for reading in readings.values() for cell in reading.cells if cell.rounds)}
    known = {}
    for source, reading in readings.items():
        lost = [cell for cell in reading.cells if cell.name is not None and not cell.rounds]
        counted = {True: "failed, which counts", False: "failed and has no time, so it is left out"}
        notes = [
            f"{cell.name}{f' of {cell.config}' if cell.config else ''} {counted[cell.name in timed]}"
            for cell in lost
        ]
        kept = tuple(cell for cell in reading.cells if cell.name in timed)
        known[source] = replace(reading, cells=kept, notes=(*reading.notes, *notes))
    return known


def _by_cell(of_files: _Named) -> dict[RunLabels, _Rounds]:
    """Return the timings by shape, configuration and seed; a cell that comes twice is refused."""
    labels = {label for cells in of_files.values() for cell, _, _ in cells for label in cell.labels}
    # Rounds are in the order of their numbers, or else of their letters.
    numbers = all(re.fullmatch(r"-?\d{1,18}", label, flags=re.ASCII) for label in labels)
    order = {label: index for index, label in enumerate(sorted(labels, key=int if numbers else None))}
    rounds: dict[RunLabels, _Rounds] = {}
    files: Counter[tuple[str, str]] = Counter()  # so far, by configuration and the shape of their paths
    for source, cells in of_files.items():
        for cell, label, config in cells:
            if cell.seed is not None and source.seed_in_path:
                both = "a column seed; leave {seed} out of --pattern"
                raise DatasetError(f"{source.path}: has {both}")
            seed = source.seed if source.seed_in_path else files[config, source.shape]
            key = label, config, seed if cell.seed is None else cell.seed
            if key in rounds:
                remedy = "number the seeds of a cell on from file to file, or take a copy out"
                again = f"{config} has timings of {label}, seed {key[2]}, already"
                raise DatasetError(f"{source.path}: {cell.where}: {again}; {remedy}")
            indices = [order[name] for name in cell.labels] or range(len(cell.rounds))
            rounds[key] = dict(zip(indices, cell.rounds, strict=True))
        # As a set: a file counts once per configuration, however many cells it has.
        files.update({(config, source.shape) for _, _, config in cells})
    return rounds


def _named(readings: Mapping[Source, FileContent], shape: str) -> _Named:
    """Return the cells of each file, with the shape and configuration of each; refuse those without."""
    of_files: dict[Source, list[tuple[FileCell, str, str]]] = {}
    for source, reading in readings.items():
        told = label_told(source, shape)
        _check_told(reading, source, told)
        of_files[source] = [(cell, *_names(cell, source, told, reading.unused)) for cell in reading.cells]
        # Without a column of shapes or configurations, the times of several would look like repeats.
        if reading.no_repeats:
            raise DatasetError(f"{source.path}: {reading.no_repeats}")
    return of_files


def _check_told(reading: FileContent, source: Source, given: str) -> None:
    """Check that the user says whether the names in a file are shapes or configurations."""
    either = (cell for cell in reading.cells if cell.name is not None and cell.config is None)
    names = list(dict.fromkeys(cell.name for cell in either))
    if not names or bool(source.config) != bool(given):
        return
    if given:
        both = f"has one name, {names[0]!r}, but both shape and configuration are given; give one of them"
        raise DatasetError(f"{source.path}: {reading.cells[0].where}: {both}")
    own = "--shape LABEL --seed-is timing" if reading.each_a_process else "--shape LABEL"
    as_configs = import_command(source.path, options=own)
    as_shapes = import_command(source.path, run=True)
    as_both = ""
    if len(names) > 1:
        both = import_command(source.path, options="--configs OLD,NEW")
        as_both = f"; if each has a shape and one of two configurations: {both}"
    more = ", ..." if len(names) > 3 else ""
    raise DatasetError(
        f"{source.path}: has the name{'s' * (len(names) > 1)} {', '.join(map(repr, names[:3]))}{more}; if "
        f"configurations are called so: {as_configs}; if shapes are: {as_shapes}{as_both}"
    )


def _names(cell: FileCell, source: Source, given: str, unused: Sequence[str]) -> tuple[str, str]:
    if cell.name is not None and cell.config is None:  # of the shape or of the configuration
        return (cell.name, source.config) if source.config else (given, cell.name)
    own_shape = cell.shape if cell.name is None else cell.name
    needed = (
        ("shape", own_shape, given, "--shape LABEL"),
        ("config", cell.config, source.config, f"--run NAME={shell_path(source.path)}"),
    )
    if lacking := {what: option for what, own, told, option in needed if own is None and not told}:
        lacks = " and no ".join(
            f"column {what} (give --columns {what}=ITS_NAME, or {option})" for what, option in lacking.items()
        )
        names = f"; the other columns: {listed_columns(unused)}" if unused else ""
        raise DatasetError(f"{source.path}: has no {lacks}{names}")
    for what, own, told, option in needed:
        if own is not None and told:
            says = f"says itself which {what} a time is of, {shortened(repr(own))}"
            raise DatasetError(f"{source.path}: {says}; leave out {option}")
    return own_shape or given, cell.config or source.config


def _split(rounds: Mapping[RunLabels, _Rounds]) -> dict[RunLabels, _Rounds]:
    split: dict[RunLabels, _Rounds] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for (shape, config, _), cell in rounds.items():
        for timing in [*itertools.chain.from_iterable(cell.values())] or [math.nan]:  # NaN has failed
            split[shape, config, counts[shape, config]] = {} if math.isnan(timing) else {0: (timing,)}
            counts[shape, config] += 1
    return split


def _numbered_by_file(readings: Mapping[Source, FileContent]) -> dict[Source, FileContent]:
    """Return cells with the number of their file, also where an earlier file lacks one of a pair."""
    return {
        source: replace(reading, cells=tuple(replace(cell, seed=number) for cell in reading.cells))
        for number, (source, reading) in enumerate(readings.items())
    }


def _check_pairs(rounds: Mapping[RunLabels, _Rounds], configs_of: Mapping[Path, set[str]]) -> None:
    """Refuse files, whose order numbers their pairs, with one configuration alone; and no pair at all."""
    for path, configs in configs_of.items():
        if len(configs) == 1:
            remedy = "time both in each file, or number the runs by a column seed or {seed} in --pattern"
            raise DatasetError(f"{path}: has {configs.pop()} alone, and no pair; {remedy}")
    if max(Counter((label, seed) for label, _, seed in rounds).values()) == 1:
        raise DatasetError("no run has the seed number of another configuration, so there are no pairs")


def _about_seeds(
    rounds: Mapping[RunLabels, _Rounds], what: str, unit: str, each_a_process: set[bool | None]
) -> str:
    seeds: Collection[int] = Counter((shape, config) for shape, config, _ in rounds).values()
    if unit == PAIR:  # a seed of one configuration alone is none
        configs = Counter((shape, seed) for shape, _, seed in rounds)
        seeds = Counter(shape for (shape, _), number in configs.items() if number > 1).values()
    timings = [sum(map(len, cell.values())) for cell in rounds.values() if cell]
    note = f"each {what} is one {unit}: {_range(seeds, unit)} per cell, {_range(timings, 'timing')} per seed"
    if max(seeds) == 1 and each_a_process == {True} and max(timings) > 1:
        note += "; each timing is of a process of its own: with --seed-is timing each is a seed"
    elif max(seeds) == 1:
        remedy = "; if each timing was of a process of its own, add --seed-is timing"
        may_be_seeds = each_a_process == {None} and max(timings) > 1
        why = remedy if may_be_seeds else ": timings of one process are not independent"
        note += f"; one seed per cell supports no verdict{why}"
    return note


def _range(numbers: Collection[int], word: str) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low if low == high else f'{low} to {high}'} {word}{'' if high == 1 else 's'}"


def _assemble(
    rounds: Mapping[RunLabels, _Rounds],
    sources: Sequence[Source],
    configs: Sequence[str],
    attrs: Mapping[str, str],
) -> xr.Dataset:
    """Return the dataset of the cells; configurations that the user names keep their order."""
    recorded = [f"{s.config}={recorded_path(s.path)}" if s.config else recorded_path(s.path) for s in sources]
    axes = axes_of(rounds)
    named = [*configs, *(source.config for source in sources if source.config)]
    axes["config"] = list(dict.fromkeys([*named, *axes["config"]]))
    return dataset_from_cells(
        {key: _values(cell) for key, cell in rounds.items()},
        axes,
        shape_values=shape_values(list(map(shape_named, axes["shape"]))),
        attrs={
            "title": "imported timings",
            "latency_source": "timings",
            "comment": "each file is a seed unless a column says otherwise; timings within a process are "
            "repeats",
            "sources": json.dumps(recorded),
            **attrs,
        },
    )


def _values(cell: _Rounds) -> dict[str, Any]:
    """Return the variables of a run; one without a timing has failed."""
    if not cell:
        return {"run_status": RunStatus.FAILED}
    seconds = np.full((1 + max(cell), max(map(len, cell.values()))), math.nan)
    for number, timings in cell.items():
        seconds[number, : len(timings)] = timings
    return {"latency": seconds, "run_status": RunStatus.COMPLETE}
