"""``abtune power``: how many seeds it takes, and what can be found with those that there are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from abtune.commands.common.options import (
    boosts_option,
    ci_option,
    configuration_options,
    dataset_argument,
    figure_file,
    percentage,
)
from abtune.commands.common.pages import DEFAULT_DATASET, Destination, default_dataset, report_options
from abtune.errors import InputError

if TYPE_CHECKING:
    import xarray as xr


@click.command(
    epilog="""\b
Examples:
  abtune power                          with the noise of the abtune.nc that is here
  abtune power h200-pilot --shapes 29   its noise, for a sweep over 29 shapes
  abtune power --cv 3 --boost 2         with a noise of 3%, for a boost of 2%
  abtune power --cv 15 --correlation 0.7   pairs, whose searches exchange schedules
"""
)
@dataset_argument
@click.option(
    "--cv",
    type=percentage(0, 200, example="10"),
    help="Plan with this noise between seeds instead of a dataset's: coefficient of variation in percent.",
)
@click.option(
    "--correlation",
    type=click.FloatRange(0, 1, max_open=True),
    metavar="R",
    help="Plan pairs, whose searches exchange schedules: the correlation of their two runs, such as 0.7.",
)
@configuration_options()
@click.option(
    "--shapes",
    type=click.IntRange(min=1),
    metavar="N",
    help="Shapes of the sweep, for the correction and the cost. [default: those of the dataset, or 1]",
)
@boosts_option("A boost to plan for, in percent. Repeatable. [default: 1, 2, 5, 10, 20, 50]")
@click.option(
    "--seeds",
    type=click.IntRange(2, 10_000),
    multiple=True,
    metavar="N",
    help="Seeds per side to look at. Repeatable. [default: 5, 7, 10, 15, 20, 30, 50, 100]",
)
@click.option(
    "--power",
    "target",
    type=percentage(0, 100, example="80"),
    default="80",
    show_default=True,
    help="Chance to find a boost that is there.",
)
@ci_option("Confidence of the analysis; tests use level 1 - confidence.")
@click.option(
    "--figure",
    metavar="FILE",
    type=figure_file,
    help="Draw the power curves into this file (needs matplotlib).",
)
@report_options
def power(dataset: str | None, *, figure: Path | None, destination: Destination, **goal: Any) -> None:
    """Say how many seeds it takes to find a boost.

    The noise between seeds comes from DATASET, a netCDF file or the name of a bundled dataset, pooled over
    its shapes, or is given with --cv. Without either, abtune.nc in this folder is read.
    """
    import abtune
    from abtune.compare.settings import candidates_judged
    from abtune.report.page import Section
    from abtune.report.report_files import check_place
    from abtune.sections.power.planning import BOOSTS, SEEDS
    from abtune.sections.power.power_page import power_page

    configs = goal["baseline"], goal["candidate"]
    if goal["cv"] is not None and (dataset or any(configs)):
        raise InputError("--cv is instead of a dataset; give one of them")
    destination.check([dataset or DEFAULT_DATASET])
    if figure is not None:
        check_place(figure)
    name = dataset or (default_dataset() if goal["cv"] is None else "")
    pilot = abtune.open_dataset(name) if name else None
    if pilot is not None:
        goal["of_candidates"] = candidates_judged(pilot, goal["candidate"])
    goal |= {"boosts": goal["boosts"] or BOOSTS, "seeds": goal["seeds"] or SEEDS}
    plan = abtune.power(pilot, **goal)
    source = "as given" if pilot is None else _source(pilot, configs, name)
    if figure is not None:
        from abtune.report.figures.figure import save_figure
        from abtune.sections.power.power_page import draw_power

        save_figure(draw_power(plan), figure)  # which has letters of ASCII alone
    destination.write(Section(name="", page=power_page(plan, source), result=plan))


def _source(dataset: xr.Dataset, configs: tuple[str | None, str | None], name: str) -> str:
    import numpy as np

    from abtune.compare.settings import configurations
    from abtune.samples import extract_both
    from abtune.text import count

    seeds = np.maximum(*(side.n for side in extract_both(dataset, *configurations(dataset, *configs))))
    return f"pooled over {count(int(np.count_nonzero(seeds >= 2)), 'shape')} of {name}"
