"""The page about a table with one run per cell: the table, then how much noise makes each boost luck."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from abtune.dataset.netcdf import open_dataset
from abtune.report.columns import intervals
from abtune.report.page import (
    SHAPE,
    Bullets,
    Column,
    Drawn,
    Grid,
    Heading,
    Part,
    Prose,
    Section,
    column,
    table,
)
from abtune.report.scale import Interval, Scale
from abtune.sections.section_registry import Context
from abtune.sections.single_run.borrowed_noise import OutsideNoise, Standing
from abtune.sections.single_run.single_run import (
    Predicted,
    SingleRun,
    SingleRunPair,
    Together,
    describe_single_runs,
)
from abtune.text import NOTHING, boost_decimals, p_value, percent_cell, plain_percent, spread_percent

_NO_VERDICT = (
    "No shape is judged here. Two runs differ by the luck of two searches as well as by configuration. One "
    "run per side does not show how large that luck is."
)
_TOGETHER = (
    "Are shapes like these faster? Three answers to this one question, not three confirmations. mean: "
    "geometric mean boost with Student's t on logs. typical: Hodges-Lehmann estimate with the signed-rank "
    "test, which a few large boosts move little. faster: share of shapes with the sign test and the exact "
    "(Clopper-Pearson) interval, whatever the size of boosts. p: if there were no boost; not corrected for "
    "the number of rows."
)
_NOISE = (
    "Search noise is the standard deviation of log latency between runs of one configuration, about a "
    "coefficient of variation. spread: standard deviation of the log boosts over shapes. True differences "
    "and the noise of two runs add up to it. So the noise of a run (root mean square of both sides) is at "
    "most spread/sqrt(2). upper limit: one-sided {level}, chi-square."
)
_LENDERS = (
    "usual noise: for shapes that have no runs there. Other shapes have their own noise, drawn towards it. "
    "freedom: its degrees of freedom. Few mean that shapes differ much in their noise, and give wider "
    "intervals."
)
_TIPPING = (
    "tips at: if the search noise is above this, two runs of one configuration differ as much in 1 case "
    "of {odds}, so the boost could be luck. for all: the same for all shapes at once (Bonferroni). Trust a "
    "boost only if the noise is known to be less."
)
_BORROWED = (
    "noise: of baseline/candidate, from {name}; ~ marks shapes that have no runs there. interval: of the "
    "boost over many runs, if the noise here is like the noise there (none: beyond a hundred times). for "
    "all: all shapes at once (Bonferroni). {alone} of {shapes} intervals exclude zero, {together} of those "
    "for all."
)
# An interval that allows for a hundred times faster or slower says nothing.
_LARGEST = 100


def single_run_section(context: Context) -> Section:
    """Return what single runs support, with the noise of another dataset if one is named."""
    name = context.values.get("noise_from")
    outside = None if name is None else (name, open_dataset(name))
    found = describe_single_runs(context.dataset, context.analysis, outside)
    return Section(name="single_run", page=tuple(_parts(found)), result=found)


def _parts(found: SingleRun) -> Iterator[Part]:
    level, odds = plain_percent(found.level), f"{1 / (1 - found.level):,.0f}"
    yield Heading("one run per cell")
    yield Prose(_NO_VERDICT)
    yield Heading("the shapes together", minor=True)
    yield _estimates(found.together, level)
    yield Prose(_TOGETHER, remark=True)
    yield Heading("how noisy the searches can be", minor=True)
    yield table(
        "shapes",
        [f"{row.name}, {row.shapes}" for row in found.together],
        column("spread %", _percents([row.spread for row in found.together], 1)),
        column("noise at most %", _percents([row.noise for row in found.together], 1)),
        column("upper limit %", _percents([row.noise_limit for row in found.together], 1)),
    )
    yield Prose(_NOISE.format(level=level), remark=True)
    if found.outside is not None:
        yield from _about_lenders(found.outside)
    yield from _shape_by_shape(found.shapes, level)
    yield Prose(_TIPPING.format(odds=odds), remark=True)
    if found.outside is not None:
        alone, together = (
            sum(low > 0 or high < 0 for low, high in bounds)
            for bounds in _intervals(_predicted(found.shapes))
        )
        numbers = {"shapes": len(found.shapes), "alone": alone, "together": together}
        yield Prose(_BORROWED.format(name=found.outside.dataset, **numbers), remark=True)
    names = ", ".join(found.left_out)
    left_out = [f"Left out, because they have not one run per side: {names}."] if names else []
    yield Bullets((*found.caveats, *left_out))


def _percents(values: Iterable[float], decimals: int) -> list[str]:
    return [percent_cell(value, decimals, signed=False) for value in values]


def _estimates(rows: Sequence[Together], level: str) -> Grid:
    """Return three rows for each kind of shapes: mean boost, typical boost, share of shapes."""
    bounds = iter(_bounded([(part.low, part.high) for row in rows for part in (row.mean, row.typical)], 2))
    lines = []
    for row in rows:
        for name, estimate in (("mean", row.mean), ("typical", row.typical)):
            lines.append((name, percent_cell(estimate.value, 2), next(bounds), p_value(estimate.p)))
        ends = _percents((row.share.low, row.share.high), 0)
        share = NOTHING if NOTHING in ends else f"{ends[0]}% to {ends[1]}%"
        lines.append(("faster", f"{row.faster} of {row.faster + row.slower}", share, p_value(row.share.p)))
    headings = "", "boost %", f"{level} interval", "p"
    columns = (
        column(heading, cells, kind="number" if heading else "word")
        for heading, cells in zip(headings, zip(*lines, strict=True), strict=True)
    )
    return table("shapes", [f"{row.name}, {row.shapes}" for row in rows for _ in range(3)], *columns)


def _about_lenders(outside: OutsideNoise) -> Iterator[Part]:
    sides = outside.baseline, outside.candidate
    freedom = [f"{side.freedom:.1f}" if math.isfinite(side.freedom) else "unlimited" for side in sides]
    yield Heading(f"noise from {outside.dataset}", minor=True)
    yield table(
        "configuration",
        [side.config for side in sides],
        column("usual noise %", [spread_percent(side.spread) for side in sides]),
        column("freedom", freedom),
        column("shapes", [str(side.shapes) for side in sides]),
        column("seeds", [str(side.seeds) for side in sides]),
    )
    yield Prose(_LENDERS, remark=True)
    worst_first = sorted(outside.assumptions, key=lambda row: list(Standing).index(row.standing))
    yield Bullets(
        tuple(f"{row.standing}: {row.what}{row.detail and f' ({row.detail})'}." for row in worst_first)
    )


def _shape_by_shape(shapes: Sequence[SingleRunPair], level: str) -> Iterator[Part]:
    """Yield a table for each kind of workload; all have the same decimals and scale."""
    # Boosts without an interval are written as published tables do, with two decimals.
    decimals = boost_decimals((row.boost_high - row.boost_low) / 2 for row in _predicted(shapes))
    boosts = [pair.boost for pair in shapes]
    reach = max(map(abs, boosts)) or 0.01
    scale = Scale(low=min(0.0, *boosts) - reach / 2, high=max(0.0, *boosts) + reach / 2, margin=0.0)
    for workload in dict.fromkeys(pair.workload for pair in shapes):
        pairs = [pair for pair in shapes if pair.workload == workload]
        simultaneous = _percents([pair.tipping_simultaneous for pair in pairs], 2)
        yield Heading(f"shape by shape{workload and f': {workload}'}", minor=True)
        yield table(
            SHAPE,
            [pair.shape for pair in pairs],
            column("boost %", [percent_cell(pair.boost, decimals) for pair in pairs]),
            column("tips at %", _percents([pair.tipping for pair in pairs], 2)),
            column("for all %", simultaneous, gives_way=2),
            *_borrowed(pairs, level, decimals, scale),
        )


def _borrowed(
    pairs: Sequence[SingleRunPair], level: str, decimals: int, scale: Scale
) -> Iterator[Column | Drawn]:
    rows = _predicted(pairs)
    if not rows:
        return
    alone, together = _intervals(rows)
    yield column("noise %", [_noise(row) for row in rows], gives_way=1)
    yield column(f"{level} interval", _bounded(alone, decimals))
    yield column("for all", _bounded(together, decimals), gives_way=3)
    drawn = tuple(
        Interval(low=low, value=pair.boost, high=high, wide_low=wide_low, wide_high=wide_high)
        for pair, (low, high), (wide_low, wide_high) in zip(pairs, alone, together, strict=True)
    )
    yield Drawn(intervals=drawn, scale=scale, gives_way=4)


def _predicted(pairs: Sequence[SingleRunPair]) -> list[Predicted]:
    return [pair.predicted for pair in pairs if pair.predicted is not None]


def _intervals(rows: Sequence[Predicted]) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    alone = [(row.boost_low, row.boost_high) for row in rows]
    return alone, [(row.boost_low_simultaneous, row.boost_high_simultaneous) for row in rows]


def _bounded(bounds: Sequence[tuple[float, float]], decimals: int) -> tuple[str, ...]:
    """Return intervals in percent, but ``none`` where an end is beyond a hundred times faster or slower."""
    none = [low < 1 / _LARGEST - 1 or high > _LARGEST - 1 for low, high in bounds]
    kept = [(math.nan, math.nan) if lost else ends for ends, lost in zip(bounds, none, strict=True)]
    texts = zip(intervals(kept, decimals), none, strict=True)
    return tuple("none" if lost else text for text, lost in texts)


def _noise(row: Predicted) -> str:
    sides = "/".join(map(spread_percent, (row.noise_baseline, row.noise_candidate)))
    return sides if row.known or sides == f"{NOTHING}/{NOTHING}" else f"~{sides}"
