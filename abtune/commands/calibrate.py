"""``abtune calibrate``: measure the error rates of the method on a dataset's own noise."""

from __future__ import annotations

from typing import Any

import click

from abtune.commands.common.options import (
    boosts_option,
    ci_option,
    configuration_options,
    dataset_argument,
    percent_option,
    rng_seed_option,
)
from abtune.commands.common.pages import Destination, default_dataset, report_options
from abtune.commands.common.section_options import choice_options


@click.command(
    epilog="""\b
Examples:
  abtune calibrate                       the abtune.nc that is here
  abtune calibrate h200-pilot --boost 3  power at a true boost of 3%
  abtune calibrate --method percentile   what another interval would do
"""
)
@dataset_argument
@configuration_options()
@boosts_option("True boost at which to measure power, in percent. Repeatable. [default: 5, 10, 20]")
@click.option(
    "--replications",
    type=click.IntRange(100, 100_000),
    help="Simulated sweeps for each boost. [default: 2000; 200 where a method takes long]",
)
@ci_option("Confidence of the analysis.")
@percent_option("--margin", "2", "The smallest boost that matters.")
@rng_seed_option("Seed of the simulation. The same seed gives the same numbers.")
@report_options
@choice_options
def calibrate(
    dataset: str | None,
    *,
    boosts: tuple[float, ...],
    replications: int | None,
    destination: Destination,
    **how: Any,
) -> None:
    """Measure false alarms, coverage and power on data like these.

    Sweeps are simulated with the noise of DATASET, a netCDF file or the name of a bundled dataset (abtune.nc
    in this folder without it), and judged as abtune analyze does with the same options.
    """
    import abtune
    from abtune.compare.settings import candidates_judged
    from abtune.report.page import Section
    from abtune.sections.calibration.calibration import BOOSTS, calibration_page

    source = dataset or default_dataset()
    destination.check([source])
    opened = abtune.open_dataset(source)
    how["of_candidates"] = candidates_judged(opened, how["candidate"])
    found = abtune.calibrate(opened, boosts=boosts or BOOSTS, replications=replications, **how)
    destination.write(Section(name="", page=calibration_page(found), result=found))
