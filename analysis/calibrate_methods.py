"""Write the tables of docs/statistics.md: how often each method keeps its promise, by simulation.

Run as ``python analysis/calibrate_methods.py``; it takes some fifteen minutes on two cores. ``--quick`` makes
a tenth of the replications and prints the tables instead. The kinds of noise are those of the tests.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "stats"))

from stats_noise import ALIKE, Noise, bimodal, lognormal, skewed, unknown_floor  # noqa: E402

from abtune.analyse.comparison import Choices  # noqa: E402
from abtune.analyse.testing import run_tests  # noqa: E402
from abtune.stats.estimand import Estimand  # noqa: E402
from abtune.stats.methods import compute_interval, methods_for  # noqa: E402

Array = npt.NDArray[np.float64]
DOCUMENT = ROOT / "docs" / "statistics.md"
SHAPES, LEVEL, ALPHA = 29, 0.95, 0.05
# Equal means of logs, unequal distributions: what a baseline and a candidate can be.
UNLIKE: Mapping[str, tuple[Noise, Noise]] = {
    "spread 4:1": (lognormal(0.08), lognormal(0.02)),
    "one side skewed": (skewed(1, 0.06), lognormal(0.02)),
    "one side fails 1 in 5": (bimodal, lognormal(0.005)),
}
PAIRS: Mapping[str, tuple[Noise, Noise]] = {name: (noise, noise) for name, noise in ALIKE.items()} | UNLIKE
DESIGNS = ((5, 5), (10, 10), (20, 20), (5, 15))
RULES: Mapping[str, tuple[str, str]] = {
    "default: permutation + Welch, holm": ("permutation", "holm"),
    "permutation + Welch, max-t": ("permutation", "max-t"),
    "moderated, holm": ("moderated", "holm"),
    "permutation + Welch, bh": ("permutation", "bh"),
    "permutation + Welch, none": ("permutation", "none"),
}


def cells() -> Iterator[tuple[str, int, int]]:
    """Yield the columns of the coverage tables: kinds of noise and numbers of seeds."""
    for n, m in DESIGNS:
        yield "alike", n, m
    for name in UNLIKE:
        for n, m in ((10, 10), (20, 20)):
            yield name, n, m


def truth(pair: tuple[Noise, Noise], estimand: Estimand) -> float:
    """Return the true log ratio; with equal noise it is 0, else taken from two million draws."""
    if pair[0] is pair[1] or estimand is Estimand.GEOMETRIC_MEAN:
        return 0.0
    typical: Callable[[Array], float] = (
        (lambda x: float(np.median(x)))
        if estimand is Estimand.MEDIAN
        else (lambda x: float(np.log(np.exp(x).mean())))
    )
    rng = np.random.default_rng(99)
    return typical(pair[0](rng, (2_000_000,))) - typical(pair[1](rng, (2_000_000,)))


def coverage(
    name: str, estimand: Estimand, pair: tuple[Noise, Noise], n: int, m: int, replications: int
) -> float:
    """Return the share of intervals that hold the truth."""
    rng = np.random.default_rng([1, n, m])
    first, second = pair[0](rng, (replications, n)), pair[1](rng, (replications, m))
    found = compute_interval(
        name, first, second, estimand=estimand, level=LEVEL, floor=unknown_floor(replications), rng=rng
    )
    right = truth(pair, estimand)
    return float(np.mean((found.low <= right + 1e-12) & (found.high >= right - 1e-12)))


def coverage_table(estimand: Estimand, replications: int) -> str:
    """Lay out coverage by method; the first columns are means over six kinds of noise, with the lowest."""
    heads = [f"{n}+{m}" if name == "alike" else f"{name}, {n}+{m}" for name, n, m in cells()]
    rows = []
    for name in methods_for(estimand):
        row = [f"`{name}`"]
        for kind, n, m in cells():
            pairs = [(noise, noise) for noise in ALIKE.values()] if kind == "alike" else [UNLIKE[kind]]
            shares = [coverage(name, estimand, pair, n, m, replications) for pair in pairs]
            lowest = f" ({100 * min(shares):.1f})" if kind == "alike" else ""
            row.append(f"{100 * np.mean(shares):.1f}{lowest}")
        rows.append(row)
    return table(["interval", *heads], rows)


def p_values(
    first: Array, second: Array, test: str, correction: str, rng: np.random.Generator, *, rank_test: bool
) -> tuple[Array, Array]:
    """Return the corrected p-value that a verdict rests on, and that of the ranks (or the same)."""
    choices = Choices(estimand="geometric-mean", method="welch", test=test, correction=correction)
    found = run_tests(
        first,
        second,
        floor=unknown_floor(len(first)),
        choices=choices,
        alpha=ALPHA,
        margin=0.02,
        rank_test=rank_test,
        rng=rng,
    )
    p = found.p_adjusted if test == "moderated" else np.maximum(found.p_adjusted, found.p_welch_adjusted)
    return p, p if found.p_rank is None else found.p_rank


def false_alarm_table(replications: int) -> str:
    """Lay out how often one shape without a difference is called different at 5 %."""
    rows = []
    for name, pair in PAIRS.items():
        row = [name]
        for n, m in ((5, 5), (10, 10), (5, 15), (15, 5)):
            rng = np.random.default_rng([2, n, m])
            first, second = pair[0](rng, (replications, n)), pair[1](rng, (replications, m))
            p, rank = p_values(first, second, "permutation", "none", rng, rank_test=True)
            row += [f"{100 * np.mean(part <= ALPHA):.1f}" for part in (p, rank)]
        rows.append(row)
    heads = [f"{design}, {test}" for design in ("5+5", "10+10", "5+15", "15+5") for test in ("mean", "rank")]
    return table(["noise", *heads], rows)


def family(
    rule: str, pair: tuple[Noise, Noise], n: int, m: int, boosts: Array, analyses: int
) -> tuple[float, float, float]:
    """Return the rate of any false claim, the share of false claims, and the power, over analyses."""
    rng = np.random.default_rng([3, n, m])
    false_any, false_share, found = 0, 0.0, 0
    for _ in range(analyses):
        scale = np.exp(rng.normal(0, 0.5, (SHAPES, 1)))
        first = pair[0](rng, (SHAPES, n)) * scale
        second = pair[1](rng, (SHAPES, m)) * scale - boosts[:, np.newaxis]
        p, _ = p_values(first, second, *RULES[rule], rng, rank_test=False)
        claimed = p <= ALPHA
        wrong = int(claimed[boosts == 0].sum())
        false_any += wrong > 0
        false_share += wrong / max(int(claimed.sum()), 1)
        found += int(claimed[boosts != 0].sum())
    real = max(int(np.count_nonzero(boosts)), 1)
    return false_any / analyses, false_share / analyses, found / analyses / real


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


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a markdown table whose first column is set left."""
    rule = ["---", *("--:" for _ in heads[1:])]
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, rule, *rows))


def main() -> None:
    """Make every table and write them between their marks in the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the replications; print only")
    parser.add_argument("--only", metavar="NAME", help="a table by the name that marks it in the document")
    arguments = parser.parse_args()
    quick = arguments.quick
    replications, analyses = (200, 30) if quick else (2_000, 400)
    with ProcessPoolExecutor(2) as pool:
        makers: Mapping[str, tuple[Callable[..., str], Sequence[object]]] = {
            "coverage geometric-mean": (coverage_table, [Estimand.GEOMETRIC_MEAN, replications]),
            "coverage median": (coverage_table, [Estimand.MEDIAN, replications]),
            "coverage arithmetic-mean": (coverage_table, [Estimand.ARITHMETIC_MEAN, replications // 4]),
            "family": (family_table, [analyses]),
            "power": (power_table, [analyses // 2]),
            "false alarms": (false_alarm_table, [2 * replications]),
        }
        wanted = [arguments.only] if arguments.only else list(makers)
        made = {name: pool.submit(makers[name][0], *makers[name][1]) for name in wanted}
        for name, future in made.items():
            text = future.result()
            print(f"{name}\n{text}\n", flush=True)
            if not quick:
                _replace(name, text)


def _replace(name: str, made: str) -> None:
    """Put a table between its marks."""
    text = DOCUMENT.read_text(encoding="utf-8")
    start, end = f"<!-- generated: {name} -->\n", "\n<!-- end -->"
    before, rest = text.split(start, 1)
    DOCUMENT.write_text(f"{before}{start}{made}{end}{rest.split(end, 1)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
