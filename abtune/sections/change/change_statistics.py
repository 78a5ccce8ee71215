"""The numbers of a change: its estimate, error and degrees of freedom, and its resamples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from abtune.compare.settings import Settings
from abtune.samples import Samples, change_of, two_sample
from abtune.sections.change.change_results import MeanChange
from abtune.stats.estimates import StandardError, conservative_freedom, from_log
from abtune.stats.intervals.bootstrap_t import NO_RESAMPLES, pool_of_change, resample_tails
from abtune.stats.moderated import fit_prior
from abtune.stats.skewness import more_skewed
from abtune.stats.testing.significance import OneSided, moderated_tests, welch_tests
from abtune.stats.testing.step_procedures import holm
from abtune.stats.two_sample import Booleans, Floats, TwoSample, sizes
from abtune.stats.variance import (
    both_variances,
    floored_moments,
    half_widths,
    mean_of_known,
    moments,
    variance_of_both,
)

# Fewer seeds often all end at one of two speeds. Then the variances of all shapes mislead, too.
_FEWEST_MODERATED = 4
# Where all noise has two modes, variances agree better than those of normal noise do in 99 of 100 cases.
_TOO_SURE = 0.99


def log_changes(
    boosts: Sequence[TwoSample], samples: TwoSample, settings: Settings, *, rounding: Floats | float = 0.0
) -> list[OneSided]:
    """Return the tests of the log changes of all shapes, by their own variances and by moderated ones.

    They are between two boosts; without these, between the samples of :func:`with_each_sign`. Where
    moderated variances may mislead, both tests are the same. Skewed changes are also compared with resamples
    of all shapes. ``rounding`` is how far coarse timers can move each change.
    """
    parts, pool = boosts or [samples], NO_RESAMPLES
    if more_skewed(samples):
        rng = np.random.default_rng(settings.rng_seed)
        pool = (
            pool_of_change(*boosts, rng=rng)
            if boosts
            else resample_tails(samples, level=settings.level, rng=rng).pool
        )
    alone, moderated = (_tests(make, parts) for make in (welch_tests, moderated_tests))
    sides = [side for pair in parts for side in floored_moments(pair)]
    agreements = [fit_prior(side.variance, side.n - 1, limit=_TOO_SURE)[1] for side in sides]
    kept = (np.min([side.n for side in sides], axis=0) < _FEWEST_MODERATED) | np.isinf(agreements).any()
    own, of_all = alone.estimate, moderated.estimate
    error, freedom = np.where(kept, (own.error, own.freedom), (of_all.error, of_all.freedom))
    alone = replace(alone, rounding=rounding, pool=pool)
    return [alone, replace(alone, estimate=replace(own, error=error, freedom=freedom))]


def confirmed_holm(alone: Floats, moderated: Floats) -> Floats:
    """Return moderated p-values by Holm, each at least the uncorrected p by the variances of its shape."""
    # No permutation test confirms a change, and one shape may have more noise than all others.
    return np.fmax(alone, holm(moderated))


def with_each_sign(
    sides: Sequence[Sequence[Samples]], boosts: Sequence[TwoSample], *, same_winners: bool
) -> TwoSample:
    """Return what the change adds, and what it subtracts, as two samples of each shape.

    Of two boosts, whose winners differ, each side has the deviations of two samples, times the seeds of both
    over its own: their mean has the variance and the skewness of the sum of both means.
    """
    if boosts:
        a, b = boosts
        return TwoSample.without_floor(_joined(b.first, a.second), _joined(b.second, a.first))
    one, two = sides
    if len(one) == 2:
        return two_sample(*map(change_of, one, two))
    if same_winners:
        floor = np.stack([two[0].floor, one[0].floor], axis=1)
        return TwoSample.of_pairs(two[0].value, one[0].value, floor)
    return two_sample(two[0], one[0])


def _joined(*samples: Floats) -> Floats:
    """Return the deviations of samples side by side, each times the seeds of all over its own."""
    n = [np.maximum(sizes(values), 1)[:, np.newaxis] for values in samples]
    rest = [values - mean_of_known(values)[:, np.newaxis] for values in samples]
    # Of a constant sample, the deviations would be the rounding of its mean, and look like skewed noise.
    varies = [(moments(values).variance > 0)[:, np.newaxis] for values in samples]
    rest = [values * some for values, some in zip(rest, varies, strict=True)]
    return np.concatenate([sum(n) / own * values for own, values in zip(n, rest, strict=True)], axis=1)


def _tests(make: Callable[[TwoSample], OneSided], parts: Sequence[TwoSample]) -> OneSided:
    """Return the tests between two samples, or between the boosts of two independent datasets."""
    before, *others = map(make, parts)
    if not others:
        return before
    # With plain degrees of freedom, up to 26 instead of 5 in 100 reports of 29 shapes have a false change;
    # with these, up to 8 (analysis/simulations/change_freedom.py).
    a, b = before.estimate, others[0].estimate
    squares = a.error**2, b.error**2
    # Neither boost has a side with fewer seeds, so the noisier of the two is raised.
    equally_many = np.zeros(len(squares[0]), dtype=np.int64)
    # With the degrees of freedom of both boosts, Welch's formula is that of four terms.
    freedom = conservative_freedom(squares, (a.freedom, b.freedom), equally_many)
    # Two or three seeds beside many have their own, as within a dataset.
    n, m = (pair.sizes.min(axis=1) for pair in parts)
    of_few = np.where(n < m, a.freedom, b.freedom)
    few = (np.minimum(n, m) <= 3) & (np.maximum(n, m) >= 2 * np.minimum(n, m))
    estimate = StandardError(
        difference=b.difference - a.difference,
        error=np.sqrt(sum(squares)),
        freedom=np.where(few, np.fmin(freedom, of_few), freedom),
    )
    # The larger share is the careful one: where nothing varies, it bounds p from below.
    return OneSided(estimate=estimate, one_split=np.maximum(before.one_split, others[0].one_split))


def halves_of_mean(
    boosts: Sequence[TwoSample], samples: TwoSample, usable: Booleans, *, rounding: Floats, level: float
) -> Floats:
    """Return how far the interval of the mean change reaches down and up, usable shapes, shape (2,)."""
    weight = usable / np.count_nonzero(usable)
    # The variance of the mean change is the sum of two: of both boosts, or of both samples.
    of_boosts = [variance_of_both(*both_variances(pair, weight)) for pair in reversed(boosts)]
    return half_widths(of_boosts or both_variances(samples, weight), level) + float(weight @ rounding)


def mean_change(log: Floats, halves: Floats, usable: Booleans) -> MeanChange:
    """Return the mean over the usable shapes, with an interval that reaches so far down and up."""
    mean = float(log[usable].mean())
    low, change, high = map(from_log, (mean - halves[0], mean, mean + halves[1]))
    return MeanChange(change=change, low=low, high=high, shapes=int(np.count_nonzero(usable)))
