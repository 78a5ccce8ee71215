"""Figures, for those who have matplotlib; everything in them is also in a table."""

from __future__ import annotations

import importlib
import io
import math
import textwrap
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from abtune.errors import InputError, StoreError
from abtune.report.files import write_bytes
from abtune.report.labels import printable
from abtune.report.numbers import plain_percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from abtune.analyse.comparison import Analysis
    from abtune.analyse.convergence import Curve, Point
    from abtune.analyse.planning import SeedPlan

INK, BAND, GREY = "#1f4e79", "#1f4e7933", "#808080"
_SETTINGS: Any = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
_COLUMNS = 3
_MARKERS = ("o", "s", "^", "D", "v", "P")
TITLE = 34


def require_matplotlib() -> None:
    """Make sure that figures can be drawn.

    Raises
    ------
    InputError
        If matplotlib is not installed.
    """
    try:
        importlib.import_module("matplotlib")
    except ImportError:
        raise InputError("figures need matplotlib: pip install matplotlib") from None


def new_figure(panels: int, width: float, height: float) -> tuple[Figure, Sequence[Axes]]:
    """Start a figure of so many panels, up to three in a row.

    Raises
    ------
    InputError
        If matplotlib is not installed.
    """
    require_matplotlib()
    import matplotlib as mpl
    from matplotlib.figure import Figure as NewFigure

    columns = min(panels, _COLUMNS)
    rows = -(-panels // columns)
    with mpl.rc_context(_SETTINGS):
        figure = NewFigure(figsize=(width * columns, height * rows), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for spare in axes[panels:]:
        spare.set_axis_off()
    return figure, list(axes[:panels])


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure in the format that the name of the file says, whole or not at all.

    Raises
    ------
    StoreError
        If the format is unknown or the file cannot be written.
    """
    import matplotlib as mpl

    drawn = io.BytesIO()
    try:
        # Names of any script: what the font lacks becomes a box, which is no news worth a line.
        with mpl.rc_context({"svg.hashsalt": "abtune"}), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph")
            figure.savefig(
                drawn, format=path.suffix[1:].lower() or "none", dpi=150, metadata=_without_date(path)
            )
    except ValueError as error:
        raise StoreError(f"cannot write {path}: {str(error).splitlines()[0]}") from None
    write_bytes(drawn.getvalue(), path)


def plain(text: str) -> str:
    """Keep dollar signs and control characters of names from acting as mathematics or as line breaks."""
    return "\n".join(printable(line) for line in text.split("\n")).replace("$", r"\$")


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Measure the longest line of a text, in points, for letters of this size.

    Raises
    ------
    InputError
        If matplotlib is not installed.
    """
    require_matplotlib()
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    font = FontProperties(weight="bold" if bold else "normal")
    lines = [line for line in plain(text).split("\n") if line.strip()]
    return max((TextPath((0, 0), line, size=size, prop=font).get_extents().x1 for line in lines), default=0.0)


def draw_curve(curve: Curve, analysis: Analysis) -> Figure:
    """Draw the boost by number of trials, with its band: these shapes, then each."""
    panels = [("these shapes", curve.overall)] if len(curve.shapes) > 1 else []
    panels += [(shape.shape, shape.points) for shape in curve.shapes]
    figure, axes = new_figure(len(panels), 3.4, 2.6)
    for axis, (name, points) in zip(axes, panels, strict=True):
        _draw_points(axis, name, points)
    boost = textwrap.wrap(printable(f"boost of {analysis.candidate} over {analysis.baseline} (%)"), TITLE)
    band = f"band: {plain_percent(analysis.level)} interval"
    for axis in axes[::_COLUMNS]:
        axis.set_ylabel(plain("\n".join([*boost, band])), fontsize=8)
    return figure


def draw_power(plan: SeedPlan) -> Figure:
    """Draw the chance to find each boost by the number of seeds."""
    figure, (axis,) = new_figure(1, 5.0, 3.4)
    from matplotlib import colormaps  # there, or the figure would not be

    seeds = [reach.seeds for reach in plan.reaches]
    for at, boost in enumerate(plan.goal.boosts):
        chances = [100 * reach.power[at] for reach in plan.reaches]
        colour = colormaps["viridis"](0.9 * at / max(len(plan.goal.boosts) - 1, 1))
        axis.plot(
            seeds,
            chances,
            color=colour,
            marker=_MARKERS[at % len(_MARKERS)],
            ms=4,
            clip_on=False,  # many chances are 0 or 100 %
            label=f"{100 * boost:.6g}%",
        )
    axis.axhline(100 * plan.goal.target, color=GREY, lw=0.8)
    axis.set_xscale("log")
    axis.minorticks_off()
    axis.set_xticks(seeds, [str(number) for number in seeds])
    axis.set_ylim(0, 101)
    axis.set_xlabel("seeds a side")
    axis.set_ylabel(f"power (%); line: the {plain_percent(plan.goal.target)} asked for")
    # Beside the curves, which may be anywhere; the largest boost on top, as its curve is.
    axis.legend(
        title="true boost",
        frameon=False,
        fontsize=8,
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        reverse=True,
    )
    return figure


def _draw_points(axis: Axes, name: str, points: Sequence[Point]) -> None:
    trials = [point.trials for point in points]
    low, high, boost = (
        [100 * getattr(point, part) for point in points] for part in ("boost_low", "boost_high", "boost")
    )
    axis.axhline(0, color=GREY, lw=0.8)
    axis.fill_between(trials, low, high, color=BAND, linewidth=0)
    axis.plot(trials, boost, color=INK, marker="o", ms=3.5)
    axis.set_xscale("log", base=2)
    crowded = len(trials) > 1 and trials[-1] < 1.7 * trials[-2]
    ticks = [*trials[:-2], trials[-1]] if crowded else trials
    axis.set_xticks(ticks, list(map(str, ticks)))
    # Early boosts are anywhere, and so are the intervals of all but the last few.
    later = [end for end in (*boost[len(boost) // 2 :], *low[-3:], *high[-3:]) if math.isfinite(end)]
    if later:
        axis.set_ylim(min(*later, 0) - 2, max(*later, 0) + 2)
    axis.set_title("\n".join(textwrap.wrap(plain(name).replace("_", " "), TITLE)), fontsize=8)
    axis.set_xlabel("trials")


def _without_date(path: Path) -> dict[str, None]:
    """Leave out the date, so that the same figure has the same bytes."""
    return {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower(), {})
