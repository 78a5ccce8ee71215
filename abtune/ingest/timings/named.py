"""Importers of files that give one name to each benchmark: a shape or a configuration, as the user says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from abtune.errors import DatasetError, InputError
from abtune.ingest.importers import Imported, Importer, Option, Values
from abtune.ingest.sources import Source, read_once
from abtune.ingest.texts import naming
from abtune.ingest.timings.timing_cells import FileCell, Reading, import_readings


def named_importer(
    name: str,
    kind: str,
    read_cells: Callable[[str, Path], Iterable[FileCell]],
    recognises: Callable[[str], bool],
    *,
    summary: str,
    example: str,
    seed: str = "file",
) -> Importer:
    """Return an importer; ``read_cells`` reads the text of one file, and ``seed`` says what a seed is."""

    def read(sources: Sequence[Source], values: Values) -> Imported:
        readings: dict[Source, Reading] = {}
        seeds: Counter[tuple[str, str, str | None]] = Counter()
        for source, text in read_once(sources):
            if source.seed_in_path and seed != "file":
                raise InputError(f"each {seed} in {kind} is a seed; write * in place of {{seed}}")
            cells = []
            with naming(source.path):
                checked = _checked(read_cells(text, source.path))
            for cell in checked:
                known = (source.config, source.shape, cell.name)
                cells.append(replace(cell, seed=None if source.seed_in_path else seeds[known]))
                seeds[known] += 1
            notes = dict.fromkeys(cell.note for cell in cells if cell.note)
            readings[source] = Reading(cells=tuple(cells), notes=tuple(notes))
        return import_readings(readings, shape=values["shape"], seed=seed)

    return Importer(
        name=name,
        kind=kind,
        summary=f"{summary} With --run the name of a benchmark is a shape, and NAME is the\n"
        "    configuration; with --shape the name is a configuration.\n    ",
        recognises=lambda _, text: recognises(text),
        read=read,
        run_is=kind[:1].upper() + kind[1:],
        options=(Option(name="shape", metavar="LABEL", help="What was timed, if names are configurations."),),
        examples=f"\n  abtune import {name} {example} --out t.nc\n",
    )


def _checked(cells: Iterable[FileCell]) -> list[FileCell]:
    """Return the cells of a file that has timings, under names that a dataset can hold and tell apart."""
    checked = list(cells)
    if not checked:
        raise DatasetError("has no timings")
    first: dict[str | None, str] = {}
    for cell in checked:
        if not cell.name or "\0" in cell.name:
            raise DatasetError(f"{cell.where}: has no name that a dataset can hold")
        earlier = first.setdefault(cell.name, cell.where)
        if earlier != cell.where:
            again = f"{cell.where}: {cell.name!r} is already in {earlier}"
            raise DatasetError(f"{again}; give each a name or a file of its own")
    return checked
