"""Shapes with one run a side: what noise each boost would bear, and its interval if noise is borrowed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from abtune.compare.results import Comparison
from abtune.sections.single_run.borrowed_noise import Loan
from abtune.stats.boost import from_log
from abtune.stats.noise.borrowed import predictive_interval, tipping_point
from abtune.stats.two_sample import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """The interval of a boost from one run a side and noise of other runs; NaN where none was lent.

    Attributes
    ----------
    noise_baseline, noise_candidate : float
        Standard deviation of log latency over runs, borrowed.
    known : bool
        Whether it comes from runs of this shape on both sides, or else is what is usual there.
    freedom : float
        Degrees of freedom of the interval.
    boost_low, boost_high : float
        For this shape by itself; fractions.
    boost_low_simultaneous, boost_high_simultaneous : float
        Those of all shapes hold at once, with the level's probability (Bonferroni).
    """

    noise_baseline: float
    noise_candidate: float
    known: bool
    freedom: float
    boost_low: float
    boost_high: float
    boost_low_simultaneous: float
    boost_high_simultaneous: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LonePair:
    """One shape with one run a side.

    Attributes
    ----------
    shape, workload : str
        Label and kind.
    boost : float
        Of these two runs; a fraction.
    tipping, tipping_simultaneous : float
        Search noise from which on so large a difference is not distinguishable from none, by itself and
        corrected over the shapes; standard deviation of log latency, about a coefficient of variation.
    predicted : Predicted or None
        With noise from another dataset.
    """

    shape: str
    workload: str
    boost: float
    tipping: float
    tipping_simultaneous: float
    predicted: Predicted | None


def log_ratios(rows: Sequence[Comparison]) -> Floats:
    """Return the log speedup of each lone pair."""
    ratio: Floats = np.log([row.baseline.latency for row in rows]) - np.log(
        [row.candidate.latency for row in rows]
    )
    return ratio


def describe_pairs(
    rows: Sequence[Comparison], loans: tuple[Loan, Loan] | None, *, level: float
) -> tuple[LonePair, ...]:
    """Describe shapes with one run a side.

    Parameters
    ----------
    rows : sequence of Comparison
        With one run a side each.
    loans : tuple of Loan, optional
        Noise of baseline and candidate.
    level : float
        Confidence level, a fraction.
    """
    logs, together = log_ratios(rows), 1 - (1 - level) / len(rows)
    tipping = tipping_point(logs, level=level), tipping_point(logs, level=together)
    predicted = [None] * len(rows) if loans is None else list(_predict(logs, loans, (level, together)))
    return tuple(
        LonePair(
            shape=row.shape,
            workload=row.workload,
            boost=row.boost,
            tipping=float(alone),
            tipping_simultaneous=float(corrected),
            predicted=interval,
        )
        for row, alone, corrected, interval in zip(rows, *tipping, predicted, strict=True)
    )


def _predict(logs: Floats, loans: tuple[Loan, Loan], levels: tuple[float, float]) -> Iterator[Predicted]:
    lent = [loan.lent for loan in loans]
    alone, together = (predictive_interval(logs, *lent, level=level) for level in levels)
    for at in range(len(logs)):
        yield Predicted(
            noise_baseline=float(np.sqrt(lent[0].variance[at])),
            noise_candidate=float(np.sqrt(lent[1].variance[at])),
            known=all(loan.known[at] for loan in loans),
            freedom=float(min(part.freedom[at] for part in lent)),
            boost_low=from_log(alone.low[at]),
            boost_high=from_log(alone.high[at]),
            boost_low_simultaneous=from_log(together.low[at]),
            boost_high_simultaneous=from_log(together.high[at]),
        )
