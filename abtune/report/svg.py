"""Small drawings for a page of HTML, as SVG: intervals on a scale, samples as dots.

They are coloured by the style sheet of the page, tell verdicts apart by shape as well, and carry in words
what they show.
"""

from __future__ import annotations

import math

from abtune.report.cells import cell_width, wrap
from abtune.report.labels import printable
from abtune.report.markup import element, escaped
from abtune.report.numbers import percent
from abtune.report.page import Dots, Strip
from abtune.report.scale import Bounded, Scale, Stretch, margin_ends, stretch, ticks

# Units of the drawing; the page may show it larger or smaller.
WIDTH, HEIGHT = 240, 24
_EDGE, _HALF = 8, 5
_LETTER = 8.5  # how wide a letter of an axis is
_NAME = 8  # and one of a name
_LANE, _WORDS = 44, 18
_DOTS_WIDTH = 640
OVERALL = "overall"


def draw_interval(row: Bounded, scale: Scale, margin: float, kind: str, words: str) -> str:
    """Draw an interval with its estimate, the band of the margin, and a line at zero.

    Parameters
    ----------
    row : Bounded
        What is drawn.
    scale : Scale
        On which scale; what goes on beyond it gets an arrow.
    margin : float
        The smallest boost that matters, a fraction.
    kind : str
        The verdict, which says the marker's shape and class, or ``overall``.
    words : str
        What the drawing shows, for those who do not see it.
    """
    part, middle = stretch(row, scale), HEIGHT / 2
    pieces = [*_ground(scale, margin), *_arrows(part, scale, middle)]
    if kind == OVERALL:
        pieces.append(_diamond(part, scale, middle))
    else:
        pieces += _line(part, scale, middle)
        if not math.isnan(part.boost):
            pieces.append(_marker(kind, place(part.boost, scale), middle))
    group = element("g", *pieces, class_=kind)
    return _drawing(group, WIDTH, HEIGHT, words)


def draw_axis(scale: Scale) -> str:
    """Draw the numbers of a scale, in percent."""
    step = ticks(scale, 5)
    decimals = 0 if all(abs(100 * tick - round(100 * tick)) < 1e-6 for tick in step) else 1
    written = {place(tick, scale): percent(tick, decimals) for tick in step}
    words = (
        element("text", text, x=_number(at), y="16", text_anchor="middle")
        for at, text in written.items()
        if _LETTER * len(text) / 2 <= at <= WIDTH - _LETTER * len(text) / 2
    )
    text = f"scale from {percent(scale.low, 0)} to {percent(scale.high, 0)} percent"
    return _drawing("".join(words), WIDTH, HEIGHT, text)


def place(value: float, scale: Scale) -> float:
    """Return where a boost lies, in units of the drawing."""
    share = (value - scale.low) / (scale.high - scale.low)
    return _EDGE + share * (WIDTH - 2 * _EDGE)


def draw_samples(dots: Dots) -> str:
    """Draw samples above each other on one scale, with a pointer at what is marked.

    Names that would take more than half of the width stand above their dots.
    """
    values = [value for strip in dots.strips for value in (*strip.values, strip.marked)]
    low, high = min(values), max(values)
    beside = _NAME * max(cell_width(strip.name) for strip in dots.strips) + 20
    above = beside > _DOTS_WIDTH // 2
    margin = _EDGE if above else beside

    def across(value: float) -> float:
        share = (value - low) / (high - low) if high > low else 0.5
        return margin + share * (_DOTS_WIDTH - margin - _EDGE)

    right = _number(_DOTS_WIDTH - _EDGE)
    pieces = [
        element("text", escaped(dots.low), x=_number(margin), y="12"),
        element("text", escaped(dots.high), x=right, y="12", text_anchor="end"),
    ]
    top = _WORDS
    for strip in dots.strips:
        lines = wrap(printable(strip.name), _DOTS_WIDTH * 9 // 10 // _NAME) if above else [strip.name]
        for number, line in enumerate(lines):
            pieces.append(element("text", escaped(line), x="0", y=str(top + 16 + _WORDS * number)))
        top += _WORDS * len(lines) if above else 0
        pieces.append(_path(f"M{margin} {top + 12}H{right}", "axis"))
        pieces += [_circle(across(value), top + 12) for value in strip.values]
        pieces += _pointer(strip, across(strip.marked), top + 18)
        top += _LANE
    names = ", ".join(f"{strip.name}: {len(strip.values)}, {strip.mark}" for strip in dots.strips)
    return _drawing(
        element("g", *pieces, class_="dots"), _DOTS_WIDTH, top, f"from {dots.low} to {dots.high}; {names}"
    )


def _drawing(inner: str, width: float, height: float, words: str) -> str:
    return element("svg", inner, viewBox=f"0 0 {width} {height}", role="img", aria_label=words)


def _ground(scale: Scale, margin: float) -> list[str]:
    slow, fast = (place(end, scale) for end in margin_ends(margin))
    zero = _number(place(0.0, scale))
    band = element(
        "rect", x=_number(slow), y="0", width=_number(fast - slow), height=str(HEIGHT), class_="band"
    )
    return [band, _path(f"M{zero} 0V{HEIGHT}", "zero")]


def _line(part: Stretch, scale: Scale, y: float) -> list[str]:
    """Draw the interval, with a cap at each end that is on the scale."""
    if math.isnan(part.low):
        return []
    start, stop = _number(place(part.low, scale)), _number(place(part.high, scale))
    caps = "".join(
        f"M{x} {_number(y - 4)}V{_number(y + 4)}"
        for x, beyond in ((start, part.below), (stop, part.above))
        if not beyond and (part.low < part.high or part.below == part.above)
    )
    return [_path(f"M{start} {_number(y)}H{stop}{caps}", "line")]


def _arrows(part: Stretch, scale: Scale, y: float) -> list[str]:
    """Draw an arrow at each edge beyond which the interval goes on."""
    edges = [(place(scale.low, scale), -1)] * part.below + [(place(scale.high, scale), 1)] * part.above
    return [_arrow(x, y, way) for x, way in edges]


def _arrow(x: float, y: float, way: int) -> str:
    return _polygon([(x + 6 * way, y), (x - 2 * way, y - 5), (x - 2 * way, y + 5)], "arrow")


def _marker(kind: str, x: float, y: float) -> str:
    """Draw the estimate: a shape a verdict, the same as in figures."""
    half = _HALF
    match kind:
        case "improved":
            return _polygon([(x, y - half), (x + half, y + half), (x - half, y + half)], "marker")
        case "regressed":
            return _polygon([(x, y + half), (x + half, y - half), (x - half, y - half)], "marker")
        case "equivalent":
            corners = [(x - 4, y - 4), (x + 4, y - 4), (x + 4, y + 4), (x - 4, y + 4)]
            return _polygon(corners, "marker")
        case "invalid":
            return _polygon([(x, y - half), (x + half, y), (x, y + half), (x - half, y)], "marker hollow")
    return element("circle", cx=_number(x), cy=_number(y), r="4", class_="marker hollow")


def _diamond(part: Stretch, scale: Scale, y: float) -> str:
    """Draw a boost over shapes as wide as its interval; without one, hollow: a small one would look exact."""
    if math.isnan(part.boost):
        return ""
    x = place(part.boost, scale)
    if math.isnan(part.low):
        return _polygon([(x - _HALF, y), (x, y - 6), (x + _HALF, y), (x, y + 6)], "marker hollow")
    left, right = place(part.low, scale), place(part.high, scale)
    return _polygon([(left, y), (x, y - 6), (right, y), (x, y + 6)], "marker")


def _pointer(strip: Strip, x: float, top: float) -> list[str]:
    beside, anchor = (x + 8, "start") if x < _DOTS_WIDTH - 120 else (x - 8, "end")
    return [
        _polygon([(x, top), (x + 5, top + 9), (x - 5, top + 9)], "pointer"),
        element("text", escaped(strip.mark), x=_number(beside), y=_number(top + 12), text_anchor=anchor),
    ]


def _circle(x: float, y: float) -> str:
    return element("circle", cx=_number(x), cy=_number(y), r="4.5", class_="dot")


def _polygon(corners: list[tuple[float, float]], kind: str) -> str:
    points = " ".join(f"{_number(x)},{_number(y)}" for x, y in corners)
    return element("polygon", points=points, class_=kind)


def _path(track: str, kind: str) -> str:
    return element("path", d=track, class_=kind)


def _number(value: float) -> str:
    """Write a coordinate with one decimal, so that every machine writes the same."""
    return f"{value:z.1f}"
