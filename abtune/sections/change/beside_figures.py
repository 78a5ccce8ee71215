"""The forest plot with the boosts of another dataset as crosses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import xarray as xr

from abtune.compare.compare import analyze
from abtune.compare.results import Analysis
from abtune.dataset.schema import labels_of
from abtune.errors import InputError
from abtune.report.figures import forest

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_forest(_: xr.Dataset, analysis: Analysis, beside: xr.Dataset | None = None) -> Figure:
    """Return the forest plot, with the boosts of another dataset as crosses."""
    if beside is None:
        return forest.draw_forest(analysis)
    name = Path(str(beside.encoding.get("source") or "the other dataset")).stem
    wanted = {row.shape for row in analysis.comparisons}
    both = [label for label in labels_of(beside, "shape") if label in wanted]
    if not both:
        raise InputError(f"{name}: it has none of the shapes that are drawn")
    same = ("baseline", "candidate", "level", "estimand")
    how = {field: getattr(analysis.settings, field) for field in same}
    boosts = {row.shape: row.boost for row in analyze(beside.sel(shape=both), **how).comparisons}
    return forest.draw_forest(analysis, boosts, name)
