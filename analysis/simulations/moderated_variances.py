"""Print why the variances of all shapes confirm a difference, and how sure their agreement has to be.

Reports without any difference, and reports in which each third shape differs by 4.5 standard errors. Percent
of reports with a false difference, then true differences found per report. A difference must pass the
permutation test and a Welch test, each with Holm. *own*: Welch's with the variances of each shape alone. *as
est.*: moderated, with the degrees of freedom that the agreement of the shapes suggests, from three shapes on.
*limit*: the default, with an 85 % lower limit of them, from five shapes on. The standard error of 5 % is 0.7
points.
"""

from __future__ import annotations

from collections.abc import Mapping
from unittest import mock

import made_up_noise  # noqa: F401 (finds the modules beside the tests)
import numpy as np
from noise_kinds import Array
from simulated_reports import ALPHA, confirming_p

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


def spreads(kind: str, shapes: int, rng: np.random.Generator) -> Array:
    """Return the spread of each shape and report, shape (REPORTS, shapes, 1)."""
    first = np.ones((REPORTS, shapes, 1))
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


if __name__ == "__main__":
    print(f"{'':<47}{'false, percent':<28}found")
    heads = "".join(f"{name:>8}" for name in ("own", "as est.", "limit"))
    print(f"{'shapes seeds':<14}{'noise':<30}{heads}   {heads}")
    for shapes, n, m in DESIGNS:
        for name, case in CASES.items():
            false, finds = shares(case, shapes, n, m)
            numbers = "".join(f"{share:>8.1f}" for share in false), "".join(f"{one:>8.2f}" for one in finds)
            print(f"{shapes:<7}{f'{n}+{m}':<7}{name:<30}{numbers[0]}   {numbers[1]}", flush=True)
