"""What a table with one run per cell supports: as a whole, and how much noise makes each boost luck."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from abtune.compare.results import Analysis, Comparison
from abtune.errors import InputError
from abtune.sections.single_run.borrowed_noise import Loan, OutsideNoise, assumptions, borrow
from abtune.stats.across_shapes import Estimate, noise_bound, sign, signed_rank, student, without_rounding
from abtune.stats.estimates import from_log
from abtune.stats.moderated import predictive_interval, tipping_point
from abtune.stats.two_sample import Floats
from abtune.text import count, p_value

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
    typical: Estimate  # Hodges-Lehmann estimate of the boost, signed-rank test
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


def describe_single_runs(
    dataset: xr.Dataset, analysis: Analysis, outside: tuple[str, xr.Dataset] | None = None
) -> SingleRun:
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
            assumptions=assumptions(dataset, lent, loans, limit=together[-1].noise_limit),
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
            typical=_as_boost(signed_rank(part, level=level)),
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
        yield f"The sign and signed-rank tests leave out {count(equal, 'shape')} with exactly equal times."
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
