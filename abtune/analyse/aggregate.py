"""One number over all shapes, for two questions that are never mixed.

*These shapes*: the geometric mean boost over exactly the shapes at hand; its error comes from the seeds.
*Shapes like these*: the same for a population that the shapes were drawn from; its error comes from the
spread over shapes, and is two to three times larger.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from abtune.analyse.boost import from_log
from abtune.analyse.comparison import Aggregate, Overall
from abtune.analyse.samples import Samples
from abtune.stats.ragged import Floats
from abtune.stats.variance import welch_freedom

THESE = "geometric mean over exactly these shapes; error from the seeds"
LIKE_THESE = "geometric mean over shapes of which these are a sample; error from the spread over shapes"


@dataclass(frozen=True, slots=True, kw_only=True)
class OverallResult:
    """The overall lines, and what weakens them."""

    overall: Overall
    caveats: tuple[str, ...]


def overall(
    baseline: Samples, candidate: Samples, *, shapes: tuple[str, ...], log_boost: Floats, level: float
) -> OverallResult:
    """Summarise the shapes that both sides have.

    Parameters
    ----------
    baseline, candidate : Samples
        Both sides.
    shapes : tuple of str
        Labels.
    log_boost : ndarray, shape (shapes,)
        NaN where a side has no timing.
    level : float
        Confidence level, a fraction.
    """
    matched = ~np.isnan(log_boost)
    replicated = matched & (np.minimum(baseline.n, candidate.n) >= 2)
    used = replicated if replicated.any() else matched
    caveats = []
    if not replicated.any() and matched.any():
        caveats.append("The boost over these shapes has no interval: no shape has two seeds on both sides.")
    elif (used != matched).any():
        left_out = np.count_nonzero(used != matched)
        caveats.append(
            f"The boost over these shapes leaves out {left_out} with fewer than two seeds on a side."
        )
    if np.count_nonzero(matched) == 1:
        caveats.append("One shape says nothing of shapes like it.")
    elif not matched.any():
        caveats.append("No shape has timings on both sides, so there is no overall boost.")
    return OverallResult(
        overall=Overall(
            these_shapes=_these_shapes(baseline, candidate, used, log_boost, level),
            shapes_like_these=_shapes_like_these(log_boost[matched], level),
            unmatched=tuple(label for label, both in zip(shapes, matched, strict=True) if not both),
        ),
        caveats=tuple(caveats),
    )


def _these_shapes(
    baseline: Samples, candidate: Samples, used: npt.NDArray[np.bool_], log_boost: Floats, level: float
) -> Aggregate:
    """Welch's t on seed blocks: the aggregate of a seed over shapes is one observation.

    Runs of different shapes with the same seed number may share a session; adding variances shape by
    shape would then cover 52 % instead of 95 %.
    """
    mean = _mean(log_boost[used])
    parts = [_block_variance(side.value[used]) for side in (baseline, candidate)]
    variances, blocks = [part.variance for part in parts], [part.blocks for part in parts]
    freedom = float(welch_freedom(*variances, *blocks))
    return _aggregate(mean, math.sqrt(sum(variances)), freedom, level, int(np.count_nonzero(used)), THESE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Blocks:
    """Variance of the mean over shapes of the mean over seeds, from so many seed blocks."""

    variance: float
    blocks: int


def _block_variance(value: Floats) -> _Blocks:
    """Variance of a side's overall mean, clustered by seed.

    With complete blocks this is the variance of the seeds' aggregates over their number. With gaps, each
    seed contributes sum over its shapes of (x - shape mean)/(shapes x seeds of the shape): the clustered
    sandwich with the factor blocks/(blocks - 1).
    """
    known = ~np.isnan(value)
    seeds = known.sum(axis=1, keepdims=True)
    blocks = int(np.count_nonzero(known.any(axis=0)))
    if blocks < 2 or (seeds < 2).any():
        return _Blocks(variance=float("nan"), blocks=blocks)
    filled = np.where(known, value, 0.0)
    residual = np.where(known, value - filled.sum(axis=1, keepdims=True) / seeds, 0.0)
    contribution = (residual / seeds).sum(axis=0) / len(value)
    return _Blocks(variance=float((contribution**2).sum()) * blocks / (blocks - 1), blocks=blocks)


def _shapes_like_these(log_boost: Floats, level: float) -> Aggregate:
    """Student's t over the shapes' log boosts."""
    shapes = len(log_boost)
    error = float(np.std(log_boost, ddof=1) / np.sqrt(shapes)) if shapes > 1 else float("nan")
    return _aggregate(_mean(log_boost), error, shapes - 1, level, shapes, LIKE_THESE)


def _aggregate(
    mean: float, error: float, freedom: float, level: float, shapes: int, meaning: str
) -> Aggregate:
    half = float(special.stdtrit(max(freedom, 1.0), 0.5 + level / 2)) * error
    low, high = from_log(mean - half), from_log(mean + half)
    return Aggregate(boost=from_log(mean), boost_low=low, boost_high=high, shapes=shapes, meaning=meaning)


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")
