"""``abtune datasets`` and ``abtune merge``: the datasets that there are, and one made of several."""

from __future__ import annotations

from pathlib import Path

import click

from abtune.commands.common.options import DatasetSource
from abtune.commands.common.output import emit, output_options, save_new


@click.command()
def datasets() -> None:
    """List the bundled datasets.

    Each name can be given to abtune analyze in place of a file. data/README.md in the repository says where
    each dataset came from and how to make it again.
    """
    from abtune.dataset.netcdf import BUNDLED

    width = max(map(len, BUNDLED))
    emit("".join(f"{name:<{width}}  {description}\n" for name, description in BUNDLED.items()))


@click.command(
    params=[
        click.Argument(
            ["datasets"], nargs=-1, required=True, metavar="DATASET DATASET...", type=DatasetSource()
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

    The result has all their shapes, configurations and seeds. No two datasets may have a run of the same
    shape, configuration and seed, and all must agree about what was measured. Configurations stand in the
    order in which they come; the first one is the usual baseline.
    """
    import abtune
    from abtune.dataset.merge import left_out, merge_datasets, mixed_shapes
    from abtune.errors import InputError
    from abtune.files import same_file
    from abtune.ingest.sources import check_once, recorded_path
    from abtune.text import count

    if any(same_file(Path(name), out) for name in datasets):
        raise InputError(f"{out} is one of the datasets to merge; give another --out")
    check_once(map(Path, datasets))
    opened = {name: abtune.open_dataset(name) for name in datasets}
    named = {
        recorded_path(Path(name)) if Path(name).exists() else name: dataset
        for name, dataset in opened.items()
    }
    merged = merge_datasets(named)
    notes = []
    if names := left_out(named):
        notes.append(f"variables left out: {', '.join(names)}")
    if mixed := mixed_shapes(named):
        notes.append(
            f"{count(len(mixed), 'shape')} with configurations from different files: what changed between "
            "their measurements counts as a difference between configurations"
        )
    save_new(merged, out, overwrite=overwrite, notes=notes)
