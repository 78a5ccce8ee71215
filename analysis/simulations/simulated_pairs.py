"""How often methods for pairs keep their promise, and what a pair is worth: for calibrate_methods.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import made_up_noise  # noqa: F401 (finds the modules beside the tests)
import numpy as np
from noise_kinds import ALIKE, Array, bimodal, lognormal, skewed
from simulated_reports import ALPHA, PAIRS, SHAPES, intervals_of, table

from abtune.compare.settings import Settings
from abtune.compare.statistics import run_tests
from abtune.dataset.schema import SeedDesign
from abtune.stats.estimand import Estimand
from abtune.stats.intervals.bootstrap import expanded_percentile
from abtune.stats.intervals.interval_methods import methods_for
from abtune.stats.testing.design import Requirement, detectable_boost
from abtune.stats.two_sample import TwoSample

# Draws both sides of pairs, each with the mean zero: shape (2, *shape).
Pairs = Callable[[np.random.Generator, tuple[int, ...]], Array]
NOISE, LEVEL, BOOST = 0.1, 1 - ALPHA, 0.1
NUMBERS = (3, 5, 8, 12)


def correlated(correlation: float) -> Pairs:
    """Return normal pairs with this correlation."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        shared, own = rng.normal(0, NOISE, shape), rng.normal(0, NOISE, (2, *shape))
        drawn: Array = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own
        return drawn

    return draw


def _both_skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    draw = skewed(0.5, NOISE)
    return draw(rng, shape) + draw(rng, (2, *shape))


def _one_skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    own = NOISE / np.sqrt(2)
    sides = np.stack([lognormal(own)(rng, shape), skewed(1, own)(rng, shape)])
    return lognormal(own)(rng, shape) + sides


def _one_misses(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return lognormal(0.02)(rng, shape) + np.stack([lognormal(0.005)(rng, shape), bimodal(rng, shape)])


def _one_lost(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    sides = correlated(0.5)(rng, shape)
    sides[1][rng.random(shape) < 0.2] = np.nan
    return sides


KINDS: Mapping[str, Pairs] = {
    "correlation 0": correlated(0.0),
    "correlation 0.5": correlated(0.5),
    "correlation 0.9": correlated(0.9),
    "both skewed, correlation 0.5": _both_skewed,
    "candidate skewed, correlation 0.5": _one_skewed,
    "candidate misses 1 in 5": _one_misses,
    "1 run in 5 of the candidate lost": _one_lost,
}


def of_pairs(sides: Array) -> TwoSample:
    """Return samples of pairs, of both sides, shape (2, ..., pairs)."""
    return TwoSample.of_pairs(sides[0], sides[1], np.full((sides.shape[1], 2), np.nan))


def pair_coverage_table(replications: int) -> str:
    """Lay out the coverage of each interval of pairs whose sides are independent, as for two samples."""
    unlike = [name for name in PAIRS if name not in ALIKE]
    rows = []
    for name in methods_for(Estimand.GEOMETRIC_MEAN, paired=True):
        row = [f"`{name}`"]
        for n in (5, 10, 20):
            shares = [_covered(name, kind, n, replications) for kind in ALIKE]
            row.append(f"{100 * np.mean(shares):.1f} ({100 * min(shares):.1f})")
        row += [f"{100 * _covered(name, kind, n, replications):.1f}" for kind in unlike for n in (10, 20)]
        rows.append(row)
    heads = ["5", "10", "20", *(f"{name}, {n}" for name in unlike for n in (10, 20))]
    return table(["interval", *heads], rows)


def _covered(name: str, kind: str, n: int, replications: int) -> float:
    rng = np.random.default_rng([1, n])
    sides = np.stack([noise(rng, (replications, n)) for noise in PAIRS[kind]])
    method = methods_for(Estimand.GEOMETRIC_MEAN, paired=True)[name]
    interval = method.compute(of_pairs(sides), level=LEVEL)
    return float(np.mean((interval.low <= 1e-12) & (interval.high >= -1e-12)))


def pairs_table(replications: int) -> str:
    """Lay out coverage, false alarms of the sign-flip test and of the paired t-test, and power, by shape."""
    rows = []
    for number, (name, draw) in enumerate(KINDS.items()):
        row = [name]
        for n in NUMBERS:
            rng = np.random.default_rng([2, n, number])
            sides = draw(rng, (replications, n))
            samples = of_pairs(sides)
            interval = expanded_percentile(samples, level=LEVEL)
            known = samples.sizes[:, 0] >= 2
            covered = np.mean(((interval.low <= 0) & (interval.high >= 0))[known])
            faster = of_pairs(sides + np.array([np.log1p(BOOST), 0.0])[:, np.newaxis, np.newaxis])
            called, of_t = (np.mean(p[known] <= ALPHA) for p in pair_p_values(samples))
            power = np.mean(_p(faster, "none")[known] <= ALPHA)
            row.append(" / ".join(f"{100 * share:.1f}" for share in (covered, called, of_t, power)))
        rows.append(row)
    return table(["pairs", *map(str, NUMBERS)], rows)


def pair_p_values(samples: TwoSample) -> tuple[Array, Array]:
    """Return the p-values of the sign-flip test and of the paired t-test, without correction."""
    settings = Settings(baseline="old", candidate="new", design=SeedDesign.PAIRED, correction="none")
    tests = run_tests(samples, settings, np.random.default_rng(0))
    return tests.p_adjusted, tests.p_welch_adjusted


def _p(samples: TwoSample, correction: str) -> Array:
    settings = Settings(baseline="old", candidate="new", design=SeedDesign.PAIRED, correction=correction)
    return run_tests(samples, settings, np.random.default_rng(0)).p_adjusted


def equal_pairs_table(reports: int) -> str:
    """Lay out how many intervals of 29 shapes hold where a share of the pairs do not differ.

    The gains of the other pairs are exponential, of 15 % on average. Measuring adds noise of 0.1 %.
    """
    numbers, rows = (6, 12, 20), []
    for equal in (0.3, 0.6, 0.8):
        row = [f"{100 * equal:g} %"]
        for n in numbers:
            rng, held = np.random.default_rng([63, n]), np.zeros(2)
            for _ in range(reports):
                gains = rng.exponential(0.15, (SHAPES, n)) * (rng.random((SHAPES, n)) >= equal)
                sides = np.stack([gains - 0.15 * (1 - equal), np.zeros((SHAPES, n))])
                intervals = intervals_of(of_pairs(sides + rng.normal(0, 0.001, sides.shape)))
                held += [np.mean((one.low <= 0) & (one.high >= 0)) for one in intervals]
            row.append(", ".join(f"{100 * share / reports:.1f}" for share in held))
        rows.append(row)
    return table(["pairs that are equal", *(f"{n} pairs" for n in numbers)], rows)


RULES = {"default: sign-flip, max-t": "max-t", "sign-flip, holm": "holm", "sign-flip, bh": "bh"}


def pair_reports_table(reports: int) -> str:
    """Lay out how many reports of 29 shapes claim something false, and what share of 10 gains is found."""
    kinds = ("correlation 0.5", "both skewed, correlation 0.5", "candidate skewed, correlation 0.5")
    rows = []
    for rule, correction in RULES.items():
        row = [rule]
        for kind in kinds:
            for n in (5, 8, 12):
                rng, wrong, power = np.random.default_rng([3, n]), 0, 0.0
                for _ in range(reports):
                    sides = KINDS[kind](rng, (SHAPES, n))
                    wrong += bool((_p(of_pairs(sides), correction) <= ALPHA).any())
                    sides[0, :10] += np.log(1.2)
                    power += float(np.mean(_p(of_pairs(sides), correction)[:10] <= ALPHA))
                row.append(f"{100 * wrong / reports:.1f} / {100 * power / reports:.0f}")
        rows.append(row)
    heads = [f"{kind.replace(', correlation 0.5', '')}, {n}" for kind in kinds for n in (5, 8, 12)]
    return table(["rule", *heads], rows)


def pair_plan_table(reports: int) -> str:
    """Lay out how often max-T finds a boost that a plan finds in 80 of 100 sweeps."""
    goal, rows = Requirement(level=ALPHA / SHAPES, resolution=ALPHA, paired=True), []
    for n in (6, 7, 8, 10, 12, 16):
        shift, detected = np.log1p(detectable_boost((n, n), (NOISE, 0.0), goal)), 0
        rng = np.random.default_rng([34, n])
        for _ in range(reports):
            sides = np.stack([rng.normal(0, NOISE, (SHAPES, n)), np.zeros((SHAPES, n))])
            sides[0, 0] += shift
            detected += bool(_p(of_pairs(sides), "max-t")[0] <= ALPHA)
        rows.append([str(n), f"{100 * np.expm1(shift):.0f}", f"{100 * detected / reports:.0f}"])
    return table(["pairs", "boost, %", "found, %"], rows)


def pair_worth_table(replications: int) -> str:
    """Lay out how many independent seeds a side give an interval as narrow as that of pairs."""
    rows = []
    for n in (5, 8, 10, 12):
        widths = [_width(n, correlation, replications, paired=True) for correlation in (0, 0.5, 0.7, 0.9)]
        rows.append([str(n), *(str(_as_narrow(width, replications)) for width in widths)])
    return table(["pairs", *(f"correlation {correlation}" for correlation in (0, 0.5, 0.7, 0.9))], rows)


def _width(n: int, correlation: float, replications: int, *, paired: bool) -> float:
    sides = correlated(correlation)(np.random.default_rng([4, n]), (replications, n))
    samples = of_pairs(sides) if paired else TwoSample.without_floor(*sides)
    interval = expanded_percentile(samples, level=LEVEL)
    return float(np.mean(interval.high - interval.low))


def _as_narrow(width: float, replications: int) -> int:
    """Return the smallest number of seeds a side whose mean width is at most this."""
    low, high = 2, 1000
    while high - low > 1:
        middle = (low + high) // 2
        enough = _width(middle, 0.0, max(replications // 10, 100), paired=False) <= width
        low, high = (low, middle) if enough else (middle, high)
    return high
