"""``abtune datasets`` and ``abtune merge``: the datasets that there are, and one made of several."""

from __future__ import annotations

from pathlib import Path

import click

from abtune.commands.common.options import dataset_names, open_several
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
            ["datasets"],
            nargs=-1,
            required=True,
            metavar="DATASET DATASET...",
            shell_complete=dataset_names,
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
    shape, configuration and seed, and all must agree about what was measured. If two sweeps have the same
    seeds but another --rng-seed, those of the second get new numbers. Configurations keep their order. The
    first one is the usual baseline.
    """
    from abtune.dataset.merge import about_new_seeds, left_out, merge_datasets, mixed_shapes
    from abtune.errors import InputError
    from abtune.files import same_file
    from abtune.text import count

    if any(same_file(Path(name), out) for name in datasets):
        raise InputError(f"{out} is one of the datasets to merge; give another --out")
    named = open_several(datasets)
    merged = merge_datasets(named)
    notes = [*about_new_seeds(named)]
    if names := left_out(named):
        notes.append(f"variables left out: {', '.join(names)}")
    if mixed := mixed_shapes(named):
        notes.append(
            f"{count(len(mixed), 'shape')} with configurations from different files: what changed between "
            "their measurements counts as a difference between configurations"
        )
    save_new(merged, out, overwrite=overwrite, notes=notes)
