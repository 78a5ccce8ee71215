"""Simulated noise that no method here was chosen by, and promises put together: for calibrate_methods.py.

The kinds of noise of the tests are those that the methods were compared on. These are others, among them some
that break every method, and the cases in which two promises of 5 % add up.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping

import made_up_noise  # noqa: F401 (finds the modules beside the tests)
import numpy as np
from noise_kinds import Array, Noise, lognormal, skewed
from simulated_reports import ALPHA, SHAPES, confirming_p, intervals_of, table

from abtune import analyze, make_dataset
from abtune.compare.overall import halves_over_seeds, overall
from abtune.compare.results import Verdict
from abtune.compare.settings import Settings
from abtune.samples import Samples
from abtune.stats.estimates import standard_error
from abtune.stats.intervals.bootstrap import expanded_percentile
from abtune.stats.skewness import misled
from abtune.stats.testing.significance import OneSided, permutation_test, resampled, welch_tests
from abtune.stats.testing.step_procedures import holm
from abtune.stats.two_sample import Booleans, TwoSample
from abtune.stats.variance import clustered_variance, half_width, seed_values

MARGIN = 0.08  # log scale; wide enough for equivalence to be claimed at all


def centred(draw: Noise) -> Noise:
    """Take off the mean, which comes from a million draws."""
    mean = float(draw(np.random.default_rng(0), (1_000_000,)).mean())
    return lambda rng, shape: draw(rng, shape) - mean


def quantised(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """20 us with 2 % noise, on a clock that ticks every 0.5 us."""
    return np.log(np.round(40 * np.exp(rng.normal(0, 0.02, shape))))


def rarely_slow(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """One search in 15 is 30 % slower."""
    return np.where(rng.random(shape) < 1 / 15, math.log(1.3), 0.0) + rng.normal(0, 0.01, shape)


def two_schedules(share: float, low: float, high: float) -> Noise:
    """Every search ends at one of two schedules."""
    return lambda rng, shape: np.where(rng.random(shape) < share, high, low) + rng.normal(0, 0.004, shape)


STUDENT = centred(lambda rng, shape: 0.02 * rng.standard_t(3, shape))
WEIBULL = centred(lambda rng, shape: 0.03 * rng.weibull(1.5, shape))
SKEWED_WEIBULL = centred(lambda rng, shape: 0.03 * rng.weibull(0.8, shape))
LAPLACE = centred(lambda rng, shape: rng.laplace(0, 0.02, shape))
CAUCHY = centred(lambda rng, shape: np.clip(0.01 * rng.standard_cauchy(shape), -0.3, 0.3))
FLOOR = centred(lambda rng, shape: np.log1p(rng.exponential(0.05, shape)))
RARE = centred(rarely_slow)
HEAVY = centred(lambda rng, shape: 0.03 * np.exp(rng.standard_normal(shape)))
CLOCK = centred(quantised)
UNSEEN: Mapping[str, tuple[Noise, Noise]] = {
    "Student's t, 3 df": (STUDENT, STUDENT),
    "Laplace": (LAPLACE, LAPLACE),
    "Weibull 1.5": (WEIBULL, WEIBULL),
    "Weibull 0.8": (SKEWED_WEIBULL, SKEWED_WEIBULL),
    "least time + exponential": (FLOOR, FLOOR),
    "Cauchy, cut at 30 %": (CAUCHY, CAUCHY),
    "clock of 2.5 %": (CLOCK, CLOCK),
    "1 in 15 fails": (RARE, RARE),
    "spread 1:3": (lognormal(0.02), lognormal(0.06)),
    "two schedules, shares differ": (
        centred(two_schedules(0.5, -0.02, 0.02)),
        centred(two_schedules(0.25, -0.01, 0.03)),
    ),
    "Weibull 1.5, normal": (WEIBULL, lognormal(0.02)),
    "1 in 15 fails, normal": (RARE, lognormal(0.02)),
}


def unseen_table(reports: int) -> str:
    """Lay out coverage, false differences and false equivalences of the defaults."""
    designs = ((5, 5), (10, 10), (20, 20), (5, 20), (20, 5))
    rows = []
    for name, pair in UNSEEN.items():
        shares = [_defaults(pair, n, m, reports) for n, m in designs]
        rows.append([name, *(" / ".join(f"{100 * share:.1f}" for share in cell) for cell in shares)])
    return table(["noise", *(f"{n}+{m}" for n, m in designs)], rows)


def _defaults(pair: tuple[Noise, Noise], n: int, m: int, reports: int) -> tuple[float, ...]:
    rng = np.random.default_rng([10, n, m])
    first, second = pair[0](rng, (reports * SHAPES, n)), pair[1](rng, (reports * SHAPES, m))
    samples = TwoSample.without_floor(first, second)
    some = [samples.rows(slice(start, start + SHAPES)) for start in range(0, 4000, SHAPES)]
    intervals = [intervals_of(report)[1] for report in some]
    held = float(np.mean([(one.low <= 1e-12) & (one.high >= -1e-12) for one in intervals]))
    different = _different(samples, rng)
    equivalent = _equivalent(TwoSample.without_floor(first + MARGIN, second), MARGIN, rng)
    return held, float(different.any(axis=1).mean()), float(equivalent.any(axis=1).mean())


def _different(samples: TwoSample, rng: np.random.Generator, certain: float = 0.0) -> Booleans:
    """Return which shapes both tests of a difference call, shape (reports, shapes).

    Permutation tests take long, and are only made where the other test leaves a chance. Where its p is as
    small as ``certain``, it replaces theirs.
    """
    p, welch = difference_p_values(samples, rng, certain)
    different: Booleans = (_corrected(p) <= ALPHA) & (_corrected(welch) <= ALPHA)
    return different & _allowed(samples, rng, _for_the_skewed_side)


def _for_the_skewed_side(test: OneSided, report: TwoSample) -> Array:
    faster, slower = misled(report)
    return test.difference_p(above=faster, below=slower)


def _allowed(
    samples: TwoSample, rng: np.random.Generator, test: Callable[[OneSided, TwoSample], Array]
) -> Booleans:
    """Return which shapes pass the test that a report makes if one side is more skewed than the other."""
    allowed = np.ones((len(samples) // SHAPES, SHAPES), dtype=bool)
    for number in range(len(allowed)):
        report = samples.rows(slice(number * SHAPES, (number + 1) * SHAPES))
        if any(misled(report)):
            allowed[number] = holm(test(resampled(report, rng=rng), report)) <= ALPHA
    return allowed


def difference_p_values(
    samples: TwoSample, rng: np.random.Generator, certain: float = 0.0, asked: Booleans | None = None
) -> tuple[Array, Array]:
    """Return the p-values of both tests of a difference; those that do not matter are 1."""
    confirming = confirming_p(samples)
    p = np.where(confirming <= certain, confirming, 1.0)
    near = (confirming > certain) & (confirming < 0.02) & (True if asked is None else asked)
    p[near] = permutation_test(samples.rows(near), rng=rng)
    return p, confirming


def _equivalent(samples: TwoSample, margin: float, rng: np.random.Generator) -> Booleans:
    """Return which shapes the test of equivalence calls, shape (reports, shapes)."""
    p = welch_tests(samples).equivalence_p(margin=margin)
    equivalent: Booleans = _corrected(p) <= ALPHA
    return equivalent & _allowed(samples, rng, lambda test, _: test.equivalence_p(margin=margin))


def _corrected(p: Array) -> Array:
    return np.array([holm(row) for row in p.reshape(-1, SHAPES)])


def both_kinds_table(reports: int) -> str:
    """Lay out false differences, false equivalences and either, where some shapes differ by the margin."""
    margins = (0.025, 0.03, 0.035)
    rows = []
    for differing in (5, 15, 24):
        shares = [_mixed(differing, margin, reports) for margin in margins]
        cells = (" / ".join(f"{100 * share:.1f}" for share in cell) for cell in shares)
        rows.append([f"{differing} of {SHAPES}", *cells])
    return table(["differ", *(f"margin {100 * margin:g} %" for margin in margins)], rows)


def _mixed(differing: int, margin: float, reports: int) -> tuple[float, float, float]:
    rng = np.random.default_rng([11, differing, round(1e4 * margin)])
    first, second = (rng.normal(0, 0.02, (reports * SHAPES, 20)) for _ in range(2))
    differs = np.arange(SHAPES) < differing
    first += math.log1p(margin) * np.tile(differs, reports)[:, np.newaxis]
    samples = TwoSample.without_floor(first, second)
    different = _different(samples, rng, certain=1e-4)
    equivalent = _equivalent(samples, math.log1p(margin), rng) & ~different
    wrong = (different & ~differs).any(axis=1), (equivalent & differs).any(axis=1)
    return float(wrong[0].mean()), float(wrong[1].mean()), float((wrong[0] | wrong[1]).mean())


def coarse_table(reports: int) -> str:
    """Lay out what a coarse timer does to reports of 10 shapes of 18 to 22 us, with boosts of up to 4 %."""
    rows = []
    cases = itertools.product((1.0, 0.5, 0.1), (0.003, 0.01, 0.03), (0.0,))
    for step, noise, timing in itertools.chain(cases, itertools.product((1.0, 0.5, 0.1), (0.003,), (0.03,))):
        counts = np.mean([_coarse(step, noise, timing, seed) for seed in range(reports)], axis=0)
        shares = (f"{100 * share:.1f}" for share in counts)
        repeats = f", 3 x 10 timings {100 * timing:g} %" if timing else ""
        rows.append([f"{step:g} us", f"{100 * noise:g} %{repeats}", *shares])
    alone, allowed = "intervals that miss, without allowance", "intervals that miss"
    return table(["step", "noise", alone, allowed, "false equivalences", "wrong directions"], rows)


def _coarse(step: float, noise: float, timing: float, seed: int) -> tuple[float, float, bool, bool]:
    """Return the shares of intervals that miss, and whether any equivalence or direction is false.

    The first share is of intervals without an allowance for the steps. With noise of the timings, each winner
    is timed ten times in three rounds.
    """
    rng = np.random.default_rng([13, seed])
    time, boosts = rng.uniform(18, 22, 10), rng.uniform(-0.04, 0.04, 10)
    sides = np.stack([time, time / np.exp(boosts)], axis=1)[:, :, np.newaxis]
    winners = (sides * np.exp(rng.normal(0, noise, (10, 2, 10))))[..., np.newaxis, np.newaxis]
    if timing:
        winners = winners * np.exp(rng.normal(0, timing, (10, 2, 10, 3, 10)))
    micros = np.round(winners / step) * step
    values, _ = seed_values(np.log(micros))
    alone = expanded_percentile(TwoSample.without_floor(*values.swapaxes(0, 1)), level=1 - ALPHA)
    shapes = [f"shape{number}" for number in range(10)]
    rows = analyze(make_dataset(1e-6 * micros, shapes=shapes, configs=["old", "new"])).comparisons
    pairs = list(zip(rows, boosts.tolist(), strict=True))
    missed = [not row.boost_low <= math.expm1(boost) <= row.boost_high for row, boost in pairs]
    directions = {Verdict.IMPROVED: -1, Verdict.REGRESSED: 1}
    return (
        1 - float(np.mean((alone.low <= boosts) & (boosts <= alone.high))),
        float(np.mean(missed)),
        any(row.verdict is Verdict.EQUIVALENT and abs(boost) > math.log(1.02) for row, boost in pairs),
        any(directions.get(row.verdict, 0) * boost > 0 for row, boost in pairs),
    )


def sessions_table(reports: int) -> str:
    """Lay out how often the overall intervals hold where the runs of a seed share a session."""
    rows = []
    for name, session, spread, slow in (
        ("none, equal boosts", 0.0, 0.0, 0.0),
        ("none, boosts spread by 5 %", 0.0, 0.05, 0.0),
        ("as large as the noise, equal boosts", 0.02, 0.0, 0.0),
        ("as large as the noise, boosts spread by 5 %", 0.02, 0.05, 0.0),
        ("1 seed in 10 of one side is 10 % slower", 0.0, 0.0, math.log(1.1)),
    ):
        shares = [_overall(session, spread, slow, n, reports) for n in (3, 5, 10, 20)]
        rows.append([name, *(f"{100 * these:.1f}, {100 * like:.1f}" for these, like in shares)])
    return table(["shared by the shapes of a seed", *(f"{n}+{n}" for n in (3, 5, 10, 20))], rows)


def _overall(session: float, spread: float, slow: float, n: int, reports: int) -> tuple[float, float]:
    """Return how often the intervals over these shapes and over shapes like these hold."""
    rng = np.random.default_rng([12, n, round(1e4 * spread)])
    kinds = {f"shape{index}": "GEMM" for index in range(SHAPES)}
    settings = Settings(baseline="old", candidate="new", level=1 - ALPHA)
    held = np.zeros(2)
    for _ in range(reports):
        boosts = rng.normal(0, spread, SHAPES)
        shared = session * rng.standard_normal((2, 1, n))
        if slow:
            shared[1] += slow * ((rng.random(n) < 0.1) - 0.1)
        values = rng.normal(0, 0.02, (2, SHAPES, n)) + shared
        values[0] += boosts[:, np.newaxis]
        sides = samples_of(values[0]), samples_of(values[1])
        result, _ = overall(sides, sides, kinds, settings)
        for index, (line, true) in enumerate(
            ((result.these_shapes, math.expm1(boosts.mean())), (result.shapes_like_these, 0.0))
        ):
            held[index] += line.boost_low <= true <= line.boost_high
    return float(held[0] / reports), float(held[1] / reports)


def gaps_table(reports: int) -> str:
    """Lay out how often the interval over these shapes holds where some shapes have fewer of 10 seeds."""
    rows = []
    for name, spread, few in (
        ("10 shapes, noise 2 %, all of them", (0.02,) * 10, 10),
        ("10 shapes, noise 2 %, half of them", (0.02,) * 10, 5),
        ("5 shapes, noise 2 %, one with 10 %", (0.1, *(0.02,) * 4), 1),
        ("5 shapes, noise 2 %, one with 20 %", (0.2, *(0.02,) * 4), 1),
    ):
        shares = [_over_gaps(np.array(spread), few, n, reports) for n in (2, 3, 5)]
        rows.append([name, *(f"{100 * share:.1f}" for share in shares)])
    return table(["shapes with fewer seeds", *(f"{n} of 10" for n in (2, 3, 5))], rows)


def _over_gaps(spread: Array, few: int, n: int, reports: int) -> float:
    """Return how often the interval of two equal sides includes zero; the first shapes have n of 10 seeds."""
    rng, held = np.random.default_rng([13, few, n]), 0
    for _ in range(reports):
        values = rng.normal(0, 1, (2, len(spread), 10)) * spread[:, np.newaxis]
        for row in values[:, :few].reshape(-1, 10):
            row[rng.permutation(10)[n:]] = np.nan
        held += _holds(TwoSample.without_floor(*values))
    return held / reports


def _holds(samples: TwoSample) -> bool:
    """Return whether the interval over these shapes includes zero."""
    difference = float(standard_error(samples).difference.mean())
    down, up = halves_over_seeds(samples, np.ones(len(samples), dtype=bool), 1 - ALPHA)
    return bool(-up <= difference <= down)


def skewed_mean_table(reports: int) -> str:
    """Lay out how often the interval over these shapes holds with skewed noise; in brackets, Welch's own."""
    normal = lognormal(0.02)
    designs = ((5, 10), (12, 4), (12, 8), (29, 5), (29, 10))
    rows = []
    for name, first, second in (
        ("normal, 2 %", normal, normal),
        ("one side fails 1 in 15", normal, RARE),
        ("both sides fail 1 in 15", RARE, RARE),
        ("one side exponential", normal, skewed(1, 0.04)),
        ("one side Weibull, shape 0.8", normal, SKEWED_WEIBULL),
        ("one side log-normal on logs", normal, HEAVY),
    ):
        cells = []
        for number, (shapes, n) in enumerate(designs):
            rng, held = np.random.default_rng([15, number]), np.zeros(2)
            weight = np.full(shapes, 1 / shapes)
            for _ in range(reports):
                values = first(rng, (shapes, n)), second(rng, (shapes, n))
                welch = half_width([clustered_variance(side, weight) for side in values], 1 - ALPHA)
                apart = abs(values[0].mean() - values[1].mean())
                held += _holds(TwoSample.without_floor(*values)), apart <= welch
            cells.append("{:.1f} ({:.1f})".format(*(100 * held / reports)))
        rows.append([name, *cells])
    return table(["noise", *(f"{shapes} shapes, {n}+{n}" for shapes, n in designs)], rows)


def few_table(reports: int) -> str:
    """Lay out how often the intervals hold where one side has few seeds and the other many."""
    designs = ((2, 4), (2, 6), (2, 12), (2, 40), (3, 6), (3, 12), (3, 30), (4, 20))
    rows = []
    for name, few, many in (("alike", 1, 1), ("4:1, more where few", 4, 1), ("1:4, more where many", 1, 4)):
        shares = [_few_against_many(n, m, 0.02 * few, 0.02 * many, reports) for n, m in designs]
        rows.append([name, *(f"{100 * one:.1f}, {100 * these:.1f}" for one, these in shares)])
    return table(["spread", *(f"{n}+{m}" for n, m in designs)], rows)


def _few_against_many(n: int, m: int, few: float, many: float, reports: int) -> tuple[float, float]:
    """Return how often the interval of a shape, and the one over six shapes, include zero."""
    rng, shapes, these = np.random.default_rng([14, n, m]), 6, 0
    sides = rng.normal(0, few, (reports, shapes, n)), rng.normal(0, many, (reports, shapes, m))
    flat = [side.reshape(-1, side.shape[2]) for side in sides]
    interval = expanded_percentile(TwoSample.without_floor(*flat), level=1 - ALPHA)
    for first, second in zip(*sides, strict=True):
        these += _holds(TwoSample.without_floor(first, second))
    return float(np.mean((interval.low <= 0) & (interval.high >= 0))), these / reports


def samples_of(value: Array) -> Samples:
    """Make one side whose winners were timed once."""
    shapes, n = value.shape
    none = np.zeros(shapes, dtype=np.int64)
    return Samples(
        config="side",
        value=value,
        n=np.full(shapes, n),
        latency=np.exp(value.mean(axis=1)),
        noise=value.std(axis=1, ddof=1),
        floor=np.full(shapes, np.nan),
        rounding=np.zeros(shapes),
        failed=none,
        missing=none,
        untimed=none,
        unpaired=none,
        failed_pairs=none,
    )
