"""The intervals by name: the only place that lists them. Loads neither NumPy nor SciPy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from abtune.lazy import Function, load
from abtune.stats.estimand import BEST_OF, Estimand

if TYPE_CHECKING:
    import numpy as np

    from abtune.stats.estimates import Interval
    from abtune.stats.two_sample import TwoSample

# Numbers of seeds per side for which the coverage of each method is listed.
SEEDS = (5, 10, 20)
_HOME = "abtune.stats.intervals"
_LEAST_COVERAGE = 0.9395  # 94 %, rounded
_UNKNOWN = float("nan")
# Of the best of k, by numbers of seeds as in SEEDS, where it may be asked for.
_COVERAGE_OF_BEST = {
    "best-of:2": (_UNKNOWN, 0.966, 0.957),
    "best-of:3": (_UNKNOWN, 0.959, 0.953),
    "best-of:4": (_UNKNOWN, _UNKNOWN, 0.950),
    "best-of:5": (_UNKNOWN, _UNKNOWN, 0.946),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A way to make an interval."""

    name: str  # as the command line takes it
    words: str  # what it is, for reports
    # simulated coverage of nominal 95 % at 5, 10 and 20 seeds per side, or pairs: the mean over six kinds of
    # noise, the same on both sides. NaN where the estimand takes more seeds.
    # ``analysis/calibrate_methods.py`` makes these numbers
    coverage: tuple[float, float, float]
    function: Function  # takes a TwoSample and the keyword ``level``; also ``rng`` if the method resamples
    estimand: str = Estimand.GEOMETRIC_MEAN  # what the interval is of
    paired: bool = False  # whether it is of pairs of seeds, instead of independent ones
    resamples: bool = False  # whether it draws random numbers
    slow: bool = False  # whether a simulation of it should make fewer replications

    @property
    def keeps_its_promise(self) -> bool:
        """Whether it covers at least 94 % where 95 are asked for; otherwise reports carry a caveat."""
        # Written so that NaN breaks no promise: such a number of seeds is not judged at all.
        return all(not coverage < _LEAST_COVERAGE for coverage in self.coverage)

    def compute(self, samples: TwoSample, *, level: float, rng: np.random.Generator) -> Interval:
        """Return the intervals of all shapes; ``rng`` is used if the method resamples."""
        function = load(self.function)
        more = {"rng": rng} if self.resamples else {}
        return function(samples, level=level, **more).widened(samples.rounding)

    def coverage_at(self, n: int) -> tuple[int, float]:
        """Return the largest listed number of seeds up to n (at least 5), and the coverage there."""
        position = max((i for i, seeds in enumerate(SEEDS) if seeds <= n), default=0)
        return SEEDS[position], self.coverage[position]


# The first of each estimand is its default.
METHODS: Mapping[tuple[str, str], Method] = {
    (method.estimand, method.name): method
    for method in (
        Method(
            name="expanded-percentile",
            words="expanded percentile bootstrap of mean log latency, with Welch's t below 10 seeds per side",
            coverage=(0.972, 0.949, 0.948),
            function=f"{_HOME}.percentile:expanded_percentile",
        ),
        Method(
            name="bootstrap-t",
            words="bootstrap-t of mean log latency",
            coverage=(0.968, 0.941, 0.940),
            function=f"{_HOME}.bootstrap_t:bootstrap_t",
            resamples=True,
            slow=True,
        ),
        Method(
            name="percentile",
            words="percentile bootstrap of mean log latency",
            coverage=(0.865, 0.915, 0.932),
            function=f"{_HOME}.percentile:percentile",
        ),
        Method(
            name="welch",
            words="Welch's t of mean log latency",
            coverage=(0.970, 0.962, 0.952),
            function="abtune.stats.estimates:welch",
        ),
        Method(
            name="percentile",
            estimand=Estimand.MEDIAN,
            words="percentile bootstrap of median latency",
            coverage=(0.970, 0.971, 0.969),
            function=f"{_HOME}.percentile:median_percentile",
        ),
        Method(
            name="price-bonett",
            estimand=Estimand.MEDIAN,
            words="Price-Bonett's normal interval of median latency",
            coverage=(0.946, 0.968, 0.954),
            function=f"{_HOME}.percentile:price_bonett",
        ),
        Method(
            name="paired-bootstrap",
            paired=True,
            words="expanded percentile bootstrap of the mean difference of pairs, with the paired t below 20 "
            "pairs",
            coverage=(0.962, 0.955, 0.943),
            function=f"{_HOME}.percentile:expanded_percentile",
        ),
        Method(
            name="paired-t",
            paired=True,
            words="paired t of mean log latency",
            coverage=(0.961, 0.953, 0.950),
            function="abtune.stats.estimates:welch",
        ),
        *(
            Method(
                name="welch",
                estimand=estimand,
                words=f"Welch's t of the {estimand.words} log latency with jackknife variances",
                coverage=_COVERAGE_OF_BEST[estimand],
                function="abtune.stats.estimates:welch",
            )
            for estimand in BEST_OF
        ),
    )
}


def methods_for(estimand: str, *, paired: bool = False) -> Mapping[str, Method]:
    """Return the intervals of an estimand by name, of pairs or of independent seeds, the default first."""
    wanted = (estimand, paired)
    return {method.name: method for method in METHODS.values() if (method.estimand, method.paired) == wanted}


def method_names() -> tuple[str, ...]:
    """Return the names of all intervals, whatever they are of."""
    return tuple(dict.fromkeys(method.name for method in METHODS.values()))
