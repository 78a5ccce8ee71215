"""Figures, for users who have matplotlib; everything in them is also in a table."""

from __future__ import annotations

import importlib
import io
import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from abtune.errors import StoreError, missing_package
from abtune.report.report_files import write_bytes
from abtune.text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


INK, BAND, GREY = "#1f4e79", "#1f4e7933", "#808080"
_SETTINGS: Any = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
# Metadata without a date, so that the same figure has the same bytes.
_WITHOUT_DATE: Any = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
COLUMNS = 3
TITLE = 34
MOST = 40  # shapes that a page holds


def require_matplotlib() -> None:
    """Raise TargetError if matplotlib is not installed."""
    try:
        importlib.import_module("matplotlib")
    except ImportError:
        raise missing_package("matplotlib") from None


def new_figure(
    panels: int, width: float, height: float, *, columns: int = COLUMNS
) -> tuple[Figure, Sequence[Axes]]:
    """Return an empty figure with its panels of this size in inches, in rows of at most ``columns``."""
    require_matplotlib()
    import matplotlib as mpl
    from matplotlib.figure import Figure as NewFigure

    columns = min(panels, columns)
    rows = -(-panels // columns)
    with mpl.rc_context(_SETTINGS):
        figure = NewFigure(figsize=(width * columns, height * rows), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for spare in axes[panels:]:
        spare.set_axis_off()
    return figure, list(axes[:panels])


def extremes(boosts: Sequence[float], most: int = MOST) -> list[int]:
    """Return which shapes are drawn, the largest boost first: those with the largest and the least boosts."""
    order = sorted(range(len(boosts)), key=lambda at: -boosts[at] if boosts[at] > -1 else 1)  # NaN last
    if len(order) <= most:
        return order
    known = [at for at in order if not math.isnan(boosts[at])] or order
    return known if len(known) <= most else [*known[: most - most // 2], *known[-(most // 2) :]]


def drawn_of(shown: int, shapes: int) -> str:
    """Return words about the shapes that a figure has, for its label; empty if it leaves out none."""
    return f"{shown} of {shapes} shapes: the largest and the least boosts" if shown < shapes else ""


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure, whole or not at all; the suffix of the file chooses the format."""
    import matplotlib as mpl

    drawn, suffix = io.BytesIO(), path.suffix.lower()
    try:
        # Names may be in any script. A letter that the font lacks becomes a box, without a warning.
        with mpl.rc_context({"svg.hashsalt": "abtune"}), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph")
            figure.savefig(drawn, format=suffix[1:] or "none", dpi=150, metadata=_WITHOUT_DATE.get(suffix))
    except ValueError as error:
        raise StoreError(f"cannot write {path}: {str(error).splitlines()[0]}") from None
    write_bytes(drawn.getvalue(), path)


def plain(text: str) -> str:
    """Return a text whose dollar signs and control characters do nothing: no mathematics, no line breaks."""
    return "\n".join(printable(line) for line in text.split("\n")).replace("$", r"\$")


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Return the width of the longest line of a text, in points, for letters of this size."""
    require_matplotlib()
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    font = FontProperties(weight="bold" if bold else "normal")
    lines = [line for line in plain(text).split("\n") if line.strip()]
    return max((TextPath((0, 0), line, size=size, prop=font).get_extents().x1 for line in lines), default=0.0)
