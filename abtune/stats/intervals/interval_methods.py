"""The intervals by name: the only place that lists them. Loads neither NumPy nor SciPy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from abtune.lazy import Function, load
from abtune.stats.estimand import BEST_OF, Estimand

if TYPE_CHECKING:
    from abtune.stats.estimates import Intervals
    from abtune.stats.two_sample import TwoSample

_HOME = "abtune.stats.intervals"


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A way to make an interval."""

    name: str  # as the command line takes it
    words: str  # what it is, for reports
    function: Function  # takes a TwoSample and the keyword ``level``
    estimand: str = Estimand.GEOMETRIC_MEAN  # what the interval is of
    paired: bool = False  # whether it is of pairs of seeds, instead of independent ones

    def compute(self, samples: TwoSample, *, level: float) -> Intervals:
        """Return the intervals of all shapes."""
        return load(self.function)(samples, level=level).widened(samples.rounding)


# The first of each estimand is its default.
METHODS: Mapping[tuple[str, str], Method] = {
    (method.estimand, method.name): method
    for method in (
        Method(
            name="expanded-percentile",
            words="expanded percentile bootstrap of mean log latency, with Welch's t below 10 seeds per "
            "configuration",
            function=f"{_HOME}.bootstrap:expanded_percentile",
        ),
        Method(name="welch", words="Welch's t of mean log latency", function="abtune.stats.estimates:welch"),
        Method(
            name="paired-bootstrap",
            paired=True,
            words="expanded percentile bootstrap of the mean difference of pairs, with the paired t below 20 "
            "pairs",
            function=f"{_HOME}.bootstrap:expanded_percentile",
        ),
        Method(
            name="paired-t",
            paired=True,
            words="paired t of mean log latency",
            function="abtune.stats.estimates:welch",
        ),
        *(
            Method(
                name="welch",
                estimand=estimand,
                words=f"Welch's t of the {estimand.words} log latency with jackknife variances",
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
