"""What a table with one run per cell supports: as a whole, and how much noise makes each boost luck."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from abtune.compare.results import Analysis
from abtune.errors import InputError
from abtune.report.columns import intervals
from abtune.report.page import SHAPE, Bullets, Grid, Heading, Part, Prose, Section, column, table
from abtune.stats.across_shapes import Estimate, noise_bound, sign, student, without_rounding
from abtune.stats.estimates import EqualWithNaN, from_log
from abtune.stats.moderated import tipping_point
from abtune.stats.two_sample import Floats
from abtune.text import NOTHING, count, p_value, percent_cell, plain_percent

ALL = "all shapes"
_NO_BIAS = (
    "All of this assumes three things. Runs of different shapes are independent. No shape was chosen for its "
    "result. Only the configuration differs between the runs: another day, or another load on the machine, "
    "would shift all shapes and count as boost."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleRunPair:
    """One shape with one run per side."""

    shape: str
    workload: str
    boost: float
    tipping: float  # search noise above which the difference could be chance
    tipping_simultaneous: float  # the same corrected over the shapes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Together(EqualWithNaN):
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
    left_out: tuple[str, ...]  # shapes with more or fewer runs than one per side
    caveats: tuple[str, ...]


def describe_single_runs(analysis: Analysis) -> SingleRun:
    """Return what the shapes with one run per side support."""
    names, level = (analysis.baseline, analysis.candidate), analysis.level
    rows = [row for row in analysis.comparisons if row.n == (1, 1)]
    if not rows:
        raise InputError(
            f"no shape has exactly one run of {names[0]} and one of {names[1]}; the report itself judges "
            "shapes with several seeds"
        )
    used = {row.shape for row in rows}
    logs = np.log([row.baseline.latency for row in rows]) - np.log([row.candidate.latency for row in rows])
    together = tuple(_together([row.workload for row in rows], logs, level))
    for_all = 1 - (1 - level) / len(rows)  # by Bonferroni
    tipping = [tipping_point(logs, level=one).tolist() for one in (level, for_all)]
    return SingleRun(
        baseline=names[0],
        candidate=names[1],
        level=level,
        together=together,
        shapes=tuple(
            SingleRunPair(
                shape=row.shape,
                workload=row.workload,
                boost=row.boost,
                tipping=alone,
                tipping_simultaneous=corrected,
            )
            for row, alone, corrected in zip(rows, *tipping, strict=True)
        ),
        left_out=tuple(row.shape for row in analysis.comparisons if row.shape not in used),
        caveats=tuple(_caveats(together, level)),
    )


def _together(workloads: Sequence[str], logs: Floats, level: float) -> Iterator[Together]:
    """Yield what each kind of workload says, if there are several, and all shapes."""
    groups = {kind or "others": [one == kind for one in workloads] for kind in dict.fromkeys(workloads)}
    parts = {name: logs[chosen] for name, chosen in groups.items()} if len(groups) > 1 else {}
    for name, values in (*parts.items(), (ALL, logs)):
        spread, noise, limit = noise_bound(values, level=level)
        signed, mean = without_rounding(values), student(values, level=level)
        yield Together(
            name=name,
            shapes=len(values),
            faster=int(np.count_nonzero(signed > 0)),
            slower=int(np.count_nonzero(signed < 0)),
            mean=replace(mean, value=from_log(mean.value), low=from_log(mean.low), high=from_log(mean.high)),
            share=sign(values, level=level),
            spread=spread,
            noise=noise,
            noise_limit=limit,
        )


def _caveats(parts: Sequence[Together], level: float) -> Iterator[str]:
    yield _NO_BIAS
    whole = parts[-1]
    equal = whole.shapes - whole.faster - whole.slower
    if equal:
        yield f"The sign test leaves out {count(equal, 'shape')} with exactly equal times."
    for row in parts:
        n = row.faster + row.slower
        if row.shapes == 1:
            yield f"{row.name}: one shape says nothing about other shapes."
        elif math.isnan(row.spread):
            yield f"{row.name}: all shapes have the same ratio, so the spread of ratios is unknown."
        # Even if all shapes agreed: both tails of n fair coins.
        elif n > 0 and 2.0 ** (1 - n) > 1 - level:
            yield f"{row.name}: the sign test of {n} shapes cannot give a p below {p_value(2.0 ** (1 - n))}."


_NO_VERDICT = (
    "No shape is judged here. Two runs differ by the luck of two searches as well as by configuration. One "
    "run of each does not show how large that luck is."
)
_TOGETHER = (
    "Are shapes like these faster? The rows mean and faster are two answers from the same data. "
    "mean: geometric mean boost with Student's t on logs. faster: share of shapes with the sign test and the "
    "exact (Clopper-Pearson) interval, whatever the size of boosts. p: test of no boost, not corrected over "
    "the rows."
)
_NOISE = (
    "Search noise is the standard deviation of log latency between runs of one configuration, about a "
    "coefficient of variation. spread: standard deviation of the log boosts over shapes. It contains true "
    "differences and the noise of two runs. So the noise of a run (root mean square of both "
    "configurations) is at most spread/sqrt(2). upper limit: one-sided {level}, chi-square, for normal "
    "noise. If 1 run in 15 is far slower, this limit is too low in up to half of such tables (simulated, "
    "docs/single-runs.md)."
)
_TIPPING = (
    "tips at: above this search noise, the boost could be luck. If noise is normal, two runs of one "
    "configuration then differ as much in 1 case of {odds}. for all: the same for all shapes at once "
    "(Bonferroni). Trust a boost only if the noise is known to be less."
)


def single_run_section(analysis: Analysis) -> Section:
    """Return what single runs support."""
    result = describe_single_runs(analysis)
    return Section(name="single_run", page=tuple(_parts(result)), result=result)


def _parts(result: SingleRun) -> Iterator[Part]:
    level, odds = plain_percent(result.level), f"{1 / (1 - result.level):,.0f}"
    yield Heading("one run per cell")
    yield Prose(_NO_VERDICT)
    yield Heading("the shapes together", minor=True)
    yield _estimates(result.together, level)
    yield Prose(_TOGETHER, remark=True)
    yield Heading("how noisy the searches can be", minor=True)
    yield table(
        "shapes",
        [f"{row.name}, {row.shapes}" for row in result.together],
        column("spread %", _percents([row.spread for row in result.together], 1)),
        column("noise at most %", _percents([row.noise for row in result.together], 1)),
        column("upper limit %", _percents([row.noise_limit for row in result.together], 1)),
    )
    yield Prose(_NOISE.format(level=level), remark=True)
    yield from _shape_by_shape(result.shapes)
    yield Prose(_TIPPING.format(odds=odds), remark=True)
    names = ", ".join(result.left_out)
    left_out = [f"Left out, because they do not have one run per configuration: {names}."] if names else []
    yield Bullets((*result.caveats, *left_out))


def _percents(values: Iterable[float], decimals: int) -> list[str]:
    return [percent_cell(value, decimals, signed=False) for value in values]


def _estimates(rows: Sequence[Together], level: str) -> Grid:
    bounds = intervals([(row.mean.low, row.mean.high) for row in rows], 2)
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


def _shape_by_shape(shapes: Sequence[SingleRunPair]) -> Iterator[Part]:
    for workload in dict.fromkeys(pair.workload for pair in shapes):
        pairs = [pair for pair in shapes if pair.workload == workload]
        yield Heading(f"shape by shape{workload and f': {workload}'}", minor=True)
        yield table(
            SHAPE,
            [pair.shape for pair in pairs],
            column("boost %", [percent_cell(pair.boost, 2) for pair in pairs]),  # as published tables write
            column("tips at %", _percents([pair.tipping for pair in pairs], 2)),
            column("for all %", _percents([pair.tipping_simultaneous for pair in pairs], 2), gives_way=2),
        )
