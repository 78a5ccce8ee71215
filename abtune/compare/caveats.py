"""What in the seeds weakens a comparison or a whole analysis, in sentences; nothing here changes a number.

What else a dataset tells, such as unequal budgets, is in `abtune/compare/dataset_caveats.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from abtune.compare.claims import FEWEST_PAIRS
from abtune.compare.gates import ONE_PAIR, ONE_RUN
from abtune.compare.results import Comparison, Verdict
from abtune.compare.sentence import DEPENDENT, NEIGHBOURS, OTHER_UNIT
from abtune.compare.settings import Settings
from abtune.compare.statistics import resolution
from abtune.samples import Samples, Sides, two_sample, what_varies
from abtune.stats.estimand import Estimand
from abtune.stats.skewness import PERHAPS_CHANCE, may_be_chance, misled, more_skewed, two_modes
from abtune.stats.testing.attainable import MOST_SEEDS, fewest_for_max_t, fewest_seeds, most_seeds, smallest_p
from abtune.stats.testing.difference_tests import CORRECTIONS
from abtune.stats.time_series import compare_neighbours
from abtune.stats.two_sample import Floats
from abtune.text import count, listed, p_value, percent, some_of

# With fewer seeds on one side and more than this many times as many on the other, equivalence, counts and
# intervals err: docs/statistics.md, "Where it falls short".
_ENOUGH = 20
_MANY_TIMES = 2

# A failure mode of one search in ten is common enough to matter and rare enough to be missed. From 29
# seeds on, fewer than 5 % of sweeps miss it, and there is no caveat.
_RARE = 0.1
_RARE_IS_SEEN = 0.05

# From this chance on that a shape shows one of two equally frequent schedules, there is a caveat.
_ONE_KIND = 0.08

# A seed may have a wrong unit if it is so many times slower or faster than the median seed.
_OUTLIER = 10.0
# One run that is this many times slower can make all runs look skewed.
_FAR = 2.0
# Code of the same program is hardly ever this many times as fast; a thousand times is the next unit.
_OTHER_UNIT = 100.0
# Of two seeds the median is half-way, so neither is the odd one.
_FEWEST_FOR_OUTLIER = 3

# A side that loses this share more of its runs may look faster (docs/statistics-tables.md, `few seeds`).
_MORE_FAILED = 0.01

_COARSE = "steps of the timer hide the noise. Interval and verdict allow for half a step per configuration."
_TIMED_ONCE = "Each seed was timed once, so the measurement error is unknown."
_HIDDEN = (
    "Some runs look far slower or faster than most. The seeds of a shape may miss these, so intervals "
    "allow for the noise of all shapes."
)
_TAKE_TEN = "Make ten runs of each configuration. A run is a search, a process or a build of its own."

# Neighbouring seeds are called alike at this level, so 1 report in 50 of independent seeds has that caveat.
ALIKE = 0.02
# From this correlation on, an autoregression makes intervals a tenth too narrow, and the headline says so.
_CLEARLY_ALIKE = 0.095


def of_side(side: Samples, shape: int) -> Iterator[str]:
    """Yield what is weak in one configuration of one shape: runs that are lost, seeds that agree too well."""
    n = int(side.n[shape])
    fates = side.failed, side.missing, side.untimed, side.unpaired
    failed, missing, untimed, unpaired = (int(runs[shape]) for runs in fates)
    if failed:
        rest = f" The other{' pairs' if side.paired else 's'} are compared." if n else ""
        yield f"{failed} of {count(n + failed + unpaired, 'run')} failed.{rest}"
    if missing:
        yield f"{count(missing, 'run')} missing."
    if untimed:
        again = "If a sweep was stopped, repeat its command to time the rest."
        yield f"{count(untimed, 'complete run')} without a timing, left out. {again}"
    if unpaired:
        yield f"{count(unpaired, 'run')} left out, because the other run of the pair has no timing."
    if (factor := _farthest(side.value[shape])) >= _OUTLIER:
        yield (
            f"one seed differs from the median seed by a factor of {factor:,.0f}. Check that timing, "
            "because the boost depends on it."
        )
    if not side.paired:
        yield from of_noise(side, shape)


def of_outliers(side: Samples, shapes: Sequence[str], depends: str, where: str = "") -> Iterator[str]:
    """Yield in which shapes a seed is so far from the others that its timing may be wrong."""
    far = [shape for shape, values in zip(shapes, side.value, strict=True) if _farthest(values) >= _OUTLIER]
    if far:
        yield (
            f"{side.config}{where}: one seed differs from the median seed more than {_OUTLIER:g}-fold in "
            f"{some_of(far)}. Check that timing, because the {depends} depends on it."
        )


def _farthest(values: Floats) -> float:
    """Return by which factor a seed differs most from the median seed; values are logs."""
    known = values[~np.isnan(values)]
    if len(known) < _FEWEST_FOR_OUTLIER:
        return 1.0
    return math.exp(float(np.abs(known - np.median(known)).max()))


def of_noise(side: Samples, shape: int) -> Iterator[str]:
    """Yield where seeds agree better than they can be measured."""
    n = int(side.n[shape])
    if n < 2:
        return
    floor, noise = float(side.floor[shape]), float(side.noise[shape])
    if side.rounding[shape] > 0:
        yield _COARSE
    # Written so that an unknown floor, NaN, counts as none.
    elif noise == 0 and not floor > 0:
        rounded = "The interval and the verdict ignore the rounding of the timer."
        yield f"all {n} {'pairs' if side.paired else 'seeds'} agree exactly. {rounded}"
    elif floor > noise**2:
        yield (
            "the measurement error of a seed exceeds the noise between seeds, and replaces it. Time more "
            "rounds."
        )


def of_design(sides: Sides, rows: Sequence[Comparison], settings: Settings, *, hidden: bool) -> list[str]:
    """Return caveats about the whole design, each once; ``hidden`` if intervals allow for slow runs."""
    judged = [row for row in rows if row.verdict is not Verdict.INVALID]
    if not judged:
        single = max(max(row.n) for row in rows) == 1
        return ([ONE_PAIR] if settings.paired else [ONE_RUN, _TAKE_TEN]) if single else []
    fewest = min(min(row.n) for row in judged)
    return [
        *_about_units(judged),
        *_about_methods(settings, len(judged)),
        *_about_counts(rows, settings),
        *_about_estimand(settings),
        *_about_resolution(judged, rows, settings),
        *_about_few_against_many(judged),
        *_about_few(fewest, len(rows), settings, hidden=hidden),
        *_about_skew(sides, [row.shape for row in rows], settings),
        *_about_modes(sides, settings),
        *_about_failed(sides),
        # Of pairs, the differences: what both runs of a pair share cancels.
        *of_neighbours([side.value for side in what_varies(*sides)], settings.rng_seed),
        *([] if any((side.floor >= 0).any() for side in sides) else [_TIMED_ONCE]),
        *[_HIDDEN] * hidden,
    ]


def _about_methods(settings: Settings, shapes: int) -> Iterator[str]:
    """Yield what the correction is known not to do."""
    if shapes > 1 and settings.procedure.caveat:
        any_false = percent(1 - (1 - settings.alpha) ** shapes)
        words = {"alpha": percent(settings.alpha), "shapes": count(shapes, "shape"), "any": any_false}
        yield settings.procedure.caveat.format(**words)


def _about_skew(sides: Sides, shapes: Sequence[str], settings: Settings) -> Iterator[str]:
    """Yield a caveat if one side is more skewed than the other, or the differences of pairs are skewed."""
    samples = two_sample(*sides)
    faster, slower = misled(samples)
    if not (faster or slower):
        return
    gap = more_skewed(samples)
    skewed, other = sides[::-1] if gap > 0 else sides
    verdicts = listed([*["improved"] * faster, *["regressed"] * slower, "equivalent"], "or")
    claims = listed([*["faster", "not slower"] * faster, *["slower"] * slower], "or")
    runs = f"The runs of {skewed.config} look more skewed than {other.config}'s, or skewed and noisier."
    pairs = f"The differences of the pairs look skewed: now and then {skewed.config} is far slower."
    errs = (
        f"Still, up to 11% of such reports overstate how many shapes are {claims} (simulated, "
        "docs/statistics.md). With five seeds of five shapes and rare slow runs, up to 18% do."
    )
    if gap == 0:
        noisier = f"{skewed.config} look more skewed, or skewed and noisier, in others {other.config}'s."
        runs = f"In some shapes the runs of {noisier}"
        pairs = "The differences of the pairs look skewed, in some shapes one way, in others the other way."
    elif may_be_chance(samples):
        errs = (
            "Still, if some runs are far slower, up to 23% of reports find a false difference (simulated, "
            "docs/statistics.md)."
        )
        runs = f"{runs} {PERHAPS_CHANCE}"
        pairs = f"The differences of the pairs look skewed. {PERHAPS_CHANCE}"
    must = f"A verdict of {verdicts} must also pass a bootstrap-t test. "
    asked = "" if settings.difference_test.resamples else must
    farthest, shape = max(
        (_farthest(values), name) for values, name in zip(skewed.value, shapes, strict=True)
    )
    is_far = gap != 0 and not settings.paired and farthest >= _FAR
    extreme = f"{skewed.config}'s most extreme run is one of {shape}"
    far = f" {extreme}, a factor of {farthest:,.1f} from the median." * is_far
    yield f"{pairs if settings.paired else runs} {asked}{errs}{far}"


def _about_modes(sides: Sides, settings: Settings) -> Iterator[str]:
    """Yield which sides have two modes, which raises the noise of shapes that show one of them."""
    names = [side.config for side, two in zip(sides, two_modes(two_sample(*sides)), strict=True) if two]
    if names and settings.estimand is Estimand.GEOMETRIC_MEAN:
        yield (
            f"The runs of {listed(names)} seem to end at one of two speeds. The seeds of a shape may all end "
            "at the same one, and vary too little. So each shape has at least the pooled noise of all."
        )


def _about_counts(rows: Sequence[Comparison], settings: Settings) -> Iterator[str]:
    few = sum(min(row.n) < FEWEST_PAIRS for row in rows)
    if settings.paired and few and len(rows) > 1:
        which = "all shapes" if few == len(rows) else f"{few} of {len(rows)} shapes"
        yield (
            f"At-least counts need {FEWEST_PAIRS} pairs per shape. With fewer, as in {which}, only verdicts "
            "count."
        )


def _about_estimand(settings: Settings) -> Iterator[str]:
    if settings.estimand.searches > 1:
        yield (
            "Where the noise of the configurations differs, 95% intervals include the true boost in 85 to "
            "95% of cases. Where searches end at one of two schedules, up to "
            "20% of reports claim a false difference (simulated, docs/statistics.md)."
        )


def _about_resolution(
    judged: Sequence[Comparison], rows: Sequence[Comparison], settings: Settings
) -> Iterator[str]:
    """Yield whether the seeds are too few for any difference to pass the correction, or Holm's."""
    # Invalid shapes with a p-value are part of the correction, too.
    tested = sum(not math.isnan(row.p) for row in rows)
    needed = resolution(settings, max(tested, 1))
    smallest = min(smallest_p(*row.n, paired=settings.paired) for row in judged)
    if smallest <= needed:
        is_joint = settings.procedure.joint is not None and not settings.paired
        if is_joint and smallest > settings.procedure.planning_level(settings.alpha, tested):
            yield (
                f"The correction over {tested:,} shapes is max-T, because Holm's can show no difference with "
                "these seeds."
            )
        return
    enough = fewest_seeds(smallest=needed, paired=settings.paired)
    # Benjamini and Hochberg require k times less if k shapes differ together.
    together = math.ceil(smallest / needed - 1e-9)
    what = f"the correction over {tested:,} shapes" if tested > 1 else "a difference"
    least, asked = (p_value(p) if p > 1e-4 else f"{p:.2g}" for p in (smallest, needed))
    limits = f"The smallest possible p of these {settings.unit}s is {least}; {what} requires {asked}"
    if settings.procedure.step_up and together <= len(judged):
        yield f"Only {together} or more shapes together can be shown to differ. {limits} from one alone."
    else:
        most = most_seeds(smallest=needed, paired=settings.paired)
        takes = f"{enough} to {most}" if most < MOST_SEEDS else f"{enough}"
        takes += " pairs" if settings.paired else " seeds per configuration"
        joint = CORRECTIONS["max-t"]
        if settings.look_alpha is None and joint.fits(settings.difference_test):
            fewer = fewest_seeds(smallest=joint.resolution(settings.alpha, tested), paired=settings.paired)
            fewer = max(fewer, 0 if settings.paired else fewest_for_max_t(tested))
            by_max_t = f", or {fewer} of every shape: then max-T is the default correction"
            takes += by_max_t if fewer < enough else ""
        yield f"No single shape can be shown to differ. {limits}. Run {takes}."


def _about_units(judged: Sequence[Comparison]) -> Iterator[str]:
    if far := _in_other_units({row.shape: row.boost for row in judged}):
        yield (
            f"{OTHER_UNIT} {_OTHER_UNIT:g} times as fast in {far}. Check that the times of both have the "
            "same unit."
        )


def of_changed_units(changes: Mapping[str, float]) -> Iterator[str]:
    """Yield in which shapes two datasets differ implausibly much; changes are fractions."""
    if far := _in_other_units(changes):
        check = "Check that all times have the same unit."
        yield f"A and B differ more than {_OTHER_UNIT:g}-fold in {far}. {check}"


def _in_other_units(changes: Mapping[str, float]) -> str:
    """Return shapes with an implausible boost or change, a fraction; empty if there are none."""
    return some_of([name for name, one in changes.items() if abs(math.log1p(one)) > math.log(_OTHER_UNIT)])


def _about_few_against_many(judged: Sequence[Comparison]) -> Iterator[str]:
    """Yield where few seeds of one configuration leave the error of a difference almost unknown."""
    unequal = sum(min(row.n) < _ENOUGH and max(row.n) > _MANY_TIMES * min(row.n) for row in judged)
    if unequal:
        yield (
            f"In {count(unequal, 'shape')} one configuration has more than twice as many seeds as the "
            "other. With skewed noise or two modes, more than 5% of reports then make a false claim. With "
            "two seeds, as few as 92% of 95% intervals hold, even with normal noise. "
            "Give both configurations the same number of seeds."
        )


def _about_few(fewest: int, shapes: int, settings: Settings, *, hidden: bool) -> Iterator[str]:
    unit = settings.unit
    if fewest < FEWEST_PAIRS and shapes > 1:
        yield (
            f"{fewest} {unit}s are too few to show two modes, or correlated neighbours. With either, far "
            "more than 5% of reports have a false equivalence, bound or count."
        )
    one_kind = 1 - (1 - 2.0 ** (1 - fewest)) ** shapes
    if fewest >= FEWEST_PAIRS and shapes > 1 and one_kind >= _ONE_KIND and not settings.paired:
        yield (
            "If half of the runs of a configuration end at a slower speed, the chance is "
            f"{percent(one_kind)} that all {fewest} seeds of some shape end at the same speed. Then its "
            "verdict may be wrong."
        )
    if not hidden:
        yield from of_unseen(fewest, unit, "faster" if settings.estimand.searches > 1 else "slower")


def of_unseen(fewest: int, unit: str = "seed", far: str = "slower") -> Iterator[str]:
    """Yield with which chance so few seeds or pairs miss all runs of a rare kind."""
    unseen = (1 - _RARE) ** fewest
    if unseen >= _RARE_IS_SEEN:
        yield (
            f"If 1 {unit} in 10 is far {far}, {fewest} {unit}s miss all of these with a chance of "
            f"{percent(unseen)}. Then the interval may be wrong: run more {unit}s."
        )


def of_neighbours(
    series: Sequence[Floats],
    rng_seed: int,
    where: str = "",
    so: str = "Then intervals may be too narrow, and verdicts too sure.",
) -> Iterator[str]:
    """Yield a caveat if runs with neighbouring seed numbers are alike, as in one session or batch."""
    correlation, p = compare_neighbours(np.concatenate(series), np.random.default_rng(rng_seed))
    if p <= ALIKE:
        alike = DEPENDENT if correlation >= _CLEARLY_ALIKE else f"{NEIGHBOURS} slightly alike"
        yield (
            f"{alike}{where} (correlation {correlation:.2f}, p {p_value(p)}). Seeds that share a "
            f"session, a machine or a batch are not independent. {so}"
        )


def _about_failed(sides: Sides) -> Iterator[str]:
    lost = [int(side.failed.sum()) for side in sides]
    runs = [int((side.n + side.unpaired).sum()) + own for side, own in zip(sides, lost, strict=True)]
    shares = [own / max(of, 1) for own, of in zip(lost, runs, strict=True)]
    if abs(shares[0] - shares[1]) < _MORE_FAILED:
        return
    one, other = (0, 1) if shares[0] > shares[1] else (1, 0)
    name = sides[one].config
    yield (
        f"{lost[one]} of {count(runs[one], 'run')} of {name} gave no time, and {lost[other]} of "
        f"{runs[other]:,} of {sides[other].config}. If the missing runs are slow, {name} looks faster than "
        "it is. Intervals, verdicts and counts cannot allow for that."
    )
