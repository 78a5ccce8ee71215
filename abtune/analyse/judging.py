"""One shape: what speaks for a difference or against it, what is decided, and what has to be said of that."""

from __future__ import annotations

from dataclasses import dataclass

from abtune.analyse import caveats
from abtune.analyse.boost import from_log, of_sides
from abtune.analyse.comparison import Choices, Comparison, Side
from abtune.analyse.computation import Computed
from abtune.analyse.samples import Samples
from abtune.analyse.verdict import Decision, Evidence, decide
from abtune.analyse.wording import confirming_test
from abtune.stats.multiplicity import Correction


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The shapes of a dataset with all that was computed of them.

    Attributes
    ----------
    shapes, workloads : tuple of str
        Label and kind of each shape.
    samples : tuple of Samples
        Baseline and candidate.
    statistics : Computed
        Of all shapes at once.
    choices : Choices
        How they are judged.
    alpha, margin : float
        Family-wise level, and the smallest boost that matters.
    """

    shapes: tuple[str, ...]
    workloads: tuple[str, ...]
    samples: tuple[Samples, Samples]
    statistics: Computed
    choices: Choices
    alpha: float
    margin: float


def compare(measured: Measured, at: int) -> Comparison:
    """Judge one shape."""
    evidence = _evidence(measured, at)
    return _comparison(measured, at, evidence, decide(evidence), _caveats(measured, at, evidence))


def _evidence(measured: Measured, at: int) -> Evidence:
    baseline, candidate = (_side(side, at) for side in measured.samples)
    computed, tests = measured.statistics, measured.statistics.tests
    alone = measured.choices.test == "moderated"  # nothing has to confirm it
    family = computed.simultaneous if measured.choices.family_wise else computed.interval
    confirmed_by = tests.p_adjusted if alone else tests.p_welch_adjusted
    return Evidence(
        baseline=baseline,
        candidate=candidate,
        boost=of_sides(baseline, candidate, float(computed.log_boost[at])),
        boost_low=from_log(computed.interval.low[at]),
        boost_high=from_log(computed.interval.high[at]),
        family_low=from_log(family.low[at]),
        family_high=from_log(family.high[at]),
        p_adjusted=float(tests.p_adjusted[at]),
        p_welch_adjusted=float(confirmed_by[at]),
        p_equivalence_adjusted=float(tests.p_equivalence_adjusted[at]),
        confirming=confirming_test(measured.choices),
        alpha=measured.alpha,
        margin=measured.margin,
        detectable=float(computed.plan.detectable[at]),
        seeds=int(computed.plan.seeds[at]),
        fewest=computed.plan.fewest,
        step_up=measured.choices.correction == Correction.BH,
        require_margin=measured.choices.require_margin,
    )


def _caveats(measured: Measured, at: int, evidence: Evidence) -> tuple[str, ...]:
    computed = measured.statistics
    return (
        *(note for side in measured.samples for note in caveats.of_side(side, at)),
        *caveats.of_methods(computed.interval, computed.welch, at),
        *caveats.of_tests(evidence),
    )


def _comparison(
    measured: Measured, at: int, evidence: Evidence, decision: Decision, notes: tuple[str, ...]
) -> Comparison:
    tests, wide = measured.statistics.tests, measured.statistics.simultaneous
    return Comparison(
        shape=measured.shapes[at],
        workload=measured.workloads[at],
        baseline=evidence.baseline,
        candidate=evidence.candidate,
        boost=evidence.boost,
        boost_low=evidence.boost_low,
        boost_high=evidence.boost_high,
        boost_low_simultaneous=from_log(wide.low[at]),
        boost_high_simultaneous=from_log(wide.high[at]),
        p=float(tests.p[at]),
        p_adjusted=evidence.p_adjusted,
        p_welch=float(tests.p_welch[at]),
        p_welch_adjusted=float(tests.p_welch_adjusted[at]),
        p_rank=None if tests.p_rank is None else float(tests.p_rank[at]),
        p_rank_adjusted=None if tests.p_rank_adjusted is None else float(tests.p_rank_adjusted[at]),
        p_equivalence=float(tests.p_equivalence[at]),
        p_equivalence_adjusted=evidence.p_equivalence_adjusted,
        verdict=decision.verdict,
        reason=decision.reason,
        caveats=notes,
    )


def _side(samples: Samples, at: int) -> Side:
    return Side(
        config=samples.config,
        n=int(samples.n[at]),
        failed=int(samples.failed[at]),
        found_nothing=int(samples.found_nothing[at]),
        trials=samples.trials,
        latency=float(samples.latency[at]),
        noise=float(samples.noise[at]),
    )
