"""The corrections over many shapes by name: the only place that lists them. Loads neither NumPy nor SciPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, cast

from abtune.lazy import Function, load
from abtune.stats.estimand import Estimand

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from abtune.stats.testing.difference_tests import DifferenceTest
    from abtune.stats.two_sample import Floats, TwoSample

# Takes the family-wise level and the number of tests, and returns the level of one test.
Level: TypeAlias = Callable[[float, int], float]
_PROCEDURES = "abtune.stats.testing.step_procedures"


def divided(alpha: float, tests: int) -> float:
    """Return the family-wise level divided by the number of tests."""
    return alpha / tests


def undivided(alpha: float, tests: int) -> float:  # noqa: ARG001  (every level takes the same arguments)
    """Return the family-wise level itself."""
    return alpha


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """What is done about the many shapes."""

    name: str  # as the command line takes it
    words: str  # what it is, for reports
    promise: str  # what it promises about false claims in a whole report; ``{alpha}`` stands for the level
    family_wise: bool  # whether it bounds the probability of any false claim in a report
    function: Function  # takes p-values, shape (shapes,), and returns adjusted ones. NaN are no tests
    resolution: Level  # what the smallest p-value of the seeds has to reach for one shape to be claimed
    planning_level: Level  # the level of one shape to plan seeds with
    # adjusts the tests of a difference from the samples of all shapes: takes a TwoSample and the keyword
    # ``rng``. Other tests are adjusted by ``function``
    joint: Function | None = None
    # names of the only tests of a difference of means that ``joint`` goes with
    joint_tests: tuple[str, ...] = ()
    step_up: bool = False  # whether several shapes together can pass where each alone cannot
    slow: bool = False  # whether a simulation of it should make fewer replications
    hint: str = ""  # what distinguishes it from the default, for the help of the command line
    # what weakens its claims, for reports of several shapes; ``{alpha}``, ``{shapes}`` and ``{any}``
    # stand for the level, the number of shapes, and the probability of any of as many independent false
    # claims
    caveat: str = ""

    def adjust(self, p: npt.ArrayLike) -> Floats:
        """Return one family of p-values adjusted, shape (shapes,)."""
        return cast("Floats", load(self.function)(p))

    def adjust_difference(self, p: Floats, samples: TwoSample, *, rng: np.random.Generator) -> Floats:
        """Return the p-values of the tests of a difference of these samples, a column per seed, adjusted."""
        if self.joint is None:
            return self.adjust(p)
        import numpy as np

        return np.fmax(load(self.joint)(samples, rng=rng), p)  # random splits may give less

    def fits(self, test: DifferenceTest) -> bool:
        """Return whether it can correct this test of a difference."""
        fitting = test.estimand == Estimand.GEOMETRIC_MEAN and test.name in self.joint_tests
        return self.joint is None or fitting


# The first one is the default.
CORRECTIONS: Mapping[str, Correction] = {
    correction.name: correction
    for correction in (
        Correction(
            name="holm",
            words="Holm over the shapes, separately for difference and equivalence",
            promise="at most {alpha}",
            family_wise=True,
            function=f"{_PROCEDURES}:holm",
            resolution=divided,
            planning_level=divided,
        ),
        Correction(
            name="max-t",
            words="Westfall-Young's max-T over the shapes for difference, Holm for equivalence",
            promise="at most {alpha}",
            family_wise=True,
            function=f"{_PROCEDURES}:holm",
            resolution=undivided,  # it counts the splits once for all shapes
            planning_level=divided,
            joint="abtune.stats.testing.step_procedures:max_t",
            joint_tests=("permutation", "sign-flip"),
            slow=True,
            hint="can show something below 7 seeds",
        ),
        Correction(
            name="bh",
            words="Benjamini-Hochberg over the shapes, separately for difference and equivalence",
            promise="nothing, as a screen",
            family_wise=False,
            function=f"{_PROCEDURES}:benjamini_hochberg",
            resolution=divided,
            planning_level=divided,
            step_up=True,
            hint="is a screen",
            caveat="Benjamini-Hochberg is a screen: expect about {alpha} of its claims to be false. The "
            "chance of at least one false claim is far larger.",
        ),
        Correction(
            name="none",
            words="none, each shape is tested by itself",
            promise="nothing without a correction",
            family_wise=False,
            function=f"{_PROCEDURES}:unadjusted",
            resolution=undivided,
            planning_level=undivided,
            caveat="Without a correction, each of {shapes} has its own {alpha} chance of a false claim. The "
            "chance of at least one is up to {any}.",
        ),
    )
}
