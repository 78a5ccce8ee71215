"""Tests of two samples for many shapes: difference, equivalence, and one-sided claims.

The permutation test presumes equal variances, and Welch's a bell curve. A claim of a difference asks both.
There Welch's takes what all shapes show of their variances.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from abtune.stats import splits
from abtune.stats.estimates import Intervals, StandardError, conservative_freedom, conservative_welch
from abtune.stats.intervals.bootstrap_t import NO_RESAMPLES, PooledT, resample_tails
from abtune.stats.moderated import fit_prior, moderate
from abtune.stats.skewness import FEWEST_SHAPES
from abtune.stats.testing.common_noise import CommonNoise, common_noise
from abtune.stats.two_sample import Floats, Integers, TwoSample
from abtune.stats.variance import floored_moments

# How sure it is that shapes agree on their variance as well as their number of degrees of freedom says.
# Simulation chose it (analysis/simulations/moderated_variances.py).
_SURE = 0.85
# Shapes hide rare slow runs if the noise of all shapes makes most intervals wider by this factor. Other noise
# hardly ever does (docs/statistics-tables.md, "unseen" and "common noise"). An end may also reach farther by
# this factor than drawn samples differ, because more runs may be slow than the seeds show.
_WIDER = 1.2


def permutation_test(samples: TwoSample, *, rng: np.random.Generator) -> Floats:
    """Return p of the two-sided permutation test of equal means; NaN below two seeds per side.

    For unequal numbers of seeds the difference is studentised with Welch's standard error (Janssen 1997,
    DOI 10.1016/S0167-7152(97)00043-6). Where splits are too many, 99,999 random ones are drawn, and one
    is added to numerator and denominator (Phipson and Smyth 2010, DOI 10.2202/1544-6115.1585). One number
    is drawn from ``rng``; a result does not depend on the other shapes.
    """
    p = np.full(len(samples), np.nan)
    root = int(rng.integers(2**62))
    for group in samples.groups(at_least=2):
        sides = group.by_size
        small, large = sides[0].shape[1], sides[1].shape[1]
        values = np.concatenate(sides, axis=1)
        pooled = splits.centred(values)
        if not splits.is_exact(small, large):
            p[group.index] = splits.sampled(pooled, small, np.random.default_rng([root, small, large]))
        elif small == large:
            p[group.index] = splits.counted_in_halves(pooled)
        else:
            p[group.index] = splits.counted_in_blocks(pooled, small)
        p[group.index[np.ptp(values, axis=1) == 0]] = 1.0
    return p


def sign_flip_test(samples: TwoSample, *, rng: np.random.Generator) -> Floats:
    """Return p of the two-sided sign-flip test of a mean difference of pairs of zero; NaN below two pairs.

    Were both sides of a pair the same, a difference could as well have the other sign (R. A. Fisher, The
    Design of Experiments, 1935, section 21). Beyond 30 pairs, flips are drawn as splits are above.
    """
    p = np.full(len(samples), np.nan)
    root = int(rng.integers(2**62))
    for group in samples.groups(at_least=2):
        differences = group.first + group.second  # one of them is zero, and p does not depend on the sign
        if (pairs := differences.shape[1]) <= splits.MOST_PAIRS:
            p[group.index] = splits.counted_flips(differences)
        else:
            p[group.index] = splits.sampled_flips(differences, np.random.default_rng([root, pairs]))
    return p


def split_share(samples: TwoSample) -> Floats:
    """Return the share of one split of the seeds, or of one flip of pairs, among all, shape (shapes,)."""
    n = samples.sizes
    if samples.paired:
        return 0.5 ** n[:, 0].astype(np.float64)
    # binom() overflows from some 1,030 seeds in all on, and 1/inf would be a p of zero.
    return 1 / np.minimum(special.binom(n.sum(axis=1), n[:, 0]), 1e300)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OneSided:
    """One-sided tests and lower bounds: claims that a shape is faster, or not much slower.

    t is also compared with its resamples, pooled over the shapes, and with the noise of all shapes. The most
    careful of these decides: a t-test alone errs too often where one side is skewed.
    """

    estimate: StandardError  # with the degrees of freedom of :func:`conservative_freedom`
    one_split: Floats  # as :func:`split_share` returns it; it bounds p where nothing varies
    pool: PooledT = NO_RESAMPLES  # resamples of all shapes; without any, Student's t decides alone
    common: tuple[CommonNoise, ...] = ()  # the noise of all shapes; empty if they are too few
    rounding: Floats | float = 0.0  # how far a coarse timer can move a difference

    @property
    def _without_noise(self) -> Floats:
        """The p of a difference where nothing varies: at least the share of resamples that do not vary."""
        # Of a shape that now and then fails, the seeds may show no failure.
        return np.fmax(self.one_split, self.pool.share_above(np.full_like(self.one_split, np.inf)))

    def swapped(self) -> OneSided:
        """Return the same with the sides exchanged."""
        estimate = replace(self.estimate, difference=-self.estimate.difference)
        common = tuple(noise.mirrored() for noise in self.common)
        return replace(self, estimate=estimate, pool=self.pool.mirrored, common=common)

    def p_above(self, threshold: Floats | float) -> Floats:
        """Return p-values that a difference, log scale, is at most a threshold; NaN without an error."""
        distance, error = self.estimate.difference - self.rounding - threshold, self.estimate.error
        t = distance / np.where(error > 0, error, 1.0)
        p = np.fmax(self.pool.share_above(t), special.stdtr(self.estimate.freedom, -t))
        certain = np.where(distance > 0, self._without_noise, 1.0)
        p = np.where(error == 0, certain, p)
        for noise in self.common:
            p = np.fmax(p, noise.share_above(distance, error))
        never_zero = np.maximum(p, np.finfo(np.float64).tiny)
        return np.where(np.isnan(error), np.nan, never_zero)

    def difference_p(self, *, above: bool = True, below: bool = True) -> Floats:
        """Return two-sided p-values of no difference, never zero.

        In a direction without ``above`` or ``below``, Student's t decides alone. Where nothing varies, equal
        constants have p = 1, and different ones have twice the share of one split.
        """
        alone = replace(self, pool=NO_RESAMPLES, common=())
        sides = (self if above else alone), (self if below else alone).swapped()
        return np.minimum(2 * np.minimum(*(side.p_above(0.0) for side in sides)), 1.0)

    def equivalence_p(self, *, margin: Floats | float) -> Floats:
        """Return the larger p of two one-sided tests of a difference of at least the margin, log scale.

        p is at most alpha exactly if the interval at level 1 - 2 alpha lies within the margin (Schuirmann
        1987, DOI 10.1007/BF01068419).
        """
        return np.maximum(self.p_above(-margin), self.swapped().p_above(-margin))

    def lower(self, share: float) -> Floats:
        """Return lower bounds of the differences, each too high with probability ``share``."""
        difference, error = self.estimate.difference - self.rounding, self.estimate.error
        quantile = np.maximum(special.stdtrit(self.estimate.freedom, 1 - share), self.pool.upper(share))
        # Where nothing varies the difference itself is a bound, if one split of the seeds is rare enough.
        certain = np.where(self._without_noise <= share, difference, -np.inf)
        bound = np.where(error == 0, certain, difference - quantile * np.where(error > 0, error, 1.0))
        # Resamples show slow runs well enough at this level; fewer than five seeds have none.
        for noise in () if self.pool.above[0] else self.common:
            bound = np.minimum(bound, difference - noise.half_width(error, share))
        return np.where(np.isnan(error), np.nan, bound)

    def widened(self, interval: Intervals, *, level: float) -> Intervals:
        """Return intervals that allow for rare slow runs, which the seeds of a shape may not show.

        If the t of the noise of all shapes asks for far wider intervals, it decides how far their lower ends,
        upper ends or both reach. A shape that does show slow runs has a large error. So an end reaches little
        farther than means differ by the noise of all shapes.
        """
        middle, share = interval.difference, (1 - level) / 2
        down = self._reach(middle - interval.low, share)
        up = self.swapped()._reach(interval.high - middle, share)
        return interval.hull(replace(interval, low=middle - down, high=middle + up))

    def _reach(self, own: Floats, share: float) -> Floats:
        """Return how far ends have to reach if some of these distances hide slow runs; -inf if none does."""
        nothing, varied = np.full_like(own, -np.inf), own > 0
        widths = (noise.half_width(self.estimate.error, share) for noise in self.common)
        # The small added error tells. By the large one, quiet shapes among noisy ones would always hide some.
        small = next(widths, nothing)
        if 2 * np.count_nonzero(varied & (small > _WIDER * own)) <= np.count_nonzero(varied):
            return nothing
        most = _WIDER * self.common[0].difference(share)
        return np.minimum(np.max([small, *widths], axis=0), most) + self.rounding


def welch_tests(samples: TwoSample) -> OneSided:
    """Return Welch's tests with conservative degrees of freedom."""
    return OneSided(estimate=conservative_welch(samples), one_split=split_share(samples))


def moderated_tests(samples: TwoSample) -> OneSided:
    """Return Welch's tests that also take their variances and degrees of freedom from the other shapes.

    A variance is at least its posterior, which draws it towards those of all shapes (Smyth 2004, DOI
    10.2202/1544-6115.1027). It gains degrees of freedom by as much as the shapes agree, by a lower limit. A
    variance of zero stays, and so do all with fewer than five above zero.
    """
    variances, freedoms = [], []
    one, two = floored_moments(samples)
    for side in (one, two):
        own, seeds, variance = side.n - 1, np.maximum(side.n, 1), side.variance
        if gained := gained_freedom(variance, own):
            variance = np.where(variance > 0, np.fmax(variance, moderate(variance, own)), variance)
        variances.append(variance / seeds)
        freedoms.append(np.maximum(own, 1.0) + gained)
    freedom = conservative_freedom((variances[0], variances[1]), (freedoms[0], freedoms[1]), one.n - two.n)
    error = np.sqrt(variances[0] + variances[1])
    estimate = StandardError(difference=one.mean - two.mean, error=error, freedom=freedom)
    return OneSided(estimate=estimate, one_split=split_share(samples))


def gained_freedom(variance: Floats, own: Integers) -> float:
    """Return how many degrees of freedom the shapes' agreement adds: at most those of all shapes together."""
    if np.count_nonzero(variance > 0) < FEWEST_SHAPES:
        return 0.0
    return min(fit_prior(variance, own, limit=_SURE)[1], float(np.maximum(own, 0).sum()))


def resampled(samples: TwoSample, *, rng: np.random.Generator) -> OneSided:
    """Return Welch's tests whose t is also compared with the resamples and the noise of all shapes."""
    # The level sizes the tails of single shapes, which nothing here needs; the pool is the same at any.
    pool = resample_tails(samples, level=0.95, rng=rng).pool
    return replace(welch_tests(samples), pool=pool, common=common_noise(samples, rng=rng))


def welch_test(samples: TwoSample, **_: object) -> Floats:
    """Return two-sided p-values of :func:`welch_tests`, which draw no random numbers."""
    return welch_tests(samples).difference_p()
