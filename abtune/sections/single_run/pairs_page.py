"""The part of a page about shapes with one run a side: what each boost bears, and borrowed intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from abtune.report.columns import intervals
from abtune.report.page import SHAPE, Bullets, Column, Drawn, Grid, Heading, Part, Prose, column
from abtune.report.scale import Interval, Scale
from abtune.sections.single_run.borrowed_noise import OutsideNoise, OutsideSide
from abtune.sections.single_run.comparability import Assumption, Standing
from abtune.sections.single_run.pairs import LonePair, Predicted
from abtune.sections.single_run.single_run import SingleRun
from abtune.text import NOTHING, boost_decimals, percent_cell, plain_percent, spread_percent

# An interval that allows for a hundred times faster or slower says nothing.
_LARGEST = 100
_ORDER = (Standing.DIFFERS, Standing.NOT_RECORDED, Standing.UNCHECKED, Standing.AGREES)
_LENDERS = (
    "Usual noise: what a shape gets that has no runs there; one that has keeps its own, drawn towards it. "
    "Freedom: its degrees of freedom; few mean that shapes differ much in their noise, and widen intervals."
)
_TIPPING = (
    "Tips at: search noise from which on two runs of one configuration differ as much in one case of {odds}, "
    "so that the boost no longer stands out; for all %: the same for all shapes at once (Bonferroni). A "
    "boost means something only if the noise is known to be less."
)
_BORROWED = (
    "Noise: of baseline/candidate, from {name}; ~ marks shapes that have no runs there. Interval: of the "
    "boost that many runs would show, were the noise here like the noise there (none: beyond a hundred "
    "times); for all: those of all shapes hold at once (Bonferroni). {alone} of {shapes} intervals leave out "
    "zero, {together} of those for all."
)


def about_shapes(found: SingleRun) -> Iterator[Part]:
    """Compose the borrowed noise, if there is any, and a table for each kind of workload."""
    decimals = _decimals(found.shapes)
    scale = _scale(found.shapes)
    if found.outside is not None:
        yield Heading(text=f"noise from {found.outside.dataset}", minor=True)
        yield _lenders(found.outside)
        yield Prose(text=_LENDERS, remark=True)
        worst_first = sorted(found.outside.assumptions, key=lambda part: _ORDER.index(part.standing))
        yield Bullets(items=tuple(map(_assumption, worst_first)))
    for workload in dict.fromkeys(pair.workload for pair in found.shapes):
        pairs = [pair for pair in found.shapes if pair.workload == workload]
        yield Heading(text=f"shape by shape{workload and f': {workload}'}", minor=True)
        yield _grid(pairs, found.level, decimals, scale)
    yield Prose(text=_TIPPING.format(odds=odds(found.level)), remark=True)
    if found.outside is not None:
        yield Prose(text=_legend(found, found.outside.dataset), remark=True)


def bounded(bounds: Sequence[tuple[float, float]], decimals: int) -> tuple[str, ...]:
    """Write intervals in percent, but ``none`` where an end is beyond a hundred times faster or slower."""
    none = [low < 1 / _LARGEST - 1 or high > _LARGEST - 1 for low, high in bounds]
    kept = [(math.nan, math.nan) if lost else ends for ends, lost in zip(bounds, none, strict=True)]
    texts = zip(intervals(kept, decimals), none, strict=True)
    return tuple("none" if lost else text for text, lost in texts)


def odds(level: float) -> str:
    """Write a level of 0.95 as one case of 20."""
    return f"{1 / (1 - level):,.0f}"


def _grid(pairs: Sequence[LonePair], level: float, decimals: int, scale: Scale) -> Grid:
    borrowed = [pair.predicted for pair in pairs if pair.predicted is not None]
    return Grid(
        stub=SHAPE,
        labels=tuple(pair.shape for pair in pairs),
        columns=(
            column("boost %", [percent_cell(pair.boost, decimals) for pair in pairs]),
            column("tips at %", [percent_cell(pair.tipping, 2, signed=False) for pair in pairs]),
            column(
                "for all %",
                [percent_cell(pair.tipping_simultaneous, 2, signed=False) for pair in pairs],
                gives_way=2,
            ),
            *(_borrowed(pairs, borrowed, level, decimals, scale) if borrowed else ()),
        ),
    )


def _borrowed(
    pairs: Sequence[LonePair],
    borrowed: Sequence[Predicted],
    level: float,
    decimals: int,
    scale: Scale,
) -> Iterator[Column | Drawn]:
    """Columns of what other runs' noise makes of each boost."""
    alone = [(row.boost_low, row.boost_high) for row in borrowed]
    together = [(row.boost_low_simultaneous, row.boost_high_simultaneous) for row in borrowed]
    yield column("noise %", [_noise(row) for row in borrowed], gives_way=1)
    yield column(f"{plain_percent(level)} interval", bounded(alone, decimals))
    yield column("for all", bounded(together, decimals), gives_way=3)
    drawn = tuple(
        Interval(low=low, value=pair.boost, high=high, wide_low=wide_low, wide_high=wide_high)
        for pair, (low, high), (wide_low, wide_high) in zip(pairs, alone, together, strict=True)
    )
    yield Drawn(intervals=drawn, scale=scale, gives_way=4)


def _lenders(outside: OutsideNoise) -> Grid:
    sides = outside.baseline, outside.candidate
    return Grid(
        stub="configuration",
        labels=tuple(side.config for side in sides),
        columns=(
            column("usual noise %", [spread_percent(side.spread) for side in sides]),
            column("freedom", [_freedom(side) for side in sides]),
            column("shapes", [str(side.shapes) for side in sides]),
            column("seeds", [str(side.seeds) for side in sides]),
        ),
    )


def _freedom(side: OutsideSide) -> str:
    return f"{side.freedom:.1f}" if math.isfinite(side.freedom) else "unlimited"


def _assumption(assumption: Assumption) -> str:
    detail = f" ({assumption.detail})" if assumption.detail else ""
    return f"{assumption.standing.value}: {assumption.what}{detail}."


def _noise(row: Predicted) -> str:
    sides = "/".join(map(spread_percent, (row.noise_baseline, row.noise_candidate)))
    return sides if row.known or sides == f"{NOTHING}/{NOTHING}" else f"~{sides}"


def _decimals(pairs: Sequence[LonePair]) -> int:
    """Boosts without an interval are written as published tables do, with two decimals."""
    known = [pair.predicted for pair in pairs if pair.predicted is not None]
    return boost_decimals((row.boost_high - row.boost_low) / 2 for row in known)


def _scale(pairs: Sequence[LonePair]) -> Scale:
    """Return a scale with every boost on it."""
    boosts = [pair.boost for pair in pairs]
    reach = max(map(abs, boosts)) or 0.01
    return Scale(low=min(0.0, *boosts) - reach / 2, high=max(0.0, *boosts) + reach / 2, margin=0.0)


def _legend(found: SingleRun, name: str) -> str:
    rows = [pair.predicted for pair in found.shapes if pair.predicted is not None]
    alone = [(row.boost_low, row.boost_high) for row in rows]
    together = [(row.boost_low_simultaneous, row.boost_high_simultaneous) for row in rows]
    return _BORROWED.format(
        name=name,
        shapes=len(rows),
        alone=sum(low > 0 or high < 0 for low, high in alone),
        together=sum(low > 0 or high < 0 for low, high in together),
    )
