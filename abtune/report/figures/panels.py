"""What figures share: panels, titles, ticks, and files. Everything in a figure is also in a table.

Only these modules and the figures of sections use matplotlib, which not every user has.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import itertools
import logging
import math
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from abtune.errors import StoreError, TargetError, missing_package
from abtune.files import write_bytes
from abtune.report.text.labels import fit_labels
from abtune.text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GREY, QUIET = "#808080", "#555555"
# Okabe and Ito's blue and vermilion: baseline, candidate. They differ in lightness too.
SIDE_COLOURS = ("#0072b2", "#d55e00")
LETTERS, SIZE = 8.0, 7.5  # points of letters, and of small ones
_LETTER = 4.4  # points of a letter's width, in a long text
# How words look that stand in place of data: on white, as a line may cross it.
_WHITE = {"facecolor": "white", "edgecolor": "none", "pad": 1}
NOTE: Any = {"ha": "center", "va": "center", "color": GREY, "fontsize": SIZE, "bbox": _WHITE}
_SETTINGS: Any = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
# Metadata without a date, so that the same figure has the same bytes.
_WITHOUT_DATE: Any = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
COLUMNS = 3  # panels in a row
TITLE = 34  # letters in a line of a title
MOST = 40  # shapes that a page holds
# Fonts of Linux, Windows and macOS with letters that matplotlib's own font lacks.
_FONTS = (
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "WenQuanYi Zen Hei", "Droid Sans Fallback", "Noto Emoji"),
    *("Microsoft YaHei", "Yu Gothic", "Malgun Gothic", "Segoe UI Emoji"),
    *("PingFang SC", "Hiragino Sans GB", "Apple SD Gothic Neo", "Arial Unicode MS"),
)


def require_matplotlib() -> None:
    """Raise TargetError if matplotlib is not installed, or the environment names a backend that it lacks."""
    try:
        importlib.import_module("matplotlib")
    except ImportError:
        raise missing_package("matplotlib") from None
    except ValueError as error:
        reason = str(error).partition(";")[0]
        raise TargetError(f"matplotlib cannot be used: {reason}; set MPLBACKEND=agg") from None


@contextlib.contextmanager
def default_settings() -> Iterator[None]:
    """Draw as matplotlib does by itself, whatever a matplotlibrc says: TeX refuses underscores of labels."""
    import matplotlib as mpl
    from matplotlib.font_manager import get_font_names

    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)  # these fonts may lack bold letters
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams["font.family"] = ["sans-serif", *(name for name in _FONTS if name in get_font_names())]
        yield


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


def write_below(figure: Figure, *paragraphs: str) -> None:
    """Write paragraphs below the panels, in lines as long as the figure is wide."""
    look: Any = {"x": 0.005, "ha": "left", "fontsize": LETTERS, "color": QUIET}
    figure.supxlabel(wrapped(paragraphs, most_letters(figure)), **look)


def most_letters(figure: Figure) -> int:
    """Return how many letters a line as long as the figure has."""
    return int(72 * figure.get_figwidth() / _LETTER)


def wrapped(paragraphs: Sequence[str], most: int) -> str:
    """Return paragraphs in lines of ``most`` letters or fewer."""
    lines = (textwrap.wrap(printable(text), most, break_on_hyphens=False) for text in paragraphs)
    return plain("\n".join(itertools.chain.from_iterable(lines)))


def extremes(boosts: Sequence[float], most: int = MOST) -> list[int]:
    """Return which shapes are drawn, the largest boost first: those with the largest and the least boosts."""
    order = sorted(range(len(boosts)), key=lambda i: -boosts[i] if boosts[i] > -1 else 1)  # NaN last
    if len(order) <= most:
        return order
    known = [i for i in order if not math.isnan(boosts[i])] or order
    return known if len(known) <= most else [*known[: most - most // 2], *known[-(most // 2) :]]


def drawn_of(shown: int, shapes: int) -> str:
    """Return words about the shapes that a figure has, for its label; empty if it leaves out none."""
    return f"{shown} of {shapes:,} shapes: the largest and the least boosts" if shown < shapes else ""


def shape_title(name: str) -> str:
    """Return the label of a shape as the title of its panel, in as few lines as fit."""
    (lines,) = fit_labels([printable(name)], TITLE).lines
    return plain("\n".join(lines))


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure, whole or not at all; the suffix of the file chooses the format."""
    import matplotlib as mpl

    drawn, suffix = io.BytesIO(), path.suffix.lower()
    # Without a salt, matplotlib draws the ids within an SVG at random.
    salt: Any = {"svg.hashsalt": "abtune"}
    try:
        with mpl.rc_context(salt):
            figure.savefig(drawn, format=suffix[1:] or "none", dpi=150, metadata=_WITHOUT_DATE.get(suffix))
    except ValueError as error:
        raise StoreError(f"cannot write {path}: {str(error).splitlines()[0]}") from None
    write_bytes(drawn.getvalue(), path)


def plain(text: str) -> str:
    """Return a text whose dollar signs and control characters do nothing: no mathematics, no line breaks."""
    return "\n".join(printable(line) for line in text.split("\n")).replace("$", r"\$")


def text_width(text: str, *, bold: bool = False) -> float:
    """Return the width of the longest line of a text of letters, in points."""
    require_matplotlib()
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    font = FontProperties(weight="bold" if bold else "normal")
    lines = [line for line in plain(text).split("\n") if line.strip()]
    # Outlines have points at their ends, so their extent needs no curves.
    paths = (TextPath((0, 0), line, size=LETTERS, prop=font) for line in lines)
    return max((float(path.vertices[:, 0].max(initial=0.0)) for path in paths), default=0.0)
