"""A dataset that a command makes: its options, and how it is written and announced."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    import xarray as xr


def output_options() -> list[click.Parameter]:
    """Return ``--out`` and ``--overwrite``, which say where a dataset goes."""
    return [
        click.Option(
            ["--out"],
            required=True,
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="The dataset to write.",
        ),
        click.Option(["--overwrite"], is_flag=True, help="Replace FILE if it is a dataset."),
    ]


def save_new(dataset: xr.Dataset, out: Path, *, overwrite: bool, notes: Iterable[str]) -> None:
    """Write a dataset to a place that is free or may be overwritten, and print what it holds."""
    from abtune.commands.common.output import emit
    from abtune.dataset.netcdf import place_for, save_dataset
    from abtune.errors import StoreError
    from abtune.files import is_netcdf
    from abtune.text import count, printable

    target = place_for(out)
    if target.exists() and not overwrite:
        raise StoreError(f"{out} exists; give another name, or --overwrite")
    if target.exists() and target.suffix.lower() != ".nc" and not is_netcdf(target):  # such as what was read
        raise StoreError(f"{out} is not a dataset, and --overwrite replaces nothing else; give another name")
    save_dataset(dataset, out)
    names = ", ".join(map(str, dataset["config"].values))
    lines = [f"{out}: {count(dataset.sizes['shape'], 'shape')}, configurations {names}", *notes]
    emit("".join(f"{printable(line)}\n" for line in lines))
