"""Adaptors: every figure as a function of a dataset and its analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import xarray as xr

from abtune.compare.results import Analysis
from abtune.report.figures import forest, seeds
from abtune.samples.samples import extract_both
from abtune.sections.curve import curve_figures
from abtune.sections.curve.curve import searches_so_far
from abtune.sections.same_schedule import same_schedule_figure
from abtune.sections.same_schedule.same_schedule import describe_same_schedule

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_forest(_: xr.Dataset, analysis: Analysis) -> Figure:
    """Draw boosts with their intervals."""
    return forest.draw_forest(analysis)


def draw_seeds(dataset: xr.Dataset, analysis: Analysis) -> Figure:
    """Draw every seed of both configurations."""
    first, second = extract_both(dataset, analysis.baseline, analysis.candidate)
    return seeds.draw_seeds(analysis, first, second)


def draw_trials(dataset: xr.Dataset, analysis: Analysis) -> Figure:
    """Draw the best so far by number of trials."""
    best = searches_so_far(dataset.sel(config=[analysis.baseline, analysis.candidate]))
    return curve_figures.draw_trials(analysis, best[:, 0], best[:, 1])


def draw_same_schedule(dataset: xr.Dataset, analysis: Analysis) -> Figure:
    """Draw each schedule under both configurations."""
    return same_schedule_figure.draw_same_schedule(dataset, describe_same_schedule(dataset, analysis))
