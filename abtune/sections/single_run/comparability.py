"""Whether two datasets were made alike, as far as they say so: what borrowing noise takes for granted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import xarray as xr

from abtune.dataset import provenance


class Standing(StrEnum):
    """How an assumption stands with what the datasets say of themselves."""

    AGREES = "agrees"
    DIFFERS = "differs"
    NOT_RECORDED = "not recorded"
    UNCHECKED = "cannot be checked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    """Something that has to hold for the noise of one dataset to be that of another.

    Attributes
    ----------
    standing : Standing
        Whether it does, as far as both datasets tell.
    what : str
        What has to be alike, or to hold.
    detail : str
        What is known of it; may be empty.
    """

    standing: Standing
    what: str
    detail: str


_UNCHECKED = (
    "each run is reported whatever came of it, none was chosen for its result",
    "noise is about normal on logs",
)


def assumptions(table: xr.Dataset, other: xr.Dataset) -> Iterator[Assumption]:
    """Compare how a table and another dataset were made, and say what neither can tell.

    Parameters
    ----------
    table, other : xarray.Dataset
        Valid by the schema; *here* and *there* in the details.
    """
    yield _compare("hardware", provenance.hardware(table), provenance.hardware(other))
    pair = provenance.trials(table), provenance.trials(other)
    yield _compare("trials a run", *(f"{number:,}" if number else "" for number in pair))
    yield _compare("tuner", provenance.tuner(table), provenance.tuner(other))
    timed = provenance.timings_a_run(table), provenance.timings_a_run(other)
    yield _compare("timings of a winner", *(str(number) for number in timed))
    for what in _UNCHECKED:
        yield Assumption(standing=Standing.UNCHECKED, what=what, detail="")


def _compare(what: str, here: str, there: str) -> Assumption:
    """Compare two descriptions; an empty one is unknown."""
    if here and there:
        same = here.casefold() == there.casefold()
        detail = here if same else f"{here} here, {there} there"
        return Assumption(standing=Standing.AGREES if same else Standing.DIFFERS, what=what, detail=detail)
    known = f"{here} here" if here else f"{there} there" if there else ""
    return Assumption(standing=Standing.NOT_RECORDED, what=what, detail=known)
