"""``abtune compare`` and ``abtune history``: what changed between two datasets, or over many."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from abtune.commands.common.options import ci_option, configuration_options, dataset_names, percent_option
from abtune.commands.common.output import Destination, remark, report_options
from abtune.errors import AbtuneError, InputError
from abtune.text import shell_path

if TYPE_CHECKING:
    import xarray as xr


def _two(_: click.Context, __: click.Parameter, names: Sequence[str]) -> Sequence[str]:
    """Return the two datasets; say what to do with any other number."""
    if len(names) != 2:
        more = f"for more of them: abtune history {' '.join(map(shell_path, names))}"
        remedy = more if names[1:] else "name the other one, too"
        raise InputError(f"abtune compare takes two datasets, not {len(names)}; {remedy}")
    return names


@click.command(
    epilog="""\b
Examples:
  abtune compare h200-tvm14009 h200-deep               the same shapes, with longer searches
  abtune compare h200-tvm14009 h100-tvm14009-winners   the same kernels, on another card
  abtune compare may.nc june.nc --config mainline      latencies of one configuration
"""
)
@click.argument(
    "datasets", metavar="A B", nargs=-1, required=True, shell_complete=dataset_names, callback=_two
)
@configuration_options()
@click.option("--config", metavar="NAME", help="Compare the latencies of this configuration instead.")
@percent_option("--tolerance", "5", "The largest change that still counts as unchanged.")
@ci_option()
@report_options
def compare(datasets: tuple[str, str], *, destination: Destination, **how: Any) -> None:
    """Say whether the boost changed between two datasets.

    A and B are netCDF files or names of bundled datasets, such as of two versions of TVM, two devices, or two
    days. Each common shape gets the ratio of its two boosts with an interval. If the datasets have only one
    configuration, its latencies are compared. If B has the winners of A, timed again by abtune measure, each
    winner is compared with itself. Then the noise of the searches cancels.
    """
    from dataclasses import replace

    import abtune
    from abtune.dataset.provenance import summary
    from abtune.ingest.sources import check_once
    from abtune.sections.change.change_page import change_section

    check_once(map(Path, datasets))
    destination.check(datasets)
    a, b = map(abtune.open_dataset, datasets)
    change = abtune.compare_datasets(a, b, **how)
    first, second = (Path(name).name for name in datasets)
    named = replace(change, datasets=datasets if first == second else (first, second))
    destination.write(change_section(named, (summary(a), summary(b))))


@click.command(
    epilog="""\b
Examples:
  abtune history nightly/                  all datasets of a folder, by date
  abtune history h200-tvm14009 h200-pilot h200-deep --out history.html
"""
)
@click.argument(
    "datasets", metavar="FILE-OR-FOLDER...", nargs=-1, required=True, shell_complete=dataset_names
)
@configuration_options()
@percent_option("--tolerance", "5", "The largest change from first to last that still counts as unchanged.")
@ci_option()
@report_options
def history(datasets: tuple[str, ...], *, destination: Destination, **how: Any) -> None:
    """Show the boosts of each shape over many datasets.

    Each argument is a netCDF file, the name of a bundled dataset, or a folder, whose .nc files are read.
    The datasets are shown in the order of their dates. Marks show where a boost changed.
    """
    import abtune
    from abtune.ingest.sources import check_once
    from abtune.sections.change.change_page import history_section

    check_once(map(Path, datasets))
    opened = _opened(datasets)
    destination.check(opened)
    # Short names fit a table, but only if they tell the datasets apart.
    short = [Path(name).stem if name.endswith(".nc") else name for name in opened]
    named = dict(zip(short, opened.values(), strict=True)) if len(set(short)) == len(short) else opened
    destination.write(history_section(abtune.history(named, **how)))


def _opened(names: Iterable[str]) -> dict[str, xr.Dataset]:
    """Return the datasets by path or name; say which files of folders are skipped, and why."""
    import abtune
    from abtune.ingest.sources import natural
    from abtune.sections.change.history import do_not_fit

    opened: dict[str, xr.Dataset] = {}
    in_folders: dict[str, xr.Dataset] = {}
    for name in names:
        if not Path(name).is_dir():
            opened[name] = abtune.open_dataset(name)
            continue
        paths = sorted(Path(name).glob("*.nc"), key=lambda path: natural(path.name))
        if not paths:
            may_read = os.access(name, os.R_OK | os.X_OK)
            reason = "no file in it ends with .nc" if may_read else "no permission to read it"
            remark(f"skipped: {name}: {reason}")
        for path in paths:
            try:
                # Only files of folders are skipped. One that is named itself ends the command.
                opened[str(path)] = in_folders[str(path)] = abtune.open_dataset(path)
            except AbtuneError as error:
                remark(f"skipped: {error}")
    reasons = do_not_fit(in_folders)
    for name, reason in reasons.items():
        remark(f"skipped: {name}: {reason}")
    return {name: dataset for name, dataset in opened.items() if name not in reasons}
