"""How often the claims over shapes say too much, by simulation: for calibrate_methods.py."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from unittest import mock

import made_up_noise  # noqa: F401 (finds the modules beside the tests)
import numpy as np
from compare_builders import make_sweep
from noise_kinds import Array, Noise, bimodal, lognormal, skewed
from simulated_reports import ALPHA, SHAPES, intervals_of, table
from simulated_skew import failing, in_halves
from transfer_builders import with_transfers

import abtune
from abtune.compare import claims
from abtune.compare.results import Analysis, Verdict
from abtune.sections.same_schedule.same_schedule import Reading, describe_same_schedule
from abtune.stats.across_shapes import at_least
from abtune.stats.testing import common_noise
from abtune.stats.testing.significance import resampled
from abtune.stats.two_sample import TwoSample

TOLERANCE = 0.05
PAIRS: Mapping[str, tuple[Noise, Noise]] = {
    "normal 10 %": (lognormal(0.1), lognormal(0.1)),
    "spreads 4:1": (lognormal(0.12), lognormal(0.03)),
    "skewed candidate": (lognormal(0.05), skewed(1, 0.1)),
    "skewed baseline": (skewed(1, 0.1), lognormal(0.05)),
    "skewed candidate or baseline": in_halves(lognormal(0.05), skewed(1, 0.1)),
    "one in five 30 % slower, candidate or baseline": in_halves(lognormal(0.02), failing(1 / 5)),
    "one in 15 30 % slower, candidate": (lognormal(0.02), failing(1 / 15)),
    "one in five is 10 % slower": (bimodal, bimodal),
    "sessions share half of the variance": (lognormal(0.07), lognormal(0.07)),
    "sessions slow half of the shapes, and speed up half": (lognormal(0.07), lognormal(0.07)),
    "sessions, taken as independent": (lognormal(0.07), lognormal(0.07)),
}
HEADS = ("faster", "slower", "not slower, count", "not slower, verdict", "worst shape")


def two_modes(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return noise with two equally likely modes."""
    return 0.3 * rng.integers(0, 2, shape) + rng.normal(0, 0.01, shape)


def alike(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return noise of 10 % whose neighbouring seeds are correlated by 0.8."""
    noise = rng.normal(0, 0.1, shape)
    for seed in range(1, shape[-1]):
        noise[..., seed] = 0.8 * noise[..., seed - 1] + 0.6 * noise[..., seed]
    return noise


def copied(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return noise of 10 % in which the second half of the seeds repeats the first."""
    noise, half = rng.normal(0, 0.1, shape), (shape[-1] + 1) // 2
    noise[..., half:] = noise[..., : shape[-1] - half]
    return noise


def slow_runs_fail(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return noise of 10 %, without the slowest tenth of the runs of the second side."""
    noise = rng.normal(0, 0.1, shape)
    noise[:, 1][noise[:, 1] > 0.128] = np.nan
    return noise


def few_seeds_table(reports: int) -> str:
    """Lay out how often counts of shapes err with few seeds, where nothing differs."""
    kinds = {
        "normal 10 %": lognormal(0.1),
        "two modes": two_modes,
        "neighbours alike": alike,
        "half of the seeds are copies": copied,
        "the slowest tenth of one side fails": slow_runs_fail,
    }
    sizes, rows = (2, 3, 4, 5, 10), []
    for name, noise in kinds.items():
        row = [name]
        for n in sizes:
            rng = np.random.default_rng([18, n])
            wrong = sum(_counts_some(noise(rng, (SHAPES, 2, n))) for _ in range(reports))
            row.append(f"{100 * wrong / reports:.0f}")
        rows.append(row)
    return table(["noise", *(f"{n}+{n}" for n in sizes)], rows)


def _counts_some(logs: Array) -> bool:
    analysis = _analysis(logs, "independent")
    return any(_claimed(analysis, name, 0.0) for name in ("faster", "slower"))


def some_share_table(reports: int) -> str:
    """Lay out how often counts err if sessions make half of the noise of some shapes, and the others gain."""
    rows = []
    for some in (5, 10, 15):
        row = [f"{some} of {SHAPES}"]
        for n in (5, 10, 20):
            rng, wrong = np.random.default_rng([51, some, n]), np.zeros(2)
            for _ in range(reports):
                logs = rng.normal(0, 0.07, (SHAPES, 2, n))
                logs[:some] += rng.normal(0, 0.07, (2, n))
                logs[some:, 1] -= np.log(1.5)
                for index, count in enumerate((_one_for_all, at_least)):
                    with mock.patch.object(claims, "at_least", count):
                        counted = _claimed(_analysis(logs, "independent"), "faster", 0.0)
                    wrong[index] += counted > SHAPES - some
            row.append(" / ".join(f"{100 * share / reports:.1f}" for share in wrong))
        rows.append(row)
    return table(["share", *(f"{n}+{n}" for n in (5, 10, 20))], rows)


def _one_for_all(p: Array, *, correlation: Array, alpha: float) -> int:
    """Return the count with the correlation of two of all shapes, whichever count."""
    return at_least(p, correlation=float(correlation[-1]), alpha=alpha)


def of_shapes(
    low: float, high: float, *, noisiest: float = 0.0, slow_run: float = 0.0, fails: bool = False
) -> Noise:
    """Return normal noise whose spread differs by shape; 1 run of the candidate in 15 may be 30 % slower.

    ``noisiest`` is the spread of the last shape, and ``slow_run`` slows its first run, log scale.
    """

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        spreads = np.exp(rng.uniform(math.log(low), math.log(high), (shape[0], 1, 1)))
        spreads[-1] = noisiest or spreads[-1]
        logs: Array = spreads * rng.normal(size=shape)
        logs[:, 1] += failing(1 / 15, 0)(rng, logs[:, 1].shape) if fails else 0.0
        logs[-1, 1, 0] += slow_run
        return logs

    return draw


OF_SHAPES: Mapping[str, Noise] = {
    "0.5 to 10 %": of_shapes(0.005, 0.1),
    "2 %, one shape 100 %": of_shapes(0.02, 0.02, noisiest=1.0),
    "2 %, one run 10 times slower": of_shapes(0.02, 0.02, slow_run=math.log(10)),
    "2 %, one in 15 30 % slower": of_shapes(0.02, 0.02, fails=True),
    "0.5 to 10 %, one in 15 30 % slower": of_shapes(0.005, 0.1, fails=True),
    "0.3 %, one in 15 30 % slower": of_shapes(0.003, 0.003, fails=True),
    "the same, 5 shapes": of_shapes(0.003, 0.003, fails=True),
}
ADDED = ((), (0.02,), (0.5,), (0.02, 0.5))


def common_noise_table(reports: int) -> str:
    """Lay out false counts and true ones by the error added to the noise of all shapes, and intervals."""
    rows = []
    for (name, noise), n in itertools.product(OF_SHAPES.items(), (5, 10)):
        rng, counts = np.random.default_rng([57, n]), np.zeros((2, len(ADDED) + 1))
        held, width = np.zeros(2), np.zeros(2)
        for _ in range(reports):
            same = noise(rng, (5 if name.endswith("5 shapes") else SHAPES, 2, n))
            intervals = intervals_of(TwoSample.without_floor(same[:, 0], same[:, 1]))
            held += [np.mean((one.low <= 0) & (one.high >= 0)) for one in intervals]
            widths = [np.mean(one.high - one.low) for one in intervals]
            width, hidden = width + widths, widths[1] > widths[0]  # of gains, too
            gains = same.copy()
            gains[: math.ceil(len(gains) / 3), 1] -= np.log(1.1)
            false, true = (list(_by_added(logs, hidden=hidden)) for logs in (same, gains))
            counts += np.array([[count > 0 for count in false], true])
        cells = (f"{100 * false / reports:.0f} / {true / reports:.1f}" for false, true in counts.T)
        alone, known = (f"{100 * share / reports:.1f}" for share in held)
        rows.append([f"{name}, {n}+{n}", *cells, f"{alone}, {known} ({width[1] / width[0]:.2f})"])
    heads = (" and ".join(f"{share:g}" for share in added) for added in ADDED[1:])
    return table(["noise", "without", *heads, "abtune", "intervals"], rows)


def hidden_runs_table(reports: int) -> str:
    """Lay out how many intervals of two to four shapes hold, alone and with the noise of all shapes."""
    kinds = {"2 %": lognormal(0.02), "exponential": skewed(1, 0.04), "0.5 to 10 %": OF_SHAPES["0.5 to 10 %"]}
    kinds |= {name: noise for name, noise in OF_SHAPES.items() if "one in 15" in name}
    sizes, rows = ((2, 20), (3, 14), (4, 10), (4, 20)), []
    for name, noise in kinds.items():
        row = [name]
        for shapes, n in sizes:
            rng, held, width, moved = np.random.default_rng([58, shapes, n]), np.zeros(2), np.zeros(2), 0
            for _ in range(reports):
                logs = noise(rng, (shapes, 2, n))
                alone, known = intervals_of(TwoSample.without_floor(logs[:, 0], logs[:, 1]))
                held += [np.mean((one.low <= 0) & (one.high >= 0)) for one in (alone, known)]
                width += [np.mean(one.high - one.low) for one in (alone, known)]
                moved += bool(((known.low < alone.low) | (known.high > alone.high)).any())
            first, second = (f"{100 * share / reports:.1f}" for share in held)
            row.append(f"{first}, {second} ({width[1] / width[0]:.2f}), {100 * moved / reports:.0f}")
        rows.append(row)
    return table(["noise", *(f"{shapes} shapes, {n}+{n}" for shapes, n in sizes)], rows)


def _by_added(logs: Array, *, hidden: bool) -> Iterator[int]:
    """Yield how many shapes count as faster: without the noise of all shapes, by added error, by abtune."""
    samples = TwoSample.without_floor(logs[:, 0], logs[:, 1])
    tests = resampled(samples, rng=np.random.default_rng(0))
    for added in ADDED:
        with mock.patch.object(common_noise, "_ADDED", added):
            noise = common_noise.common_noise(samples, rng=np.random.default_rng(0))
        yield at_least(replace(tests, common=noise).p_above(0.0), correlation=0.0, alpha=ALPHA)
    noise = tuple(one.doubted() for one in noise) if hidden else noise
    yield at_least(replace(tests, common=noise).p_above(0.0), correlation=0.0, alpha=ALPHA)


# How often a schedule loses, and how much; the others gain so that the mean is zero.
LOSSES = {"half lose 10 %": (0.5, 0.1), "1 in 5 loses 15 %": (0.2, 0.16), "1 in 10 loses 16 %": (0.1, 0.18)}


def same_schedule_table(reports: int) -> str:
    """Lay out how often the code of same schedules is called faster, where its mean effect is zero."""
    numbers, rows = (2, 3, 5, 10), []
    kinds = {"normal 10 %": (0.0, 0.0), **LOSSES}
    for shapes, (name, (often, loss)) in itertools.product((SHAPES, 5), kinds.items()):
        row = [f"{name}{'' if shapes == SHAPES else f', {shapes} shapes'}"]
        for n in numbers:
            rng, analysis = np.random.default_rng([19, n]), _sweep_of(shapes, n)
            wrong = np.zeros(3)
            for _ in range(reports):
                effects = rng.normal(0, 0.003 if often else 0.1, (shapes, n))
                effects += np.where(rng.random(effects.shape) < often, -loss, loss * often / (1 - often))
                dataset = with_transfers(analysis.dataset, effects.tolist(), [["does not fit"] * n] * shapes)
                same = describe_same_schedule(replace(analysis, dataset=dataset))
                named = any(one.reading is Reading.FASTER for one in same.shapes)
                wrong += [named, same.claims[0].at_least > 0, same.of_baseline.low > 0]
            row.append(" / ".join(f"{100 * count / reports:.0f}" for count in wrong))
        rows.append(row)
    return table(["schedules", *map(str, numbers)], rows)


def _sweep_of(shapes: int, seeds: int) -> Analysis:
    return abtune.analyze(make_sweep([0.0] * shapes, n=seeds, rounds=2, timing_noise=0.001))


ALIKE = {"normal 10 %": lognormal(0.1), "exponential": skewed(1, 0.1)}


def unequal_table(reports: int) -> str:
    """Lay out how often counts of 10 shapes err if the candidate has fewer seeds than the baseline."""
    designs, rows = ((10, 10), (20, 10), (40, 10), (80, 20)), []
    for name, noise in ALIKE.items():
        row = [name]
        for n, m in designs:
            rng, wrong = np.random.default_rng([45, n, m]), np.zeros(3)
            for _ in range(reports):
                same = noise(rng, (10, 2, n))
                same[:, 1, m:] = np.nan
                limit = same + np.array([0.0, -np.log1p(-TOLERANCE)])[:, np.newaxis]
                report = _analysis(same, "independent")
                wrong[:2] += [_claimed(report, side, 0.0) > 0 for side in ("faster", "slower")]
                wrong[2] += _claimed(_analysis(limit, "independent"), "not slower", TOLERANCE) > 0
            row.append(" / ".join(f"{100 * count / reports:.1f}" for count in wrong))
        rows.append(row)
    return table(["noise", *(f"{n}+{m}" for n, m in designs)], rows)


OF_PAIRS = ("normal 10 %", "skewed candidate", "sessions share half of the variance")


def pair_claims_table(reports: int) -> str:
    """Lay out the same for pairs, whose runs share a part as large as the noise of a side."""
    return claims_table(reports, OF_PAIRS, "shared")


def claims_table(reports: int, names: Sequence[str] = tuple(PAIRS), design: str = "independent") -> str:
    """Lay out how many reports make a false claim of each kind."""
    rows = []
    for name in names:
        pair, row = PAIRS[name], [name]
        for n in (5, 10, 20):
            rng = np.random.default_rng([17, n])
            wrong = np.zeros(len(HEADS))
            count = _independent if name.endswith("independent") else at_least
            with mock.patch.object(claims, "at_least", count):
                for _ in range(reports):
                    wrong += _wrong(pair, n, rng, design, shared=_of_session(name))
            row.append(" / ".join(f"{100 * share / reports:.1f}" for share in wrong))
        rows.append(row)
    return table(["noise", *(f"{n}" if design == "shared" else f"{n}+{n}" for n in (5, 10, 20))], rows)


def gates_table(reports: int) -> str:
    """Lay out how often each gate of ``--fail-on`` errs, in either direction."""
    rows = []
    for name in ("normal 10 %", "spreads 4:1", "skewed candidate", "one in five is 10 % slower"):
        row = [name]
        for n in (10, 20):
            rng = np.random.default_rng([29, n])
            wrong = np.sum([_gates(PAIRS[name], n, rng) for _ in range(reports)], axis=0)
            row += [f"{100 * share / reports:.1f}" for share in wrong]
        rows.append(row)
    gates = ("`regressed` stops, no shape differs", "`slower-than:5%` passes, one shape loses 5 %")
    return table(["noise", *(f"{gate}, {n}+{n}" for n in (10, 20) for gate in gates)], rows)


def _gates(pair: tuple[Noise, Noise], n: int, rng: np.random.Generator) -> list[bool]:
    """Return whether each gate errs; where one shape is slower, the others are 10 % faster."""
    logs = np.stack([noise(rng, (SHAPES, n)) for noise in pair], axis=1)
    changed = logs.copy()
    changed[0, 1] -= np.log1p(-TOLERANCE)
    changed[1:, 1] -= np.log(1.1)
    same, one_slower = _analysis(logs, "independent"), _analysis(changed, "independent")
    assert one_slower.worst is not None  # noqa: S101 - every shape has seeds
    return [
        any(row.verdict is Verdict.REGRESSED for row in same.comparisons),
        one_slower.worst.boost_low >= -TOLERANCE,
    ]


def not_slower_table(reports: int) -> str:
    """Lay out how often a verdict *not slower* is false: some shapes lose 5 %, the others gain 10 %."""
    return _some_lose(TOLERANCE, _calls_not_slower, reports)


def at_least_table(reports: int) -> str:
    """Lay out how often some *at least %* is above its boost: some shapes lose 2 %, the others gain 10 %."""
    return _some_lose(0.02, _bound_too_high, reports)


def _calls_not_slower(boosts: Array, analysis: Analysis) -> bool:
    rows = zip(boosts, analysis.comparisons, strict=True)
    return any(boost < 0 and row.verdict is Verdict.NOT_SLOWER for boost, row in rows)


def _bound_too_high(boosts: Array, analysis: Analysis) -> bool:
    rows = zip(boosts, analysis.comparisons, strict=True)
    return any(row.boost_at_least > boost for boost, row in rows)


def _some_lose(loss: float, errs: Callable[[Array, Analysis], bool], reports: int) -> str:
    """Lay out how often reports err if 1, 3 and 10 shapes lose a fraction, and the others gain 10 %."""
    counts, rows = (1, 3, 10), []
    for name in ("normal 10 %", "spreads 4:1", "one in five is 10 % slower", *OF_PAIRS[1:]):
        row = [name]
        for n in (5, 10, 20):
            rng = np.random.default_rng([43, n])
            wrong = np.zeros(len(counts))
            for _ in range(reports):
                for index, lose in enumerate(counts):
                    boosts = np.where(np.arange(SHAPES) < lose, -loss, 0.1)
                    wrong[index] += errs(boosts, _with_boosts(boosts, PAIRS[name], n, rng, name))
            row.append(" / ".join(f"{100 * share / reports:.1f}" for share in wrong))
        rows.append(row)
    return table(["noise", *(f"{n}+{n}" for n in (5, 10, 20))], rows)


def _with_boosts(
    boosts: Array, pair: tuple[Noise, Noise], n: int, rng: np.random.Generator, name: str
) -> Analysis:
    logs = np.stack([noise(rng, (SHAPES, n)) for noise in pair], axis=1)
    if name.startswith("sessions"):
        logs = logs + rng.normal(0, 0.07, (1, 2, n))
    logs[:, 1] -= np.log1p(boosts)[:, np.newaxis]
    return _analysis(logs, "independent")


def _independent(p: Array, *, correlation: float, alpha: float) -> int:  # noqa: ARG001 - it is ignored
    return at_least(p, correlation=0.0, alpha=alpha)


def _of_session(name: str) -> Array:
    """Return how much of the error of a session each shape has, by the name of the noise."""
    shared = np.full(SHAPES, float(name.startswith("sessions")))
    if "half of the shapes" in name:
        shared[SHAPES // 2 :] *= -1
    return shared


def _wrong(
    pair: tuple[Noise, Noise], n: int, rng: np.random.Generator, design: str, *, shared: Array
) -> list[bool]:
    """Return which claims are false where nothing differs, or where every shape is at the tolerance."""
    logs = np.stack([noise(rng, (SHAPES, n)) for noise in pair], axis=1)
    if shared.any():
        logs = logs + shared[:, np.newaxis, np.newaxis] * rng.normal(0, 0.07, (1, 2, n))
    if design == "shared":
        logs = logs + rng.normal(0, 0.1, (SHAPES, 1, n))
    slower = logs + np.array([0.0, -np.log1p(-TOLERANCE)])[:, np.newaxis]
    same, limit = _analysis(logs, design), _analysis(slower, design)
    assert same.worst is not None  # noqa: S101 - every shape has seeds
    return [
        _claimed(same, "faster", 0.0) > 0,
        _claimed(same, "slower", 0.0) > 0,
        _claimed(limit, "not slower", TOLERANCE) > 0,
        any(row.verdict is Verdict.NOT_SLOWER for row in limit.comparisons),
        same.worst.boost_low > 0,
    ]


def _analysis(logs: Array, design: str) -> Analysis:
    seconds = np.exp(logs - 8)[..., np.newaxis, np.newaxis]
    labels = [f"s{number}" for number in range(len(logs))]
    dataset = abtune.make_dataset(seconds, shapes=labels, configs=["a", "b"], design=design)
    return abtune.analyze(dataset, level=1 - ALPHA, tolerance=TOLERANCE)


def _claimed(analysis: Analysis, name: str, beyond: float) -> int:
    claims = (claim for claim in analysis.claims if (claim.claim, claim.beyond) == (name, beyond))
    return next(claim.at_least for claim in claims if claim.workload is None)
