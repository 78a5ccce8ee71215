"""What a table with one run per cell supports: as a whole, and how much noise makes each boost luck."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from abtune.compare.results import Analysis, Comparison
from abtune.dataset.netcdf import open_dataset
from abtune.errors import InputError
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
from abtune.sections.single_run.borrowed_noise import Loan, OutsideNoise, Standing, assumptions, borrow
from abtune.stats.across_shapes import Estimate, noise_bound, sign, student, without_rounding
from abtune.stats.estimates import from_log
from abtune.stats.moderated import predictive_interval, tipping_point
from abtune.stats.two_sample import Floats
from abtune.text import NOTHING, boost_decimals, count, p_value, percent_cell, plain_percent, spread_percent

ALL = "all shapes"
# Fewer lenders do not tell how much shapes differ in their noise.
_FEW_LENDERS = 3
_NO_BIAS = (
    "All of this assumes three things. Runs of different shapes are independent. No shape was chosen for its "
    "result. Only the configuration differs between the runs: another day, or another load on the machine, "
    "would shift all shapes and count as boost."
)
_COVERAGE = (
    "If the noise is alike here and there, 95% intervals include the true boost for 93 to 97% of the shapes. "
    "For the noisiest fifth of the shapes, which cannot be identified, it is 78 to 94%. With skewed noise, "
    "simultaneous intervals may hold in only 74% of tables."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """The interval of a boost from one run per side and noise of other runs; NaN where none was lent."""

    noise_baseline: float  # standard deviation of log latency over runs, borrowed
    noise_candidate: float
    known: bool  # whether it comes from runs of this shape on both sides
    freedom: float
    boost_low: float  # for this shape by itself; fractions
    boost_high: float
    boost_low_simultaneous: float  # for all shapes at once (Bonferroni)
    boost_high_simultaneous: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleRunPair:
    """One shape with one run per side."""

    shape: str
    workload: str
    boost: float
    tipping: float  # search noise above which the difference could be chance
    tipping_simultaneous: float  # the same corrected over the shapes
    predicted: Predicted | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """What several shapes say together."""

    name: str  # kind of workload, or all shapes
    shapes: int
    faster: int  # shapes in which the candidate's run was faster
    slower: int
    mean: Estimate  # geometric mean boost, Student's t on logs
    share: Estimate  # of shapes in which the candidate was faster, sign test
    spread: float  # standard deviation of the log ratios
    noise: float  # upper bound of the search noise of a run
    noise_limit: float  # its one-sided upper limit


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleRun:
    """All that can be said of shapes with one run per side."""

    baseline: str
    candidate: str
    level: float
    together: tuple[Together, ...]  # each kind of workload, if there are several, and all shapes
    shapes: tuple[SingleRunPair, ...]
    outside: OutsideNoise | None
    left_out: tuple[str, ...]  # shapes with more or fewer runs than one per side
    caveats: tuple[str, ...]


def describe_single_runs(analysis: Analysis, outside: tuple[str, xr.Dataset] | None = None) -> SingleRun:
    """Return what the shapes with one run per side support; ``outside`` lends noise: a name and a dataset."""
    names, level = (analysis.baseline, analysis.candidate), analysis.level
    rows = [row for row in analysis.comparisons if row.baseline.n == row.candidate.n == 1]
    if not rows:
        raise InputError(
            f"no shape has one run of both {names[0]} and {names[1]}; with several seeds, the report itself "
            "judges the shapes"
        )
    logs = np.log([row.baseline.latency for row in rows]) - np.log([row.candidate.latency for row in rows])
    together = tuple(_together([row.workload for row in rows], logs, level))
    labels = [row.shape for row in rows]
    loans = borrowed = None
    if outside is not None:
        lender, lent = outside
        loans = borrow(lender, lent, names[0], labels), borrow(lender, lent, names[1], labels)
        borrowed = OutsideNoise(
            dataset=lender,
            baseline=loans[0].side,
            candidate=loans[1].side,
            assumptions=assumptions(analysis.analysed, lent, loans, limit=together[-1].noise_limit),
        )
    pairs = tuple(_pairs(rows, logs, loans, level))
    return SingleRun(
        baseline=names[0],
        candidate=names[1],
        level=level,
        together=together,
        shapes=pairs,
        outside=borrowed,
        left_out=tuple(row.shape for row in analysis.comparisons if row.shape not in set(labels)),
        caveats=(*_about_shapes(together, level), *(_about_noise(loans, pairs) if loans else ())),
    )


def _pairs(
    rows: Sequence[Comparison], logs: Floats, loans: tuple[Loan, Loan] | None, level: float
) -> Iterator[SingleRunPair]:
    levels = level, 1 - (1 - level) / len(rows)  # of one shape, and of all by Bonferroni
    tipping = [tipping_point(logs, level=one) for one in levels]
    predicted = [None] * len(rows) if loans is None else _predicted(logs, loans, levels)
    for row, alone, corrected, interval in zip(rows, *tipping, predicted, strict=True):
        yield SingleRunPair(
            shape=row.shape,
            workload=row.workload,
            boost=row.boost,
            tipping=float(alone),
            tipping_simultaneous=float(corrected),
            predicted=interval,
        )


def _predicted(logs: Floats, loans: tuple[Loan, Loan], levels: tuple[float, float]) -> Iterator[Predicted]:
    first, second = (loan.lent for loan in loans)
    alone, together = (predictive_interval(logs, first, second, level=level) for level in levels)
    for index in range(len(logs)):
        yield Predicted(
            noise_baseline=float(np.sqrt(first.variance[index])),
            noise_candidate=float(np.sqrt(second.variance[index])),
            known=all(loan.known[index] for loan in loans),
            freedom=float(min(first.freedom[index], second.freedom[index])),
            boost_low=from_log(alone.low[index]),
            boost_high=from_log(alone.high[index]),
            boost_low_simultaneous=from_log(together.low[index]),
            boost_high_simultaneous=from_log(together.high[index]),
        )


def _together(workloads: Sequence[str], logs: Floats, level: float) -> Iterator[Together]:
    """Yield what each kind of workload says, if there are several, and all shapes."""
    groups = {kind or "others": [one == kind for one in workloads] for kind in dict.fromkeys(workloads)}
    parts = {name: logs[chosen] for name, chosen in groups.items()} if len(groups) > 1 else {}
    for name, part in (*parts.items(), (ALL, logs)):
        spread, noise, limit = noise_bound(part, level=level)
        signed = without_rounding(part)
        yield Together(
            name=name,
            shapes=len(part),
            faster=int(np.count_nonzero(signed > 0)),
            slower=int(np.count_nonzero(signed < 0)),
            mean=_as_boost(student(part, level=level)),
            share=sign(part, level=level),
            spread=spread,
            noise=noise,
            noise_limit=limit,
        )


def _as_boost(log: Estimate) -> Estimate:
    return replace(log, value=from_log(log.value), low=from_log(log.low), high=from_log(log.high))


def _about_shapes(parts: Sequence[Together], level: float) -> Iterator[str]:
    yield _NO_BIAS
    whole = parts[-1]
    equal = whole.shapes - whole.faster - whole.slower
    if equal:
        yield f"The sign test leaves out {count(equal, 'shape')} with exactly equal times."
    for part in parts:
        n = part.faster + part.slower
        if part.shapes == 1:
            yield f"{part.name}: one shape says nothing about other shapes."
        elif math.isnan(part.spread):
            yield f"{part.name}: all shapes have the same ratio, so the spread of ratios is unknown."
        # Even if all shapes agreed: both tails of n fair coins.
        elif n > 0 and 2.0 ** (1 - n) > 1 - level:
            yield f"{part.name}: the sign test of {n} shapes cannot give a p below {p_value(2.0 ** (1 - n))}."


def _about_noise(loans: tuple[Loan, Loan], pairs: Sequence[SingleRunPair]) -> Iterator[str]:
    yield _COVERAGE
    unknown = sum(math.isnan(pair.predicted.boost_low) for pair in pairs if pair.predicted is not None)
    if unknown:
        yield (
            f"{count(unknown, 'shape')} without an interval: the seeds there agree exactly, which says "
            "nothing about the noise of a search."
        )
    if min(loan.side.shapes for loan in loans) < _FEW_LENDERS:
        yield "Fewer than three shapes do not show how much shapes differ in their noise."


_NO_VERDICT = (
    "No shape is judged here. Two runs differ by the luck of two searches as well as by configuration. One "
    "run per side does not show how large that luck is."
)
_TOGETHER = (
    "Are shapes like these faster? Two answers to this one question, not two confirmations. mean: geometric "
    "mean boost with Student's t on logs. faster: share of shapes with the sign test and the exact "
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
    found = describe_single_runs(context.analysis, outside)
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
            for bounds in _intervals(_predictions(found.shapes))
        )
        numbers = {"shapes": len(found.shapes), "alone": alone, "together": together}
        yield Prose(_BORROWED.format(name=found.outside.dataset, **numbers), remark=True)
    names = ", ".join(found.left_out)
    left_out = [f"Left out, because they have not one run per side: {names}."] if names else []
    yield Bullets((*found.caveats, *left_out))


def _percents(values: Iterable[float], decimals: int) -> list[str]:
    return [percent_cell(value, decimals, signed=False) for value in values]


def _estimates(rows: Sequence[Together], level: str) -> Grid:
    """Return two rows for each kind of shapes: mean boost, share of shapes."""
    bounds = _bounded([(row.mean.low, row.mean.high) for row in rows], 2)
    lines = []
    for row, bound in zip(rows, bounds, strict=True):
        lines.append(("mean", percent_cell(row.mean.value, 2), bound, p_value(row.mean.p)))
        ends = _percents((row.share.low, row.share.high), 0)
        share = NOTHING if NOTHING in ends else f"{ends[0]}% to {ends[1]}%"
        lines.append(("faster", f"{row.faster} of {row.faster + row.slower}", share, p_value(row.share.p)))
    headings = "", "boost %", f"{level} interval", "p"
    columns = (
        column(heading, cells, kind="number" if heading else "word")
        for heading, cells in zip(headings, zip(*lines, strict=True), strict=True)
    )
    return table("shapes", [f"{row.name}, {row.shapes}" for row in rows for _ in range(2)], *columns)


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
    decimals = boost_decimals((row.boost_high - row.boost_low) / 2 for row in _predictions(shapes))
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
    rows = _predictions(pairs)
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


def _predictions(pairs: Sequence[SingleRunPair]) -> list[Predicted]:
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
