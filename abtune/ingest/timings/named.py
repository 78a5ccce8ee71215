"""Files that give one name to each benchmark: a shape or a configuration, as the user says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from abtune.errors import DatasetError
from abtune.ingest.importer import Imported, Option, Values
from abtune.ingest.sources import Source, read_once
from abtune.ingest.timings.timing_cells import FileCell, Reading, import_readings

SHAPE_OPTION = Option(name="shape", metavar="LABEL", help="What was timed, if names are configurations.")
NAMES = """With --run the name of a benchmark is a shape, and NAME is the configuration; with
    --shape the name is a configuration."""


def read_named(
    read_cells: Callable[[str, Path], Iterable[FileCell]],
) -> Callable[[Sequence[Source], Values], Imported]:
    """Return the function of an importer whose files are seeds; ``read_cells`` reads the text of one."""

    def read(sources: Sequence[Source], values: Values) -> Imported:
        readings: dict[Source, Reading] = {}
        seeds: Counter[tuple[str, str, str | None]] = Counter()
        for source, text in read_once(sources):
            cells = []
            for cell in read_cells(text, source.path):
                known = (source.config, source.shape, cell.name)
                seed = None if source.seed_in_path else seeds[known]
                cells.append(FileCell(where=cell.where, name=cell.name, rounds=cell.rounds, seed=seed))
            _check(cells, source.path)
            seeds.update((source.config, source.shape, cell.name) for cell in cells)
            readings[source] = Reading(cells=tuple(cells))
        return import_readings(readings, shape=values["shape"], seed="file")

    return read


def _check(cells: Sequence[FileCell], path: Path) -> None:
    """Refuse a file without timings, and names that a dataset cannot hold or tell apart."""
    if not cells:
        raise DatasetError(f"{path}: has no timings")
    first: dict[str | None, str] = {}
    for cell in cells:
        if not cell.name or "\0" in cell.name:
            raise DatasetError(f"{path}: {cell.where}: has no name that a dataset can hold")
        if first.setdefault(cell.name, cell.where) != cell.where:
            raise DatasetError(
                f"{path}: {cell.where}: {cell.name!r} is already in {first[cell.name]}; give each a "
                "name or a file of its own"
            )
