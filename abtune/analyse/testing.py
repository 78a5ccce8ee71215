"""Every test of an analysis, for all shapes at once, each corrected over the shapes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from abtune.analyse.comparison import Choices
from abtune.stats.caution import cautious_error
from abtune.stats.estimand import Estimand, exchangeable, linearised
from abtune.stats.interval import StandardError
from abtune.stats.median_test import median_permutation_test
from abtune.stats.medians import median_error
from abtune.stats.moderation import moderated_error
from abtune.stats.multiplicity import Correction, adjust
from abtune.stats.ragged import Floats
from abtune.stats.ranks import mann_whitney_test
from abtune.stats.significance import difference_p, equivalence_p, permutation_test, rarest
from abtune.stats.stepdown import max_t


@dataclass(frozen=True, slots=True, kw_only=True)
class Tests:
    """p-values, raw and corrected; each array has shape (shapes,).

    Attributes
    ----------
    p, p_adjusted : ndarray
        The test of a difference.
    p_welch, p_welch_adjusted : ndarray
        The closed-form one that confirms a permutation test.
    p_rank, p_rank_adjusted : ndarray or None
        Mann-Whitney; None unless asked for.
    p_equivalence, p_equivalence_adjusted : ndarray
        Of a difference beyond the margin.
    """

    p: Floats
    p_adjusted: Floats
    p_welch: Floats
    p_welch_adjusted: Floats
    p_rank: Floats | None
    p_rank_adjusted: Floats | None
    p_equivalence: Floats
    p_equivalence_adjusted: Floats


def run_tests(
    first: Floats,
    second: Floats,
    *,
    floor: Floats,
    choices: Choices,
    margin: float,
    rank_test: bool,
    rng: np.random.Generator,
) -> Tests:
    """Test every shape for a difference and for equivalence.

    Parameters
    ----------
    first, second : ndarray, shape (shapes, seeds), log seconds
        A column a seed, NaN where there is no timing.
    floor : ndarray, shape (shapes, 2)
        Measurement variance of a seed value of each side; NaN where unknown.
    choices : Choices
        Estimand, test and correction.
    margin : float
        A fraction.
    rank_test : bool
        Whether to make the Mann-Whitney test.
    rng : numpy.random.Generator
        For the splits that cannot all be counted.
    """
    estimand, correction = Estimand(choices.estimand), Correction(choices.correction)
    one_split = rarest(first, second)
    p_welch = difference_p(_estimate(first, second, floor, estimand), one_split)
    estimate = judging_estimate(first, second, floor=floor, choices=choices)
    if choices.test == "moderated":
        p = difference_p(estimate, one_split)
    elif estimand is Estimand.MEDIAN:
        p = median_permutation_test(first, second, rng=rng)
    else:
        p = permutation_test(*exchangeable(first, second, estimand), rng=rng)
    p_adjusted = adjust(p, correction)
    if correction is Correction.MAX_T:
        pair = exchangeable(first, second, estimand)
        p_adjusted = max_t(*pair, floor=_floor_of(pair, floor, estimand), rng=rng)
        p_adjusted = np.fmax(p_adjusted, p)  # its own random splits may give a little less
    p_rank = mann_whitney_test(first, second) if rank_test else None
    p_equivalence = equivalence_p(estimate, one_split, margin=math.log1p(margin))
    return Tests(
        p=p,
        p_adjusted=p_adjusted,
        p_welch=p_welch,
        p_welch_adjusted=adjust(p_welch, correction),
        p_rank=p_rank,
        p_rank_adjusted=None if p_rank is None else adjust(p_rank, correction),
        p_equivalence=p_equivalence,
        p_equivalence_adjusted=adjust(p_equivalence, correction),
    )


def judging_estimate(first: Floats, second: Floats, *, floor: Floats, choices: Choices) -> StandardError:
    """Return the differences with the errors that the test of equivalence takes.

    Parameters
    ----------
    first, second, floor, choices
        As for :func:`run_tests`.
    """
    estimand = Estimand(choices.estimand)
    if choices.test == "moderated":
        return moderated_error(linearised(first, estimand), linearised(second, estimand), floor)
    return _estimate(first, second, floor, estimand)


def _estimate(first: Floats, second: Floats, floor: Floats, estimand: Estimand) -> StandardError:
    """Return the difference with the standard error of the closed-form tests."""
    if estimand is Estimand.MEDIAN:
        return median_error(first, second, floor)
    return cautious_error(linearised(first, estimand), linearised(second, estimand), floor)


def _floor_of(pair: tuple[Floats, Floats], floor: Floats, estimand: Estimand) -> Floats:
    """Measurement variance in the units of the values that are exchanged; that of logs is relative."""
    if estimand is Estimand.GEOMETRIC_MEAN:
        return floor
    known = [np.maximum(np.count_nonzero(~np.isnan(side), axis=1), 1) for side in pair]
    means = [np.nansum(side, axis=1) / n for side, n in zip(pair, known, strict=True)]
    scaled: Floats = floor * np.stack(means, axis=1) ** 2
    return scaled
