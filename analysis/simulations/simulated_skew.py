"""How often a difference is false where one side is skewed, or has two modes: for calibrate_methods.py."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from unittest import mock

import made_up_noise  # noqa: F401 (finds the modules beside the tests)
import numpy as np
from noise_kinds import Array, Noise, bimodal, lognormal, skewed
from simulated_pairs import KINDS
from simulated_reports import SHAPES, table

import abtune
from abtune.compare import statistics
from abtune.compare.results import Comparison, Rule, Verdict, first_failed

MARGIN = 0.08


def failing(share: float, spread: float = 0.02) -> Noise:
    """Return normal noise in which a share of the searches is 30 % slower; its mean is zero."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        failed: Array = np.log(1.3) * ((rng.random(shape) < share) - share)
        return failed + rng.normal(0, spread, shape)

    return draw


def in_halves(one: Noise, other: Noise) -> tuple[Noise, Noise]:
    """Return noise of two sides that exchange their roles in half of the shapes."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...], first: Noise, second: Noise) -> Array:
        half = shape[0] // 2
        return np.concatenate([first(rng, (half, *shape[1:])), second(rng, (shape[0] - half, *shape[1:]))])

    return partial(draw, first=one, second=other), partial(draw, first=other, second=one)


def in_one_of_ten(one: Noise, other: Noise) -> Noise:
    """Return noise that is of another kind in the first shape, and in every tenth after it."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        drawn = one(rng, shape)
        drawn[::10] = other(rng, drawn[::10].shape)
        return drawn

    return draw


def with_own_spreads(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return exponential noise whose spread is another in each shape, from 2 to 22 %."""
    return (rng.exponential(1, shape) - 1) * np.exp(rng.uniform(-4, -1.5, (shape[0], 1)))


PAIRS: Mapping[str, tuple[Noise, Noise]] = {
    "normal, both": (lognormal(0.1), lognormal(0.1)),
    "exponential, both": (skewed(1, 0.1), skewed(1, 0.1)),
    "one in five 10 % slower, both": (bimodal, bimodal),
    "exponential, both, spread 4:1": (skewed(1, 0.08), skewed(1, 0.02)),
    "exponential, both, spreads of 2 to 22 %": (with_own_spreads, with_own_spreads),
    "exponential against normal": (lognormal(0.05), skewed(1, 0.1)),
    "one in five 10 % slower against normal": (lognormal(0.04), bimodal),
    "one in five 30 % slower against normal": (lognormal(0.02), failing(1 / 5)),
    "one in 15 30 % slower against normal": (lognormal(0.02), failing(1 / 15)),
    "one in 15 30 % slower against normal, noise 0.2 %": (lognormal(0.002), failing(1 / 15, 0.002)),
    "one in five 30 % slower against normal, in 1 of 10 shapes": (
        lognormal(0.02),
        in_one_of_ten(lognormal(0.02), failing(1 / 5)),
    ),
    "exponential against normal, or the reverse": in_halves(lognormal(0.05), skewed(1, 0.1)),
    "one in five 30 % slower against normal, or the reverse": in_halves(lognormal(0.02), failing(1 / 5)),
}

# The seeds of the baseline agree exactly.
WITHOUT_NOISE: Mapping[str, tuple[Noise, Noise]] = {
    "exponential against a constant": (lognormal(0), skewed(1, 0.1)),
    "one in five 30 % slower, no other noise": (lognormal(0), failing(1 / 5, 0)),
}


DESIGNS = ((SHAPES, 10), (SHAPES, 20), (10, 10), (3, 10))  # shapes, seeds of a side


def skew_table(reports: int) -> str:
    """Lay out false differences without and with the bootstrap-t test, false equivalences, and finds."""
    rows = []
    for name, pair in PAIRS.items():
        row = [name]
        for shapes, n in DESIGNS:
            rng = np.random.default_rng([31, shapes, n])
            *false, power = np.mean([_report(pair, shapes, n, rng) for _ in range(reports)], axis=0)
            row.append(" / ".join([*(f"{100 * share:.1f}" for share in false), f"{power:.1f}"]))
        rows.append(row)
    heads = (f"{shapes} shapes, {n}+{n}" for shapes, n in DESIGNS)
    return table(["noise", *heads], rows)


def _both_miss(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return pairs whose sides miss the best schedule in 1 of 5 searches; the candidate then loses more."""
    missed = rng.exponential(1, (2, *shape)) * (rng.random((2, *shape)) < 0.2) - 0.2
    spreads = np.exp(rng.uniform(-np.log(2), np.log(2), (shape[0], 1)))
    drawn: Array = spreads * np.array([0.1, 0.2])[:, np.newaxis, np.newaxis] * missed
    return drawn + rng.normal(0, 0.003, drawn.shape)


def pair_skew_table(reports: int) -> str:
    """Lay out false differences of pairs without and with the test, and finds of ten boosts of 15 %."""
    names = ("correlation 0.5", "candidate skewed, correlation 0.5", "candidate misses 1 in 5")
    kinds = {name: KINDS[name] for name in names}
    kinds["both miss 1 in 5, the candidate loses twice as much"] = _both_miss
    rows = []
    for name, draw in kinds.items():
        row = [name]
        for n in (6, 8, 12, 20):
            rng = np.random.default_rng([32, n])
            shares = np.mean([_pair_report(draw(rng, (SHAPES, n))) for _ in range(reports)], axis=0)
            row.append(f"{100 * shares[0]:.1f} / {100 * shares[1]:.1f} / {shares[2]:.1f}")
        rows.append(row)
    return table(["noise", "6 pairs", "8 pairs", "12 pairs", "20 pairs"], rows)


def skew_direction_table(reports: int) -> str:
    """Lay out differences found for and against the skewed side, false ones first, then true ones of 9."""
    rows = []
    against_normal = {name: pair for name, pair in PAIRS.items() if name.endswith("against normal")}
    for name, pair in (against_normal | dict(WITHOUT_NOISE)).items():
        rng = np.random.default_rng([33, 10])
        logs = (np.stack([noise(rng, (SHAPES, 10)) for noise in pair], axis=1) for _ in range(reports))
        rows.append([name, *_directions(logs, "independent")])
    for name in ("candidate skewed, correlation 0.5", "candidate misses 1 in 5"):
        rng = np.random.default_rng([33, 12])
        logs = (np.stack(list(KINDS[name](rng, (SHAPES, 12))), axis=1) for _ in range(reports))
        rows.append([f"pairs: {name}", *_directions(logs, "shared")])
    return table(["noise", "for it, false", "against it, false", "for it, found", "against it, found"], rows)


def two_schedules(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return noise of searches that end at one of two schedules, half of them 22 % slower."""
    drawn: Array = rng.choice((-0.1, 0.1), shape) + rng.normal(0, 0.01, shape)
    return drawn


MODES: Mapping[str, tuple[Noise, Noise]] = {
    "two modes against normal": (lognormal(0.05), two_schedules),
    "two modes, both": (two_schedules, two_schedules),
}
MODE_DESIGNS = ((SHAPES, 7), (SHAPES, 10), (12, 6), (3, 5))


def modes_table(reports: int) -> str:
    """Lay out false differences without and with the noise of all shapes, and finds without and with it."""
    rows = []
    for name, pair in MODES.items():
        row = [name]
        for shapes, n in MODE_DESIGNS:
            rng = np.random.default_rng([47, n])
            *false, one, two = np.mean([_modes_report(pair, shapes, n, rng) for _ in range(reports)], axis=0)
            row.append(" / ".join([*(f"{100 * share:.0f}" for share in false), f"{one:.1f}", f"{two:.1f}"]))
        rows.append(row)
    return table(["noise", *(f"{shapes} shapes, {n}+{n}" for shapes, n in MODE_DESIGNS)], rows)


def _modes_report(pair: tuple[Noise, Noise], shapes: int, n: int, rng: np.random.Generator) -> Array:
    logs = np.stack([noise(rng, (shapes, n)) for noise in pair], axis=1)
    changed, true = logs.copy(), shapes // 3
    changed[:true, 0] += 1.6 * np.sqrt(logs.var(axis=(0, 2)).sum()) * np.sqrt(10 / n)
    with mock.patch.object(statistics, "with_noise_of_all", lambda samples: samples):
        before = _rows(logs), _rows(changed)
    same, other = zip(before, (_rows(logs), _rows(changed)), strict=True)
    return np.array(
        [*(any(map(_differs, rows)) for rows in same), *(sum(map(_differs, rows[:true])) for rows in other)],
        dtype=float,
    )


def _directions(reports: Iterable[Array], design: str) -> Iterator[str]:
    """Yield percent of reports with a false difference each way, and true ones found each way, of 9."""
    counts = []
    for logs in reports:
        gain = 1.6 * np.sqrt(logs.var(axis=(0, 2)).sum())
        shifted = [logs.copy(), logs.copy()]
        shifted[0][:9, 0] += gain  # the candidate is the skewed side
        shifted[1][:9, 0] -= gain
        powers = [sum(map(_differs, _rows(values, design)[:9])) for values in shifted]
        called = [row.boost > 0 for row in _rows(logs, design) if _differs(row)]
        counts.append([any(called), not all(called), *powers])
    *false, gains, losses = np.mean(counts, axis=0)
    yield from (*(f"{100 * share:.1f}" for share in false), f"{gains:.1f}", f"{losses:.1f}")


def _pair_report(sides: Array) -> Array:
    """Return which differences are false, without and with the test, and the number of true ones."""
    logs = np.stack(list(sides), axis=1)
    changed = logs.copy()
    changed[:10, 0] += np.log(1.15)
    same, other = (_rows(values, design="shared") for values in (logs, changed))
    return np.array(
        [any(map(_without_the_test, same)), any(map(_differs, same)), sum(map(_differs, other[:10]))],
        dtype=float,
    )


def _report(pair: tuple[Noise, Noise], shapes: int, n: int, rng: np.random.Generator) -> Array:
    """Return which claims are false, differences without and with the test, and the number of true ones."""
    logs = np.stack([noise(rng, (shapes, n)) for noise in pair], axis=1)
    changed, true = logs.copy(), shapes // 3
    changed[:true, 0] += 1.6 * np.sqrt(logs.var(axis=(0, 2)).sum()) * np.sqrt(10 / n)
    margin = logs + np.array([np.log1p(MARGIN), 0.0])[:, np.newaxis]
    same, equal, other = (_rows(values) for values in (logs, margin, changed))
    return np.array(
        [
            any(map(_without_the_test, same)),
            any(map(_differs, same)),
            any(row.verdict is Verdict.EQUIVALENT for row in equal),
            sum(map(_differs, other[:true])),
        ],
        dtype=float,
    )


def _rows(logs: Array, design: str = "independent") -> tuple[Comparison, ...]:
    labels = [f"s{number}" for number in range(len(logs))]
    dataset = abtune.make_dataset(np.exp(logs - 8), shapes=labels, configs=["a", "b"], design=design)
    return abtune.analyze(dataset, margin=MARGIN).comparisons


def _differs(row: Comparison) -> bool:
    return row.verdict in {Verdict.IMPROVED, Verdict.REGRESSED}


def _without_the_test(row: Comparison) -> bool:
    others = [gate for gate in row.gates if "bootstrap-t" not in gate.asks]
    return first_failed(others, Rule.ANY) is None and first_failed(others, Rule.DIFFERENCE) is None
