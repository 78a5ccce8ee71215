"""What the shapes of a table with one run a cell say together: how much faster, and with how much noise."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from abtune.compare.results import Comparison
from abtune.sections.single_run.pairs import LonePair, log_ratios
from abtune.stats.boost import from_log
from abtune.stats.shapes.shape_sample import (
    Estimate,
    noise_bound,
    sign,
    signed_rank,
    student,
    without_rounding,
)
from abtune.stats.two_sample import Floats

ALL = "all shapes"
# Search noise of a run, from what hardly any tuner stays below to what is usual.
NOISE = (0.01, 0.02, 0.03, 0.05, 0.08)


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """What several shapes say together.

    Attributes
    ----------
    name : str
        Kind of workload, or all shapes.
    shapes, faster, slower : int
        How many, and in how many the candidate's run was faster or slower; the rest are equal.
    mean : Estimate
        Geometric mean boost, Student's t on logs.
    typical : Estimate
        Hodges-Lehmann estimate of the boost, signed-rank test.
    share : Estimate
        Of shapes in which the candidate was faster, sign test.
    spread : float
        Standard deviation of the log ratios.
    noise, noise_limit : float
        Search noise of a run at the most, estimate and one-sided upper limit.
    """

    name: str
    shapes: int
    faster: int
    slower: int
    mean: Estimate
    typical: Estimate
    share: Estimate
    spread: float
    noise: float
    noise_limit: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Surviving:
    """How many boosts are distinguishable from none at a search noise: one by one, and all corrected."""

    noise: float
    alone: int
    simultaneous: int


def together(rows: Sequence[Comparison], *, level: float) -> Iterator[Together]:
    """Describe each kind of workload, if there are several, and all shapes.

    Parameters
    ----------
    rows : sequence of Comparison
        With one run a side each.
    level : float
        Confidence level, a fraction.
    """
    logs = log_ratios(rows)
    kinds = dict.fromkeys(row.workload for row in rows)
    if len(kinds) > 1:
        for kind in kinds:
            yield _describe(kind or "others", logs[[row.workload == kind for row in rows]], level)
    yield _describe(ALL, logs, level)


def surviving(pairs: Sequence[LonePair]) -> tuple[Surviving, ...]:
    """Count the boosts that each noise leaves distinguishable from none."""
    return tuple(
        Surviving(
            noise=noise,
            alone=sum(pair.tipping > noise for pair in pairs),
            simultaneous=sum(pair.tipping_simultaneous > noise for pair in pairs),
        )
        for noise in NOISE
    )


def _describe(name: str, logs: Floats, level: float) -> Together:
    bound, signed = noise_bound(logs, level=level), without_rounding(logs)
    return Together(
        name=name,
        shapes=len(logs),
        faster=int(np.count_nonzero(signed > 0)),
        slower=int(np.count_nonzero(signed < 0)),
        mean=_as_boost(student(logs, level=level)),
        typical=_as_boost(signed_rank(logs, level=level)),
        share=sign(logs, level=level),
        spread=bound.spread,
        noise=bound.noise,
        noise_limit=bound.limit,
    )


def _as_boost(estimate: Estimate) -> Estimate:
    """Turn an estimate of a log ratio into one of a boost."""
    ends = {name: from_log(getattr(estimate, name)) for name in ("value", "low", "high")}
    return dataclasses.replace(estimate, **ends)
