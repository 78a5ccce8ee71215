"""Print why the variances of all shapes confirm a difference, and how sure their agreement has to be.

Reports without any difference, and reports in which each third shape differs by 4.5 standard errors. Percent
of reports with a false difference, then true differences found per report. A difference must pass the
permutation test and a Welch test, each with Holm. *own*: Welch's with the variances of each shape alone. *as
est.*: moderated, with the degrees of freedom that the agreement of the shapes suggests, from three shapes on.
*limit*: the default, with an 85 % lower limit of them, from five shapes on. The standard error of 5 % is 0.7
points.

Then the same of ``abtune compare``, which has no permutation test: with the variances of each shape, and as
it is. In each third shape the boost, or the latency, changes by 5 standard errors. The tolerance is as large,
and a shape that changes by it must not be *unchanged*. *lone*: percent of readings that call the first shape
changed, though only all others change. The standard error of 5 % is 1.5 points.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from unittest import mock

import made_up_noise  # noqa: F401 (finds the modules beside the tests)
import numpy as np
from noise_kinds import Array, Noise, lognormal, skewed
from simulated_claims import two_modes
from simulated_reports import ALPHA, confirming_p

from abtune.compare.settings import Settings
from abtune.sections.change.change_statistics import confirmed_holm, log_changes, with_each_sign
from abtune.stats.testing import significance
from abtune.stats.testing.step_procedures import holm
from abtune.stats.two_sample import TwoSample

REPORTS = 1000
# The spreads of the shapes, on both sides; a second side of 0.1 has hardly any noise beside the first.
CASES: Mapping[str, tuple[str, float]] = {
    "equal noise": ("equal", 1.0),
    "10:1": ("equal", 0.1),
    "1:4": ("equal", 4.0),
    "one shape 3:1, 10:1": ("one", 0.1),
    "half of the shapes 2:1, 10:1": ("half", 0.1),
    "lognormal spreads, 10:1": ("lognormal", 0.1),
}
DESIGNS = (
    (29, 8, 8),
    (29, 5, 10),
    (29, 4, 12),
    (10, 8, 8),
    (5, 8, 8),
    (5, 4, 12),
    (5, 3, 8),
    (3, 4, 12),
    (3, 2, 12),
)
READINGS = 200
# Noise of both sides of both datasets, the spreads of the shapes, and the spread of the second side; if
# latencies are compared, of the first dataset.
CHANGES: Mapping[str, tuple[Noise, str, float]] = {
    "equal noise": (lognormal(1.0), "equal", 1.0),
    "10:1": (lognormal(1.0), "equal", 0.1),
    "one shape 3:1, 10:1": (lognormal(1.0), "one", 0.1),
    "lognormal spreads, 10:1": (lognormal(1.0), "lognormal", 0.1),
    "exponential": (skewed(1, 1.0), "equal", 1.0),
    "t with 3 degrees of freedom": (lambda rng, shape: rng.standard_t(3, shape), "equal", 1.0),
    "two modes": (two_modes, "equal", 1.0),
}
SIZES = ((29, 4), (29, 8), (5, 8))
SETTINGS = Settings(baseline="old", candidate="new")


def spreads(kind: str, shapes: int, rng: np.random.Generator, reports: int = REPORTS) -> Array:
    """Return the spread of each shape and report, shape (reports, shapes, 1)."""
    first = np.ones((reports, shapes, 1))
    if kind == "lognormal":
        first *= np.exp(rng.normal(0, 0.5, first.shape))
    first[:, : {"one": 1, "half": shapes // 2}.get(kind, 0)] *= 3 if kind == "one" else 2
    return first


def shares(case: tuple[str, float], shapes: int, n: int, m: int) -> tuple[Array, Array]:
    """Return percent of reports with a false difference, and true ones found, by test."""
    rng = np.random.default_rng([61, shapes, n, m])
    first = spreads(case[0], shapes, rng)
    one = first * rng.standard_normal((REPORTS, shapes, n))
    two = case[1] * rng.standard_normal((REPORTS, shapes, m))
    error = np.sqrt(first**2 / n + case[1] ** 2 / m)
    differs = np.arange(shapes) % 3 == 2
    false = called(one, two).any(axis=2)
    finds = called(one + 4.5 * error * differs[:, np.newaxis], two)[:, :, differs].sum(axis=2)
    return 100 * false.mean(axis=1), finds.mean(axis=1)


def called(one: Array, two: Array) -> Array:
    """Return which shapes both tests call different, shape (tests, reports, shapes)."""
    reports, shapes = one.shape[:2]
    samples = TwoSample.without_floor(one.reshape(-1, one.shape[2]), two.reshape(-1, two.shape[2]))
    with mock.patch.multiple(significance, _SURE=0.0, FEWEST_SHAPES=3):
        estimated = confirming_p(samples, shapes)
    own = significance.welch_tests(samples).difference_p()
    tests = [own, estimated, confirming_p(samples, shapes)]
    p, near = np.ones(len(samples)), np.min(tests, axis=0) < ALPHA
    p[near] = significance.permutation_test(samples.rows(near), rng=np.random.default_rng(0))
    corrected = [[holm(row) <= ALPHA for row in every.reshape(reports, shapes)] for every in (p, *tests)]
    return np.logical_and(corrected[0], corrected[1:])


def changes(case: tuple[Noise, str, float], shapes: int, n: int, sides: int) -> Array:
    """Return what readings of boosts or latencies say: a row a number, without and with moderation."""
    rng, third = np.random.default_rng([62, shapes, n, sides]), np.arange(shapes) % 3 == 2
    lone, counts = np.arange(shapes) > 0, []
    noise_spread = np.std(case[0](np.random.default_rng(0), (100_000,)))
    for _ in range(READINGS):
        first = spreads(case[1], shapes, rng, 1)[0]
        scale = np.stack([first, np.full_like(first, case[2])], axis=1)
        before, after = (scale * case[0](rng, (shapes, 2, n)) for _ in range(2))
        error = noise_spread * np.sqrt(sides * (scale**2).sum(axis=(1, 2)) / n)
        least = 5 * float(np.median(error))
        shifts = (0.0 * error, 5 * error * third, np.full(shapes, least), 20 * error * lone)
        same, some, limit, others = (reading(before, after, shift, least, sides) for shift in shifts)
        false = [100 * some_of_all.any(axis=1) for some_of_all in (same[0], limit[1], others[0][:, :1])]
        counts.append([*false, (some[0] & third).sum(axis=1), same[1].sum(axis=1)])
    means: Array = np.array(counts).mean(axis=0)
    return means


def reading(before: Array, after: Array, shift: Array, least: float, sides: int) -> tuple[Array, Array]:
    """Return which shapes are changed, and which are shown to change by less; shape (2, shapes).

    First without moderated variances, then with them.
    """
    moved, boosts = after[:, 0] + shift[:, np.newaxis], []
    samples = TwoSample.without_floor(moved, before[:, 1])
    if sides == 2:
        pairs = (before[:, 0], before[:, 1]), (moved, after[:, 1])
        boosts = [TwoSample.without_floor(*pair) for pair in pairs]
        samples = with_each_sign([], boosts, same_winners=False)
    tests = log_changes(boosts, samples, SETTINGS)
    differences = [test.difference_p() for test in tests]
    equivalences = [test.equivalence_p(margin=least * (1 - 1e-9)) for test in tests]
    changed, alike = (
        np.array([holm(p[0]) <= ALPHA, confirmed_holm(*p) <= ALPHA]) for p in (differences, equivalences)
    )
    return changed, alike


def print_changes() -> None:
    """Print a line for each design and noise: without moderated variances, and with them."""
    heads = ("changed", "unchanged", "lone", "found", "unchanged")
    print(f"\n{'':<52}{'false, percent':<42}shapes")
    print(f"{'of':<9}{'shapes seeds':<14}{'noise':<29}" + "".join(f"{name:<14}" for name in heads))
    for (shapes, n), sides, (name, case) in itertools.product(SIZES, (2, 1), CHANGES.items()):
        numbers = (f"{own:.1f}, {of_all:.1f}" for own, of_all in changes(case, shapes, n, sides))
        what, cells = "boosts" if sides == 2 else "latency", "".join(f"{text:<14}" for text in numbers)
        print(f"{what:<9}{shapes:<7}{n:<7}{name:<29}{cells}", flush=True)


if __name__ == "__main__":
    print(f"{'':<47}{'false, percent':<28}found")
    heads = "".join(f"{name:>8}" for name in ("own", "as est.", "limit"))
    print(f"{'shapes seeds':<14}{'noise':<30}{heads}   {heads}")
    for shapes, n, m in DESIGNS:
        for name, case in CASES.items():
            false, finds = shares(case, shapes, n, m)
            numbers = "".join(f"{share:>8.1f}" for share in false), "".join(f"{one:>8.2f}" for one in finds)
            print(f"{shapes:<7}{f'{n}+{m}':<7}{name:<30}{numbers[0]}   {numbers[1]}", flush=True)
    print_changes()
