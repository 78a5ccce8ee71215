"""``abtune calibrate``: measure the error rates of the method on a dataset's own noise."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from abtune.commands.choosing import choice_options
from abtune.commands.options import (
    Percentage,
    baseline_option,
    candidate_option,
    ci_option,
    margin_option,
    rng_seed_option,
)

if TYPE_CHECKING:
    from abtune.analyse.comparison import Choices

BOOSTS = (0.05, 0.1, 0.2)
_SLOW = {"bootstrap-t", "symmetric-bootstrap-t", "permutation"}


@click.command(
    epilog="""\b
Examples:
  abtune calibrate                       the abtune.nc that is here
  abtune calibrate h200-pilot --boost 3  power at a true boost of 3%
  abtune calibrate --method bca          what another interval would do
"""
)
@click.argument("dataset", required=False)
@baseline_option()
@candidate_option()
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
    help="Simulated sweeps for each boost. [default: 2000; 200 where a method takes long]",
)
@ci_option("Confidence of the analysis.")
@margin_option("The smallest boost that matters.")
@rng_seed_option("Seed of the simulation. The same seed gives the same numbers.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(("table", "markdown", "json")),
    default="table",
    show_default=True,
)
@choice_options
def calibrate(
    dataset: str | None,
    baseline: str | None,
    candidate: str | None,
    boosts: tuple[float, ...],
    replications: int | None,
    level: float,
    margin: float,
    rng_seed: int,
    format_: str,
    *,
    how: dict[str, Any],
) -> None:
    """Measure false alarms, coverage and power on data like these.

    Sweeps are simulated with the noise of DATASET, a netCDF file or the name of a bundled dataset (abtune.nc
    in this folder without it), and judged as abtune analyze does with the same options; and the seeds of each
    configuration are compared with each other, where there is nothing to find.
    """
    import abtune
    from abtune.analyse.arguments import choose_configs, choose_methods
    from abtune.analyse.calibration import calibrate as measure
    from abtune.commands.output import emit
    from abtune.commands.pages import default_dataset, page_as
    from abtune.report.calibration_page import calibration_page

    opened = abtune.open_dataset(dataset or default_dataset())
    choices = choose_methods(**how)
    found = measure(
        opened,
        choose_configs(opened, baseline, candidate),
        choices,
        level=level,
        margin=margin,
        boosts=tuple(sorted(set(boosts))) or BOOSTS,
        replications=replications or _replications(choices),
        rng_seed=rng_seed,
    )
    emit(page_as(format_, calibration_page(found), found, sys.stdout))


def _replications(choices: Choices) -> int:
    """Return how many sweeps take less than a minute or so."""
    slow = choices.method in _SLOW or choices.estimand == "median" or choices.correction == "max-t"
    return 200 if slow else 2000
