"""Benchmark names that hold a configuration and a shape: ``sort/old/512``, ``sort(impl=old, n=512)``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from abtune.errors import DatasetError, InputError
from abtune.ingest.importers import Option
from abtune.ingest.sources import Source
from abtune.ingest.timings.file_cells import FileCell, Reading
from abtune.text import listed, some_of

CONFIGS = Option(
    name="configs",
    metavar="NAME,...",
    help="Words within the names of benchmarks that are configurations, the baseline first: of sort/old/512, "
    "old. The rest is the shape.",
)
# Stands for the word while the name around it is tidied. No name has it, because netCDF ends a text there.
_CUT = "\0"
_SEPARATORS = r"[\s/_:,.;-]*"


def read_configs(text: str) -> tuple[str, ...]:
    """Return the configurations of ``--configs``."""
    names = tuple(name.strip() for name in text.split(",")) if text else ()
    if text and (len(set(names)) < len(names) or len(names) < 2 or not all(names)):
        raise InputError(f"--configs {text!r} is not two names or more, such as old,new")
    return names


def split_names(readings: Mapping[Source, Reading], configs: Sequence[str]) -> dict[Source, Reading]:
    """Return the readings with the shape and the configuration that each name has; others are left out."""
    if not configs:
        return dict(readings)
    split = {source: _split(source, reading, configs) for source, reading in readings.items()}
    known = {cell.config for reading in split.values() for cell in reading.cells}
    if lacking := [config for config in configs if config not in known]:
        cells = (cell for reading in readings.values() for cell in reading.cells)
        names = some_of(list(dict.fromkeys(cell.name for cell in cells if cell.name)))
        raise InputError(f"--configs: no name has the word {lacking[0]}; there are: {names or 'no names'}")
    return split


def _split(source: Source, reading: Reading, configs: Sequence[str]) -> Reading:
    cells, left_out, word = list[FileCell](), list[str](), _one_of(configs)
    for cell in reading.cells:
        if cell.name is None:
            raise InputError("--configs is for files that name each benchmark; a table has --columns")
        words = [*word.finditer(cell.name)]
        if len(words) > 1:
            several = {match["config"]: None for match in words}
            has = listed(several) if len(several) > 1 else f"{words[0]['config']} twice"
            unclear = f"{cell.name!r} has {has}, so its {'configuration' if len(several) > 1 else 'shape'} is"
            raise DatasetError(f"{source.path}: {cell.where}: {unclear} unclear; rename it")
        if words:
            shape = _tidied(word.sub(_CUT, cell.name))
            cells.append(replace(cell, name=shape, config=words[0]["config"]))
        else:
            left_out.append(cell.name)
    notes = [f"left out, because no name of --configs is in them: {some_of(left_out)}"] if left_out else []
    return replace(reading, cells=tuple(cells), notes=(*reading.notes, *notes))


def _one_of(configs: Sequence[str]) -> re.Pattern[str]:
    """Return what finds a configuration as a word of its own, with the name of its parameter before it."""
    begins, ends = r"(?<![^\W_])", r"(?![^\W_])"
    longest_first = sorted(configs, key=len, reverse=True)  # of v2 and v2-fast
    words = (
        f"{begins * name[0].isalnum()}{re.escape(name)}{ends * name[-1].isalnum()}" for name in longest_first
    )
    return re.compile(rf"(?:{begins}\w+(?: ?= ?|: ))?(?P<config>{'|'.join(words)})")


def _tidied(name: str) -> str:
    """Return a name without the cut, one of the separators around it, and brackets that are empty now."""
    name = re.sub(rf"(?<=[^\s/_:,.;(\[<{_CUT}-]){_SEPARATORS}{_CUT}", "", name)
    name = re.sub(rf"{_SEPARATORS}{_CUT}{_SEPARATORS}", "", name)
    return re.sub(r"\(\)|\[\]|<>", "", name) or "all"
