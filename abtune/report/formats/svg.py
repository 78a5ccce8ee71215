"""Small drawings for a page of HTML: intervals on a scale, samples as dots.

A drawing is a value: paths and words with their coordinates, which the template of the page writes as SVG.
The style sheet colours them. Verdicts differ in the marker as well. Every drawing has a text for screen
readers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from rich.cells import cell_len

from abtune.compare.settings import margin_ends
from abtune.report.page import Dots
from abtune.report.scale import Interval, Scale, clipped, goes_on, ticks
from abtune.report.text.console import wrap
from abtune.text import limits, percent_cell, printable

# Units of the drawing; the page may show it larger or smaller.
WIDTH, HEIGHT = 240, 24
_MIDDLE = HEIGHT / 2
_EDGE = 8
_LETTER = 10  # the width of a letter of an axis
_NAME = 8  # the width of a letter of a name
_LANE, _LINE = 44, 18
_DOTS_WIDTH = 480
Corners: TypeAlias = Sequence[tuple[float, float]]
# Corners around the estimate, by verdict; a circle where there is none.
_MARKERS: dict[str, Corners] = {
    "improved": ((0, -5), (5, 5), (-5, 5)),
    "regressed": ((0, 5), (5, -5), (-5, -5)),
    "equivalent": ((-4, -4), (4, -4), (4, 4), (-4, 4)),
    "not-slower": ((0, -5), (5, -1), (3, 4), (-3, 4), (-5, -1)),
    "invalid": ((0, -5), (5, 0), (0, 5), (-5, 0)),
    "overall": ((-5, 0), (0, -6), (5, 0), (0, 6)),
}
_ARROW: Corners = ((6, 0), (-2, -5), (-2, 5))
_POINTER: Corners = ((0, 0), (5, 9), (-5, 9))


class Stroke(NamedTuple):
    """A path: its data, its class in the style sheet, and what is said when one points at it."""

    track: str
    kind: str
    tip: str = ""


class Words(NamedTuple):
    """A text on a base line; the anchor says which end of it is at ``x``."""

    text: str
    x: str
    y: str
    anchor: str


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
        _words(text, x, 16, anchor="middle")
        for x, text in texts
        if _LETTER * len(text) / 2 <= x <= WIDTH - _LETTER * len(text) / 2
    ]
    label = f"scale from {percent_cell(scale.low, 0)} to {percent_cell(scale.high, 0)} percent"
    return Drawing(width=WIDTH, height=HEIGHT, label=label, tone="axis", words=words)


def position(value: float, scale: Scale) -> float:
    """Return where a boost lies, in units of the drawing."""
    return _EDGE + scale.share(value) * (WIDTH - 2 * _EDGE)


def draw_samples(dots: Dots) -> Drawing:
    """Return samples on one scale with a pointer at each mark; wide names stand above their dots."""
    values = [value for strip in dots.strips for value in (*strip.values, strip.marked)]
    low, high = min(values), max(values)
    beside = _NAME * max(cell_len(strip.name) for strip in dots.strips) + 20
    above = beside > _DOTS_WIDTH // 2
    start, stop = _EDGE if above else beside, _DOTS_WIDTH - _EDGE

    def across(value: float) -> float:
        return start + (stop - start) * ((value - low) / (high - low) if high > low else 0.5)

    words = [_words(dots.low, start, 12), _words(dots.high, stop, 12, anchor="end")]
    strokes: list[Stroke] = []
    top = _LINE
    for strip in dots.strips:
        lines = wrap(printable(strip.name), _DOTS_WIDTH * 9 // 10 // _NAME) if above else [strip.name]
        words += [_words(line, 0, top + 16 + _LINE * number) for number, line in enumerate(lines)]
        top += _LINE * len(lines) if above else 0
        strokes.append(Stroke(track=f"M{start} {top + 12}H{stop}", kind="rule"))
        strokes += [
            Stroke(track=_circle(across(value), top + 12, 4.5), kind="dot", tip=tip)
            for value, tip in zip(strip.values, strip.tips or [""] * len(strip.values), strict=True)
        ]
        strokes.append(Stroke(track=_polygon(_POINTER, across(strip.marked), top + 18), kind="pointer"))
        # Beside the pointer, on the side that has room.
        x = across(strip.marked)
        before = x > _DOTS_WIDTH - 120
        side = -8 if before else 8
        words.append(_words(strip.mark, x + side, top + 30, anchor="end" if before else "start"))
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
        slow, fast = (_number(position(end, scale)) for end in margin_ends(scale.margin))
        yield Stroke(track=f"M{slow} 0H{fast}V{HEIGHT}H{slow}Z", kind="band")
    yield Stroke(track=f"M{_number(position(0.0, scale))} 0V{HEIGHT}", kind="zero")
    if drawn.wide:
        yield Stroke(track=_across(drawn.wide_low, drawn.wide_high, scale), kind="thin")
    if not math.isnan(drawn.low) and drawn.tone != "overall":  # that marker is as wide as its interval
        yield Stroke(track=_across(drawn.low, drawn.high, scale), kind="line")
    edges = ((scale.low, -1), (scale.high, 1))
    for beyond, (edge, way) in zip(goes_on(interval, scale).values(), edges, strict=True):
        if beyond:
            yield Stroke(track=_polygon(_ARROW, position(edge, scale), _MIDDLE, way=way), kind="arrow")


def _across(low: float, high: float, scale: Scale) -> str:
    return f"M{_number(position(low, scale))} {_number(_MIDDLE)}H{_number(position(high, scale))}"


def _marker(drawn: Interval, scale: Scale) -> Iterator[Stroke]:
    """Draw the estimate: a shape for each verdict, the same as in figures."""
    if math.isnan(drawn.value):
        return
    x, corners = position(drawn.value, scale), _MARKERS.get(drawn.tone)
    exact = drawn.tone == "overall" and not math.isnan(drawn.low)
    if exact:
        left, right = (position(end, scale) - x for end in (drawn.low, drawn.high))
        corners = ((left, 0), (0, -6), (right, 0), (0, 6))
    # A small filled diamond would look like a narrow interval.
    filled = exact or drawn.tone in {"improved", "regressed", "equivalent"}
    track = _polygon(corners, x, _MIDDLE) if corners else _circle(x, _MIDDLE, 4)
    yield Stroke(track=track, kind="marker" if filled else "marker hollow")


def _words(text: str, x: float, y: float, *, anchor: str = "start") -> Words:
    return Words(text=text, x=_number(x), y=_number(y), anchor=anchor)


def _polygon(corners: Corners, x: float, y: float, *, way: int = 1) -> str:
    """Return corners around a point as a path; ``way`` is -1 to mirror them."""
    return f"M{'L'.join(f'{_number(x + way * right)} {_number(y + down)}' for right, down in corners)}Z"


def _circle(x: float, y: float, radius: float) -> str:
    across = _number(2 * radius)
    arc = f"a{_number(radius)} {_number(radius)} 0 1 0"
    return f"M{_number(x - radius)} {_number(y)}{arc} {across} 0{arc} -{across} 0Z"


def _number(value: float) -> str:
    """Return a coordinate with one decimal, so that every machine writes the same."""
    return f"{value:z.1f}"  # z turns -0.0 into 0.0
