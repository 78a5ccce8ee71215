"""What weakens a comparison or a whole design, in sentences; nothing here changes a number."""

from __future__ import annotations

import math

import numpy as np

from abtune.analyse.comparison import Choices, Comparison, Verdict
from abtune.analyse.samples import Samples
from abtune.analyse.verdict import ONE_RUN, Evidence
from abtune.analyse.wording import count, found_nothing, p_value, percent
from abtune.stats.estimand import Estimand
from abtune.stats.interval import Interval
from abtune.stats.multiplicity import Correction
from abtune.stats.power import fewest_seeds, smallest_p
from abtune.stats.splits import is_exact

# With fewer seeds on one side and this many times as many on the other, intervals are too narrow.
_ENOUGH = 4
_MANY_TIMES = 2

# A failure mode of one search in ten is common enough to matter and rare enough to be missed.
_RARE = 0.1
_RARE_IS_SEEN = 0.05


def of_side(side: Samples, shape: int) -> list[str]:
    """Caveats about one side of one shape: runs that were lost, and scatter that cannot be."""
    name, n = side.config, int(side.n[shape])
    missing, untimed = int(side.missing[shape]), int(side.untimed[shape])
    notes = _of_lost(side, shape)
    if missing:
        notes.append(f"{name}: {count(missing, 'run')} missing.")
    if untimed:
        what = "history of trials" if side.trials else "timing of the winner"
        notes.append(f"{name}: {count(untimed, 'complete run')} without a {what}, left out.")
    if n < 2:
        return notes
    floor, noise = float(side.floor[shape]), float(side.noise[shape])
    if noise == 0 and not floor > 0:
        notes.append(f"{name}: all {n} seeds agree exactly; differences below the resolution are unseen.")
    elif floor > noise**2:
        notes.append(f"{name}: seeds scatter less than repeated timings of a winner, whose scatter is used.")
    return notes


def _of_lost(side: Samples, shape: int) -> list[str]:
    """Say how many runs failed, or had found nothing yet."""
    n, failed, nothing = int(side.n[shape]), int(side.failed[shape]), int(side.found_nothing[shape])
    lost = [(failed, "failed"), (nothing, found_nothing(side.trials))]
    rest = "; only the others are compared" if n else ""
    runs = count(n + failed + nothing, "run")
    return [f"{side.config}: {number} of {runs} {what}{rest}." for number, what in lost if number]


def of_methods(bootstrap: Interval, welch: Interval, shape: int) -> list[str]:
    """Say where the closed-form interval disagrees about zero."""
    sign = [int(part.low[shape] > 0) - int(part.high[shape] < 0) for part in (bootstrap, welch)]
    if sign[0] == sign[1] or np.isnan(bootstrap.low[shape]):
        return []
    low, high = (percent(math.expm1(part[shape]), signed=True) for part in (welch.low, welch.high))
    inside = "holds" if sign[1] == 0 else "does not hold"
    return [f"Welch's interval, {low} to {high}, {inside} zero, unlike this one."]


def of_tests(evidence: Evidence) -> list[str]:
    """Say where only one of the two tests of a difference rejects, so that p alone would mislead."""
    if evidence.p_adjusted <= evidence.alpha < evidence.p_welch_adjusted:
        return [
            f"The permutation test alone would call this a difference, {evidence.confirming} does not "
            f"(adjusted p {p_value(evidence.p_welch_adjusted)}): it takes both, because the sides need not "
            "scatter alike."
        ]
    return []


def of_design(
    baseline: Samples,
    candidate: Samples,
    comparisons: tuple[Comparison, ...],
    needed: float,
    choices: Choices,
) -> list[str]:
    """Caveats about the whole design, each once; ``needed`` is what the smallest p has to reach."""
    judged = [row for row in comparisons if row.verdict is not Verdict.INVALID]
    if not judged:
        single = max(max(row.baseline.n, row.candidate.n) for row in comparisons) == 1
        return [ONE_RUN] if single else []
    tested = sum(not math.isnan(row.p) for row in comparisons)
    notes = [
        *_about_correction(judged, needed, tested, choices),
        *_about_few_against_many(judged, choices),
        *_about_rare_failures(judged),
    ]
    if not (baseline.floor >= 0).any() and not (candidate.floor >= 0).any():
        notes.append(
            "Each winner was timed once, so the noise of measurement is not known apart from that of seeds."
        )
    counted = all(is_exact(row.baseline.n, row.candidate.n) for row in judged)
    if choices.test == "permutation" and choices.estimand != Estimand.MEDIAN and not counted:
        notes.append(
            "Some shapes have too many seeds for every split of them to be counted; 99,999 random ones were "
            "drawn."
        )
    return notes


def _about_correction(judged: list[Comparison], needed: float, tested: int, choices: Choices) -> list[str]:
    smallest = min(smallest_p(row.baseline.n, row.candidate.n) for row in judged)
    if smallest <= needed:
        return []
    # Benjamini and Hochberg ask k times as much of k shapes that differ together.
    together = math.ceil(smallest / needed - 1e-9)
    if choices.correction == Correction.BH and together <= len(judged):
        return [
            f"Only {together} shapes or more together can be shown to differ: the smallest p that these "
            f"seeds can give is {p_value(smallest)}, and the correction over {count(tested, 'shape')} "
            f"asks for {p_value(needed)} of one alone, which takes {fewest_seeds(alpha=needed)} seeds a side."
        ]
    return [
        f"No difference can be shown: the smallest p that these seeds can give is "
        f"{p_value(smallest)}, the correction over {count(tested, 'shape')} asks for "
        f"{p_value(needed)}; "
        f"it takes {fewest_seeds(alpha=needed)} seeds a side."
    ]


def _about_few_against_many(judged: list[Comparison], choices: Choices) -> list[str]:
    """Say where few seeds of one side leave the error of a difference almost unknown."""
    sizes = [sorted((row.baseline.n, row.candidate.n)) for row in judged]
    unequal = sum(few < _ENOUGH and many > _MANY_TIMES * few for few, many in sizes)
    if not unequal or choices.method == "permutation":
        return []
    return [
        f"In {count(unequal, 'shape')} one side has two or three seeds and the other more than twice as "
        "many: there an interval of 95% can hold the truth in as few as 88% of cases, and so can that of "
        "these shapes. Give both sides the same number of seeds."
    ]


def _about_rare_failures(judged: list[Comparison]) -> list[str]:
    n = min(min(row.baseline.n, row.candidate.n) for row in judged)
    unseen = (1 - _RARE) ** n
    if unseen < _RARE_IS_SEEN:
        return []
    return [
        f"What goes wrong in {percent(_RARE)} of searches does not show in {n} seeds with probability "
        f"{percent(unseen)}, and no interval allows for it then."
    ]
