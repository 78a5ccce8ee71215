"""Bootstrap-t: every resample is measured in its own standard error; intervals of all shapes at once.

The only bootstrap here that is sampled, because its statistic is not a sum of draws.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import combinations_with_replacement
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from abtune.stats.estimates import FEWEST_FOR_BOOTSTRAP, Intervals, conservative_welch, t_interval
from abtune.stats.intervals.bootstrap import exchanged, orientation, smoothing
from abtune.stats.splits import blocked_product
from abtune.stats.two_sample import Floats, Group, Integers, TwoSample
from abtune.stats.variance import floored, moments, quotient, residuals

# RESAMPLES + 1 times a usual tail is a whole number, so quantiles are order statistics. With a quarter of
# them, another seed of the generator moves bounds of 29 shapes by half a point, and counts by one.
RESAMPLES = 39_999
# Shapes at a time: their t are an array of RESAMPLES rows.
_BLOCK = 8
# A resample has at least this share of the sample's variance. With 5 seeds, 1 resample in 625 is constant.
_LEAST_SHARE = 0.01
# In the pool of all shapes that would hide how certain a shape without a failure looks. There a resample may
# have any variance above rounding.
_ROUNDING = 1e-12
# Eight values have 6,435 different resamples; nine have 24,310.
_FEW = 8
# Of more values, drawn members are counted, which is faster. Of fewer it would change published bounds.
_MANY = 100
# Values are counted on a grid: a pool of thousands of shapes takes no more memory than one of a few. A value
# beyond the last step counts there.
_STEP = 0.002
_STEPS = 50_000
# Draws of more seeds on both sides are not kept: these take up to 32 MB.
_MOST_KEPT = 400
# Counts of a side at a time: those of 1,000 seeds would take 300 MB.
_MOST_DRAWN = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Resampled:
    """Errors of resamples over their own standard errors, for some shapes."""

    index: Integers  # rows of the shapes in the samples
    t: Floats  # shape (RESAMPLES, members)
    error: Floats  # of the difference of the means, not over its standard error
    scale: Floats  # standard errors where a resample may have any variance above rounding


def resampled(samples: TwoSample, *, rng: np.random.Generator) -> Iterator[Resampled]:
    """Yield resamples of every shape with at least five seeds on both sides, some shapes at a time."""
    root = int(rng.integers(2**62))
    for group in samples.groups(at_least=FEWEST_FOR_BOOTSTRAP):
        # Seeded by the numbers of seeds: a shape has the same draws alone, among others, and swapped.
        n = sorted((group.first.shape[1], group.second.shape[1]))
        draws = _kept_draws if sum(n) <= _MOST_KEPT else _draws
        for block in group.blocks(_BLOCK):
            yield _resample(block, draws(RESAMPLES, root, *n))


_Counts: TypeAlias = npt.NDArray[np.unsignedinteger[Any]]
_Draw: TypeAlias = tuple[Sequence[_Counts], Floats]


def _draws(resamples: int, root: int, *n: int) -> Iterator[_Draw]:
    """Yield the counts of both sides with these numbers of seeds, and normal errors; some at a time."""
    rng, most = np.random.default_rng([root, *n]), _MOST_DRAWN // max(n)
    for start in range(0, resamples, most):
        rows = min(most, resamples - start)
        yield [_draw_counts(rows, seeds, rng) for seeds in n], rng.standard_normal(rows)[:, np.newaxis]


@lru_cache(maxsize=4)  # simulated sweeps of one design all have the same draws
def _kept_draws(resamples: int, root: int, *n: int) -> Sequence[_Draw]:
    return tuple(_draws(resamples, root, *n))


def _draw_counts(rows: int, n: int, rng: np.random.Generator) -> _Counts:
    """Return how often each resample has each of n values, shape (rows, n), in as few bytes as n needs.

    Of few values, each resample comes as often as its probability says, rounded up or down at random. Drawn
    freely, t of five pairs would have quantiles that change with the seed: it has 126 values, some likely.
    """
    compact = np.min_scalar_type(n)
    if n > _MANY:
        members = rng.integers(n, size=(rows, n)) + n * np.arange(rows)[:, np.newaxis]
        return np.bincount(members.ravel(), minlength=rows * n).astype(compact).reshape(rows, n)
    if n > _FEW:
        return rng.multinomial(n, np.full(n, 1 / n), size=rows).astype(compact)
    counts, ends = _all_counts(n)
    positions = (np.arange(rows) + rng.random()) / rows
    chosen = np.minimum(np.searchsorted(ends, positions), len(counts) - 1)
    # Independent of the order on the other side.
    return counts.astype(compact)[rng.permutation(chosen)]


@cache
def _all_counts(n: int) -> tuple[Integers, Floats]:
    """Return how often a resample can have each of n values, all ways, and their cumulative probabilities."""
    members = np.array(list(combinations_with_replacement(range(n), n)))
    counts = np.count_nonzero(members[:, :, np.newaxis] == np.arange(n), axis=1)
    factorials = np.array([math.factorial(count) for count in range(n + 1)], dtype=np.float64)
    return counts, np.cumsum(factorials[n] / factorials[counts].prod(axis=1)) / n**n


def _resample(group: Group, draws: Iterable[_Draw]) -> Resampled:
    """Return t of every resample and shape; the draws have the side with fewer seeds first."""
    first, second, floor = group.first, group.second, group.floor
    turn = orientation(residuals(first), residuals(second))
    known = np.nan_to_num(floor, nan=-1.0)
    # Sides that are alike may have different floors, which then fix the order.
    exchange = (turn > 0) | (turn == 0) & (known[:, 0] > known[:, 1])
    sides = exchanged(first, second, exchange)
    floor = np.where(exchange[:, np.newaxis], floor[:, ::-1], floor)
    # Residuals lack what measurement adds above the seeds' own spread; a normal error replaces it.
    smear = np.hypot(*(smoothing(side, least)[1] for side, least in zip(sides, floor.T, strict=True)))
    errors, limited, own = [], [], []
    for counts, normal in draws:
        one, two = map(_mean_and_variances, counts, sides, floor.T)
        errors.append(one[0] - two[0] + smear * normal)
        limited.append(np.sqrt(one[1] + two[1]))
        own.append(np.sqrt(one[2] + two[2]))
    error, least, scale = map(np.concatenate, (errors, limited, own))
    error = np.where(exchange, -error, error)  # for the sides as given
    return Resampled(index=group.index, t=quotient(error, least), error=error, scale=scale)


def _mean_and_variances(counts: _Counts, side: Floats, floor: Floats) -> tuple[Floats, Floats, Floats]:
    """Return of each resample of a side the mean and its variance, limited and not, shape (rows, members)."""
    n, rest, drawn = side.shape[1], residuals(side), counts.astype(np.float64)
    mean = blocked_product(drawn, rest.T) / n
    squared = blocked_product(drawn, (rest**2).T) / n
    variance = np.maximum(squared - mean**2, 0.0) * n / (n - 1)
    # A run with one slow round raises floor and variance alike, and a shape without one has neither. So a
    # resample has no floor, only the measurement variance that its seeds lack.
    observed = moments(side).variance
    variance = variance + floored(observed, floor) - observed
    limited, own = (np.maximum(variance, share * observed) / n for share in (_LEAST_SHARE, _ROUNDING))
    return mean, limited, own


@dataclass(frozen=True, kw_only=True, eq=False)
class PooledT:
    """The distribution of t over the resamples of all shapes; empty if no shape could be resampled."""

    counts: Integers  # of the values nearest to each step of the grid

    @classmethod
    def of(cls, t: Floats) -> PooledT:
        """Return the distribution of some values."""
        return cls(counts=np.bincount(_step(t).ravel(), minlength=2 * _STEPS + 1))

    @cached_property
    def above(self) -> Integers:
        """Numbers of values at each step or beyond; the first is of all."""
        return np.cumsum(self.counts[::-1])[::-1]

    @cached_property
    def mirrored(self) -> PooledT:
        """The distribution of the negated values, which exchanged sides have."""
        return PooledT(counts=self.counts[::-1])

    def share_above(self, t: Floats) -> Floats:
        """Return the share of the values that are at least t, never zero; zero for an empty pool."""
        if not self.above[0]:
            return np.zeros_like(t)
        known = np.where(np.isnan(t), 0.0, t)
        # The observed value counts as one of the resamples, so no p is zero.
        share: Floats = (1 + self.above[_step(known)]) / (1 + self.above[0])
        return np.where(np.isnan(t), np.nan, share)

    def upper(self, share: float) -> float:
        """Return the least value that at most this share of the pool exceeds; -inf for an empty pool."""
        if not self.above[0]:
            return -np.inf
        # The last step has all values beyond it, too, so it is no bound.
        few, steps = share * (1 + self.above[0]) - 1, range(1, len(self.above))
        enough = bisect.bisect_left(steps, x=True, key=lambda step: bool(self.above[step] <= few))
        return _STEP * (enough - _STEPS) if enough < len(steps) else np.inf


NO_RESAMPLES = PooledT(counts=np.zeros(2 * _STEPS + 1, dtype=np.int64))


def _step(values: Floats) -> Integers:
    """Return the index of the nearest step of the grid."""
    nearest = np.clip(np.rint(values / _STEP), -_STEPS, _STEPS)
    return nearest.astype(np.int64) + _STEPS


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tails:
    """The resamples of all shapes, as far as claims about all of them need these."""

    index: Integers  # rows of the shapes that could be resampled
    largest: Floats  # their largest abs(t), shape (kept, resampled)
    pool: PooledT  # all of their t


def resample_tails(
    samples: TwoSample, *, level: float, rng: np.random.Generator, known: Tails | None = None
) -> Tails:
    """Return the tails of the resamples of all shapes, for joint levels of at least this one.

    ``known`` are those of some shapes, by the same level and generator, which are not resampled again.
    """
    # The joint quantile of several shapes is at least that of each, so lesser values of a shape never decide.
    kept = math.ceil((1 - level) * (RESAMPLES + 1)) + 1
    if known is None:
        known = Tails(index=np.zeros(0, np.int64), largest=np.zeros((kept, 0)), pool=NO_RESAMPLES)
    rest = np.setdiff1d(np.arange(len(samples)), known.index)
    index, largest, counts = [known.index], [known.largest], known.pool.counts
    for shapes in resampled(samples.rows(rest), rng=rng):
        index.append(rest[shapes.index])
        ordered = np.partition(np.abs(shapes.t), RESAMPLES - kept, axis=0)
        largest.append(ordered[RESAMPLES - kept :].copy())  # a view would keep all resamples in memory
        counts = counts + PooledT.of(quotient(shapes.error, shapes.scale)).counts
    pool = PooledT(counts=counts)
    return Tails(index=np.concatenate(index), largest=np.concatenate(largest, axis=1), pool=pool)


def _size(samples: TwoSample) -> float:
    return float(np.nansum(samples.first**2) + np.nansum(samples.second**2))


def pool_of_change(before: TwoSample, after: TwoSample, *, rng: np.random.Generator) -> PooledT:
    """Return the t of the change of a difference between two datasets, over the resamples of all shapes."""
    # The data fix the order, so exchanged datasets have the mirrored t.
    if _size(before) > _size(after):
        return pool_of_change(after, before, rng=rng).mirrored
    roots, counts = rng.integers(2**62, size=2), NO_RESAMPLES.counts
    for start in range(0, len(before), _BLOCK):
        shape, parts = slice(start, start + _BLOCK), []
        for samples, root in zip((before, after), roots.tolist(), strict=True):
            rows = samples.rows(shape)
            error, scale = np.full((2, RESAMPLES, len(rows)), np.nan)
            for some in resampled(rows, rng=np.random.default_rng(root)):
                error[:, some.index], scale[:, some.index] = some.error, some.scale
            parts.append((error, scale))
        (one, other), (two, another) = parts
        t = quotient(two - one, np.hypot(other, another))
        t = t[:, ~np.isnan(one + two).any(axis=0)]
        counts = counts + PooledT.of(t).counts
    return PooledT(counts=counts)


def simultaneous(samples: TwoSample, tails: Tails, *, level: float) -> Intervals:
    """Return intervals that cover the differences of all shapes at once.

    The critical value c is a quantile of the largest abs(t) over the shapes. It stays below c with
    probability prod_i F_i(c) if resamples are independent (Romano and Wolf 2005, DOI
    10.1198/016214504000000539). Positive correlation, as in shared sessions, makes them too wide. Shapes with
    fewer than five seeds on either side have Student's t at their share of the level.
    """
    estimate = conservative_welch(samples)
    known = max(int(np.count_nonzero(~np.isnan(estimate.error))), 1)
    closed = t_interval(estimate, level=level ** (1 / known))
    low, high = closed.low.copy(), closed.high.copy()
    index = tails.index
    if len(index):
        # Of independent shapes the joint level is a product. Shapes that are not resampled have the rest.
        value = critical_value(tails.largest, level=level ** (len(index) / known))
        half = value * estimate.error[index]
        low[index], high[index] = estimate.difference[index] - half, estimate.difference[index] + half
    return Intervals(difference=estimate.difference, low=low, high=high)


def critical_value(tails: Floats, *, level: float) -> float:
    """Return the quantile of the largest abs(t) of independent shapes, from their largest abs(t)."""
    values = np.unique(tails)

    def log_share_below(value: float) -> float:
        beyond = np.count_nonzero(tails > value, axis=0) / (RESAMPLES + 1)
        return float(np.log1p(-beyond).sum())

    # The largest value stands if no lesser one is enough.
    return float(values[bisect.bisect_left(values[:-1], math.log(level), key=log_share_below)])
