"""How often intervals and reports of the best of k searches are right: for calibrate_methods.py."""

from __future__ import annotations

from collections.abc import Mapping

import made_up_noise  # noqa: F401 (finds the modules beside the tests)
import numpy as np
from noise_kinds import ALIKE, Array, Noise, lognormal, skewed
from simulated_reports import ALPHA, PAIRS, SHAPES, table
from unseen_noise import UNSEEN

import abtune
from abtune.compare.results import Analysis, Verdict
from abtune.stats.estimand import BEST_OF, Estimand
from abtune.stats.intervals.interval_methods import methods_for
from abtune.stats.two_sample import TwoSample
from abtune.stats.variance import best_of

TOLERANCE = 0.05
# Kinds that the methods were not chosen by, beside those of the tests.
KINDS: Mapping[str, tuple[Noise, Noise]] = {
    **{name: pair for name, pair in PAIRS.items() if name not in ALIKE},
    **{
        name: UNSEEN[name]
        for name in ("Laplace", "Weibull 0.8", "1 in 15 fails", "two schedules, shares differ", "spread 1:3")
    },
}
REPORTS: Mapping[str, tuple[Noise, Noise]] = {
    "normal 10 %": (lognormal(0.1), lognormal(0.1)),
    "exponential": (skewed(1, 0.1), skewed(1, 0.1)),
    "spreads 4:1": (lognormal(0.12), lognormal(0.03)),
    "skewed candidate": (lognormal(0.05), skewed(1, 0.1)),
    "two schedules, shares differ": UNSEEN["two schedules, shares differ"],
}


def expected_best(noise: Noise, k: int) -> float:
    """Return the expected smallest of k values, from a million draws."""
    values = np.sort(noise(np.random.default_rng(99), (1_000_000,)))
    above = np.linspace(1, 0, len(values) + 1) ** k
    return float(-np.diff(above) @ values)


def centred(noise: Noise, k: int) -> Noise:
    """Take off the expected smallest of k values."""
    typical = expected_best(noise, k)
    return lambda rng, shape: noise(rng, shape) - typical


def coverage(estimand: Estimand, pair: tuple[Noise, Noise], n: int, replications: int) -> float:
    """Return the share of intervals that include the true log boost, zero."""
    rng, k = np.random.default_rng([1, n]), estimand.searches
    first, second = (best_of(centred(noise, k)(rng, (replications, n)), k) for noise in pair)
    method = next(iter(methods_for(estimand).values()))
    interval = method.compute(TwoSample.without_floor(first, second), level=1 - ALPHA)
    return float(np.mean((interval.low <= 1e-12) & (interval.high >= -1e-12)))


def best_of_coverage_table(replications: int) -> str:
    """Lay out coverage; the first two columns are means over six kinds of noise, with the lowest."""
    rows = []
    for estimand in BEST_OF:
        row = [f"`{estimand}`"]
        for name, pairs in [
            ("", [(noise, noise) for noise in ALIKE.values()]),
            *((k, [p]) for k, p in KINDS.items()),
        ]:
            for n in (10, 20):
                if n < estimand.fewest_seeds:
                    row.append("")
                    continue
                shares = [coverage(estimand, pair, n, replications) for pair in pairs]
                row.append(f"{100 * np.mean(shares):.1f}" + ("" if name else f" ({100 * min(shares):.1f})"))
        rows.append(row)
    heads = [f"{name}, {n}+{n}".removeprefix(", ") for name in ("", *KINDS) for n in (10, 20)]
    return table(["best of", *heads], rows)


def best_of_reports_table(reports: int) -> str:
    """Lay out how many reports of 29 shapes say something false, by kind of statement."""
    designs = (("best-of:2", 10), ("best-of:3", 10), ("best-of:3", 20), ("best-of:5", 20))
    rows = []
    for name, pair in REPORTS.items():
        row = [name]
        for chosen, n in designs:
            rng, estimand = np.random.default_rng([19, n]), Estimand(chosen)
            noise = centred(pair[0], estimand.searches), centred(pair[1], estimand.searches)
            wrong = np.sum([_wrong(noise, n, estimand, rng) for _ in range(reports)], axis=0)
            row.append(" / ".join(f"{100 * count / reports:.0f}" for count in wrong))
        rows.append(row)
    return table(["noise", *(f"{chosen}, {n}+{n}" for chosen, n in designs)], rows)


def _wrong(pair: tuple[Noise, Noise], n: int, estimand: Estimand, rng: np.random.Generator) -> list[bool]:
    """Return what is false where nothing differs, or where every shape is slower by the tolerance."""
    logs = np.stack([noise(rng, (SHAPES, n)) for noise in pair], axis=1)
    slower = logs + np.array([0.0, -np.log1p(-TOLERANCE)])[:, np.newaxis]
    same, limit = _analysis(logs, estimand), _analysis(slower, estimand)
    assert same.worst is not None  # noqa: S101 - every shape has seeds
    counts = {claim.claim: claim.at_least for claim in same.claims if claim.workload is None}
    kept = next(
        claim.at_least for claim in limit.claims if (claim.claim, claim.beyond) == ("not slower", TOLERANCE)
    )
    return [
        any(row.verdict in {Verdict.IMPROVED, Verdict.REGRESSED} for row in same.comparisons),
        any(row.p_equivalence_adjusted <= ALPHA for row in limit.comparisons),
        counts["faster"] > 0,
        counts["slower"] > 0,
        kept > 0,
        any(row.boost_at_least >= -TOLERANCE for row in limit.comparisons),
        same.worst.boost_low > 0,
    ]


def _analysis(logs: Array, estimand: Estimand) -> Analysis:
    seconds = np.exp(logs - 8)[..., np.newaxis, np.newaxis]
    labels = [f"s{number}" for number in range(SHAPES)]
    dataset = abtune.make_dataset(seconds, shapes=labels, configs=["a", "b"])
    margin = 1 / (1 - TOLERANCE) - 1  # a slowdown by the margin is one by the tolerance
    return abtune.analyze(
        dataset, level=1 - ALPHA, tolerance=TOLERANCE, margin=margin, estimand=estimand.value
    )
