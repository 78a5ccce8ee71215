"""``abtune import``: results from elsewhere, as datasets."""

from __future__ import annotations

from pathlib import Path

import click


@click.group("import", invoke_without_command=True)
@click.pass_context
def import_(ctx: click.Context) -> None:
    """Turn results from elsewhere into a dataset."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@import_.command(
    epilog="""\b
Example:
  abtune import published table.md --out table.nc
  abtune analyze table.nc
"""
)
@click.argument("table", type=click.Path(path_type=Path))
@click.option(
    "--out", required=True, metavar="FILE", type=click.Path(path_type=Path), help="The dataset to write."
)
@click.option("--overwrite", is_flag=True, help="Replace FILE if it exists.")
def published(table: Path, out: Path, *, overwrite: bool) -> None:
    """Read a published markdown table of throughputs.

    TABLE is a text with one or more tables: a column Shape, a column of GFLOPS for each configuration, and
    perhaps a column with the boost in percent, which is then checked against the others. Text around the
    tables is ignored.
    """
    from abtune.commands.output import emit
    from abtune.datasets import save_dataset
    from abtune.errors import StoreError
    from abtune.ingest.published import read_published

    dataset = read_published(table)
    if out.exists() and not overwrite:
        raise StoreError(f"{out} exists; give another name, or --overwrite")
    save_dataset(dataset, out)
    shapes = dataset.sizes["shape"]
    names = ", ".join(map(str, dataset["config"].values))
    emit(f"{out}: {shapes} shape{'s' * (shapes != 1)}, configurations {names}\n")
