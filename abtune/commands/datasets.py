"""``abtune datasets``: what there is to analyze without a sweep."""

from __future__ import annotations

import click


@click.command()
def datasets() -> None:
    """List the bundled datasets.

    Each name can be given to abtune analyze in place of a file. data/README.md in the repository says where
    each dataset came from and how to make it again.
    """
    from abtune.commands.common.output import emit
    from abtune.dataset.netcdf import BUNDLED

    width = max(map(len, BUNDLED))
    emit("".join(f"{name:<{width}}  {description}\n" for name, description in BUNDLED.items()))
