"""The noise of another dataset, lent to a table that has none, and whether both were made alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import xarray as xr

from abtune.dataset import provenance
from abtune.dataset.schema import is_paired, labels_of
from abtune.errors import InputError
from abtune.samples import extract
from abtune.stats.moderated import LentVariance, lend_variance
from abtune.stats.variance import floored
from abtune.text import count, percent


class Standing(StrEnum):
    """How an assumption stands with what the datasets say of themselves, the worst first."""

    DIFFERS = "differs"
    NOT_RECORDED = "not recorded"
    UNCHECKED = "cannot be checked"
    AGREES = "agrees"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    """A condition under which the noise of one dataset is that of another."""

    standing: Standing
    what: str
    detail: str  # what is known of it; may be empty


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsideSide:
    """What another dataset knows of the noise of one side."""

    config: str  # the configuration of the table
    sources: tuple[str, ...]  # configurations there that its noise comes from
    shapes: int  # number of shapes there with two seeds or more
    seeds: int  # the most of any shape
    spread: float  # s0, the noise of a shape that has no runs there
    freedom: float  # d0, its degrees of freedom: more if shapes are alike; may be infinite


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsideNoise:
    """Noise from another dataset, and what borrowing it assumes."""

    dataset: str
    baseline: OutsideSide
    candidate: OutsideSide
    assumptions: tuple[Assumption, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loan:
    """The variances that one side of a table borrows, and which of its shapes have runs there."""

    side: OutsideSide
    lent: LentVariance
    known: tuple[bool, ...]


def borrow(name: str, dataset: xr.Dataset, config: str, shapes: Sequence[str]) -> Loan:
    """Return the noise of a configuration there, or of all configurations if it lacks two seeds."""
    if is_paired(dataset):
        raise InputError(
            f"{name} has pairs, whose noise is not that of independent searches; give another dataset"
        )
    every = tuple(labels_of(dataset, "config"))
    # The configuration itself first; the loop ends in its else if not even all together have two seeds.
    for sources in ((config,), every) if config in every else (every,):
        sides = [extract(dataset, source) for source in sources]
        freedom = np.sum([np.maximum(side.n - 1, 0) for side in sides], axis=0)
        if (freedom > 0).any():
            break
    else:
        raise InputError(
            f"{name} has no shape with two seeds of one configuration, so it says nothing of noise; "
            "give a dataset with several seeds"
        )
    # Several configurations pool their variances by degrees of freedom, each about its own mean.
    squares = np.nansum([(side.n - 1) * floored(side.noise**2, side.floor) for side in sides], axis=0)
    variance = np.where(freedom > 0, squares / np.maximum(freedom, 1), np.nan)
    labels = labels_of(dataset, "shape")
    positions = {label: row for row, label in enumerate(labels) if freedom[row] > 0}
    position = np.array([positions.get(shape, -1) for shape in shapes], dtype=np.int64)
    lent = lend_variance(variance, freedom, position)
    side = OutsideSide(
        config=config,
        sources=sources,
        shapes=len(positions),
        seeds=max(int(side.n.max()) for side in sides),
        spread=float(np.sqrt(lent.prior.variance)),
        freedom=lent.prior.freedom,
    )
    return Loan(side=side, lent=lent, known=tuple((position >= 0).tolist()))


def assumptions(
    table: xr.Dataset, lender: xr.Dataset, loans: tuple[Loan, Loan], *, limit: float
) -> tuple[Assumption, ...]:
    """Return what borrowed noise assumes; ``limit`` is the table's most noise."""
    return (*_matches(loans), *_origin(table, lender), *_size(loans, limit))


def _checked(what: str, detail: str, *, agrees: bool) -> Assumption:
    return Assumption(standing=Standing.AGREES if agrees else Standing.DIFFERS, what=what, detail=detail)


def _matches(loans: tuple[Loan, Loan]) -> Iterator[Assumption]:
    """Yield whether the lender has seeds of these configurations, and of these shapes."""
    sides = [loan.side for loan in loans]
    strange = [side for side in sides if side.sources != (side.config,)]
    detail = f"{sides[0].config} and {sides[1].config}, by their names"
    if strange:
        names, pooled = " or ".join(side.config for side in strange), ", ".join(strange[0].sources)
        detail = f"no shape there has two seeds of {names}, so the noise of {pooled} is pooled"
    yield _checked("configurations", detail, agrees=not strange)
    both = [all(pair) for pair in zip(*(loan.known for loan in loans), strict=True)]
    lacking = len(both) - sum(both)
    detail = f"{count(len(both), 'shape')}, with seeds there"
    if lacking:
        detail = f"{lacking} of {len(both)} have no seeds there and get the usual noise of its shapes"
    yield _checked("shapes", detail, agrees=not lacking)


def _origin(table: xr.Dataset, other: xr.Dataset) -> Iterator[Assumption]:
    trials, timings = (
        [describe(dataset) for dataset in (table, other)]
        for describe in (provenance.trials, provenance.timings_a_run)
    )
    yield _compared("hardware", provenance.hardware(table), provenance.hardware(other))
    yield _compared("trials per run", *(f"{number:,}" if number else "" for number in trials))
    yield _compared("tuner", provenance.tuner(table), provenance.tuner(other))
    yield _compared("timings of a winner", *(str(number) for number in timings))
    for what in ("every run is reported, whatever its result", "noise is about normal on logs"):
        yield Assumption(standing=Standing.UNCHECKED, what=what, detail="")


def _compared(what: str, here: str, there: str) -> Assumption:
    """Return a comparison of two descriptions; an empty one is unknown."""
    if here and there:
        same = here.casefold() == there.casefold()
        return _checked(what, here if same else f"{here} here, {there} there", agrees=same)
    known = f"{here} here" if here else f"{there} there" if there else ""
    return Assumption(standing=Standing.NOT_RECORDED, what=what, detail=known)


def _size(loans: tuple[Loan, Loan], limit: float) -> Iterator[Assumption]:
    """Yield whether the borrowed noise is small enough: it is a part of the spread of the boosts."""
    variance = np.concatenate([loan.lent.variance for loan in loans])
    if not (np.isnan(variance).any() or np.isnan(limit)):
        # The limit is of the root mean square of both sides, and so is this.
        borrowed = float(np.sqrt(variance.mean()))
        detail = f"{percent(borrowed)} borrowed, at most {percent(limit)} by the spread of these boosts"
        yield _checked("size of the noise", detail, agrees=borrowed <= limit)
