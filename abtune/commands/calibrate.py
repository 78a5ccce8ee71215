"""``abtune calibrate``: measure the error rates of the method on a dataset's own noise."""

from __future__ import annotations

import sys

import click

from abtune.commands.options import Percentage

BOOSTS = (0.05, 0.1, 0.2)


@click.command(
    epilog="""\b
Examples:
  abtune calibrate                       the abtune.nc that is here
  abtune calibrate h200-pilot --boost 3  power at a true boost of 3%
"""
)
@click.argument("dataset", required=False)
@click.option("--baseline", metavar="NAME", help="Configuration to compare against. [default: the first]")
@click.option("--candidate", metavar="NAME", help="Configuration to judge. [default: the second]")
@click.option(
    "--boost",
    "boosts",
    type=Percentage(0, 1000, example="5"),
    multiple=True,
    help="True boost at which to measure power, in percent. Repeatable. [default: 5, 10, 20]",
)
@click.option(
    "--replications",
    type=click.IntRange(100, 100_000),
    default=2000,
    show_default=True,
    help="Simulated sweeps for each boost.",
)
@click.option(
    "--ci",
    "level",
    type=Percentage(50, 100, example="95"),
    default="95",
    show_default=True,
    help="Confidence of the analysis.",
)
@click.option(
    "--margin",
    type=Percentage(0, 100, example="2"),
    default="2",
    show_default=True,
    help="The smallest boost that matters.",
)
@click.option(
    "--rng-seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of the simulation. The same seed gives the same numbers.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(("table", "markdown", "json")),
    default="table",
    show_default=True,
)
def calibrate(
    dataset: str | None,
    baseline: str | None,
    candidate: str | None,
    boosts: tuple[float, ...],
    replications: int,
    level: float,
    margin: float,
    rng_seed: int,
    format_: str,
) -> None:
    """Measure false alarms, coverage and power on data like these.

    Sweeps are simulated with the noise of DATASET, a netCDF file or the name of a bundled dataset (abtune.nc
    in this folder without it), and judged as abtune analyze does; and the seeds of each configuration are
    compared with each other, where there is nothing to find.
    """
    import abtune
    from abtune.analyse.arguments import choose_configs
    from abtune.analyse.calibration import calibrate as measure
    from abtune.commands.output import emit
    from abtune.commands.pages import default_dataset, page_as
    from abtune.report.calibration_page import calibration_page

    opened = abtune.open_dataset(dataset or default_dataset())
    found = measure(
        opened,
        choose_configs(opened, baseline, candidate),
        level=level,
        margin=margin,
        boosts=tuple(sorted(set(boosts))) or BOOSTS,
        replications=replications,
        rng_seed=rng_seed,
    )
    emit(page_as(format_, calibration_page(found), found, sys.stdout))
