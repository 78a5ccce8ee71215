"""``abtune import``, ``merge`` and ``datasets``: imported datasets, merged ones, and the bundled ones."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from abtune.commands.common.options import WholeSummaries, dataset_names, open_several
from abtune.commands.common.output import emit, output_options, save_new
from abtune.errors import InputError
from abtune.files import same_file
from abtune.text import import_command

if TYPE_CHECKING:
    from abtune.ingest.importers import Importer, Option
    from abtune.ingest.sources import Source


@click.command()
def datasets() -> None:
    """List the bundled datasets.

    Each name can be given to abtune analyze in place of a file. data/README.md in the repository says where
    each dataset came from and how to make it again.
    """
    from abtune.dataset.netcdf import BUNDLED

    formatter = click.HelpFormatter(width=min(shutil.get_terminal_size((100, 0)).columns, 100))
    formatter.write_dl([*BUNDLED.items()])
    emit(formatter.getvalue())


@click.command(
    params=[
        click.Argument(
            ["datasets"], nargs=-1, required=True, metavar="DATASET DATASET...", shell_complete=dataset_names
        ),
        *output_options(),
    ],
    epilog="""\b
Example:
  abtune merge first-shapes.nc more-shapes.nc --out all.nc
""",
)
def merge(datasets: tuple[str, ...], out: Path, *, overwrite: bool) -> None:
    """Put the runs of several datasets into one.

    The result has all their shapes, configurations and seeds. All must agree about what was measured, and
    no two may have the same run: one shape, configuration and seed. Seeds of a sweep with another
    --rng-seed get new numbers. Configurations keep their order. The first one is the default baseline.
    """
    from abtune.dataset.merge import about_new_seeds, left_out, merge_datasets
    from abtune.dataset.provenance import caveats_of

    if any(same_file(Path(name), out) for name in datasets):
        raise InputError(f"{out} is one of the datasets to merge; give another --out")
    named = open_several(datasets)
    merged = merge_datasets(named)
    notes = [*about_new_seeds(named)]
    if names := left_out(named):
        notes.append(f"variables left out: {', '.join(names)}")
    notes += dict.fromkeys(caveat.says for caveat in caveats_of(merged.attrs))
    save_new(merged, out, overwrite=overwrite, notes=notes)


# What a context keeps about the importer that was found by content.
_FOUND = "abtune.found"


class _Importers(WholeSummaries):
    """A group whose subcommands are the importers; without the name of one, it is found by content."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        from abtune.ingest.importers import importer_names

        return list(importer_names())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        from abtune.ingest.importers import importer_named

        return _command(importer_named(cmd_name))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        names = self.list_commands(ctx)
        if args and args[0] not in names and not ctx.resilient_parsing:
            args = ["--help"] if {"-h", "--help"} & set(args) else [_find(ctx, args), *args]
        return super().parse_args(ctx, args)


@click.group(
    "import",
    cls=_Importers,
    invoke_without_command=True,
    subcommand_metavar="[IMPORTER] FILE...",
    epilog="""\b
Examples:
  abtune import table.md --unit ms --out table.nc             the importer is found by content
  abtune import published table.md --unit ms --out table.nc   the importer is named
  abtune import runs.csv --columns config=build --shape saxpy --seed-is timing --out runs.nc
""",
)
@click.pass_context
def import_(ctx: click.Context) -> None:
    """Turn results from elsewhere into a dataset.

    What counts as a seed decides what can be concluded. A folder, log or file is one seed, because it comes
    from one search or one process. Timings within it are repeats. Each importer has options of its own, such
    as --unit: abtune import timings --help.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def _command(importer: Importer) -> click.Command:
    from abtune.ingest.importers import Inputs

    # Where runs have to be named, files are refused with the command to type.
    shown = "" if importer.inputs is Inputs.RUNS else "[FILES]..."
    inputs: list[click.Parameter] = [click.Argument(["files"], nargs=-1, metavar=shown)]
    inputs += _by_name(importer.run_is) if importer.inputs is not Inputs.TABLES else []
    examples = importer.examples.strip("\n")
    plural = "s" * (examples.count("\n") > 0)
    return click.Command(
        importer.name,
        params=[*inputs, *map(_option, importer.options), *output_options()],
        callback=partial(_import, importer),
        help=importer.summary,
        epilog=f"\b\nExample{plural}:\n{examples}\n" if examples else None,
    )


def _by_name(run_is: str) -> list[click.Parameter]:
    return [
        click.Option(
            ["--run", "runs"],
            metavar="NAME=PATH",
            multiple=True,
            help=f"{run_is} of configuration NAME; PATH may be a quoted glob. Repeat it: each is a seed.",
        ),
        click.Option(
            ["--pattern"],
            default="",
            metavar="PATH",
            help="A quoted path with {config}, {shape} and {seed} where paths differ, and * or ? elsewhere.",
        ),
    ]


def _option(option: Option) -> click.Option:
    return click.Option(
        [f"--{option.name}", _destination(option)],
        type=click.Choice(option.choices) if option.choices else None,
        metavar=None if option.choices else option.metavar,
        multiple=option.repeated,
        default=None if option.repeated else option.default or None,
        show_default=bool(option.default),
        help=option.help,
    )


def _destination(option: Option) -> str:
    """Return where click keeps the value, apart from the common options."""
    return f"own_{option.name.replace('-', '_')}"


def _import(importer: Importer, out: Path, *, overwrite: bool, **given: Any) -> None:
    from abtune.dataset.schema import labels_of
    from abtune.ingest.importers import Inputs, run_importer
    from abtune.ingest.sources import about_baseline

    files = given["files"]
    if files and importer.inputs is Inputs.RUNS:
        # Who had to name the importer has to name it again.
        named = "" if _FOUND in click.get_current_context().meta else importer.name
        command = import_command(Path(files[0]), run=True, importer=named)
        raise InputError(f"{files[0]}: {importer.kind} does not say its configuration: {command}")
    pattern = given.get("pattern", "")
    if pattern and "{config}" not in pattern and importer.inputs is Inputs.RUNS:
        remedy = "write {config} where --pattern has it, or give --run NAME=PATH"
        raise InputError(f"{importer.kind} does not say its configuration; {remedy}")
    sources = _sources(files, given.get("runs", ()), pattern)
    values = {option.name: given[_destination(option)] or "" for option in importer.options}
    values |= {name: ",".join(value) for name, value in values.items() if isinstance(value, tuple)}
    imported = run_importer(importer, sources, values)
    notes = [*click.get_current_context().meta.get(_FOUND, ()), *imported.notes]
    if not (given.get("runs") or values.get("configs")):  # else their order says it
        notes += about_baseline(*(labels_of(imported.dataset, axis) for axis in ("config", "shape")))
    save_new(imported.dataset, out, overwrite=overwrite, notes=notes)


def _sources(files: Sequence[str], runs: Sequence[str], pattern: str) -> tuple[Source, ...]:
    from abtune.ingest.sources import find_files, find_matching

    if pattern and (files or runs):
        raise InputError("--pattern names all files; leave out --run and the files beside it")
    return find_matching(pattern) if pattern else find_files(files, runs)


def _find(ctx: click.Context, args: Sequence[str]) -> str:
    """Return the name of the importer that knows the content of the files among these arguments."""
    from abtune.ingest.importers import Inputs, all_importers, recognise

    options = {option.name: option for importer in all_importers() for option in importer.options}
    anything = [click.Option([f"--{name}", _destination(option)]) for name, option in options.items()]
    files = click.Argument(["files"], nargs=-1)
    command = click.Command("import", params=[files, *_by_name("A file"), *anything, *output_options()])
    with command.make_context("import", list(args), parent=ctx.parent) as inner:
        given = {name for name, option in options.items() if inner.params[_destination(option)]}
        sources = _sources(*(inner.params[name] for name in ("files", "runs", "pattern")))
        importer = recognise(sources, given)
        if importer.inputs is Inputs.TABLES and (inner.params["runs"] or inner.params["pattern"]):
            raise InputError(
                f"{importer.kind} names its configurations; give files without --run and --pattern"
            )
    ctx.meta[_FOUND] = (f"read as {importer.kind}: abtune import {importer.name}",)
    return importer.name
