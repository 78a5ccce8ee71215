"""Small drawings for a page of HTML: intervals on a scale, samples as dots.

A drawing is a value: paths and words with their coordinates, which the template of the page writes as SVG.
The style sheet colours them. Verdicts differ in the marker, too. Each drawing has a text for screen readers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len

from abtune.compare.settings import margin_ends
from abtune.report.page import Dots
from abtune.report.scale import Interval, Scale, clipped, goes_on, ticks
from abtune.report.text.console import wrap
from abtune.text import limits, percent_cell, printable

# Units of the drawing; the page may show it larger or smaller.
WIDTH, HEIGHT = 240, 24
_MIDDLE = HEIGHT // 2
_EDGE = 8
_LETTER = 10  # the width of a letter of an axis
_NAME = 8  # the width of a letter of a name
_LANE, _LINE = 44, 18
_DOTS_WIDTH = 480
# Paths around the estimate, by verdict; a circle where there is none.
_MARKERS = {
    "improved": "M 0,-5 5,5 -5,5 Z",
    "regressed": "M 0,5 5,-5 -5,-5 Z",
    "equivalent": "M -4,-4 4,-4 4,4 -4,4 Z",
    "not-slower": "M 0,-5 5,-1 3,4 -3,4 -5,-1 Z",
    "invalid": "M 0,-5 5,0 0,5 -5,0 Z",
    "overall": "M -5,0 0,-6 5,0 0,6 Z",
}
_CIRCLE = "M -4,0 a 4 4 0 1 0 8,0 a 4 4 0 1 0 -8,0 Z"
_ARROWS = {"below": "M -6,0 2,-5 2,5 Z", "above": "M 6,0 -2,-5 -2,5 Z"}
_POINTER = "M 0,0 5,9 -5,9 Z"


class Stroke(NamedTuple):
    """A path: its class in the style sheet, its data, its origin, and what is said when one points at it."""

    kind: str
    track: str
    x: float = 0
    y: float = 0
    tip: str = ""


class Words(NamedTuple):
    """A text on a base line; the anchor says which end of it is at ``x``."""

    text: str
    x: float
    y: float
    anchor: str = "start"


class Drawing(NamedTuple):
    """A drawing of a size: what it shows in words, its class, and its strokes from back to front."""

    width: float
    height: float
    label: str
    tone: str
    strokes: Sequence[Stroke] = ()
    words: Sequence[Words] = ()


def draw_interval(interval: Interval, scale: Scale) -> Drawing:
    """Return an interval with its estimate, the band of the margin, and a line at zero."""
    drawn, label = clipped(interval, scale), _in_words(interval)
    strokes = [*_behind(interval, drawn, scale), *_marker(drawn, scale)]
    return Drawing(width=WIDTH, height=HEIGHT, label=label, tone=interval.tone, strokes=strokes)


def draw_axis(scale: Scale) -> Drawing:
    """Return the numbers of a scale, in percent."""
    numbers = ticks(scale, 5)
    decimals = 0 if all(abs(100 * number - round(100 * number)) < 1e-6 for number in numbers) else 1
    texts = [(position(number, scale), percent_cell(number, decimals)) for number in numbers]
    words = [
        Words(text, x, 16, anchor="middle")
        for x, text in texts
        if _LETTER * len(text) / 2 <= x <= WIDTH - _LETTER * len(text) / 2
    ]
    label = f"scale from {percent_cell(scale.low, 0)} to {percent_cell(scale.high, 0)} percent"
    return Drawing(width=WIDTH, height=HEIGHT, label=label, tone="axis", words=words)


def position(value: float, scale: Scale) -> float:
    """Return where a boost lies, in units of the drawing; rounded, so that every machine writes the same."""
    return round(_EDGE + scale.share(value) * (WIDTH - 2 * _EDGE), 1)


def draw_samples(dots: Dots) -> Drawing:
    """Return samples on one scale with a pointer at each mark; wide names stand above their dots."""
    low, high = dots.ends
    beside = _NAME * max(cell_len(strip.name) for strip in dots.strips) + 20
    above = beside > _DOTS_WIDTH // 2
    start, stop = _EDGE if above else beside, _DOTS_WIDTH - _EDGE

    def across(value: float) -> float:
        return round(start + (stop - start) * ((value - low) / (high - low) if high > low else 0.5), 1)

    words = [Words(dots.low, start, 12), Words(dots.high, stop, 12, anchor="end")]
    strokes: list[Stroke] = []
    top = _LINE
    for strip in dots.strips:
        lines = wrap(printable(strip.name), _DOTS_WIDTH * 9 // 10 // _NAME) if above else [strip.name]
        words += [Words(line, 0, top + 16 + _LINE * number) for number, line in enumerate(lines)]
        top += _LINE * len(lines) if above else 0
        strokes.append(Stroke("rule", f"M{start} {top + 12}H{stop}"))
        tips = strip.tips or [""] * len(strip.values)
        strokes += [
            Stroke("dot", _CIRCLE, across(value), top + 12, tip)
            for value, tip in zip(strip.values, tips, strict=True)
        ]
        x = across(strip.marked)
        strokes.append(Stroke("pointer", _POINTER, x, top + 18))
        # Beside the pointer, on the side that has room.
        before = x > _DOTS_WIDTH - 120
        words.append(Words(strip.mark, x - 8 if before else x + 8, top + 30, "end" if before else "start"))
        top += _LANE
    names = ", ".join(f"{strip.name}: {len(strip.values)}, {strip.mark}" for strip in dots.strips)
    label = f"from {dots.low} to {dots.high}; {names}"
    return Drawing(width=_DOTS_WIDTH, height=top, label=label, tone="dots", strokes=strokes, words=words)


def _in_words(interval: Interval) -> str:
    if math.isnan(interval.value):
        return "no boost"
    bounds = "no interval"
    if not math.isnan(interval.low):
        bounds = f"interval {limits(interval.low, interval.high, 1)}"
        if interval.wide:
            bounds += f"; for all shapes at once {limits(interval.wide_low, interval.wide_high, 1)}"
    return f"boost {percent_cell(interval.value, 1)} percent, {bounds}"


def _behind(interval: Interval, drawn: Interval, scale: Scale) -> Iterator[Stroke]:
    """Yield the margin, zero, the wider interval thin, the interval, and arrows at edges that it crosses."""
    if scale.margin:
        slow, fast = (position(end, scale) for end in margin_ends(scale.margin))
        yield Stroke("band", f"M{slow} 0H{fast}V{HEIGHT}H{slow}Z")
    yield Stroke("zero", f"M{position(0.0, scale)} 0V{HEIGHT}")
    lines = [("thin", drawn.wide_low, drawn.wide_high)] if drawn.wide else []
    if not math.isnan(drawn.low) and drawn.tone != "overall":  # that marker is as wide as its interval
        lines.append(("line", drawn.low, drawn.high))
    for kind, low, high in lines:
        yield Stroke(kind, f"M{position(low, scale)} {_MIDDLE}H{position(high, scale)}")
    edges = {"below": scale.low, "above": scale.high}
    for side, beyond in goes_on(interval, scale).items():
        if beyond:
            yield Stroke("arrow", _ARROWS[side], position(edges[side], scale), _MIDDLE)


def _marker(drawn: Interval, scale: Scale) -> Iterator[Stroke]:
    """Draw the estimate: a shape for each verdict, the same as in figures."""
    if math.isnan(drawn.value):
        return
    x, track = position(drawn.value, scale), _MARKERS.get(drawn.tone, _CIRCLE)
    exact = drawn.tone == "overall" and not math.isnan(drawn.low)
    if exact:
        left, right = (position(end, scale) - x for end in (drawn.low, drawn.high))
        track = f"M {left:z.1f},0 0,-6 {right:z.1f},0 0,6 Z"
    # A small filled diamond would look like a narrow interval.
    filled = exact or drawn.tone in {"improved", "regressed", "equivalent"}
    yield Stroke("marker" if filled else "marker hollow", track, x, _MIDDLE)
