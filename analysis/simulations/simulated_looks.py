"""What sweeps find and claim falsely that drop shapes without promise, for calibrate_methods.py."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import made_up_noise  # noqa: F401 (finds the modules beside the tests)
import numpy as np
import numpy.typing as npt
from noise_kinds import Array, Noise, lognormal, skewed
from simulated_pairs import KINDS as PAIR_KINDS
from simulated_pairs import Pairs, of_pairs, pair_p_values
from simulated_reports import ALPHA, SHAPES, table
from unseen_noise import difference_p_values

import abtune
from abtune.samples import extract_both
from abtune.stats.intervals.bootstrap import expanded_percentile
from abtune.stats.testing.looks import PROMISING, Look, schedule
from abtune.stats.testing.step_procedures import holm
from abtune.stats.two_sample import TwoSample

MOST, GAINING, GAIN = 20, 10, math.log(1.15)
Booleans = npt.NDArray[np.bool_]
# Draws both sides of reports: shape (2, reports, shapes, seeds).
Draw = Callable[[np.random.Generator, int], Array]
# Levels and numbers of seeds by look, and the p-value above which a look drops a shape.
Designs = Mapping[str, tuple[Sequence[Look], float]]
DESIGNS: Designs = {
    "10 + 10 for all": ([Look(seeds=10, alpha=ALPHA)], 1.0),
    "11 + 11 for all": ([Look(seeds=11, alpha=ALPHA)], 1.0),
    "looks, nothing dropped": (schedule(alpha=ALPHA, most=MOST), 1.0),
    "`--until-settled`": (schedule(alpha=ALPHA, most=MOST), PROMISING),
}

# The same for pairs, whose sides are correlated.
PAIRED_DESIGNS: Designs = {
    "12 pairs for all": ([Look(seeds=12, alpha=ALPHA)], 1.0),
    "looks, nothing dropped": (schedule(alpha=ALPHA, most=MOST, paired=True), 1.0),
    "`--share --until-settled`": (schedule(alpha=ALPHA, most=MOST, paired=True), PROMISING),
}


def _two_modes(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    slow = np.where(rng.random(shape) < 0.3, 0.7, -0.3)
    drawn: Array = 0.27 * slow + rng.normal(0, 0.04, shape)
    return drawn


@cache
def _residuals() -> Array:
    """Return the residuals of the reference dataset, shape (2, shapes, seeds), with the variance of a run."""
    sides = extract_both(abtune.open_dataset("h200-tvm14009"), "mainline", "async")
    values = np.stack([side.value for side in sides])
    residuals: Array = values - values.mean(axis=2, keepdims=True)
    return residuals * math.sqrt(values.shape[2] / (values.shape[2] - 1))


def _reference(rng: np.random.Generator, reports: int) -> Array:
    own = np.broadcast_to(_residuals()[:, np.newaxis], (2, reports, *_residuals().shape[1:]))
    return np.take_along_axis(own, rng.integers(0, own.shape[3], (2, reports, SHAPES, MOST)), axis=3)


def _of(first: Noise, second: Noise) -> Draw:
    return lambda rng, reports: np.stack([noise(rng, (reports, SHAPES, MOST)) for noise in (first, second)])


KINDS: Mapping[str, Draw] = {
    "residuals of `h200-tvm14009`": _reference,
    "normal 13 %": _of(lognormal(0.13), lognormal(0.13)),
    "exponential 13 %": _of(skewed(1, 0.13), skewed(1, 0.13)),
    "two modes, 13 %": _of(_two_modes, _two_modes),
    "spread 4:1": _of(lognormal(0.18), lognormal(0.045)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """What reports came to; each array has shape (reports, shapes)."""

    claimed: Booleans
    seeds: Array  # per side
    boost: Array  # as estimated, log scale
    kept: Booleans  # shapes that got seeds after the first look


def _samples(logs: Array, *, paired: bool) -> TwoSample:
    return of_pairs(logs) if paired else TwoSample.without_floor(*logs)


def outcomes(logs: Array, looks: Sequence[Look], cut: float, *, paired: bool = False) -> Outcomes:
    """Carry out a design on runs that are drawn beforehand, shape (2, reports, shapes, seeds)."""
    size = logs.shape[1:3]
    rng = np.random.default_rng(18)
    open_shapes, dropped, claimed = np.ones(size, bool), np.zeros(size, bool), np.zeros(size, bool)
    p, p_welch, boost, seeds = (np.ones(size) for _ in range(4))
    for look in looks:
        first, second = now = logs[:, open_shapes, : look.seeds]
        seeds[open_shapes], boost[open_shapes] = look.seeds, first.mean(axis=1) - second.mean(axis=1)
        if paired:
            p[open_shapes], p_welch[open_shapes] = pair_p_values(of_pairs(now))
        else:  # the variances of closed shapes count, too
            known = np.where(np.arange(logs.shape[3]) < seeds[..., np.newaxis], logs, np.nan)
            samples, rows = TwoSample.without_floor(*known.reshape(2, -1, logs.shape[3])), open_shapes.ravel()
            values = difference_p_values(samples, rng, asked=rows)
            p[open_shapes], p_welch[open_shapes] = (value[rows] for value in values)
        required = p if paired else np.maximum(p, p_welch)
        adjusted = np.array([holm(row) for row in np.where(dropped, 1.0, required)])
        claimed |= open_shapes & (adjusted <= look.alpha)
        open_shapes &= ~claimed
        best = np.where(open_shapes, p_welch, 2.0).min(axis=1, keepdims=True)
        dropped |= open_shapes & (p_welch > np.maximum(cut, best))
        open_shapes &= ~dropped
    return Outcomes(claimed=claimed, seeds=seeds, boost=boost, kept=seeds > looks[0].seeds)


def looks_table(reports: int) -> str:
    """Lay out what is found, what is claimed falsely, the runs, and by how much boosts are too large."""
    return _table(KINDS, DESIGNS, reports, paired=False)


def paired_looks_table(reports: int) -> str:
    """Lay out the same for pairs."""

    def of(pairs: Pairs) -> Draw:
        return lambda rng, number: pairs(rng, (number, SHAPES, MOST))

    whole = {name: of(pairs) for name, pairs in PAIR_KINDS.items() if "lost" not in name}
    return _table(whole, PAIRED_DESIGNS, reports, paired=True)


def _table(kinds: Mapping[str, Draw], designs: Designs, reports: int, *, paired: bool) -> str:
    rows = []
    for name, draw in kinds.items():
        logs = draw(np.random.default_rng([18, 1]), reports)
        gains = logs.copy()
        gains[0, :, :GAINING] += GAIN
        none = draw(np.random.default_rng([18, 2]), 5 * reports)
        row = [name]
        for looks, cut in designs.values():
            some = outcomes(gains, looks, cut, paired=paired)
            false = outcomes(none, looks, cut, paired=paired).claimed.any(axis=1).mean()
            finds = some.claimed[:, :GAINING].sum(axis=1).mean()
            row.append(f"{finds:.1f} / {100 * false:.1f} / {2 * some.seeds.sum(axis=1).mean():.0f}")
        kept = some.kept[:, :GAINING]  # of the last design
        excess = np.expm1(some.boost[:, :GAINING][kept].mean() - GAIN)
        rows.append([*row, f"{100 * excess:+.1f}", f"{100 * _covered(gains, some, paired=paired):.1f}"])
    return table(["noise", *designs, "excess of gains", "intervals hold"], rows)


def _covered(logs: Array, outcomes: Outcomes, *, paired: bool) -> float:
    """Return the share of intervals that hold, of shapes that got seeds after the first look."""
    held: list[Booleans] = []
    true = np.broadcast_to(np.where(np.arange(SHAPES) < GAINING, GAIN, 0.0), outcomes.kept.shape)
    for seeds in np.unique(outcomes.seeds[outcomes.kept]).astype(int):
        chosen = outcomes.kept & (outcomes.seeds == seeds)
        interval = expanded_percentile(_samples(logs[:, chosen, :seeds], paired=paired), level=1 - ALPHA)
        held.append((interval.low <= true[chosen]) & (interval.high >= true[chosen]))
    return float(np.concatenate(held).mean())
