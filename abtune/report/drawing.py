"""Drawings made of characters: samples as dots, intervals as spans. ASCII, for every terminal and file."""

from __future__ import annotations

import math

from abtune.report.cells import cell_width, padded, wrap
from abtune.report.page import Dots


def draw_dots(dots: Dots, width: int) -> list[str]:
    """Draw a dot plot in a width, in ASCII.

    The scale is linear from the least to the largest value of all; a mark points at its place from below.
    Names that would take more than half of the width stand above their dots.
    """
    values = [value for strip in dots.strips for value in (*strip.values, strip.marked)]
    low, high = min(values), max(values)
    margin = max(cell_width(strip.name) for strip in dots.strips) + 2
    above = margin > width // 2  # names too long to stand beside their dots
    margin = 2 if above else margin
    cells = max(width - margin, 8)

    def place(value: float) -> int:
        return round((value - low) / (high - low) * (cells - 1)) if high > low else cells // 2

    gap = max(cells - len(dots.low) - len(dots.high), 1)
    lines = [f"{'':{margin}}{dots.low}{'':{gap}}{dots.high}"]
    for strip in dots.strips:
        counts = [0] * cells
        for value in strip.values:
            counts[place(value)] += 1
        if above:
            lines += wrap(strip.name, width)
        name = padded("" if above else strip.name, margin)
        lines.append(f"{name}{''.join(map(_dot, counts))}".rstrip())
        lines.append(f"{'':{margin}}{_pointer(place(strip.marked), strip.mark, cells)}")
    return lines


def span(low: float, middle: float, high: float, scale: tuple[float, float], width: int) -> str:
    """Draw an interval on a scale: ``[---o---]`` with a bar at zero, arrows where it goes on beyond."""
    cells = [" "] * width

    def place(value: float) -> int:
        share = (value - scale[0]) / (scale[1] - scale[0])
        return min(max(round(share * (width - 1)), 0), width - 1)

    known = not (math.isnan(low) or math.isnan(high))
    start, stop = (place(low), place(high)) if known else (0, -1)
    cells[start : stop + 1] = "-" * (stop - start + 1)
    if scale[0] <= 0 <= scale[1]:
        cells[place(0.0)] = "|"
    if known:
        cells[start] = "[" if low >= scale[0] else "<"
        cells[stop] = "]" if high <= scale[1] else ">"
    if not math.isnan(middle):
        cells[place(middle)] = "<" if middle < scale[0] else ">" if middle > scale[1] else "o"
    return "".join(cells)


def _dot(count: int) -> str:
    return " " if count == 0 else "o" if count == 1 else str(count) if count < 10 else "#"


def _pointer(place: int, text: str, cells: int) -> str:
    """Put ``^ text`` below a place, or ``text ^`` where there is no room to its right."""
    if place + 2 + len(text) <= cells:
        return f"{'':{place}}^ {text}"
    return f"{text + ' ^':>{place + 1}}"
