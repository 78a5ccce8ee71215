"""Print why t has fewer degrees of freedom than Welch and Satterthwaite give it, in two places.

A difference: percent of 2,000 reports of 29 shapes in which some shape passes both tests of a difference,
although none differs. The nominal rate is 5. The test of equivalence: percent of 2,000 reports of 29 shapes
in which some shape passes, although all differ by exactly the margin. The nominal rate is 5.
"""

from __future__ import annotations

from collections.abc import Callable

import made_up_noise  # noqa: F401 (finds the modules beside the tests)
import numpy as np
from single_run_tables import SHAPES

from abtune.stats.estimates import StandardError, conservative_welch, standard_error
from abtune.stats.testing.significance import OneSided, permutation_test, split_share
from abtune.stats.testing.step_procedures import holm
from abtune.stats.two_sample import TwoSample

REPORTS, MARGIN, ALPHA = 2000, 0.2, 0.05

Errors = Callable[[TwoSample], StandardError]


def false_equivalence(errors: Errors, sizes: tuple[int, int], spread: float) -> float:
    """Return the share of reports in which some shape is called equivalent."""
    rng = np.random.default_rng([*sizes, int(spread)])
    shape = REPORTS * SHAPES
    first = rng.normal(MARGIN, 0.02 * spread, (shape, sizes[0]))
    second = rng.normal(0, 0.02, (shape, sizes[1]))
    samples = TwoSample.without_floor(first, second)
    tests = OneSided(estimate=errors(samples), one_split=split_share(samples))
    p = tests.equivalence_p(margin=MARGIN).reshape(REPORTS, SHAPES)
    return float(np.mean([(holm(row) <= ALPHA).any() for row in p]))


def false_difference(errors: Errors, sizes: tuple[int, int], spread: float) -> float:
    """Return the share of reports in which some shape is called different."""
    rng = np.random.default_rng([*sizes, int(spread)])
    shape = REPORTS * SHAPES
    first, second = rng.normal(0, 0.02 * spread, (shape, sizes[0])), rng.normal(0, 0.02, (shape, sizes[1]))
    samples = TwoSample.without_floor(first, second)
    welch = OneSided(estimate=errors(samples), one_split=split_share(samples)).difference_p()
    both = [p.reshape(REPORTS, SHAPES) for p in (welch, permutation_test(samples, rng=rng))]
    passed = [[holm(row) <= ALPHA for row in p] for p in both]
    return float(np.mean(np.logical_and(passed[0], passed[1]).any(axis=1)))


if __name__ == "__main__":
    print("false difference               Welch's  fewest")
    for sizes, spread in (((5, 10), 4), ((10, 5), 4)):
        shares = [
            100 * false_difference(errors, sizes, spread) for errors in (standard_error, conservative_welch)
        ]
        seeds = f"{sizes[0]}+{sizes[1]}"
        print(f"{seeds:<6} spread {spread}:1 {shares[0]:>19.1f} {shares[1]:>7.1f}")
    print("false equivalence              Welch's  fewest")
    for sizes, spread in (((5, 20), 1), ((20, 5), 1), ((5, 10), 4), ((5, 5), 4), ((10, 10), 1)):
        shares = [
            100 * false_equivalence(errors, sizes, spread) for errors in (standard_error, conservative_welch)
        ]
        seeds = f"{sizes[0]}+{sizes[1]}"
        print(f"{seeds:<6} spread {spread}:1 {shares[0]:>19.1f} {shares[1]:>7.1f}")
