"""The conditions of a verdict on one shape. They are the verdict: nothing else decides.

The probability of any false difference in an analysis is at most alpha. The same holds for a false
equivalence, and together they are at most twice that (docs/statistics.md). A difference must therefore pass
two tests, each corrected over the shapes. The permutation test is exact if both configurations have the same
noise; the moderated t-test is good if they do not. If the spreads differ by a factor of 4-20, the permutation
test alone is too liberal. Then 15-21 % of reports of 29 shapes have a false difference at 10 + 10 seeds. At
5 + 10 it is 40-81 % (analysis/simulations/permutation_alone.py). The interval must agree as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace

from abtune.compare.results import Comparison, Evidence, Gate, Rule, Side, Verdict, Worst, first_failed
from abtune.compare.settings import Settings, alpha_of, margin_ends
from abtune.stats.estimand import Estimand
from abtune.stats.testing.attainable import smallest_p
from abtune.text import (
    NO_BOUND,
    NOTHING,
    boost_decimals,
    bound_percent,
    count,
    limits,
    p_value,
    percent,
    plain_percent,
)

ONE_RUN = "One run per configuration supports no verdict."
ONE_PAIR = "One pair supports no verdict."
_UNKNOWN = "unknown"
_FEWEST_TO_PLAN = 4  # seeds of a configuration


def judge(
    row: Evidence, settings: Settings, worst: Worst | None = None, caveats: Iterable[str] = ()
) -> Comparison:
    """Return the evidence with what it supports, and caveats: the first rule whose gates pass decides.

    ``worst`` says how slow any shape of the analysis can be.
    """
    differs = (*_for_any(row, settings), *_for_difference(row, settings))
    if all(gate.passed for gate in differs):
        row = _with_bounds_at_zero(row, settings)
    equivalence = f"the test of a difference beyond {plain_percent(settings.margin)}"
    # The bound of all shapes needs no correction, because the slowest shape alone can prove it wrong. For a
    # verdict, one bound of both errs no more often than each: if all shapes lose no more than the tolerance,
    # a false one takes a false rejection in every shape that loses more (Hochberg 1988,
    # DOI 10.1093/biomet/75.4.800).
    at_least = max(row.boost_at_least, worst.boost_low) if worst else row.boost_at_least
    gates = (
        *differs,
        _test_gate(Rule.EQUIVALENCE, equivalence, row.p_equivalence_adjusted, settings.alpha, ""),
        _for_not_slower(row, settings, at_least),
    )
    row = replace(row, boost_at_least=at_least)
    verdict, reason = _verdict(row, settings, gates)
    caveats = (*caveats, unconfirmed(row, settings), beyond_interval(row, settings, verdict))
    known = tuple(filter(None, dict.fromkeys(caveats)))
    numbers = {field.name: getattr(row, field.name) for field in fields(Evidence)}
    return Comparison(**numbers, gates=gates, verdict=verdict, reason=reason, caveats=known)


def _verdict(row: Evidence, settings: Settings, gates: Sequence[Gate]) -> tuple[Verdict, str]:
    """Return what the gates decide, and why."""
    # The first gate of each member of Rule that failed; None where all passed.
    invalid, no_difference, not_equivalent, maybe_slower = (first_failed(gates, rule) for rule in Rule)
    if invalid is not None:
        return Verdict.INVALID, invalid.otherwise
    if no_difference is None:
        verdict = Verdict.IMPROVED if row.boost > 0 else Verdict.REGRESSED
        return verdict, _how_large(row, settings)
    if not_equivalent is None:
        margin, p = plain_percent(settings.margin), p_value(row.p_equivalence_adjusted)
        return Verdict.EQUIVALENT, f"Any difference is smaller than the {margin} margin (adjusted p {p})."
    if maybe_slower is None:
        # An interval above zero already says faster; then the test that failed is what is unclear.
        excludes_zero = no_difference.otherwise if row.boost_low > 0 else ""
        unclear = _hopeless(row, settings) or excludes_zero or "Whether it is faster is not settled."
        return Verdict.NOT_SLOWER, f"{gates[-1].otherwise} {unclear}"
    missed = no_difference.otherwise, maybe_slower.otherwise
    return Verdict.INCONCLUSIVE, " ".join(filter(None, [*missed, _power(row, settings)]))


def _with_bounds_at_zero(row: Evidence, settings: Settings) -> Evidence:
    """Return a shape that differs, without bounds beyond zero: its verdict says more than their resamples."""
    least, low, high = row.boost_at_least, row.boost_low_simultaneous, row.boost_high_simultaneous
    if row.boost > 0:
        least = max(least, 0.0)
    if settings.family_wise:
        low, high = (max(low, 0.0), high) if row.boost > 0 else (low, min(high, 0.0))
    return replace(row, boost_at_least=least, boost_low_simultaneous=low, boost_high_simultaneous=high)


def unconfirmed(row: Evidence, settings: Settings) -> str:
    """Return that only one of the two tests of a difference rejects; empty if they agree."""
    confirming = settings.difference_test.confirmed_by
    if not confirming or not row.p_adjusted <= settings.alpha < row.p_welch_adjusted:
        return ""
    return (
        f"The {settings.difference_test.name} test finds a difference, but the {confirming} does not "
        f"({_short_of(row.p_welch_adjusted, 'adjusted p', settings)}). Both are required, because the "
        "variances may differ."
    )


def beyond_interval(row: Evidence, settings: Settings, verdict: Verdict) -> str:
    """Return why an interval allows what the verdict excludes; empty if it does not."""
    if verdict is Verdict.NOT_SLOWER and row.boost_low < -settings.tolerance:
        return (
            f"The verdict rests on the one-sided bound of {bound_percent(row.boost_at_least)}. The two-sided "
            "interval reaches further."
        )
    slow, fast = margin_ends(settings.margin)
    if verdict is Verdict.EQUIVALENT and not slow < row.boost_low <= row.boost_high < fast:
        return "The tests of equivalence are one-sided. The two-sided interval reaches further."
    return ""


def is_valid(row: Evidence, settings: Settings) -> bool:
    """Return whether a shape has enough runs for a verdict."""
    return all(gate.passed for gate in _for_any(row, settings))


def _for_any(row: Evidence, settings: Settings) -> Iterator[Gate]:
    """Yield the conditions of any verdict: enough runs or pairs, and few failures."""
    yield from _for_pairs(row) if settings.paired else _for_sides(row, settings.estimand)
    what, outcomes = "runs of a configuration", [(f"runs of {s.config}", s.failed, s.n) for s in row.sides]
    if settings.paired:
        what, outcomes = "pairs", [("pairs", row.baseline.failed_pairs, row.baseline.n)]
    why = [f"Most {name} failed: {failed} of {n + failed}." for name, failed, n in outcomes if failed > n]
    yield Gate(
        of=Rule.ANY,
        asks=f"at most half of the {what} failed",
        found=", ".join(f"{failed} of {n + failed} {name}" for name, failed, n in outcomes),
        passed=not why,
        otherwise=" ".join(why[:1]),
    )


def _for_sides(row: Evidence, quantity: Estimand) -> Iterator[Gate]:
    fewest = quantity.fewest_seeds
    lone = row.n == (1, 1)
    # The first gate that fails is the reason, so a side without a timing goes before one with a single run.
    for side in sorted(row.sides, key=lambda side: side.n > 0):
        none = f"There is no timing of {side.config}{_fate(side)}."
        few = f"One run of {side.config} does not show how much its runs vary."
        if quantity.searches > 1:
            few = f"{quantity} takes {fewest} seeds of {side.config}, which has {side.n}."
        yield Gate(
            of=Rule.ANY,
            asks=f"at least {'two' if fewest == 2 else fewest} seeds of {side.config}",
            found=f"{side.n}",
            passed=side.n >= fewest,
            otherwise=ONE_RUN if lone else few if side.n else none,
        )


def _for_pairs(row: Evidence) -> Iterator[Gate]:
    n = row.baseline.n
    fates = "; ".join(f"{side.config}{fate}" for side in row.sides if (fate := _fate(side)))
    yield Gate(
        of=Rule.ANY,
        asks="at least two whole pairs",
        found=f"{n}",
        passed=n >= 2,
        otherwise=ONE_PAIR if n else f"There is no whole pair{fates and f' ({fates})'}.",
    )


def _for_difference(row: Evidence, settings: Settings) -> Iterator[Gate]:
    """Yield the conditions of a difference: the interval and the tests."""
    low, high = row.boost_low, row.boost_high
    tests = tuple(_tests_of_difference(row, settings))
    noisy = "No run shows a difference." if low == high else "Too noisy to tell."
    if all(gate.passed for gate in tests):  # as where an interval allows for slow runs of other shapes
        noisy = "The tests find a difference, but the interval includes zero."
    # With the decimals of tables of this interval.
    interval = f"{limits(low, high, boost_decimals([(high - low) / 2]))}%"
    yield Gate(
        of=Rule.DIFFERENCE,
        asks="the interval excludes zero",
        found=_UNKNOWN if math.isnan(low) else interval,
        # NaN compares false, so an unknown number passes no gate, here and below.
        passed=low > 0 or high < 0,
        otherwise=_hopeless(row, settings) or noisy,
    )
    yield from tests


def _tests_of_difference(row: Evidence, settings: Settings) -> Iterator[Gate]:
    """Yield the tests that a difference has to pass."""
    name = f"the {settings.difference_test.name} test"
    yield _test_gate(Rule.DIFFERENCE, name, row.p_adjusted, settings.alpha, _no_difference(row, settings))
    if confirming := settings.difference_test.confirmed_by:
        alone = unconfirmed(row, settings)
        yield _test_gate(Rule.DIFFERENCE, f"the {confirming}", row.p_welch_adjusted, settings.alpha, alone)
    if (p := row.p_resampled_adjusted) is not None and not math.isnan(p):
        what = "the differences are skewed" if settings.paired else "one side is more skewed than the other"
        missed = f"bootstrap-t: {_short_of(p, 'adjusted p', settings)}"
        skewed = f"The noise may look like a difference: {what} ({missed})."
        yield _test_gate(Rule.DIFFERENCE, "the bootstrap-t test", p, settings.alpha, skewed)


def _for_not_slower(row: Evidence, settings: Settings, least: float) -> Gate:
    """Return the gate, whose ``otherwise`` is the bound in words, if it says anything, passed or not."""
    known, bound = _UNKNOWN, ""
    if not math.isnan(least):
        known = f"at least {bound_percent(least)}"
        # Above zero, it would seem to say faster; tests of a difference have two sides.
        bound = f"The boost is at least {bound_percent(least)}{' (one-sided)' * (least > 0)}."
    if least > row.boost_at_least:
        known = f"every shape {known}"
        bound = "Like every shape, it is not slower."
        if least < 0:
            bound = f"The boost is at least {bound_percent(least)}, as in every shape."
    return Gate(
        of=Rule.NOT_SLOWER,
        asks=f"it is shown to lose at most {plain_percent(settings.tolerance)}",
        found=known,
        passed=least >= -settings.tolerance,
        otherwise="" if known.endswith(NO_BOUND) else bound,
    )


def _test_gate(rule: Rule, name: str, p: float, alpha: float, otherwise: str) -> Gate:
    return Gate(
        of=rule,
        asks=f"{name} has an adjusted p of at most {alpha:.2g}",
        found=_UNKNOWN if p_value(p) == NOTHING else _against(p, alpha),
        passed=p <= alpha,
        otherwise=otherwise,
    )


def _against(p: float, alpha: float) -> str:
    """Return a p beside its level; one that only its digits make equal to the level is just above it."""
    # Beside so strict a level, <0.0001 would not say whether p exceeds it.
    text, level = (f"{number:#.2g}" if alpha < 0.0001 else p_value(number) for number in (p, alpha))
    return f"just above {text}" if p > alpha and text == level else text


def _hopeless(row: Evidence, settings: Settings) -> str:
    """Return why this design can find no difference however large; empty if it can."""
    if not math.isinf(row.detectable):
        return ""
    seeds = _seeds(row, settings)
    # Enough seeds, and still nothing can pass: too many to count, and random splits end at p = 1/100,000.
    if min(row.n) >= row.fewest_seeds:
        drawn = "flips" if settings.paired else "splits"
        return f"The random {drawn} of {seeds} cannot resolve the small p that the correction requires."
    alone = " by itself" if settings.correction == "bh" else ""
    per_side = "" if settings.paired else " per configuration"
    which = "Holm's correction" if settings.correction == "holm" else "the correction"  # may take fewer
    if smallest_p(*row.n, paired=settings.paired) > settings.alpha:
        which = "the test"  # even a lone shape, which is not corrected
    takes = f"It takes {row.fewest_seeds}{per_side}."
    return f"No difference{alone} can pass {which} with {seeds}. {takes}"


def _seeds(row: Evidence, settings: Settings) -> str:
    return count(row.baseline.n, "pair") if settings.paired else f"{row.baseline.n}+{row.candidate.n} seeds"


def _no_difference(row: Evidence, settings: Settings) -> str:
    """Return why the test of a difference did not pass: the design, the test itself, or the correction."""
    if hopeless := _hopeless(row, settings):
        return hopeless
    if row.p > settings.alpha:
        short = _short_of(row.p, "p", settings)
        return f"The interval excludes zero, but the test finds no difference ({short})."
    short = _short_of(row.p_adjusted, "adjusted p", settings)
    return f"The difference is not significant after the correction over the shapes ({short})."


def _short_of(p: float, name: str, settings: Settings) -> str:
    """Return a p that is too large, and the level that it misses if that is not the report's own."""
    shared = settings.alpha < alpha_of(settings.level)
    level = f", at a level of {percent(settings.alpha)}" if shared else ""
    return f"{name} {_against(p, settings.alpha)}{level}"


def _how_large(row: Evidence, settings: Settings) -> str:
    """Return that a shape is faster or slower, and how that compares with the margin."""
    low, high = row.boost_low, row.boost_high
    if settings.family_wise:  # then claims about the margin hold for all shapes at once
        low, high = row.boost_low_simultaneous, row.boost_high_simultaneous
    how = "but maybe by less"
    if _beyond(low, high, settings.margin) or row.boost_at_least >= settings.margin:
        how = "by more"
    elif _beyond(row.boost_low, row.boost_high, settings.margin):
        how = "but the interval for all shapes at once allows less"
    elif margin_ends(settings.margin)[0] < low and high < settings.margin:
        how = "but by less"
    start = f"{'Faster' if row.boost > 0 else 'Slower'} (adjusted p {p_value(row.p_adjusted)})"
    return f"{start}, {how} than the {plain_percent(settings.margin)} margin."


def _power(row: Evidence, settings: Settings) -> str:
    """Return what this design can find; empty if it is nothing, or unknown."""
    fewer, more = sorted(row.n)
    # Two or three seeds hardly show their noise, so far fewer sweeps than planned find such a boost.
    if fewer < _FEWEST_TO_PLAN or not 0 < row.detectable < math.inf:
        return ""
    # Plans do not know max-T of unequal numbers, what the test for skewness takes, or 5+300 seeds.
    most = fewer * (20 if settings.procedure.joint is None else 1.25)
    if more > most or row.p_resampled is not None:
        return ""
    return f"{_seeds(row, settings)} find a boost of {percent(row.detectable)} or more (80% power)."


def _beyond(low: float, high: float, margin: float) -> bool:
    """Return whether an interval of boosts lies beyond the margin; on logs both directions are alike."""
    slow, fast = margin_ends(margin)
    return low >= fast or high <= slow


def _fate(side: Side) -> str:
    """Return what happened to the runs of a configuration without timings."""
    fates = [f"{count(side.failed, 'run')} failed"] if side.failed else []
    if side.untimed:
        fates.append(
            f"{count(side.untimed, 'complete run')} {'has' if side.untimed == 1 else 'have'} none yet"
        )
    return f": {' and '.join(fates)}" if fates else ""
