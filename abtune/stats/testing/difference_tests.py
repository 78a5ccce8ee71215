"""Tests of a difference, and corrections over many shapes. They are loaded without NumPy and SciPy."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from abtune.lazy import Function, load
from abtune.stats.estimand import BEST_OF, Estimand

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from abtune.stats.two_sample import Floats, TwoSample


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceTest:
    """A test of a difference."""

    name: str
    words: str  # what it is, for reports
    function: Function  # takes a TwoSample and the keyword ``rng``, and returns p-values, shape (shapes,)
    # the closed-form test that has to agree before a difference is claimed; empty if none has to
    confirmed_by: str = ""
    estimand: str = Estimand.GEOMETRIC_MEAN  # what it compares
    paired: bool = False  # whether it is of pairs of seeds, instead of independent ones
    correction: str = "holm"  # for the many shapes; default_correction() may replace it
    # whether t is compared with resamples of all shapes, too; else p is a share of the splits of the seeds
    resamples: bool = False

    def p_values(self, samples: TwoSample, *, rng: np.random.Generator) -> Floats:
        """Return p-values that no shape differs, not adjusted; ``rng`` is for random splits."""
        return load(self.function)(samples, rng=rng)


_TESTS = "abtune.stats.testing"
# By estimand, and whether it is of pairs.
TESTS: Mapping[tuple[str, bool], DifferenceTest] = {
    (test.estimand, test.paired): test
    for test in (
        DifferenceTest(
            name="permutation",
            words="permutation test of mean log latency, and a Welch t-test (from five shapes on, variances "
            "are shrunk towards a common one)",
            function=f"{_TESTS}.significance:permutation_test",
            confirmed_by="Welch t-test",
        ),
        DifferenceTest(
            name="sign-flip",
            paired=True,
            words="sign-flip test of the mean difference of pairs",
            function=f"{_TESTS}.significance:sign_flip_test",
            # No t-test confirms it: skewed differences mislead the paired t-test, too (docs/statistics.md).
            # p is at least 2/2^n, so Holm over 29 shapes takes 11 pairs before it can find anything.
            correction="max-t",
        ),
        *(
            DifferenceTest(
                name="bootstrap-t",
                estimand=estimand,
                words=f"Welch's t-test of the {estimand.words} with jackknife variances, whose t is also "
                "compared with resamples of all shapes",
                function=f"{_TESTS}.significance:welch_test",
                resamples=True,
            )
            for estimand in BEST_OF
        ),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """What is done about the many shapes."""

    name: str  # as the command line takes it
    words: str  # what it is, for reports
    promise: str  # what it promises about false claims in a whole report; ``{alpha}`` stands for the level
    family_wise: bool  # whether it bounds the probability of any false claim in a report
    function: Function  # takes p-values, shape (shapes,), and returns adjusted ones. NaN are no tests
    divides_level: bool = True  # whether a shape alone has to pass the level over the number of shapes
    # adjusts the tests of a difference from the samples of all shapes: takes a TwoSample and the keywords
    # ``alpha`` and ``rng``. Other tests are adjusted by ``function``
    joint: Function | None = None
    step_up: bool = False  # whether several shapes together can pass where each alone cannot
    hint: str = ""  # what distinguishes it from the default, for the help of the command line
    # what weakens its claims, for reports of several shapes; ``{alpha}``, ``{shapes}`` and ``{any}`` stand
    # for the level, the number of shapes, and the chance of any of as many independent false claims
    caveat: str = ""

    def planning_level(self, alpha: float, tests: int) -> float:
        """Return the level of one shape to plan seeds with, of a family-wise level over some tests."""
        return alpha / tests if self.divides_level else alpha

    def resolution(self, alpha: float, tests: int) -> float:
        """Return what the smallest p-value of the seeds has to reach for one shape to be claimed."""
        # A joint procedure counts the splits once for all shapes.
        return self.planning_level(alpha, tests) if self.joint is None else alpha

    def adjust(self, p: npt.ArrayLike) -> Floats:
        """Return one family of p-values adjusted, shape (shapes,)."""
        return load(self.function)(p)

    def adjust_difference(
        self, p: Floats, samples: TwoSample, *, alpha: float, rng: np.random.Generator
    ) -> Floats:
        """Return the p-values of the tests of a difference of these samples, a column per seed, adjusted."""
        if self.joint is None:
            return self.adjust(p)
        import numpy as np

        # A generator of its own: what is drawn later does not depend on the correction.
        own = rng.spawn(1)[0]
        return np.fmax(load(self.joint)(samples, alpha=alpha, rng=own), p)  # random splits may give less

    def fits(self, test: DifferenceTest) -> bool:
        """Return whether it can correct this test of a difference."""
        return self.joint is None or test.estimand == Estimand.GEOMETRIC_MEAN


# Each test names its default.
CORRECTIONS: Mapping[str, Correction] = {
    correction.name: correction
    for correction in (
        Correction(
            name="holm",
            words="Holm over the shapes, separately for difference and equivalence",
            promise="at most {alpha}",
            family_wise=True,
            function=f"{_TESTS}.step_procedures:holm",
        ),
        Correction(
            name="max-t",
            words="Westfall-Young's max-T over the shapes, Holm for other tests",
            promise="at most {alpha}",
            family_wise=True,
            function=f"{_TESTS}.step_procedures:holm",
            joint=f"{_TESTS}.step_procedures:max_t",
            hint="needs fewer seeds for many shapes",
        ),
        Correction(
            name="bh",
            words="Benjamini-Hochberg over the shapes, separately for difference and equivalence",
            promise="nothing, as a screen",
            family_wise=False,
            function=f"{_TESTS}.step_procedures:benjamini_hochberg",
            step_up=True,
            hint="limits only the share of false claims",
            caveat="Benjamini-Hochberg is a screen: expect about {alpha} of its claims to be false. The "
            "chance of at least one false claim is far larger.",
        ),
        Correction(
            name="none",
            words="none, each shape is tested by itself",
            promise="nothing without a correction",
            family_wise=False,
            function="numpy:array",  # a copy
            divides_level=False,
            caveat="Without a correction, each of {shapes} has its own {alpha} chance of a false claim. The "
            "chance of at least one is up to {any}.",
        ),
    )
}


def default_correction(
    *, paired: bool, looks: bool = False, alpha: float = 1.0, seeds: Collection[tuple[int, int]] = ()
) -> Correction:
    """Return the correction of the default test of means, by the design alone.

    ``seeds`` are those of each tested shape. Where Holm's correction can pass no shape, max-T replaces it.
    """
    if looks:  # a shape that a look dropped has few pairs, and with it max-T finds less
        return CORRECTIONS["holm"]
    default = CORRECTIONS[TESTS[Estimand.GEOMETRIC_MEAN, paired].correction]
    if default.joint is None and len(seeds) > 1:
        from abtune.stats.testing.attainable import smallest_p, takes_max_t

        least, fewest = min(smallest_p(*n) for n in set(seeds)), min(map(min, seeds))
        if takes_max_t(least, fewest, shapes=len(seeds), alpha=alpha):
            return CORRECTIONS["max-t"]
    return default
