"""The noise of all shapes together, which shows slow runs that the seeds of one shape may hide.

Suppose 1 search in 15 is far slower. Most shapes of five seeds show none: their means are too fast, and their
noise looks too small. All shapes together show how often such runs are, and how slow.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from abtune.stats.intervals import bootstrap_t
from abtune.stats.intervals.bootstrap_t import PooledT
from abtune.stats.skewness import FEWEST_SHAPES
from abtune.stats.two_sample import Floats, Integers, TwoSample
from abtune.stats.variance import quotient

# These shares of the common error are added to every standard error, as in SAM (Tusher, Tibshirani and Chu
# 2001, DOI 10.1073/pnas.091062498), and the larger p counts. The large one helps where seeds agree by chance,
# the small one where all noise is little but for rare slow runs (docs/statistics-tables.md, "common noise").
_ADDED = (0.02, 0.5)
# A shape counts as at most this many times as noisy as most, or one with a noise of 100 % would hide gains.
# If more than a quarter are noisier than that, it counts as at most as noisy as three quarters.
_NOISIEST = 3.0
# This share of the deviations, on each end, counts as the next one. What is as rare hardly moves a mean, and
# one run that is ten times slower would hide most gains.
_RARE = 0.01
# With fewer than five shapes, each side takes this many runs in all: they show a kind of 1 run in 15 with a
# chance of 94 %, which is 1 - (14/15)^40.
_FEWEST_RUNS = 40
# Values that are drawn at a time.
_BLOCK = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CommonNoise:
    """The t of samples that are drawn from the deviations of all shapes, where nothing differs."""

    of_size: tuple[PooledT, ...]  # one for each two numbers of seeds
    size: Integers  # which of them is a shape's, -1 for none; shape (shapes,)
    added: Floats  # to the standard error of each shape, and of each drawn sample
    differences: tuple[Floats, ...]  # of the means of the drawn samples, for each two numbers of seeds
    doubt: float = 0.0  # how far the mean of all deviations may be off

    def doubted(self) -> CommonNoise:
        """Return the same with a standard error of the mean over all shapes: they may show few slow runs."""
        widest = max(float(one.std()) for one in self.differences)
        return replace(self, doubt=widest / math.sqrt(np.count_nonzero(self.size >= 0)))

    def mirrored(self) -> CommonNoise:
        """Return the same with the sides exchanged."""
        pools, differences = (pool.mirrored for pool in self.of_size), (-one for one in self.differences)
        return replace(self, of_size=tuple(pools), differences=tuple(differences))

    def share_above(self, difference: Floats, error: Floats) -> Floats:
        """Return the share of drawn samples whose t is at least that of each shape; 0 for shapes without."""
        difference, error = difference - self.doubt, error + self.added
        share = np.zeros_like(difference)
        # Where nothing varies anywhere, no drawn sample differs, so a difference is beyond all of them.
        sure = np.where(difference > 0, np.inf, -np.inf)
        t = quotient(difference, error, sure)
        for which, pool in self._pools():
            share[which] = pool.share_above(t[which])
        return share

    def half_width(self, error: Floats, share: float) -> Floats:
        """Return what at most this share of drawn samples exceeds, as a difference; -inf without one."""
        width = np.full_like(error, -np.inf)
        for which, pool in self._pools():
            most = pool.upper(share)  # an endless one is endless also where nothing varies
            width[which] = most * (error + self.added)[which] if math.isfinite(most) else most
        return width

    def difference(self, share: float) -> Floats:
        """Return which difference of means this share of drawn samples exceeds; -inf for shapes without."""
        difference = np.full(len(self.size), -np.inf)
        for number, values in enumerate(self.differences):
            difference[self.size == number] = np.quantile(values, 1 - share)
        return difference

    def _pools(self) -> Iterator[tuple[Integers, PooledT]]:
        for number, pool in enumerate(self.of_size):
            yield np.flatnonzero(self.size == number), pool


def common_noise(samples: TwoSample, *, rng: np.random.Generator) -> tuple[CommonNoise, ...]:
    """Return the noise that all shapes with two seeds or more per side show; nothing if these are too few.

    The deviations of the runs from the median of their shape are put together, for each side. Around means,
    a shape that shows no slow run would hide that its mean is too fast. The slowest and the fastest deviation
    count once more: what one run in n showed is expected of one run in n/2 (Laplace's rule of succession).
    """
    groups = list((_one_side(samples) if samples.paired else samples).groups(at_least=2))
    values = [group.first for group in groups], [group.second for group in groups]
    if not _are_enough(*values):
        return ()
    sides = [*map(_deviations, values)]
    # The data fix the order of drawing, so exchanged sides have the mirrored t.
    exchange = float(sides[0] @ sides[0]) > float(sides[1] @ sides[1])
    root, size, error, drawn = int(rng.integers(2**62)), np.full(len(samples), -1), [], []
    for number, group in enumerate(groups):
        n = (group.first.shape[1], group.second.shape[1])
        size[group.index] = number
        error.append(float(np.sqrt(sides[0].var() / n[0] + sides[1].var() / n[1])))
        drawn.append(_draw(sides, n, root, exchange=exchange))

    def with_added(share: float) -> CommonNoise:
        added = share * np.array(error)
        pools = [PooledT.of(quotient(one[0], one[1] + more)) for one, more in zip(drawn, added, strict=True)]
        return CommonNoise(
            of_size=tuple(pools),
            size=size,
            added=np.where(size >= 0, added[size], 0.0),
            differences=tuple(difference for difference, _ in drawn),
        )

    return tuple(with_added(share) for share in _ADDED)


def _are_enough(*sides: Sequence[Floats]) -> bool:
    shapes = sum(map(len, sides[0]))
    runs = min(sum(values.size for values in side) for side in sides)
    return shapes >= FEWEST_SHAPES or (shapes > 1 and runs >= _FEWEST_RUNS)


def _one_side(pairs: TwoSample) -> TwoSample:
    """Return the differences of pairs as one side of all shapes, and zeros as the other."""
    differences = pairs.first - pairs.second
    zeros = np.where(np.isnan(differences), np.nan, 0.0)
    # The data fix which side, so exchanged configurations exchange the sides.
    forward = np.nansum(differences) >= 0
    return TwoSample.without_floor(*((differences, zeros) if forward else (zeros, -differences)))


def _deviations(sides: list[Floats]) -> Floats:
    """Return the deviations of one side from the medians of its shapes, ascending, with a mean of zero."""
    apart = [side - np.median(side, axis=1)[:, np.newaxis] for side in sides]
    spreads = [np.median(np.abs(values), axis=1)[:, np.newaxis] for values in apart]
    varied = np.concatenate(spreads)
    known = varied[varied > 0] if varied.any() else np.array([np.inf])
    # A quarter of the shapes are no exception: those that show slow runs, while others show none.
    most = max(_NOISIEST * np.median(known), np.quantile(known, 0.75, method="lower"))
    limited = [values / np.maximum(spread / most, 1) for values, spread in zip(apart, spreads, strict=True)]
    ordered = np.sort(np.concatenate([values.ravel() for values in limited]))
    few = int(_RARE * len(ordered))
    ordered = np.clip(ordered, ordered[few], ordered[-1 - few])
    ordered = np.concatenate([ordered[:1], ordered, ordered[-1:]])
    return ordered - ordered.mean()


def _draw(sides: list[Floats], n: tuple[int, int], root: int, *, exchange: bool) -> tuple[Floats, Floats]:
    """Return differences and standard errors of drawn samples with these numbers of seeds."""
    if exchange:
        difference, error = _draw(sides[::-1], n[::-1], root, exchange=False)
        return -difference, error
    rng = np.random.default_rng([root, *n])
    (one, first), (two, second) = (_moments(*side, rng) for side in zip(sides, n, strict=True))
    return one - two, np.sqrt(first / n[0] + second / n[1])


def _moments(values: Floats, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return means and variances of samples that are drawn from values, one for each resample."""
    mean, variance = np.empty((2, bootstrap_t.RESAMPLES))
    rows = max(_BLOCK // n, 1)
    for start in range(0, len(mean), rows):
        block = slice(start, start + rows)
        drawn = rng.choice(values, size=(len(mean[block]), n))
        mean[block], variance[block] = drawn.mean(axis=1), drawn.var(axis=1, ddof=1)
    return mean, variance
