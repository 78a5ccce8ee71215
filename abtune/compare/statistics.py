"""Every number of an analysis, for all shapes at once; what they mean is decided elsewhere."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from abtune.compare.settings import Settings
from abtune.samples import Samples, Sides, two_sample, what_varies
from abtune.stats.estimand import Estimand
from abtune.stats.estimates import Intervals
from abtune.stats.intervals.bootstrap_t import Tails, resample_tails, simultaneous
from abtune.stats.moderated import moderate
from abtune.stats.skewness import misled, with_noise_of_all
from abtune.stats.testing.attainable import fewest_seeds, smallest_p
from abtune.stats.testing.common_noise import common_noise
from abtune.stats.testing.design import Requirement, detectable_boost, seeds_needed
from abtune.stats.testing.significance import OneSided, gained_freedom, moderated_tests, welch_tests
from abtune.stats.two_sample import Booleans, Floats, Integers, TwoSample
from abtune.stats.variance import floored


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """Everything computed of all shapes at once; each array has shape (shapes,)."""

    interval: Intervals  # the one asked for, wider where the noise of all shapes says so
    hidden: bool  # whether any interval is wider so, because shapes may hide slow runs
    simultaneous: Intervals  # covers all shapes at once, and nowhere lies inside `interval`
    tests: Tests
    one_sided: OneSided  # what one-sided claims rest on
    tails: Tails  # the resamples that `simultaneous` and `one_sided` rest on
    at_least: Floats  # lower bounds of the log boosts of all shapes at once; NaN where unknown


def compute(
    sides: Sides, settings: Settings, *, known: Tails | None = None, bounds: bool = True
) -> Statistics:
    """Return every number of a verdict, for all shapes at once.

    ``known`` are the tails of some shapes by the same settings. Only the other shapes are resampled. Without
    ``bounds``, nothing is resampled unless a test needs it; then bounds are Student's.
    """
    # Tests and tails draw from one generator, so their order is part of every result.
    rng = np.random.default_rng(settings.rng_seed)
    samples = two_sample(*sides)
    if settings.estimand is Estimand.GEOMETRIC_MEAN:
        samples = with_noise_of_all(samples)
    tests = run_tests(samples, settings, rng)
    alone = settings.interval.compute(samples, level=settings.level)
    share = settings.procedure.planning_level(settings.alpha, tests.count)
    directions = (True, True) if settings.difference_test.resamples else misled(samples)
    resampled = samples if bounds or any(directions) else samples.rows(slice(0))
    tails = resample_tails(resampled, level=1 - settings.alpha, rng=rng, known=known)
    one_sided = replace(welch_tests(samples), pool=tails.pool, rounding=samples.rounding)
    if any(directions):
        tests = _with_resamples(tests, one_sided, directions, settings)
    # No verdict of a single shape rests on the common noise: Holm's correction leaves few of them to chance.
    with_common = replace(one_sided, common=common_noise(samples, rng=rng))
    interval = with_common.widened(alone, level=settings.level)
    hidden = bool(((interval.low < alone.low) | (interval.high > alone.high)).any())
    if hidden:  # then the error of how many slow runs there are is common to the counted shapes
        with_common = replace(with_common, common=tuple(noise.doubted() for noise in with_common.common))
    one_sided = with_common if len(resampled) else one_sided
    wide = simultaneous(samples, tails, level=1 - settings.alpha).widened(samples.rounding)
    return Statistics(
        interval=interval,
        hidden=hidden,
        # For one shape or a few, resampling may give less than the shape's own interval.
        simultaneous=interval.hull(wide),
        tests=tests,
        one_sided=one_sided,
        tails=tails,
        at_least=one_sided.lower(share),
    )


def resolution(settings: Settings, shapes: int) -> float:
    """Return the p-value that the seeds must be able to reach, so that a shape can pass the correction."""
    # The share of one split is the smallest p-value. That of resamples has no such limit.
    if settings.difference_test.resamples:
        return 1.0
    return settings.procedure.resolution(settings.alpha, shapes)


def design_power(sides: Sides, settings: Settings, statistics: Statistics) -> tuple[Floats, int]:
    """Return the boosts that this design detects with 80 % power, and the fewest seeds that detect any.

    The power includes the correction. A boost is infinite if the shape can show none. It is NaN if it is
    unknown, if the shape can show one only because other shapes differ, or if an interval that allows for
    slow runs reaches farther. With fewer seeds per configuration, no p-value passes the correction by itself.
    The noise is that of :func:`planning_noise`.
    """
    tests = statistics.tests
    first, second = map(planning_noise, what_varies(*sides))
    requirement, n = _requirement(sides, settings, tests.count), (sides[0].n, sides[1].n)
    detectable = detectable_boost(n, (first, second), requirement)
    fewest = fewest_seeds(smallest=resolution(settings, tests.count), paired=settings.paired)
    if settings.estimand.searches > 1:  # the plan is for a t-test, which has more power
        detectable = np.full_like(detectable, np.nan)
    later = _pass_later(np.isinf(detectable), n, settings, tests)
    unknown = later | (statistics.hidden & (np.log1p(detectable) < statistics.interval.reach))
    return np.where(unknown, np.nan, detectable), max(fewest, settings.estimand.fewest_seeds)


def _pass_later(
    hopeless: Booleans, n: tuple[Integers, Integers], settings: Settings, tests: Tests
) -> Booleans:
    """Return which shapes could pass a later step of the correction, given the p-values of the others."""
    passing = np.zeros(len(hopeless), dtype=bool)
    left = np.count_nonzero(tests.p_adjusted > settings.alpha)
    # For a step-up procedure the report asks only which p-values pass by themselves.
    for index in [] if settings.procedure.step_up else np.flatnonzero(hopeless).tolist():
        least = smallest_p(int(n[0][index]), int(n[1][index]), paired=settings.paired)
        if least * left <= settings.alpha:  # the exact answer is slow, and few shapes need it
            p = tests.p.copy()
            p[index] = least
            passing[index] = settings.procedure.adjust(p)[index] <= settings.alpha
    return passing


def seeds_to_find(boost: npt.ArrayLike, sides: Sides, settings: Settings, *, tests: int) -> Integers:
    """Return the seeds per configuration that find a boost with 80 % power; 0 where the noise is unknown."""
    first, second = map(planning_noise, what_varies(*sides))
    return seeds_needed(boost, (first, second), _requirement(sides, settings, tests))


def planning_noise(side: Samples) -> Floats:
    """Return each shape's noise for planning: moderated over shapes, and no less than the timing noise."""
    return np.sqrt(moderate(floored(side.noise**2, side.floor), side.n - 1))


def shape_agreement(sides: Sides) -> float:
    """Return the degrees of freedom that a moderated test adds to the variance of a shape.

    The more alike the variances of the shapes are, the more it adds. The smaller number of both sides counts.
    """
    return min(gained_freedom(floored(side.noise**2, side.floor), side.n - 1) for side in sides)


def _requirement(sides: Sides, settings: Settings, tests: int) -> Requirement:
    return Requirement(
        level=settings.procedure.planning_level(settings.alpha, tests),
        resolution=resolution(settings, tests),
        paired=settings.paired,
        agreement=shape_agreement(sides) if settings.difference_test.confirmed_by else 0.0,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tests:
    """p-values, raw and corrected; each array has shape (shapes,)."""

    p: Floats  # the test of a difference
    p_adjusted: Floats
    p_welch: Floats  # the closed-form one; with moderated variances where it confirms a permutation test
    p_welch_adjusted: Floats
    # bootstrap-t pooled over shapes, NaN where it confirms nothing; None unless one side is more skewed
    p_resampled: Floats | None = None
    p_resampled_adjusted: Floats | None = None
    p_equivalence: Floats  # of a difference beyond the margin; also by bootstrap-t if that is made
    p_equivalence_adjusted: Floats

    @property
    def count(self) -> int:
        """Shapes that are tested, at least one."""
        return max(int(np.count_nonzero(~np.isnan(self.p))), 1)


def _with_resamples(
    tests: Tests, one_sided: OneSided, directions: tuple[bool, bool], settings: Settings
) -> Tests:
    """Return the tests with p-values of bootstrap-t, which has to confirm equivalences and some differences.

    Its t is compared with the resamples of all shapes. They show a failure that the seeds of one shape hide.
    ``directions`` says whether skewness makes *faster*, and *slower*, look too certain. A difference in the
    other direction needs no such test: skewness hides it.
    """
    faster, slower = directions
    difference = one_sided.estimate.difference
    confirms = (difference > 0) & faster | (difference < 0) & slower
    p = _one_for_dropped(one_sided.difference_p(above=faster, below=slower), settings)
    adjusted = settings.procedure.adjust(p)
    p_equivalence = np.fmax(tests.p_equivalence, one_sided.equivalence_p(margin=math.log1p(settings.margin)))
    p_equivalence_adjusted = settings.procedure.adjust(p_equivalence)
    equivalence = {"p_equivalence": p_equivalence, "p_equivalence_adjusted": p_equivalence_adjusted}
    if settings.difference_test.resamples:
        return replace(tests, p=p, p_adjusted=adjusted, **equivalence)
    p, adjusted = (np.where(confirms, values, np.nan) for values in (p, adjusted))
    return replace(tests, p_resampled=p, p_resampled_adjusted=adjusted, **equivalence)


def _one_for_dropped(p: Floats, settings: Settings) -> Floats:
    """Return p-values with 1 for dropped shapes: they claim nothing, but still count in the correction."""
    p[list(settings.dropped)] = 1.0
    return p


def run_tests(samples: TwoSample, settings: Settings, rng: np.random.Generator) -> Tests:
    """Test every shape for a difference and for equivalence."""
    test, correction = settings.difference_test, settings.procedure
    p = _one_for_dropped(test.p_values(samples, rng=rng), settings)
    p_adjusted = correction.adjust_difference(p, samples, alpha=settings.alpha, rng=rng)
    welch = welch_tests(samples)
    confirming = moderated_tests(samples) if test.confirmed_by else welch
    p_welch = _one_for_dropped(confirming.difference_p(), settings)
    p_welch_adjusted = correction.adjust(p_welch)
    if correction.joint is not None:
        # Without noise, p is the share of one split. A joint correction counts it once for all shapes.
        once = np.fmax(p_adjusted, p_welch)
        p_welch_adjusted = np.where(welch.estimate.error == 0, once, p_welch_adjusted)
    margin = math.log1p(settings.margin) - samples.rounding
    p_equivalence = _one_for_dropped(welch.equivalence_p(margin=margin), settings)
    return Tests(
        p=p,
        p_adjusted=p_adjusted,
        p_welch=p_welch,
        p_welch_adjusted=p_welch_adjusted,
        p_equivalence=p_equivalence,
        p_equivalence_adjusted=correction.adjust(p_equivalence),
    )
