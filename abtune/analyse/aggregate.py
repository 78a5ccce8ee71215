"""One number over all shapes, for two questions that are never mixed.

*These shapes*: the geometric mean boost over exactly the shapes at hand; its error comes from the seeds.
*Shapes like these*: the same for a population that the shapes were drawn from; its error comes from the
spread over shapes and from what their runs share, and is often two to three times larger. Beside them: what
a single shape does to the mean, how often a run of the candidate wins, whether the shapes differ, and the
time of a whole program.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from abtune.analyse.blocks import block, half_width, shared, t_quantile
from abtune.analyse.boost import from_log
from abtune.analyse.comparison import Aggregate, Overall
from abtune.analyse.samples import Samples, floors
from abtune.analyse.weights import Weights, end_to_end
from abtune.analyse.whole import Improvement, LeaveOneOut, Without
from abtune.stats.heterogeneity import Heterogeneity, heterogeneity, placements
from abtune.stats.interval import standard_error
from abtune.stats.ragged import Floats
from abtune.stats.variance import welch_freedom

THESE = "geometric mean over exactly these shapes; error from the seeds"
WINS = (
    "chance that a run of the candidate is faster than one of the baseline, mean over these shapes; "
    "error from the seeds"
)
LIKE_THESE = "geometric mean over shapes of which these are a sample; error from the spread over shapes"


@dataclass(frozen=True, slots=True, kw_only=True)
class OverallResult:
    """The overall lines, and what weakens them."""

    overall: Overall
    caveats: tuple[str, ...]


def overall(
    baseline: Samples,
    candidate: Samples,
    *,
    shapes: tuple[str, ...],
    log_boost: Floats,
    level: float,
    weights: Weights | None,
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
    weights : Weights or None
        How often a program calls each shape, if its time is wanted.
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
            f"The boost over these shapes leaves out {left_out} with fewer than two seeds on a side; that of "
            "shapes like these does not."
        )
    if np.count_nonzero(matched) == 1:
        caveats.append("One shape says nothing of shapes like it.")
    elif not matched.any():
        caveats.append("No shape has timings on both sides, so there is no overall boost.")
    of_seeds = _half_over_seeds(baseline, candidate, used, level)
    of_shapes = _half_over_shapes(baseline, candidate, replicated, log_boost[matched], level)
    return OverallResult(
        overall=Overall(
            these_shapes=_aggregate(log_boost[used], of_seeds, THESE),
            shapes_like_these=_aggregate(log_boost[matched], _wider(of_shapes, of_seeds), LIKE_THESE),
            unmatched=tuple(label for label, both in zip(shapes, matched, strict=True) if not both),
            leave_one_out=_leave_one_out(shapes, np.where(used, log_boost, np.nan)),
            improvement=_improvement(baseline, candidate, used, level),
            heterogeneity=_heterogeneity(baseline, candidate, replicated),
            weighted=None
            if weights is None
            else end_to_end(baseline, candidate, shapes=shapes, weights=weights, level=level),
        ),
        caveats=tuple(caveats),
    )


def _half_over_seeds(
    baseline: Samples, candidate: Samples, used: npt.NDArray[np.bool_], level: float
) -> float:
    """Half of Welch's t interval on seed blocks: the aggregate of a seed over shapes is one observation."""
    return half_width([block(side.value, _even(used), side.floor) for side in (baseline, candidate)], level)


def _half_over_shapes(
    baseline: Samples,
    candidate: Samples,
    replicated: npt.NDArray[np.bool_],
    log_boost: Floats,
    level: float,
) -> float:
    """Half of Student's t interval over the shapes' log boosts, with the error that all shapes share added.

    What moves all shapes together, such as the sessions of a sweep, does not show in the spread over shapes.
    """
    shapes = len(log_boost)
    if shapes < 2:
        return math.nan
    own = float(np.var(log_boost, ddof=1)) / shapes
    common = shared(baseline.value[replicated], candidate.value[replicated])
    freedom = float(welch_freedom(own, common.variance, shapes, common.freedom + 1))
    return t_quantile(freedom if common.variance > 0 else shapes - 1, level) * math.sqrt(
        own + common.variance
    )


def _wider(of_shapes: float, of_seeds: float) -> float:
    """Take at least the error from the seeds: a few shapes may agree by chance.

    Unknown with a single shape; where no shape has two seeds the spread over shapes is all there is.
    """
    return of_shapes if math.isnan(of_shapes) or math.isnan(of_seeds) else max(of_shapes, of_seeds)


def _leave_one_out(shapes: tuple[str, ...], log_boost: Floats) -> LeaveOneOut | None:
    """Mean boost without each shape in turn: its lowest and highest value; None for a single shape."""
    known = np.flatnonzero(~np.isnan(log_boost))
    if len(known) < 2:
        return None
    without = (log_boost[known].sum() - log_boost[known]) / (len(known) - 1)
    places = int(np.argmin(without)), int(np.argmax(without))
    low, high = (Without(shape=shapes[known[at]], boost=from_log(without[at])) for at in places)
    return LeaveOneOut(low=low, high=high)


def _improvement(
    baseline: Samples, candidate: Samples, used: npt.NDArray[np.bool_], level: float
) -> Improvement:
    """Mann-Whitney's U over the product of the sizes, averaged over shapes; errors from its placements.

    DeLong et al., Biometrics 44, 837-845 (1988), with the seed's mean over shapes as the observation.
    """
    wins = placements(candidate.value, baseline.value)
    losses = placements(baseline.value, candidate.value)
    weight, n = _even(used), (np.maximum(candidate.n, 1), np.maximum(baseline.n, 1))
    estimate = _mean(np.array([_mean(row[~np.isnan(row)]) for row in wins[used]]))
    # A shape whose sides do not overlap scatters as if a single pair did.
    parts = [block(wins, weight, 1 / (n[0] * n[1] ** 2)), block(losses, weight, 1 / (n[1] * n[0] ** 2))]
    # Sides that nowhere overlap in the sample give no information about how rarely they do.
    half = half_width(parts, level) if 0 < estimate < 1 else float("nan")
    return Improvement(
        probability=estimate,
        low=float(np.clip(estimate - half, 0, 1)),
        high=float(np.clip(estimate + half, 0, 1)),
        shapes=int(np.count_nonzero(used)),
        meaning=WINS,
    )


def _heterogeneity(baseline: Samples, candidate: Samples, replicated: npt.NDArray[np.bool_]) -> Heterogeneity:
    """Spread of the shapes' boosts beyond their errors, of shapes whose error is known."""
    each = standard_error(baseline.value, candidate.value, floors(baseline, candidate))
    at = replicated & (each.error > 0)
    return heterogeneity(each.difference[at], each.error[at], each.freedom[at])


def _even(used: npt.NDArray[np.bool_]) -> Floats:
    return used.astype(np.float64) / max(int(np.count_nonzero(used)), 1)


def _aggregate(log_boost: Floats, half: float, meaning: str) -> Aggregate:
    mean, shapes = _mean(log_boost), len(log_boost)
    low, high = from_log(mean - half), from_log(mean + half)
    return Aggregate(boost=from_log(mean), boost_low=low, boost_high=high, shapes=shapes, meaning=meaning)


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")
