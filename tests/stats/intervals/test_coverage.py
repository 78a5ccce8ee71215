"""That each interval covers as told; reduced from analysis/simulations/calibrate_methods.py."""

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from noise_kinds import ALIKE

from abtune.stats.estimand import Estimand
from abtune.stats.intervals.interval_methods import METHODS
from abtune.stats.two_sample import TwoSample
from abtune.stats.variance import best_of

REPLICATIONS = 250
NAN = math.nan
# Coverage of 95 % intervals at 5, 10 and 20 seeds: means over the six kinds of noise that both sides share,
# from analysis/simulations/calibrate_methods.py. NaN where the estimand takes more seeds.
SEEDS = (5, 10, 20)
COVERAGE = {
    ("geometric-mean", "expanded-percentile"): (0.972, 0.949, 0.948),
    ("geometric-mean", "welch"): (0.970, 0.962, 0.952),
    ("geometric-mean", "paired-bootstrap"): (0.962, 0.955, 0.943),
    ("geometric-mean", "paired-t"): (0.961, 0.953, 0.950),
    ("best-of:2", "welch"): (NAN, 0.966, 0.957),
    ("best-of:3", "welch"): (NAN, 0.959, 0.953),
    ("best-of:4", "welch"): (NAN, NAN, 0.950),
    ("best-of:5", "welch"): (NAN, NAN, 0.946),
}


def covered(name: str, estimand: Estimand, n: int) -> float:
    """Mean coverage over the kinds of noise that both sides share."""
    shares, searches = [], estimand.searches
    for noise in ALIKE.values():
        rng = np.random.default_rng([1, n])
        first, second = noise(rng, (REPLICATIONS, n)), noise(rng, (REPLICATIONS, n))
        if searches > 1:
            first, second = best_of(first, searches), best_of(second, searches)
        method, unknown = METHODS[estimand, name], np.full((REPLICATIONS, 2), np.nan)
        samples = (TwoSample.of_pairs if method.paired else TwoSample)(first, second, unknown)
        interval = method.compute(samples, level=0.95)
        shares.append(np.mean((interval.low <= 1e-12) & (interval.high >= -1e-12)))
    return float(np.mean(shares))


def cases() -> Iterator[object]:
    """Every method at every number of seeds; what takes long is slow."""
    for (estimand, name), n in itertools.product(METHODS, SEEDS):
        told = COVERAGE[estimand, name][SEEDS.index(n)]
        if not math.isnan(told):
            yield pytest.param(name, estimand, n, told, marks=[pytest.mark.slow] if n == 20 else [])


@pytest.mark.parametrize(("name", "estimand", "n", "told"), list(cases()))
def test_coverage_is_what_the_tables_say(name: str, estimand: Estimand, n: int, told: float) -> None:
    """A smaller simulation finds the coverage of every interval that the documents tell."""
    slack = 3 * math.sqrt(told * (1 - told) / (REPLICATIONS * len(ALIKE)))
    assert covered(name, Estimand(estimand), n) == pytest.approx(told, abs=slack + 0.005)
