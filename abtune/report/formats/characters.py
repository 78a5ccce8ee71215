"""Drawings made of characters, for terminals and markdown: intervals on a scale, samples as dots."""

from __future__ import annotations

import math

from rich.cells import cell_len, set_cell_size

from abtune.report.page import Dots, Drawn
from abtune.report.scale import Interval, Scale, clipped, goes_on
from abtune.report.text.console import wrap
from abtune.text import percent_cell, printable

# Box characters that fonts for code have; without them ASCII does.
_ASCII, _BOXES = "-=[]o|", "─═╞╡●│"
_TO_BOXES = str.maketrans(_ASCII, _BOXES)


def draw_interval(interval: Interval, scale: Scale, width: int, *, ascii_only: bool) -> str:
    """Return an interval as ``--[==o==]--``: a bar at zero, arrows at the ends of the scale."""
    drawn, beyond = clipped(interval, scale), goes_on(interval, scale)
    cells = [" "] * width

    def cell(value: float) -> int:
        return round(scale.share(value) * (width - 1))

    # What comes later is written over what came before, so the estimate is always seen.
    for low, high, line in ((drawn.wide_low, drawn.wide_high, "-"), (drawn.low, drawn.high, "=")):
        if not (math.isnan(low) or math.isnan(high)):
            cells[cell(low) : cell(high) + 1] = line * (cell(high) - cell(low) + 1)
    cells[cell(0.0)] = "|"
    if not math.isnan(drawn.low):
        cells[cell(drawn.low)], cells[cell(drawn.high)] = "[", "]"
    if beyond["below"]:
        cells[0] = "<"
    if beyond["above"]:
        cells[-1] = ">"
    if not math.isnan(drawn.value):
        cells[cell(drawn.value)] = "o"
    text = "".join(cells)
    return text if ascii_only else text.translate(_TO_BOXES)


def axis_text(scale: Scale, width: int) -> str:
    """Return the ends of a scale in percent, set apart to a width."""
    low, high = (f"{percent_cell(end, 0)}%" for end in (scale.low, scale.high))
    return f"{low}{high:>{max(width - len(low), len(high) + 1)}}"


def legend(drawn: Drawn, *, ascii_only: bool) -> str:
    """Return what the characters mean."""
    thin, thick, start, stop, value, zero = list(_ASCII if ascii_only else _BOXES)
    wide = f" The thin line {thin} is the interval for all shapes at once." if drawn.wide else ""
    return (
        f"Drawing: {value} is the boost, {start}{thick}{stop} its interval, {zero} zero; < and > mean that "
        f"the interval goes on.{wide}"
    )


_DOTS = "Drawing: o is a seed, 2 two, # many, ^ the geometric mean."


def draw_dots(dots: Dots, width: int) -> list[str]:
    """Return a dot plot and its legend. Names wider than half of the plot stand above their dots."""
    low, high = dots.ends
    names = [printable(strip.name) for strip in dots.strips]
    margin = max(map(cell_len, names)) + 2
    above = margin > width // 2
    margin = 2 if above else margin
    cells = max(width - margin, 8)

    def cell(value: float) -> int:
        return round((value - low) / (high - low) * (cells - 1)) if high > low else cells // 2

    gap = max(cells - len(dots.low) - len(dots.high), 1)
    lines = [f"{'':{margin}}{dots.low}{'':{gap}}{dots.high}"]
    for strip, name in zip(dots.strips, names, strict=True):
        counts = [0] * cells
        for value in strip.values:
            counts[cell(value)] += 1
        lines += wrap(name, width) if above else []
        beside = set_cell_size("" if above else name, margin)
        dots_ = "".join(" o23456789"[count] if count < 10 else "#" for count in counts)
        lines.append(f"{beside}{dots_}".rstrip())
        lines.append(f"{'':{margin}}{_pointer(cell(strip.marked), printable(strip.mark), cells)}")
    return lines + wrap(_DOTS, width)


def _pointer(cell: int, text: str, cells: int) -> str:
    """Return ``^ text`` below a cell, or ``text ^`` where there is no room to its right."""
    if cell + 2 + len(text) <= cells:
        return f"{'':{cell}}^ {text}"
    return f"{text + ' ^':>{cell + 1}}"
