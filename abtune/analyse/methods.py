"""What is weak about the methods that were chosen, in sentences."""

from __future__ import annotations

from abtune.analyse.comparison import Choices, Comparison, Verdict
from abtune.analyse.wording import count, percent
from abtune.stats.estimand import Estimand
from abtune.stats.methods import coverage_at, methods_for
from abtune.stats.multiplicity import Correction

_FEW_FOR_MODERATION = 5


def of_choices(choices: Choices, comparisons: tuple[Comparison, ...], alpha: float) -> list[str]:
    """Caveats about the methods, each once; none about the defaults.

    Parameters
    ----------
    choices : Choices
        What was asked for.
    comparisons : tuple of Comparison
        Of all shapes.
    alpha : float
        Family-wise level.
    """
    judged = [row for row in comparisons if row.verdict is not Verdict.INVALID]
    if not judged:
        return []
    fewest = min(min(row.baseline.n, row.candidate.n) for row in judged)
    return [
        *_about_interval(choices, fewest),
        *_about_correction(choices, len(judged), alpha),
        *_about_test(choices, fewest),
        *_about_estimand(choices),
    ]


def _about_interval(choices: Choices, fewest: int) -> list[str]:
    method = methods_for(Estimand(choices.estimand))[choices.method]
    if method.keeps_its_promise:
        return []
    seeds, coverage = coverage_at(method, fewest)
    return [
        f"The {choices.method} interval is too narrow for few seeds: asked for 95%, it holds the truth in "
        f"{100 * coverage:.1f}% of cases at {seeds} seeds (simulated, docs/statistics.md)."
    ]


def _about_correction(choices: Choices, shapes: int, alpha: float) -> list[str]:
    if choices.correction == Correction.BH:
        return [
            f"Benjamini-Hochberg is a screen: about {percent(alpha)} of the claims are expected to be false, "
            "and the chance of some false claim is far larger."
        ]
    if choices.correction == Correction.NONE and shapes > 1:
        return [
            f"Without a correction, each of {count(shapes, 'shape')} has its own {percent(alpha)} chance "
            f"of a false claim, all together up to {percent(1 - (1 - alpha) ** shapes)}."
        ]
    return []


def _about_test(choices: Choices, fewest: int) -> list[str]:
    if choices.test != "moderated":
        return []
    note = (
        "The moderated test takes the noise of the shapes to be of one kind; where it is not, shapes noisier "
        "than the others look more certain than they are."
    )
    few = f"At {fewest} seeds it claims something false in up to 9% of reports of 29 shapes."
    return [note, few] if fewest < _FEW_FOR_MODERATION else [note]


def _about_estimand(choices: Choices) -> list[str]:
    if choices.estimand == Estimand.GEOMETRIC_MEAN:
        return []
    notes = ["The overall boosts are of geometric means, unlike those of the shapes."]
    if choices.estimand == Estimand.MEDIAN:
        notes.append("A median does not see what goes wrong in less than half of the searches.")
    return notes
