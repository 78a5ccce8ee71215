"""Small panels, one per shape: their titles, and the ticks of their axes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from abtune.report.figures.figure import GREY, TITLE, plain
from abtune.report.scale import round_numbers
from abtune.report.text.labels import fit_labels
from abtune.text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

Floats: TypeAlias = npt.NDArray[np.float64]
# Okabe and Ito's blue and vermilion: baseline, candidate. They differ in lightness too.
SIDE_COLOURS = ("#0072b2", "#d55e00")
# Of letters, in points.
SIZE = 7.5
# How the words look that stand in place of data.
NOTE: Any = {"ha": "center", "va": "center", "color": GREY, "fontsize": SIZE}


def title_lines(name: str) -> int:
    """Return how many lines the label of a shape takes above its panel."""
    return len(_lines(name))


def panel_title(axis: Axes, name: str) -> None:
    """Write the label of a shape above its panel, in as few lines as fit."""
    axis.set_title("\n".join(map(plain, _lines(name))), fontsize=8)


def _lines(name: str) -> Sequence[str]:
    (lines,) = fit_labels([printable(name)], TITLE).lines
    return lines


def label_ticks(axis: Axis) -> None:
    """Write few and plain numbers on an axis of times, also where it is logarithmic and within a decade."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    low, high = sorted(axis.get_view_interval())
    ticks = decade_ticks(low, high) if axis.get_scale() == "log" else ()
    ticks = ticks if len(ticks) > 1 else round_numbers(low, high, 5)
    crowded = len(ticks) > 3 and len(_digits(ticks)(ticks[-1])) > 6
    write = _digits(ticks)
    axis.set_major_locator(FixedLocator(ticks[::2] if crowded else ticks))
    axis.set_major_formatter(FuncFormatter(lambda value, _: write(value)))
    axis.set_minor_locator(NullLocator())


def decade_ticks(low: float, high: float) -> tuple[float, ...]:
    """Return ticks of a logarithmic axis: powers of ten, within two decades also 2 and 5 times these."""
    factors = (1, 2, 5) if high < 100 * low else (1,)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = (factor * 10.0**power for power in powers for factor in factors)
    return tuple(tick for tick in ticks if low <= tick <= high)


def _digits(ticks: Sequence[float]) -> Callable[[float], str]:
    """Return a function that writes ticks with just enough decimals to tell them apart."""
    step = min(two - one for one, two in itertools.pairwise(ticks))
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return lambda value: f"{value:,.{decimals}f}"
