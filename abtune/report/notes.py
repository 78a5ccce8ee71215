"""The sentences of a report: title, counts, footnotes. Shared by every rendering that people read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from abtune.analyse.comparison import Aggregate, Analysis, Overall, Verdict
from abtune.report.numbers import plain_percent


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """The caveats of an analysis, each once.

    Attributes
    ----------
    general : tuple of str
        What holds for the whole design or for every shape; rows carry no mark for these.
    numbered : tuple of str
        Footnotes 1, 2, ... in order of first appearance.
    marks : tuple of tuple of int
        For each comparison the numbers of its footnotes.
    """

    general: tuple[str, ...]
    numbered: tuple[str, ...]
    marks: tuple[tuple[int, ...], ...]


def collect_notes(analysis: Analysis) -> Notes:
    """Give numbers to the caveats; one that every shape shares becomes a general one.

    The reason of an invalid comparison is a footnote too: without it the row would say nothing.
    """
    rows = [
        dict.fromkeys((row.reason, *row.caveats) if row.verdict is Verdict.INVALID else row.caveats)
        for row in analysis.comparisons
    ]
    count = Counter(note for row in rows for note in row)
    general = dict.fromkeys(analysis.caveats)
    if len(rows) > 1:
        general.update(dict.fromkeys(note for note in count if count[note] == len(rows)))
    numbers: dict[str, int] = {}
    for row in rows:
        for note in row:
            if note not in general:
                numbers.setdefault(note, len(numbers) + 1)
    marks = tuple(tuple(sorted(numbers[note] for note in row if note in numbers)) for row in rows)
    return Notes(general=tuple(general), numbered=tuple(numbers), marks=marks)


def title(analysis: Analysis) -> str:
    """Say what is compared."""
    return f"{analysis.candidate} against {analysis.baseline}"


def design(analysis: Analysis) -> str:
    """Say how much was measured and how it is judged, in one line."""
    return (
        f"{count_shapes(len(analysis.comparisons))}, {_seeds(analysis)} (baseline + candidate); "
        f"{plain_percent(analysis.level)} confidence, margin {plain_percent(analysis.margin)}"
    )


def verdict_counts(analysis: Analysis) -> tuple[tuple[Verdict, int], ...]:
    """Count the verdicts, in the order good to bad, those that occur."""
    count = Counter(comparison.verdict for comparison in analysis.comparisons)
    return tuple((verdict, count[verdict]) for verdict in Verdict if count[verdict])


def count_shapes(number: int) -> str:
    """Write ``1 shape``, ``2 shapes``."""
    return f"{number} shape{'' if number == 1 else 's'}"


def overall_lines(overall: Overall) -> dict[str, Aggregate]:
    """Name the two overall boosts, which answer different questions."""
    shapes = overall.these_shapes.shapes
    these = "this" if shapes == 1 else "these"
    return {
        f"{these} {count_shapes(shapes)}": overall.these_shapes,
        "shapes like these": overall.shapes_like_these,
    }


def methods(analysis: Analysis) -> str:
    """Name what was computed."""
    return (
        f"Interval: {analysis.interval_method}. Test: {analysis.test_method}. "
        f"Adjusted p: {analysis.correction}. Resampling seed: {analysis.rng_seed}."
    )


def _seeds(analysis: Analysis) -> str:
    sides = [(row.baseline.n, row.candidate.n) for row in analysis.comparisons]
    most = "+".join(str(max(ns, default=0)) for ns in zip(*sides, strict=True))
    return f"{most} seeds a shape" if len(set(sides)) == 1 else f"up to {most} seeds a shape"
