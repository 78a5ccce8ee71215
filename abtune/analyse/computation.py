"""Every number of an analysis, for all shapes at once; what they mean is decided elsewhere."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from abtune.analyse.samples import Samples
from abtune.stats.interval import Interval, expanded_percentile, welch
from abtune.stats.moderation import moderated
from abtune.stats.multiplicity import holm
from abtune.stats.power import detectable_boost, fewest_seeds, seeds_needed
from abtune.stats.ragged import Floats, Integers
from abtune.stats.significance import equivalence_test, permutation_test, welch_test
from abtune.stats.variance import floored


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the design can show.

    Attributes
    ----------
    detectable : ndarray, shape (shapes,)
        Boost that is detected with 80 % power, correction included; infinite if none can be.
    seeds : ndarray of int, shape (shapes,)
        Seeds a side that would detect a boost of the margin.
    fewest : int
        Seeds a side below which no p-value passes the correction.
    """

    detectable: Floats
    seeds: Integers
    fewest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Computed:
    """Everything computed of all shapes at once; each array has shape (shapes,)."""

    log_boost: Floats
    interval: Interval
    welch: Interval
    p: Floats
    p_adjusted: Floats
    p_welch_adjusted: Floats
    p_equivalence: Floats
    p_equivalence_adjusted: Floats
    plan: Plan


def compute(
    baseline: Samples,
    candidate: Samples,
    *,
    level: float,
    alpha: float,
    margin: float,
    rng: np.random.Generator,
) -> Computed:
    """Apply every method to all shapes at once.

    Parameters
    ----------
    baseline, candidate : Samples
        Both sides.
    level, alpha, margin : float
        Fractions; alpha is 1 - level.
    rng : numpy.random.Generator
        For the splits that cannot all be counted.
    """
    pair = baseline.value, candidate.value
    floor = np.stack([baseline.floor, candidate.floor], axis=1)
    interval = expanded_percentile(*pair, level=level, floor=floor)
    p = permutation_test(*pair, rng=rng)
    p_equivalence = equivalence_test(*pair, margin=math.log1p(margin), floor=floor)
    tests = max(int(np.count_nonzero(~np.isnan(p))), 1)
    plan = _plan(baseline, candidate, alpha=alpha, margin=margin, tests=tests)
    return Computed(
        log_boost=interval.difference,
        interval=interval,
        welch=welch(*pair, level=level, floor=floor),
        p=p,
        p_adjusted=holm(p),
        p_welch_adjusted=holm(welch_test(*pair, floor=floor)),
        p_equivalence=p_equivalence,
        p_equivalence_adjusted=holm(p_equivalence),
        plan=plan,
    )


def _plan(baseline: Samples, candidate: Samples, *, alpha: float, margin: float, tests: int) -> Plan:
    """Say what this design can show, from noise that is drawn towards the level of all shapes."""
    noise = [
        np.sqrt(moderated(floored(side.noise**2, side.floor), side.n - 1)) for side in (baseline, candidate)
    ]
    return Plan(
        detectable=detectable_boost(
            n_first=baseline.n,
            n_second=candidate.n,
            noise_first=noise[0],
            noise_second=noise[1],
            alpha=alpha,
            shapes=tests,
        ),
        seeds=seeds_needed(margin, noise_first=noise[0], noise_second=noise[1], alpha=alpha, shapes=tests),
        fewest=fewest_seeds(alpha=alpha, shapes=tests),
    )
