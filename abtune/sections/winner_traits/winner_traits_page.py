"""The page about what winners use: a grid for each kind of trait."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from abtune.report.page import SHAPE, Bullets, Grid, Heading, Part, Prose, Section, column, filled, table
from abtune.sections.section_registry import Context
from abtune.sections.winner_traits.winner_traits import (
    ShapeTrait,
    Trait,
    TraitValue,
    WinnerTraits,
    describe_winners,
)
from abtune.text import NOTHING, percent_cell

_BY_SHAPE = "software pipeline"
_MOST_SHAPES = 40  # more rows would hide the rest of the page


def winners_section(context: Context) -> Section:
    """Return what the winners of an analysis use."""
    found = describe_winners(context.dataset, context.analysis)
    return Section(name="winners", page=tuple(_parts(found)), result=found, rows=tuple(_records(found)))


def _records(found: WinnerTraits) -> Iterator[Mapping[str, object]]:
    """Yield the rows of CSV; those of all shapes together have no shape."""
    for trait in found.traits:
        for value in trait.values:
            rows: list[TraitValue | ShapeTrait] = [value, *value.by_shape]
            for row in rows:
                yield {
                    "trait": trait.name,
                    "value": value.value,
                    "shape": row.shape if isinstance(row, ShapeTrait) else "",
                    "winners_baseline": row.baseline.winners,
                    "of_baseline": row.baseline.of,
                    "winners_candidate": row.candidate.winners,
                    "of_candidate": row.candidate.of,
                    "boost_with": row.boost_with,
                    "boost_without": row.boost_without,
                }


def _parts(found: WinnerTraits) -> Iterator[Part]:
    yield Heading(text="what winners use", minor=False)
    yield Prose(text=_explain(found), remark=True)
    alike = []
    for trait in found.traits:
        if len(trait.values) == 1:
            alike.append(f"{trait.name}: {trait.values[0].value} in every winner.")
            continue
        yield Heading(text=trait.name, minor=True)
        yield _grid(found, trait)
    for trait in found.traits:
        few = 1 < len(trait.values[0].by_shape) <= _MOST_SHAPES
        if trait.name == _BY_SHAPE and few and len(trait.values) > 1:
            yield Heading(text=f"{_BY_SHAPE} by shape", minor=True)
            yield _shapes(found, trait)
    yield Bullets(items=(*alike, *found.caveats))


def _explain(found: WinnerTraits) -> str:
    return (
        f"{found.baseline} %, {found.candidate} %: share of the winners. A winner with several blocks can "
        f"have several values. with %, without %: mean boost of {found.candidate}'s winners that have the "
        "value, and of its others, over the shapes with both. faster: in how many of these shapes winners "
        "with it are faster than the others. These boosts are not causal."
    )


def _grid(found: WinnerTraits, trait: Trait) -> Grid:
    rows = trait.values
    faster = [f"{row.faster} of {row.shapes}" if row.shapes else NOTHING for row in rows]
    return table(
        "value",
        [row.value for row in rows],
        column(f"{found.baseline} %", [_percent(row.baseline.share) for row in rows]),
        column(f"{found.candidate} %", [_percent(row.candidate.share) for row in rows]),
        column("with %", [percent_cell(row.boost_with, 1) for row in rows], gives_way=1),
        column("without %", [percent_cell(row.boost_without, 1) for row in rows], gives_way=1),
        column("faster", faster, gives_way=2),
    )


def _shapes(found: WinnerTraits, trait: Trait) -> Grid:
    """Return the shares by shape, of the values that a side has at all."""
    columns = [
        column(
            f"{name}: {value.value} %",
            [_percent(getattr(row, side).share) for row in value.by_shape],
            gives_way=1 if side == "baseline" else 0,
        )
        for side, name in (("baseline", found.baseline), ("candidate", found.candidate))
        for value in trait.values
        if 0 < getattr(value, side).share < 1
    ]
    return table(SHAPE, [row.shape for row in trait.values[0].by_shape], *filled(columns))


def _percent(share: float) -> str:
    return percent_cell(share, 0, signed=False)
