"""Whole reports whose noise, seeds, shapes and boosts are drawn at random: for calibrate_methods.py.

Nobody chose these settings. An earlier draw of such settings led to one rule of more_skewed, though: how far
means lie above medians.
"""

from __future__ import annotations

import functools
import itertools
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import made_up_noise  # noqa: F401 (finds the modules beside the tests)
import numpy as np
from noise_kinds import Array, Noise
from scipy.stats import ttest_1samp, ttest_ind
from simulated_reports import table
from statsmodels.stats.multitest import multipletests
from unseen_noise import centred

import abtune
from abtune.compare.results import Analysis, Verdict
from abtune.stats.two_sample import Booleans


def ends_at_the_best(share: float) -> Noise:
    """Return noise in which a share of the searches ends at the best schedule; measuring adds a little."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        missed: Array = rng.exponential(1, shape) * (rng.random(shape) > share)
        return missed + rng.normal(0, 0.02, shape)

    return draw


def now_and_then_slow(share: float, loss: float) -> Noise:
    """Return normal noise with runs that are slower by a multiple of it."""
    return lambda rng, shape: rng.normal(size=shape) + loss * (rng.random(shape) < share)


KINDS: Sequence[Noise] = (
    lambda rng, shape: rng.normal(size=shape),
    lambda rng, shape: rng.standard_t(3, shape),
    lambda rng, shape: rng.laplace(size=shape),
    lambda rng, shape: rng.exponential(size=shape),
    lambda rng, shape: rng.gamma(4, 0.5, shape),
    lambda rng, shape: rng.uniform(0, 3, shape),
    lambda rng, shape: 2 * rng.beta(0.5, 2, shape),
    lambda rng, shape: rng.pareto(4, shape),
    lambda rng, shape: rng.choice((0.0, 0.5, 2.0), shape, p=(0.5, 0.3, 0.2)),
    lambda rng, shape: 2.0 * (rng.random(shape) < 0.5) + rng.normal(0, 0.05, shape),
    ends_at_the_best(0.3),
    ends_at_the_best(0.5),
    ends_at_the_best(0.8),
    now_and_then_slow(0.25, 3),
    now_and_then_slow(0.1, 10),
    now_and_then_slow(0.05, 30),
)
SHAPES: Mapping[str, tuple[int, int]] = {
    "1": (1, 1),
    "2 to 4": (2, 4),
    "5 to 12": (5, 12),
    "15 to 30": (15, 30),
}
SEEDS: Mapping[str, tuple[int, int]] = {"3 to 5": (3, 5), "6 to 9": (6, 9), "10 to 20": (10, 20)}
TOLERANCE = 0.05
HEADS = (
    "intervals that hold",
    "false difference",
    "Welch and Holm",
    "false *at least %*",
    "false count",
    "overall mean missed",
)


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What the data of some reports have in common."""

    boosts: Array  # true ones, shape (shapes,)
    seeds: tuple[int, int]
    noise: tuple[Noise, Noise]
    spread: Array  # of the noise, log scale, shape (shapes, sides, 1)
    paired: bool
    common: float  # noise that the runs of a pair share; 1 is the baseline's own
    lost: float  # the share of runs that fail, whatever their speed
    timing_noise: float


def random_setting(shapes: tuple[int, int], seeds: tuple[int, int], rng: np.random.Generator) -> Setting:
    """Return a setting with numbers of shapes and seeds in these ranges, ends included."""
    size, paired = int(rng.integers(*shapes, endpoint=True)), bool(rng.random() < 0.3)
    n, m = rng.integers(*seeds, size=2, endpoint=True).tolist()
    kinds = rng.integers(len(KINDS), size=2)
    if rng.random() < 0.5:  # both sides have the same kind of noise, maybe not the same spread
        kinds[1] = kinds[0]
    spread = np.exp(
        rng.uniform(math.log(0.003), math.log(0.15)) + rng.choice((0, 1)) * rng.uniform(-1, 1, (size, 1, 1))
    )
    ratio = np.exp(rng.choice((0, 1)) * rng.uniform(-1.4, 1.4))
    boosts = ((0.0,), (0.0, 0.1, 0.3), (-TOLERANCE - 1e-6, 0.1))[rng.integers(3)]
    return Setting(
        boosts=np.resize(boosts, size),
        seeds=(n, n) if paired or rng.random() < 0.7 else (n, m),
        noise=(_kind(int(kinds[0])), _kind(int(kinds[1]))),
        spread=spread * np.array([1.0, ratio])[:, np.newaxis],
        paired=paired,
        common=float(rng.choice((0.0, 1.0, 3.0))),
        lost=float(rng.choice((0.0, 0.0, 0.1))),
        timing_noise=float(rng.choice((0.0, 0.003))),
    )


@functools.cache  # the mean of a kind comes from a million draws
def _kind(number: int) -> Noise:
    return centred(KINDS[number])


def report_on(setting: Setting, rng: np.random.Generator) -> Analysis:
    """Return the report on data that are drawn in this setting."""
    size, most = len(setting.boosts), max(setting.seeds)
    logs = setting.spread * np.stack([noise(rng, (size, most)) for noise in setting.noise], axis=1)
    if setting.paired:
        logs = logs + setting.common * setting.spread[:, :1] * rng.normal(size=(size, 1, most))
    logs[:, 1] -= np.log1p(setting.boosts)[:, np.newaxis]
    for side, n in enumerate(setting.seeds):
        logs[:, side, n:] = np.nan
    logs[rng.random(logs.shape) < setting.lost] = np.nan
    rounds = logs[..., np.newaxis, np.newaxis] + setting.timing_noise * rng.normal(size=(*logs.shape, 5, 1))
    how: dict[str, Any] = {"design": "shared"} if setting.paired else {}
    labels = [f"shape{index}" for index in range(size)]
    return abtune.analyze(
        abtune.make_dataset(np.exp(rounds - 8), shapes=labels, configs=["old", "new"], **how)
    )


def mistakes(setting: Setting, report: Analysis) -> list[float]:
    """Return the share of intervals that hold, and whether a claim of each kind is false; NaN without one.

    After *false difference* comes whether Welch's t-test with Holm's correction makes one.
    """
    true, rows = setting.boosts, report.comparisons
    low, high, bound = np.array([(row.boost_low, row.boost_high, row.boost_at_least) for row in rows]).T
    held = ((low <= true) & (true <= high))[~np.isnan(low)]
    improved, regressed = (
        np.array([row.verdict is verdict for row in rows])
        for verdict in (Verdict.IMPROVED, Verdict.REGRESSED)
    )
    differ, too_high = improved & (true <= 0) | regressed & (true >= 0), bound > true + 1e-9
    counts = [
        claim.at_least > np.count_nonzero(_is_so(claim.claim, claim.beyond, true))
        for claim in report.claims
        if claim.workload is None
    ]
    missed = math.nan
    if report.overall and len(true) > 1:
        mean, all_shapes = math.expm1(float(np.log1p(true).mean())), report.overall.these_shapes
        missed = float(not all_shapes.boost_low <= mean <= all_shapes.boost_high)
    false = [float(np.any(claims)) for claims in (differ, _by_welch(setting, report), too_high, counts)]
    return [float(held.mean()) if len(held) else math.nan, *false, missed]


def _by_welch(setting: Setting, report: Analysis) -> Booleans:
    """Return which shapes Welch's t-test calls different though they are not, or in the wrong direction."""
    logs = np.log(report.dataset["latency"].median(["round", "repeat"]).values)
    old, new = logs[:, 0], logs[:, 1]
    with warnings.catch_warnings(), np.errstate(all="ignore"):  # a side may have one run, or equal ones
        warnings.simplefilter("ignore")
        kinds = {"axis": 1, "nan_policy": "omit"}
        test = (
            ttest_1samp(old - new, 0, **kinds)
            if setting.paired
            else ttest_ind(old, new, equal_var=False, **kinds)
        )
        p, t = np.ma.filled(test.pvalue, np.nan), np.ma.filled(test.statistic, np.nan)
    known = ~np.isnan(p)
    rejected = np.zeros(len(p), dtype=bool)
    if known.any():
        rejected[known] = multipletests(p[known], 0.05, "holm")[0]
    true = setting.boosts
    return rejected & ((t > 0) & (true <= 0) | (t < 0) & (true >= 0))


def _is_so(claim: str, beyond: float, true: Array) -> Booleans:
    if claim == "faster":
        return true > beyond
    return true < -beyond if claim == "slower" else true >= -beyond - 1e-12


def random_settings_table(settings: int, reports: int) -> str:
    """Lay out how many intervals hold and how many reports err: the mean over settings, and the worst one."""
    rows = []
    for row, ((shapes, sizes), (seeds, numbers)) in enumerate(
        itertools.product(SHAPES.items(), SEEDS.items())
    ):
        shares = []
        for number in range(settings):
            rng = np.random.default_rng([61, row, number])
            setting = random_setting(sizes, numbers, rng)
            made = [mistakes(setting, report_on(setting, rng)) for _ in range(reports)]
            shares.append(100 * np.array([_mean(column) for column in zip(*made, strict=True)]))
        columns = list(zip(*shares, strict=True))
        worst = [min(columns[0]), *(max(column) for column in columns[1:])]
        cells = [f"{_mean(column):.1f} ({one:.0f})" for column, one in zip(columns, worst, strict=True)]
        rows.append([shapes, seeds, *(cell.replace("nan (nan)", "") for cell in cells)])
    return table(["shapes", "seeds", *HEADS], rows)


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return float(np.mean(known)) if known else math.nan
