"""Every test of an analysis, for all shapes at once, each corrected over the shapes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from abtune.compare.settings import Settings
from abtune.stats.estimand import Estimand
from abtune.stats.estimates import conservative_welch, median_error
from abtune.stats.testing.robust_tests import mann_whitney_test
from abtune.stats.testing.significance import difference_p, split_share
from abtune.stats.two_sample import Floats, TwoSample


@dataclass(frozen=True, slots=True, kw_only=True)
class Tests:
    """p-values, raw and corrected; each array has shape (shapes,)."""

    p: Floats  # the test of a difference
    p_adjusted: Floats
    p_welch: Floats  # the closed-form one that confirms a permutation test
    p_welch_adjusted: Floats
    p_rank: Floats | None  # Mann-Whitney; None unless asked for
    p_rank_adjusted: Floats | None
    p_equivalence: Floats  # of a difference beyond the margin
    p_equivalence_adjusted: Floats


def run_tests(samples: TwoSample, settings: Settings, rng: np.random.Generator) -> Tests:
    """Test every shape for a difference and for equivalence."""
    test, correction = settings.difference_test, settings.procedure

    def of_all(p: Floats) -> Floats:
        p[list(settings.dropped)] = 1.0
        return p

    p = of_all(test.p_values(samples, rng=rng))
    p_adjusted = correction.adjust_difference(p, samples, rng=rng)
    closed_form = median_error if settings.estimand == Estimand.MEDIAN else conservative_welch
    p_welch = of_all(difference_p(closed_form(samples), split_share(samples)))
    p_rank = of_all(mann_whitney_test(samples)) if settings.rank_test else None
    p_equivalence = of_all(test.equivalence(samples, rng=rng)(margin=math.log1p(settings.margin)))
    return Tests(
        p=p,
        p_adjusted=p_adjusted,
        p_welch=p_welch,
        p_welch_adjusted=correction.adjust(p_welch),
        p_rank=p_rank,
        p_rank_adjusted=None if p_rank is None else correction.adjust(p_rank),
        p_equivalence=p_equivalence,
        p_equivalence_adjusted=correction.adjust(p_equivalence),
    )
