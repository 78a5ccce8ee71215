"""``abtune import``: results from elsewhere, as datasets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from abtune.commands.options import Option, split_commas

if TYPE_CHECKING:
    import xarray as xr


@click.group("import", invoke_without_command=True)
@click.pass_context
def import_(ctx: click.Context) -> None:
    """Turn results from elsewhere into a dataset.

    What counts as a seed decides what can be concluded: a folder, log or file is one, for it comes from one
    search or one process. Timings within it are repeats.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def _output_options(command: Any) -> Any:
    """Add where the dataset goes."""
    for option in (
        click.option("--overwrite", is_flag=True, help="Replace FILE if it is a dataset."),
        click.option(
            "--out",
            required=True,
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="The dataset to write.",
        ),
    ):
        command = option(command)
    return command


def _run_option(what: str) -> Option:
    return click.option(
        "--run",
        "runs",
        metavar="NAME=PATH",
        multiple=True,
        help=f"{what} of configuration NAME; PATH may be a quoted glob. Repeat it: each is a seed.",
    )


@import_.command(
    epilog="""\b
Example:
  abtune import published table.md --out table.nc
  abtune analyze table.nc
"""
)
@click.argument("table", type=click.Path(path_type=Path))
@click.option(
    "--unit",
    type=click.Choice(["s", "ms", "us", "ns", "mflops", "gflops", "tflops"]),
    help="Unit of the columns that do not say theirs. [default: gflops]",
)
@_output_options
def published(table: Path, out: Path, *, unit: str | None, overwrite: bool) -> None:
    """Read a published markdown table of throughputs or times.

    TABLE is a text with one or more tables: a column Shape, a column for each configuration, such as async,
    async (TFLOPS) or async (ms), and perhaps a column with the boost in percent, which is then checked
    against the others. Text around the tables is ignored.
    """
    from abtune.ingest.published import read_published

    dataset = read_published(table, unit=unit or "")
    _save(dataset, out, overwrite=overwrite, notes=_about_units(dataset))


@import_.command(
    epilog="""\b
Examples:
  abtune import databases --run old=tuned/old-1 --run old=tuned/old-2 --run new=tuned/new-1 --out t.nc
  abtune import databases --run old='tuned/old-*' --run new='tuned/new-*' --out t.nc
"""
)
@_run_option("The work_dir of a tuning run")
@_output_options
def databases(runs: tuple[str, ...], out: Path, *, overwrite: bool) -> None:
    """Read MetaSchedule's JSON databases, a folder for each run.

    A folder holds database_workload.json and database_tuning_record.json, as ms.tune_tir writes them into
    its work_dir. Shapes are told by their workload, every trial is kept in order, and TVM is not needed. The
    winners were not measured again, so the time of each is the search's own.
    """
    from abtune.ingest.databases import read_databases
    from abtune.ingest.reading import find_sources

    dataset = read_databases(find_sources(runs))
    _save(dataset, out, overwrite=overwrite, notes=_about_searches(dataset, "folder"))


@import_.command(
    epilog="""\b
Examples:
  abtune import logs --run old='tuned/old-*' --run new='tuned/new-*' --out t.nc
  abtune import logs --run old=old.txt --run new=new.txt --shape M=512_N=256_K=640 --out t.nc
"""
)
@_run_option("A tuning log, or a folder with the logs of one run,")
@click.option("--shape", default="", metavar="LABEL", help="What the only task is. [default: its name]")
@_output_options
def logs(runs: tuple[str, ...], shape: str, out: Path, *, overwrite: bool) -> None:
    """Read MetaSchedule's tuning logs, one for each run.

    PATH is what ms.tune_tir printed, or a work_dir with its logs, which also have every trial. The winners
    were not measured again, so the time of each is the search's own, as far as its digits were printed.
    """
    from abtune.ingest.logs import read_logs
    from abtune.ingest.reading import find_sources

    dataset = read_logs(find_sources(runs), shape=shape)
    _save(dataset, out, overwrite=overwrite, notes=_about_searches(dataset, "log"))


@import_.command(
    epilog="""\b
Examples:
  abtune import timings times.csv --out t.nc                       columns shape, config, seed, time_us
  abtune import timings --run old='old-*.json' --run new='new-*.json' --out t.nc   a file is a process
  abtune import timings results.txt --shape faster-rcnn --out t.nc names in it are configurations
"""
)
@click.argument("files", nargs=-1)
@_run_option("A file of timings")
@click.option("--shape", default="", metavar="LABEL", help="What was timed, if the files do not say.")
@click.option("--unit", type=click.Choice(["s", "ms", "us", "ns"]), help="Unit of the times in a table.")
@click.option(
    "--columns",
    metavar="FIELD=NAME,...",
    multiple=True,
    callback=split_commas,
    help="What columns of a table are named: shape, config, seed, round, repeat, time, unit.",
)
@click.option(
    "--seed-is",
    type=click.Choice(["file", "timing"]),
    default="file",
    show_default=True,
    help="What counts as a seed; a timing only where each was a process (hyperfine).",
)
@_output_options
def timings(
    files: tuple[str, ...], runs: tuple[str, ...], out: Path, *, overwrite: bool, **options: Any
) -> None:
    """Read repeated timings: CSV, JSON of benchmark runners, results that TVM printed.

    Each of the FILES is a seed, the timings in it are repeats. CSV has a line for each timing, with columns
    shape, config, perhaps seed and round, and time_s, time_ms, time_us or time_ns. JSON is that of
    pytest-benchmark, Google Benchmark or hyperfine. Text has ProfileResult(...) or BenchmarkResult(...), each
    below a title. Where a file gives one name to each timing, --run says that it is a shape, and of which
    configuration the file is; --shape says that it is a configuration, and of what.
    """
    from abtune.ingest.reading import find_files
    from abtune.ingest.timings import Asked, read_timings

    imported = read_timings(
        find_files(files, runs),
        Asked(
            shape=options["shape"],
            unit=options["unit"] or "",
            columns=_columns(options["columns"]),
            each_a_seed=options["seed_is"] == "timing",
        ),
    )
    _save(imported.dataset, out, overwrite=overwrite, notes=imported.notes)


def _columns(entries: Sequence[str]) -> dict[str, str]:
    from abtune.errors import InputError, unknown_name
    from abtune.ingest.timing_csv import FIELDS

    columns: dict[str, str] = {}
    for entry in entries:
        field, sign, name = (part.strip() for part in entry.partition("="))
        if not (sign and name):
            raise InputError(f"--columns {entry!r} is not FIELD=NAME, such as time=elapsed_ms")
        if field not in FIELDS:
            raise unknown_name("field", field, FIELDS)
        if columns.setdefault(field, name) != name:
            raise InputError(f"--columns has {field} twice, {columns[field]} and {name}; keep one of them")
    return columns


def _about_units(dataset: xr.Dataset) -> list[str]:
    """Say what was assumed of numbers without a unit."""
    if "assumed_unit" not in dataset.attrs:
        return []
    return ["numbers without a unit were read as GFLOPS, of which more is better; for times: --unit ms"]


def _about_searches(dataset: xr.Dataset, what: str) -> list[str]:
    """Say what was taken for a seed, what its times are, and where runs are not alike."""
    from abtune.ingest.searches import SEARCH_TIMES
    from abtune.schema import RunStatus, TrialStatus

    status = dataset["run_status"].values
    made = (status != RunStatus.MISSING).any(axis=0).sum(axis=1).tolist()
    failed = int((status == RunStatus.FAILED).sum())
    counts = ", ".join(
        f"{count} of {name}" for count, name in zip(made, dataset["config"].values.tolist(), strict=True)
    )
    notes = [f"taken for a seed: each {what}; {counts}" + (f"; {failed} failed" if failed else "")]
    if "trial_status" in dataset:
        trials = (dataset["trial_status"].values != TrialStatus.NOT_RUN).sum(axis=-1)
        low, high = trials[trials > 0].min(initial=trials.max()), trials.max()
        if low < high:
            notes.append(f"runs have {low} to {high} trials; fewer trials find slower winners")
    if dataset.attrs.get("targets", 1) > 1:
        notes.append("runs were tuned for different targets")
    return [*notes, SEARCH_TIMES]


def _save(dataset: xr.Dataset, out: Path, *, overwrite: bool, notes: Sequence[str]) -> None:
    from abtune.commands.output import emit
    from abtune.datasets import place_for, save_dataset
    from abtune.errors import StoreError
    from abtune.files import is_netcdf
    from abtune.report.labels import printable

    place = place_for(out)
    if place.exists() and not overwrite:
        raise StoreError(f"{out} exists; give another name, or --overwrite")
    if place.exists() and place.suffix.lower() != ".nc" and not is_netcdf(place):  # such as what was read
        raise StoreError(f"{out} is not a dataset, and --overwrite replaces nothing else; give another name")
    save_dataset(dataset, out)
    shapes = dataset.sizes["shape"]
    names = ", ".join(map(str, dataset["config"].values))
    lines = [f"{out}: {shapes} shape{'s' * (shapes != 1)}, configurations {names}", *notes]
    emit("".join(f"{printable(line)}\n" for line in lines))
