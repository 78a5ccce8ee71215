"""What an importer is: the one type by which the command line and the registry know all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from abtune.ingest.sources import Source

if TYPE_CHECKING:
    import xarray as xr


class Inputs(Enum):
    """How an importer's sources are given on the command line."""

    ONE_FILE = "FILE"  # one file, which tells everything
    RUNS = "--run"  # --run NAME=PATH or --pattern: a source cannot tell its configuration
    FILES = "FILES"  # files, --run or --pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option that one importer has beside the common ones; its value is a text."""

    name: str  # without the dashes, such as ``unit``
    help: str  # one sentence
    choices: tuple[str, ...] = ()  # the only values; empty if any text will do
    metavar: str = "TEXT"  # what stands for the value in the help, where there are no choices
    default: str = ""  # the value if the option is not given
    repeated: bool = False  # whether the option may be given several times; the values are joined by commas


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A dataset, and what there is to say about how it was read."""

    dataset: xr.Dataset  # valid by the schema
    notes: tuple[str, ...]  # what counts as a seed, what was assumed and what was left out; one line each


Values: TypeAlias = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Importer:
    """How results of one kind become a dataset."""

    name: str  # the name of the subcommand, such as ``logs``
    kind: str  # what it reads, with an article: ``a tuning log``
    summary: str  # the help; its first line stands in the list of subcommands
    # takes a path and the beginning of its text, which is empty for a folder; returns whether this
    # importer reads it for certain
    recognises: Callable[[Path, str], bool]
    # takes the sources and the values of the options by name; returns what was imported. It raises an
    # AbtuneError with one line that names the file
    read: Callable[[Sequence[Source], Values], Imported]
    inputs: Inputs = Inputs.FILES  # how its sources are given
    run_is: str = "A file"  # what the PATH of ``--run NAME=PATH`` is
    options: tuple[Option, ...] = ()  # those that it has beside the common ones
    examples: str = ""  # command lines, one per line
