"""Write the tables of docs/statistics.md and docs/single-runs.md, by simulation: how often methods are right.

Run as ``python analysis/simulations/calibrate_methods.py``. It takes some hours on two cores. ``--quick``
makes a tenth of the replications and prints the tables instead. The tests use the same kinds of noise.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import made_up_noise  # noqa: F401 (finds the modules beside the tests)
import numpy as np
from noise_kinds import ALIKE, Noise, bimodal, lognormal, skewed
from random_settings import random_settings_table
from simulated_best_of import best_of_coverage_table, best_of_reports_table
from simulated_claims import (
    at_least_table,
    claims_table,
    common_noise_table,
    few_seeds_table,
    gates_table,
    hidden_runs_table,
    not_slower_table,
    pair_claims_table,
    same_schedule_table,
    some_share_table,
    unequal_table,
)
from simulated_drift import drift_table
from simulated_looks import looks_table, paired_looks_table
from simulated_pairs import (
    equal_pairs_table,
    pair_coverage_table,
    pair_plan_table,
    pair_reports_table,
    pair_worth_table,
    pairs_table,
)
from simulated_reports import (
    ALPHA,
    PAIRS,
    UNLIKE,
    calibration_table,
    conservative_table,
    family_table,
    plan_table,
    power_table,
    simultaneous_table,
    table,
    unequal_plan_table,
)
from simulated_series import series_table
from simulated_short_sweeps import fewer_shapes_table, short_sweeps_table
from simulated_skew import failing, modes_table, pair_skew_table, skew_direction_table, skew_table
from single_run_tables import shapes_covered
from unseen_noise import (
    both_kinds_table,
    coarse_table,
    few_table,
    gaps_table,
    sessions_table,
    skewed_mean_table,
    unseen_table,
)

from abtune.stats.across_shapes import noise_bound
from abtune.stats.estimand import Estimand
from abtune.stats.intervals.interval_methods import methods_for
from abtune.stats.moderated import tipping_point
from abtune.stats.testing.significance import permutation_test, welch_tests
from abtune.stats.two_sample import TwoSample

DOCS = Path(__file__).resolve().parents[2] / "docs"
DOCUMENTS = DOCS / "statistics.md", DOCS / "statistics-tables.md", DOCS / "single-runs.md"
LEVEL = 0.95
DESIGNS = ((5, 5), (10, 10), (20, 20), (5, 15))


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
    rng = np.random.default_rng(99)
    medians = [float(np.median(noise(rng, (2_000_000,)))) for noise in pair]
    return medians[0] - medians[1]


def coverage(
    name: str, estimand: Estimand, pair: tuple[Noise, Noise], n: int, m: int, replications: int
) -> float:
    """Return the share of intervals that cover the truth."""
    rng = np.random.default_rng([1, n, m])
    first, second = pair[0](rng, (replications, n)), pair[1](rng, (replications, m))
    samples = TwoSample.without_floor(first, second)
    interval = methods_for(estimand)[name].compute(samples, level=LEVEL)
    right = truth(pair, estimand)
    return float(np.mean((interval.low <= right + 1e-12) & (interval.high >= right - 1e-12)))


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


def false_alarm_table(replications: int) -> str:
    """Lay out how often one shape without a difference is called different at 5 %."""
    rows = []
    for name, pair in PAIRS.items():
        row = [name]
        for n, m in ((5, 5), (10, 10), (5, 15), (15, 5)):
            rng = np.random.default_rng([2, n, m])
            first, second = pair[0](rng, (replications, n)), pair[1](rng, (replications, m))
            samples = TwoSample.without_floor(first, second)
            p = np.maximum(permutation_test(samples, rng=rng), welch_tests(samples).difference_p())
            row.append(f"{100 * np.mean(p <= ALPHA):.1f}")
        rows.append(row)
    return table(["noise", "5+5", "10+10", "5+15", "15+5"], rows)


def all_shapes_table(replications: int) -> str:
    """Lay out how often intervals over 29 shapes hold, with one run per cell and 3 % search noise."""
    rows = []
    for kind, spread in (("normal", 0.0), ("normal", 0.05), ("normal", 0.1), ("exponential", 0.1)):
        held = shapes_covered(kind, spread, replications=replications)
        shares = held.student, held.these
        rows.append([f"{kind}, {100 * spread:.0f} %", *(f"{100 * share:.1f}" for share in shares)])
    return table(["true boosts, spread", "t", "t, for these shapes"], rows)


def noise_limit_table(replications: int) -> str:
    """Lay out how often the limit of the search noise is too low, and runs differ by the tipping point."""
    kinds = {
        "normal 10 %": lognormal(0.1),
        "exponential": skewed(1, 0.1),
        "one in five is 10 % slower": bimodal,
        "one in 15 is 30 % slower": failing(1 / 15),
    }
    sizes, rows = (5, 12, 29), []
    for name, noise in kinds.items():
        rng = np.random.default_rng(52)
        true, row = float(noise(rng, (1_000_000,)).std()), [name]
        for shapes in sizes:
            tables = noise(rng, (replications, shapes)) - noise(rng, (replications, shapes))
            low = [noise_bound(ratios, level=LEVEL)[2] < true for ratios in tables]
            row.append(f"{100 * np.mean(low):.1f}")
        ratios = noise(rng, (1_000_000,)) - noise(rng, (1_000_000,))
        row.append(f"{100 * np.mean(tipping_point(ratios, level=LEVEL) > true):.1f}")
        rows.append(row)
    return table(["noise", *(f"{shapes} shapes" for shapes in sizes), "tips"], rows)


def main() -> None:
    """Make every table and write them between their marks in the documents."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the replications; print only")
    parser.add_argument("--only", metavar="NAME", help="a table by the name that marks it in the document")
    arguments = parser.parse_args()
    quick = arguments.quick
    replications, analyses = (200, 30) if quick else (2_000, 400)
    with ProcessPoolExecutor(2) as pool:
        makers: Mapping[str, tuple[Callable[..., str], Sequence[object]]] = {
            "coverage geometric-mean": (coverage_table, [Estimand.GEOMETRIC_MEAN, replications]),
            "coverage best of": (best_of_coverage_table, [replications]),
            "best of reports": (best_of_reports_table, [analyses // 4]),
            "simultaneous": (simultaneous_table, [analyses // 2]),
            "family": (family_table, [analyses]),
            "conservative": (conservative_table, [50 * analyses]),
            "claims": (claims_table, [analyses // 2]),
            "common noise": (common_noise_table, [analyses]),
            "hidden runs": (hidden_runs_table, [5 * analyses // 2]),
            "some share": (some_share_table, [analyses // 2]),
            "few seeds": (few_seeds_table, [analyses // 4]),
            "same schedules": (same_schedule_table, [analyses]),
            "drift": (drift_table, [analyses // 4]),
            "two modes": (modes_table, [analyses // 4]),
            "unequal counts": (unequal_table, [analyses // 2]),
            "one side skewed": (skew_table, [analyses // 2]),
            "skew direction": (skew_direction_table, [analyses // 4]),
            "skewed pairs": (pair_skew_table, [analyses // 2]),
            "gates": (gates_table, [analyses // 2]),
            "not slower": (not_slower_table, [analyses // 2]),
            "at least": (at_least_table, [analyses // 2]),
            "unseen": (unseen_table, [2 * analyses]),
            "random settings": (random_settings_table, [20, analyses // 10]),
            "short sweeps": (short_sweeps_table, [5 * analyses // 2]),
            "fewer shapes": (fewer_shapes_table, [5 * analyses // 2]),
            "coarse timer": (coarse_table, [analyses // 4]),
            "both kinds": (both_kinds_table, [3 * analyses // 2]),
            "sessions": (sessions_table, [replications]),
            "gaps": (gaps_table, [replications]),
            "skewed mean": (skewed_mean_table, [replications]),
            "few": (few_table, [replications]),
            "power": (power_table, [analyses // 2]),
            "calibration": (calibration_table, [8]),
            "series": (series_table, [10 * replications]),
            "looks": (looks_table, [analyses]),
            "paired looks": (paired_looks_table, [analyses]),
            "plan": (plan_table, [replications]),
            "unequal plan": (unequal_plan_table, [replications // 2]),
            "false alarms": (false_alarm_table, [2 * replications]),
            "shapes together": (all_shapes_table, [replications]),
            "noise limit": (noise_limit_table, [replications]),
            "coverage pairs": (pair_coverage_table, [replications]),
            "pairs": (pairs_table, [2 * replications]),
            "equal pairs": (equal_pairs_table, [analyses // 4]),
            "pair reports": (pair_reports_table, [analyses]),
            "pair claims": (pair_claims_table, [analyses // 4]),
            "pair plan": (pair_plan_table, [replications]),
            "pair worth": (pair_worth_table, [replications]),
        }
        wanted = [arguments.only] if arguments.only else list(makers)
        made = {name: pool.submit(makers[name][0], *makers[name][1]) for name in wanted}
        for name, future in made.items():
            text = future.result()
            print(f"{name}\n{text}\n", flush=True)
            if not quick:
                _replace(name, text)


def _replace(name: str, made: str) -> None:
    """Put a table between its marks, in the one document that has them."""
    start, end = f"<!-- generated: {name} -->\n", "\n<!-- end -->"
    (document,) = (path for path in DOCUMENTS if start in path.read_text(encoding="utf-8"))
    before, rest = document.read_text(encoding="utf-8").split(start, 1)
    document.write_text(f"{before}{start}{made}{end}{rest.split(end, 1)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
