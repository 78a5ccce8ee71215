"""Importers: what one is, and which there are, those of other packages included."""

from __future__ import annotations

import errno
import functools
import itertools
import logging
import os
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import Enum
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from abtune.dataset.schema import RunStatus, labels_of
from abtune.errors import DatasetError, InputError, unknown_name
from abtune.ingest.hints import AS_CSV, hint_of
from abtune.ingest.sources import Source, baseline_first
from abtune.ingest.texts import read_beginning, reading
from abtune.lazy import load
from abtune.text import count, listed, printable, shell_path, some_of

if TYPE_CHECKING:
    import numpy.typing as npt
    import xarray as xr


class Inputs(Enum):
    """How an importer's sources are given on the command line."""

    TABLES = "FILE"  # files that tell everything
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
    # takes a path and the beginning of its text, empty for a folder; returns whether it surely reads that
    recognises: Callable[[Path, str], bool]
    # takes the sources and the values of the options by name; returns what was imported. It raises an
    # AbtuneError with one line that names the file
    read: Callable[[Sequence[Source], Values], Imported]
    inputs: Inputs = Inputs.FILES  # how its sources are given
    like: str = ""  # the importer that recognises its files, too, if content alone does not tell them apart
    run_is: str = "A file"  # what the PATH of ``--run NAME=PATH`` is
    options: tuple[Option, ...] = ()  # those that it has beside the common ones
    examples: str = ""  # command lines, one per line


# Other packages add importers as entry points of this group.
_GROUP = "abtune.importers"
# One line each, in the order of the help: the name of the subcommand, and where its importer is.
IMPORTERS: Mapping[str, str] = {
    "published": "abtune.ingest.timings.published:PUBLISHED",
    "databases": "abtune.ingest.searches.databases:DATABASES",
    "logs": "abtune.ingest.searches.logs:LOGS",
    "kernel-tuner": "abtune.ingest.searches.trial_records:KERNEL_TUNER",
    "timings": "abtune.ingest.timings.timings:TIMINGS",
    "pyperf": "abtune.ingest.timings.benchmark_tools:pyperf",
    "asv": "abtune.ingest.timings.benchmark_tools:asv",
    "criterion": "abtune.ingest.timings.benchmark_tools:criterion",
    "cargo-bench": "abtune.ingest.timings.benchmark_tools:cargo_bench",
    "go-bench": "abtune.ingest.timings.benchmark_tools:go_bench",
    "jmh": "abtune.ingest.timings.benchmark_tools:jmh",
    "benchmark-dotnet": "abtune.ingest.timings.benchmark_tools:benchmark_dotnet",
    "nvbench": "abtune.ingest.timings.benchmark_tools:nvbench",
    "trials": "abtune.ingest.searches.trial_records:TRIALS",
    "tvm-records": "abtune.ingest.searches.trial_records:TVM_RECORDS",
}


def importer_names() -> tuple[str, ...]:
    """Return the names of all importers, in the order of the help."""
    return (*IMPORTERS, *others())


def importer_named(name: str) -> Importer:
    """Return the importer of a name."""
    if name in IMPORTERS:
        return load(IMPORTERS[name])
    if name not in others():
        raise unknown_name("importer", name, importer_names())
    return others()[name]


def all_importers() -> tuple[Importer, ...]:
    """Return all importers, in the order of the help."""
    return tuple(map(importer_named, importer_names()))


@functools.cache
def others() -> Mapping[str, Importer]:
    """Return the importers that other packages add as entry points; a broken one is left out with a line."""
    importers: dict[str, Importer] = {}
    for entry in entry_points(group=_GROUP):
        try:
            importer = entry.load()
            if entry.name in IMPORTERS or not isinstance(importer, Importer) or importer.name != entry.name:
                raise InputError(f"{entry.value} is no Importer of a new name {entry.name!r}")
            importers[entry.name] = importer
        except Exception as error:  # noqa: BLE001 - whatever a stranger's module raises
            package = entry.dist.name if entry.dist else "a package"
            reason = " ".join(str(error).split()) or type(error).__name__
            line = f"abtune: importer {entry.name} of {package} is left out: {reason}"
            logging.getLogger("abtune").warning("%s", printable(line))
    return importers


def recognise(sources: Sequence[Source], options: Set[str] = frozenset()) -> Importer:
    """Return the one importer that reads all of the sources: by their content, or by the options given."""
    able = all_importers()
    takers = {
        one.like or one.name for one in able if options and options <= {option.name for option in one.options}
    }
    for source in sources:
        _check_readable(source.path)
        readers = _readers(source.path)
        left = tuple(importer for importer in able if importer in readers)
        if not left and len(takers) == 1:
            return importer_named(takers.pop())
        if not left:
            if readers:
                raise InputError(
                    f"{source.path}: is {readers[0].kind}, unlike the files before ({_listed(able)}); "
                    "import each kind into a dataset of its own, and put them together: abtune merge"
                )
            also = "" if source is sources[0] else f", unlike the files before ({_listed(able)})"
            known = f"abtune import lists what it reads; if it is something else, {AS_CSV}"
            hint = hint_of(source.path, lambda path: bool(_readers(path))) or known
            raise InputError(f"{source.path}: no importer knows this content{also}; {hint}")
        able = left
    if len(able) > 1:
        remedy = f"name one: abtune import {able[0].name} ..."
        raise InputError(f"{sources[0].path}: {_listed(able)} can read this; {remedy}")
    return able[0]


def _listed(importers: Sequence[Importer]) -> str:
    return listed(f"{importer.name} ({importer.kind})" for importer in importers)


def _readers(path: Path) -> list[Importer]:
    """Return the importers that read a file or folder for certain."""
    text = read_beginning(path)
    try:
        return [importer for importer in all_importers() if importer.recognises(path, text)]
    except OSError:  # no permission to look
        return []


def _check_readable(path: Path) -> None:
    """Refuse what is not there, and pipes: nothing can be read of them twice."""
    with reading(path):
        known, exists = path.is_file() or path.is_dir(), path.exists()
    if not exists:
        remedy = "there is no such file, and no importer of that name; abtune import --help lists them"
        if str(path) == "-":
            remedy = "for the standard input, name its importer: abtune import timings /dev/stdin"
        if "=" in path.name:
            remedy = f"for a file of a configuration, write --run {shell_path(path)}"
        raise DatasetError(f"cannot read {path}: {remedy}")
    if not os.access(path, os.R_OK):
        raise DatasetError(f"cannot read {path}: {os.strerror(errno.EACCES)}")
    if not known:
        raise InputError(f"{path}: is no regular file; name its importer: {', '.join(importer_names())}")


def run_importer(importer: Importer, sources: Sequence[Source], values: Values) -> Imported:
    """Return what an importer makes of the sources."""
    for source in sources:
        readers = _readers(source.path)
        if readers and importer not in readers and importer.like != readers[0].name:
            own, other = importer.kind, readers[0]
            raise DatasetError(f"{source.path}: is not {own} but {other.kind}: abtune import {other.name}")
    imported = importer.read(sources, values)
    dataset, configs = imported.dataset, labels_of(imported.dataset, "config")
    # Configurations that the user names keep the order that the user gives them.
    named = any(source.config for source in sources) or values.get("configs")
    order = configs if named else baseline_first(configs)
    dataset = dataset.sel(config=order)
    spellings = _about_spellings(labels_of(dataset, "shape"), "shapes")
    notes = (*_about_lacking(dataset), *spellings, *_about_scales(dataset), *about_names(order))
    return Imported(dataset=dataset, notes=(*imported.notes, *notes))


# Times of one kernel do not differ as much as milliseconds and microseconds do.
_SCALES = 300
# One timing in this many may differ more, because it was interrupted.
_FEW = 200
# What numbers runs of one configuration.
_RUN = "seed|s|run|rep|repeat|trial|attempt|iter|iteration"
# A name that ends in a number, perhaps of a run: old_0, run3, gcc_seed0, new-run-2, old (rep 3).
_NUMBERED = re.compile(
    rf"(.*?)[\W_]*((?<![^\W_])(?:{_RUN})[\W_]*)?(\d{{1,9}})\W*", re.ASCII | re.IGNORECASE | re.DOTALL
)


def _about_lacking(dataset: xr.Dataset) -> Iterator[str]:
    """Yield which shapes have fewer runs than others, and how many have all configurations."""
    runs = (
        (dataset["run_status"] != RunStatus.MISSING).sum("seed").transpose("config", "shape").values.tolist()
    )
    labels, configs = labels_of(dataset, "shape"), labels_of(dataset, "config")
    for config, own in zip(configs, runs, strict=True):
        if fewer := [label for label, made in zip(labels, own, strict=True) if 0 < made < max(own)]:
            yield f"{config} has fewer runs of {some_of(fewer)} than of others; they are missing, not failed"
    lacking = [label for label, *made in zip(labels, *runs, strict=True) if not all(made)]
    number, are_two = len(labels) - len(lacking), len(configs) == 2
    if not number and are_two:
        has = ", ".join(
            f"{config} has {some_of(list(itertools.compress(labels, own)), most=2)}"
            for config, own in zip(configs, runs, strict=True)
        )
        yield f"no shape has both configurations, so none gets a verdict: {has}; give each one name in both"
    elif lacking:
        have, all_of = "has" if number == 1 else "have", "both" if are_two else f"all {len(configs)}"
        lack = f"the others get no verdict{'' if are_two else ' on what they lack'}: {some_of(lacking)}"
        yield f"{number} of {count(len(labels), 'shape')} {have} {all_of} configurations; {lack}"


def _about_scales(dataset: xr.Dataset) -> Iterator[str]:
    """Yield which times of one shape differ as those in two units do."""
    latency = dataset["latency"].stack(timing=("seed", "round", "repeat"))
    timings = latency.transpose("config", "shape", "timing").values
    labels = np.array(labels_of(dataset, "shape"), object)
    mixed = np.array([[_are_apart(cell) for cell in own] for own in timings])
    for config, own in zip(labels_of(dataset, "config"), mixed, strict=True):
        if shapes := labels[own].tolist():
            what = f"times of {config} differ more than {_SCALES}-fold within {some_of(shapes)}"
            yield f"{what}; check whether some are in another unit, of a warm-up, or mark failures"
    with warnings.catch_warnings(action="ignore"):  # a cell may have no time
        medians = np.nanmedian(timings, axis=-1)
        apart = np.nanmax(medians, axis=0) > _SCALES * np.nanmin(medians, axis=0)
    if shapes := labels[apart & ~mixed.any(axis=0)].tolist():
        what = f"configurations differ more than {_SCALES}-fold in {some_of(shapes)}"
        yield f"{what}; check that the times of all have the same unit"


def _are_apart(timings: npt.NDArray[np.float64]) -> bool:
    """Return whether the times of one shape and configuration differ as those in two units do.

    A seed counts by the median of its timings, so a few that were interrupted do no harm.
    """
    known = np.sort(timings[~np.isnan(timings)])
    few = len(known) // _FEW
    return len(known) > 0 and bool(known[-1 - few] > _SCALES * known[few])


def about_names(configs: Sequence[str]) -> Iterator[str]:
    """Yield which configurations look like one: two runs of it, or two spellings."""
    groups: dict[str, dict[str, str]] = {}  # by what is left without a number, the number of each name
    are_runs: set[str] = set()
    for name in configs:
        match = _NUMBERED.fullmatch(name)
        stem, run, number = match.groups() if match else (name, None, "")
        groups.setdefault(stem, {})[name] = number
        # pandas numbers columns of one name: old, old.1, old.2. Versions, such as v2 and v2.1, are no runs.
        if stem and (run or (stem in configs and not stem[-1].isdigit())):
            are_runs.add(stem)
    # old_0, old_1, new_0, new_1; or run1, run2
    are_alike = len({frozenset(names.values()) for names in groups.values()}) == 1
    if are_alike and (len(groups) > 1 or "" in groups):
        are_runs.update(groups)
    for stem, names in groups.items():
        if len(names) > 1 and stem in are_runs:
            yield (
                f"{listed([*names][:2])} look like runs of {stem or 'one configuration'}, but count as "
                "configurations; import lines with columns config and seed, or write {seed} in --pattern"
            )
    yield from _about_spellings(configs, "configurations")


def _about_spellings(names: Sequence[str], noun: str) -> Iterator[str]:
    """Yield which names differ only in case, blanks or the encoding of letters: é has two in Unicode."""
    spellings: dict[str, list[str]] = {}
    for name in names:
        folded = "".join(unicodedata.normalize("NFKC", name).casefold().split())
        spellings.setdefault(folded, []).append(name)
    if alike := [own for own in spellings.values() if len(own) > 1]:
        pairs = some_of([listed(map(repr, own)) for own in alike])
        why = f"{pairs} count as different {noun}, but differ only in case, blanks or encoding"
        yield f"{why}; spell them alike if they are the same"
