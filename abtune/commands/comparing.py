"""``abtune compare``: whether the boost changed between two datasets."""

from __future__ import annotations

from typing import Any

import click

from abtune.commands.common.options import (
    DatasetSource,
    ci_option,
    configuration_options,
    tolerance_option,
)
from abtune.commands.common.pages import Destination, report_options


@click.command(
    epilog="""\b
Examples:
  abtune compare h200-tvm14009 h200-deep   the same shapes, with longer searches
  abtune compare may.nc june.nc --config mainline   latencies of one configuration
"""
)
@click.argument("first", metavar="A", type=DatasetSource())
@click.argument("second", metavar="B", type=DatasetSource())
@configuration_options()
@click.option("--config", metavar="NAME", help="Compare the latencies of this configuration instead.")
@tolerance_option("The largest change that still counts as unchanged.")
@ci_option("Confidence of the intervals; tests use level 1 - confidence.")
@report_options
def compare(first: str, second: str, *, destination: Destination, **how: Any) -> None:
    """Say whether the boost changed between two datasets.

    A and B are netCDF files or names of bundled datasets, made with two versions of TVM, two devices, or on
    two days. Each common shape gets the ratio of its two boosts with an interval. Datasets with a single
    configuration are compared by its latencies.
    """
    from dataclasses import replace
    from pathlib import Path

    import abtune
    from abtune.dataset.provenance import summary
    from abtune.errors import InputError
    from abtune.files import same_file
    from abtune.sections.change.change_page import change_section

    destination.check([first, second])
    if first == second or same_file(Path(first), Path(second)):
        raise InputError(f"{first} and {second} are the same dataset; name two")
    a, b = abtune.open_dataset(first), abtune.open_dataset(second)
    change = abtune.compare_datasets(a, b, **how)
    named = replace(change, datasets=(Path(first).name, Path(second).name))
    destination.write(change_section(named, (summary(a), summary(b))))
