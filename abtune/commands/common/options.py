"""Options that several commands have, and kinds of values that click does not have."""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click
from click.shell_completion import CompletionItem

from abtune.errors import InputError
from abtune.text import shell_path, to_fraction

if TYPE_CHECKING:
    import xarray as xr

    from abtune.compare.settings import Weights
    from abtune.measure.plan.workplace import Workplace


Option: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]


def together(*options: Option) -> Option:
    """Make one option of several, which the help has in this order."""
    # click lists what was added last first, because decorators apply from below.
    return lambda command: functools.reduce(lambda added, option: option(added), reversed(options), command)


class WholeSummaries(click.Group):
    """A group whose help has the whole summary of each command; click cuts those that need two lines."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands with their summaries."""
        commands = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [(name, command.get_short_help_str(limit=1000)) for name, command in commands if command]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class Registered(click.Choice):  # type: ignore[type-arg]  # generic only from click 8.2 on
    """A choice among the names of a registry, which is read when an option is parsed."""

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self._names, self.case_sensitive = names, True

    @property
    def choices(self) -> tuple[str, ...]:  # type: ignore[override]  # click only reads it
        """The names that there are."""
        return tuple(self._names())


def dataset_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - as click calls it
    """Return the bundled datasets whose names begin so, or have the shell look for files."""
    from abtune.dataset.netcdf import BUNDLED

    names = [CompletionItem(name) for name in BUNDLED if incomplete and name.startswith(incomplete)]
    return names or [CompletionItem(incomplete, type="file")]


def _only_one(ctx: click.Context, _: click.Parameter, names: Sequence[str]) -> str | None:
    """Return the only dataset, or None; say what to do with several."""
    if len(names) > 1:
        words, change = " ".join(map(shell_path, names)), "compare" if len(names) == 2 else "history"
        raise InputError(
            f"abtune {ctx.info_name} takes one dataset, not {len(names)}; for what changed between them: "
            f"abtune {change} {words}; to put their runs into one: abtune merge {words} --out all.nc"
        )
    return names[0] if names else None


def open_several(datasets: Sequence[str]) -> dict[str, xr.Dataset]:
    """Open datasets, each once; return them by the names that a dataset made of them records."""
    import abtune
    from abtune.ingest.sources import check_once, recorded_path

    check_once(map(Path, datasets))
    opened = {name: abtune.open_dataset(name) for name in datasets}
    return {
        recorded_path(Path(name)) if Path(name).exists() else name: dataset
        for name, dataset in opened.items()
    }


dataset_argument = click.argument(
    "dataset", nargs=-1, metavar="[DATASET]", shell_complete=dataset_names, callback=_only_one
)


DEFAULT_DATASET = "abtune.nc"
FIGURE_SUFFIXES = (".png", ".svg", ".pdf")


def figure_file(value: str) -> Path:
    """Return the path of a file to draw into; its name says the format."""
    path = Path(value)
    if path.suffix.lower() not in FIGURE_SUFFIXES:
        raise click.BadParameter(f"{value!r} does not end in {', '.join(FIGURE_SUFFIXES)}")
    return path


def percentage(low: int, high: int, *, example: str, least: float = 0.1) -> Callable[[str], float]:
    """Return a type of options: a percentage between two bounds, both excluded, which becomes a fraction."""
    hint = f"give a percentage, such as {example}"

    def percent(value: str) -> float:
        try:
            fraction = to_fraction(value)
        except InputError as error:
            raise click.BadParameter(f"{error}; {hint}") from None
        if not low < round(100 * fraction, 10) < high:  # what rounds to a bound is one
            raise click.BadParameter(f"{value} is not above {low} and below {high}; {hint}")
        if 100 * fraction < least and "%" not in value:  # nearly surely meant as a fraction
            meant = f"give {1e4 * fraction:g}%, or {value}% if meant"
            raise click.BadParameter(f"{value} would be {value}%; {meant}")
        return fraction

    return percent


def split_commas(_: click.Context, param: click.Parameter, values: Sequence[str]) -> tuple[str, ...]:
    """Flatten ``--option a,b --option c`` to ``("a", "b", "c")``; an empty name is a mistake."""
    names = tuple(name.strip() for value in values for name in value.split(","))
    if not all(names):
        raise click.BadParameter("there is an empty name in the list", param=param)
    return names


# Of a dataset; chosen_shapes takes the values apart.
shapes_option = click.option(
    "--shapes",
    metavar="LABEL,...",
    multiple=True,
    help="Only these shapes: labels, globs such as 'M=*', fields such as 'H=56 W=56', kinds such as gemm_nn, "
    "or presets. Repeatable.",
)


def chosen_shapes(values: Sequence[str], dataset: xr.Dataset) -> list[str] | None:
    """Take the values of ``--shapes`` apart at commas, but for those within labels of the dataset."""
    from abtune.dataset.schema import labels_of

    labels = set(labels_of(dataset, "shape"))
    return [name for value in values for name in _split_at_commas(value, labels)] or None


def _split_at_commas(value: str, labels: Set[str]) -> Iterator[str]:
    """Yield the names of a list. Labels may have commas, so a name is the longest that fits one."""
    parts = value.split(",")
    while parts:
        starts = {end: ",".join(parts[:end]).strip() for end in range(len(parts), 0, -1)}
        fits = (end for end, name in starts.items() if name in labels or fnmatch.filter(labels, name))
        end = next(fits, 1)
        if not starts[end]:
            raise InputError("there is an empty name in the list of shapes")
        yield starts[end]
        del parts[:end]


def ci_option(meaning: str = "Confidence of the intervals; tests use level 1 - confidence.") -> Option:
    """Make the option ``--ci``, whose fraction arrives as ``level``."""
    kind = percentage(50, 100, example="95")
    return click.option("--ci", "level", type=kind, default="95", show_default=True, help=meaning)


def percent_option(name: str, default: str, meaning: str) -> Option:
    """Make an option such as ``--margin``, whose percentage arrives as a fraction."""
    kind = percentage(0, 100, example=default)
    return click.option(name, type=kind, default=default, show_default=True, help=meaning)


def boosts_option(meaning: str) -> Option:
    """Make the option ``--boost``, whose values arrive as the fractions ``boosts``."""
    return click.option(
        "--boost", "boosts", type=percentage(0, 1000, example="5"), multiple=True, help=meaning
    )


def rng_seed_option(meaning: str) -> Option:
    """Make the option ``--rng-seed``."""
    return click.option("--rng-seed", type=click.IntRange(min=0), default=0, show_default=True, help=meaning)


def count_option(name: str, meaning: str, default: int | None = None) -> Option:
    """Make an option whose value is a number of things, at least one."""
    kind = click.IntRange(min=1)
    return click.option(name, type=kind, default=default, show_default=default is not None, help=meaning)


def configuration_options(candidate: str = "the second") -> Option:
    """Make the options ``--baseline`` and ``--candidate``, whose default is described by a text."""
    against = "Configuration to compare against. [default: the first]"
    judged = f"Configuration to judge. [default: {candidate}]"
    return together(
        click.option("--baseline", metavar="NAME", help=against),
        click.option("--candidate", metavar="NAME", help=judged),
    )


def read_weights_option(value: str | None) -> Weights | None:
    """Read the file of this name, or take the built-in weights of this name; a file wins."""
    if value is None:
        return None
    from abtune.compare.settings import BUILT_IN, Weights, built_in_weights
    from abtune.ingest.weight_files import read_weights

    path = Path(value)
    if not path.exists() and (value in BUILT_IN or not (path.suffix or len(path.parts) > 1)):
        return built_in_weights(value)
    return Weights(name=value, calls=read_weights(path), not_covered="", strict=True)


def duration(value: str) -> float:
    """Return the seconds of a time span such as ``90s``, ``15m`` or ``2h``."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh])", value.strip())
    seconds = float(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]] if match else 0.0
    if seconds <= 0:
        raise click.BadParameter(f"{value!r} is no time span; give one such as 90s, 15m or 2h")
    return seconds


time_limit_option = click.option(
    "--time-limit", type=duration, help="Stop in time and keep what is done: 90s, 15m, 2h."
)
target_option = click.option(
    "--target", default="auto", show_default=True, help="auto, cuda, cpu, or a TVM target."
)


def workplace_options(cores_help: str) -> Option:
    """Return the options ``--cores`` and ``--scheduler``."""
    return together(
        click.option("--cores", type=click.IntRange(min=1), help=f"{cores_help} [default: all cores]"),
        click.option(
            "--scheduler", default="", metavar="ADDRESS", help="Use a dask cluster: tcp://host:port."
        ),
    )


def workplace_of(options: Mapping[str, Any], *, tried: bool = False) -> Workplace:
    """Return the workplace of the options; if ``tried``, a trial of a second tells how fast cores search."""
    from abtune.measure.plan.workplace import Workplace, machine_load, usable_cores
    from abtune.measure.workers.find_target import find_target, find_target_at

    cores = options["cores"] or usable_cores()
    load = 0.0 if options["scheduler"] else machine_load(cores) or 0.0
    if options["scheduler"]:  # how many cores its workers have is not known here, so one is tried
        facts = find_target_at(options["scheduler"], options["target"], int(tried))
    else:
        facts = find_target(options["target"], cores if tried else 0)
    return Workplace(facts=facts, scheduler=options["scheduler"], cores=cores, load=load)
