"""The tests of a difference by name: the only place that lists them. Loads neither NumPy nor SciPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

from abtune.lazy import Function, load
from abtune.stats.estimand import BEST_OF, Estimand

if TYPE_CHECKING:
    import numpy as np

    from abtune.stats.two_sample import Floats, TwoSample


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceTest:
    """A test of a difference."""

    name: str  # as the command line takes it
    words: str  # what it is, for reports
    # takes a TwoSample, and the keyword ``rng`` if the test counts splits, which may be too many to
    # count, or resamples. Returns p-values, shape (shapes,)
    function: Function
    # takes a TwoSample and returns the StandardError that the test of equivalence beside it uses. If the
    # test resamples: takes ``rng``, too, and returns a OneSided
    error: Function
    counts_splits: bool  # whether p is a share of the splits of the seeds, and so has a smallest value
    # the closed-form test that has to agree before a difference is claimed; empty if none has to
    confirmed_by: str
    estimand: str = Estimand.GEOMETRIC_MEAN  # what it compares
    paired: bool = False  # whether it is of pairs of seeds, instead of independent ones
    resamples: bool = False  # whether it compares t with resamples of all shapes
    across_shapes: bool = False  # whether the result of a shape depends on the other shapes
    slow: bool = False  # whether a simulation of it should make fewer replications
    hint: str = ""  # what distinguishes it from the default, for the help of the command line

    def p_values(self, samples: TwoSample, *, rng: np.random.Generator) -> Floats:
        """Return p-values that no shape differs, not adjusted; ``rng`` is for random splits or resamples."""
        more = {"rng": rng} if self.counts_splits or self.resamples else {}
        return cast("Floats", load(self.function)(samples, **more))

    def equivalence(self, samples: TwoSample, *, rng: np.random.Generator) -> Callable[..., Floats]:
        """Return p-values of a difference beyond a margin as a function of ``margin``, log scale."""
        if self.resamples:
            return cast("Callable[..., Floats]", load(self.error)(samples, rng=rng).equivalence_p)
        from abtune.stats.testing.significance import equivalence_p, split_share

        return partial(equivalence_p, load(self.error)(samples), split_share(samples))


# The first of each estimand is its default.
TESTS: Mapping[tuple[str, str], DifferenceTest] = {
    (test.estimand, test.name): test
    for test in (
        DifferenceTest(
            name="permutation",
            words="permutation test of mean log latency, confirmed by Welch's t-test",
            function="abtune.stats.testing.significance:permutation_test",
            error="abtune.stats.estimates:conservative_welch",
            counts_splits=True,
            confirmed_by="Welch's t-test",
        ),
        DifferenceTest(
            name="moderated",
            words="t test of mean log latency with variances moderated over the shapes",
            function="abtune.stats.testing.significance:moderated_test",
            error="abtune.stats.moderated:moderated_error",
            counts_splits=False,
            confirmed_by="",
            across_shapes=True,
            hint="lends variances between shapes, for 5 seeds or so",
        ),
        DifferenceTest(
            name="permutation",
            estimand=Estimand.MEDIAN,
            words="permutation test of median latency, confirmed by Price-Bonett's test",
            function="abtune.stats.testing.robust_tests:median_permutation_test",
            error="abtune.stats.estimates:median_error",
            counts_splits=True,
            confirmed_by="Price-Bonett's test",
            slow=True,
        ),
        DifferenceTest(
            name="sign-flip",
            paired=True,
            words="sign-flip test of the mean difference of pairs, confirmed by the paired t-test",
            function="abtune.stats.testing.sign_flips:sign_flip_test",
            error="abtune.stats.estimates:conservative_welch",
            counts_splits=True,
            confirmed_by="the paired t-test",
            hint="is the one for pairs",
        ),
        DifferenceTest(
            name="paired-moderated",
            paired=True,
            words="paired t test with variances of differences moderated over the shapes",
            function="abtune.stats.testing.significance:moderated_test",
            error="abtune.stats.moderated:moderated_error",
            counts_splits=False,
            confirmed_by="",
            across_shapes=True,
            hint="lends variances between shapes of pairs",
        ),
        *(
            DifferenceTest(
                name="bootstrap-t",
                estimand=estimand,
                words=f"Welch's t-test of the {estimand.words} with jackknife variances, whose t is also "
                "compared with resamples of all shapes",
                function="abtune.stats.testing.significance:resampled_test",
                error="abtune.stats.testing.significance:resampled",
                counts_splits=False,
                confirmed_by="",
                resamples=True,
                across_shapes=True,
                slow=True,
            )
            for estimand in BEST_OF
        ),
    )
}


def tests_for(estimand: str, *, paired: bool) -> Mapping[str, DifferenceTest]:
    """Return the tests of an estimand by name, of pairs or of independent seeds, the default first."""
    return {test.name: test for test in TESTS.values() if (test.estimand, test.paired) == (estimand, paired)}


def difference_test_names() -> tuple[str, ...]:
    """Return the names of all tests, whatever they compare."""
    return tuple(dict.fromkeys(test.name for test in TESTS.values()))
