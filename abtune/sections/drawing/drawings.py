"""Adaptors: every figure as a function of a dataset and its analysis."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import xarray as xr

from abtune.compare.compare import analyze
from abtune.compare.results import Analysis
from abtune.dataset.schema import labels_of
from abtune.errors import InputError
from abtune.report.figures import forest, seeds
from abtune.samples import extract_both
from abtune.sections.change import agreement_figure
from abtune.sections.change.change import compare_datasets
from abtune.sections.curve import curve_figures
from abtune.sections.curve.curve import boost_curve, searches_so_far
from abtune.sections.power import power_page
from abtune.sections.power.planning import power

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_forest(_: xr.Dataset, analysis: Analysis, beside: xr.Dataset | None = None) -> Figure:
    """Draw boosts with their intervals, and the boosts of another dataset as crosses."""
    if beside is None:
        return forest.draw_forest(analysis)
    boosts = {row.shape: row.boost for row in _same_shapes(beside, analysis).comparisons}
    return forest.draw_forest(analysis, boosts, _name(beside, "the other dataset"))


def draw_agreement(dataset: xr.Dataset, analysis: Analysis, beside: xr.Dataset) -> Figure:
    """Draw the boosts of two datasets against each other."""
    other = _same_shapes(beside, analysis)
    change = None
    # Without any interval in one of them, no change can be tested; boosts can still be drawn.
    if all(any(not math.isnan(row.boost_low) for row in one.comparisons) for one in (analysis, other)):
        change = compare_datasets(
            dataset,
            beside,
            baseline=analysis.baseline,
            candidate=analysis.candidate,
            level=analysis.level,
            tolerance=analysis.settings.tolerance,
        )
    return agreement_figure.draw_agreement(analysis, other, change, (_name(dataset, "A"), _name(beside, "B")))


def draw_power(dataset: xr.Dataset, analysis: Analysis) -> Figure:
    """Draw the power of more or fewer seeds with the noise of the dataset, and their cost."""
    return power_page.draw_power(
        power(dataset, baseline=analysis.baseline, candidate=analysis.candidate, level=analysis.level)
    )


def draw_curve(dataset: xr.Dataset, analysis: Analysis) -> Figure:
    """Draw the boost by number of trials."""
    return curve_figures.draw_curve(boost_curve(dataset, analysis), analysis)


def draw_seeds(dataset: xr.Dataset, analysis: Analysis) -> Figure:
    """Draw every seed of both configurations."""
    first, second = extract_both(dataset, analysis.baseline, analysis.candidate)
    return seeds.draw_seeds(analysis, first, second)


def draw_trials(dataset: xr.Dataset, analysis: Analysis) -> Figure:
    """Draw the best so far by number of trials."""
    best = searches_so_far(dataset.sel(config=[analysis.baseline, analysis.candidate]))
    return curve_figures.draw_trials(analysis, best[:, 0], best[:, 1])


def _name(dataset: xr.Dataset, unknown: str) -> str:
    """Return the name of the file that a dataset was read from."""
    return Path(str(dataset.encoding.get("source") or unknown)).stem


def _same_shapes(dataset: xr.Dataset, analysis: Analysis) -> Analysis:
    """Judge the shapes of another dataset that an analysis has."""
    wanted = {row.shape for row in analysis.comparisons}
    both = [label for label in labels_of(dataset, "shape") if label in wanted]
    if not both:
        raise InputError(f"{_name(dataset, 'the other dataset')}: it has none of the shapes that are drawn")
    part = dataset.sel(shape=both)
    same = ("baseline", "candidate", "level", "estimand")
    return analyze(part, **{name: getattr(analysis.settings, name) for name in same})
