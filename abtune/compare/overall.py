"""One number over all shapes, for two questions that are never mixed.

*These shapes*: the geometric mean boost over exactly the shapes at hand; its error comes from the seeds.
*Shapes like these*: the same for a population that the shapes were drawn from; its error comes from the
spread over shapes and from what their runs share, and is often two to three times larger. Beside them: the
mean without each shape, how often a run of the candidate wins, whether shapes differ, a program's whole time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
from scipy import special

from abtune.compare.results import Aggregate, Improvement, LeaveOneOut, OfKind, Overall, Weighted, Without
from abtune.compare.settings import Settings, Weights
from abtune.errors import InputError, unknown_name
from abtune.samples import Samples, Sides, two_sample
from abtune.stats.across_shapes import heterogeneity, placements
from abtune.stats.estimates import from_log, standard_error
from abtune.stats.two_sample import Booleans, Floats, TwoSample
from abtune.stats.variance import (
    ClusteredVariance,
    both_variances,
    clustered_variance,
    half_width,
    half_widths,
    quantile,
    shared_covariance,
    welch_freedom,
)
from abtune.text import count, percent

THESE = "geometric mean of these shapes"
WINS = "chance that a run of the candidate beats one of the baseline, mean over these shapes"
WINS_OF_PAIRS = "share of the pairs in which the candidate is faster, mean over these shapes"
_UNSEEN = 0.1  # a smaller chance is not worth a line in the report
FEWEST_OF_KIND = 3  # two shapes hardly show how much shapes differ
LIKE_THESE = "expected for others of this kind"
OF_THESE_KINDS = LIKE_THESE.replace("this kind", "these kinds")


def overall(
    runs: Sides, sides: Sides, workloads: Mapping[str, str], settings: Settings
) -> tuple[Overall, tuple[str, ...]]:
    """Return the summary of all shapes and what weakens it; ``sides`` are the runs or the best of k."""
    shapes, level = tuple(workloads), settings.level
    samples = two_sample(*sides)
    estimate = standard_error(samples)
    matched = ~np.isnan(estimate.difference)
    replicated = matched & (samples.sizes.min(axis=1) >= 2)
    # Without repeated seeds the mean boost is known all the same; it just has no interval.
    used = replicated if replicated.any() else matched
    known = replicated & (estimate.error > 0)
    k = settings.estimand.searches
    these = THESE if k == 1 else f"each shape tuned {k} times, the best kept"

    def of_these(level: float) -> Aggregate:
        return _aggregate(estimate.difference[used], halves_over_seeds(samples, used, level), these)

    def of_others(chosen: Booleans) -> Aggregate:
        of_shapes = _half_over_shapes(samples.rows(replicated & chosen), estimate.difference[chosen], level)
        # A few shapes may agree by chance, so the error from the seeds is the least, if it is known.
        of_seeds = np.nan_to_num(halves_over_seeds(samples, used & chosen, level))
        halves = np.maximum(of_shapes, of_seeds)
        kinds = {kind for kind, is_chosen in zip(workloads.values(), chosen, strict=True) if is_chosen}
        words = OF_THESE_KINDS if len(kinds) > 1 else LIKE_THESE
        return _aggregate(estimate.difference[chosen], halves, words)

    summary = Overall(
        these_shapes=of_these(level),
        of_all_candidates=of_these(settings.candidate_level) if settings.candidate_level > level else None,
        shapes_like_these=of_others(matched),
        unmatched=tuple(label for label, both in zip(shapes, matched, strict=True) if not both),
        leave_one_out=_leave_one_out(shapes, np.where(used, estimate.difference, np.nan)),
        # Of single runs, also where the boosts are of the best of k.
        improvement=_improvement(*runs, used, level),
        heterogeneity=heterogeneity(
            estimate.difference[known], estimate.error[known], estimate.freedom[known]
        ),
        weighted=_program_time(sides, shapes, settings.weights, level) if settings.weights else None,
        by_kind=tuple(
            OfKind(workload=kind, shapes_like_these=of_others(chosen))
            for kind, chosen in _kinds(workloads, matched).items()
        ),
    )
    others = [kind.shapes_like_these for kind in summary.few_kinds] or [summary.shapes_like_these]
    fewest = min(line.shapes for line in others)
    return summary, tuple(_caveats(matched, replicated, fewest, paired=settings.paired))


def _kinds(workloads: Mapping[str, str], matched: Booleans) -> dict[str, Booleans]:
    """Return the shapes of each kind with enough of them; empty if there is one kind."""
    kind_of = np.array(list(workloads.values()))
    kinds = {kind: matched & (kind_of == kind) for kind in dict.fromkeys(workloads.values())}
    enough = {kind: rows for kind, rows in kinds.items() if np.count_nonzero(rows) >= FEWEST_OF_KIND}
    return enough if len(kinds) > 1 else {}


def _caveats(matched: Booleans, replicated: Booleans, fewest: int, *, paired: bool) -> Iterator[str]:
    """Yield what weakens boosts over shapes; those to expect of others rest on ``fewest`` shapes or more."""
    if len(matched) == 1:  # its row says all of it
        return
    two = "two whole pairs" if paired else "two seeds per configuration"
    left_out = int(np.count_nonzero(matched & ~replicated))
    if matched.any() and not replicated.any():
        yield f"The boost over these shapes has no interval: no shape has {two}."
    elif left_out:
        yield (
            f"The boost over these shapes leaves out {count(left_out, 'shape')} with fewer than {two}. "
            "The boosts expected for other shapes do not."
        )
    unseen = 0.8**fewest
    if fewest > 1 and unseen >= _UNSEEN:
        yield (
            f"If 1 shape in 5 gains far more than the rest, {fewest} shapes miss all of these with a chance "
            f"of {percent(unseen)}. Then boosts expected for others are too low: measure more shapes."
        )


def halves_over_seeds(samples: TwoSample, used: Booleans, level: float) -> Floats:
    """Return how far Welch's t interval of the mean boost reaches down and up, log scale, shape (2,).

    The mean of a seed over shapes is one observation. The end towards the long tail of noise reaches farther.
    """
    weight = _even(used)
    # Rounding errors of shapes may all have one sign.
    return half_widths(both_variances(samples, weight), level) + float(weight @ samples.rounding)


def _half_over_shapes(replicated: TwoSample, log_boost: Floats, level: float) -> float:
    # The spread over shapes hides an error that all share, such as that of a session. So that is added.
    shapes = len(log_boost)
    if shapes < 2:
        return math.nan
    own = float(np.var(log_boost, ddof=1)) / shapes
    common = shared_covariance(replicated)
    freedom = shapes - 1.0
    if common.variance > 0:
        freedom = float(welch_freedom(own, common.variance, shapes, common.freedom + 1))
    return float(quantile(freedom, level)) * math.sqrt(own + common.variance)


def _leave_one_out(shapes: tuple[str, ...], log_boost: Floats) -> LeaveOneOut | None:
    """Mean boost without each shape in turn: its lowest and highest value; None for a single shape."""
    known = np.flatnonzero(~np.isnan(log_boost))
    if len(known) < 2:
        return None
    without = (log_boost[known].sum() - log_boost[known]) / (len(known) - 1)
    places = int(np.argmin(without)), int(np.argmax(without))
    low, high = (Without(shape=shapes[known[index]], boost=from_log(without[index])) for index in places)
    return LeaveOneOut(low=low, high=high)


def _improvement(baseline: Samples, candidate: Samples, used: Booleans, level: float) -> Improvement:
    """Return Mann-Whitney's U over the product of the sizes, averaged over shapes."""
    # Its errors come from the placements, with the seed's mean over shapes as the observation: DeLong et al.,
    # Biometrics 44, 837-845 (1988).
    samples = two_sample(baseline, candidate)
    losses, wins = (placements(pair) for pair in (samples, samples.swapped()))
    weight, n = _even(used), (np.maximum(candidate.n, 1), np.maximum(baseline.n, 1))
    estimate = _mean(np.array([_mean(row[~np.isnan(row)]) for row in wins[used]]))
    # A shape whose sides do not overlap scatters as if a single pair did.
    least = [1 / (n[0] * n[1] ** 2), 1 / (n[1] * n[0] ** 2)]
    if samples.paired:  # the differences have all the variance
        least = [np.zeros_like(least[0]), 1 / n[0]]
    sides = both_variances(TwoSample(wins, losses, np.stack(least, axis=1)), weight)
    # Sides that nowhere overlap in the sample give no information about how rarely they do.
    known = 0 < estimate < 1
    # Near zero and one, an estimate and its error depend on each other; those of log odds hardly do.
    half = half_width(sides, level) / (estimate * (1 - estimate)) if known else math.nan
    return Improvement(
        probability=estimate,
        low=float(special.expit(special.logit(estimate) - half)),
        high=float(special.expit(special.logit(estimate) + half)),
        shapes=int(np.count_nonzero(used)),
        meaning=WINS_OF_PAIRS if samples.paired else WINS,
    )


def _even(used: Booleans) -> Floats:
    return used.astype(np.float64) / max(int(np.count_nonzero(used)), 1)


def _aggregate(log_boost: Floats, halves: Floats, meaning: str) -> Aggregate:
    mean, shapes = _mean(log_boost), len(log_boost)
    low, high = from_log(mean - halves[0]), from_log(mean + halves[1])
    return Aggregate(boost=from_log(mean), boost_low=low, boost_high=high, shapes=shapes, meaning=meaning)


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else math.nan


def _program_time(sides: Sides, shapes: tuple[str, ...], weights: Weights, level: float) -> Weighted:
    # T = sum w L with the geometric mean latencies L; d log T = sum (w L/T) d log L. So the error of log T is
    # that of a weighted sum of mean logs, summed within each seed first.
    unknown = [label for label in weights.calls if label not in shapes]
    if unknown and weights.strict:
        raise InputError(f"{weights.name}: {unknown_name('shape', unknown[0], shapes)}")
    calls = np.array([weights.calls.get(label, 0.0) for label in shapes])
    timed = ~np.isnan(sides[0].latency + sides[1].latency)
    calls_timed = np.where(timed, calls, 0.0)
    if not calls_timed.any():
        raise InputError(f"{weights.name}: no shape with a weight has timings of both configurations")
    # Zero calls times an unknown latency would be NaN.
    parts = [calls_timed * np.where(calls_timed > 0, side.latency, 0.0) for side in sides]
    times = [float(seconds.sum()) for seconds in parts]
    shares = [seconds / time for seconds, time in zip(parts, times, strict=True)]
    variances = [
        clustered_variance(side.value, share, side.floor) for side, share in zip(sides, shares, strict=True)
    ]
    if sides[0].paired:  # all that varies is the ratio of both times
        ratio = np.concatenate([sides[0].value, -sides[1].value])
        floor = np.concatenate([side.floor for side in sides])
        whole = clustered_variance(ratio, np.concatenate(shares), floor)
        variances = [whole, ClusteredVariance(variance=0.0, freedom=whole.freedom)]
    rounding = sum(float(share @ side.rounding) for side, share in zip(sides, shares, strict=True))
    log_boost, (down, up) = math.log(times[0] / times[1]), half_widths(variances, level) + rounding
    missing = [label for label, w, both in zip(shapes, calls, timed, strict=True) if w > 0 and not both]
    return Weighted(
        name=weights.name,
        boost=from_log(log_boost),
        boost_low=from_log(log_boost - down),
        boost_high=from_log(log_boost + up),
        baseline_time=times[0],
        candidate_time=times[1],
        weight=float(calls_timed.sum()),
        total=float(sum(weights.calls.values())),
        left_out=(*unknown, *missing),
        not_covered=weights.not_covered,
        meaning="time of all calls of the program (interval: noise of the seeds)",
    )
