"""The heading of a published table: which column is which configuration, and in which unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from abtune.errors import DatasetError, InputError
from abtune.ingest.units import UNITS, Heading, read_heading

ASSUMED_UNIT = "gflops"


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The columns of a table: names and units of its configurations, and which columns hold what.

    ``assumed`` says whether some column names no unit, and nobody gave one.
    """

    configs: tuple[str, ...]
    units: tuple[str, ...]
    assumed: bool
    numbers: tuple[int, ...]
    boost: int | None
    width: int


def read_columns(cells: Sequence[str], line: int, unit: str) -> Columns:
    """Return the columns that a heading names.

    Parameters
    ----------
    cells : sequence of str
        ``Shape``, the configurations, and perhaps ``boost`` or ``boost (%)``.
    line : int
        Number of the line, for messages.
    unit : str
        Unit of the columns that name none; empty if nobody gave one.

    Raises
    ------
    DatasetError
        If a heading has no form that is known, or if there are too few configurations.
    """
    try:
        headings = [read_heading(cell, (*UNITS, "%")) for cell in cells[1:] if cell]
    except InputError as error:
        raise DatasetError(f"line {line}: {error}") from None
    is_boost = [heading.name.casefold() == "boost" for heading in headings]
    named = [heading for heading, boost in zip(headings, is_boost, strict=True) if not boost]
    configs = tuple(heading.name for heading in named)
    few = len(set(configs)) < max(2, len(configs))
    if few or sum(is_boost) > 1 or len(headings) < len(cells) - 1:
        raise DatasetError(
            f"line {line}: a heading needs Shape, a name of its own for each of two or more configurations, "
            "and at most one boost"
        )
    units = tuple(heading.unit or unit for heading in named)
    _check_units(headings, is_boost, line)
    _check_all_or_none(configs, units, line)
    return Columns(
        configs=configs,
        units=tuple(unit or ASSUMED_UNIT for unit in units),
        assumed=not all(units),
        numbers=tuple(index for index, boost in enumerate(is_boost, start=1) if not boost),
        boost=is_boost.index(True) + 1 if any(is_boost) else None,
        width=len(cells),
    )


def _check_units(headings: Sequence[Heading], is_boost: Sequence[bool], line: int) -> None:
    """Check that the boost is in percent, and that nothing else is."""
    for heading, boost in zip(headings, is_boost, strict=True):
        if heading.unit and boost is not (heading.unit == "%"):
            raise DatasetError(
                f"line {line}: column {heading.name!r} is in {heading.unit}; a boost is in %, and nothing "
                "else is; take the column out"
            )


def _check_all_or_none(configs: Sequence[str], units: Sequence[str], line: int) -> None:
    """Check that all configurations have units, or none has."""
    bare = [config for config, unit in zip(configs, units, strict=True) if not unit]
    if bare and len(bare) < len(configs):
        raise DatasetError(
            f"line {line}: column {bare[0]!r} has no unit beside one that has; name it '{bare[0]} (ms)' or "
            f"'{bare[0]} (GFLOPS)', whichever it is, or give --unit"
        )


def check_same(columns: Columns, first: Columns, line: int) -> None:
    """Check that a table has the configurations of the first one, and units if and only if that one has."""
    if columns.configs != first.configs:
        raise DatasetError(f"line {line}: configurations are {columns.configs}, but above {first.configs}")
    if columns.assumed != first.assumed:
        without = "this table" if columns.assumed else "the first table"
        raise DatasetError(
            f"line {line}: {without} says no unit, though another does; give all headings their units, or "
            "--unit for those without"
        )
