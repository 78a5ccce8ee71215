"""That the coverage told of each interval is the one it has; reduced from analysis/calibrate_methods.py."""

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from stats_noise import ALIKE, unknown_floor

from abtune.stats.estimand import Estimand
from abtune.stats.methods import SEEDS, compute_interval, methods_for

REPLICATIONS = 250


def covered(name: str, estimand: Estimand, n: int) -> float:
    """Mean coverage over the kinds of noise that both sides share."""
    shares = []
    for noise in ALIKE.values():
        rng = np.random.default_rng([1, n])
        first, second = noise(rng, (REPLICATIONS, n)), noise(rng, (REPLICATIONS, n))
        floor = unknown_floor(REPLICATIONS)
        found = compute_interval(name, first, second, estimand=estimand, level=0.95, floor=floor, rng=rng)
        shares.append(np.mean((found.low <= 1e-12) & (found.high >= -1e-12)))
    return float(np.mean(shares))


def cases() -> Iterator[object]:
    """Every method at every number of seeds; what takes long is slow."""
    for estimand in (Estimand.GEOMETRIC_MEAN, Estimand.MEDIAN):
        for name, n in itertools.product(methods_for(estimand), SEEDS):
            slow = n == 20 or "bootstrap-t" in name or (name == "permutation" and n == 10)
            yield pytest.param(name, estimand, n, marks=[pytest.mark.slow] if slow else [])


@pytest.mark.parametrize(("name", "estimand", "n"), list(cases()))
def test_coverage_is_what_the_caveats_say(name: str, estimand: Estimand, n: int) -> None:
    """The numbers beside each method, which caveats quote, come out of a simulation."""
    told = methods_for(estimand)[name].coverage[SEEDS.index(n)]
    slack = 3 * math.sqrt(told * (1 - told) / (REPLICATIONS * len(ALIKE)))
    assert covered(name, estimand, n) == pytest.approx(told, abs=slack + 0.005)


@pytest.mark.parametrize("estimand", list(Estimand))
def test_only_intervals_that_cover_go_without_a_caveat(estimand: Estimand) -> None:
    """A method without a caveat covers at least 94 % where 95 is asked for; one with it does not."""
    for method in methods_for(estimand).values():
        assert method.keeps_its_promise == (min(method.coverage) >= 0.9395)


@pytest.mark.parametrize("name", ["expanded-percentile", "welch"])
def test_arithmetic_means_are_covered_alike(name: str) -> None:
    """Straightening the logarithm costs less than two percent of coverage."""
    means = covered(name, Estimand.GEOMETRIC_MEAN, 10), covered(name, Estimand.ARITHMETIC_MEAN, 10)
    assert means[1] == pytest.approx(means[0], abs=0.02)
    assert means[1] >= 0.93
