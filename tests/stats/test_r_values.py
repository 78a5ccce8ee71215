"""Values that R gives for the same data.

From R 4.2.2 and this script::

a <- log(c(63.4, 63.9, 66.5, 67.1, 80.7, 88.6))
b <- log(c(57.8, 58.2, 59.8, 60.0, 62.7))
d <- log(c(60.1, 61.4, 59.0, 75.2, 63.3, 61.9))
t.test(a, b)
p <- c(0.01, 0.04, 0.03, 0.005, 0.2); p.adjust(p, "holm"); p.adjust(p, "BH")
x <- c(a, d); diffs <- apply(combn(12, 6), 2, function(i) mean(x[i]) - mean(x[-i]))
mean(abs(diffs) >= abs(mean(a) - mean(d)) * (1 - 1e-9))
power.t.test(n = 10, delta = log(1.05), sd = 0.03)$power
max(t.test(a, d, mu = -log(1.10), alternative = "greater")$p.value,
    t.test(a, d, mu = log(1.10), alternative = "less")$p.value)
"""

import math

import numpy as np
import pytest
from closed_forms import equivalence_test, welch_test

from abtune.stats.estimates import welch
from abtune.stats.testing.design import Requirement, power
from abtune.stats.testing.significance import permutation_test
from abtune.stats.testing.step_procedures import benjamini_hochberg, holm
from abtune.stats.two_sample import TwoSample

A = np.log([[63.4, 63.9, 66.5, 67.1, 80.7, 88.6]])
B = np.log([[57.8, 58.2, 59.8, 60.0, 62.7]])
D = np.log([[60.1, 61.4, 59.0, 75.2, 63.3, 61.9]])
A_AND_B, A_AND_D = TwoSample.without_floor(A, B), TwoSample.without_floor(A, D)
P = np.array([0.01, 0.04, 0.03, 0.005, 0.2])


def test_welchs_test_and_interval_are_those_of_r() -> None:
    """t.test: p-value and interval, with the sides in either order."""
    for samples, sign in ((A_AND_B, 1), (A_AND_B.swapped(), -1)):
        assert welch_test(samples)[0] == pytest.approx(0.0262553067677, rel=1e-9)
        interval = welch(samples, level=0.95)
        bounds = sorted(sign * bound for bound in (interval.low[0], interval.high[0]))
        assert bounds == pytest.approx([0.0295612427358, 0.320950985889], rel=1e-9)


def test_the_permutation_test_is_that_of_r() -> None:
    """All 924 splits by combn."""
    p = permutation_test(A_AND_D, rng=np.random.default_rng(0))
    assert p[0] == pytest.approx(0.132034632035, rel=1e-9)


def test_holm_and_bh_are_those_of_r() -> None:
    """p.adjust with holm and BH."""
    assert holm(P) == pytest.approx([0.04, 0.09, 0.09, 0.025, 0.2])
    assert benjamini_hochberg(P) == pytest.approx([0.025, 0.05, 0.05, 0.025, 0.2])


def test_the_equivalence_test_is_that_of_r() -> None:
    """The larger p-value of two one-sided t.test calls."""
    p = equivalence_test(A_AND_D, margin=math.log(1.10))
    assert p[0] == pytest.approx(0.62126458753, rel=1e-9)


def test_power_is_close_to_that_of_r() -> None:
    """power.t.test, which leaves out the other tail and knows that the spreads are equal."""
    computed = power(0.05, (10, 10), (0.03, 0.03), Requirement(level=0.05))
    assert float(computed) == pytest.approx(0.930119351331, abs=0.005)
