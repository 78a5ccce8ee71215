"""What a table with one run a cell supports: as a whole, and how much noise each of its boosts would bear.

No shape is judged here. A boost of two lone runs is as large as the luck of two searches allows, and the
table does not say how large that is; another dataset may, if its runs are like these.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import xarray as xr

from abtune.compare.results import Analysis
from abtune.errors import InputError
from abtune.sections.single_run.all_shapes import Surviving, Together, surviving, together
from abtune.sections.single_run.borrowed_noise import Loan, Outside, OutsideNoise, borrow, outside_noise
from abtune.sections.single_run.pairs import LonePair, describe_pairs
from abtune.text import count, p_value

_NO_BIAS = (
    "All of this takes the runs of different shapes to be independent, the shapes not to be chosen for their "
    "result, and nothing but the configuration to differ between the sides: another day or another load on "
    "the machine moves all shapes together, and would count as boost."
)
_COVERAGE = (
    "Where 95% is asked for and the noise is alike here and there, such intervals hold for 93 to 97% of the "
    "shapes, but for 78 to 94% of the noisiest fifth, and nothing shows which those are; with skewed noise, "
    "those for all shapes hold at once in as few as 74% of tables."
)
# Fewer lenders do not tell how much shapes differ in their noise.
_FEW_LENDERS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleRun:
    """All that can be said of shapes with one run a side.

    Attributes
    ----------
    baseline, candidate : str
        Names of the configurations.
    level : float
        Of the intervals, a fraction.
    together : tuple of Together
        For each kind of workload, if there are several, and for all shapes.
    surviving : tuple of Surviving
        For each noise of :data:`NOISE`.
    shapes : tuple of LonePair
        In the dataset's order.
    outside : OutsideNoise or None
        Noise from another dataset.
    left_out : tuple of str
        Shapes with more or fewer runs than one a side.
    caveats : tuple of str
        What weakens these numbers.
    """

    baseline: str
    candidate: str
    level: float
    together: tuple[Together, ...]
    surviving: tuple[Surviving, ...]
    shapes: tuple[LonePair, ...]
    outside: OutsideNoise | None
    left_out: tuple[str, ...]
    caveats: tuple[str, ...]


def describe_single_runs(
    dataset: xr.Dataset, analysis: Analysis, outside: Outside | None = None
) -> SingleRun:
    """Say what the shapes with one run a side support.

    Parameters
    ----------
    dataset : xarray.Dataset
        The one that was analysed.
    analysis : Analysis
        Its analysis, which says which shapes, sides and level.
    outside : Outside, optional
        A dataset with several seeds, whose noise is taken for that of these runs.

    Raises
    ------
    InputError
        If no shape has one run a side, or the other dataset no noise to lend.
    """
    rows = [row for row in analysis.comparisons if row.baseline.n == row.candidate.n == 1]
    if not rows:
        raise InputError(_why_none(analysis))
    labels = [row.shape for row in rows]
    loans = None
    if outside is not None:
        loans = borrow(outside, analysis.baseline, labels), borrow(outside, analysis.candidate, labels)
    pairs = describe_pairs(rows, loans, level=analysis.level)
    parts = tuple(together(rows, level=analysis.level))
    return SingleRun(
        baseline=analysis.baseline,
        candidate=analysis.candidate,
        level=analysis.level,
        together=parts,
        surviving=surviving(pairs),
        shapes=pairs,
        outside=outside_noise(dataset, outside, loans, limit=parts[-1].noise_limit)
        if outside is not None and loans is not None
        else None,
        left_out=tuple(row.shape for row in analysis.comparisons if row.shape not in set(labels)),
        caveats=(*_about_shapes(parts, analysis.level), *(_about_noise(loans, pairs) if loans else ())),
    )


def _why_none(analysis: Analysis) -> str:
    most = max(max(row.baseline.n, row.candidate.n) for row in analysis.comparisons)
    if most > 1:
        return (
            f"no shape has one run a side; with up to {most} seeds, the report itself judges the shapes, and "
            "their noise is known without another dataset"
        )
    return f"no shape has a run of both {analysis.baseline} and {analysis.candidate}"


def _about_shapes(parts: Sequence[Together], level: float) -> Iterator[str]:
    """Say where there are too few shapes, or too many alike."""
    yield _NO_BIAS
    whole = parts[-1]
    equal = whole.shapes - whole.faster - whole.slower
    if equal:
        yield (
            f"{count(equal, 'shape')} with exactly equal times: sign and signed-rank test leave "
            f"{'it' if equal == 1 else 'them'} out."
        )
    for part in parts:
        n = part.faster + part.slower
        if part.shapes == 1:
            yield f"{part.name}: one shape says nothing of shapes like it."
        elif math.isnan(part.spread):
            yield f"{part.name}: all shapes have the same ratio, so nothing is known of how ratios scatter."
        elif n > 0 and 2.0 ** (1 - n) > 1 - level:
            yield (
                f"{part.name}: the smallest p that the signs of {n} shapes can give is "
                f"{p_value(2.0 ** (1 - n))}."
            )


def _about_noise(loans: tuple[Loan, Loan], pairs: Sequence[LonePair]) -> Iterator[str]:
    """Say how often borrowed intervals hold, and where too little was borrowed."""
    yield _COVERAGE
    intervals = [pair.predicted for pair in pairs if pair.predicted is not None]
    unknown = sum(math.isnan(interval.boost_low) for interval in intervals)
    if unknown:
        yield (
            f"{count(unknown, 'shape')} without an interval: the seeds there agree exactly, which says "
            "nothing of the noise of a search."
        )
    if min(loan.side.shapes for loan in loans) < _FEW_LENDERS:
        yield "From fewer than three shapes it is not known how much shapes differ in their noise."
