"""Simulated reports with too few seeds for Holm's correction, judged by max-T, for calibrate_methods.py.

The smallest p of 6+6 seeds is 2/924. Over 29 shapes Holm's correction asks for 0.05/29, so it finds nothing
in any of these designs. Nor does it in 10 shapes or more of 5+5 seeds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import made_up_noise  # noqa: F401 (finds the modules beside the tests)
import numpy as np
from noise_kinds import Array, Noise, lognormal
from simulated_reports import ALPHA, PAIRS, SHAPES, confirming_p, table
from unseen_noise import UNSEEN, samples_of

from abtune.compare.settings import Settings
from abtune.compare.statistics import compute
from abtune.stats.two_sample import Booleans, TwoSample

SETTINGS = Settings(baseline="old", candidate="new", correction="max-t")
DESIGNS = ((4, 4), (5, 5), (6, 6), (5, 6), (6, 5))
DIFFERS, ERRORS = np.arange(SHAPES) % 3 == 2, 4.5  # shapes that differ, by this many standard errors
FEWER = (10, 15, 20, 25)  # shapes of 5+5 seeds


def varied(spread: float) -> Noise:
    """Return normal noise whose spread differs between shapes: of ten shapes, seven have half to twice it."""
    return lambda rng, shape: lognormal(spread)(rng, shape) * np.exp(rng.normal(0, 0.7, (shape[0], 1)))


def three_schedules(*shares: float) -> Noise:
    """Return noise of searches that end at one of three schedules; the slowest takes 10 % longer."""
    logs = np.log([1.0, 1.05, 1.1])
    return lambda rng, shape: rng.choice(logs, shape, p=shares) - logs @ shares + rng.normal(0, 0.001, shape)


def often_slow(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return noise of searches that miss the fast schedule; each shape has its own chance of up to a half."""
    share = rng.uniform(0, 0.5, (shape[0], 1))
    drawn: Array = math.log(1.3) * ((rng.random(shape) < share) - share) + rng.normal(0, 0.01, shape)
    return drawn


KINDS: Mapping[str, tuple[Noise, Noise]] = {
    **{name: PAIRS[name] for name in ("lognormal 2 %", "exponential", "spread 4:1", "one side skewed")},
    "spread 10:1": (lognormal(0.2), lognormal(0.02)),
    "spreads vary": (varied(0.02), varied(0.02)),
    "one side fails 1 in 5": PAIRS["one side fails 1 in 5"],
    **UNSEEN,
    "two schedules, mostly one": (three_schedules(0.5, 0.5, 0.0), three_schedules(0.9, 0.05, 0.05)),
    "three schedules, shares differ": (three_schedules(0.3, 0.3, 0.4), three_schedules(0.05, 0.9, 0.05)),
    "chance of a slow run varies, normal": (often_slow, lognormal(0.01)),
}


def short_sweeps_table(reports: int) -> str:
    """Lay out percent of reports with a false difference, and how many of nine true ones are found."""
    rows = []
    for name, pair in KINDS.items():
        false = [_called(pair, n, m, reports).any(axis=1).mean() for n, m in DESIGNS]
        false.append(_called(pair, 6, 6, reports, lost=True).any(axis=1).mean())
        finds = [_called(pair, n, n, reports // 5, ERRORS)[:, DIFFERS].sum(axis=1).mean() for n in (5, 6)]
        rows.append([name, *(f"{100 * share:.1f}" for share in false), *(f"{few:.1f}" for few in finds)])
    heads = [*(f"false, {n}+{m}" for n, m in DESIGNS), "false, 5 or 6", "found, 5+5", "found, 6+6"]
    return table(["noise", *heads], rows)


def fewer_shapes_table(reports: int) -> str:
    """Lay out percent of reports of fewer shapes with a false difference, where rare failures hide."""
    names = ("one side fails 1 in 5", "two schedules, shares differ", "1 in 15 fails, normal")
    rows = []
    for name in names:
        false = [_called(KINDS[name], 5, 5, reports, shapes=shapes).any(axis=1).mean() for shapes in FEWER]
        rows.append([name, *(f"{100 * share:.1f}" for share in false)])
    return table(["noise", *(f"{shapes} shapes" for shapes in FEWER)], rows)


def _called(
    pair: tuple[Noise, Noise],
    n: int,
    m: int,
    reports: int,
    errors: float = 0.0,
    *,
    lost: bool = False,
    shapes: int = SHAPES,
) -> Booleans:
    """Return which shapes reports call different; some shapes may have ``lost`` a seed of a side."""
    rng = np.random.default_rng([15, n, m])
    spread = [float(noise(rng, (20_000, 5)).std()) for noise in pair]
    shift = errors * np.sqrt(spread[0] ** 2 / n + spread[1] ** 2 / m)
    called = np.zeros((reports, shapes), dtype=bool)
    for report in called:
        sides = pair[0](rng, (shapes, n)) + shift * DIFFERS[:shapes, np.newaxis], pair[1](rng, (shapes, m))
        for side in sides if lost else ():
            side[rng.random(shapes) < 0.5, -1] = np.nan
        report[:] = _differ(*sides)
    return called


def _differ(first: Array, second: Array) -> Booleans:
    """Return which shapes a report calls different."""
    confirming = confirming_p(TwoSample.without_floor(first, second))
    if confirming.min() > ALPHA / len(first):  # nothing can pass
        return np.zeros(len(first), dtype=bool)
    statistics = compute((samples_of(first), samples_of(second)), SETTINGS, bounds=False)
    tests, interval = statistics.tests, statistics.interval
    p = np.maximum(tests.p_adjusted, tests.p_welch_adjusted)
    if tests.p_resampled_adjusted is not None:
        p = np.fmax(p, tests.p_resampled_adjusted)
    return (p <= ALPHA) & ((interval.low > 0) | (interval.high < 0))
