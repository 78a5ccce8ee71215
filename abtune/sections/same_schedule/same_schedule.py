"""The same schedules under both configurations: the effect of the code, apart from the luck of the search.

A winner was selected under its own configuration. So schedules of the baseline's searches are biased against
the candidate, and those of the candidate's searches are biased for it. Both directions are reported, never
their mean. A gain on the baseline's schedules is strong evidence, and so is a loss on the candidate's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from abtune.compare.claims import FASTER, FEWEST_PAIRS, SLOWER
from abtune.compare.results import Analysis, Claim
from abtune.compare.settings import Settings
from abtune.dataset.provenance import contains_space
from abtune.dataset.schema import TransferStatus
from abtune.errors import InputError
from abtune.samples import Transfers, extract_transfers
from abtune.stats.across_shapes import at_least, without_rounding
from abtune.stats.estimates import EqualWithNaN, from_log, t_interval
from abtune.stats.testing.significance import OneSided, resampled, welch_tests
from abtune.stats.testing.step_procedures import holm
from abtune.stats.two_sample import Booleans, Floats, TwoSample
from abtune.text import count


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Direction(EqualWithNaN):
    """Schedules that one configuration's searches found, built under both; boosts are fractions."""

    origin: str  # the configuration whose searches found the schedules
    schedules: int  # distinct schedules, also those that do not fit
    fitting: int  # distinct schedules that both configurations can build, as different kernels
    does_not_fit: int  # distinct schedules that the other configuration refuses
    failed: int  # distinct schedules that it cannot build or time
    same: int  # distinct schedules that it builds as the same kernel
    effect: float  # mean boost of the candidate on fitting schedules, with Student's t over schedules
    low: float
    high: float
    # One-sided tests that the mean effect is not above, or not below, zero; NaN below two schedules.
    p_faster: float
    p_slower: float

    @property
    def tried(self) -> int:
        """Schedules that could fit: those that stay the same kernel are left out."""
        return self.fitting + self.does_not_fit + self.failed

    @property
    def built(self) -> int:
        """Number of distinct schedules that the other configuration can build, the same kernels included."""
        return self.fitting + self.same

    @property
    def never_built(self) -> bool:
        """Whether the other configuration could build none of these schedules."""
        return self.schedules > 0 == self.built

    def within(self, tolerance: float) -> bool:
        """Return whether the interval lies within a tolerance."""
        return -tolerance <= self.low and self.high <= tolerance

    @classmethod
    def over_shapes(cls, rows: Sequence[Direction], *, level: float) -> Direction:
        """Return the mean over shapes of their mean effects, with its error from the spread over shapes."""
        means = np.array([math.log1p(row.effect) for row in rows if not math.isnan(row.effect)])
        counts = ("schedules", "fitting", "does_not_fit", "failed", "same")
        sums: Any = {name: sum(getattr(row, name) for row in rows) for name in counts}
        (numbers,) = _numbers(welch_tests(_as_pairs([means])), level)
        return cls(origin=rows[0].origin, **sums, **numbers)


def describe_directions(side: Transfers, claim: str, settings: Settings) -> list[Direction]:
    """Return the effect on the schedules of each shape; ``claim`` is what would be shown against their bias.

    Few schedules hide that others are far slower, and with t-tests alone up to all reports then have a false
    gain. So where these would show something, p is at least that of bootstrap-t, pooled over the shapes.
    """
    logs = [effects(side, index) for index in range(len(side.status))]
    pairs = _as_pairs(logs)
    tests = welch_tests(pairs)
    p, fitting = _p_values(tests)[claim], pairs.sizes[:, 0]
    if (holm(p) <= settings.alpha).any() or _counted(p, fitting, settings.alpha):
        tests = resampled(pairs, rng=np.random.default_rng(settings.rng_seed))
    numbers = enumerate(_numbers(tests, settings.level))
    return [Direction(origin=side.origin, **_counts(side, index), **means) for index, means in numbers]


def _counts(side: Transfers, index: int) -> dict[str, Any]:
    """Return how many distinct schedules of a shape had each fate."""
    status, kernels = side.status[index], side.schedule[index]
    fits = status == TransferStatus.OK
    # A schedule that one seed's run built did not fail for another seed.
    others = ~fits & ~(np.isin(kernels, kernels[fits]) & (kernels != ""))

    def number(kind: TransferStatus) -> int:
        return len(distinct(kernels, others & (status == kind)))

    return {
        "schedules": len(distinct(kernels, status != TransferStatus.MISSING)),
        "fitting": len(effects(side, index)),
        "does_not_fit": number(TransferStatus.DOES_NOT_FIT),
        "failed": number(TransferStatus.FAILED),
        "same": number(TransferStatus.SAME_KERNEL),
    }


def distinct(kernels: npt.NDArray[np.object_], which: Booleans) -> list[int]:
    """Return the first seed of each kernel among some; seeds without a hash count each."""
    first: dict[object, int] = {}
    for seed in np.flatnonzero(which).tolist():
        # A hash is a text and a seed a number, so neither passes for the other.
        first.setdefault(kernels[seed] or seed, seed)
    return list(first.values())


def _as_pairs(samples: Sequence[Floats]) -> TwoSample:
    """Return log effects, which are differences of pairs, a row for each sample."""
    logs = np.full((len(samples), 1 + max(map(len, samples))), math.nan)
    for row, values in zip(logs, samples, strict=True):
        row[: len(values)] = without_rounding(values)
    return TwoSample.of_pairs(logs, np.zeros_like(logs), np.full((len(logs), 2), math.nan))


def _p_values(tests: OneSided) -> dict[str, Floats]:
    """Return one-sided p-values of both claims, at least the share of one flip."""
    sides = {FASTER: tests, SLOWER: tests.swapped()}
    return {claim: np.maximum(side.p_above(0.0), side.one_split) for claim, side in sides.items()}


def _counted(p: npt.ArrayLike, fitting: npt.ArrayLike, alpha: float) -> int:
    """Return in how many shapes the claim of these p-values holds; those with few schedules do not count."""
    enough = np.where(np.asarray(fitting) >= FEWEST_PAIRS, p, math.nan)
    # Searches of two shapes have nothing in common, and measuring adds little: no correlation.
    return at_least(enough, correlation=0.0, alpha=alpha)


def _numbers(tests: OneSided, level: float) -> Iterator[dict[str, Any]]:
    """Yield the mean of each sample of log effects as a boost, with its t interval and one-sided tests."""
    mean, p = t_interval(tests.estimate, level=level), _p_values(tests)
    for index in range(len(mean.difference)):
        yield {
            "effect": from_log(mean.difference[index]),
            "low": from_log(mean.low[index]),
            "high": from_log(mean.high[index]),
            "p_faster": float(p[FASTER][index]),
            "p_slower": float(p[SLOWER][index]),
        }


# An effect of this many standard errors of measuring, or more, counts as real.
_CLEAR = 3.0


class Reading(StrEnum):
    """What the same schedules say about the code of the candidate, in a few words."""

    FASTER = "the code is faster"
    SLOWER = "the code is slower"
    SAME = "no difference"
    MIXED = "depends on the schedule"
    NOTHING_FITS = "does not fit"
    SAME_KERNEL = "the same kernel"
    OPEN = "not settled"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BestKnown(EqualWithNaN):
    """The fastest kernels known for one shape, over the schedules of both configurations."""

    baseline: float  # seconds; NaN where none was timed; has the kernels that are the same under both
    candidate: float
    boost: float  # of the candidate's over the baseline's
    schedules: int  # distinct schedules that were tried


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShapeEffect(EqualWithNaN):
    """What the same schedules say about one shape."""

    shape: str
    workload: str
    of_baseline: Direction  # the effect on the schedules of its searches
    of_candidate: Direction
    best: BestKnown
    reading: Reading
    boost: float  # the boost of the searches themselves, as in the report
    boost_low: float
    boost_high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SameSchedule:
    """What rebuilding winners under the other configuration shows."""

    baseline: str
    candidate: str
    level: float
    tolerance: float  # how large an effect counts as none
    shapes: tuple[ShapeEffect, ...]
    of_baseline: Direction  # the mean effect over the shapes, from the spread over shapes
    of_candidate: Direction
    claims: tuple[Claim, ...]  # faster even on the baseline's schedules, slower even on the candidate's
    contains: bool  # whether the candidate's design space contains the baseline's
    caveats: tuple[str, ...]  # what these numbers cannot say

    @property
    def one_kernel(self) -> bool:
        """Whether every schedule gives one kernel under both configurations."""
        return all(row.reading is Reading.SAME_KERNEL for row in self.shapes)


def describe_same_schedule(analysis: Analysis) -> SameSchedule:
    """Return what the same schedules say, shape by shape and over all shapes."""
    dataset = analysis.dataset
    if "transfer_latency" not in dataset:
        raise InputError(
            "the dataset has no transfers; abtune measure DATASET --transfer --out NEW.nc rebuilds its "
            "winners under both configurations"
        )
    names, settings = (analysis.baseline, analysis.candidate), analysis.settings
    sides = [extract_transfers(dataset, name, *names) for name in names]
    claims = zip(sides, (FASTER, SLOWER), strict=True)
    directions = [describe_directions(side, claim, settings) for side, claim in claims]
    shapes = tuple(_shape_effects(analysis, sides, directions))
    contains = contains_space(dataset, analysis.candidate, analysis.baseline)
    of_baseline, of_candidate = (Direction.over_shapes(rows, level=settings.level) for rows in directions)
    return SameSchedule(
        baseline=names[0],
        candidate=names[1],
        level=settings.level,
        tolerance=settings.tolerance,
        shapes=shapes,
        of_baseline=of_baseline,
        of_candidate=of_candidate,
        claims=tuple(_claims(directions, settings.alpha)),
        contains=contains,
        caveats=tuple(_caveats(sides, analysis, shapes, contains=contains)),
    )


def _shape_effects(
    analysis: Analysis, sides: Sequence[Transfers], directions: Sequence[Sequence[Direction]]
) -> Iterator[ShapeEffect]:
    # Each counts against the bias only: a gain on the baseline's schedules, a loss on the candidate's. The
    # chance of any false *faster* is at most alpha, and so is that of *slower*.
    alpha, tolerance = analysis.settings.alpha, analysis.settings.tolerance
    faster = holm([row.p_faster for row in directions[0]]) <= alpha
    slower = holm([row.p_slower for row in directions[1]]) <= alpha
    rows = zip(analysis.comparisons, *directions, strict=True)
    for index, (row, of_baseline, of_candidate) in enumerate(rows):
        # In standard errors of measuring: NaN without a second timing. Any effect is clear where timings are
        # exact, as a simulator's.
        with np.errstate(divide="ignore", invalid="ignore"):
            in_errors = [without_rounding(effects(side, index)) / side.error[index] for side in sides]
        if faster[index] or slower[index]:
            reading = Reading.FASTER if faster[index] else Reading.SLOWER
        else:
            reading = _unclear(of_baseline, of_candidate, np.concatenate(in_errors), tolerance)
        yield ShapeEffect(
            shape=row.shape,
            workload=row.workload,
            of_baseline=of_baseline,
            of_candidate=of_candidate,
            best=_best(sides, index),
            reading=reading,
            boost=row.boost,
            boost_low=row.boost_low,
            boost_high=row.boost_high,
        )


def effects(side: Transfers, index: int) -> Floats:
    """Return the log effect of the candidate on each distinct schedule of a shape that fits; shape (any,)."""
    effect = side.baseline[index] - side.candidate[index]
    known = ~np.isnan(effect) & (side.status[index] == TransferStatus.OK)
    return effect[distinct(side.schedule[index], known)]


def _unclear(one: Direction, two: Direction, effect: Floats, tolerance: float) -> Reading:
    """Return the reading of a shape that is not faster or slower; effects are in errors of measuring."""
    if one.fitting + two.fitting == 0:  # no schedule gives two different kernels
        if one.does_not_fit + two.does_not_fit:
            return Reading.NOTHING_FITS
        return Reading.SAME_KERNEL if one.same + two.same else Reading.OPEN
    if one.within(tolerance) and two.within(tolerance):
        return Reading.SAME
    return Reading.MIXED if (effect > _CLEAR).any() and (effect < -_CLEAR).any() else Reading.OPEN


def _claims(directions: Sequence[Sequence[Direction]], alpha: float) -> Iterator[Claim]:
    """Yield in how many shapes the code is faster, and slower, each against the bias of its schedules."""
    for claim, rows in zip((FASTER, SLOWER), directions, strict=True):
        p = [getattr(row, f"p_{claim}") for row in rows]
        shown = _counted(p, [row.fitting for row in rows], alpha)
        yield Claim(claim=claim, beyond=0.0, at_least=shown, of=len(p), workload=None)


def _best(sides: Sequence[Transfers], index: int) -> BestKnown:
    plain = np.concatenate([side.baseline[index] for side in sides])
    changed = np.concatenate(
        # Schedules that give the same kernel under both count as the baseline's alone.
        [side.candidate[index][side.status[index] != TransferStatus.SAME_KERNEL] for side in sides]
    )
    # fmin leaves out NaN.
    baseline, candidate = (math.exp(np.fmin.reduce(logs, initial=np.nan)) for logs in (plain, changed))
    hashes = {kernel for side in sides for kernel in side.schedule[index].tolist() if kernel}
    return BestKnown(
        baseline=baseline,
        candidate=candidate,
        boost=baseline / candidate - 1,
        schedules=len(hashes) or int(np.count_nonzero(~np.isnan(plain))),
    )


def _caveats(
    sides: Sequence[Transfers], analysis: Analysis, shapes: Sequence[ShapeEffect], *, contains: bool
) -> Iterator[str]:
    few = sum(0 < row.of_baseline.fitting < FEWEST_PAIRS for row in shapes)
    if few:
        yield (
            f"In {few} of {count(len(shapes), 'shape')} only 1 to {FEWEST_PAIRS - 1} schedules of "
            f"{analysis.baseline} fit {analysis.candidate}. That is too few, so counts of shapes "
            "leave these shapes out."
        )
    yield "Schedules that no search found may be far slower in one configuration. No test here sees them."
    if contains:
        yield (
            f"The design space of {analysis.candidate} contains {analysis.baseline}'s. Apart "
            f"from luck, {analysis.candidate} loses only if it spreads its trials over the larger space."
        )
    if not any(kernel for side in sides for kernel in side.schedule.ravel()):
        yield "The kernels have no hashes, so a kernel that two seeds found counts twice."
