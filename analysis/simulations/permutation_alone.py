"""Print why a difference has to pass two tests: how often 29 shapes without any difference show one.

Normal noise, one side scattering more than the other, judged by the permutation test alone with Holm's
correction at 5 %. Each line is 1,000 reports: the standard error of a share is about one point. What both
tests together do is in docs/statistics.md.
"""

from __future__ import annotations

import numpy as np

from abtune.stats.testing.significance import permutation_test
from abtune.stats.testing.step_procedures import holm
from abtune.stats.two_sample import TwoSample

SHAPES, REPORTS, ALPHA = 29, 1000, 0.05


def false_reports(first: int, second: int, spread: float) -> float:
    """Return the share of reports with a false difference."""
    rng = np.random.default_rng([first, second, int(spread)])
    wrong = 0
    for _ in range(REPORTS):
        samples = TwoSample.without_floor(
            spread * rng.normal(size=(SHAPES, first)), rng.normal(size=(SHAPES, second))
        )
        wrong += bool((holm(permutation_test(samples, rng=rng)) <= ALPHA).any())
    return wrong / REPORTS


if __name__ == "__main__":
    print("seeds  spread  reports with a false difference")
    for first, second in ((10, 10), (5, 10)):
        for spread in (1, 4, 20):
            print(f"{first}+{second:<4} {spread:>4}:1 {100 * false_reports(first, second, spread):>31.1f} %")
