"""Simulated reports of 29 shapes: false claims, power and joint coverage, for calibrate_methods.py.

Whatever a report corrects over its shapes has to be judged on whole reports, which these functions simulate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import made_up_noise  # noqa: F401 (finds the modules beside the tests)
import numpy as np
import xarray as xr
from noise_kinds import ALIKE, Array, Noise, bimodal, lognormal, skewed

import abtune
from abtune.compare.results import Verdict
from abtune.compare.settings import Settings
from abtune.compare.statistics import run_tests
from abtune.stats.estimates import Intervals, conservative_welch, standard_error, t_interval
from abtune.stats.intervals.bootstrap import expanded_percentile
from abtune.stats.intervals.bootstrap_t import resample_tails, simultaneous
from abtune.stats.skewness import FEWEST_SHAPES
from abtune.stats.testing.common_noise import common_noise
from abtune.stats.testing.design import Requirement, detectable_boost
from abtune.stats.testing.significance import (
    OneSided,
    gained_freedom,
    moderated_tests,
    permutation_test,
    split_share,
    welch_tests,
)
from abtune.stats.testing.step_procedures import holm
from abtune.stats.two_sample import TwoSample

SHAPES, ALPHA = 29, 0.05
DIFFERENCES = {Verdict.IMPROVED, Verdict.REGRESSED}
# Equal means of logs, unequal distributions: what a baseline and a candidate can be.
UNLIKE: Mapping[str, tuple[Noise, Noise]] = {
    "spread 4:1": (lognormal(0.08), lognormal(0.02)),
    "one side skewed": (skewed(1, 0.06), lognormal(0.02)),
    "one side fails 1 in 5": (bimodal, lognormal(0.005)),
}
PAIRS: Mapping[str, tuple[Noise, Noise]] = {
    **{name: (noise, noise) for name, noise in ALIKE.items()},
    **UNLIKE,
}
RULES: Mapping[str, str] = {
    "permutation + Welch, holm": "holm",
    "permutation + Welch, max-t": "max-t",
    "permutation + Welch, bh": "bh",
    "permutation + Welch, none": "none",
}
SPREADS: Mapping[str, tuple[Noise, Noise]] = {
    "spread 1:1": (lognormal(0.02), lognormal(0.02)),
    "spread 2:1": (lognormal(0.04), lognormal(0.02)),
    "spread 4:1": (lognormal(0.08), lognormal(0.02)),
    "spread 10:1": (lognormal(0.2), lognormal(0.02)),
    "exponential": (skewed(1, 0.04), skewed(1, 0.04)),
    "gamma, spread 4:1": (skewed(2, 0.04), skewed(2, 0.01)),
}


def p_values(first: Array, second: Array, correction: str, rng: np.random.Generator) -> Array:
    """Return the corrected p-values that verdicts rest on."""
    settings = Settings(baseline="old", candidate="new", correction=correction)
    tests = run_tests(TwoSample.without_floor(first, second), settings, rng)
    p: Array = np.maximum(tests.p_adjusted, tests.p_welch_adjusted)
    return p


def intervals_of(report: TwoSample) -> tuple[Intervals, Intervals]:
    """Return the default intervals of the shapes, each alone, and with the noise of all shapes."""
    alone = expanded_percentile(report, level=1 - ALPHA)
    tests = replace(welch_tests(report), common=common_noise(report, rng=np.random.default_rng(0)))
    return alone, tests.widened(alone, level=1 - ALPHA)


def confirming_p(samples: TwoSample, shapes: int = SHAPES) -> Array:
    """Return the p-values that confirm a difference; the rows are reports of as many shapes, one by one."""
    reports = (slice(start, start + shapes) for start in range(0, len(samples), shapes))
    return np.concatenate([moderated_tests(samples.rows(report)).difference_p() for report in reports])


def family(
    rule: str, pair: tuple[Noise, Noise], n: int, m: int, boosts: Array, analyses: int
) -> tuple[float, float, float]:
    """Return the rate of any false claim, the share of false claims, and the power, over analyses."""
    rng = np.random.default_rng([3, n, m])
    false_any, false_share, true_claims = 0, 0.0, 0
    for _ in range(analyses):
        scale = np.exp(rng.normal(0, 0.5, (SHAPES, 1)))
        first = pair[0](rng, (SHAPES, n)) * scale
        second = pair[1](rng, (SHAPES, m)) * scale - boosts[:, np.newaxis]
        claimed = p_values(first, second, RULES[rule], rng) <= ALPHA
        wrong = int(claimed[boosts == 0].sum())
        false_any += wrong > 0
        false_share += wrong / max(int(claimed.sum()), 1)
        true_claims += int(claimed[boosts != 0].sum())
    real = max(int(np.count_nonzero(boosts)), 1)
    return false_any / analyses, false_share / analyses, true_claims / analyses / real


def family_table(analyses: int) -> str:
    """Lay out how often an analysis of 29 shapes without any difference claims one."""
    kinds: Sequence[tuple[str, int, int]] = [
        (kind, n, m)
        for kind in ("lognormal 2 %", "exponential", "bimodal", "spread 4:1")
        for n, m in ((5, 5), (10, 10), (5, 10))
    ]
    rows = [
        [
            rule,
            *(
                f"{100 * family(rule, PAIRS[kind], n, m, np.zeros(SHAPES), analyses)[0]:.1f}"
                for kind, n, m in kinds
            ),
        ]
        for rule in RULES
    ]
    return table(["rule", *(f"{kind}, {n}+{m}" for kind, n, m in kinds)], rows)


def power_table(analyses: int) -> str:
    """Lay out power, and the share of false claims, where 10 of 29 shapes gain 5 %."""
    boosts = np.repeat([0.0, np.log(1.05)], [19, 10])
    rows = []
    for rule in RULES:
        row = [rule]
        for kind in ("lognormal 2 %", "exponential"):
            for n in (5, 7, 10):
                _, share, power = family(rule, PAIRS[kind], n, n, boosts, analyses)
                row.append(f"{100 * power:.0f} ({100 * share:.1f})")
        rows.append(row)
    heads = [f"{kind}, {n}+{n}" for kind in ("lognormal 2 %", "exponential") for n in (5, 7, 10)]
    return table(["rule", *heads], rows)


def conservative_table(reports: int) -> str:
    """Lay out false claims and power with Welch's own and conservative degrees of freedom, and the default.

    The default takes variances and degrees of freedom from all shapes, too.
    """
    designs = (7, 10, 20)
    rows = []
    for name, pair in SPREADS.items():
        false = [_either(pair, n, 0.0, reports // (2 if n > 15 else 1)) for n in designs]
        powers = [_either(pair, n, _half_found(pair, n), reports // 5) for n in designs]
        rows.append(
            [name, *(", ".join(f"{100 * share:.1f}" for share in cell) for cell in (*false, *powers))]
        )
    heads = [f"{what}, {n}+{n}" for what in ("false claim", "found") for n in designs]
    return table(["noise", *heads], rows)


def _half_found(pair: tuple[Noise, Noise], n: int) -> float:
    """Return a log boost that about every second sweep finds."""
    spread = [float(noise(np.random.default_rng(0), (200_000,)).std()) for noise in pair]
    half = Requirement(level=ALPHA / SHAPES, target=0.5)
    return float(np.log1p(detectable_boost((n, n), (spread[0], spread[1]), half)))


def _either(pair: tuple[Noise, Noise], n: int, shift: float, reports: int) -> list[float]:
    """Return the share of reports that claim a difference of their first shape, or of any if it has none.

    Of the permutation tests, which take long, only those are made that Welch's test leaves a chance.
    """
    rng = np.random.default_rng([5, n, round(1e4 * shift)])
    first, second = (noise(rng, (reports * SHAPES, n)) for noise in pair)
    first[::SHAPES] += shift
    samples = TwoSample.without_floor(first, second)
    one_split = split_share(samples)
    own = OneSided(estimate=standard_error(samples), one_split=one_split).difference_p()
    tests = own, welch_tests(samples).difference_p(), confirming_p(samples)
    p, near = np.ones(len(own)), np.minimum(own, tests[2]) < 0.02
    p[near] = permutation_test(samples.rows(near), rng=rng)
    permuted = _holm(p)
    claims = [(permuted <= ALPHA) & (_holm(confirming) <= ALPHA) for confirming in tests]
    return [float((claim[:, 0] if shift else claim.any(axis=1)).mean()) for claim in claims]


def _holm(p: Array) -> Array:
    """Correct every report by itself; shape (reports, shapes)."""
    return np.array([holm(row) for row in p.reshape(-1, SHAPES)])


def simultaneous_table(reports: int) -> str:
    """Lay out how often all of 29 intervals hold at once: Student's, and resampled ones with their width."""
    alike = {name: (noise, noise) for name, noise in ALIKE.items() if name != "lognormal 8 %"}
    kinds = alike | dict(UNLIKE) | {"gamma, spread 4:1": SPREADS["gamma, spread 4:1"]}
    rows = []
    for name, pair in kinds.items():
        row = [name]
        for n in (5, 10, 20):
            student, drawn, width = _held(pair, n, reports)
            row += [f"{100 * student:.1f}", f"{100 * drawn:.1f} ({width:.2f})"]
        rows.append(row)
    heads = [f"{n}+{n}, {maker}" for n in (5, 10, 20) for maker in ("Student's t", "resampled")]
    return table(["noise", *heads], rows)


def _held(pair: tuple[Noise, Noise], n: int, reports: int) -> tuple[float, float, float]:
    """Return the joint coverage of Student's t and of resampled intervals, and the ratio of their widths."""
    rng = np.random.default_rng([6, n])
    held, widths = np.zeros(2), []
    for _ in range(reports):
        samples = TwoSample.without_floor(*(noise(rng, (SHAPES, n)) for noise in pair))
        student = t_interval(conservative_welch(samples), level=1 - ALPHA / SHAPES)
        drawn = simultaneous(samples, resample_tails(samples, level=1 - ALPHA, rng=rng), level=1 - ALPHA)
        held += [_holds(student), _holds(drawn)]
        known = student.high > student.low  # tied samples have no width at all
        widths.append(float(np.median((drawn.high - drawn.low)[known] / (student.high - student.low)[known])))
    return float(held[0] / reports), float(held[1] / reports), float(np.median(widths))


def _holds(interval: Intervals) -> bool:
    return bool(((interval.low <= 1e-12) & (interval.high >= -1e-12)).all())


def plan_table(replications: int) -> str:
    """Lay out how often the default finds what is planned to be found in 80 of 100 sweeps.

    The plan knows that shapes have equal noise, or what the median of 200 sweeps says of their agreement.
    """
    rows, designs = [], (4, 5, 7, 8, 10, 20)
    for shapes, vary in ((1, 0.0), (3, 0.0), (5, 0.0), (5, 0.5), (SHAPES, 0.0), (SHAPES, 0.5)):
        row = [f"{shapes}{', noise varies' if vary else ''}"]
        for n in designs:
            count = replications // (4 if n > 15 else 1)
            cell = [_found((n, n), spread, shapes, vary, count) for spread in (1, 4, 10)]
            row.append(" / ".join("-" if share is None else f"{100 * share:.0f}" for share in cell))
        rows.append(row)
    return table(["shapes", *(f"{n}+{n}" for n in designs)], rows)


def unequal_plan_table(replications: int) -> str:
    """Lay out the same for unequal numbers of seeds, if the first side is 1, 2, 4 and 10 times as noisy.

    These plans always estimate the agreement of the shapes, as reports do.
    """
    few = ((10, 5), (5, 10), (8, 4), (12, 6), (6, 12), (20, 5), (5, 20))
    designs, rows = ((10, 8), (8, 10), *few, (20, 10)), []
    for shapes, vary in ((1, 0.0), (3, 0.0), (5, 0.0), (5, 0.5), (SHAPES, 0.0), (SHAPES, 0.5)):
        row = [f"{shapes}{', noise varies' if vary else ''}"]
        for seeds in designs:
            cell = [_found(seeds, spread, shapes, vary, replications) for spread in (1, 2, 4, 10)]
            row.append(" / ".join("-" if share is None else f"{100 * share:.0f}" for share in cell))
        rows.append(row)
    return table(["shapes", *(f"{n}+{m}" for n, m in designs)], rows)


def _found(
    seeds: tuple[int, int], spread: float, shapes: int, vary: float, replications: int
) -> float | None:
    """Return how often the detectable boost passes both tests at the first step of Holm, if there is one.

    The first shape has the boost, and as much noise as all shapes pooled.
    """
    rng, n = np.random.default_rng([7, seeds[0], int(spread)]), max(seeds)
    noise = np.exp(rng.normal(-(vary**2), vary, (2, replications, shapes, 1)))
    noise[:, :, 0] = 1
    noise *= np.reshape([0.02 * spread, 0.02], (2, 1, 1, 1))
    sides = noise * rng.standard_normal((2, replications, shapes, n))
    agreement = np.inf if shapes >= FEWEST_SHAPES else 0.0
    if vary or seeds[0] != seeds[1]:
        gained = [
            [
                gained_freedom(shape.var(axis=-1, ddof=1), np.full(shapes, own - 1))
                for shape in side[:200, :, :own]
            ]
            for side, own in zip(sides, seeds, strict=True)
        ]
        agreement = np.median(np.min(gained, axis=0))
    requirement = Requirement(level=ALPHA / shapes, agreement=float(agreement))
    shift = np.log1p(detectable_boost(seeds, (0.02 * spread, 0.02), requirement))
    if np.isinf(shift):
        return None
    sides[0, :, 0] += shift
    logs = (side.reshape(-1, n)[:, :own] for side, own in zip(sides, seeds, strict=True))
    samples, lone = TwoSample.without_floor(*logs), slice(None, None, shapes)
    p = np.maximum(confirming_p(samples, shapes)[lone], permutation_test(samples.rows(lone), rng=rng))
    return float(np.mean(p <= ALPHA / shapes * (1 + 1e-12)))


def calibration_table(datasets: int) -> str:
    """Lay out the rate of any false difference, and the estimate of abtune calibrate from ten seeds per side.

    The rate is of 250 reports for each dataset.
    """
    kinds = {name: SPREADS[name] for name in ("spread 1:1", "spread 4:1", "exponential")}
    rows = []
    for name, pair in (kinds | {"one side skewed": UNLIKE["one side skewed"]}).items():
        rng = np.random.default_rng(8)
        reports = (abtune.analyze(_dataset(pair, rng)).comparisons for _ in range(250 * datasets))
        truth = 100 * np.mean([any(row.verdict in DIFFERENCES for row in report) for report in reports])
        share = [
            100 * abtune.calibrate(_dataset(pair, rng), boosts=(), replications=500).any_false_alarm
            for _ in range(datasets)
        ]
        rows.append([name, f"{truth:.1f}", f"{np.mean(share):.1f} ({min(share):.1f} to {max(share):.1f})"])
    return table(["noise", "truth", "estimate"], rows)


def _dataset(pair: tuple[Noise, Noise], rng: np.random.Generator) -> xr.Dataset:
    logs = np.stack([noise(rng, (SHAPES, 10)) for noise in pair], axis=1)
    labels = [f"shape{number}" for number in range(SHAPES)]
    return abtune.make_dataset(1e-3 * np.exp(logs), shapes=labels, configs=["old", "new"])


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a markdown table whose first column is set left."""
    rule = ["---", *("--:" for _ in heads[1:])]
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, rule, *rows))
