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
    """An option that one importer has beside the common ones; its value is a text.

    Attributes
    ----------
    name : str
        Without the dashes, such as ``unit``.
    help : str
        One sentence.
    choices : tuple of str
        The only values; empty if any text will do.
    metavar : str
        What stands for the value in the help, where there are no choices.
    default : str
        The value if the option is not given.
    repeated : bool
        Whether the option may be given several times; the values are joined by commas.
    """

    name: str
    help: str
    choices: tuple[str, ...] = ()
    metavar: str = "TEXT"
    default: str = ""
    repeated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A dataset, and what there is to say about how it was read.

    Attributes
    ----------
    dataset : xarray.Dataset
        Valid by the schema.
    notes : tuple of str
        What counts as a seed, what was assumed and what was left out; one line each.
    """

    dataset: xr.Dataset
    notes: tuple[str, ...]


Values: TypeAlias = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Importer:
    """How results of one kind become a dataset.

    Attributes
    ----------
    name : str
        The name of the subcommand, such as ``logs``.
    kind : str
        What it reads, with an article: ``a tuning log``.
    summary : str
        The help; its first line stands in the list of subcommands.
    recognises : callable
        Takes a path and the beginning of its text, which is empty for a folder; returns whether this
        importer reads it for certain.
    read : callable
        Takes the sources and the values of the options by name; returns what was imported. It raises an
        AbtuneError with one line that names the file.
    inputs : Inputs
        How its sources are given.
    run_is : str
        What the PATH of ``--run NAME=PATH`` is.
    options : tuple of Option
        Those that it has beside the common ones.
    examples : str
        Command lines, one per line.
    """

    name: str
    kind: str
    summary: str
    recognises: Callable[[Path, str], bool]
    read: Callable[[Sequence[Source], Values], Imported]
    inputs: Inputs = Inputs.FILES
    run_is: str = "A file"
    options: tuple[Option, ...] = ()
    examples: str = ""
