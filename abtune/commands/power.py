"""``abtune power`` and ``abtune calibrate``: what a number of seeds finds, and how often the method errs."""

from __future__ import annotations

from typing import Any

import click

from abtune.commands.common.options import (
    DEFAULT_DATASET,
    boosts_option,
    ci_option,
    configuration_options,
    dataset_argument,
    percent_option,
    percentage,
    rng_seed_option,
)
from abtune.commands.common.output import Destination, default_dataset, report_options
from abtune.commands.common.section_options import choice_options
from abtune.errors import InputError


@click.command(
    epilog="""\b
Examples:
  abtune power                             with the noise of the abtune.nc that is here
  abtune power h200-pilot --shapes 29      its noise, for a sweep over 29 shapes
  abtune power --cv 3 --boost 2            with a noise of 3%, for a boost of 2%
  abtune power --cv 15 --correlation 0.7   pairs, such as searches that exchange schedules
"""
)
@dataset_argument
@click.option(
    "--cv",
    type=percentage(0, 200, example="10", least=1),
    help="Plan with this noise between seeds instead of a dataset's: coefficient of variation in percent.",
)
@click.option(
    "--correlation",
    type=click.FloatRange(0, 1, max_open=True),
    metavar="R",
    help="Plan pairs: the correlation of their two runs, such as 0.7.",
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
    help="Seeds per configuration whose power is shown. Repeatable. [default: 5, 7, 10, 15, 20, 30, 50, 100]",
)
@click.option(
    "--power",
    "target",
    type=percentage(1, 100, example="80"),
    default="80",
    show_default=True,
    help="Chance to find a boost that is there.",
)
@ci_option("Confidence of the analysis; tests use level 1 - confidence.")
@report_options
def power(dataset: str | None, *, destination: Destination, **goal: Any) -> None:
    """Say how many seeds it takes to find a boost.

    DATASET is a netCDF file or the name of a bundled dataset. Its noise between seeds is pooled over the
    shapes. --cv gives a noise instead. Without either, abtune.nc in this folder is read.
    """
    import abtune
    from abtune.compare.settings import candidates_judged
    from abtune.report.page import Section
    from abtune.sections.power.power_page import power_page
    from abtune.sections.power.seed_plan import BOOSTS, SEEDS

    configs = goal["baseline"], goal["candidate"]
    if goal["cv"] is not None and (dataset or any(configs)):
        raise InputError("--cv is instead of a dataset; give one of them")
    destination.check([dataset or DEFAULT_DATASET])
    name = dataset or (default_dataset() if goal["cv"] is None else "")
    pilot = abtune.open_dataset(name) if name else None
    if pilot is not None:
        goal["of_candidates"] = candidates_judged(pilot, goal["candidate"])
    goal |= {"boosts": goal["boosts"] or BOOSTS, "seeds": goal["seeds"] or SEEDS}
    plan = abtune.power(pilot, **goal)
    source = f"pooled over the shapes of {name}" if name else "as given"
    destination.write(Section(name="", page=power_page(plan, source), result=plan))


@click.command(
    epilog="""\b
Examples:
  abtune calibrate                       the abtune.nc that is here
  abtune calibrate h200-pilot --boost 3  power at a true boost of 3%
  abtune calibrate --method welch        what another interval would do
"""
)
@dataset_argument
@configuration_options()
@boosts_option("True boost at which to measure power, in percent. Repeatable. [default: 5, 10, 20]")
@click.option(
    "--replications",
    type=click.IntRange(100, 100_000),
    help="Simulated sweeps for each boost. [default: 500; 200 with max-t, which is slow]",
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

    DATASET is a netCDF file or the name of a bundled dataset; without it, abtune.nc in this folder is read.
    Sweeps are simulated with its noise, and judged as abtune analyze does with the same options.
    """
    import abtune
    from abtune.compare.settings import candidates_judged
    from abtune.report.page import Section
    from abtune.sections.calibration import BOOSTS, calibration_page

    source = dataset or default_dataset()
    destination.check([source])
    opened = abtune.open_dataset(source)
    how["of_candidates"] = candidates_judged(opened, how["candidate"])
    calibration = abtune.calibrate(opened, boosts=boosts or BOOSTS, replications=replications, **how)
    destination.write(Section(name="", page=calibration_page(calibration), result=calibration))
