"""Words and numbers of the sentences that an analysis gives as reasons and caveats."""

from __future__ import annotations

from abtune.analyse.comparison import Choices
from abtune.stats.estimand import Estimand
from abtune.stats.methods import WHAT
from abtune.stats.multiplicity import Correction

_CORRECTIONS = {
    Correction.HOLM: "Holm over the shapes, separately for difference and equivalence",
    Correction.MAX_T: "Westfall-Young's max-T over the shapes for difference, Holm for equivalence",
    Correction.BH: "Benjamini-Hochberg over the shapes, separately for difference and equivalence",
    Correction.NONE: "none, each shape is tested by itself",
}


def percent(fraction: float, *, signed: bool = False) -> str:
    """Write a fraction in percent with two significant digits, or more where it has more than two."""
    value, sign = 100 * fraction, "+" if signed else ""
    return f"{value:{sign}.0f}%" if abs(value) >= 99.5 else f"{value:{sign}.2g}%"


def p_value(p: float) -> str:
    """Write a p-value with two significant digits; never 0."""
    return "below 0.0001" if p < 0.0001 else f"{p:.2g}"


def about_seeds(seeds: int) -> str:
    """Write a planned number of seeds, which is never exact."""
    return f"about {seeds}" if seeds <= 1000 else "more than 1,000"


def count(number: int, noun: str) -> str:
    """Write ``1 shape``, ``2 shapes``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def found_nothing(trials: int) -> str:
    """Say what became of searches that had found nothing after so many trials."""
    return f"found nothing within {count(trials, 'trial')}"


def confirming_test(choices: Choices) -> str:
    """Name the test that has to confirm a permutation test."""
    return "Price-Bonett's test" if choices.estimand == Estimand.MEDIAN else "Welch's t"


def test_words(choices: Choices) -> str:
    """Say what the test of a difference is."""
    what = WHAT[Estimand(choices.estimand)]
    if choices.test == "moderated":
        return f"t test of {what} with variances moderated over the shapes"
    return f"permutation test of {what}, confirmed by {confirming_test(choices)}"


def correction_words(choices: Choices) -> str:
    """Say what is done about the many shapes."""
    return _CORRECTIONS[Correction(choices.correction)]
